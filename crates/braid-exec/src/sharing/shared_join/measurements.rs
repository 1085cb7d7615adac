//! The time per row of the probe side, in a shared join and in the join of one query. Run with
//! `cargo test --release -p braid-exec --lib shared_join::measurements -- --ignored --nocapture --test-threads 1`.

use std::time::Instant;

use braid_base::{ByteSize, Random, SeededRandom};

use super::*;
use crate::executor::Executor;
use crate::keys::null_keys::NullKeys;
use crate::plan::Plan;
use crate::plan::shared_operator::SharedOperator;
use crate::runtime::pipeline::Sink;
use crate::runtime::result_rows::{ResultRows, ResultSource};
use crate::runtime::stop::Stop;
use crate::{FixedBudget, QueryBitmap, SetStore};

const PROBE_ROWS: usize = 1 << 22;
const BUILD_ROWS: usize = 1 << 16;

/// Reads all columns.
#[derive(Default)]
struct Counted(usize);

impl Sink for Counted {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        (0..batch.column_count()).for_each(|column| self.0 += batch.column(column).len());
        Ok(())
    }
}

/// Rows of a key, a value and a set.
fn side(keys: Vec<i64>, sets: &[SetNumber], random: &mut SeededRandom) -> Plan {
    let row_count = keys.len();
    let picked = (0..row_count).map(|_| sets[random.below(sets.len() as u64) as usize].value()).collect();
    let values = (0..row_count as i64).collect();
    let columns = [keys, values, picked].map(Vector::integers);
    let rows = Arc::new(ResultRows::new(row_count, columns.into()));
    Plan::Source { source: Arc::new(ResultSource::new(vec![rows])), column_count: 3 }
}

async fn nanoseconds_per_row(plan: &Plan) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let since = Instant::now();
        let sinks = Executor::new(1, FixedBudget::new(ByteSize(1 << 32))).run(plan, Counted::default).await.unwrap();
        assert_eq!(sinks.len(), 1);
        best = best.min(since.elapsed().as_nanos() as f64 / PROBE_ROWS as f64);
    }
    best
}

#[tokio::test]
#[ignore = "a measurement"]
async fn probing_costs() {
    let store = SetStore::new(100, FixedBudget::new(ByteSize(1 << 24))).unwrap();
    let some =
        |modulus: usize| store.number_of(&QueryBitmap::from_fn(100, |query| query.index() % modulus != 0)).unwrap();
    let many: Vec<SetNumber> = (2..18).map(some).collect();
    let kinds = [JoinKind::Inner, JoinKind::ProbeOuter, JoinKind::ProbeSemi, JoinKind::ProbeAnti, JoinKind::BuildSemi];
    for (name, sets) in [("all queries", &[SetNumber::ALL][..]), ("16 sets", &many)] {
        for repeats in [1, 4] {
            let mut random = SeededRandom::new(repeats as u64);
            let distinct = BUILD_ROWS / repeats;
            let build = side((0..BUILD_ROWS).map(|row| (row % distinct) as i64).collect(), sets, &mut random);
            let keys = (0..PROBE_ROWS).map(|_| random.below(distinct as u64 * 5 / 4) as i64).collect();
            let probe = side(keys, sets, &mut random);
            for kind in kinds {
                let (one, all) = plans(kind, &build, &probe, &store);
                let (one, all) = (nanoseconds_per_row(&one).await, nanoseconds_per_row(&all).await);
                println!("{name}, {repeats} rows a key, {kind:?}: {all:.1} ns a row; in a join of one query {one:.1}");
            }
        }
    }
}

/// The join of one query, for which the set is an ordinary column, and the shared join.
fn plans(kind: JoinKind, build: &Plan, probe: &Plan, store: &Arc<SetStore>) -> (Plan, Plan) {
    let condition = JoinCondition {
        kind,
        build_keys: vec![0],
        probe_keys: vec![0],
        residual: None,
        null_keys: NullKeys::EqualNothing,
    };
    let sets = JoinSets { store: store.clone(), probe: Some(2), build: Some(2), condition: None };
    let (build, probe) = (build.clone(), probe.clone());
    let all = SharedOperator::Join { build: build.clone(), probe: probe.clone(), condition: condition.clone(), sets };
    (Plan::join(build, probe, condition), Plan::Shared(Box::new(all)))
}
