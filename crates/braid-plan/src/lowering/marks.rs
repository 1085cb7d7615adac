//! Marks: whether the condition of a subquery is true for one of its rows, with nulls.
//!
//! Conditions that are never null only drop rows of the right side. Their equalities are keys, by which partners are found, and the value of
//! all others is computed for these partners. Without such keys, the equalities of a condition that may be null are keys, and null keys make
//! the mark null unless another part is false. One such equality alone is the NOT IN of the operator, which spills.

use braid_exec::plan::{JoinKind, NullKeys};
use braid_sql::Value;
use braid_sql::expression::{Expression, Node};

/// The parts of a mark's condition.
pub(super) struct MarkParts<'e> {
    /// Equalities that may be keys.
    pub keys: Vec<&'e Expression>,
    /// All others.
    pub rest: Vec<&'e Expression>,
    pub kind: JoinKind,
    /// Whether a null key makes the mark null.
    pub are_keys_unknown: bool,
}

impl<'e> MarkParts<'e> {
    /// `is_key` tells which conjuncts are equalities of both sides.
    pub fn of(conjuncts: &[&'e Expression], is_key: impl Fn(&Expression) -> bool) -> Self {
        let (equalities, others): (Vec<&Expression>, Vec<&Expression>) =
            conjuncts.iter().copied().partition(|conjunct| is_key(conjunct));
        let (dropping, unknown): (Vec<&Expression>, Vec<&Expression>) =
            equalities.into_iter().partition(|equality| is_never_null(equality));
        let are_others_known = others.iter().all(|other| is_never_null(other));
        if unknown.is_empty() || !dropping.is_empty() {
            let kind = if unknown.is_empty() && are_others_known { JoinKind::ProbeMark } else { JoinKind::ProbeTruth };
            let rest = unknown.into_iter().chain(others).collect();
            return Self { keys: dropping, rest, kind, are_keys_unknown: false };
        }
        let is_not_in = unknown.len() == 1 && others.is_empty();
        let kind = if is_not_in { JoinKind::ProbeMark } else { JoinKind::ProbeTruth };
        Self { keys: unknown, rest: others, kind, are_keys_unknown: true }
    }
}

/// How null keys compare.
pub(super) fn null_keys(are_unknown: bool, are_equal: bool) -> NullKeys {
    match (are_unknown, are_equal) {
        (true, _) => NullKeys::Unknown,
        (false, true) => NullKeys::EqualNull,
        (false, false) => NullKeys::EqualNothing,
    }
}

/// Whether a condition is known to be true or false.
fn is_never_null(condition: &Expression) -> bool {
    match &condition.node {
        Node::Is(..) | Node::IsNull(_) | Node::Distinct(..) => true,
        Node::Constant(value) => !matches!(value, Value::Null),
        Node::Not(operand) => is_never_null(operand),
        Node::And(operands) | Node::Or(operands) => operands.iter().all(is_never_null),
        _ => false,
    }
}
