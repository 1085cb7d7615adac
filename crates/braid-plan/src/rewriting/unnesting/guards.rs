//! When an operand is evaluated: always, or where guards before it let it be.
//!
//! CASE, COALESCE, AND and OR evaluate an operand only where those before it have not decided. A scalar subquery in such a place fails for
//! several rows only there. Its join has the guards as a condition, so that other rows have no partner.

use braid_sql::Expression;
use braid_sql::expression::Node;

use crate::rewriting::expressions::{has_subquery, is_volatile, negation, truth};
use crate::rewriting::failing::may_fail;

/// For which rows an expression is evaluated.
#[derive(Clone, Debug)]
pub(super) enum Evaluated {
    /// For those for which all of these are true; for all rows if there are none.
    Where(Vec<Expression>),
    /// For some, which conditions without subqueries do not tell.
    Sometimes,
}

impl Evaluated {
    /// For all rows.
    pub fn always() -> Self {
        Self::Where(Vec::new())
    }

    /// Whether it is for all rows.
    pub fn is_always(&self) -> bool {
        matches!(self, Self::Where(guards) if guards.is_empty())
    }

    /// That of an operand of an expression that is so evaluated.
    pub fn of_operand(&self, expression: &Expression, at: usize) -> Self {
        let Self::Where(around) = self else { return Self::Sometimes };
        let own = guards(expression, at);
        let tells =
            |guard: &Expression| !(has_subquery(guard) || has_operand(guard) || is_volatile(guard) || may_fail(guard));
        match own.iter().all(tells) {
            true => Self::Where(around.iter().cloned().chain(own).collect()),
            false => Self::Sometimes,
        }
    }
}

/// What is true where the operand at a position is evaluated, if the expression is.
fn guards(expression: &Expression, at: usize) -> Vec<Expression> {
    let is = |is_true: bool, operand: &Expression| truth(Node::Is(is_true, Box::new(operand.clone())));
    match &expression.node {
        Node::And(operands) => operands[..at].iter().map(|operand| negation(is(false, operand))).collect(),
        Node::Or(operands) => operands[..at].iter().map(|operand| negation(is(true, operand))).collect(),
        Node::Coalesce(values) => {
            values[..at].iter().map(|value| truth(Node::IsNull(Box::new(value.clone())))).collect()
        }
        // Each branch is a condition and a result.
        Node::Case { branches, .. } => {
            let before = branches[..at / 2].iter().map(|(condition, _)| negation(is(true, condition)));
            let own = branches.get(at / 2).filter(|_| at % 2 == 1).map(|(condition, _)| is(true, condition));
            before.chain(own).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether an expression reads the operand of a LET around it.
pub(super) fn has_operand(expression: &Expression) -> bool {
    match &expression.node {
        Node::Operand => true,
        Node::Let { operand, .. } => has_operand(operand),
        _ => expression.operands().into_iter().any(has_operand),
    }
}
