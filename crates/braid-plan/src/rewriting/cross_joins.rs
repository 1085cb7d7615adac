//! Inner joins in an order in which each has a condition on both sides, where the query's own order has a cross product.
//!
//! Needs: conditions that are [pushed down](super::filter_pushdown). Keeps: everything but the order of inner joins next to each other, and
//! that only if one of them is a cross product. Which of the possible orders is the best is not decided here.
//!
//! The inputs come in the query's order, but each that no condition connects with those before it waits for one that does. Inputs that
//! nothing connects are joined among themselves first, and crossed in the end. Conditions that may fail are evaluated last, for pairs for
//! which they were evaluated before. Nothing changes if a condition is volatile or an input reads columns of another one.

use std::collections::{BTreeSet, HashMap};

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, JoinKind, Relation};

use super::expressions::{
    all_of, conjuncts, equated, filtered, in_subquery_relations, is_volatile, null_safe_operands, with_inputs,
};
use super::failing::may_fail;

/// The relation with fewer cross products.
pub(super) fn avoid_cross_joins(mut relation: Relation) -> Relation {
    in_subquery_relations(&mut relation, &mut avoid_cross_joins);
    if !is_inner(&relation) {
        return with_inputs(relation, &mut avoid_cross_joins);
    }
    if has_cross_join(&relation) && can_reorder(&relation) {
        let mut cluster = Cluster::default();
        cluster.add(relation);
        cluster.inputs = std::mem::take(&mut cluster.inputs).into_iter().map(avoid_cross_joins).collect();
        return cluster.joined();
    }
    // The inputs of all joins next to it; the joins stay.
    with_inputs(relation, &mut |input| match is_inner(&input) {
        true => with_other_inputs(input),
        false => avoid_cross_joins(input),
    })
}

fn with_other_inputs(relation: Relation) -> Relation {
    with_inputs(relation, &mut |input| match is_inner(&input) {
        true => with_other_inputs(input),
        false => avoid_cross_joins(input),
    })
}

fn is_inner(relation: &Relation) -> bool {
    matches!(relation, Relation::Join { kind: JoinKind::Inner, .. })
}

/// Whether one of the inner joins next to each other has no condition on both sides.
fn has_cross_join(relation: &Relation) -> bool {
    let Relation::Join { kind: JoinKind::Inner, left, right, condition } = relation else { return false };
    !connects(condition, &left.columns(), &right.columns()) || has_cross_join(left) || has_cross_join(right)
}

/// Whether a conjunct of a condition reads columns of both sides.
fn connects(condition: &Expression, left: &[ColumnId], right: &[ColumnId]) -> bool {
    if let Node::And(operands) = &condition.node {
        return operands.iter().any(|operand| connects(operand, left, right));
    }
    let read = condition.free_columns();
    [left, right].iter().all(|side| side.iter().any(|column| read.contains(column)))
}

/// Whether no condition is volatile and no input reads another one's columns.
fn can_reorder(relation: &Relation) -> bool {
    fn inputs<'r>(relation: &'r Relation, all: &mut Vec<&'r Relation>) -> bool {
        match relation {
            Relation::Join { kind: JoinKind::Inner, left, right, condition } => {
                !is_volatile(condition) && inputs(left, all) && inputs(right, all)
            }
            input => {
                all.push(input);
                true
            }
        }
    }
    let mut all = Vec::new();
    if !inputs(relation, &mut all) {
        return false;
    }
    let made: BTreeSet<ColumnId> = relation.columns().into_iter().collect();
    all.iter().all(|input| input.free_columns().is_disjoint(&made))
}

/// Inner joins next to each other.
#[derive(Default)]
struct Cluster {
    inputs: Vec<Relation>,
    conditions: Vec<Expression>,
}

/// A condition, and the inputs that it reads.
struct Edge {
    condition: Expression,
    inputs: BTreeSet<usize>,
    /// Whether it is an equality, which a join can look up.
    is_equality: bool,
    /// How many of the inputs are not joined yet.
    missing: usize,
}

/// Inputs that are joined.
struct Component {
    relation: Relation,
    inputs: BTreeSet<usize>,
}

impl Cluster {
    fn add(&mut self, relation: Relation) {
        match relation {
            Relation::Join { kind: JoinKind::Inner, left, right, condition } => {
                self.add(*left);
                self.add(*right);
                self.conditions.extend(conjuncts(condition));
            }
            input => self.inputs.push(input),
        }
    }

    /// The inputs joined component by component, and these crossed.
    fn joined(self) -> Relation {
        let mut input_of: HashMap<ColumnId, usize> = HashMap::new();
        for (at, input) in self.inputs.iter().enumerate() {
            input_of.extend(input.columns().into_iter().map(|column| (column, at)));
        }
        let (mut edges, mut last) = (Vec::new(), Vec::new());
        for condition in self.conditions {
            let inputs: BTreeSet<usize> =
                condition.free_columns().iter().filter_map(|column| input_of.get(column).copied()).collect();
            match inputs.len() < 2 || may_fail(&condition) {
                true => last.push(condition),
                false => {
                    let is_equality = equated(&condition).is_some() || null_safe_operands(&condition).is_some();
                    edges.push(Edge { condition, missing: inputs.len(), inputs, is_equality });
                }
            }
        }
        let mut inputs: Vec<Option<Relation>> = self.inputs.into_iter().map(Some).collect();
        let mut components = Vec::new();
        while let Some(first) = inputs.iter().position(Option::is_some) {
            components.push(component(first, &mut inputs, &mut edges));
        }
        crossed(components, edges, last)
    }
}

/// The inputs that conditions connect with the first one.
fn component(first: usize, inputs: &mut [Option<Relation>], edges: &mut Vec<Edge>) -> Component {
    let mut edges_of: Vec<Vec<usize>> = vec![Vec::new(); inputs.len()];
    for (at, edge) in edges.iter().enumerate() {
        // A condition on an input of another component comes when these are crossed.
        if edge.inputs.iter().all(|input| inputs[*input].is_some()) {
            edge.inputs.iter().for_each(|input| edges_of[*input].push(at));
        }
    }
    let mut component = Component { relation: Relation::OneRow, inputs: BTreeSet::new() };
    // Those that are connected by an equality, and by any condition.
    let (mut by_equality, mut connected) = (BTreeSet::new(), BTreeSet::new());
    let mut next = Some(first);
    let mut done = BTreeSet::new();
    while let Some(input) = next {
        let relation = inputs[input].take().expect("an input is joined once");
        component.inputs.insert(input);
        by_equality.remove(&input);
        connected.remove(&input);
        let mut conditions = Vec::new();
        for at in &edges_of[input] {
            let edge = &mut edges[*at];
            edge.missing -= 1;
            if edge.missing == 0 {
                done.insert(*at);
                conditions.push(edge.condition.clone());
            } else if edge.missing == 1 {
                let waiting = edge.inputs.iter().find(|other| !component.inputs.contains(other));
                let waiting = waiting.copied().filter(|other| inputs[*other].is_some());
                connected.extend(waiting);
                by_equality.extend(waiting.filter(|_| edge.is_equality));
            }
        }
        component.relation = match component.inputs.len() {
            1 => relation,
            _ => join(component.relation, relation, conditions),
        };
        next = by_equality.first().or(connected.first()).copied();
    }
    let mut at = 0;
    edges.retain(|_| {
        at += 1;
        !done.contains(&(at - 1))
    });
    component
}

/// The components crossed, with the conditions on several of them and those that come last.
fn crossed(components: Vec<Component>, mut edges: Vec<Edge>, last: Vec<Expression>) -> Relation {
    let count = components.len();
    let mut last = Some(last);
    let mut all: Option<Component> = None;
    for (at, component) in components.into_iter().enumerate() {
        all = Some(match all {
            None => component,
            Some(before) => {
                let inputs = &before.inputs | &component.inputs;
                let (now, later): (Vec<_>, Vec<_>) = edges.into_iter().partition(|edge| edge.inputs.is_subset(&inputs));
                edges = later;
                let mut conditions: Vec<Expression> = now.into_iter().map(|edge| edge.condition).collect();
                if conditions.is_empty() && at + 1 == count {
                    conditions = last.take().unwrap_or_default();
                }
                Component { relation: join(before.relation, component.relation, conditions), inputs }
            }
        });
    }
    let relation = all.map_or(Relation::OneRow, |all| all.relation);
    filtered(relation, last.unwrap_or_default())
}

fn join(left: Relation, right: Relation, conditions: Vec<Expression>) -> Relation {
    Relation::Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        condition: all_of(conditions),
    }
}
