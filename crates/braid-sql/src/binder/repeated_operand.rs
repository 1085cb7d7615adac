//! An operand that several comparisons have: that of BETWEEN, and of IN where the members have no common type.
//!
//! It is bound once. PostgreSQL binds and evaluates it once for each comparison, which takes twice as long for each level of
//! `((a BETWEEN b AND c) BETWEEN d AND e) …`. Where the operand always gives the same value, it is evaluated once as well.

use super::places::Place;
use super::{Placed, truth};
use crate::SqlError;
use crate::expression::{Expression, Node};

/// The most calls in all copies of an operand. A comparison is a call, so that nested operands reach it after a few levels.
const COPIED_CALLS_MAX: usize = 128;

/// The operand.
pub(super) struct RepeatedOperand<'s> {
    place: Place<'s>,
    /// The operand of each comparison.
    copies: Vec<Expression>,
    /// What is evaluated once, if the copies stand for it.
    shared: Option<Expression>,
}

impl<'s> RepeatedOperand<'s> {
    /// For `count` comparisons.
    pub fn new((operand, place): Placed<'s>, count: usize) -> Result<Self, SqlError> {
        let is_simple = count < 2 || matches!(operand.node, Node::Constant(_) | Node::Parameter(_));
        if !is_simple && !operand.is_volatile() {
            let copy = Expression { node: Node::Operand, sql_type: operand.sql_type };
            return Ok(Self { place, copies: vec![copy; count], shared: Some(operand) });
        }
        if !is_simple && operand.call_count().saturating_mul(count) > COPIED_CALLS_MAX {
            return Err(SqlError::unsupported("a volatile expression of this size is not supported in comparisons"));
        }
        Ok(Self { place, copies: vec![operand; count], shared: None })
    }

    /// For two comparisons that each have it as it is written.
    pub fn copied((operand, place): Placed<'s>) -> Result<Self, SqlError> {
        if operand.call_count() > COPIED_CALLS_MAX / 2 {
            return Err(SqlError::unsupported("an expression of this size is not supported in BETWEEN SYMMETRIC"));
        }
        Ok(Self { place, copies: vec![operand; 2], shared: None })
    }

    /// The operand of the next comparison.
    pub fn next(&mut self) -> Placed<'s> {
        (self.copies.pop().expect("there are as many comparisons as counted"), self.place)
    }

    /// The comparisons, connected.
    pub fn around(self, comparisons: Node) -> Expression {
        let body = truth(comparisons);
        match self.shared {
            Some(operand) => truth(Node::Let { operand: Box::new(operand), body: Box::new(body) }),
            None => body,
        }
    }
}
