//! Joins whose probe rows have at most one partner: the rows of outer joins, or an error.

use super::*;
use crate::plan::{AggregateCall, AggregateFunction};

/// The plan's rows joined with their groups, or with themselves.
fn joined(case: &mut Case) -> Plan {
    let (width, random) = (case.plan.column_count() as u64, &mut case.random);
    let key = random.below(width) as usize;
    let (build, build_key) = match random.below(4) {
        0 => (case.plan.clone(), key),
        keys => {
            let count =
                AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
            let mut keys: Vec<usize> = (1..keys).map(|_| random.below(width) as usize).collect();
            keys.insert(0, key);
            let spec = AggregationSpec { keys, aggregates: vec![count] };
            (Plan::Aggregate { input: case.plan.clone().into(), spec: spec.into() }, 0)
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
    Plan::join(build, case.plan.clone(), JoinCondition { kind, build_keys, probe_keys, residual, null_keys })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_partner_is_an_error() {
    let cases = cases!(0..800);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0 as u64);
    let (mut compared, mut failed, tally) = (0, 0, Tally::default());
    for drawn in cases {
        let mut case = Case::new(drawn.seed);
        case.plan = joined(&mut case);
        failed += u64::from(matches!(case.expected(), Err(NoAnswer::SeveralRows)));
        compared += u64::from(check(case, &tally).await);
    }
    assert!(is_replay || compared * 2 > count, "only {compared} of {count} plans have one answer");
    assert!(is_replay || failed * 10 > count && failed * 2 < count, "{failed} of {count} plans fail");
}
