//! How large and how deep a statement may be.
//!
//! Syntax trees and plans are walked, copied and dropped by recursion, and some of what the planner does takes more than
//! linear time. So size is bounded three times, each time before more is done:
//!
//! 1. the tokens, before they are parsed: what could make a tree too deep to be dropped ([`check_tokens`]);
//! 2. the tree, when long chains have become shallow: how deep it is ([`StatementSize::check_depth`]);
//! 3. a query, before it is planned: what the planner would take too long for ([`StatementSize::check_for_planning`]).
//!
//! Pure functions. PostgreSQL bounds the same things by its stack (`max_stack_depth`, 54001) and answers with 54000 where
//! it has a number for it.
//!
//! The limits were measured with `cargo test -p braid-testkit large_statements -- --nocapture`, which runs a statement at
//! each limit: planning one takes less than a second in a release build.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArguments, Query, Select, SetExpr, TableFactor, TableWithJoins, Visit, Visitor,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::{EngineError, SqlState};

/// Most bytes of a text; the parser needs about a hundred for each of them at worst.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 20;

/// Most tokens between two commas at one level of parentheses: 20 000 conditions `a = 1 OR`, or 50 000 terms of a sum. A
/// chain of operators makes a tree that is half as deep as this.
pub(crate) const TOKENS_IN_A_ROW_MAX: usize = 100_000;

/// Deepest tree of expressions, queries and tables in FROM. Threads with the usual 2 MiB of stack copy and drop such a tree.
pub(crate) const DEPTH_MAX: usize = 250;

/// Subqueries within expressions of subqueries: DataFusion checks each level of a plan twice for each level above it, so
/// that the time doubles with every level.
pub(crate) const SUBQUERY_DEPTH_MAX: usize = 10;

/// Relations that one SELECT joins.
pub(crate) const RELATIONS_MAX: usize = 64;

/// SELECTs that one UNION, INTERSECT or EXCEPT combines.
pub(crate) const SET_OPERANDS_MAX: usize = 500;

/// Queries of WITH.
pub(crate) const NAMED_QUERIES_MAX: usize = 200;

/// Columns of a select list, as in PostgreSQL.
pub(crate) const COLUMNS_MAX: usize = 1664;

/// Expressions in a query that is planned. Rows of literals that an INSERT only reads are not counted.
pub(crate) const EXPRESSIONS_MAX: usize = 200_000;

/// Statements from this many expressions on are planned one at a time.
const LARGE_EXPRESSIONS: usize = 512;
/// And from this depth on.
const LARGE_DEPTH: usize = 48;
/// And from this many relations on.
const LARGE_RELATIONS: usize = 16;

/// What a statement consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatementSize {
    /// Levels of expressions, queries and tables in FROM.
    pub depth: usize,
    /// Levels of subqueries in expressions.
    pub subquery_depth: usize,
    /// Relations of the SELECT that joins most.
    pub relations: usize,
    /// All relations.
    pub relations_total: usize,
    /// Operands of the longest chain of set operations.
    pub set_operands: usize,
    /// Queries of WITH.
    pub named_queries: usize,
    /// Columns of the longest select list.
    pub columns: usize,
    /// Expressions of all kinds.
    pub expressions: usize,
}

impl StatementSize {
    /// The size of a tree. Walks it by recursion.
    pub fn of<T: Visit>(tree: &T) -> Self {
        let mut measure = Measure::default();
        // It never breaks off.
        let _: ControlFlow<()> = tree.visit(&mut measure);
        measure.size
    }

    /// Fails where copying and dropping the tree could overflow a stack.
    pub fn check_depth(&self) -> Result<(), EngineError> {
        within("levels of expressions and subqueries", self.depth, DEPTH_MAX)?;
        within("SELECTs in one UNION, INTERSECT or EXCEPT", self.set_operands, SET_OPERANDS_MAX)
    }

    /// Fails where planning would take too long.
    pub fn check_for_planning(&self) -> Result<(), EngineError> {
        self.check_depth()?;
        within("levels of subqueries in expressions", self.subquery_depth, SUBQUERY_DEPTH_MAX)?;
        within("relations in one join", self.relations, RELATIONS_MAX)?;
        within("queries in WITH", self.named_queries, NAMED_QUERIES_MAX)?;
        within("expressions", self.expressions, EXPRESSIONS_MAX)?;
        if self.columns > COLUMNS_MAX {
            let message = format!("target lists can have at most {COLUMNS_MAX} entries");
            return Err(EngineError::new(SqlState::TooManyColumns, message)
                .with_detail(format!("The statement has {} entries in one list.", self.columns)));
        }
        Ok(())
    }

    /// Whether planning it may take long.
    pub fn is_large(&self) -> bool {
        self.expressions >= LARGE_EXPRESSIONS
            || self.depth >= LARGE_DEPTH
            || self.relations_total >= LARGE_RELATIONS
            || self.set_operands >= LARGE_RELATIONS
            || self.subquery_depth > SUBQUERY_DEPTH_MAX / 2
    }
}

/// Fails where the tree of a text of `bytes` bytes and these tokens could be too deep to be parsed and dropped again.
pub(crate) fn check_tokens(bytes: usize, tokens: &[TokenWithSpan]) -> Result<(), EngineError> {
    within("bytes of text", bytes, TEXT_BYTES_MAX)?;
    let mut nesting = Nesting { levels: vec![Level::default()], depth: 0 };
    for TokenWithSpan { token, .. } in tokens {
        if !matches!(token, Token::Whitespace(_)) {
            nesting.read(token)?;
        }
    }
    Ok(())
}

/// How deep the tree is that the parser is about to make, as far as tokens tell.
struct Nesting {
    /// Open parentheses, and the text around them.
    levels: Vec<Level>,
    /// Of all levels together.
    depth: usize,
}

#[derive(Default)]
struct Level {
    /// Tokens since the last comma.
    in_a_row: usize,
    /// CASEs without their END.
    open_cases: usize,
    /// Signs and NOTs right before this place.
    prefixes: usize,
}

impl Nesting {
    fn read(&mut self, token: &Token) -> Result<(), EngineError> {
        let keyword = match token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match token {
            Token::LParen | Token::LBracket => {
                self.levels.push(Level::default());
                self.depth += 1;
                return within("levels of expressions and subqueries", self.depth, DEPTH_MAX);
            }
            Token::RParen | Token::RBracket if self.levels.len() > 1 => {
                let closed = self.levels.pop().unwrap_or_default();
                self.depth -= 1 + closed.open_cases + closed.prefixes;
                return Ok(());
            }
            _ => {}
        }
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        match token {
            Token::Minus | Token::Plus | Token::Tilde => level.prefix(&mut self.depth),
            _ if keyword == Keyword::NOT => level.prefix(&mut self.depth),
            Token::Comma | Token::SemiColon => {
                level.end_of_prefixes(&mut self.depth);
                level.in_a_row = 0;
            }
            _ => {
                level.end_of_prefixes(&mut self.depth);
                level.in_a_row += 1;
                match keyword {
                    Keyword::CASE => {
                        level.open_cases += 1;
                        self.depth += 1;
                    }
                    Keyword::END if level.open_cases > 0 => {
                        level.open_cases -= 1;
                        self.depth -= 1;
                    }
                    _ => {}
                }
            }
        }
        within("words and operators in a row", level.in_a_row, TOKENS_IN_A_ROW_MAX)?;
        within("levels of expressions and subqueries", self.depth, DEPTH_MAX)
    }
}

impl Level {
    fn prefix(&mut self, depth: &mut usize) {
        self.in_a_row += 1;
        self.prefixes += 1;
        *depth += 1;
    }

    fn end_of_prefixes(&mut self, depth: &mut usize) {
        *depth -= std::mem::take(&mut self.prefixes);
    }
}

/// PostgreSQL's code for what is too deep or too long: 54001.
pub(crate) fn too_complex(detail: impl Into<String>) -> EngineError {
    EngineError::new(SqlState::StatementTooComplex, "the statement is too complex").with_detail(detail)
}

fn within(what: &str, value: usize, limit: usize) -> Result<(), EngineError> {
    if value <= limit {
        return Ok(());
    }
    Err(too_complex(format!("It has {value} {what}; at most {limit} are planned.")))
}

#[derive(Default)]
struct Measure {
    size: StatementSize,
    depth: usize,
    subquery_depth: usize,
}

impl Measure {
    fn descend(&mut self) -> ControlFlow<()> {
        self.depth += 1;
        self.size.depth = self.size.depth.max(self.depth);
        ControlFlow::Continue(())
    }

    fn ascend(&mut self) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

impl Visitor for Measure {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.size.expressions += 1;
        if is_subquery(expr) {
            self.subquery_depth += 1;
            self.size.subquery_depth = self.size.subquery_depth.max(self.subquery_depth);
        }
        self.descend()
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.subquery_depth -= usize::from(is_subquery(expr));
        self.ascend()
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.size.named_queries += query.with.as_ref().map_or(0, |with| with.cte_tables.len());
        self.size.set_operands = self.size.set_operands.max(set_operands(&query.body));
        self.descend()
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.ascend()
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let relations = select.from.iter().map(relations_of).sum();
        self.size.relations = self.size.relations.max(relations);
        self.size.relations_total += relations;
        self.size.columns = self.size.columns.max(select.projection.len());
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        self.descend()
    }

    fn post_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        self.ascend()
    }
}

fn is_subquery(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => true,
        Expr::Function(function) => matches!(function.args, FunctionArguments::Subquery(_)),
        _ => false,
    }
}

/// Operands of a tree of set operations.
fn set_operands(body: &SetExpr) -> usize {
    let mut operands = 0;
    let mut rest = vec![body];
    while let Some(body) = rest.pop() {
        match body {
            SetExpr::SetOperation { left, right, .. } => rest.extend([&**left, &**right]),
            _ => operands += 1,
        }
    }
    operands
}

fn relations_of(joins: &TableWithJoins) -> usize {
    let mut relations = 0;
    let mut rest = vec![joins];
    while let Some(joins) = rest.pop() {
        for factor in std::iter::once(&joins.relation).chain(joins.joins.iter().map(|join| &join.relation)) {
            match factor {
                TableFactor::NestedJoin { table_with_joins, .. } => rest.push(table_with_joins),
                _ => relations += 1,
            }
        }
    }
    relations
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn size(sql: &str) -> StatementSize {
        StatementSize::of(&Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap())
    }

    fn check_text(sql: &str) -> Result<(), EngineError> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        check_tokens(sql.len(), &tokens)
    }

    #[test]
    fn parts_are_counted() {
        let simple = size("select 1");
        assert_eq!((simple.depth, simple.expressions, simple.columns, simple.set_operands), (2, 1, 1, 1));
        assert_eq!(size("select (1 + 2) * 3").depth, 5);
        assert_eq!(size("select (select (select 1))").subquery_depth, 2);
        assert_eq!(size("select 1 where exists (select 1) and 1 in (select 2)").subquery_depth, 1);
        let joins = size("select * from a, b join (c join d on true) on true, (select * from e, f) g");
        assert_eq!((joins.relations, joins.relations_total), (5, 7));
        assert_eq!(size("select 1 union (select 2 union select 3) except select 4").set_operands, 3);
        assert_eq!(size("with a as (select 1), b as (select 2) select * from a, b").named_queries, 2);
        assert!(!size("select a, sum(b) from t join u using (a) where b > 1 group by a").is_large());
    }

    #[test]
    fn limits_are_told_with_value_and_limit() {
        let at = StatementSize { depth: DEPTH_MAX, columns: COLUMNS_MAX, ..StatementSize::default() };
        assert!(at.check_for_planning().is_ok());
        let deep = StatementSize { depth: DEPTH_MAX + 1, ..at };
        let error = deep.check_for_planning().unwrap_err();
        let detail = "It has 251 levels of expressions and subqueries; at most 250 are planned.";
        assert_eq!((error.sqlstate(), error.detail().as_deref()), ("54001", Some(detail)));
        let wide = StatementSize { columns: COLUMNS_MAX + 1, ..at };
        assert_eq!(wide.check_for_planning().unwrap_err().sqlstate(), "54011");
        assert!(deep.is_large());
    }

    #[test]
    fn tokens_count_from_the_last_comma_of_their_parentheses() {
        let sum = |terms: usize| vec!["1"; terms].join("+");
        assert!(check_text(&format!("select {}", sum(TOKENS_IN_A_ROW_MAX / 2 - 1))).is_ok());
        let error = check_text(&format!("select {}", sum(TOKENS_IN_A_ROW_MAX / 2 + 1))).unwrap_err();
        assert_eq!(error.sqlstate(), "54001");
        let half = sum(TOKENS_IN_A_ROW_MAX / 4);
        assert!(check_text(&format!("select {half}, {half}, ({half}), ({half}); select {half}")).is_ok());
        assert!(check_text("select 1)))), 1 end end").is_ok(), "what is wrong otherwise is the parser's to say");
    }

    #[test]
    fn tokens_tell_the_depth() {
        for (open, close) in
            [("(", ")"), ("array[", "]"), ("- ", ""), ("not not ", ""), ("case when a then 1 else ", " end")]
        {
            let nested = |levels: usize| format!("select {}1{} - 1", open.repeat(levels), close.repeat(levels));
            let per_level = if open.contains("not") { 2 } else { 1 };
            assert!(check_text(&nested(DEPTH_MAX / per_level)).is_ok(), "{open}");
            assert!(check_text(&nested(DEPTH_MAX / per_level + 1)).is_err(), "{open}");
            let again = vec![nested(DEPTH_MAX / per_level); 3].join("; ");
            assert!(check_text(&again).is_ok(), "{open}");
        }
    }
}
