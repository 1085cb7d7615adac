//! Inner joins as a graph of relations, equal columns and further conditions, and the plan that joins them in a given order.
//!
//! The planner makes a graph of a statement's joins. The executor makes a graph of a plan's joins when it finds that their
//! order is bad (mid-query re-optimisation: Kabra and DeWitt, SIGMOD 1998). It then knows that one join makes many more pairs
//! than it has input rows. It assumes that every other join has a unique key on one side, so that it makes at most as many
//! rows as its larger table has. This holds in most databases. If it does not hold, the next run of the query is no worse.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{JoinEdge, JoinTree, join_order};
use crate::Expression;
use crate::plan::{JoinCondition, JoinKind, NodeId, NullKeys, Plan, SideShape};

/// Assumed rows of a table with an unknown row count.
const ROWS_UNKNOWN: f64 = 1e6;

/// Assumed share of rows that a table with a filter keeps.
const NARROWED_SHARE: f64 = 0.25;

/// Relations of inner joins. The columns of all relations are numbered consecutively.
#[derive(Debug, Default)]
pub struct JoinGraph<'a> {
    relations: Vec<&'a Plan>,
    /// The number of each relation's first column.
    first_columns: Vec<usize>,
    column_count: usize,
    /// Pairs of equal columns.
    equalities: Vec<(usize, usize)>,
    /// Further conditions over the numbered columns.
    conditions: Vec<Expression>,
    /// The joins, each with the relations below it.
    joins: Vec<(NodeId, Range<usize>)>,
}

/// A column of a relation, by the positions of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelationColumn {
    /// The position of the relation in the graph.
    pub relation: usize,
    /// The position of the column in the relation.
    pub column: usize,
}

/// Two relations with equal columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EqualColumns {
    /// The positions of the relations, the first one first.
    pub relations: (usize, usize),
    /// The pairs of equal columns, by their positions in their relations.
    pub columns: Vec<(usize, usize)>,
}

/// The plan of a graph's relations, or of some of them.
#[derive(Debug)]
pub struct JoinedRelations<T> {
    /// The plan.
    pub plan: Plan,
    /// The number of each of its columns.
    pub columns: Vec<usize>,
    /// The knowledge about it.
    pub known: T,
}

/// Derives knowledge about joins from knowledge about relations, for callers that need more than the plan.
pub trait JoinKnowledge {
    /// The knowledge about a relation or join.
    type Known;

    /// The knowledge about the relation at this position.
    fn of_relation(&self, relation: usize) -> Self::Known;

    /// The knowledge about a join, whose columns are the probe side's followed by the build side's.
    fn of_join(&self, probe: Self::Known, build: Self::Known, condition: &JoinCondition) -> Self::Known;
}

/// No knowledge beyond the plan.
struct PlanAlone;

impl JoinKnowledge for PlanAlone {
    type Known = ();

    fn of_relation(&self, _: usize) {}

    fn of_join(&self, (): (), (): (), _: &JoinCondition) {}
}

impl<'a> JoinGraph<'a> {
    /// A graph of these relations, without edges.
    pub fn of_relations(relations: impl Iterator<Item = &'a Plan>) -> Self {
        let mut graph = Self::default();
        for relation in relations {
            graph.add_relation(relation);
        }
        graph
    }

    /// The number of a relation's column.
    pub fn number(&self, RelationColumn { relation, column }: RelationColumn) -> usize {
        self.first_columns[relation] + column
    }

    /// Adds the condition that two columns are equal.
    pub fn add_equality(&mut self, column: usize, other: usize) {
        self.equalities.push((column, other));
    }

    /// Adds a condition on numbered columns. It is evaluated as soon as all of its columns are joined.
    pub fn add_condition(&mut self, condition: Expression) {
        match condition {
            Expression::And(parts) => self.conditions.extend(parts),
            condition => self.conditions.push(condition),
        }
    }

    /// The graph of an inner join and of the inner joins directly below it, and the numbers of its columns.
    pub fn of(build: &'a Plan, probe: &'a Plan, condition: &JoinCondition) -> (Self, Vec<usize>) {
        let mut graph = Self::default();
        let columns = graph.add_join(build, probe, condition);
        (graph, columns)
    }

    /// The relations.
    pub fn relations(&self) -> &[&'a Plan] {
        &self.relations
    }

    /// The same graph of other plans for its relations, which have the same columns.
    pub fn with_relations<'b>(&self, relations: impl Iterator<Item = &'b Plan>) -> JoinGraph<'b> {
        let mut graph = JoinGraph::of_relations(relations);
        assert_eq!(graph.first_columns, self.first_columns, "relations keep their columns");
        graph.equalities.clone_from(&self.equalities);
        graph.conditions.clone_from(&self.conditions);
        graph
    }

    /// The pairs of relations with equal columns, each pair once, with these columns.
    pub fn equal_columns(&self) -> Vec<EqualColumns> {
        let mut pairs: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
        for (a, b) in &self.equalities {
            let of = |column: usize| {
                let relation = self.relation_of(column);
                RelationColumn { relation, column: column - self.first_columns[relation] }
            };
            let (first, second) = (of(*a).min(of(*b)), of(*a).max(of(*b)));
            pairs.entry((first.relation, second.relation)).or_default().push((first.column, second.column));
        }
        pairs.into_iter().map(|(relations, columns)| EqualColumns { relations, columns }).collect()
    }

    /// Whether a join may be reordered with the joins above and below it.
    pub fn takes(condition: &JoinCondition) -> bool {
        condition.kind == JoinKind::Inner && condition.null_keys == NullKeys::EqualNothing
    }

    /// The relations below this join; `None` if it is not one of this graph's.
    pub(crate) fn relations_of(&self, join: NodeId) -> Option<Range<usize>> {
        let mut joins = self.joins.iter().filter(|(node, _)| *node == join);
        joins.next().map(|(_, relations)| relations.clone())
    }

    fn add(&mut self, plan: &'a Plan) -> Vec<usize> {
        if let Plan::Join { node, build, probe, condition } = plan
            && Self::takes(condition)
        {
            let first = self.relations.len();
            let columns = self.add_join(build, probe, condition);
            self.joins.push((*node, first..self.relations.len()));
            return columns;
        }
        self.add_relation(plan).collect()
    }

    fn add_relation(&mut self, plan: &'a Plan) -> Range<usize> {
        let columns = self.column_count..self.column_count + plan.column_count();
        self.relations.push(plan);
        self.first_columns.push(columns.start);
        self.column_count = columns.end;
        columns
    }

    fn add_join(&mut self, build: &'a Plan, probe: &'a Plan, condition: &JoinCondition) -> Vec<usize> {
        let mut columns = self.add(probe);
        let of_build = self.add(build);
        let keys = condition.probe_keys.iter().zip(&condition.build_keys);
        self.equalities.extend(keys.map(|(probe_key, build_key)| (columns[*probe_key], of_build[*build_key])));
        columns.extend(of_build);
        if let Some(residual) = &condition.residual {
            let mut residual = residual.clone();
            residual.map_columns(&mut |column| columns[column]);
            self.add_condition(residual);
        }
        columns
    }

    fn relation_of(&self, column: usize) -> usize {
        self.first_columns.partition_point(|first| *first <= column) - 1
    }

    /// The order in which joins between relations within `many` come as late as possible.
    pub(crate) fn order_without(&self, many: &Range<usize>) -> JoinTree {
        let shapes: Vec<SideShape> = self.relations.iter().map(|plan| SideShape::of(plan)).collect();
        let table_rows = |at: usize| shapes[at].table_rows_max.map_or(ROWS_UNKNOWN, |rows| (rows as f64).max(1.0));
        let share = |at: usize| if shapes[at].is_narrowed { NARROWED_SHARE } else { 1.0 };
        let rows: Vec<f64> = (0..shapes.len()).map(|at| (table_rows(at) * share(at)).max(1.0)).collect();
        let mut pairs: Vec<(usize, usize)> =
            self.equalities.iter().map(|(a, b)| (self.relation_of(*a), self.relation_of(*b))).collect();
        pairs.iter_mut().for_each(|pair| *pair = (pair.0.min(pair.1), pair.0.max(pair.1)));
        pairs.sort_unstable();
        pairs.dedup();
        let edge = |(left, right): (usize, usize)| {
            let is_many = many.contains(&left) && many.contains(&right);
            let selectivity = if is_many { 1.0 } else { 1.0 / table_rows(left).min(table_rows(right)) };
            JoinEdge { relations: (left, right), selectivity }
        };
        join_order(&rows, &pairs.into_iter().map(edge).collect::<Vec<_>>())
    }

    /// The plan of a tree, with these columns.
    pub(crate) fn plan(mut self, tree: &JoinTree, columns: &[usize]) -> Plan {
        let JoinedRelations { plan, columns: of_plan, .. } = self.join(tree, &PlanAlone);
        let place =
            |column: &usize| of_plan.iter().position(|other| other == column).expect("a tree has all relations");
        let expressions = columns.iter().map(|column| Expression::Column(place(column))).collect();
        Plan::Project { input: Box::new(plan), expressions }
    }

    /// The plan of a tree and the knowledge about it. Removes each condition from the graph when it is placed.
    pub fn join<K: JoinKnowledge>(&mut self, tree: &JoinTree, knowledge: &K) -> JoinedRelations<K::Known> {
        let (build, probe) = match tree {
            JoinTree::Relation(at) => {
                let (plan, first) = (self.relations[*at].clone(), self.first_columns[*at]);
                let columns = (first..first + plan.column_count()).collect();
                return JoinedRelations { plan, columns, known: knowledge.of_relation(*at) };
            }
            JoinTree::Join { build, probe } => (build, probe),
        };
        let (build, probe) = (self.join(build, knowledge), self.join(probe, knowledge));
        let place = |columns: &[usize], column: usize| columns.iter().position(|other| *other == column);
        let (mut build_keys, mut probe_keys) = (Vec::new(), Vec::new());
        for (a, b) in &self.equalities {
            for (of_build, of_probe) in [(*a, *b), (*b, *a)] {
                let keys = (place(&build.columns, of_build), place(&probe.columns, of_probe));
                if let (Some(build_key), Some(probe_key)) = keys {
                    build_keys.push(build_key);
                    probe_keys.push(probe_key);
                }
            }
        }
        let columns: Vec<usize> = probe.columns.into_iter().chain(build.columns).collect();
        let mut residual = self.take_conditions(&columns);
        let residual = if residual.len() > 1 { Some(Expression::And(residual)) } else { residual.pop() };
        let kind = JoinKind::Inner;
        let condition = JoinCondition { kind, build_keys, probe_keys, residual, null_keys: NullKeys::EqualNothing };
        let known = knowledge.of_join(probe.known, build.known, &condition);
        let plan = Plan::join(build.plan, probe.plan, condition);
        JoinedRelations { plan, columns, known }
    }

    /// Removes and returns the conditions on these columns.
    fn take_conditions(&mut self, columns: &[usize]) -> Vec<Expression> {
        let place = |column: usize| columns.iter().position(|other| *other == column);
        let is_here = |condition: &Expression| {
            let mut needed = Vec::new();
            condition.columns(&mut needed);
            needed.into_iter().all(|column| place(column).is_some())
        };
        let (mut taken, left): (Vec<Expression>, Vec<Expression>) =
            std::mem::take(&mut self.conditions).into_iter().partition(is_here);
        self.conditions = left;
        for condition in &mut taken {
            condition.map_columns(&mut |column| place(column).expect("it is here"));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Vector;
    use crate::expression::Comparison;
    use crate::runtime::result_rows::{ResultRows, ResultSource};

    /// A table of two columns.
    fn table(row_count: usize) -> Plan {
        let columns = vec![Vector::repeat(None, row_count), Vector::repeat(None, row_count)];
        let rows = Arc::new(ResultRows::new(row_count, columns));
        Plan::Source { source: Arc::new(ResultSource::new(vec![rows])), column_count: 2 }
    }

    fn join(build: Plan, probe: Plan, keys: &[(usize, usize)], residual: Option<Expression>) -> Plan {
        let (probe_keys, build_keys) = keys.iter().copied().unzip();
        let kind = JoinKind::Inner;
        let condition = JoinCondition { kind, build_keys, probe_keys, residual, null_keys: NullKeys::EqualNothing };
        Plan::join(build, probe, condition)
    }

    fn parts(plan: &Plan) -> (&Plan, &Plan, &JoinCondition) {
        let Plan::Join { build, probe, condition, .. } = plan else { panic!("{plan:?}") };
        (build, probe, condition)
    }

    /// Suppliers and customers of a nation, and what orders say of who bought from whom: TPC-H Q5.
    #[test]
    fn what_makes_too_many_pairs_comes_last() {
        let (lines, suppliers, customers, orders) = (table(60_000), table(100), table(1500), table(15_000));
        let pairs = join(customers, suppliers, &[(1, 1)], None);
        let sold = join(pairs, lines, &[(1, 0)], None);
        let (low, high) = (Box::new(Expression::Column(0)), Box::new(Expression::Column(3)));
        let residual = Expression::Compare { comparison: Comparison::Less, left: low, right: high };
        let plan = join(sold, orders, &[(0, 0), (1, 4)], Some(residual)).numbered();
        let (build, probe, condition) = parts(&plan);
        let (graph, columns) = JoinGraph::of(build, probe, condition);
        // Orders, lines, suppliers, customers. The uppermost join is the first, that of the pairs the last.
        assert_eq!(graph.relations_of(NodeId(3)), Some(2..4));
        assert_eq!(graph.relations_of(NodeId(1)), None);
        let tree = graph.order_without(&(2..4));
        assert_eq!(tree.to_string(), "((1 <- 2) <- (0 <- 3))");
        let mut shown = String::new();
        graph.plan(&tree, &columns).describe(0, &mut shown).unwrap();
        let lines: Vec<&str> = shown.lines().map(str::trim).collect();
        assert_eq!(lines[0], "Project: #4, #5, #0, #1, #2, #3, #6, #7");
        assert_eq!(lines[1], "HashJoin: Inner, probe #3 = build #3, probe #0 = build #0, #4 < #1");
        assert_eq!(lines[2], "HashJoin: Inner, probe #1 = build #0");
    }
}
