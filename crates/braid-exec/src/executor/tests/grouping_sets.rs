//! Random plans below and above rows that are expanded for grouping sets.

use super::*;
use crate::plan::{AggregateCall, AggregateFunction};
use crate::runtime::expand::ColumnLists;

pub fn lists(random: &mut SeededRandom, width: usize) -> ColumnLists {
    let count = 1 + random.below(4);
    (0..count).map(|_| (0..width).map(|column| (!random.chance(1, 3)).then_some(column)).collect()).collect()
}

/// The plan's rows expanded, perhaps grouped by the number of the list and another column.
fn expanded(case: &mut Case) -> Plan {
    let width = case.plan.column_count();
    let input = Box::new(case.plan.clone());
    let plan = Plan::Expand { input, lists: lists(&mut case.random, width) };
    if case.random.chance(1, 3) {
        return plan;
    }
    let call = |function, argument| AggregateCall { function, argument, distinct: false, filter: None };
    let aggregates = vec![
        call(AggregateFunction::CountRows, None),
        call(AggregateFunction::Count, Some(case.random.below(width as u64) as usize)),
    ];
    let keys = vec![case.random.below(width as u64) as usize, width];
    Plan::Aggregate { input: plan.into(), spec: AggregationSpec { keys, aggregates }.into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_row_comes_once_for_every_list() {
    let cases = cases!(0..500);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0 as u64);
    let (mut compared, tally) = (0, Tally::default());
    for drawn in cases {
        let mut case = Case::new(drawn.seed);
        case.plan = expanded(&mut case);
        compared += u64::from(check(case, &tally).await);
    }
    assert!(is_replay || compared * 2 > count, "only {compared} of {count} plans have one answer");
}

#[test]
fn a_plan_shows_its_lists() {
    let table = Table::of_integers(0, 2, &[&[Some(1), Some(2)]]);
    let input = Plan::Source { source: table, column_count: 2 };
    let lists: ColumnLists = vec![vec![Some(0), None], vec![None, Some(1)]].into();
    let plan = Plan::Expand { input: input.into(), lists };
    assert_eq!(plan.column_count(), 3);
    let mut text = String::new();
    plan.describe(0, &mut text).unwrap();
    assert_eq!(text.lines().next().unwrap(), "Expand: [#0, null], [null, #1]");
}
