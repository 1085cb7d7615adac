//! Orders that nothing above can see, and repetitions that do not matter.
//!
//! Needs: nothing. Keeps: the order of the result, that below LIMIT, windows and DISTINCT ON, and that in which an aggregate gets its
//! arguments if its result may depend on it.
//!
//! A sort goes below a join, a union, a set operation, and below groups whose keys and aggregates are the same in any order. On the right
//! side of a semi, anti or mark join repetitions do not matter either, so that DISTINCT goes there, too.

use braid_sql::pg_catalog::pg_catalog;
use braid_sql::relation::{AggregateCall, Aggregation, ColumnId, Columns, JoinKind, Relation};

use super::expressions::{in_subqueries, is_volatile};
use super::identity_types::is_identity;
use super::static_rows::has_at_most_one_row;

/// Aggregates whose results are the same in any order.
const UNORDERED: &[&str] = &["count", "bool_and", "bool_or", "every", "bit_and", "bit_or"];

/// Those of them that return one of several equal arguments.
const CHOOSING: &[&str] = &["min", "max"];

/// Those that are exact for these types of arguments.
const SUMS: &[&str] = &["sum", "avg"];

/// Types whose sums are exact.
const EXACT: &[&str] = &["int2", "int4", "int8", "numeric"];

/// The relation with fewer sorts.
pub(super) fn remove_orders(mut relation: Relation, columns: &mut Columns) -> Relation {
    remove(&mut relation, Seen { order: true, repetitions: true }, columns);
    relation
}

/// What the operators above can tell of a relation's rows.
#[derive(Clone, Copy)]
struct Seen {
    order: bool,
    repetitions: bool,
}

fn remove(relation: &mut Relation, seen: Seen, columns: &Columns) {
    in_subqueries(relation, &mut |subquery| {
        let order = !has_at_most_one_row(&subquery.relation);
        remove(&mut subquery.relation, Seen { order, repetitions: true }, columns);
    });
    let all = Seen { order: true, repetitions: true };
    match relation {
        Relation::Sort { input, keys } if !seen.order && !keys.iter().any(|key| is_volatile(&key.expression)) => {
            *relation = std::mem::replace(&mut **input, Relation::OneRow);
            remove(relation, seen, columns);
        }
        Relation::Distinct { input, columns: distinct } if !seen.repetitions && are_identities(distinct, columns) => {
            *relation = std::mem::replace(&mut **input, Relation::OneRow);
            remove(relation, seen, columns);
        }
        Relation::Filter { input, .. } | Relation::Map { input, .. } => remove(input, seen, columns),
        Relation::Expand(expansion) => remove(&mut expansion.input, seen, columns),
        // Which of several equal rows comes first is seen in the values that are not the same.
        Relation::Distinct { input, columns: distinct } => {
            let order = seen.order || !are_identities(distinct, columns);
            remove(input, Seen { order, repetitions: false }, columns);
        }
        Relation::Join { kind, left, right, .. } => {
            let is_existential = matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_));
            let (order, repetitions) = match is_existential {
                true => (seen.order, seen.repetitions),
                // Repetitions of a side are repetitions of pairs; a single join fails for a second partner.
                false => (false, true),
            };
            remove(left, Seen { order, repetitions }, columns);
            remove(right, Seen { order: false, repetitions: !is_existential }, columns);
        }
        Relation::Aggregate(aggregation) => {
            let order = !is_unordered(aggregation, columns);
            remove(&mut aggregation.input, Seen { order, repetitions: true }, columns);
        }
        Relation::Union { inputs, .. } => {
            inputs.iter_mut().for_each(|input| remove(&mut input.relation, Seen { order: false, ..seen }, columns));
        }
        Relation::SetOperation { left, right, columns: made, .. } => {
            let order = !are_identities(made, columns);
            remove(&mut left.relation, Seen { order, repetitions: true }, columns);
            remove(&mut right.relation, Seen { order, repetitions: true }, columns);
        }
        Relation::With { definition, body, .. } => {
            remove(&mut definition.relation, all, columns);
            remove(body, seen, columns);
        }
        Relation::Recursive(recursion) => {
            remove(&mut recursion.start.relation, all, columns);
            remove(&mut recursion.step.relation, all, columns);
            remove(&mut recursion.body, seen, columns);
        }
        other => other.inputs_mut().into_iter().for_each(|input| remove(input, all, columns)),
    }
}

fn are_identities(columns: &[ColumnId], all: &Columns) -> bool {
    columns.iter().all(|column| is_identity(*column, all))
}

/// Whether the groups are the same in any order of the input.
fn is_unordered(aggregation: &Aggregation, columns: &Columns) -> bool {
    let keys: Vec<ColumnId> = aggregation.keys.iter().map(|(made, _)| *made).collect();
    are_identities(&keys, columns)
        && aggregation.aggregates.iter().all(|(made, call)| {
            let is_choice = CHOOSING.contains(&name_of(call)) && is_identity(*made, columns);
            call.order_by.is_empty() && (is_choice || is_any_order(call))
        })
}

fn is_any_order(call: &AggregateCall) -> bool {
    let exact = |id: &braid_sql::pg_catalog::TypeId| EXACT.contains(&pg_catalog().type_entry(*id).name);
    let arguments = &pg_catalog().function(call.function).arguments;
    UNORDERED.contains(&name_of(call)) || SUMS.contains(&name_of(call)) && arguments.iter().all(exact)
}

fn name_of(call: &AggregateCall) -> &'static str {
    pg_catalog().function(call.function).name
}
