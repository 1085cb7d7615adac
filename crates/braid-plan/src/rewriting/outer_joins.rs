//! Outer joins made inner where what stands above drops the rows that the join fills with nulls.
//!
//! Needs: nothing; a condition that stands right above the join in the end is found best. Keeps: all other operators as they are.
//!
//! On the way down goes a set of columns: a row with null in one of them is dropped above, whatever else it has. A condition drops such
//! rows for its [rejected columns](super::nulls::rejected_columns). A left join whose right side has one of these columns is an inner
//! join; a full join whose left side has one keeps the left rows only. (C. Galindo-Legaria, A. Rosenthal, *Outerjoin Simplification and
//! Reordering for Query Optimization*, TODS 1997.) No row is computed that was not computed before, so nothing new can fail.
//!
//! A filter above a left join that wants a column of the right side to be null, which is null in no pair of rows, wants the left rows
//! without a partner: the join is an anti join, with nulls for the right side's columns.

use std::collections::{BTreeMap, BTreeSet};

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, Columns, JoinKind, Relation, Rows};

use super::empties::with_nulls;
use super::expressions::{
    all_of, as_column, column, conjuncts, filtered, in_subqueries, in_subquery_relations, no_rows, replace_columns,
};
use super::nulls::{rejected_columns, strict_columns};
use super::renumbering::renamed;

type Set = BTreeSet<ColumnId>;

/// The relation with fewer outer joins.
pub(super) fn simplify_outer_joins(mut relation: Relation, columns: &mut Columns) -> Relation {
    make_anti_joins(&mut relation, columns);
    simplify(&mut relation, Set::new());
    relation
}

/// Makes left joins of which only rows without a partner are wanted anti joins.
fn make_anti_joins(relation: &mut Relation, columns: &mut Columns) {
    in_subqueries(relation, &mut |subquery| make_anti_joins(&mut subquery.relation, columns));
    relation.inputs_mut().into_iter().for_each(|input| make_anti_joins(input, columns));
    let Relation::Filter { input, condition } = relation else { return };
    let Relation::Join { kind: JoinKind::Left, left, right, condition: pairs } = &mut **input else { return };
    let of_right: Set = right.columns().into_iter().collect();
    let never_null = &rejected_columns(pairs) & &of_right;
    let mut wanted = conjuncts(condition.clone());
    let is_null = |each: &Expression| match &each.node {
        Node::IsNull(operand) => as_column(operand).is_some_and(|column| never_null.contains(&column)),
        _ => false,
    };
    let Some(at) = wanted.iter().position(is_null) else { return };
    wanted.remove(at);
    let [left, right] = [left, right].map(|side| std::mem::replace(&mut **side, Relation::OneRow));
    let mut pairs = std::mem::replace(pairs, all_of(Vec::new()));
    // The columns are made anew above the join, so that the right side's need other numbers.
    let nulls = no_rows(of_right.iter().copied().collect());
    let names: BTreeMap<_, _> = of_right.into_iter().map(|own| (own, columns.add_like(own))).collect();
    let substitution = names.iter().map(|(own, new)| (*own, column(*new, columns))).collect();
    replace_columns(&mut pairs, &substitution);
    let (left, right) = (Box::new(left), Box::new(renamed(right, names)));
    let joined = Relation::Join { kind: JoinKind::Anti, left, right, condition: pairs };
    *relation = filtered(with_nulls(joined, &nulls, columns), wanted);
}

/// `rejected`: rows with null in one of these columns do not matter.
fn simplify(relation: &mut Relation, rejected: Set) {
    in_subquery_relations(relation, &mut |mut subquery| {
        simplify(&mut subquery, Set::new());
        subquery
    });
    match relation {
        Relation::OneRow | Relation::Table(_) | Relation::Values { .. } | Relation::CteScan { .. } => {}
        Relation::Filter { input, condition } => simplify(input, with(rejected, rejected_columns(condition))),
        Relation::Map { input, expressions } => {
            let made = expressions.iter().filter(|(made, _)| rejected.contains(made));
            let read: Set = made.flat_map(|(_, expression)| strict_columns(expression)).collect();
            simplify(input, with(rejected, read));
        }
        Relation::Expand(expansion) => simplify(&mut expansion.input, rejected),
        Relation::Sort { input, .. } | Relation::Distinct { input, .. } => simplify(input, rejected),
        Relation::Limit { input, .. } => simplify(input, Set::new()),
        Relation::DistinctOn { input, keys } => {
            let keys: Set = keys.iter().filter_map(as_column).collect();
            simplify(input, &rejected & &keys);
        }
        Relation::Window(windowing) => {
            let keys: Set = windowing.partition_by.iter().filter_map(as_column).collect();
            simplify(&mut windowing.input, &rejected & &keys);
        }
        Relation::Aggregate(aggregation) => {
            let is_in_all_sets = |at: usize| aggregation.sets.iter().all(|set| set.contains(&at));
            let keys = aggregation.keys.iter().enumerate();
            let keys = keys.filter(|(at, (made, _))| rejected.contains(made) && is_in_all_sets(*at));
            let read = keys.flat_map(|(_, (_, key))| strict_columns(key)).collect();
            simplify(&mut aggregation.input, read);
        }
        Relation::Union { inputs, columns } => inputs.iter_mut().for_each(|input| of_rows(input, columns, &rejected)),
        Relation::SetOperation { left, right, columns, .. } => {
            of_rows(left, columns, &rejected);
            of_rows(right, columns, &rejected);
        }
        Relation::With { definition, body, .. } => {
            simplify(&mut definition.relation, Set::new());
            simplify(body, rejected);
        }
        Relation::Recursive(recursion) => {
            simplify(&mut recursion.start.relation, Set::new());
            simplify(&mut recursion.step.relation, Set::new());
            simplify(&mut recursion.body, rejected);
        }
        Relation::Join { kind, left, right, condition } => {
            *kind = simplified(*kind, left, right, &rejected);
            let own = rejected_columns(condition);
            let (of_left, of_right) = match kind {
                JoinKind::Inner => {
                    let both = with(rejected, own);
                    (both.clone(), both)
                }
                JoinKind::Left | JoinKind::Single | JoinKind::Anti => (rejected, own),
                JoinKind::Right => (own, rejected),
                JoinKind::Full => (Set::new(), Set::new()),
                JoinKind::Semi => (with(rejected, own.clone()), own),
                JoinKind::Mark(_) => (rejected, Set::new()),
            };
            simplify(left, of_left);
            simplify(right, of_right);
        }
    }
}

/// The kind of a join when rows with null in these columns do not matter.
fn simplified(kind: JoinKind, left: &Relation, right: &Relation, rejected: &Set) -> JoinKind {
    let rejects = |side: &Relation| !rejected.is_empty() && side.columns().iter().any(|own| rejected.contains(own));
    match kind {
        JoinKind::Left if rejects(right) => JoinKind::Inner,
        JoinKind::Right if rejects(left) => JoinKind::Inner,
        JoinKind::Full => match (rejects(left), rejects(right)) {
            (true, true) => JoinKind::Inner,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (false, false) => JoinKind::Full,
        },
        kind => kind,
    }
}

/// An input whose columns are called otherwise above.
fn of_rows(rows: &mut Rows, columns: &[ColumnId], rejected: &Set) {
    let own = rows.columns.iter().zip(columns).filter(|(_, above)| rejected.contains(above));
    let own = own.map(|(own, _)| *own).collect();
    simplify(&mut rows.relation, own);
}

fn with(mut set: Set, further: Set) -> Set {
    set.extend(further);
    set
}
