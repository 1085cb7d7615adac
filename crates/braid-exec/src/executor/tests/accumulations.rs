//! Foreign aggregates beside the operator's own, over random rows: several workers, generations, temporary files, too little memory, errors,
//! cancellation.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering as Atomic};

use arrow::array::{ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, Int64Array};
use arrow::datatypes::{DataType, Int64Type};

use super::*;
use crate::plan::{AggregateCall, AggregateFunction, ForeignAggregate, ForeignCall, ForeignError, ForeignStates};
use crate::runtime::pipeline::tests::Count;

/// The value that the aggregates of these tests refuse.
const REFUSED: i64 = 1_000_000;

/// All values of a group, sorted, or in the order of the rows: eight bytes each.
#[derive(Debug)]
struct Values {
    is_ordered: bool,
    /// Numbers the rows in the order in which they are taken in.
    next: Arc<AtomicI64>,
}

#[derive(Debug)]
struct ValuesOfGroups {
    of: Values,
    /// Numbers and values.
    groups: Vec<Vec<(i64, i64)>>,
    value_count: usize,
}

impl Values {
    fn new(is_ordered: bool) -> Self {
        Self { is_ordered, next: Arc::default() }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values")
    }
}

impl ForeignAggregate for Values {
    fn states(&self) -> Box<dyn ForeignStates> {
        let of = Self { is_ordered: self.is_ordered, next: self.next.clone() };
        Box::new(ValuesOfGroups { of, groups: Vec::new(), value_count: 0 })
    }

    fn needs_order(&self) -> bool {
        self.is_ordered
    }
}

impl ForeignStates for ValuesOfGroups {
    fn update(&mut self, groups: &[u32], group_count: usize, arguments: &[ArrayRef]) -> Result<(), ForeignError> {
        self.groups.resize(group_count, Vec::new());
        for (group, value) in groups.iter().zip(arguments[0].as_primitive::<Int64Type>()) {
            match value {
                Some(REFUSED) => return Err(Box::new(ExecError::DivisionByZero)),
                Some(value) => {
                    let number = if self.of.is_ordered { self.of.next.fetch_add(1, Atomic::Relaxed) } else { 0 };
                    self.groups[*group as usize].push((number, value));
                    self.value_count += 1;
                }
                None => {}
            }
        }
        Ok(())
    }

    fn save(&self, groups: &[u32]) -> Result<ArrayRef, ForeignError> {
        let part = |group: &u32| {
            let values = self.groups.get(*group as usize)?;
            Some(
                values
                    .iter()
                    .flat_map(|(number, value)| [number.to_le_bytes(), value.to_le_bytes()].concat())
                    .collect(),
            )
        };
        Ok(Arc::new(groups.iter().map(part).collect::<Vec<Option<Vec<u8>>>>().into_iter().collect::<BinaryViewArray>()))
    }

    fn merge(&mut self, groups: &[u32], group_count: usize, parts: &ArrayRef) -> Result<(), ForeignError> {
        self.groups.resize(group_count, Vec::new());
        for (group, part) in groups.iter().zip(parts.as_binary_view()) {
            for pair in part.unwrap_or_default().as_chunks::<16>().0 {
                let (number, value) = pair.split_at(8);
                let [number, value] = [number, value].map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()));
                self.groups[*group as usize].push((number, value));
                self.value_count += 1;
            }
        }
        Ok(())
    }

    fn results(&self, groups: Range<usize>, _: &StopFlag) -> Result<ArrayRef, ForeignError> {
        let mut results = BinaryViewBuilder::new();
        for group in groups {
            let mut values = self.groups.get(group).cloned().unwrap_or_default();
            values.sort_unstable();
            results.append_value(values.iter().flat_map(|(_, value)| value.to_be_bytes()).collect::<Vec<u8>>());
        }
        Ok(Arc::new(results.finish()))
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Vec<(i64, i64)>>() + 16 * self.value_count
    }

    fn results_bytes(&self, groups: Range<usize>) -> usize {
        groups.map(|group| self.groups.get(group).map_or(0, |values| 24 * values.len())).sum()
    }
}

/// The values of a group of these rows, with those of each call.
pub fn with_values(group: Row, rows: &[Row], spec: &AggregationSpec, calls: &[ForeignCall]) -> Row {
    let is_of_group = |row: &&Row| {
        let keys: Row = spec.keys.iter().map(|key| row[*key].clone()).collect();
        compare_rows(&keys, &group[..keys.len()]).is_eq()
    };
    let values = |call: &ForeignCall| {
        let counts = |row: &&Row| call.filter.is_none_or(|filter| row[filter] == Some(Scalar::Bool(true)));
        let value = |row: &Row| match row[call.arguments[0].0] {
            Some(Scalar::Int(value)) => Some(value),
            _ => None,
        };
        let mut values: Vec<i64> = rows.iter().filter(is_of_group).filter(counts).filter_map(value).collect();
        if !call.function.needs_order() {
            values.sort_unstable();
        }
        Some(Scalar::Bytes(values.into_iter().flat_map(i64::to_be_bytes).collect()))
    };
    group.iter().cloned().chain(calls.iter().map(values)).collect()
}

/// A call over a column, with a filter.
pub fn call(column: usize, filter: Option<usize>, is_ordered: bool) -> ForeignCall {
    let function = Arc::new(Values::new(is_ordered));
    ForeignCall { function, arguments: vec![(column, DataType::Int64)], filter }
}

pub fn accumulated(input: Plan, spec: AggregationSpec, foreign: Vec<ForeignCall>) -> Plan {
    Plan::Accumulate { input: input.into(), spec: spec.into(), foreign: foreign.into() }
}

/// Random rows of a key, a value and a boolean, in parts of a few rows.
struct Rows {
    rows: Vec<(Option<i64>, Option<i64>, bool)>,
    part_rows: usize,
}

impl Rows {
    fn new(random: &mut SeededRandom) -> Self {
        let (row_count, key_count) = (random.below(400) as usize, 1 + random.below(60));
        let row = |random: &mut SeededRandom| {
            let key = (!random.chance(1, 10)).then(|| random.below(key_count) as i64 * 1_000_003);
            let value = (!random.chance(1, 10)).then(|| random.below(100) as i64);
            (key, value, random.chance(1, 2))
        };
        Self { rows: (0..row_count).map(|_| row(random)).collect(), part_rows: 1 + random.below(50) as usize }
    }

    fn plan(&self) -> Plan {
        let part = |rows: &[(Option<i64>, Option<i64>, bool)]| {
            let integers = |values: Int64Array| Vector::from_array(&(Arc::new(values) as ArrayRef)).unwrap();
            let kept = rows.iter().map(|row| Some(row.2)).collect::<arrow::array::BooleanArray>();
            let columns = vec![
                integers(rows.iter().map(|row| row.0).collect()),
                integers(rows.iter().map(|row| row.1).collect()),
                Vector::from_array(&(Arc::new(kept) as ArrayRef)).unwrap(),
            ];
            Arc::new(ResultRows::new(rows.len(), columns))
        };
        let source = ResultSource::new(self.rows.chunks(self.part_rows).map(part).collect());
        Plan::Source { source: Arc::new(source), column_count: 3 }
    }

    /// For each key the number of its rows, the number of its distinct values, all values, those of the rows with true. Without keys there
    /// is one group.
    fn groups(&self, has_keys: bool, is_ordered: bool) -> Vec<Row> {
        let mut keys: Vec<Option<i64>> = self.rows.iter().map(|row| row.0.filter(|_| has_keys)).collect();
        keys.sort_unstable();
        keys.dedup();
        if !has_keys {
            keys = vec![None];
        }
        let bytes = |mut values: Vec<i64>| {
            if !is_ordered {
                values.sort_unstable();
            }
            Some(Scalar::Bytes(values.into_iter().flat_map(i64::to_be_bytes).collect()))
        };
        let group = |key: Option<i64>| {
            let rows: Vec<_> = self.rows.iter().filter(|row| row.0.filter(|_| has_keys) == key).collect();
            let all: Vec<i64> = rows.iter().filter_map(|row| row.1).collect();
            let kept: Vec<i64> = rows.iter().filter(|row| row.2).filter_map(|row| row.1).collect();
            let mut distinct = all.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let integer = |value: usize| Some(Scalar::Int(value as i64));
            let of_keys = has_keys.then(|| key.map(Scalar::Int));
            let results = [integer(rows.len()), integer(distinct.len()), bytes(all), bytes(kept)];
            of_keys.into_iter().chain(results).collect()
        };
        keys.into_iter().map(group).collect()
    }
}

fn plan_of(rows: &Rows, has_keys: bool, is_ordered: bool) -> Plan {
    let count = |function, argument, distinct| AggregateCall { function, argument, distinct, filter: None };
    let aggregates =
        vec![count(AggregateFunction::CountRows, None, false), count(AggregateFunction::Count, Some(1), true)];
    let spec = AggregationSpec { keys: if has_keys { vec![0] } else { Vec::new() }, aggregates };
    accumulated(rows.plan(), spec, vec![call(1, None, is_ordered), call(1, Some(2), is_ordered)])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_have_the_values_of_their_rows() {
    let (cases, mut spilled, mut starved) = (cases!(40, nightly 100), 0, 0);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0 as u64);
    for case in cases {
        let mut random = SeededRandom::new(case.seed);
        let rows = Rows::new(&mut random);
        let (has_keys, is_ordered) = (random.chance(3, 4), random.chance(1, 2));
        let plan = plan_of(&rows, has_keys, is_ordered);
        let expected = Answer { rows: rows.groups(has_keys, is_ordered), order: Order::Any };
        for worker_count in [1, 3] {
            let mut tuning = Tuning::small();
            tuning.aggregation.groups_per_partition = 1 << random.below(8);
            tuning.aggregation.generation_groups = 1 << (2 + random.below(8));
            let budget = FixedBudget::new(PLENTY);
            let found = run_tuned(&plan, worker_count, &budget, tuning, &Tally::default()).await.unwrap();
            assert_answers(found, &expected);
            assert_given_back(&budget).await;
        }
        let operator_bytes_max = 1 << (9 + random.below(6));
        let settings =
            SpillSettings { block_bytes: 1 << (4 + random.below(8)), operator_bytes_max, operator_bytes_min: 0 };
        let (space, budget) = (spill_space(settings), FixedBudget::new(PLENTY));
        assert_answers(
            spilling::run_spilling(&plan, 1 + random.below(3) as usize, &budget, &space).await.unwrap(),
            &expected,
        );
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
        spilled += u64::from(space.file_count() > 0);
        let budget = FixedBudget::new(ByteSize(1 << (6 + random.below(12))));
        match run(&plan, 2, &budget).await {
            Err(ExecError::Memory(_)) => starved += 1,
            found => assert_answers(found.unwrap(), &expected),
        }
        assert_given_back(&budget).await;
    }
    let counted = format!("of {count}, {spilled} spilled, {starved} had too little memory");
    assert!(is_replay || spilled * 10 > 3 * count && starved * 20 > 3 * count, "{counted}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_aggregate_that_fails_fails_the_query() {
    for row_count in [1, 30, 500] {
        let mut rows: Vec<_> = (0..row_count).map(|row| (Some(row % 7), Some(row), true)).collect();
        rows.last_mut().unwrap().1 = Some(REFUSED);
        let rows = Rows { rows, part_rows: 8 };
        for (has_keys, worker_count) in [(true, 1), (true, 3), (false, 2)] {
            let budget = FixedBudget::new(PLENTY);
            let found = run(&plan_of(&rows, has_keys, false), worker_count, &budget).await;
            assert!(matches!(found, Err(ExecError::DivisionByZero)), "{found:?}");
            assert_given_back(&budget).await;
        }
    }
}

/// 2^18 rows of 2^16 groups take long enough to be cancelled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_aggregation_stops() {
    const ROWS: i64 = 1 << 18;
    let rows = (0..ROWS).map(|row| (Some(row % (ROWS / 4)), Some(row % 100), true)).collect();
    let plan = plan_of(&Rows { rows, part_rows: 1 << 12 }, true, false);
    let mut cancelled = 0;
    for wait_ms in [1, 5, 10, 20] {
        let budget = FixedBudget::new(PLENTY);
        let executor = Executor::new(2, budget.clone()).with_tuning(Tuning::small());
        let flag = executor.cancellation();
        let canceller = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            flag.raise();
        });
        let ended = tokio::time::timeout(PATIENCE, executor.run(&plan, Count::default)).await.expect("it ends");
        cancelled += u32::from(matches!(ended, Err(ExecError::Cancelled)));
        drop(executor);
        assert_given_back(&budget).await;
        canceller.await.unwrap();
    }
    assert!(cancelled > 0, "every run ended before it was cancelled");
}

#[test]
fn a_plan_shows_its_foreign_calls() {
    let rows = Rows { rows: Vec::new(), part_rows: 1 };
    let mut text = String::new();
    plan_of(&rows, true, false).describe(0, &mut text).unwrap();
    let calls = "CountRows(*), Count(DISTINCT #1)], [values(#1), values(#1) FILTER #2]";
    assert_eq!(text.lines().next().unwrap(), format!("Accumulate: by [#0]: [{calls}"));
}
