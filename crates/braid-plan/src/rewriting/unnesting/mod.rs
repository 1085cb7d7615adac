//! Unnesting: subqueries become joins, and no join's right side reads columns of the left one.
//!
//! T. Neumann, A. Kemper, *Unnesting Arbitrary Queries*, BTW 2015; and T. Neumann, *Improving
//! Unnesting of Complex Queries*, BTW 2025, from which the equivalence classes and representatives of outer columns come.
//!
//! A subquery of an expression becomes the right side of a [dependent join](dependent_join): `EXISTS` and `IN` of a condition of semi and
//! anti joins, elsewhere of mark joins, a scalar subquery of a left join or, where it may have two rows, of a single join. If a dependent join
//! cannot be unnested, the subquery or the lateral join stays as it is, and means what it did.
//!
//! Rules:
//! 1. A subquery that PostgreSQL evaluates for some rows only, in a branch of CASE or behind AND, and that may fail, is computed for the
//!    values of those rows only. That it has several rows is found out for those rows only.
//! 2. Volatile functions are evaluated for each outer row: the domain then is its rows. A subquery that reads no outer column is evaluated once.
//!
//! | module | contents |
//! |---|---|
//! | [`absent_rows`] | groups that exist without rows |
//! | [`dependent_join`] | a dependent join made an ordinary one |
//! | [`domain`] | the values of outer columns for which the right side is computed |
//! | [`guards`] | when an operand is evaluated |
//! | [`join_conditions`] | conditions of outer joins with subqueries |
//! | [`limits`] | LIMIT by the numbers of rows |
//! | [`push_down`] | the dependent join with the domain, pushed below each operator |
//! | [`subqueries`] | subqueries as dependent joins |

mod absent_rows;
mod dependent_join;
mod domain;
mod guards;
mod join_conditions;
mod joins;
mod limits;
mod push_down;
mod subqueries;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeSet;

use braid_sql::relation::{ColumnId, Columns, CteId, JoinKind, Relation};

use super::expressions::{all_of, conjuncts, filtered, has_subquery};
use super::renumbering::{CteNumbers, each_relation, each_relation_of};

/// A relation of the same rows without dependent joins and without subqueries, as far as possible.
pub fn unnest(relation: Relation, columns: &mut Columns) -> Relation {
    let ctes = CteNumbers::after(&relation);
    Unnester { columns, ctes, made: BTreeSet::new(), dependent_tables: BTreeSet::new() }.unnested(relation)
}

/// What unnesting a statement needs.
struct Unnester<'c> {
    columns: &'c mut Columns,
    ctes: CteNumbers,
    /// The columns of subqueries that became joins. A subquery that is written once may be in several expressions.
    made: BTreeSet<ColumnId>,
    /// Common table expressions that have outer columns, so that a subquery that reads one is not computed once.
    dependent_tables: BTreeSet<CteId>,
}

impl Unnester<'_> {
    /// From the leaves up, so that what is pushed down meets ordinary joins only.
    fn unnested(&mut self, mut relation: Relation) -> Relation {
        for input in relation.inputs_mut() {
            *input = self.unnested(std::mem::replace(input, Relation::OneRow));
        }
        match relation {
            Relation::Join { kind, left, right, condition } => {
                let (condition, above) = match kind {
                    JoinKind::Inner => conjuncts(condition).into_iter().partition(|each| !has_subquery(each)),
                    _ => (vec![condition], Vec::new()),
                };
                let condition = all_of(condition);
                let joined = match has_subquery(&condition) {
                    true => self.outer_join(kind, (*left).clone(), (*right).clone(), condition.clone()),
                    false if right.free_columns().is_empty() => None,
                    false => self.joined(kind, &left, &right, condition.clone()),
                };
                let joined = joined.unwrap_or(Relation::Join { kind, left, right, condition });
                self.without_subqueries(filtered(joined, above))
            }
            Relation::Limit { .. } => {
                let limited = self.without_computed_limit(relation);
                self.without_subqueries(limited)
            }
            Relation::Aggregate(aggregation) => {
                let aggregation = self.with_direct_arguments(*aggregation);
                self.without_subqueries(aggregation)
            }
            other => self.without_subqueries(other),
        }
    }

    /// An operator whose expressions' subqueries read no common table expression of these: they are joined to its input.
    fn without_scans_in_subqueries(&mut self, relation: &Relation, tables: &BTreeSet<CteId>) -> Option<Relation> {
        let before = std::mem::replace(&mut self.dependent_tables, tables.clone());
        let joined = self.without_subqueries(relation.clone());
        let mut scans = false;
        for expression in joined.expressions() {
            each_relation_of(expression, &mut |relation| scans |= self.is_dependent_table(relation));
        }
        self.dependent_tables = before;
        (!scans).then_some(joined)
    }

    /// Whether a relation reads a common table expression that has outer columns.
    fn reads_dependent_table(&self, relation: &Relation) -> bool {
        let mut scans = false;
        if !self.dependent_tables.is_empty() {
            each_relation(relation, &mut |relation| scans |= self.is_dependent_table(relation));
        }
        scans
    }

    fn is_dependent_table(&self, relation: &Relation) -> bool {
        matches!(relation, Relation::CteScan { cte, .. } if self.dependent_tables.contains(cte))
    }
}
