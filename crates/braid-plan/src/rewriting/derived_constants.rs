//! Constants of columns that are equal to one with a constant: `a = b AND a = 1` implies `b = 1`.
//!
//! Needs: nothing; [filter pushdown](super::filter_pushdown) afterwards moves what is derived to the inputs. Keeps: the operators; a filter
//! is added above inner joins next to each other.
//!
//! Columns of one type that are equal by its own equality compare with a constant alike, whatever their representations are (1.0 and 1.00).
//! A parameter is as constant as a literal.

use std::collections::{BTreeMap, BTreeSet};

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, Columns, JoinKind, Relation};

use super::Ruled;
use super::expressions::{
    Substitution, as_equal_column, column, conjuncts, equated, filtered, in_subquery_relations, replaced, with_inputs,
};

/// The relation with further conditions on constants.
pub(super) fn derive_constants(relation: Relation, columns: &mut Columns) -> Ruled {
    let mut deriving = Deriving { columns, is_changed: false };
    let relation = deriving.derived(relation);
    Ruled { relation, is_changed: deriving.is_changed }
}

struct Deriving<'c> {
    columns: &'c Columns,
    is_changed: bool,
}

impl Deriving<'_> {
    fn derived(&mut self, mut relation: Relation) -> Relation {
        in_subquery_relations(&mut relation, &mut |subquery| self.derived(subquery));
        let is_cluster = is_of_cluster(&relation);
        let mut conditions = Conditions::default();
        if is_cluster {
            conditions.collect(&relation, self.columns);
        }
        let relation = with_inputs(relation, &mut |input| self.within(input, is_cluster));
        let derived = conditions.derived(self.columns);
        self.is_changed |= !derived.is_empty();
        filtered(relation, derived)
    }

    /// An input; one of the same cluster was looked at as a whole.
    fn within(&mut self, mut relation: Relation, is_in_cluster: bool) -> Relation {
        if !is_in_cluster || !is_of_cluster(&relation) {
            return self.derived(relation);
        }
        in_subquery_relations(&mut relation, &mut |subquery| self.derived(subquery));
        with_inputs(relation, &mut |input| self.within(input, true))
    }
}

fn is_of_cluster(relation: &Relation) -> bool {
    matches!(relation, Relation::Filter { .. } | Relation::Join { kind: JoinKind::Inner, .. })
}

/// The conditions of filters and inner joins next to each other.
#[derive(Default)]
struct Conditions {
    /// Equal columns.
    pairs: Vec<(ColumnId, ColumnId)>,
    /// Columns with a constant, and the conditions that say so.
    constants: BTreeMap<ColumnId, Expression>,
}

impl Conditions {
    fn collect(&mut self, relation: &Relation, columns: &Columns) {
        if let Relation::Filter { condition, .. } | Relation::Join { kind: JoinKind::Inner, condition, .. } = relation {
            self.add(condition, columns);
            relation.inputs().into_iter().for_each(|input| self.collect(input, columns));
        }
    }

    fn add(&mut self, condition: &Expression, columns: &Columns) {
        if let Node::And(operands) = &condition.node {
            operands.iter().for_each(|operand| self.add(operand, columns));
            return;
        }
        let Some((left, right)) = equated(condition) else { return };
        let is_of_one_type = |left: ColumnId, right: ColumnId| columns.sql_type(left).id == columns.sql_type(right).id;
        match (as_equal_column(left, columns), as_equal_column(right, columns)) {
            (Some(left), Some(right)) if left != right && is_of_one_type(left, right) => self.pairs.push((left, right)),
            (Some(column), None) if is_constant(right) => {
                self.constants.entry(column).or_insert_with(|| condition.clone());
            }
            (None, Some(column)) if is_constant(left) => {
                self.constants.entry(column).or_insert_with(|| condition.clone());
            }
            _ => {}
        }
    }

    /// The conditions that follow and are not there yet.
    fn derived(&self, columns: &Columns) -> Vec<Expression> {
        if self.constants.is_empty() || self.pairs.is_empty() {
            return Vec::new();
        }
        let mut equal: BTreeMap<ColumnId, Vec<ColumnId>> = BTreeMap::new();
        for (left, right) in &self.pairs {
            equal.entry(*left).or_default().push(*right);
            equal.entry(*right).or_default().push(*left);
        }
        let mut derived = Vec::new();
        let mut seen: BTreeSet<ColumnId> = self.constants.keys().copied().collect();
        for (of, condition) in &self.constants {
            let mut reached = vec![*of];
            while let Some(next) = reached.pop() {
                for other in equal.get(&next).into_iter().flatten() {
                    if seen.insert(*other) {
                        let substitution = Substitution::from([(*of, column(*other, columns))]);
                        derived.extend(conjuncts(replaced(condition.clone(), &substitution)));
                        reached.push(*other);
                    }
                }
            }
        }
        derived
    }
}

fn is_constant(expression: &Expression) -> bool {
    match &expression.node {
        Node::Constant(value) => !value.is_null(),
        Node::Parameter(_) => true,
        Node::Relabel(inner) => is_constant(inner),
        _ => false,
    }
}
