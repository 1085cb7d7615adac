//! The order of a plan's joins and their build sides, for the constants of the queries that are about to run.
//!
//! A template is planned without constants, so that nothing is known of how many rows its conditions keep. When one query is
//! bound, or when a pass of several starts, the rows of each relation are estimated with these constants at hand, and the joins
//! are put in order again. The rows that a pass needs are those that any of its queries needs. Queries are taken as
//! independent: of `n` queries that each keep a share `s` of a relation's rows, `1 - (1 - s)^n` is kept.
//!
//! Groups are made below a join where that is exact and an advantage (`eager_groups`). This depends on keys that are unique in
//! the versions of the tables that the plan reads.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use braid_exec::executor::Executor;
use braid_exec::joins::side_choice::SwappedJoin;
use braid_exec::plan::join_order::JoinEdge;
use braid_exec::plan::join_order::imposed_order::OrderRule;
use braid_exec::plan::join_order::join_graph::{EqualColumns, JoinGraph, JoinKnowledge, JoinedRelations};
use braid_exec::plan::{CteId, JoinCondition, Plan, SideWidths};
use braid_exec::{Expression, ParameterRow};

use super::estimate::{Estimate, SELECTIVITY_UNKNOWN, TableEstimate};
use super::row_rules::{of_inner_join, of_other_join, of_source, projected, unknown};
use super::unique_keys::{KeyCandidate, UniqueKeys};

/// Queries of a pass that are looked at.
const SAMPLES_MAX: usize = 16;

/// Most relations of a graph that is ordered again: the search takes time that grows with their number.
const RELATIONS_MAX: usize = 12;

/// Groups of a plan for which it is decided whether they are made in another way.
const LOOKS_MAX: usize = 6;

/// A side is worth building if it has at most this share of the other side's rows; near that, the plan stays as it is.
const SWAP_SHARE: f64 = 0.8;

/// How often keys are observed for one plan: groups that go below a join may come to lie above another one.
const OBSERVATIONS_MAX: usize = 3;

/// A plan in its order.
#[derive(Debug)]
pub struct OrderedPlan {
    /// The plan.
    pub plan: Plan,
    /// Keys for which another plan would be better if they are unique.
    pub unobserved: Vec<KeyCandidate>,
    /// Whether a join is predicted to explode: to make far more pairs than its sides have rows.
    pub explodes: bool,
}

/// The same plan with its joins in the best order for queries with these parameters, which must be at least one, and with groups
/// below joins on the keys that are known to be unique.
pub fn order_joins(plan: &Plan, queries: &[ParameterRow], keys: &UniqueKeys) -> OrderedPlan {
    impose_join_order(plan, queries, keys, ImposedOrder::default())
}

/// An order of joins, to measure what others than the cheapest cost. Only random rules use the seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImposedOrder {
    /// The rule that selects the tree of each graph of joins.
    pub rule: OrderRule,
    /// The seed of random rules.
    pub seed: u64,
}

/// As [`order_joins`], with inner joins in the order of a rule. A query alone has no other choices than those about joins.
pub fn impose_join_order(
    plan: &Plan,
    queries: &[ParameterRow],
    keys: &UniqueKeys,
    imposed: ImposedOrder,
) -> OrderedPlan {
    let plan = plan.clone().with_decided_cases();
    if queries.len() == 1 && !plan.has_joins() {
        return OrderedPlan { plan, unobserved: Vec::new(), explodes: false };
    }
    let step = queries.len().div_ceil(SAMPLES_MAX).max(1);
    let samples = queries.iter().step_by(step).collect();
    let (unobserved, looks) = (RefCell::default(), Cell::new(0));
    let tables = RefCell::default();
    let ordering = Ordering { samples, queries, keys, imposed, unobserved, looks, tables };
    let (plan, Estimate { explodes, .. }) = ordering.plan(&plan);
    OrderedPlan { plan, unobserved: ordering.unobserved.into_inner(), explodes }
}

/// As [`order_joins`], after the keys have been observed that matter. `executor` makes what reads them.
pub async fn observe_and_order_joins(
    plan: &Plan,
    queries: &[ParameterRow],
    keys: &UniqueKeys,
    executor: impl Fn() -> Executor,
) -> OrderedPlan {
    let mut ordered = order_joins(plan, queries, keys);
    for _ in 0..OBSERVATIONS_MAX {
        if ordered.unobserved.is_empty() {
            break;
        }
        for candidate in &ordered.unobserved {
            keys.observe(candidate, &executor()).await;
        }
        ordered = order_joins(plan, queries, keys);
    }
    ordered
}

pub(super) struct Ordering<'a> {
    /// Some of the queries; none if the plan has their constants.
    samples: Vec<&'a ParameterRow>,
    pub(super) queries: &'a [ParameterRow],
    pub(super) keys: &'a UniqueKeys,
    imposed: ImposedOrder,
    pub(super) unobserved: RefCell<Vec<KeyCandidate>>,
    /// Groups for which the plan below was ordered to decide how they are made.
    looks: Cell<usize>,
    /// What is thought of the rows of common tables.
    pub(super) tables: RefCell<BTreeMap<CteId, TableEstimate>>,
}

impl<'a> Ordering<'a> {
    /// That of a plan which stays as it is, and has the constants of its query.
    pub(super) fn of_bound_plan(keys: &'a UniqueKeys) -> Self {
        let (unobserved, looks, tables) = (RefCell::default(), Cell::new(0), RefCell::default());
        Self { samples: Vec::new(), queries: &[], keys, imposed: ImposedOrder::default(), unobserved, looks, tables }
    }
}

impl Ordering<'_> {
    /// Whether the plan below groups may be ordered to decide how they are made. Groups of groups of groups would take time that
    /// doubles with each.
    pub(super) fn may_look(&self) -> bool {
        let looks = self.looks.get();
        self.looks.set(looks + 1);
        looks < LOOKS_MAX
    }

    /// The ordered plan, and what is thought of its rows.
    pub(super) fn plan(&self, plan: &Plan) -> (Plan, Estimate) {
        match plan {
            Plan::Source { .. } | Plan::CteScan { .. } => (plan.clone(), self.of_operator(plan, Vec::new())),
            Plan::Filter { input, condition } if matches!(**input, Plan::Source { .. }) => {
                (plan.clone(), self.of_filtered_scan(input, condition))
            }
            Plan::Filter { input, condition } => {
                self.over(input, |input| Plan::Filter { input, condition: condition.clone() })
            }
            Plan::Project { input, expressions } => {
                let (input, estimate) = self.plan(input);
                let plan = Plan::Project { input: input.into(), expressions: expressions.clone() };
                (self.with_patterns_below_join(plan, &estimate), projected(&estimate, expressions))
            }
            Plan::Join { build, probe, condition, .. } if JoinGraph::takes(condition) => {
                self.inner_joins(build, probe, condition)
            }
            Plan::Join { build, probe, condition, .. } => self.other_join(build, probe, condition),
            Plan::Aggregate { input, spec } => match self.split_groups(plan).or_else(|| self.eager_groups(plan)) {
                Some(grouped) => grouped,
                None => self.over(input, |input| Plan::Aggregate { input, spec: spec.clone() }),
            },
            Plan::Accumulate { input, spec, foreign } => {
                self.over(input, |input| Plan::Accumulate { input, spec: spec.clone(), foreign: foreign.clone() })
            }
            Plan::Expand { input, lists } => self.over(input, |input| Plan::Expand { input, lists: lists.clone() }),
            Plan::Window { input, spec } => self.over(input, |input| Plan::Window { input, spec: spec.clone() }),
            Plan::Peers { input, keys, kept } => {
                self.over(input, |input| Plan::Peers { input, keys: keys.clone(), kept: *kept })
            }
            Plan::ProjectSet { input, call } => {
                self.over(input, |input| Plan::ProjectSet { input, call: call.clone() })
            }
            Plan::Sort { input, spec } => self.over(input, |input| Plan::Sort { input, spec: spec.clone() }),
            Plan::Limit { input, offset, limit } => {
                self.over(input, |input| Plan::Limit { input, offset: *offset, limit: *limit })
            }
            Plan::Union(plans) => {
                let (plans, estimates) = plans.iter().map(|plan| self.plan(plan)).unzip();
                let plan = Plan::Union(plans);
                let estimate = self.of_operator(&plan, estimates);
                (plan, estimate)
            }
            Plan::WithScalars { subqueries, input } => {
                let (subqueries, of_subqueries): (Vec<Plan>, Vec<Estimate>) =
                    subqueries.iter().map(|subquery| self.plan(subquery)).unzip();
                let (input, of_input) = self.plan(input);
                let plan = Plan::WithScalars { subqueries, input: input.into() };
                let estimate = self.of_operator(&plan, std::iter::once(of_input).chain(of_subqueries).collect());
                (plan, estimate)
            }
            Plan::With { cte, definition, body } => self.with_table(*cte, definition, body),
            Plan::Recursion { spec, start, step, body } => self.with_recursion(spec, [start, step], body),
            Plan::Shared(_) => (plan.clone(), unknown(plan.column_count())),
        }
    }

    /// An operator over an ordered input.
    fn over(&self, input: &Plan, operator: impl FnOnce(Box<Plan>) -> Plan) -> (Plan, Estimate) {
        let (input, of_input) = self.plan(input);
        let plan = operator(input.into());
        let estimate = self.of_operator(&plan, vec![of_input]);
        (plan, estimate)
    }

    /// The rows of a table that any query keeps: those that the common conditions keep, and of them the share that the
    /// queries' own conditions keep together.
    pub(super) fn of_filtered_scan(&self, scan: &Plan, condition: &Expression) -> Estimate {
        let Plan::Source { source, column_count } = scan else { return unknown(scan.column_count()) };
        let (own, common): (Vec<Expression>, Vec<Expression>) =
            conjuncts(condition).into_iter().partition(has_parameters);
        if own.is_empty() {
            return of_bound_scan(scan, common);
        }
        let all = of_source(&**source, *column_count);
        let kept = if common.is_empty() { all.clone() } else { of_bound_scan(scan, common) };
        let share = |row: &&ParameterRow| {
            let bound = own.iter().map(|condition| {
                let mut condition = condition.clone();
                condition.bind_parameters(row);
                condition
            });
            (of_bound_scan(scan, bound.collect()).rows / all.rows.max(1.0)).clamp(0.0, 1.0)
        };
        if self.samples.is_empty() {
            return kept.scaled(SELECTIVITY_UNKNOWN.powi(own.len() as i32));
        }
        let shares: Vec<f64> = self.samples.iter().map(share).collect();
        if let ([share], 1) = (&shares[..], self.queries.len()) {
            return kept.scaled(*share);
        }
        let mean_log = shares.iter().map(|share| (1.0 - share).max(1e-9).ln()).sum::<f64>() / shares.len() as f64;
        kept.scaled(1.0 - (mean_log * self.queries.len() as f64).exp())
    }

    fn inner_joins(&self, build: &Plan, probe: &Plan, condition: &JoinCondition) -> (Plan, Estimate) {
        let (graph, columns) = JoinGraph::of(build, probe, condition);
        let (relations, estimates): (Vec<Plan>, Vec<Estimate>) =
            graph.relations().iter().map(|relation| self.plan(relation)).unzip();
        let edges: Vec<JoinEdge> = graph
            .equal_columns()
            .into_iter()
            .map(|EqualColumns { relations, columns }| {
                let (left_keys, right_keys): (Vec<usize>, Vec<usize>) = columns.into_iter().unzip();
                let (left, right) = (&estimates[relations.0], &estimates[relations.1]);
                JoinEdge { relations, selectivity: left.equal_share(&left_keys, right, &right_keys) }
            })
            .collect();
        if relations.len() > RELATIONS_MAX || !is_connected(relations.len(), &edges) {
            // The order of the plan stays, also that of products.
            let ((build, of_build), (probe, of_probe)) = (self.plan(build), self.plan(probe));
            let estimate = of_inner_join(&of_probe, &of_build, condition);
            return (Plan::join(build, probe, condition.clone()), estimate);
        }
        let rows: Vec<f64> = estimates.iter().map(|estimate| estimate.rows.max(1.0)).collect();
        let tree = self.imposed.rule.tree(self.imposed.seed, &rows, &edges);
        let mut ordered = graph.with_relations(relations.iter());
        let JoinedRelations { plan, columns: of_plan, known } = ordered.join(&tree, &Known(&estimates));
        let place = |column: &usize| of_plan.iter().position(|other| other == column).expect("a tree has all columns");
        let expressions: Vec<Expression> = columns.iter().map(|column| Expression::Column(place(column))).collect();
        let estimate = projected(&known, &expressions);
        (Plan::Project { input: plan.into(), expressions }, estimate)
    }

    fn other_join(&self, build: &Plan, probe: &Plan, condition: &JoinCondition) -> (Plan, Estimate) {
        self.placed_join(self.plan(build), self.plan(probe), condition)
    }

    /// The join of two sides, with the better one as its build side.
    pub(super) fn placed_join(
        &self,
        (build, of_build): (Plan, Estimate),
        (probe, of_probe): (Plan, Estimate),
        condition: &JoinCondition,
    ) -> (Plan, Estimate) {
        let widths = SideWidths { probe: probe.column_count(), build: build.column_count() };
        let estimate = of_other_join(&of_probe, &of_build, condition);
        let is_better = of_probe.rows < SWAP_SHARE * of_build.rows;
        match SwappedJoin::of(condition, widths).filter(|_| is_better) {
            None => (Plan::join(build, probe, condition.clone()), estimate),
            Some(SwappedJoin { condition, columns }) => {
                let swapped = Plan::join(probe, build, condition);
                let expressions = columns.into_iter().map(Expression::Column).collect();
                (Plan::Project { input: swapped.into(), expressions }, estimate)
            }
        }
    }
}

/// What is known of a graph's relations.
struct Known<'a>(&'a [Estimate]);

impl JoinKnowledge for Known<'_> {
    type Known = Estimate;

    fn of_relation(&self, relation: usize) -> Estimate {
        self.0[relation].clone()
    }

    fn of_join(&self, probe: Estimate, build: Estimate, condition: &JoinCondition) -> Estimate {
        of_inner_join(&probe, &build, condition)
    }
}

/// Whether every relation can be reached by equal columns.
fn is_connected(relation_count: usize, edges: &[JoinEdge]) -> bool {
    let mut reached = BTreeSet::from([0]);
    loop {
        let before = reached.len();
        for JoinEdge { relations: (a, b), .. } in edges {
            if reached.contains(a) || reached.contains(b) {
                reached.extend([*a, *b]);
            }
        }
        if reached.len() == before {
            return reached.len() == relation_count;
        }
    }
}

/// The rows that conditions on constants keep of a table.
fn of_bound_scan(scan: &Plan, conditions: Vec<Expression>) -> Estimate {
    let plan = match conditions.is_empty() {
        true => scan.clone(),
        false => Plan::Filter { input: scan.clone().into(), condition: Expression::And(conditions) },
    };
    let (scan, unknown_count) = match plan.with_filters_in_scans() {
        Plan::Filter { input, condition } => (*input, conjuncts(&condition).len()),
        scan => (scan, 0),
    };
    match scan {
        Plan::Source { source, column_count } => {
            of_source(&*source, column_count).scaled(SELECTIVITY_UNKNOWN.powi(unknown_count as i32))
        }
        other => unknown(other.column_count()),
    }
}

fn has_parameters(expression: &Expression) -> bool {
    let mut parameters = Vec::new();
    expression.parameters(&mut parameters);
    !parameters.is_empty()
}

fn conjuncts(condition: &Expression) -> Vec<Expression> {
    match condition {
        Expression::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other.clone()],
    }
}

pub(super) fn is_groups(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate { .. } | Plan::Accumulate { .. } => true,
        Plan::Project { input, .. } => is_groups(input),
        _ => false,
    }
}
