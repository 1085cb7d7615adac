//! DISTINCT ON and WITH TIES over sorted random plans.

use super::memory_tables::compare_rows;
use super::*;
use crate::plan::SortKey;
use crate::runtime::peers::KeptPeers;

/// The definition of the rows, of rows in their order.
pub fn kept_rows(rows: Vec<Row>, keys: &[usize], kept: KeptPeers) -> Vec<Row> {
    let key = |row: &Row| -> Row { keys.iter().map(|key| row[*key].clone()).collect() };
    let are_peers = |a: &Row, b: &Row| compare_rows(&key(a), &key(b)).is_eq();
    match kept {
        KeptPeers::First => rows.chunk_by(are_peers).map(|peers| peers[0].clone()).collect(),
        KeptPeers::WithTies { offset, limit } => {
            let (offset, end) = (offset as usize, (offset + limit) as usize);
            let last = end.checked_sub(1).filter(|_| limit > 0).and_then(|last| rows.get(last)).cloned();
            let is_tie = |row: &Row| last.as_ref().is_some_and(|last| are_peers(row, last));
            let numbered = rows.into_iter().enumerate().skip(offset);
            numbered.take_while(|(at, row)| *at < end || is_tie(row)).map(|(_, row)| row).collect()
        }
    }
}

/// Rows in a total order, by their peers in the first keys of it.
pub fn of_peers(input: Plan, random: &mut SeededRandom) -> Plan {
    let width = input.column_count();
    let mut columns: Vec<usize> = (0..width).collect();
    (1..width).rev().for_each(|at| columns.swap(at, random.below(at as u64 + 1) as usize));
    let key = |column| SortKey { column, descending: random.chance(1, 2), nulls_first: random.chance(1, 2) };
    let sort_keys: Vec<SortKey> = columns.iter().copied().map(key).collect();
    let sort = SortSpec { keys: sort_keys, limit: None };
    let sorted = Plan::Sort { input: input.into(), spec: sort.into() };
    let keys = columns[..random.below(width.min(3) as u64 + 1) as usize].to_vec();
    let kept = match random.chance(1, 2) {
        true => KeptPeers::First,
        false => KeptPeers::WithTies { offset: random.below(6), limit: random.below(40) },
    };
    let peers = Plan::Peers { input: sorted.into(), keys, kept };
    match random.below(3) {
        0 => Plan::Limit { input: peers.into(), offset: random.below(3), limit: Some(random.below(20)) },
        _ => peers,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peers_are_what_they_are_defined_to_be() {
    let cases = cases!(0..800);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0 as u64);
    let (mut compared, tally) = (0, Tally::default());
    for drawn in cases {
        let mut case = Case::new(drawn.seed);
        case.plan = of_peers(case.plan.clone(), &mut case.random);
        compared += u64::from(check(case, &tally).await);
    }
    assert!(is_replay || compared * 2 > count, "only {compared} of {count} plans have one answer");
    assert!(is_replay || tally.spilled.get() > 20, "only {} plans spilled", tally.spilled.get());
}

#[test]
fn a_plan_shows_its_peers() {
    let input = || Box::new(Plan::Source { source: Table::of_integers(0, 2, &[]), column_count: 2 });
    let shown = |plan: Plan| {
        let mut text = String::new();
        plan.describe(0, &mut text).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    let first = Plan::Peers { input: input(), keys: vec![1, 0], kept: KeptPeers::First };
    assert_eq!(shown(first), "Peers: first by [#1, #0]");
    let ties = Plan::Peers { input: input(), keys: vec![0], kept: KeptPeers::WithTies { offset: 2, limit: 3 } };
    assert_eq!(shown(ties), "Peers: 3 from 2 with ties by [#0]");
}
