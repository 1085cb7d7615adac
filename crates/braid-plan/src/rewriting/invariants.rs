//! What the steps of a recursion read and none of them changes is made once: it becomes a common table expression around the recursion
//! (loop-invariant code motion).
//!
//! Needs: that conditions are where they stay, because none moves into a common table expression later. Keeps: rows. A definition that no step
//! comes to is never computed, so nothing fails that did not fail before.
//!
//! It moves common table expressions of a step that read neither the recursion nor others that do, also volatile ones: PostgreSQL computes them
//! once, too. Of a join's sides it moves those that compute more than a scan; a scan with conditions is a scan for each step anyway, in
//! which the rows of the last step leave out what they do not join with.

use std::collections::BTreeSet;

use braid_sql::relation::{Columns, CteId, Relation, Rows};

use super::expressions::{has_subquery, has_volatile, in_subquery_relations, with_inputs};
use super::renumbering::{CteNumbers, copied, each_relation};

/// The relation with what is invariant in recursions around them.
pub(super) fn move_invariants(relation: Relation, columns: &mut Columns) -> Relation {
    let mut recurs = false;
    each_relation(&relation, &mut |relation| recurs |= matches!(relation, Relation::Recursive(_)));
    if !recurs {
        return relation;
    }
    let ctes = CteNumbers::after(&relation);
    Mover { columns, ctes }.moved(relation)
}

struct Mover<'c> {
    columns: &'c mut Columns,
    ctes: CteNumbers,
}

/// What is moved out of a step.
#[derive(Default)]
struct Moved {
    /// The recursion, and the common table expressions that depend on it.
    dependent: BTreeSet<CteId>,
    /// The definitions, of which each may read those before it.
    definitions: Vec<(CteId, Rows)>,
}

impl Mover<'_> {
    /// From the innermost recursion up, so that what is moved out of one may be moved further.
    fn moved(&mut self, mut relation: Relation) -> Relation {
        in_subquery_relations(&mut relation, &mut |subquery| self.moved(subquery));
        let mut relation = with_inputs(relation, &mut |input| self.moved(input));
        let Relation::Recursive(recursion) = &mut relation else { return relation };
        let mut moved = Moved { dependent: BTreeSet::from([recursion.cte]), definitions: Vec::new() };
        self.take(&mut recursion.step.relation, &mut moved);
        moved.definitions.into_iter().rev().fold(relation, |body, (cte, definition)| {
            let (definition, body) = (Box::new(definition), Box::new(body));
            Relation::With { cte, is_materialized: Some(true), definition, body }
        })
    }

    /// Takes what is invariant out of a part of a step.
    fn take(&mut self, relation: &mut Relation, moved: &mut Moved) {
        match relation {
            Relation::With { cte, definition, body, .. } => {
                if moved.is_invariant(&definition.relation) {
                    moved.definitions.push((*cte, (**definition).clone()));
                    *relation = std::mem::replace(&mut **body, Relation::OneRow);
                    return self.take(relation, moved);
                }
                moved.dependent.insert(*cte);
                self.take(&mut definition.relation, moved);
                self.take(body, moved);
            }
            Relation::Recursive(inner) => {
                moved.dependent.insert(inner.cte);
                let inner = &mut **inner;
                for part in [&mut inner.start.relation, &mut inner.step.relation, &mut inner.body] {
                    self.take(part, moved);
                }
            }
            Relation::Join { left, right, .. } => {
                for side in [left, right] {
                    match moved.is_invariant(side) && !has_volatile(side) && !is_scan(side) {
                        true => self.keep(side, moved),
                        false => self.take(side, moved),
                    }
                }
            }
            other => other.inputs_mut().into_iter().for_each(|input| self.take(input, moved)),
        }
    }

    /// Puts a scan in place of a side.
    fn keep(&mut self, side: &mut Relation, moved: &mut Moved) {
        let columns = side.columns();
        let (definition, names) = copied(side, self.columns, &mut self.ctes);
        let rows = Rows { relation: definition, columns: columns.iter().map(|column| names[column]).collect() };
        let cte = self.ctes.add();
        moved.definitions.push((cte, rows));
        *side = Relation::CteScan { cte, columns };
    }
}

impl Moved {
    /// Whether all steps have the same rows of a relation.
    fn is_invariant(&self, relation: &Relation) -> bool {
        let mut reads_dependent = false;
        each_relation(relation, &mut |relation| {
            reads_dependent |= matches!(relation, Relation::CteScan { cte, .. } if self.dependent.contains(cte));
        });
        !reads_dependent && relation.free_columns().is_empty()
    }
}

/// Whether a relation is as cheap to compute in each step as to keep.
fn is_scan(relation: &Relation) -> bool {
    match relation {
        Relation::OneRow | Relation::Table(_) | Relation::Values { .. } | Relation::CteScan { .. } => true,
        Relation::Filter { input, condition } => !has_subquery(condition) && is_scan(input),
        Relation::Map { input, expressions } => {
            !expressions.iter().any(|(_, value)| has_subquery(value)) && is_scan(input)
        }
        Relation::Expand(expansion) => is_scan(&expansion.input),
        _ => false,
    }
}
