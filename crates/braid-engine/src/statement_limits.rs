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
//! `cargo test -p braid-server --test it large_statements -- --nocapture` prints how long statements near the limits take.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArguments, Query, Select, SetExpr, TableFactor, TableWithJoins, Visit, Visitor,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::{EngineError, SqlState};

/// Most bytes of a text.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 20;

/// Most tokens between two commas at one level of parentheses: 20 000 conditions `a = 1 OR`, or 50 000 terms of a sum. A
/// chain of operators makes a tree that is half as deep as this.
pub(crate) const TOKENS_IN_A_ROW_MAX: usize = 100_000;

/// Deepest tree of expressions, queries and tables in FROM. Threads with the usual 2 MiB of stack copy and drop such a tree.
pub(crate) const DEPTH_MAX: usize = 250;

/// Subqueries within expressions of subqueries: DataFusion checks each level of a plan twice for each level above it, so
/// that the time doubles with every level.
pub(crate) const SUBQUERY_DEPTH_MAX: usize = 10;

/// Calls within calls of a query on system tables: the parser that such queries go through reads an argument twice.
const SYSTEM_CALL_DEPTH_MAX: usize = 10;

/// Deepest default of a column, and most expressions in it: it is planned for every INSERT.
const DEFAULT_DEPTH_MAX: usize = 32;
const DEFAULT_EXPRESSIONS_MAX: usize = 256;

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

/// Copies of expressions that planning makes: `coalesce(a, b)` is planned as a CASE that has `a` twice, so that calls within
/// first arguments double at each level. Twelve levels.
pub(crate) const COPIES_MAX: u64 = 8192;

/// From here on a statement is planned while no other large one is: below, planning takes some tens of milliseconds.
const LARGE_EXPRESSIONS: usize = 4096;
const LARGE_DEPTH: usize = 48;
const LARGE_RELATIONS: usize = 24;
const LARGE_SET_OPERANDS: usize = 64;

/// What a statement consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatementSize {
    /// Levels of expressions, queries and tables in FROM.
    pub depth: usize,
    /// Levels of subqueries in expressions.
    pub subquery_depth: usize,
    /// Levels of calls.
    pub call_depth: usize,
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
    /// Copies of them that planning makes.
    pub copies: u64,
}

impl StatementSize {
    /// The size of a tree. Walks it by recursion.
    pub fn of<T: Visit>(tree: &T) -> Self {
        let mut measure = Measure { planned: vec![Vec::new()], ..Measure::default() };
        // It never breaks off.
        let _: ControlFlow<()> = tree.visit(&mut measure);
        let planned: u64 = measure.planned.iter().flatten().fold(0, |sum, planned| sum.saturating_add(*planned));
        measure.size.copies = planned.saturating_sub(measure.size.expressions as u64);
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
        if self.copies > COPIES_MAX {
            let copies = self.copies;
            return Err(too_complex(format!(
                "Its nested calls of coalesce, nullif or concat, BETWEEN or CASE make {copies} copies of expressions; at \
                 most {COPIES_MAX} are planned."
            )));
        }
        if self.columns > COLUMNS_MAX {
            let message = format!("target lists can have at most {COLUMNS_MAX} entries");
            return Err(EngineError::new(SqlState::TooManyColumns, message)
                .with_detail(format!("The statement has {} entries in one list.", self.columns)));
        }
        Ok(())
    }

    /// Fails where a query on system tables would take too long to be parsed again.
    pub fn check_on_system_tables(&self) -> Result<(), EngineError> {
        within("levels of calls in a query on system tables", self.call_depth, SYSTEM_CALL_DEPTH_MAX)
    }

    /// Fails where it is too large for the default of a column.
    pub fn check_default(&self) -> Result<(), EngineError> {
        within("levels of expressions in a default", self.depth, DEFAULT_DEPTH_MAX)?;
        within("expressions in a default", self.expressions, DEFAULT_EXPRESSIONS_MAX)
    }

    /// Whether planning it may take long.
    pub fn is_large(&self) -> bool {
        self.expressions >= LARGE_EXPRESSIONS
            || self.depth >= LARGE_DEPTH
            || self.relations_total >= LARGE_RELATIONS
            || self.set_operands >= LARGE_SET_OPERANDS
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
    call_depth: usize,
    /// Of each open expression, and of the statement itself: how many expressions its operands are planned as.
    planned: Vec<Vec<u64>>,
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
        self.planned.push(Vec::new());
        if is_subquery(expr) {
            self.subquery_depth += 1;
            self.size.subquery_depth = self.size.subquery_depth.max(self.subquery_depth);
        }
        if matches!(expr, Expr::Function(_)) {
            self.call_depth += 1;
            self.size.call_depth = self.size.call_depth.max(self.call_depth);
        }
        self.descend()
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.call_depth -= usize::from(matches!(expr, Expr::Function(_)));
        let operands = self.planned.pop().unwrap_or_default();
        if let Some(outer) = self.planned.last_mut() {
            outer.push(planned_expressions(expr, &operands));
        }
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

/// How often planning copies operands: all of them, all but the last, or the first.
enum Copied {
    None,
    All,
    AllButLast,
    First(u64),
}

impl Copied {
    fn by(expr: &Expr) -> Self {
        match expr {
            Expr::Function(function) => match function.name.to_string().to_ascii_lowercase().as_str() {
                "coalesce" | "nullif" | "nvl" | "ifnull" | "nvl2" => Self::AllButLast,
                "concat" | "concat_ws" => Self::All,
                _ => Self::None,
            },
            Expr::Between { .. } => Self::First(2),
            Expr::Case { operand: Some(operand), conditions, .. } if !is_name(operand) => {
                Self::First(conditions.len() as u64)
            }
            _ => Self::None,
        }
    }
}

/// How many expressions `expr` is planned as, if its operands are planned as so many.
fn planned_expressions(expr: &Expr, operands: &[u64]) -> u64 {
    let copied = Copied::by(expr);
    let times = |at: usize| match copied {
        Copied::All => 2,
        Copied::AllButLast if at + 1 < operands.len() => 2,
        Copied::First(times) if at == 0 => times,
        _ => 1,
    };
    let planned = operands.iter().enumerate().map(|(at, operand)| operand.saturating_mul(times(at)));
    planned.fold(1, u64::saturating_add)
}

fn is_name(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
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
    use crate::statement::SqlDialect;

    fn size(sql: &str) -> StatementSize {
        StatementSize::of(&Parser::parse_sql(&SqlDialect::for_text(sql), sql).unwrap())
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
        assert_eq!(size("select f(g(1) + h(2)), i(3)").call_depth, 2);
        assert!(!size("select a, sum(b) from t join u using (a) where b > 1 group by a").is_large());
    }

    #[test]
    fn copies_are_counted() {
        assert_eq!(size("select a + b * c between 1 and 2 from t where f(a) > 0").copies, 5);
        assert_eq!(size("select coalesce(a, coalesce(b, coalesce(c, d)))").copies, 3);
        assert_eq!(size("select coalesce(coalesce(coalesce(a, 0), 0), 0)").copies, 15);
        assert_eq!(
            size("select case a when 1 then 2 when 2 then 3 end, case a + 1 when 1 then 2 when 2 then 3 end").copies,
            3
        );
        let deep = format!("select {}a{}", "coalesce(".repeat(30), ", 0)".repeat(30));
        let error = size(&deep).check_for_planning().unwrap_err();
        assert_eq!(error.sqlstate(), "54001");
        assert!(size(&deep.replace("coalesce", "f")).check_for_planning().is_ok());
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
