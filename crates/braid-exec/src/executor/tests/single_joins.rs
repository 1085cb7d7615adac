//! Joins whose probe rows have at most one partner: the rows of outer joins, or an error.

use super::shared_plans::SharedCase;
use super::*;
use crate::plan::{AggregateCall, AggregateFunction};
use crate::{PassError, QueryEnd, SharedPlan};

/// The plan's rows joined with their groups, or with themselves.
fn joined(plan: &Plan, random: &mut SeededRandom) -> Plan {
    let width = plan.column_count() as u64;
    let key = random.below(width) as usize;
    let (build, build_key) = match random.below(4) {
        0 => (plan.clone(), key),
        keys => {
            let count =
                AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
            let mut keys: Vec<usize> = (1..keys).map(|_| random.below(width) as usize).collect();
            keys.insert(0, key);
            let spec = AggregationSpec { keys, aggregates: vec![count] };
            (Plan::Aggregate { input: plan.clone().into(), spec: spec.into() }, 0)
        }
    };
    let is_null = |column: usize| Expression::IsNull(Expression::Column(column).into());
    let pair_width = width + build.column_count() as u64;
    let residual = random.chance(1, 3).then(|| {
        Expression::Or(vec![is_null(random.below(pair_width) as usize), is_null(random.below(pair_width) as usize)])
    });
    let (build_keys, probe_keys) = if random.chance(1, 10) { Default::default() } else { (vec![build_key], vec![key]) };
    let null_keys = if random.chance(1, 2) { NullKeys::EqualNull } else { NullKeys::EqualNothing };
    let kind = JoinKind::ProbeSingle;
    Plan::join(build, plan.clone(), JoinCondition { kind, build_keys, probe_keys, residual, null_keys })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_partner_is_an_error() {
    let cases = cases!(0..800);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0 as u64);
    let (mut compared, mut failed, tally) = (0, 0, Tally::default());
    for drawn in cases {
        let mut case = Case::new(drawn.seed);
        case.plan = joined(&case.plan, &mut case.random);
        failed += u64::from(matches!(case.expected(), Err(NoAnswer::SeveralRows)));
        compared += u64::from(check(case, &tally).await);
    }
    assert!(is_replay || compared * 2 > count, "only {compared} of {count} plans have one answer");
    assert!(is_replay || failed * 10 > count && failed * 2 < count, "{failed} of {count} plans fail");
}

/// Runs a pass. Returns the number of queries that were answered, and that have a second partner and are to be run alone.
async fn check_pass(mut case: SharedCase) -> (usize, usize) {
    let Some(expected) = case.expected() else { return (0, 0) };
    let budget = FixedBudget::new(PLENTY);
    let shared = SharedPlan::new(&case.case.plan, &case.parameters, budget.clone()).unwrap();
    let executor = Executor::new(1 + case.case.random.below(3) as usize, budget).with_tuning(Tuning::small());
    let run = tokio::time::timeout(PATIENCE, executor.run_pass(&shared, |_| Collected::default()));
    let ends = match run.await.expect("it ends") {
        Ok(ends) => ends,
        // The rows have no sets, or all queries have failed.
        Err(PassError::Evaluation(_)) if expected.iter().all(Result::is_err) => return (0, expected.len()),
        Err(error) => panic!("{error:?}, wanted {expected:?}"),
    };
    let mut counts = (0, 0);
    for (end, expected) in ends.into_iter().zip(&expected) {
        match (end, expected) {
            (QueryEnd::Rows(sinks), Ok(expected)) => {
                assert_answers(sinks.into_iter().flat_map(|sink| sink.0).collect(), expected);
                counts.0 += 1;
            }
            (QueryEnd::RunAlone, Err(NoAnswer::SeveralRows)) => counts.1 += 1,
            (end, expected) => panic!("{:?}, wanted {expected:?}", matches!(end, QueryEnd::Rows(_))),
        }
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_with_a_second_partner_leave_their_pass() {
    let cases = cases!(0..800);
    let is_replay = cases.is_replay();
    let (mut answered, mut failed) = (0, 0);
    for drawn in cases {
        let mut generator = Generator::new(drawn.seed);
        let parameters = generator.take_parameters();
        let depth = generator.random.below(4) as usize;
        let (plan, _) = generator.plan(depth);
        let joined = joined(&plan, &mut generator.random);
        let counts = check_pass(SharedCase::with_plan(generator, joined, &parameters)).await;
        answered += counts.0;
        failed += counts.1;
    }
    println!("{answered} queries were answered, {failed} had a second partner");
    assert!(is_replay || answered > 2000 && failed > 500, "{answered} answered, {failed} failed");
}
