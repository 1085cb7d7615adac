//! Rules that rewrite relations. Each is a pure function in a file of its own, and says which property of its input it needs.
//!
//! [`rewrite`] applies them in this order, each as often as it is named here at most: it leaves out rules for what a relation lacks. A pass is
//! one walk through the relation, so that the time is nearly linear in its size.
//!
//! 1. [`inlining`], [`pruning`], [`folding`], [`factoring`]: on the query as it is written, so that unnesting sees fewer subqueries and
//!    fewer expressions that may fail.
//! 2. [`array_subqueries`], [`unnesting`]: from here on there are joins in place of subqueries, as far as there can be. [`restored_orders`], because some of them
//!    are above sorts.
//! 3. [`outer_joins`], [`derived_constants`], [`filter_pushdown`], up to twice: a condition that has moved makes further joins inner and
//!    meets further equalities. [`folding`] between them, because a condition may have got constants in place of columns.
//! 4. [`restricted_tables`], once conditions are above the scans of common table expressions; what has got conditions by it is looked at
//!    again.
//! 5. [`empties`], [`pruning`]: what no one reads goes, so that joins come next to each other.
//! 6. [`filter_pushdown`] and [`cross_joins`], last, because they place conditions.
//! 7. [`invariants`], because no condition moves into what is kept; [`orders`], and [`pruning`] of what only sorts read.
//!
//! | module | contents |
//! |---|---|
//! | [`contents`] | what a relation has at all |
//! | [`array_subqueries`] | arrays of subqueries as aggregates |
//! | [`unnesting`] | subqueries and lateral joins as ordinary joins |
//! | [`inlining`] | common table expressions that are read once |
//! | [`folding`] | constant expressions |
//! | [`invariants`] | what all steps of a recursion read alike |
//! | [`factoring`] | what the alternatives of an OR share |
//! | [`outer_joins`] | outer joins that are inner ones |
//! | [`derived_constants`] | constants of equal columns |
//! | [`filter_pushdown`] | conditions as early as possible |
//! | [`restricted_tables`] | common table expressions without rows that none of their readers wants |
//! | [`cross_joins`] | inner joins without cross products |
//! | [`empties`] | inputs without rows |
//! | [`pruning`] | columns that nothing reads |
//! | [`restored_orders`] | sorts above joins of sorted rows |
//! | [`orders`] | sorts that nothing sees |
//! | [`expressions`] | expressions made and taken apart |
//! | [`nulls`] | what nulls make of expressions |
//! | [`failing`] | which expressions may fail |
//! | [`known_signs`] | which numbers a CASE knows not to be zero |
//! | [`static_rows`] | relations of at most one row; values of aggregates without rows |
//! | [`identity_types`] | types whose equal values are the same |
//! | [`renumbering`] | copies of relations |

mod array_subqueries;
mod contents;
mod cross_joins;
mod derived_constants;
mod empties;
mod expressions;
mod factoring;
pub(crate) mod failing;
mod filter_pushdown;
mod folding;
pub(crate) mod identity_types;
mod inlining;
mod invariants;
mod known_signs;
mod nulls;
mod orders;
mod outer_joins;
mod pruning;
pub(crate) mod renumbering;
mod restored_orders;
mod restricted_tables;
mod static_rows;
#[cfg(test)]
mod tests;
mod unnesting;

use braid_sql::SqlError;
use braid_sql::functions::SessionFacts;
use braid_sql::relation::{ColumnId, ColumnSet, Columns, Relation};

use contents::Contents;

pub use pruning::read_columns;
pub use unnesting::unnest;

/// How often conditions move down before joins get their order.
const ROUNDS: usize = 2;

/// A relation that has the same rows of these outputs, in the same order, and is cheaper to compute. Nothing fails that did not fail before.
pub fn rewrite(
    relation: Relation,
    outputs: &[ColumnId],
    columns: &mut Columns,
    session: &dyn SessionFacts,
) -> Relation {
    rewritten_with_error(relation, outputs, columns, session).0
}

/// [`rewrite`], and the error of the first constant that PostgreSQL's planner would compute and that has one.
pub(crate) fn rewritten_with_error(
    mut relation: Relation,
    outputs: &[ColumnId],
    columns: &mut Columns,
    session: &dyn SessionFacts,
) -> (Relation, Option<SqlError>) {
    let contents = Contents::of(&relation);
    let mut kept = ColumnSet::default();
    if contents.has_common_tables {
        relation = inlining::inline_common_tables(relation, columns);
        kept = pruning::failing_columns(&relation);
    }
    let prune = |relation: Relation| pruning::prune_columns(relation, outputs, &kept);
    let (folded, error) = folding::folded_with_error(prune(relation), session);
    relation = unnest(as_written(folded.relation, &contents, columns), columns);
    relation = restored_orders::restore_orders(relation, columns);
    relation = with_conditions_down(relation, columns, session);
    relation = with_tables_restricted(relation, columns, session);
    relation = empties::remove_empty_inputs(relation, columns);
    relation = prune(relation);
    relation = filter_pushdown::push_filters_down(relation, columns);
    relation = cross_joins::avoid_cross_joins(relation);
    relation = invariants::move_invariants(relation, columns);
    relation = orders::remove_orders(relation, columns);
    (prune(relation), error)
}

/// The rules for a query as it is written, with its constants computed.
fn as_written(mut relation: Relation, contents: &Contents, columns: &mut Columns) -> Relation {
    if contents.has_disjunctions {
        relation = factoring::factor_disjunctions(relation);
    }
    if contents.has_arrays_of_rows {
        relation = array_subqueries::aggregate_arrays(relation, columns);
    }
    relation
}

/// The rules that move conditions, in rounds. A round in which nothing can have changed since the last one is left out.
fn with_conditions_down(mut relation: Relation, columns: &mut Columns, session: &dyn SessionFacts) -> Relation {
    let has_outer_joins = Contents::of(&relation).has_outer_joins;
    let mut has_news = true;
    for _ in 0..ROUNDS {
        if has_outer_joins {
            relation = outer_joins::simplify_outer_joins(relation, columns);
        }
        let derived = derived_constants::derive_constants(relation, columns);
        relation = derived.relation;
        if !has_outer_joins && !has_news && !derived.is_changed {
            break;
        }
        relation = filter_pushdown::push_filters_down(relation, columns);
        let folded = folding::fold_constants(relation, session);
        (relation, has_news) = (folded.relation, folded.is_changed);
    }
    relation
}

/// Common table expressions with the conditions of their readers. These meet constants and equalities there.
fn with_tables_restricted(relation: Relation, columns: &mut Columns, session: &dyn SessionFacts) -> Relation {
    let Ruled { relation, is_changed } = restricted_tables::restrict_common_tables(relation, columns);
    match is_changed {
        true => with_conditions_down(folding::fold_constants(relation, session).relation, columns, session),
        false => relation,
    }
}

/// A relation after a rule.
struct Ruled {
    relation: Relation,
    /// Whether the rule has found something to do.
    is_changed: bool,
}
