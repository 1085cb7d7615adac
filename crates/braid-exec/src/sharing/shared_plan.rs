//! The transformation of a plan with parameters, and one parameter row per query, into one plan that answers all queries.
//!
//! The lowest operator that uses a parameter adds a query set to each row, as the last column. Rows keep it from there on;
//! operators below run once for all queries. Shared forms replace the ordinary operators where sets meet (joins) and where
//! the number of rows depends on the query (groups, top-N, outer and semi joins). Conditions on a table's columns move into
//! its scan, which computes the sets on encoded data.
//!
//! Parameters with one value for all queries are bound before that, and conditions without parameters move into scans, so that
//! these parts of the plan are those of one query. If all queries are equal, the whole plan is.
//!
//! A plan with scalar subqueries is run once for all queries, if it reads no parameters that differ between the queries. Otherwise the
//! subqueries run first, and the plan that reads their values is shared when these are known (`scalars`).

mod operators;
mod scalars;
mod shared_tables;
#[cfg(test)]
mod tests;
mod truth_joins;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use braid_storage::Scalar;
use braid_storage::scalar::ScalarKey;

use crate::plan::SideWidths;
use crate::plan::shared_operator::{JoinSets, SetColumn, SetCondition, SharedOperator, SharedStep};
use crate::plan::{CteId, JoinCondition, JoinKind, NodeId, Plan};
use crate::query_sets::query_number::PASS_QUERIES_MAX;
use crate::query_sets::set_calculator::SetCalculator;
use crate::runtime::pipeline::{SetFilter, Source};
use crate::sharing::pass_members::PassMembers;
use crate::sharing::projection_step::ProjectionStep;
use crate::sharing::query_conditions::{
    ConditionEvaluator, ParameterRow, PassParameters, QueryConditions, distinct_values, has_parameters,
    queries_by_parameters,
};
use crate::sharing::shared_steps::{AllQueriesStep, ConditionStep, IntersectStep};
use crate::{ExecError, Expression, MemoryBudget, QueryNumber, SetNumber, SetStore};

/// Number of queries from which on conditions that all queries share are evaluated before the others. The sets of few queries
/// drop most rows; the sets of many queries keep nearly all. Q12 of TPC-H with 32 queries gains from this. The number of
/// queries is only an indication of how many rows they need together.
const LATE_SETS_QUERIES_MIN: usize = 8;

/// A plan that answers many queries.
#[derive(Debug)]
pub struct SharedPlan {
    pub(crate) plan: Plan,
    pub(crate) set: Option<usize>,
    /// The sets of distinct queries.
    pub(crate) store: Arc<SetStore>,
    /// The distinct query of each query. Queries with equal parameters are one distinct query.
    pub(crate) distinct: Vec<QueryNumber>,
    members: PassMembers,
    may_fail: bool,
}

/// A plan with the column of its rows' sets, which is the last one. Without it, every row belongs to all queries.
struct Shared {
    plan: Plan,
    set: Option<usize>,
}

/// One side of a join.
struct Side {
    shared: Shared,
    /// Number of columns without the set.
    count: usize,
}

impl Side {
    fn has_set(&self) -> bool {
        self.shared.set.is_some()
    }
}

impl SharedPlan {
    /// The shared plan of one query per parameter row. Panics without rows, above
    /// [`PASS_QUERIES_MAX`](crate::PASS_QUERIES_MAX), and if a row has fewer values than the plan has parameters.
    ///
    /// # Errors
    /// When there is not enough memory for the queries' sets, a constant of a query cannot be computed, or the plan cannot be shared.
    pub fn new(plan: &Plan, parameters: &[ParameterRow], budget: Arc<dyn MemoryBudget>) -> Result<Self, ExecError> {
        assert!(parameters.len() <= PASS_QUERIES_MAX, "{} queries in one pass", parameters.len());
        let (firsts, distinct) =
            distinct_values(parameters.iter().map(|row| row.iter().map(ScalarKey::of).collect::<Vec<_>>()));
        let rows: Vec<ParameterRow> = firsts.into_iter().map(|first| parameters[first].clone()).collect();
        let distinct: Vec<QueryNumber> = distinct.into_iter().map(QueryNumber::at).collect();
        let store = SetStore::new(rows.len(), budget)?;
        let plan = plan.bind_known(|parameter| common_value(&rows, parameter)).with_filters_in_scans();
        let may_fail = plan.may_fail();
        let sharing = Sharing { parameters: PassParameters { rows: &rows, store: &store }, tables: RefCell::default() };
        let Shared { plan, set } = sharing.plan(&plan)?;
        let members = PassMembers::new(&store, distinct.clone());
        Ok(Self { plan, set, store, distinct, members, may_fail })
    }

    /// Whether some rows can make queries fail. Otherwise no query has to be run alone after it was given rows.
    pub fn may_fail(&self) -> bool {
        self.may_fail
    }

    /// The queries while the pass runs. A query that has gone in one run of the plan is gone in the next.
    pub fn members(&self) -> &PassMembers {
        &self.members
    }

    /// Number of queries.
    pub fn query_count(&self) -> usize {
        self.distinct.len()
    }

    /// Number of distinct queries, by their parameters.
    pub fn distinct_count(&self) -> usize {
        self.store.query_count()
    }

    /// Number of distinct sets that have occurred so far.
    pub fn set_count(&self) -> usize {
        self.store.set_count()
    }

    /// The plan of the pass.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The tree, with one operator per line.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        self.plan.describe(0, &mut text).expect("text is written without errors");
        text
    }
}

/// The queries of the pass.
struct Sharing<'a> {
    parameters: PassParameters<'a>,
    /// Whether the rows of each common table have sets.
    tables: RefCell<HashMap<CteId, bool>>,
}

impl Sharing<'_> {
    fn store(&self) -> &Arc<SetStore> {
        self.parameters.store
    }

    fn plan(&self, plan: &Plan) -> Result<Shared, ExecError> {
        Ok(match plan {
            Plan::WithScalars { subqueries, input } if plan.has_parameters() || self.scans_sets(plan) => {
                self.with_scalars(subqueries, input)?
            }
            Plan::Source { .. } | Plan::WithScalars { .. } => Shared { plan: plan.clone(), set: None },
            Plan::Filter { input, condition } => self.filter(input, condition)?,
            Plan::Project { input, expressions } => self.project(self.plan(input)?, expressions)?,
            Plan::Join { node, build, probe, condition } => self.join(*node, (build, probe), condition)?,
            Plan::Aggregate { input, spec } => self.aggregate(input, spec)?,
            Plan::Accumulate { input, spec, foreign } => self.accumulate(input, spec, foreign)?,
            Plan::Expand { input, lists } => self.expand(input, lists)?,
            Plan::Window { input, spec } => self.window(input, spec)?,
            Plan::Peers { input, keys, kept } => self.peers(input, keys, *kept)?,
            Plan::ProjectSet { input, call } => self.project_set(input, call)?,
            Plan::Sort { input, spec } => self.sort(input, spec)?,
            Plan::Limit { input, offset, limit } => self.limit(input, (*offset, *limit))?,
            Plan::Union(plans) => self.union(plans)?,
            Plan::With { cte, definition, body } => self.with_table(*cte, definition, body)?,
            Plan::Recursion { spec, start, step, body } => self.with_recursion(spec, [start, step], body)?,
            Plan::CteScan { cte, column_count } => self.table_scan(*cte, *column_count),
            Plan::Shared(_) => panic!("a plan is shared once"),
        })
    }

    fn shared(&self, operator: SharedOperator) -> Shared {
        let plan = Plan::Shared(Box::new(operator));
        let set = plan.column_count().checked_sub(1);
        Shared { plan, set }
    }

    fn step(&self, input: Plan, step: Arc<dyn SharedStep>) -> Shared {
        self.shared(SharedOperator::Step { input, step })
    }

    fn set_column(&self, column: usize) -> SetColumn {
        SetColumn { store: self.store().clone(), column }
    }

    fn filter(&self, input: &Plan, condition: &Expression) -> Result<Shared, ExecError> {
        let (own, common): (Vec<Expression>, Vec<Expression>) =
            condition.conjuncts().into_iter().partition(has_parameters);
        let mut input = self.plan(input)?;
        if own.is_empty() {
            return self.common_filter(input, common);
        }
        // What may fail is evaluated last, only for rows that some query still needs.
        let (fallible, common): (Vec<Expression>, Vec<Expression>) = common.into_iter().partition(Expression::may_fail);
        let own = Expression::And(own);
        let mut conditions = QueryConditions::new(&own, self.parameters)?.into_conjuncts();
        if let (Plan::Source { source, column_count }, None) = (&input.plan, input.set) {
            // Many queries together need most rows, so that conditions of all queries are evaluated first.
            let is_late = !common.is_empty() && self.store().query_count() >= LATE_SETS_QUERIES_MIN;
            input = match is_late {
                true => late_scan(source, *column_count, &conditions),
                false => scan_with_sets(source, *column_count, &mut conditions),
            };
        }
        input = self.common_filter(input, common)?;
        if !conditions.is_empty() {
            input = self.condition_step(input, conditions, &own);
        }
        self.common_filter(input, fallible)
    }

    /// A filter by conditions that are the same for all queries. Where rows have sets, a condition that fails for a row
    /// concerns the row's queries only.
    fn common_filter(&self, input: Shared, conditions: Vec<Expression>) -> Result<Shared, ExecError> {
        let Some(condition) = Expression::all(conditions) else { return Ok(input) };
        if input.set.is_some() && condition.may_fail() {
            let conditions = QueryConditions::new(&condition, self.parameters)?;
            return Ok(self.condition_step(input, vec![conditions], &condition));
        }
        Ok(Shared { plan: Plan::Filter { input: input.plan.into(), condition }, set: input.set })
    }

    /// A filter by conditions that depend on the query. `shown` is the condition that EXPLAIN shows.
    fn condition_step(&self, input: Shared, conditions: Vec<QueryConditions>, shown: &Expression) -> Shared {
        let has_set = input.set.is_some();
        let column_count = input.plan.column_count() - usize::from(has_set);
        let (store, description) = (self.store().clone(), shown.to_string());
        let conditions = conditions.into();
        self.step(input.plan, Arc::new(ConditionStep { store, conditions, column_count, has_set, description }))
    }

    /// Rows without those of queries that are gone. What repeats itself would otherwise go on for them.
    fn of_left_queries(&self, input: Shared) -> Shared {
        self.condition_step(input, Vec::new(), &Expression::Constant(Some(Scalar::Bool(true))))
    }

    fn project(&self, input: Shared, expressions: &[Expression]) -> Result<Shared, ExecError> {
        let own: Vec<&Expression> = expressions.iter().filter(|expression| has_parameters(expression)).collect();
        let may_fail = input.set.is_some() && expressions.iter().any(Expression::may_fail);
        if own.is_empty() && !may_fail {
            let mut expressions = expressions.to_vec();
            let set = input.set.map(|set| {
                expressions.push(Expression::Column(set));
                expressions.len() - 1
            });
            return Ok(Shared { plan: Plan::Project { input: input.plan.into(), expressions }, set });
        }
        let variant = |(row, queries): (&ParameterRow, _)| {
            let mut bound = expressions.to_vec();
            bound.iter_mut().for_each(|expression| expression.bind_parameters(row));
            Ok((bound, self.store().number_of(&queries)?))
        };
        let by_parameters = queries_by_parameters(&own, self.parameters.rows);
        let variants: Vec<_> = by_parameters.into_iter().map(variant).collect::<Result<_, ExecError>>()?;
        let step = ProjectionStep { store: self.store().clone(), variants: variants.into(), set: input.set };
        Ok(self.step(input.plan, Arc::new(step)))
    }

    fn union(&self, plans: &[Plan]) -> Result<Shared, ExecError> {
        let mut shared: Vec<Shared> = plans.iter().map(|plan| self.plan(plan)).collect::<Result<_, _>>()?;
        if shared.iter().any(|shared| shared.set.is_some()) {
            shared = shared.into_iter().map(|shared| self.with_set(shared)).collect();
        }
        let set = shared.first().and_then(|shared| shared.set);
        Ok(Shared { plan: Plan::Union(shared.into_iter().map(|shared| shared.plan).collect()), set })
    }

    fn with_set(&self, shared: Shared) -> Shared {
        if shared.set.is_some() {
            return shared;
        }
        let column_count = shared.plan.column_count();
        self.step(shared.plan, Arc::new(AllQueriesStep { column_count }))
    }

    /// Ordinary joins keep their number, by which a running pass knows them.
    fn join(
        &self,
        node: NodeId,
        (build, probe): (&Plan, &Plan),
        condition: &JoinCondition,
    ) -> Result<Shared, ExecError> {
        let side = |plan: &Plan| Ok(Side { count: plan.column_count(), shared: self.plan(plan)? });
        let (build, probe): (Side, Side) = (side(build)?, side(probe)?);
        let residual = condition.residual.iter().flat_map(Expression::conjuncts);
        let kind = condition.kind;
        // Above an inner join with sets, a condition that fails concerns the queries of the pair only.
        let goes_above =
            |part: &Expression| kind == JoinKind::Inner && part.may_fail() && (probe.has_set() || build.has_set());
        let (own, common): (Vec<Expression>, Vec<Expression>) =
            residual.partition(|part| has_parameters(part) || goes_above(part));
        let whole = condition;
        let condition = JoinCondition {
            residual: (!common.is_empty()).then(|| placed(Expression::And(common), &probe)),
            ..condition.clone()
        };
        if kind == JoinKind::Inner {
            let joined = self.inner_join(node, build, probe, condition);
            if own.is_empty() {
                return Ok(joined);
            }
            let own = Expression::And(own);
            let conditions = QueryConditions::new(&own, self.parameters)?.into_conjuncts();
            return Ok(self.condition_step(joined, conditions, &own));
        }
        let matches_depend_on_query = !own.is_empty()
            || (probe.shared.set.is_some() && kind.marks_build_rows())
            || (build.shared.set.is_some() && (kind.keeps_probe_rows() || kind.tests_probe_rows()))
            // A second partner is the error of a row's queries.
            || (probe.shared.set.is_some() && kind == JoinKind::ProbeSingle);
        if !matches_depend_on_query {
            return Ok(plain_join(node, build, probe, condition));
        }
        if kind == JoinKind::ProbeTruth {
            return self.truth_join(build, probe, whole);
        }
        let own = (!own.is_empty()).then(|| self.set_condition(placed(Expression::And(own), &probe))).transpose()?;
        let sets =
            JoinSets { store: self.store().clone(), probe: probe.shared.set, build: build.shared.set, condition: own };
        let (build, probe) = (build.shared.plan, probe.shared.plan);
        Ok(self.shared(SharedOperator::Join { build, probe, condition, sets }))
    }

    /// An inner join whose rows have the columns of the plan without sets, followed by the set.
    fn inner_join(&self, node: NodeId, build: Side, probe: Side, condition: JoinCondition) -> Shared {
        let both = probe.shared.set.is_some() && build.shared.set.is_some();
        let widths = SideWidths { probe: probe.count, build: build.count };
        if !both {
            return plain_join(node, build, probe, condition);
        }
        let (build, probe) = (build.shared.plan.into(), probe.shared.plan.into());
        let step = IntersectStep { store: self.store().clone(), widths };
        self.step(Plan::Join { node, build, probe, condition }, Arc::new(step))
    }

    fn set_condition(&self, condition: Expression) -> Result<SetCondition, ExecError> {
        let conditions = Arc::new(QueryConditions::new(&condition, self.parameters)?);
        let mut columns = Vec::new();
        conditions.columns(&mut columns);
        let store = self.store().clone();
        let evaluator = move || {
            let mut evaluator = ConditionEvaluator::new(&conditions, store.budget());
            let mut calculator = SetCalculator::new(store.clone());
            let sets = move |batch: &mut crate::Batch| {
                let wanted = vec![SetNumber::ALL; batch.row_count()];
                evaluator.sets(batch, &wanted, &mut calculator)
            };
            Box::new(sets) as crate::plan::shared_operator::SetEvaluator
        };
        Ok(SetCondition { columns, evaluator: Arc::new(evaluator) })
    }
}

/// The value of a parameter that is the same for all queries.
fn common_value(rows: &[ParameterRow], parameter: usize) -> Option<Option<Scalar>> {
    let (first, others) = rows.split_first()?;
    let value = &first[parameter];
    others.iter().all(|row| ScalarKey::of(&row[parameter]) == ScalarKey::of(value)).then(|| value.clone())
}

/// A scan without the rows that no query wants. The conditions are evaluated later.
fn late_scan(source: &Arc<dyn Source>, column_count: usize, conditions: &[QueryConditions]) -> Shared {
    let filters: Vec<SetFilter> = conditions.iter().filter_map(set_filter).collect();
    let source = source.without_unwanted(&filters).unwrap_or_else(|| source.clone());
    Shared { plan: Plan::Source { source, column_count }, set: None }
}

/// A scan that evaluates the conditions that it supports, which are removed from `conditions`.
fn scan_with_sets(source: &Arc<dyn Source>, column_count: usize, conditions: &mut Vec<QueryConditions>) -> Shared {
    let filters: Vec<SetFilter> = conditions.iter().filter_map(set_filter).collect();
    let with_sets = (!filters.is_empty()).then(|| source.with_sets(filters)).flatten();
    let Some(source) = with_sets else {
        return Shared { plan: Plan::Source { source: source.clone(), column_count }, set: None };
    };
    conditions.retain(|condition| set_filter(condition).is_none());
    Shared { plan: Plan::Source { source, column_count: column_count + 1 }, set: Some(column_count) }
}

/// The condition as a filter of a scan, if it is one on a column.
fn set_filter(condition: &QueryConditions) -> Option<SetFilter> {
    match condition {
        QueryConditions::Indexed { value, predicates } => {
            Some(SetFilter { column: value.as_column()?, predicates: predicates.clone() })
        }
        _ => None,
    }
}

/// A condition on pairs, moved to positions that account for the probe side's set between both sides' columns.
fn placed(mut condition: Expression, probe: &Side) -> Expression {
    let shift = usize::from(probe.shared.set.is_some());
    condition.map_columns(&mut |column| if column < probe.count { column } else { column + shift });
    condition
}

/// A join in which at most one side has sets, and in which the partners in the other side are the same for all queries.
fn plain_join(node: NodeId, build: Side, probe: Side, condition: JoinCondition) -> Shared {
    let columns = condition.kind.columns();
    let build_set = build.shared.set.filter(|_| columns.build);
    let probe_set = probe.shared.set.filter(|_| columns.probe);
    let probe_count = if columns.probe { probe.count } else { 0 };
    let tail = usize::from(columns.mark) + if columns.build { build.count } else { 0 };
    let plan = Plan::Join { node, build: build.shared.plan.into(), probe: probe.shared.plan.into(), condition };
    if probe_set.is_none() {
        // The build side's set is the last column already.
        let set = build_set.map(|_| plan.column_count() - 1);
        return Shared { plan, set };
    }
    // The probe side's set precedes the mark and the build side's columns.
    let places = (0..probe_count).chain(probe_count + 1..=probe_count + tail).chain([probe_count]);
    let expressions: Vec<Expression> = places.map(Expression::Column).collect();
    let set = Some(expressions.len() - 1);
    Shared { plan: Plan::Project { input: plan.into(), expressions }, set }
}
