//! The positions in a plan at which rows get sets. Tests with random plans check the results.

use std::sync::Arc;

use braid_base::ByteSize;
use braid_storage::Scalar;

use super::*;
use crate::expression::Comparison;
use crate::keys::null_keys::NullKeys;
use crate::plan::JoinKind;
use crate::plan::{AggregateCall, AggregateFunction, AggregationSpec};
use crate::plan::{SortKey, SortSpec};
use crate::runtime::result_rows::ResultSource;
use crate::{FixedBudget, Vector};

/// A table of two columns without rows.
fn source() -> Plan {
    Plan::Source { source: Arc::new(ResultSource::new(Vec::new())), column_count: 2 }
}

fn equal(column: usize, right: Expression) -> Expression {
    let left = Expression::Column(column).into();
    Expression::Compare { comparison: Comparison::Equal, left, right: right.into() }
}

fn filter(input: Plan, parameter: usize) -> Plan {
    Plan::Filter { input: input.into(), condition: equal(0, Expression::Parameter(parameter)) }
}

fn join(kind: JoinKind, build: Plan, probe: Plan) -> Plan {
    let (build_keys, probe_keys) = (vec![0], vec![0]);
    let condition = JoinCondition { kind, build_keys, probe_keys, residual: None, null_keys: NullKeys::EqualNothing };
    Plan::join(build, probe, condition)
}

fn count(input: Plan) -> Plan {
    let call = AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
    let spec = AggregationSpec { keys: vec![1], aggregates: vec![call] };
    Plan::Aggregate { input: input.into(), spec: spec.into() }
}

fn first(input: Plan, limit: Option<usize>) -> Plan {
    let keys = vec![SortKey { column: 0, descending: false, nulls_first: false }];
    Plan::Sort { input: input.into(), spec: SortSpec { keys, limit }.into() }
}

fn shared(plan: &Plan, constants: &[i64]) -> SharedPlan {
    let rows: Vec<ParameterRow> =
        constants.iter().map(|constant| vec![Some(Scalar::Int(*constant)), Some(Scalar::Int(1))]).collect();
    SharedPlan::new(plan, &rows, FixedBudget::new(ByteSize(1 << 24))).unwrap()
}

/// The operators of the plan that two queries share, outermost first.
fn check(plan: Plan, expected: &[&str]) {
    let shared = shared(&plan, &[1, 2]);
    let found: Vec<String> = shared
        .describe()
        .lines()
        .map(|line| line.trim().split([':', ' ']).next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(found, expected, "{}", shared.describe());
    assert_eq!(shared.plan.column_count(), plan.column_count() + usize::from(shared.set.is_some()));
}

#[test]
fn what_lies_below_the_first_parameter_is_done_once_for_all_queries() {
    check(count(source()), &["Aggregate", "Scan"]);
    check(filter(count(source()), 0), &["SharedFilter", "Aggregate", "Scan"]);
    check(count(filter(source(), 0)), &["SharedAggregate", "SharedFilter", "Scan"]);
    check(first(filter(source(), 0), None), &["Sort", "SharedFilter", "Scan"]);
    check(first(filter(source(), 0), Some(3)), &["SharedSort", "SharedFilter", "Scan"]);
}

#[test]
fn joins_look_at_sets_only_where_partners_depend_on_the_query() {
    let own = || filter(source(), 0);
    check(join(JoinKind::Inner, source(), own()), &["Project", "HashJoin", "SharedFilter", "Scan", "Scan"]);
    check(join(JoinKind::Inner, own(), source()), &["HashJoin", "Scan", "SharedFilter", "Scan"]);
    let both = ["IntersectSets", "HashJoin", "SharedFilter", "Scan", "SharedFilter", "Scan"];
    check(join(JoinKind::Inner, own(), own()), &both);
    check(join(JoinKind::ProbeSemi, source(), own()), &["Project", "HashJoin", "SharedFilter", "Scan", "Scan"]);
    check(join(JoinKind::ProbeSemi, own(), source()), &["SharedHashJoin", "Scan", "SharedFilter", "Scan"]);
    check(join(JoinKind::BuildOuter, own(), source()), &["HashJoin", "Scan", "SharedFilter", "Scan"]);
    check(join(JoinKind::BuildOuter, source(), own()), &["SharedHashJoin", "SharedFilter", "Scan", "Scan"]);
}

#[test]
fn columns_that_depend_on_the_query_have_a_variant_for_each_constant() {
    let expressions = vec![Expression::Column(1), Expression::Parameter(0)];
    let plan = Plan::Project { input: source().into(), expressions };
    assert!(shared(&plan, &[1, 2, 1]).describe().starts_with("SharedProject: #1, 1 in 2 variants"));
}

#[test]
fn parameters_with_one_value_are_constants() {
    // The second parameter is 1 for every query.
    check(count(filter(source(), 1)), &["Aggregate", "Filter", "Scan"]);
    check(filter(filter(source(), 1), 0), &["SharedFilter", "Filter", "Scan"]);
    let both = Plan::Filter {
        input: source().into(),
        condition: Expression::Or(vec![equal(0, Expression::Parameter(0)), equal(1, Expression::Parameter(1))]),
    };
    let text = shared(&both, &[5, 6]).describe();
    assert!(text.starts_with("SharedFilter: ((#0 = parameter 0 OR #1 = 1))"), "{text}");
}

#[test]
fn plans_that_compute_nothing_do_not_fail() {
    let sum = |column| {
        let call =
            AggregateCall { function: AggregateFunction::Sum, argument: Some(column), distinct: false, filter: None };
        let spec = AggregationSpec { keys: Vec::new(), aggregates: vec![call] };
        Plan::Aggregate { input: source().into(), spec: spec.into() }
    };
    let scaled = Expression::ScaleUp { value: Expression::Parameter(0).into(), digits: 2 };
    let scaled = Plan::Filter { input: source().into(), condition: equal(0, scaled) };
    let safe = first(count(filter(source(), 0)), Some(1));
    let may_fail = |plan| shared(&plan, &[1, 2]).may_fail();
    assert_eq!(
        [safe, sum(0), count(scaled), with_both_kinds(&source()).bind(&[None])].map(may_fail),
        [false, true, true, true]
    );
}

#[test]
fn equal_queries_share_the_plan_of_one() {
    let plan = first(count(filter(source(), 0)), Some(2));
    let shared = shared(&plan, &[7, 7, 7]);
    assert_eq!((shared.query_count(), shared.distinct_count(), shared.set), (3, 1, None));
    let mut bound = String::new();
    plan.bind(&[Some(Scalar::Int(7))]).describe(0, &mut bound).unwrap();
    assert_eq!(shared.describe(), bound);
}

#[test]
fn queries_with_equal_parameters_are_one() {
    let plan = shared(&filter(source(), 0), &[5, 6, 5, 5]);
    assert_eq!((plan.query_count(), plan.distinct_count()), (4, 2));
    assert_eq!(plan.distinct, [0, 1, 0, 0].map(QueryNumber::at));
    // The empty set, all queries, and the two different sets.
    assert_eq!(plan.set_count(), 4);
}

#[tokio::test]
async fn each_of_equal_queries_has_the_rows() {
    let rows = crate::runtime::result_rows::ResultRows::new(
        2,
        vec![Vector::integers(vec![5, 6]), Vector::integers(vec![1, 2])],
    );
    let source = ResultSource::new(vec![Arc::new(rows)]);
    let plan = filter(Plan::Source { source: Arc::new(source), column_count: 2 }, 0);
    let plan = shared(&plan, &[5, 7, 5, 6]);
    let budget = FixedBudget::new(ByteSize(1 << 24));
    let spec = Arc::new(SortSpec { keys: Vec::new(), limit: None });
    let executor = crate::executor::Executor::new(2, budget.clone());
    let collect = |_| crate::sorting::SortWorker::new(spec.clone(), budget.clone());
    let found = executor.run_shared(&plan, collect).await.unwrap();
    let values = found.into_iter().map(|sinks| {
        let rows = crate::sorting::SortWorker::finish(sinks, 2).unwrap();
        (0..rows.row_count()).map(|row| rows.columns()[1].value(row)).collect::<Vec<_>>()
    });
    let int = |value| vec![Some(Scalar::Int(value))];
    assert_eq!(values.collect::<Vec<_>>(), [int(1), Vec::new(), int(1), int(2)]);
}

/// Column 0 = parameter 0 and column 1 < subquery 0, which counts the rows of a table.
fn with_both_kinds(table: &Plan) -> Plan {
    let compare = |comparison, column, right: Expression| Expression::Compare {
        comparison,
        left: Expression::Column(column).into(),
        right: right.into(),
    };
    let own = compare(Comparison::Equal, 0, Expression::Parameter(0));
    let of_all = compare(Comparison::Less, 1, Expression::SubqueryValue(0));
    let call = AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
    let spec = AggregationSpec { keys: Vec::new(), aggregates: vec![call] };
    let subqueries = vec![Plan::Aggregate { input: table.clone().into(), spec: spec.into() }];
    let input = Plan::Filter { input: table.clone().into(), condition: Expression::And(vec![own, of_all]) };
    Plan::WithScalars { subqueries, input: input.into() }
}

#[tokio::test]
async fn parameters_and_values_of_subqueries_of_one_number_are_two() {
    let columns = vec![Vector::integers(vec![5, 5, 6]), Vector::integers(vec![2, 3, 1])];
    let rows = crate::runtime::result_rows::ResultRows::new(3, columns);
    let source = Arc::new(ResultSource::new(vec![Arc::new(rows)]));
    let plan = with_both_kinds(&Plan::Source { source, column_count: 2 });
    let budget = FixedBudget::new(ByteSize(1 << 24));
    let executor = crate::executor::Executor::new(1, budget.clone());
    let spec = Arc::new(SortSpec { keys: Vec::new(), limit: None });
    let bound = plan.bind(&[Some(Scalar::Int(5))]);
    let sinks = executor.run(&bound, || crate::sorting::SortWorker::new(spec.clone(), budget.clone())).await.unwrap();
    let found = crate::sorting::SortWorker::finish(sinks, 2).unwrap();
    assert_eq!(found.row_count(), 1);
    assert_eq!(found.columns()[1].value(0), Some(Scalar::Int(2)));
}

#[test]
fn a_plan_that_reads_a_value_of_each_query_is_shared_while_the_pass_runs() {
    check(
        with_both_kinds(&filter(source(), 0)),
        &["SharedScalars", "Filter", "Filter", "Scan", "SharedLimit", "SharedAggregate", "SharedFilter", "Scan"],
    );
}
