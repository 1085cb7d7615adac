//! Long chains of operators, bound in a loop.

use sqlparser::ast::Expr;

use super::places::Place;
use super::{Binder, unsupported};
use crate::SqlError;
use crate::expression::{Expression, Node};
use crate::syntax::{CHAIN_OPERANDS_MIN, links_of};

/// Fewest steps of a chain: its first expression has two operands.
pub(super) const STEPS_MIN: usize = CHAIN_OPERANDS_MIN - 2;

impl Binder<'_> {
    /// A long chain of operators, from left to right. Each step is bound as the operator that it is.
    pub(super) fn chain(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        let Some((first, mut links)) = links_of(syntax) else { return Err(unsupported(syntax)) };
        let Some(second) = links.next() else { return Err(unsupported(syntax)) };
        let start = self.infix(first, second.operator, second.operand)?;
        let (mut sql_type, mut before, mut steps) = (start.sql_type, second.operand, Vec::new());
        for link in links {
            let so_far = Expression { node: Node::Operand, sql_type };
            let place = Place::Between(before, link.operator, link.operand);
            let operand = self.placed(link.operand)?;
            let step = self.operator(link.operator, place, (so_far, Place::Start(first)), operand)?;
            (sql_type, before) = (step.sql_type, link.operand);
            steps.push(step);
        }
        Ok(Expression { node: Node::Chain { first: Box::new(start), steps }, sql_type })
    }
}

/// The first expression of a chain and so many of its steps, as they would be bound alone.
pub(super) fn beginning(first: &Expression, steps: &[Expression]) -> Expression {
    let Some(last) = steps.last() else { return first.clone() };
    if steps.len() >= STEPS_MIN {
        let node = Node::Chain { first: Box::new(first.clone()), steps: steps.to_vec() };
        return Expression { node, sql_type: last.sql_type };
    }
    steps.iter().fold(first.clone(), |value, step| {
        let mut next = step.clone();
        next.put_operand(&value);
        next
    })
}
