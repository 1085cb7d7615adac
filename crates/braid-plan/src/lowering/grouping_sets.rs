//! Several grouping sets: rows are expanded, once for each set, and grouped by the set's number and its keys.
//!
//! A group of the empty set is there without rows, too. Such a set therefore has one more row, which makes its group and which no aggregate
//! counts ([`AddedRows`]).

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Int64Type};
use braid_exec::Expression as Lowered;
use braid_exec::expression::ForeignExpression;
use braid_exec::plan::Plan;
use braid_exec::scan::single_row::SingleRow;
use braid_sql::relation::{AggregateCall, Aggregation, ColumnId};
use braid_sql::{Expression, SqlError};
use braid_storage::Scalar;

use super::query::Lowering;
use super::relations::{Input, unsupported};

/// The rows of grouping sets.
pub(super) struct ExpandedRows {
    /// The input's columns, and those of the keys. The number of the set comes last, and is none of the columns.
    pub input: Input,
    /// The keys as columns of the input.
    pub keys: Vec<Expression>,
    pub added: AddedRows,
}

/// Rows that make groups which no row of the input makes.
#[derive(Default)]
pub(super) struct AddedRows {
    /// The numbers of the empty sets.
    numbers: Vec<i64>,
}

impl Lowering<'_> {
    /// The rows of an aggregation's input, once for each grouping set.
    pub(super) fn expanded(&self, aggregation: &Aggregation, input: Input) -> Result<ExpandedRows, SqlError> {
        let keys = aggregation.keys.iter().map(|(column, key)| Ok((*column, self.made(*column, key, &input.columns)?)));
        let keys = keys.collect::<Result<Vec<_>, SqlError>>()?;
        let first_key = input.columns.len();
        let Input { plan, columns } = input.with_columns(keys);
        let list = |set: &Vec<usize>| {
            let is_kept = |at: usize| at.checked_sub(first_key).is_none_or(|key| set.contains(&key));
            (0..columns.len()).map(|at| is_kept(at).then_some(at)).collect()
        };
        let plan = Plan::Expand { input: Box::new(plan), lists: aggregation.sets.iter().map(list).collect() };
        let empty = aggregation.sets.iter().zip(0..).filter(|(set, _)| set.is_empty());
        Ok(ExpandedRows {
            input: Input { plan, columns },
            keys: aggregation.keys.iter().map(|(column, _)| self.column_expression(*column)).collect(),
            added: AddedRows { numbers: empty.map(|(_, number)| number).collect() },
        })
    }
}

impl ExpandedRows {
    /// The number of each row's set.
    pub fn number(&self) -> Lowered {
        Lowered::Column(self.input.columns.len())
    }
}

impl AddedRows {
    /// The plan with these rows, if there are any, and the position of a boolean that is false for them. `number` is the position of
    /// the sets' numbers. All other columns are null.
    pub fn in_plan(&self, plan: Plan, number: usize) -> (Plan, Option<usize>) {
        if self.numbers.is_empty() {
            return (plan, None);
        }
        let width = plan.column_count();
        let constant = |value| Lowered::Constant(Some(value));
        let own = (0..width).map(Lowered::Column).chain([constant(Scalar::Bool(true))]);
        let rows = Plan::Project { input: Box::new(plan), expressions: own.collect() };
        let added = self.numbers.iter().map(|set| {
            let column = |at| if at == number { constant(Scalar::Int(*set)) } else { Lowered::Constant(None) };
            let row = Plan::Source { source: Arc::new(SingleRow), column_count: 0 };
            let expressions = (0..width).map(column).chain([constant(Scalar::Bool(false))]).collect();
            Plan::Project { input: Box::new(row), expressions }
        });
        (Plan::Union([rows].into_iter().chain(added).collect()), Some(width))
    }
}

/// Refuses arguments that might have another value for each set.
///
/// # Errors
/// As unsupported (0A000) volatile arguments.
pub(super) fn check_is_stable(aggregation: &Aggregation) -> Result<(), SqlError> {
    match aggregation.aggregates.iter().any(|(_, call)| reads_volatile(call)) {
        true => Err(unsupported("volatile arguments of aggregates over several grouping sets")),
        false => Ok(()),
    }
}

fn reads_volatile(call: &AggregateCall) -> bool {
    let keys = call.order_by.iter().map(|key| &key.expression);
    call.arguments.iter().chain(keys).chain(&call.filter).any(Expression::is_volatile)
}

/// `GROUPING(…)` of these keys, of the number of a row's set.
pub(super) fn grouping(aggregation: &Aggregation, keys: &[usize], number: usize) -> Lowered {
    let function = Arc::new(GroupingBits(aggregation.sets.iter().map(|set| lacking_bits(keys, set)).collect()));
    Lowered::Foreign { function, arguments: vec![(Lowered::Column(number), DataType::Int64)] }
}

/// A bit for each of these keys that a set lacks, the last one's lowest.
pub(super) fn lacking_bits(keys: &[usize], set: &[usize]) -> i64 {
    keys.iter().fold(0, |bits, key| bits * 2 + i64::from(!set.contains(key)))
}

/// A bit for each key that a set lacks, by the numbers of the sets.
#[derive(Debug)]
struct GroupingBits(Vec<i64>);

impl ForeignExpression for GroupingBits {
    fn evaluate(&self, arguments: &[ArrayRef], _: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let numbers = arguments[0].as_primitive::<Int64Type>().iter();
        let bits = numbers.map(|number| number.and_then(|number| self.0.get(usize::try_from(number).ok()?)).copied());
        Ok(Arc::new(bits.collect::<Int64Array>()))
    }
}

impl fmt::Display for GroupingBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("grouping")
    }
}

/// The columns that an aggregation makes.
pub(super) fn made_columns(aggregation: &Aggregation) -> Vec<ColumnId> {
    let keys = aggregation.keys.iter().map(|(column, _)| *column);
    let results = aggregation.aggregates.iter().map(|(column, _)| *column);
    keys.chain(results).chain(aggregation.groupings.iter().map(|(column, _)| *column)).collect()
}
