//! Functions that return rows, below and above random plans; a row with very many rows.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Int64Type};
use futures::future::BoxFuture;

use super::*;
use crate::plan::{AggregateCall, AggregateFunction};
use crate::runtime::set_functions::{ForeignSetFunction, SetFunctionCall, SetFunctionError, SetFunctionRows, SetPiece};
use crate::scan::single_row::SingleRow;

/// The number from which the function of these tests fails.
const REFUSED: i64 = 1 << 40;

/// The numbers from 1 to its argument, in pieces of a few rows.
#[derive(Debug)]
struct Numbers {
    piece_rows: usize,
}

struct NumbersOfRows {
    lasts: Vec<i64>,
    piece_rows: usize,
    row: usize,
    next: i64,
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers")
    }
}

impl ForeignSetFunction for Numbers {
    fn start(
        &self,
        arguments: Vec<ArrayRef>,
        row_count: usize,
        _: &Arc<dyn MemoryBudget>,
    ) -> Result<Box<dyn SetFunctionRows>, SetFunctionError> {
        let lasts: Vec<i64> =
            arguments[0].as_primitive::<Int64Type>().iter().map(|last| last.unwrap_or_default()).collect();
        assert_eq!(lasts.len(), row_count);
        Ok(Box::new(NumbersOfRows { lasts, piece_rows: self.piece_rows, row: 0, next: 1 }))
    }
}

impl SetFunctionRows for NumbersOfRows {
    fn next_piece(&mut self, rows_max: usize) -> Result<Option<SetPiece>, SetFunctionError> {
        let (mut input_rows, mut numbers) = (Vec::new(), Vec::new());
        while self.row < self.lasts.len() && numbers.len() < rows_max.min(self.piece_rows) {
            if self.lasts[self.row] >= REFUSED {
                return Err(Box::new(ExecError::DivisionByZero));
            }
            if self.next > self.lasts[self.row] {
                (self.row, self.next) = (self.row + 1, 1);
                continue;
            }
            input_rows.push(self.row as u32);
            numbers.push(self.next);
            self.next += 1;
        }
        let columns = vec![Arc::new(Int64Array::from(numbers)) as ArrayRef];
        Ok((!input_rows.is_empty()).then_some(SetPiece { input_rows, columns }))
    }
}

pub fn numbers(input: Plan, argument: usize, piece_rows: usize) -> Plan {
    let function = Arc::new(Numbers { piece_rows });
    let call = SetFunctionCall { function, arguments: vec![(argument, DataType::Int64)], column_count: 1 };
    Plan::ProjectSet { input: input.into(), call: Arc::new(call) }
}

/// The definition of the rows.
pub fn rows_of(call: &SetFunctionCall, rows: &[Row]) -> Vec<Row> {
    let last = |row: &Row| match row[call.arguments[0].0] {
        Some(Scalar::Int(last)) => last,
        _ => 0,
    };
    let of_row = |row: &Row| {
        let row = row.clone();
        (1..=last(&row)).map(move |number| [&row[..], &[Some(Scalar::Int(number))]].concat()).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of_row).collect()
}

fn integer(value: i64) -> Expression {
    Expression::Constant(Some(Scalar::Int(value)))
}

/// The plan's rows, each a number of times that depends on nulls in it, perhaps grouped.
fn repeated(case: &mut Case) -> Plan {
    let width = case.plan.column_count();
    let random = &mut case.random;
    let mut branch = || {
        let column = random.below(width as u64) as usize;
        (Expression::IsNull(Expression::Column(column).into()), integer(random.below(4) as i64))
    };
    let branches = vec![branch(), branch()];
    let otherwise = Some(Box::new(integer(random.below(5) as i64)));
    let mut expressions: Vec<Expression> = (0..width).map(Expression::Column).collect();
    expressions.push(Expression::Case { branches, otherwise });
    let input = Plan::Project { input: case.plan.clone().into(), expressions };
    let mut plan = numbers(input, width, 1 + random.below(9) as usize);
    if random.chance(1, 3) {
        plan = numbers(plan, width + 1, 1 + random.below(2000) as usize);
    }
    if random.chance(1, 2) {
        return plan;
    }
    let call = |function, argument| AggregateCall { function, argument, distinct: false, filter: None };
    let counted = random.below(plan.column_count() as u64) as usize;
    let aggregates = vec![call(AggregateFunction::CountRows, None), call(AggregateFunction::Count, Some(counted))];
    let keys = vec![random.below(plan.column_count() as u64) as usize];
    Plan::Aggregate { input: plan.into(), spec: AggregationSpec { keys, aggregates }.into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_row_comes_once_for_every_row_of_its_function() {
    let cases = cases!(0..500);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0 as u64);
    let (mut compared, tally) = (0, Tally::default());
    for drawn in cases {
        let mut case = Case::new(drawn.seed);
        case.plan = repeated(&mut case);
        compared += u64::from(check(case, &tally).await);
    }
    assert!(is_replay || compared * 2 > count, "only {compared} of {count} plans have one answer");
}

/// One row, whose function returns this many rows.
fn one_row(last: i64, piece_rows: usize) -> Plan {
    let row = Plan::Source { source: Arc::new(SingleRow), column_count: 0 };
    numbers(Plan::Project { input: row.into(), expressions: vec![integer(last)] }, 0, piece_rows)
}

fn counted(input: Plan) -> Plan {
    let call = AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
    Plan::Aggregate { input: input.into(), spec: AggregationSpec { keys: Vec::new(), aggregates: vec![call] }.into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_with_very_many_rows_takes_the_memory_of_a_batch() {
    let budget = FixedBudget::new(ByteSize(1 << 16));
    let found = run(&counted(one_row(3_000_000, 1024)), 2, &budget).await.unwrap();
    assert_eq!(found, [[Some(Scalar::Int(3_000_000))]]);
    let limited = Plan::Limit { input: one_row(REFUSED - 1, 1024).into(), offset: 1500, limit: Some(1000) };
    let found = run(&limited, 2, &budget).await.unwrap();
    assert_eq!(found.len(), 1000);
    assert_eq!((found[0][1].clone(), found[999][1].clone()), (Some(Scalar::Int(1501)), Some(Scalar::Int(2500))));
    // Rows above rows.
    let twice = numbers(one_row(REFUSED - 1, 1024), 0, 1024);
    let limited = Plan::Limit { input: twice.into(), offset: 0, limit: Some(10) };
    assert_eq!(run(&limited, 1, &budget).await.unwrap().len(), 10);
    assert_given_back(&budget).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_that_fails_fails_the_query() {
    let table = Table::of_integers(0, 1, &[&[Some(3)], &[Some(0)], &[Some(REFUSED)], &[Some(2)]]);
    let plan = numbers(Plan::Source { source: table, column_count: 1 }, 0, 2);
    let budget = FixedBudget::new(PLENTY);
    assert!(matches!(run(&plan, 2, &budget).await, Err(ExecError::DivisionByZero)));
    assert!(plan.may_fail());
    assert_given_back(&budget).await;
}

/// A sink that must be waited for after each of its batches.
#[derive(Default)]
struct Slow {
    batches_at_once: u64,
    batches_at_once_max: Arc<AtomicU64>,
}

impl Sink for Slow {
    fn consume(&mut self, _: Batch) -> Result<(), Stop> {
        self.batches_at_once += 1;
        self.batches_at_once_max.fetch_max(self.batches_at_once, Relaxed);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.batches_at_once == 0
    }

    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        self.batches_at_once = 0;
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(())
        })
    }
}

#[tokio::test]
async fn the_worker_waits_for_its_sink_between_the_rows_of_a_row() {
    let executor = Executor::new(1, FixedBudget::new(PLENTY));
    let max = Arc::new(AtomicU64::new(0));
    let sink = || Slow { batches_at_once_max: max.clone(), ..Slow::default() };
    executor.run(&one_row(100_000, 1024), sink).await.unwrap();
    assert_eq!(max.load(Relaxed), 1, "batches between two waits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn very_many_rows_stop_when_the_query_is_cancelled() {
    for plan in [counted(one_row(REFUSED - 1, 1024)), counted(numbers(one_row(REFUSED - 1, 1024), 0, 1024))] {
        let budget = FixedBudget::new(PLENTY);
        let executor = Executor::new(2, budget.clone());
        let cancelled = executor.cancellation();
        let (stopped, ()) =
            tokio::join!(tokio::time::timeout(PATIENCE, executor.run(&plan, Collected::default)), async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                cancelled.raise();
            });
        assert!(matches!(stopped.expect("it stops"), Err(ExecError::Cancelled)));
        drop(executor);
        assert_given_back(&budget).await;
    }
}

#[test]
fn a_plan_shows_its_functions() {
    let mut text = String::new();
    let plan = one_row(3, 1);
    plan.describe(0, &mut text).unwrap();
    assert_eq!((text.lines().next().unwrap(), plan.column_count()), ("ProjectSet: numbers(#0)", 2));
}
