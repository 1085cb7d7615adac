//! Random trees of inner joins. Keys repeat on both sides, so that joins make many pairs and are reordered.

use super::*;
use crate::expression::Comparison;
use crate::keys::null_keys::NullKeys;
use crate::plan::{AggregateCall, AggregateFunction};

/// A plan, and the number of its columns: two for each relation.
type Tree = (Plan, usize);

/// Joins some tables of two columns of few values, in a random tree, some with a further condition.
fn random_joins(seed: u64) -> Case {
    let mut random = SeededRandom::new(seed);
    let value = |random: &mut SeededRandom| (!random.chance(1, 12)).then(|| random.below(3) as i64);
    let mut tables = Vec::new();
    for number in 0..3 + random.below(2) as usize {
        let rows: Vec<[Option<i64>; 2]> =
            (0..1 + random.below(9)).map(|_| [value(&mut random), value(&mut random)]).collect();
        tables.push(Table::of_integers(number, 2, &rows.iter().map(<[_; 2]>::as_slice).collect::<Vec<_>>()));
    }
    let source = |table: &Arc<Table>| (Plan::Source { source: table.clone(), column_count: 2 }, 2);
    let mut trees: Vec<Tree> = tables.iter().map(source).collect();
    while trees.len() > 1 {
        let probe = trees.remove(random.below(trees.len() as u64) as usize);
        let build = trees.remove(random.below(trees.len() as u64) as usize);
        trees.push(joined(build, probe, &mut random));
    }
    let (mut plan, column_count) = trees.remove(0);
    if random.chance(1, 2) {
        let keys = vec![random.below(column_count as u64) as usize];
        let rows =
            AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
        plan = Plan::Aggregate { input: plan.into(), spec: Arc::new(AggregationSpec { keys, aggregates: vec![rows] }) };
    }
    Case { plan, tables, random }
}

fn joined((build, build_count): Tree, (probe, probe_count): Tree, random: &mut SeededRandom) -> Tree {
    let mut column = |count: usize| random.below(count as u64) as usize;
    let mut condition = JoinCondition {
        kind: JoinKind::Inner,
        build_keys: vec![column(build_count)],
        probe_keys: vec![column(probe_count)],
        residual: None,
        null_keys: NullKeys::EqualNothing,
    };
    let [left, right] =
        [column(probe_count), probe_count + column(build_count)].map(|at| Expression::Column(at).into());
    if random.chance(1, 4) {
        condition.residual = Some(Expression::Compare { comparison: Comparison::LessOrEqual, left, right });
    }
    if random.chance(1, 8) {
        condition.null_keys = NullKeys::EqualNull;
    }
    (Plan::join(build, probe, condition), probe_count + build_count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_in_another_order_make_the_same_rows() {
    let cases = cases!(0..2_000);
    let (is_replay, repeats, tally) = (cases.is_replay(), cases.repeats(), Tally::default());
    for case in cases {
        for _ in 0..repeats {
            check(random_joins(case.seed), &tally).await;
        }
    }
    let reordered = tally.reordered.get();
    assert!(is_replay || reordered > 100, "only {reordered} orders were given up");
}
