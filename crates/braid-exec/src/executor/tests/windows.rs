//! Window functions over random plans, whose answers are compared with a definition.

use std::fmt;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Int64Type};

use super::definition::compare_keys;
use super::memory_tables::{Kind, compare, integer};
use super::*;
use crate::ByteStrings;
use crate::plan::{
    ForeignError, ForeignWindow, ForeignWindowCall, FrameAggregate, FrameBound, FrameMode, FramePlace, SortKey, Watch,
    WindowCall, WindowFrame, WindowFunction, WindowRows, WindowSpec,
};
use crate::values::vector::Values;

/// The number of a row's peers, of other rows in its partition, and how many of these have an argument.
#[derive(Debug)]
struct Counts;

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counts")
    }
}

fn counts(peers: usize, rows: usize, arguments: usize) -> i64 {
    (peers * 1_000_000 + rows * 1000 + arguments) as i64
}

impl ForeignWindow for Counts {
    fn results(&self, rows: &WindowRows<'_>, watch: &mut Watch<'_>) -> Result<ArrayRef, ForeignError> {
        watch(rows.row_count)?;
        let arguments = rows.arguments[0].as_primitive::<Int64Type>();
        assert_eq!((rows.partitions.first(), rows.peers.first()), (Some(&0), Some(&0)), "partitions are whole");
        let ends = |starts: &[u32]| -> Vec<(usize, usize)> {
            let ends = starts.iter().skip(1).copied().chain([rows.row_count as u32]);
            starts.iter().zip(ends).map(|(start, end)| (*start as usize, end as usize)).collect()
        };
        let mut peers =
            ends(rows.peers).into_iter().flat_map(|(start, end)| std::iter::repeat_n(end - start, end - start));
        let mut results = Vec::new();
        for (start, end) in ends(rows.partitions) {
            let there = arguments.iter().skip(start).take(end - start).flatten().count();
            results.extend(peers.by_ref().take(end - start).map(|peers| counts(peers, end - start, there)));
        }
        Ok(Arc::new(Int64Array::from(results)))
    }
}

/// The rows with the results of all calls.
pub(super) fn windowed(mut rows: Vec<Row>, spec: &WindowSpec) -> Vec<Row> {
    let ascending = |column: &usize| SortKey { column: *column, descending: false, nulls_first: false };
    let keys: Vec<SortKey> = spec.partition_by.iter().map(ascending).chain(spec.order_by.iter().copied()).collect();
    let by = |count: usize, a: &Row, b: &Row| {
        let orders = keys[..count].iter().map(|key| compare_keys(key, &a[key.column], &b[key.column]));
        orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    };
    rows.sort_by(|a, b| by(keys.len(), a, b));
    let partition_keys = spec.partition_by.len();
    let mut all = Vec::new();
    for partition in rows.chunk_by(|a, b| by(partition_keys, a, b).is_eq()) {
        for at in 0..partition.len() {
            let result = |call: &WindowCall| {
                let is_peer = |a: &Row, b: &Row| by(partition_keys + call.key_count, a, b).is_eq();
                result(&call.function, partition, at, &is_peer)
            };
            all.push(partition[at].iter().cloned().chain(spec.calls.iter().map(result)).collect());
        }
    }
    all
}

/// The result of a function for a row of a partition.
fn result(function: &WindowFunction, partition: &[Row], at: usize, is_peer: &dyn Fn(&Row, &Row) -> bool) -> Value {
    let row = &partition[at];
    let group = |row: usize| partition[..=row].chunk_by(|a, b| is_peer(a, b)).count() as i128;
    let within = |frame: &WindowFrame| -> Vec<&Row> {
        let place = |row: usize| if frame.mode == FrameMode::Rows { row as i128 } else { group(row) };
        let bound = |bound: FrameBound| match bound {
            FrameBound::UnboundedPreceding => i128::MIN,
            FrameBound::Preceding(count) => place(at) - i128::from(count),
            FrameBound::CurrentRow => place(at),
            FrameBound::Following(count) => place(at) + i128::from(count),
            FrameBound::UnboundedFollowing => i128::MAX,
        };
        let (start, end) = (bound(frame.start), bound(frame.end));
        let is_within = |(row, _): &(usize, &Row)| start <= place(*row) && place(*row) <= end;
        partition.iter().enumerate().filter(is_within).map(|(_, row)| row).collect()
    };
    let number = |number: usize| Some(Scalar::Int(number as i64));
    match function {
        WindowFunction::RowNumber => number(at + 1),
        WindowFunction::Rank => number(partition.iter().take_while(|other| !is_peer(row, other)).count() + 1),
        WindowFunction::DenseRank => number(group(at) as usize),
        WindowFunction::Foreign(foreign) => {
            let there = partition.iter().filter(|row| row[foreign.arguments[0].0].is_some()).count();
            Some(Scalar::Int(counts(
                partition.iter().filter(|other| is_peer(row, other)).count(),
                partition.len(),
                there,
            )))
        }
        WindowFunction::ValueAtDistance { argument, distance } => {
            let there = usize::try_from(at as i64 + distance).ok();
            there.and_then(|there| partition.get(there)?[*argument].clone())
        }
        WindowFunction::ValueInFrame { argument, place, frame } => {
            let rows = within(frame);
            let row = match place {
                FramePlace::First => rows.first(),
                FramePlace::Last => rows.last(),
                FramePlace::Nth(index) => rows.get(*index as usize),
            };
            row.and_then(|row| row[*argument].clone())
        }
        WindowFunction::Aggregate { function, argument, filter, frame } => {
            let counts = |row: &&Row| filter.is_none_or(|filter| matches!(row[filter], Some(Scalar::Bool(true))));
            let rows = within(frame);
            let rows: Vec<&Row> = rows.into_iter().filter(counts).collect();
            let mut values: Vec<Scalar> = rows.iter().filter_map(|row| row[(*argument)?].clone()).collect();
            values.sort_by(compare);
            match function {
                FrameAggregate::CountRows => number(rows.len()),
                FrameAggregate::Count => number(values.len()),
                FrameAggregate::Minimum => values.first().cloned(),
                FrameAggregate::Maximum => values.last().cloned(),
                FrameAggregate::Sum if values.is_empty() => None,
                FrameAggregate::Sum => canonical(Some(Scalar::Int128(values.iter().map(integer).sum()))),
            }
        }
    }
}

fn frame(random: &mut SeededRandom) -> WindowFrame {
    let count = |random: &mut SeededRandom| [0, 1, 2, 5, u64::MAX][random.below(5) as usize];
    let (first, last) = (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing);
    let bound = |unbounded, random: &mut SeededRandom| match random.below(6) {
        0 | 1 => unbounded,
        2 => FrameBound::Preceding(count(random)),
        3 => FrameBound::Following(count(random)),
        _ => FrameBound::CurrentRow,
    };
    let mode = if random.chance(1, 2) { FrameMode::Rows } else { FrameMode::Groups };
    WindowFrame { mode, start: bound(first, random), end: bound(last, random) }
}

/// A function of columns of these kinds. One whose result depends on the order of peers needs a total order.
fn function(kinds: &[Kind], is_total: bool, random: &mut SeededRandom) -> WindowFunction {
    let column = |is_wanted: &dyn Fn(Kind) -> bool, random: &mut SeededRandom| {
        let columns: Vec<usize> = (0..kinds.len()).filter(|column| is_wanted(kinds[*column])).collect();
        let count = columns.len() as u64;
        (count > 0).then(|| columns[random.below(count) as usize])
    };
    let frame = WindowFrame { mode: FrameMode::Groups, ..frame(random) };
    let frame = if is_total && random.chance(1, 2) { self::frame(random) } else { frame };
    let any = column(&|_| true, random).unwrap();
    let filter = if random.chance(1, 3) { column(&|kind| kind == Kind::Bool, random) } else { None };
    let place = [FramePlace::First, FramePlace::Last, FramePlace::Nth(1), FramePlace::Nth(7)][random.below(4) as usize];
    let aggregate = |function, argument| WindowFunction::Aggregate { function, argument, filter, frame };
    let comparable = column(&|kind| kind != Kind::Float, random);
    match random.below(12) {
        0 if is_total => WindowFunction::RowNumber,
        1 if is_total => WindowFunction::ValueInFrame { argument: any, place, frame },
        2 if is_total => WindowFunction::ValueAtDistance { argument: any, distance: random.below(5) as i64 - 2 },
        3 => WindowFunction::DenseRank,
        4 | 5 => match column(&|kind| kind == Kind::Int, random) {
            None => WindowFunction::Rank,
            Some(argument) => {
                let arguments = vec![(argument, DataType::Int64)];
                WindowFunction::Foreign(ForeignWindowCall { function: Arc::new(Counts), arguments })
            }
        },
        6 => aggregate(FrameAggregate::CountRows, None),
        7 => aggregate(FrameAggregate::Count, Some(any)),
        8 => match column(&Kind::is_integer, random) {
            Some(argument) => aggregate(FrameAggregate::Sum, Some(argument)),
            None => aggregate(FrameAggregate::CountRows, None),
        },
        9 if comparable.is_some() => aggregate(FrameAggregate::Minimum, comparable),
        10 if comparable.is_some() => aggregate(FrameAggregate::Maximum, comparable),
        _ => WindowFunction::Rank,
    }
}

/// The kind of a function's results.
pub fn kind_of(function: &WindowFunction, kinds: &[Kind]) -> Kind {
    match function {
        WindowFunction::ValueInFrame { argument, .. } | WindowFunction::ValueAtDistance { argument, .. } => {
            kinds[*argument]
        }
        WindowFunction::Aggregate { function, argument: Some(argument), .. } => match function {
            FrameAggregate::Minimum | FrameAggregate::Maximum => kinds[*argument],
            FrameAggregate::Sum => Kind::Wide,
            FrameAggregate::Count | FrameAggregate::CountRows => Kind::Int,
        },
        _ => Kind::Int,
    }
}

/// A window over a plan with these columns. Where rows have numbers, peers are equal in all columns.
pub fn window(input: Plan, kinds: &[Kind], random: &mut SeededRandom) -> Plan {
    let mut columns: Vec<usize> = (0..kinds.len()).collect();
    (0..columns.len()).for_each(|at| columns.swap(at, random.below(kinds.len() as u64) as usize));
    let partition_by: Vec<usize> = columns.iter().copied().take(random.below(3) as usize).collect();
    let is_total = random.chance(2, 3);
    let wanted = if is_total { columns.len() } else { random.below(3) as usize };
    let order_by = columns.into_iter().rev().take(wanted);
    let key = |column, random: &mut SeededRandom| SortKey {
        column,
        descending: random.chance(1, 2),
        nulls_first: random.chance(1, 2),
    };
    let order_by: Vec<SortKey> = order_by.map(|column| key(column, random)).collect();
    let call = |random: &mut SeededRandom| {
        let function = function(kinds, is_total, random);
        let needs_rows = match &function {
            WindowFunction::Rank | WindowFunction::DenseRank | WindowFunction::Foreign(_) => false,
            WindowFunction::Aggregate { frame, .. } => frame.mode == FrameMode::Rows,
            _ => true,
        };
        let has_fewer_keys = random.chance(1, 3) && !needs_rows;
        let key_count = if has_fewer_keys { random.below(order_by.len() as u64 + 1) as usize } else { order_by.len() };
        WindowCall { key_count, function }
    };
    let calls = (0..random.below(4)).map(|_| call(random)).collect();
    Plan::Window { input: input.into(), spec: WindowSpec { partition_by, order_by, calls }.into() }
}

/// A plan with a window, perhaps below other operators.
fn with_window(seed: u64) -> Case {
    let mut generator = Generator::new(seed);
    let depth = generator.random.below(4) as usize;
    let (input, mut kinds) = generator.plan(depth);
    let (tables, mut random) = (generator.tables, generator.random);
    let mut plan = window(input, &kinds, &mut random);
    let Plan::Window { spec, .. } = &plan else { unreachable!("it is a window") };
    kinds.extend(spec.calls.iter().map(|call| kind_of(&call.function, &kinds)).collect::<Vec<_>>());
    let column = |random: &mut SeededRandom| random.below(kinds.len() as u64) as usize;
    match random.below(4) {
        0 => {
            let expressions = (0..1 + random.below(3)).map(|_| Expression::Column(column(&mut random))).collect();
            plan = Plan::Project { input: plan.into(), expressions };
        }
        1 => {
            let key = column(&mut random);
            let spec = AggregationSpec { keys: vec![key], aggregates: Vec::new() };
            plan = Plan::Aggregate { input: plan.into(), spec: spec.into() };
        }
        2 => {
            let (probe, table) = (column(&mut random), random.below(tables.len() as u64) as usize);
            let width = tables[table].kinds.len();
            let source = Plan::Source { source: tables[table].clone(), column_count: width };
            if let Some(build) = (0..width).find(|at| tables[table].kinds[*at].is_like(kinds[probe])) {
                let (kind, null_keys) = (JoinKind::ProbeSemi, NullKeys::EqualNothing);
                let condition =
                    JoinCondition { kind, build_keys: vec![build], probe_keys: vec![probe], residual: None, null_keys };
                plan = Plan::join(source, plan, condition);
            }
        }
        _ => {}
    }
    Case { plan, tables, random }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn windows_are_what_they_are_defined_to_be() {
    let cases = cases!(300, nightly 1_000);
    let (is_replay, repeats, count) = (cases.is_replay(), cases.repeats(), cases.size_hint().0 as u64);
    let (mut compared, tally) = (0, Tally::default());
    for case in cases {
        for _ in 0..repeats {
            compared += u64::from(check(with_window(case.seed), &tally).await);
        }
    }
    let spilled = tally.spilled.get();
    println!("{compared} of {count} plans were compared, {spilled} spilled");
    assert!(is_replay || compared * 2 > count && spilled * 10 > count, "{compared} of {count}, {spilled} spilled");
}

fn ranked() -> Plan {
    let table = Table::of_integers(0, 2, &[&[Some(1), Some(7)], &[Some(1), None], &[None, Some(7)]]);
    let key = SortKey { column: 1, descending: true, nulls_first: true };
    let call = |function| WindowCall { key_count: 1, function };
    let foreign = ForeignWindowCall { function: Arc::new(Counts), arguments: vec![(1, DataType::Int64)] };
    let calls = vec![call(WindowFunction::Rank), call(WindowFunction::Foreign(foreign))];
    let spec = WindowSpec { partition_by: vec![0], order_by: vec![key], calls };
    Plan::Window { input: Plan::Source { source: table, column_count: 2 }.into(), spec: spec.into() }
}

#[test]
fn a_plan_shows_its_windows() {
    let plan = ranked();
    assert_eq!(plan.column_count(), 4);
    let mut text = String::new();
    plan.describe(0, &mut text).unwrap();
    let expected = "Window: rank(), counts(#1) partition by #0 order by #1 DESC NULLS FIRST";
    assert_eq!(text.lines().next().unwrap(), expected);
    assert!(plan.may_fail());
    assert_eq!((plan.integer_bounds(2), plan.is_null_free(2)), (None, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_among_its_windows_gives_everything_back() {
    let cases = cases!(0..300);
    let is_replay = cases.is_replay();
    let mut held = 0;
    for drawn in cases {
        let mut case = with_window(drawn.seed);
        if let Err(NoAnswer::Undefined) = case.expected() {
            continue;
        }
        let budget = FixedBudget::new(PLENTY);
        let space = spill_space(SpillSettings { block_bytes: 256, operator_bytes_max: 512, operator_bytes_min: 0 });
        let executor = Executor::new(1 + case.random.below(3) as usize, budget.clone())
            .with_tuning(Tuning::small())
            .with_spill_space(space.clone());
        let mut running = Box::pin(executor.run(&case.plan, Collected::default));
        for _ in 0..case.random.below(8) {
            let ended =
                futures::future::poll_fn(|context| std::task::Poll::Ready(running.as_mut().poll(context))).await;
            if ended.is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        held += usize::from(budget.used() > 0);
        drop(running);
        drop(executor);
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
    }
    assert!(is_replay || held > 15, "only {held} plans held memory when they were dropped");
}

/// Numbers from 0, and each modulo the number of partitions.
fn numbers(row_count: i64, partition_count: i64) -> Plan {
    let part = |first: i64| {
        let numbers = || first..first + 10_000;
        let columns = [numbers().map(|number| number % partition_count).collect(), numbers().collect()];
        Arc::new(ResultRows::new(10_000, columns.map(Vector::integers).into()))
    };
    let source = ResultSource::new((0..row_count / 10_000).map(|at| part(at * 10_000)).collect());
    Plan::Source { source: Arc::new(source), column_count: 2 }
}

/// The rows of a function over 200 000 numbers in descending order with 1 MiB of memory, and whether they went to a file.
async fn with_little_memory(partition_count: i64, function: WindowFunction) -> (Result<Vec<Row>, ExecError>, bool) {
    let order_by = vec![SortKey { column: 1, descending: true, nulls_first: true }];
    let calls = vec![WindowCall { key_count: 1, function }];
    let input = Box::new(numbers(200_000, partition_count));
    let plan = Plan::Window { input, spec: WindowSpec { partition_by: vec![0], order_by, calls }.into() };
    let settings = SpillSettings { block_bytes: 8 << 10, operator_bytes_max: 256 << 10, operator_bytes_min: 0 };
    let (space, budget) = (spill_space(settings), FixedBudget::new(ByteSize(1 << 20)));
    let executor = Executor::new(2, budget.clone()).with_spill_space(space.clone());
    let ended = executor.run(&plan, Collected::default).await;
    drop(executor);
    assert_given_back(&budget).await;
    assert_files_given_back(&space).await;
    (ended.map(|sinks| sinks.into_iter().flat_map(|sink| sink.0).collect()), space.file_count() > 0)
}

/// Long strings share buffers, and several workers have a partition each: both count against the budget once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_of_long_strings_fit_as_long_as_one_does() {
    const LENGTH: usize = 4 << 10;
    for partition_count in [5, 20, 100] {
        let part = |first: i64| {
            let numbers = || first..first + 20;
            let text = |number| format!("{:06}{}", 2000 - number, "x".repeat(LENGTH - 6)).into_bytes();
            let texts: Vec<Vec<u8>> = numbers().map(text).collect();
            let texts = ByteStrings::from_strings(texts.iter().map(Vec::as_slice));
            let partitions = Vector::integers(numbers().map(|number| number % partition_count).collect());
            Arc::new(ResultRows::new(20, vec![partitions, Vector::new(Values::Bytes(texts), None)]))
        };
        let source = Arc::new(ResultSource::new((0..100).map(|at| part(at * 20)).collect()));
        let order_by = vec![SortKey { column: 1, descending: false, nulls_first: false }];
        let frame =
            WindowFrame { mode: FrameMode::Rows, start: FrameBound::UnboundedPreceding, end: FrameBound::CurrentRow };
        let function = WindowFunction::ValueInFrame { argument: 1, place: FramePlace::First, frame };
        let calls = vec![WindowCall { key_count: 1, function }];
        let input = Box::new(Plan::Source { source, column_count: 2 });
        let plan = Plan::Window { input, spec: WindowSpec { partition_by: vec![0], order_by, calls }.into() };
        // The longest partitions have 1.6 MB, all rows 8 MB.
        let settings = SpillSettings { block_bytes: 8 << 10, operator_bytes_max: 512 << 10, operator_bytes_min: 0 };
        let (space, budget) = (spill_space(settings), FixedBudget::new(ByteSize(3 << 20)));
        let executor = Executor::new(2, budget.clone()).with_spill_space(space.clone());
        let rows: Vec<Row> =
            executor.run(&plan, Collected::default).await.unwrap().into_iter().flat_map(|sink| sink.0).collect();
        assert_eq!(rows.len(), 2000);
        for row in rows {
            let Some(Scalar::Int(partition)) = row[0] else { panic!("{row:?}") };
            let Some(Scalar::Bytes(first)) = &row[2] else { panic!("{row:?}") };
            assert_eq!(
                first[..6],
                *format!("{:06}", partition_count - partition).as_bytes(),
                "the first of partition {partition}"
            );
        }
        drop(executor);
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_beyond_the_memory_of_the_query_spill() {
    let frame = WindowFrame {
        mode: FrameMode::Rows,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::UnboundedFollowing,
    };
    let (function, argument, filter) = (FrameAggregate::Maximum, Some(1), None);
    let (rows, has_spilled) =
        with_little_memory(1000, WindowFunction::Aggregate { function, argument, filter, frame }).await;
    let rows = rows.unwrap();
    assert!(has_spilled && rows.len() == 200_000, "{} rows", rows.len());
    for row in rows {
        let Some(Scalar::Int(partition)) = row[0] else { panic!("{row:?}") };
        assert_eq!(row[2], Some(Scalar::Int(199_000 + partition)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_beyond_the_memory_is_an_error_unless_rows_stream() {
    let (rows, has_spilled) = with_little_memory(1, WindowFunction::RowNumber).await;
    let rows = rows.unwrap();
    assert!(has_spilled && rows.len() == 200_000, "{} rows", rows.len());
    for row in rows {
        let (Some(Scalar::Int(number)), Some(Scalar::Int(place))) = (&row[1], &row[2]) else { panic!("{row:?}") };
        assert_eq!(number + place, 200_000);
    }
    let foreign = ForeignWindowCall { function: Arc::new(Counts), arguments: vec![(1, DataType::Int64)] };
    match with_little_memory(1, WindowFunction::Foreign(foreign)).await.0 {
        Err(ExecError::Memory(exceeded)) => assert_eq!(exceeded.operator, "window"),
        ended => panic!("a partition of 3.2 MB fits in 1 MiB: {:?}", ended.map(|rows| rows.len())),
    }
}
