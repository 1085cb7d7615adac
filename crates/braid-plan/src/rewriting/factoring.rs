//! Conditions that all alternatives of an OR share, in front of it: `(a AND x) OR (a AND y)` is `a AND (x OR y)`.
//!
//! Needs: nothing; ANDs within ANDs are flat after [folding](super::folding). Keeps: the operators.
//!
//! Both are the same in three-valued logic. `a` is now evaluated where another condition before it was false, so that it must be one that
//! cannot fail.

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::Relation;

use super::expressions::{all_of, conjuncts, has_subquery, in_subquery_relations, is_volatile, truth, with_inputs};
use super::failing::may_fail;

/// Most pairs of conditions that are compared for one OR.
const PAIRS_MAX: usize = 100_000;

/// The relation with shared conditions of its filters and joins before their ORs.
pub(super) fn factor_disjunctions(relation: Relation) -> Relation {
    let mut relation = with_inputs(relation, &mut factor_disjunctions);
    in_subquery_relations(&mut relation, &mut factor_disjunctions);
    if let Relation::Filter { condition, .. } | Relation::Join { condition, .. } = &mut relation {
        let whole = std::mem::replace(condition, all_of(Vec::new()));
        *condition = all_of(conjuncts(whole).into_iter().flat_map(factored).collect());
    }
    relation
}

/// The conjuncts of a condition whose shared parts are factored out.
pub(super) fn factored(condition: Expression) -> Vec<Expression> {
    let Node::Or(alternatives) = condition.node else { return vec![condition] };
    let mut alternatives: Vec<Vec<Expression>> = alternatives.into_iter().map(conjuncts).collect();
    let shared = shared(&alternatives);
    let mut factors = Vec::new();
    for factor in shared {
        for alternative in &mut alternatives {
            if let Some(at) = alternative.iter().position(|each| *each == factor) {
                alternative.remove(at);
            }
        }
        factors.push(factor);
    }
    // `a OR (a AND y)` is `a`.
    if factors.is_empty() || alternatives.iter().all(|alternative| !alternative.is_empty()) {
        factors.push(truth(Node::Or(alternatives.into_iter().map(all_of).collect())));
    }
    factors
}

/// The conditions that are in all alternatives and may be evaluated first.
fn shared(alternatives: &[Vec<Expression>]) -> Vec<Expression> {
    let Some((first, others)) = alternatives.split_first() else { return Vec::new() };
    let pairs = others.iter().map(|other| other.len().saturating_mul(first.len())).sum::<usize>();
    if pairs > PAIRS_MAX {
        return Vec::new();
    }
    let mut shared: Vec<Expression> = Vec::new();
    for condition in first {
        let is_everywhere = others.iter().all(|other| other.contains(condition));
        if is_everywhere
            && !shared.contains(condition)
            && !has_subquery(condition)
            && !is_volatile(condition)
            && !may_fail(condition)
        {
            shared.push(condition.clone());
        }
    }
    shared
}
