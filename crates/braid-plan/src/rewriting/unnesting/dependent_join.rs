//! A dependent join made an ordinary one.
//!
//! In turn: conditions of the right side that read outer columns become conditions of the join (simple unnesting); an aggregation
//! without GROUP BY on top of the right side becomes a left join with groups; any other right side is computed for all values of the
//! domain (general unnesting):
//!
//! T1 ⧑_p T2 = T1 ⋈_{p ∧ T1 =_{A(D)} D} (D ⧑ T2), D = Π_{F(T2) ∩ A(T1)}(T1)
//!
//! where the equality holds for nulls, too. For semi, anti, mark, left and single joins it is the same.

use std::collections::BTreeSet;

use braid_sql::expression::Node;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{Aggregation, ColumnId, Expansion, JoinKind, Relation};
use braid_sql::{Expression, SqlType};

use super::Unnester;
use super::domain::Domain;
use super::guards::Evaluated;
use super::push_down::{Representatives, Unnesting};
use crate::rewriting::expressions::{
    all_of, column, conjuncts, filtered, has_subquery, has_volatile, is_volatile, mapped, null_safe_equality, operator,
    truth,
};
use crate::rewriting::failing::{may_fail, relation_may_fail};
use crate::rewriting::static_rows::{is_static, value_without_rows};

/// The expressions of Maps, outermost first.
type Maps<'r> = Vec<&'r Vec<(ColumnId, Expression)>>;

impl Unnester<'_> {
    /// The join; `None` if the right side reads the left one's columns and cannot be freed of them.
    pub(super) fn joined(
        &mut self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        condition: Expression,
    ) -> Option<Relation> {
        let outer = outer_columns(left, right);
        if outer.is_empty() {
            return Some(join(kind, left.clone(), right.clone(), condition));
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            return None;
        }
        if kind == JoinKind::Inner
            && let Some(expanded) = expanded(left, right)
        {
            return Some(filtered(expanded, conjuncts(condition)));
        }
        let mut pulled = Vec::new();
        let simple = pulled_up(right, &outer, &mut pulled);
        if simple.free_columns().is_disjoint(&outer) {
            let mut conditions = conjuncts(condition);
            // A condition that is null drops a row of the right side; it must not make the mark null.
            let dropping = |each| match kind {
                JoinKind::Mark(_) => truth(Node::Is(true, Box::new(each))),
                _ => each,
            };
            conditions.extend(pulled.into_iter().map(dropping));
            return Some(join(kind, left.clone(), simple, all_of(conditions)));
        }
        if let (JoinKind::Inner | JoinKind::Left | JoinKind::Single, Node::Constant(braid_sql::Value::Bool(true))) =
            (kind, &condition.node)
            && let Some((aggregation, maps)) = static_top(right)
        {
            return self.static_aggregation(left, aggregation, maps);
        }
        let unnesting = self.unnesting(left, right, outer);
        self.joined_with_domain(kind, unnesting, right, conjuncts(condition))
    }

    /// The join with a right side that may only be computed for left rows for which some conditions are true. Other left rows have no partner.
    pub(super) fn guarded_join(
        &mut self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        (condition, evaluated): (Expression, &Evaluated),
    ) -> Option<Relation> {
        let mut left = left.clone();
        let mut outer: Vec<ColumnId> = outer_columns(&left, right).into_iter().collect();
        if outer.is_empty() {
            // A value that all rows share: it is there if there is a row.
            let shared = self.columns.add("row", SqlType::of(TypeId::BOOL));
            left = mapped(left, vec![(shared, all_of(Vec::new()))]);
            outer.push(shared);
        }
        let (guard, is_row_wise) = (all_of(evaluated.0.clone()), has_volatile(right));
        let mut conditions = vec![guard.clone()];
        conditions.extend(conjuncts(condition));
        let domain = Domain::new(&left, outer, is_row_wise, Some(guard), self);
        self.joined_with_domain(kind, Unnesting::guarded(domain, is_row_wise), right, conditions)
    }

    /// The join with a right side that is computed for the values of the domain.
    fn joined_with_domain(
        &mut self,
        kind: JoinKind,
        mut unnesting: Unnesting,
        right: &Relation,
        mut conditions: Vec<Expression>,
    ) -> Option<Relation> {
        let (relation, representatives) = unnesting.pushed(right, &[], self)?;
        let Unnesting { domain, .. } = unnesting;
        let is_mark = matches!(kind, JoinKind::Mark(_));
        conditions.extend(self.domain_equality(&domain.outer, &representatives, !is_mark)?);
        let joined = join(kind, domain.left(), relation, all_of(conditions));
        Some(domain.around(joined, self))
    }

    fn unnesting(&mut self, left: &Relation, right: &Relation, outer: BTreeSet<ColumnId>) -> Unnesting {
        let is_row_wise = has_volatile(right);
        let domain = Domain::new(left, outer.into_iter().collect(), is_row_wise, None, self);
        let can_substitute = !domain.is_numbered() && !relation_may_fail(right);
        Unnesting::new(domain, can_substitute, is_row_wise)
    }

    /// `T1 =_{A(D)} D`. `may_be_strict`: whether null is as good as false.
    fn domain_equality(
        &self,
        outer: &[ColumnId],
        representatives: &Representatives,
        may_be_strict: bool,
    ) -> Option<Vec<Expression>> {
        let equality = |outer: &ColumnId| {
            let (left, right) = (column(*outer, self.columns), column(representatives.of(*outer), self.columns));
            match may_be_strict && representatives.are_never_null {
                true => operator("=", left.clone(), right.clone()).or_else(|| null_safe_equality(left, right)),
                false => null_safe_equality(left, right),
            }
        };
        outer.iter().map(equality).collect()
    }

    /// A right side that is one group of all rows, below expressions. It has exactly one row for each outer row, so that a left join with the
    /// groups by A(D) gives all that it gives, except the values of aggregates without rows.
    fn static_aggregation(&mut self, left: &Relation, aggregation: &Aggregation, maps: Maps<'_>) -> Option<Relation> {
        let right = Relation::Aggregate(Box::new(aggregation.clone()));
        let outer = outer_columns(left, &right);
        if outer.is_empty() {
            let joined = join(JoinKind::Inner, left.clone(), right, all_of(Vec::new()));
            return Some(maps.into_iter().rev().fold(joined, |input, map| mapped(input, map.clone())));
        }
        let mut unnesting = self.unnesting(left, &right, outer);
        let (grouped, representatives, values) = unnesting.grouped(aggregation, self)?;
        let Unnesting { domain, .. } = unnesting;
        let equality = self.domain_equality(&domain.outer, &representatives, true)?;
        let joined = join(JoinKind::Left, domain.left(), grouped, all_of(equality));
        let with_values = mapped(joined, values);
        let with_maps = maps.into_iter().rev().fold(with_values, |input, map| mapped(input, map.clone()));
        Some(domain.around(with_maps, self))
    }
}

/// The columns of the left side that the right side reads.
fn outer_columns(left: &Relation, right: &Relation) -> BTreeSet<ColumnId> {
    let mut outer = right.free_columns();
    if !outer.is_empty() {
        let of_left: BTreeSet<ColumnId> = left.columns().into_iter().collect();
        outer.retain(|column| of_left.contains(column));
    }
    outer
}

/// A join of these sides.
pub(super) fn join(kind: JoinKind, left: Relation, right: Relation, condition: Expression) -> Relation {
    Relation::Join { kind, left: Box::new(left), right: Box::new(right), condition }
}

/// A right side of one row, whose columns are computed and whose rows are those of functions: the same steps on top of the left side. So a
/// function in FROM needs no join.
fn expanded(left: &Relation, right: &Relation) -> Option<Relation> {
    if right.expressions().into_iter().any(has_subquery) {
        return None;
    }
    match right {
        Relation::OneRow => Some(left.clone()),
        Relation::Filter { input, condition } => Some(filtered(expanded(left, input)?, conjuncts(condition.clone()))),
        Relation::Map { input, expressions } => Some(mapped(expanded(left, input)?, expressions.clone())),
        Relation::Expand(expansion) => {
            let input = expanded(left, &expansion.input)?;
            Some(Relation::Expand(Box::new(Expansion { input, ..(**expansion).clone() })))
        }
        _ => None,
    }
}

/// Maps above an aggregation of one group, all of whose aggregates have a known value without rows.
fn static_top(mut relation: &Relation) -> Option<(&Aggregation, Maps<'_>)> {
    let mut maps = Vec::new();
    loop {
        match relation {
            Relation::Map { input, expressions } => {
                let stays =
                    |(_, expression): &(ColumnId, Expression)| is_volatile(expression) || has_subquery(expression);
                if expressions.iter().any(stays) {
                    return None;
                }
                maps.push(expressions);
                relation = input;
            }
            Relation::Aggregate(aggregation) if is_static(aggregation) => {
                let is_known = aggregation.aggregates.iter().all(|(_, call)| value_without_rows(call).is_some());
                return is_known.then_some((aggregation, maps));
            }
            _ => return None,
        }
    }
}

/// The relation without the conditions that read outer columns and can be evaluated above it, which go to `pulled`.
fn pulled_up(relation: &Relation, outer: &BTreeSet<ColumnId>, pulled: &mut Vec<Expression>) -> Relation {
    let is_outer = |condition: &Expression| {
        !condition.free_columns().is_disjoint(outer) && !has_subquery(condition) && !is_volatile(condition)
    };
    match relation {
        Relation::Filter { input, condition } => {
            let (up, stay): (Vec<_>, Vec<_>) = conjuncts(condition.clone()).into_iter().partition(is_outer);
            let input = match stay.iter().any(may_fail) {
                true => (**input).clone(),
                false => pulled_up(input, outer, pulled),
            };
            pulled.extend(up);
            filtered(input, stay)
        }
        Relation::Map { input, expressions }
            if expressions.iter().all(|(_, expression)| !may_fail(expression) && !is_volatile(expression)) =>
        {
            Relation::Map { input: Box::new(pulled_up(input, outer, pulled)), expressions: expressions.clone() }
        }
        Relation::Sort { input, keys } if keys.iter().all(|key| !may_fail(&key.expression)) => {
            Relation::Sort { input: Box::new(pulled_up(input, outer, pulled)), keys: keys.clone() }
        }
        Relation::Join { kind: JoinKind::Inner, left, right, condition } => {
            let (up, stay): (Vec<_>, Vec<_>) = conjuncts(condition.clone()).into_iter().partition(is_outer);
            if stay.iter().any(may_fail) {
                return relation.clone();
            }
            let (left, right) = (pulled_up(left, outer, pulled), pulled_up(right, outer, pulled));
            pulled.extend(up);
            join(JoinKind::Inner, left, right, all_of(stay))
        }
        Relation::Join { kind: kind @ (JoinKind::Left | JoinKind::Semi | JoinKind::Anti), left, right, condition }
            if !may_fail(condition) =>
        {
            join(*kind, pulled_up(left, outer, pulled), (**right).clone(), condition.clone())
        }
        other => other.clone(),
    }
}
