//! Chains of inner joins as one graph: relations, equal columns, further conditions. The order in which SQL names tables
//! does not matter; [`braid_exec::join_order`] decides, by the rule that the session asks for.

use std::collections::BTreeSet;

use braid_exec::Expression;
use braid_exec::expression::Comparison;
use braid_exec::hash_join::JoinKind;
use braid_exec::join_order::{JoinEdge, JoinTree};
use braid_exec::plan::{JoinCondition, Plan};
use datafusion::common::NullEquality;
use datafusion::logical_expr::{Join, JoinType, LogicalPlan};

use super::braid_planner::OperatorSettings;
use super::coverage::{Coverage, Covered, Uncovered, projected};
use super::estimate::SELECTIVITY_UNKNOWN;

/// Most relations of one graph. The outermost joins of a longer chain stay as they were written.
pub(super) const RELATIONS_MAX: usize = 24;

/// A column of a relation. Expressions of the graph name them by their position among [`JoinGraph::columns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RelationColumn {
    relation: usize,
    column: usize,
}

#[derive(Default)]
struct JoinGraph {
    relations: Vec<Covered>,
    /// All columns of all relations.
    columns: Vec<RelationColumn>,
    /// Pairs of columns of two relations that are equal.
    equalities: Vec<(RelationColumn, RelationColumn)>,
    /// Conditions over several relations.
    conditions: Vec<Expression>,
}

impl JoinGraph {
    /// The position of a column among all.
    fn number(&mut self, column: RelationColumn) -> usize {
        self.columns.iter().position(|other| *other == column).unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        })
    }

    fn relations_of(&self, expression: &Expression) -> BTreeSet<usize> {
        let mut columns = Vec::new();
        expression.columns(&mut columns);
        columns.into_iter().map(|column| self.columns[column].relation).collect()
    }

    /// The column of its relation that has an expression's values; computed there if it is not one yet.
    fn column_of(&mut self, expression: Expression) -> Option<RelationColumn> {
        if let Some(column) = expression.as_column() {
            return Some(self.columns[column]);
        }
        let relations = self.relations_of(&expression);
        let [relation] = relations.into_iter().collect::<Vec<_>>()[..] else { return None };
        let mut computed = expression;
        let columns = &self.columns;
        computed.map_columns(&mut |column| columns[column].column);
        let covered = self.relations[relation].clone();
        let column = covered.plan.column_count();
        let all = (0..column).map(Expression::Column).chain([computed]).collect();
        self.relations[relation] = projected(covered, all);
        let column = RelationColumn { relation, column };
        self.number(column);
        Some(column)
    }

    /// Adds a condition over the graph's columns where it can first be tested.
    fn add_condition(&mut self, condition: Expression) {
        if let Expression::And(parts) = condition {
            return parts.into_iter().for_each(|part| self.add_condition(part));
        }
        let relations: Vec<usize> = self.relations_of(&condition).into_iter().collect();
        if let [relation] = relations[..] {
            let mut condition = condition;
            let columns = &self.columns;
            condition.map_columns(&mut |column| columns[column].column);
            let Covered { plan, estimate } = self.relations[relation].clone();
            let estimate = estimate.scaled(SELECTIVITY_UNKNOWN);
            self.relations[relation] = Covered { plan: Plan::Filter { input: Box::new(plan), condition }, estimate };
            return;
        }
        self.conditions.push(condition);
    }

    fn edges(&self) -> Vec<JoinEdge> {
        let mut pairs: Vec<(usize, usize)> = self.equalities.iter().map(|(a, b)| (a.relation, b.relation)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let edge = |(left, right): (usize, usize)| {
            let of_pair = self.equalities.iter().filter(|(a, b)| (a.relation, b.relation) == (left, right));
            let (left_keys, right_keys): (Vec<usize>, Vec<usize>) = of_pair.map(|(a, b)| (a.column, b.column)).unzip();
            let (of_left, of_right) = (&self.relations[left].estimate, &self.relations[right].estimate);
            JoinEdge { relations: (left, right), selectivity: of_left.equal_share(&left_keys, of_right, &right_keys) }
        };
        pairs.into_iter().map(edge).collect()
    }

    /// The plan of a tree, and which of the graph's columns its columns are.
    fn plan(&mut self, tree: &JoinTree) -> (Covered, Vec<RelationColumn>) {
        let (build, probe) = match tree {
            JoinTree::Relation(relation) => {
                let covered = self.relations[*relation].clone();
                let columns =
                    (0..covered.plan.column_count()).map(|column| RelationColumn { relation: *relation, column });
                return (covered, columns.collect());
            }
            JoinTree::Join { build, probe } => (build, probe),
        };
        let ((build, build_columns), (probe, probe_columns)) = (self.plan(build), self.plan(probe));
        let (mut build_keys, mut probe_keys) = (Vec::new(), Vec::new());
        for (a, b) in &self.equalities {
            for (of_build, of_probe) in [(a, b), (b, a)] {
                let build_key = build_columns.iter().position(|column| column == of_build);
                let probe_key = probe_columns.iter().position(|column| column == of_probe);
                if let (Some(build_key), Some(probe_key)) = (build_key, probe_key) {
                    build_keys.push(build_key);
                    probe_keys.push(probe_key);
                }
            }
        }
        let share = probe.estimate.equal_share(&probe_keys, &build.estimate, &build_keys);
        let share = if build_keys.is_empty() { 1.0 } else { share };
        let mut rows = build.estimate.rows * probe.estimate.rows * share;
        let columns: Vec<RelationColumn> = probe_columns.into_iter().chain(build_columns).collect();
        let residual = self.take_conditions(&columns);
        rows *= SELECTIVITY_UNKNOWN.powi(residual.len() as i32);
        let residual = match residual.len() {
            0 | 1 => residual.into_iter().next(),
            _ => Some(Expression::And(residual)),
        };
        let estimate = probe.estimate.with_columns_of(&build.estimate, rows);
        let condition = JoinCondition {
            kind: JoinKind::Inner,
            build_keys,
            probe_keys,
            residual,
            nulls_equal: false,
            null_aware: false,
        };
        let plan = Plan::Join { build: Box::new(build.plan), probe: Box::new(probe.plan), condition };
        (Covered { plan, estimate }, columns)
    }

    /// Takes the conditions that can be tested on these columns.
    fn take_conditions(&mut self, columns: &[RelationColumn]) -> Vec<Expression> {
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for mut condition in std::mem::take(&mut self.conditions) {
            let mut needed = Vec::new();
            condition.columns(&mut needed);
            let place = |column: usize| columns.iter().position(|other| *other == self.columns[column]);
            if needed.iter().all(|column| place(*column).is_some()) {
                condition.map_columns(&mut |column| place(column).expect("it was found before"));
                taken.push(condition);
            } else {
                left.push(condition);
            }
        }
        self.conditions = left;
        taken
    }
}

impl Coverage<'_> {
    /// The tree that joins relations of so many rows. Each graph of a plan draws from a seed of its own.
    pub(super) fn ordered(&mut self, rows: &[f64], edges: &[JoinEdge]) -> JoinTree {
        let settings = self.session.config_options().extensions.get::<OperatorSettings>();
        let (rule, seed) = settings.map_or_else(Default::default, |own| (own.join_order, own.join_order_seed));
        self.ordered_graphs += 1;
        rule.0.tree(seed.wrapping_add(self.ordered_graphs), rows, edges)
    }

    /// A join and all inner joins right below it.
    pub(super) fn inner_joins(&mut self, join: &Join) -> Result<Covered, Uncovered> {
        let mut graph = JoinGraph::default();
        let columns = self.flatten_join(join, &mut graph)?;
        let rows: Vec<f64> = graph.relations.iter().map(|relation| relation.estimate.rows.max(1.0)).collect();
        let tree = self.ordered(&rows, &graph.edges());
        let (covered, of_plan) = graph.plan(&tree);
        let place = |column: usize| {
            let column = graph.columns[column];
            of_plan.iter().position(|other| *other == column).expect("the tree has all relations' columns")
        };
        let expressions = columns.into_iter().map(|column| Expression::Column(place(column))).collect();
        Ok(projected(covered, expressions))
    }

    /// Adds what a plan is made of to the graph; the graph's columns that are the plan's.
    fn flatten(&mut self, logical: &LogicalPlan, graph: &mut JoinGraph) -> Result<Vec<usize>, Uncovered> {
        match logical {
            LogicalPlan::Join(join) if is_inner(join) => self.flatten_join(join, graph),
            LogicalPlan::SubqueryAlias(alias) if leads_to_join(&alias.input) => self.flatten(&alias.input, graph),
            LogicalPlan::Filter(filter) if leads_to_join(&filter.input) => {
                let columns = self.flatten(&filter.input, graph)?;
                let condition = self.expression(&filter.predicate, filter.input.schema())?;
                graph.add_condition(mapped(condition, &columns));
                Ok(columns)
            }
            LogicalPlan::Projection(projection) if leads_to_join(&projection.input) => {
                let schema = projection.input.schema();
                let expressions: Result<Vec<Expression>, Uncovered> =
                    projection.expr.iter().map(|expr| self.expression(expr, schema)).collect();
                let columns: Option<Vec<usize>> = expressions?.iter().map(Expression::as_column).collect();
                match columns {
                    Some(columns) => {
                        let below = self.flatten(&projection.input, graph)?;
                        Ok(columns.into_iter().map(|column| below[column]).collect())
                    }
                    None => self.relation(logical, graph),
                }
            }
            _ => self.relation(logical, graph),
        }
    }

    fn relation(&mut self, logical: &LogicalPlan, graph: &mut JoinGraph) -> Result<Vec<usize>, Uncovered> {
        let covered = self.plan(logical)?;
        let relation = graph.relations.len();
        let column_count = covered.plan.column_count();
        graph.relations.push(covered);
        Ok((0..column_count).map(|column| graph.number(RelationColumn { relation, column })).collect())
    }

    fn flatten_join(&mut self, join: &Join, graph: &mut JoinGraph) -> Result<Vec<usize>, Uncovered> {
        self.check_keys(join)?;
        let left = self.flatten(&join.left, graph)?;
        let right = self.flatten(&join.right, graph)?;
        for (left_key, right_key) in &join.on {
            let left_key = mapped(self.expression(left_key, join.left.schema())?, &left);
            let right_key = mapped(self.expression(right_key, join.right.schema())?, &right);
            add_equality(graph, left_key, right_key);
        }
        let columns: Vec<usize> = left.into_iter().chain(right).collect();
        if let Some(filter) = &join.filter {
            let schema = join.left.schema().join(join.right.schema())?;
            let filter = self.expression(filter, &schema)?;
            graph.add_condition(mapped(filter, &columns));
        }
        Ok(columns)
    }
}

fn add_equality(graph: &mut JoinGraph, left: Expression, right: Expression) {
    let columns = (graph.column_of(left.clone()), graph.column_of(right.clone()));
    match columns {
        (Some(left), Some(right)) if left.relation != right.relation => {
            let pair = if left.relation < right.relation { (left, right) } else { (right, left) };
            if !graph.equalities.contains(&pair) {
                graph.equalities.push(pair);
            }
        }
        _ => {
            let (left, right) = (Box::new(left), Box::new(right));
            graph.add_condition(Expression::Compare { comparison: Comparison::Equal, left, right });
        }
    }
}

fn mapped(mut expression: Expression, columns: &[usize]) -> Expression {
    expression.map_columns(&mut |column| columns[column]);
    expression
}

/// Number of relations that the graph of a join has.
pub(super) fn relation_count(join: &Join) -> usize {
    let mut count = 0;
    let mut below: Vec<&LogicalPlan> = vec![&join.left, &join.right];
    while let Some(plan) = below.pop() {
        match plan {
            LogicalPlan::Join(join) if is_inner(join) => below.extend([&*join.left, &*join.right]),
            LogicalPlan::SubqueryAlias(alias) => below.push(&alias.input),
            LogicalPlan::Filter(filter) => below.push(&filter.input),
            LogicalPlan::Projection(projection) => below.push(&projection.input),
            _ => count += 1,
        }
    }
    count
}

pub(super) fn is_inner(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNothing
}

/// Whether an inner join lies below operators that a graph can take in.
fn leads_to_join(logical: &LogicalPlan) -> bool {
    match logical {
        LogicalPlan::Join(join) => is_inner(join),
        LogicalPlan::SubqueryAlias(alias) => leads_to_join(&alias.input),
        LogicalPlan::Filter(filter) => leads_to_join(&filter.input),
        LogicalPlan::Projection(projection) => leads_to_join(&projection.input),
        _ => false,
    }
}
