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
//! 1. A subquery that PostgreSQL evaluates for some rows only, in a branch of CASE or behind AND, becomes a join only if it cannot fail. That
//!    it has several rows is found out for those rows only.
//! 2. Volatile functions are evaluated for each outer row, so they keep a subquery as it is unless it reads no outer column.
//!
//! | module | contents |
//! |---|---|
//! | [`dependent_join`] | a dependent join made an ordinary one |
//! | [`domain`] | the values of outer columns for which the right side is computed |
//! | [`guards`] | when an operand is evaluated |
//! | [`push_down`] | the dependent join with the domain, pushed below each operator |
//! | [`subqueries`] | subqueries as dependent joins |

mod dependent_join;
mod domain;
mod guards;
mod joins;
mod push_down;
mod subqueries;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeSet;

use braid_sql::relation::{ColumnId, Columns, JoinKind, Relation};

use super::expressions::{all_of, conjuncts, filtered, has_subquery};
use super::renumbering::CteNumbers;

/// A relation of the same rows without dependent joins and without subqueries, as far as possible.
pub fn unnest(relation: Relation, columns: &mut Columns) -> Relation {
    let ctes = CteNumbers::after(&relation);
    Unnester { columns, ctes, made: BTreeSet::new() }.unnested(relation)
}

/// What unnesting a statement needs.
struct Unnester<'c> {
    columns: &'c mut Columns,
    ctes: CteNumbers,
    /// The columns of subqueries that became joins. A subquery that is written once may be in several expressions.
    made: BTreeSet<ColumnId>,
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
                let joined = self.joined(kind, &left, &right, condition.clone());
                let joined = joined.unwrap_or(Relation::Join { kind, left, right, condition });
                self.without_subqueries(filtered(joined, above))
            }
            other => self.without_subqueries(other),
        }
    }
}
