//! How large and how deep a statement may be.
//!
//! Syntax trees and plans are walked, copied and dropped by recursion. So size is bounded four times, each time before more is done:
//!
//! 1. the text, before tokens are made of it ([`check_text`]);
//! 2. the tokens, before they are parsed: what could make a tree too deep to be dropped ([`check_tokens`]);
//! 3. the tree, when long chains have become shallow: how deep it is ([`StatementSize::check_depth`]);
//! 4. a query, before it is planned: what the planner would take too long for ([`StatementSize::check_for_planning`]).
//!
//! Pure functions. PostgreSQL bounds the same things by its stack (`max_stack_depth`, 54001) and answers with 54000 where
//! it has a number for it.
//!
//! `cargo test -p braid-server --test it large_statements -- --nocapture` prints how long statements near the limits take.

mod text_tokens;
mod token_nesting;
mod tree_size;

use crate::{EngineError, SqlState};
pub(crate) use token_nesting::check_tokens;

/// Most bytes of a text.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 20;

/// Most tokens of a text, blanks included. A token takes about a hundred bytes, and the tree that is made of the tokens of a long
/// INSERT a few hundred for each value: under a gigabyte together, which no budget counts.
pub(crate) const TOKENS_MAX: usize = 2_000_000;

/// Most tokens between two commas at one level of parentheses: 20 000 conditions `a = 1 OR`, or 50 000 terms of a sum. A
/// chain of operators makes a tree that is half as deep as this.
pub(crate) const TOKENS_IN_A_ROW_MAX: usize = 100_000;

/// Deepest tree of expressions, queries and tables in FROM. Threads with the usual 2 MiB of stack copy and drop such a tree.
pub(crate) const DEPTH_MAX: usize = 250;

/// Subqueries within expressions of subqueries: each level is unnested with all that are below it.
pub(crate) const SUBQUERY_DEPTH_MAX: usize = 32;

/// Deepest default of a column, and most expressions in it: it is planned for every INSERT.
const DEFAULT_DEPTH_MAX: usize = 32;
const DEFAULT_EXPRESSIONS_MAX: usize = 256;

/// Relations that one SELECT joins.
pub(crate) const RELATIONS_MAX: usize = 64;

/// SELECTs that one UNION, INTERSECT or EXCEPT combines.
pub(crate) const SET_OPERANDS_MAX: usize = 1000;

/// Queries of WITH.
pub(crate) const NAMED_QUERIES_MAX: usize = 200;

/// Columns of a select list, as in PostgreSQL.
pub(crate) const COLUMNS_MAX: usize = 1664;

/// Expressions in a query that is planned. Rows of literals that an INSERT only reads are not counted.
pub(crate) const EXPRESSIONS_MAX: usize = 200_000;

/// From here on a statement is planned while no other large one is: below, planning takes some tens of milliseconds.
const LARGE_EXPRESSIONS: usize = 4096;
const LARGE_DEPTH: usize = 48;
const LARGE_RELATIONS: usize = 24;
const LARGE_SET_OPERANDS: usize = 64;
const LARGE_SUBQUERY_DEPTH: usize = 5;

/// Up to here a statement is planned in about a millisecond, which is a worker's turn.
const BRIEF_EXPRESSIONS: usize = 256;
const BRIEF_RELATIONS: usize = 8;
const BRIEF_RELATIONS_TOTAL: usize = 10;
const BRIEF_SET_OPERANDS: usize = 4;
const BRIEF_SUBQUERY_DEPTH: usize = 2;

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
    /// Calls that may be those of functions over the system relations.
    pub catalog_calls: usize,
}

impl StatementSize {
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

    /// Fails where it is too large for the default of a column.
    pub fn check_default(&self) -> Result<(), EngineError> {
        within("levels of expressions in a default", self.depth, DEFAULT_DEPTH_MAX)?;
        within("expressions in a default", self.expressions, DEFAULT_EXPRESSIONS_MAX)
    }

    /// Whether planning it takes no longer than a turn of a worker.
    pub fn is_brief(&self) -> bool {
        self.expressions <= BRIEF_EXPRESSIONS
            && self.relations <= BRIEF_RELATIONS
            && self.relations_total <= BRIEF_RELATIONS_TOTAL
            && self.set_operands <= BRIEF_SET_OPERANDS
            && self.subquery_depth <= BRIEF_SUBQUERY_DEPTH
            && !self.is_large()
    }

    /// Whether planning it may take long.
    pub fn is_large(&self) -> bool {
        self.expressions >= LARGE_EXPRESSIONS
            || self.depth >= LARGE_DEPTH
            || self.relations_total >= LARGE_RELATIONS
            || self.set_operands >= LARGE_SET_OPERANDS
            || self.subquery_depth > LARGE_SUBQUERY_DEPTH
    }
}

/// Fails for a text that is too long to be read into memory at once.
pub(crate) fn check_text(text: &str) -> Result<(), EngineError> {
    within("bytes of text", text.len(), TEXT_BYTES_MAX)?;
    // A token has a byte at least.
    if text.len() <= TOKENS_MAX || text_tokens::count_tokens(text, TOKENS_MAX) <= TOKENS_MAX {
        return Ok(());
    }
    Err(too_complex(format!("It has more than {TOKENS_MAX} words, signs and blanks."))
        .with_hint("Use COPY for many rows, or send several statements."))
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn few_relations_and_expressions_are_brief() {
        let most = StatementSize {
            expressions: 256,
            relations: 8,
            relations_total: 10,
            set_operands: 4,
            ..StatementSize::default()
        };
        assert!(most.is_brief());
        for longer in [
            StatementSize { expressions: 257, ..most },
            StatementSize { relations: 9, ..most },
            StatementSize { relations_total: 11, ..most },
            StatementSize { set_operands: 5, ..most },
            StatementSize { subquery_depth: 3, ..most },
            StatementSize { depth: LARGE_DEPTH, ..most },
        ] {
            assert!(!longer.is_brief(), "{longer:?}");
        }
    }
}
