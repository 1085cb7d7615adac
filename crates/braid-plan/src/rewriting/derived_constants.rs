//! Constants of columns that are equal to one with a constant: `a = b AND a = 1` implies `b = 1`.
//!
//! Needs: nothing; [filter pushdown](super::filter_pushdown) afterwards moves what is derived to the inputs. Keeps: the operators; a filter
//! is added above inner joins next to each other.
//!
//! Of a join that keeps or tests the rows of one side, the other side's rows are looked for: `l LEFT JOIN r ON r.b = l.a` finds partners for
//! rows of `l`. If of these only those with `l.a = 1` matter, only rows of `r` with `r.b = 1` can be partners, and the condition of the join
//! says so. For other rows of `l`, which a condition above drops, there are nulls in place of partners then. A condition that may fail could
//! fail for them, so that none may be in between.
//!
//! Columns of one type that are equal by its own equality compare with a constant alike, whatever their representations are (1.0 and 1.00).
//! A parameter is as constant as a literal.

use std::collections::{BTreeMap, BTreeSet};

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, Columns, JoinKind, Relation};

use super::Ruled;
use super::expressions::{
    Substitution, all_of, as_equal_column, column, conjuncts, equated, filtered, in_subquery_relations, replaced,
    with_inputs,
};
use super::failing::may_fail;

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
        if !is_of_cluster(&relation) {
            return with_inputs(relation, &mut |input| self.derived(input));
        }
        let mut conditions = Conditions::default();
        conditions.collect(&relation, self.columns);
        let derived = conditions.derived(self.columns);
        self.is_changed |= !derived.is_empty();
        let relation = self.with_inputs_of_cluster(relation, &mut conditions);
        filtered(relation, derived.into_iter().flat_map(|(_, condition)| conjuncts(condition)).collect())
    }

    /// An input; one of the same cluster was looked at as a whole.
    fn within(&mut self, mut relation: Relation, cluster: &mut Conditions) -> Relation {
        if !is_of_cluster(&relation) {
            return self.derived(relation);
        }
        in_subquery_relations(&mut relation, &mut |subquery| self.derived(subquery));
        self.with_inputs_of_cluster(relation, cluster)
    }

    fn with_inputs_of_cluster(&mut self, relation: Relation, cluster: &mut Conditions) -> Relation {
        let Relation::Join { kind, left, right, mut condition } = relation else {
            return with_inputs(relation, &mut |input| self.within(input, cluster));
        };
        let is_kept = kept_sides(kind);
        let mut side = |side: Relation, is_kept| if is_kept { self.within(side, cluster) } else { self.derived(side) };
        let (left, right) = (Box::new(side(*left, is_kept[0])), Box::new(side(*right, is_kept[1])));
        if is_kept != [true, true] {
            let partners = if is_kept[0] { &right } else { &left };
            let mut of_partners = cluster.of_partners(&condition, partners, self.columns);
            if !of_partners.is_empty() {
                self.is_changed = true;
                of_partners.splice(0..0, conjuncts(condition));
                condition = all_of(of_partners);
            }
        }
        Relation::Join { kind, left, right, condition }
    }
}

/// Filters, and joins with a side whose conditions are those of the result.
fn is_of_cluster(relation: &Relation) -> bool {
    match relation {
        Relation::Filter { .. } => true,
        Relation::Join { kind, .. } => kept_sides(*kind).contains(&true),
        _ => false,
    }
}

/// The sides, left and right, all conditions of which are true for the rows of a join. A row of the other side matters as a partner only.
fn kept_sides(kind: JoinKind) -> [bool; 2] {
    match kind {
        JoinKind::Inner => [true, true],
        JoinKind::Left | JoinKind::Single | JoinKind::Semi | JoinKind::Anti => [true, false],
        JoinKind::Right => [false, true],
        // Nulls of the right side make a mark null.
        JoinKind::Full | JoinKind::Mark(_) => [false, false],
    }
}

/// The conditions of filters and joins next to each other that are true for all rows of the result.
#[derive(Default)]
struct Conditions {
    /// Equal columns.
    pairs: Vec<(ColumnId, ColumnId)>,
    /// Columns with a constant, and the conditions that say so.
    constants: BTreeMap<ColumnId, Expression>,
    /// Columns that have this constant or are null, and the conditions that say so of others.
    constants_or_nulls: BTreeMap<ColumnId, Expression>,
    /// Whether a condition may fail, also one of a join on its partners.
    may_fail: bool,
}

impl Conditions {
    fn collect(&mut self, relation: &Relation, columns: &Columns) {
        match relation {
            Relation::Filter { input, condition } => {
                self.add(condition, columns);
                self.collect(input, columns);
            }
            Relation::Join { kind, left, right, condition } => {
                let [left_is_kept, right_is_kept] = kept_sides(*kind);
                match left_is_kept && right_is_kept {
                    true => self.add(condition, columns),
                    false => self.may_fail |= may_fail(condition),
                }
                if left_is_kept {
                    self.collect(left, columns);
                }
                if right_is_kept {
                    self.collect(right, columns);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, condition: &Expression, columns: &Columns) {
        if let Node::And(operands) = &condition.node {
            operands.iter().for_each(|operand| self.add(operand, columns));
            return;
        }
        self.may_fail |= may_fail(condition);
        if let Some(pair) = equal_columns(condition, columns) {
            self.pairs.push(pair);
        }
        let Some((left, right)) = equated(condition) else { return };
        match (as_equal_column(left, columns), as_equal_column(right, columns)) {
            (Some(column), None) if is_constant(right) => {
                self.constants.entry(column).or_insert_with(|| condition.clone());
            }
            (None, Some(column)) if is_constant(left) => {
                self.constants.entry(column).or_insert_with(|| condition.clone());
            }
            _ => {}
        }
    }

    /// The conditions that follow and are not there yet, and the columns that they are about.
    fn derived(&mut self, columns: &Columns) -> Vec<(ColumnId, Expression)> {
        let mut derived: Vec<(ColumnId, Expression)> = Vec::new();
        if !self.constants.is_empty() && !self.pairs.is_empty() {
            let mut equal: BTreeMap<ColumnId, Vec<ColumnId>> = BTreeMap::new();
            for (left, right) in &self.pairs {
                equal.entry(*left).or_default().push(*right);
                equal.entry(*right).or_default().push(*left);
            }
            let mut seen: BTreeSet<ColumnId> = self.constants.keys().copied().collect();
            for (of, condition) in &self.constants {
                let mut reached = vec![*of];
                while let Some(next) = reached.pop() {
                    for other in equal.get(&next).into_iter().flatten() {
                        if seen.insert(*other) {
                            derived.push((*other, about(condition, *of, *other, columns)));
                            reached.push(*other);
                        }
                    }
                }
            }
        }
        self.constants_or_nulls = self.constants.clone();
        self.constants_or_nulls.extend(derived.iter().cloned());
        derived
    }

    /// What follows from the condition of a join for the rows of a side that are looked for as partners.
    fn of_partners(&mut self, condition: &Expression, partners: &Relation, columns: &Columns) -> Vec<Expression> {
        if self.may_fail || self.constants_or_nulls.is_empty() {
            return Vec::new();
        }
        let conditions = conjuncts(condition.clone());
        let mut of_partners = Vec::new();
        for (left, right) in conditions.iter().filter_map(|each| equal_columns(each, columns)) {
            for (of, other) in [(left, right), (right, left)] {
                let Some(constant) = self.constants_or_nulls.get(&of) else { continue };
                let derived = about(constant, of, other, columns);
                if self.constants_or_nulls.contains_key(&other) || !partners.columns().contains(&other) {
                    continue;
                }
                if !conditions.contains(&derived) {
                    of_partners.push(derived.clone());
                }
                self.constants_or_nulls.insert(other, derived);
            }
        }
        of_partners
    }
}

/// A condition on a column as one on another.
fn about(condition: &Expression, of: ColumnId, other: ColumnId, columns: &Columns) -> Expression {
    replaced(condition.clone(), &Substitution::from([(of, column(other, columns))]))
}

/// The two columns of one type that a condition says are equal.
fn equal_columns(condition: &Expression, columns: &Columns) -> Option<(ColumnId, ColumnId)> {
    let (left, right) = equated(condition)?;
    let (left, right) = (as_equal_column(left, columns)?, as_equal_column(right, columns)?);
    let is_of_one_type = columns.sql_type(left).id == columns.sql_type(right).id;
    (left != right && is_of_one_type).then_some((left, right))
}

fn is_constant(expression: &Expression) -> bool {
    match &expression.node {
        Node::Constant(value) => !value.is_null(),
        Node::Parameter(_) => true,
        Node::Relabel(inner) => is_constant(inner),
        _ => false,
    }
}
