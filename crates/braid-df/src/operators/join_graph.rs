//! Chains of inner joins as one graph: relations, equal columns, further conditions. The order in which SQL names tables
//! does not matter; [`braid_exec::plan::join_order`] decides, by the rule that the session asks for.

use std::collections::BTreeSet;

use braid_exec::Expression;
use braid_exec::expression::Comparison;
use braid_exec::plan::join_order::join_graph::{JoinGraph, JoinKnowledge, JoinedRelations, RelationColumn};
use braid_exec::plan::join_order::{JoinEdge, JoinTree};
use braid_exec::plan::{JoinCondition, Plan};
use braid_plan::optimization::estimate::{Estimate, SELECTIVITY_UNKNOWN};
use datafusion::common::NullEquality;
use datafusion::logical_expr::{Join, JoinType, LogicalPlan};

use super::braid_planner::OperatorSettings;
use super::coverage::{Coverage, Covered, Uncovered, projected};

/// Most relations of one graph. The outermost joins of a longer chain stay as they were written.
pub(super) const RELATIONS_MAX: usize = 24;

#[derive(Default)]
struct StatementJoins {
    relations: Vec<Covered>,
    /// All columns of all relations. Expressions name a column by its position here.
    columns: Vec<RelationColumn>,
    /// Pairs of columns of two relations that are equal.
    equalities: Vec<(RelationColumn, RelationColumn)>,
    /// Conditions over several relations.
    conditions: Vec<Expression>,
}

impl StatementJoins {
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

    /// The plan of a tree, and which relations' columns its columns are.
    fn plan(&self, tree: &JoinTree) -> (Covered, Vec<RelationColumn>) {
        let mut graph = JoinGraph::of_relations(self.relations.iter().map(|relation| &relation.plan));
        for (a, b) in &self.equalities {
            graph.add_equality(graph.number(*a), graph.number(*b));
        }
        for condition in &self.conditions {
            let mut condition = condition.clone();
            let number = |column: RelationColumn| graph.number(column);
            condition.map_columns(&mut |column| number(self.columns[column]));
            graph.add_condition(condition);
        }
        let JoinedRelations { plan, columns, known } = graph.join(tree, self);
        let mut of_numbers: Vec<RelationColumn> = Vec::new();
        for (relation, covered) in self.relations.iter().enumerate() {
            of_numbers.extend((0..covered.plan.column_count()).map(|column| RelationColumn { relation, column }));
        }
        (Covered { plan, estimate: known }, columns.into_iter().map(|number| of_numbers[number]).collect())
    }
}

/// How many rows joins have.
impl JoinKnowledge for StatementJoins {
    type Known = Estimate;

    fn of_relation(&self, relation: usize) -> Estimate {
        self.relations[relation].estimate.clone()
    }

    fn of_join(&self, probe: Estimate, build: Estimate, condition: &JoinCondition) -> Estimate {
        let JoinCondition { build_keys, probe_keys, residual, .. } = condition;
        let share = if build_keys.is_empty() { 1.0 } else { probe.equal_share(probe_keys, &build, build_keys) };
        let conditions = match residual {
            None => 0,
            Some(Expression::And(parts)) => parts.len(),
            Some(_) => 1,
        };
        let rows = build.rows * probe.rows * share * SELECTIVITY_UNKNOWN.powi(conditions as i32);
        probe.with_columns_of(&build, rows)
    }
}

impl Coverage<'_> {
    /// The tree that joins relations with these row counts. Each graph of a plan has a seed of its own.
    pub(super) fn ordered(&mut self, rows: &[f64], edges: &[JoinEdge]) -> JoinTree {
        let settings = self.session.config_options().extensions.get::<OperatorSettings>();
        let (rule, seed) = settings.map_or_else(Default::default, |own| (own.join_order, own.join_order_seed));
        self.ordered_graphs += 1;
        rule.0.tree(seed.wrapping_add(self.ordered_graphs), rows, edges)
    }

    /// A join and all inner joins right below it.
    pub(super) fn inner_joins(&mut self, join: &Join) -> Result<Covered, Uncovered> {
        let mut graph = StatementJoins::default();
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
    fn flatten(&mut self, logical: &LogicalPlan, graph: &mut StatementJoins) -> Result<Vec<usize>, Uncovered> {
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

    fn relation(&mut self, logical: &LogicalPlan, graph: &mut StatementJoins) -> Result<Vec<usize>, Uncovered> {
        let covered = self.plan(logical)?;
        let relation = graph.relations.len();
        let column_count = covered.plan.column_count();
        graph.relations.push(covered);
        Ok((0..column_count).map(|column| graph.number(RelationColumn { relation, column })).collect())
    }

    fn flatten_join(&mut self, join: &Join, graph: &mut StatementJoins) -> Result<Vec<usize>, Uncovered> {
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

fn add_equality(graph: &mut StatementJoins, left: Expression, right: Expression) {
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
