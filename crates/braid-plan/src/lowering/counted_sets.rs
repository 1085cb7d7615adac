//! INTERSECT ALL and EXCEPT ALL: equal rows of both sides are counted, and each comes as often as the counts say.
//!
//! A row that is there l times on the left side and r times on the right one comes min(l, r) or max(l − r, 0) times. Of rows that are equal
//! and look different, such as 1.0 and 1.00, the first one of the left side is shown, as often as there are rows.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Int64Type};
use braid_exec::expression::{Arithmetic, Comparison, NumberRange};
use braid_exec::plan::{AggregateCall, AggregateFunction, Plan};
use braid_exec::runtime::set_functions::{
    ForeignSetFunction, SetFunctionCall, SetFunctionError, SetFunctionRows, SetPiece,
};
use braid_exec::{Expression as Lowered, MemoryBudget};
use braid_sql::SqlError;
use braid_sql::relation::{ColumnId, Rows, SetOperator};
use braid_storage::Scalar;

use super::query::Lowering;
use super::relations::Input;

impl Lowering<'_> {
    /// The rows of both sides that are kept, as often as they are.
    pub(super) fn counted_set_operation(
        &self,
        operator: SetOperator,
        left: &Rows,
        right: &Rows,
        columns: &[ColumnId],
    ) -> Result<Input, SqlError> {
        let width = columns.len();
        let plans = self.collected(|| self.united(&[left, right], columns))?;
        let mark = |is_there: bool| Lowered::Constant(is_there.then_some(Scalar::Bool(true)));
        let sides = plans.into_iter().zip([true, false]).map(|(plan, is_left)| {
            let expressions = (0..width).map(Lowered::Column).chain([mark(is_left), mark(!is_left)]).collect();
            Plan::Project { input: Box::new(plan), expressions }
        });
        let both = Input { plan: Plan::Union(sides.collect()), columns: columns.to_vec() };
        let (plan, values) = self.grouped_by(both, columns, |groups| {
            let mut count = |column| {
                let argument = Some(groups.expression(Lowered::Column(column)));
                AggregateCall { function: AggregateFunction::Count, argument, distinct: false, filter: None }
            };
            Ok(vec![count(width), count(width + 1)])
        })?;
        let of_calls = plan.column_count();
        let [of_left, of_right] = [of_calls - 2, of_calls - 1].map(Lowered::Column);
        let expressions = values.into_iter().chain([times(operator, of_left, of_right)]).collect();
        let counted = Plan::Project { input: Box::new(plan), expressions };
        let call = SetFunctionCall {
            function: Arc::new(Repetition),
            arguments: vec![(width, DataType::Int64)],
            column_count: 0,
        };
        let repeated = Plan::ProjectSet { input: Box::new(counted), call: Arc::new(call) };
        Ok(Input { plan: repeated, columns: columns.to_vec() }.with_columns(Vec::new()))
    }
}

/// How often a row comes that is there so often on both sides.
fn times(operator: SetOperator, left: Lowered, right: Lowered) -> Lowered {
    let is_less =
        Lowered::Compare { comparison: Comparison::Less, left: Box::new(left.clone()), right: Box::new(right.clone()) };
    let (if_less, otherwise) = match operator {
        SetOperator::Intersect => (left, right),
        SetOperator::Except => {
            let difference = Lowered::Arithmetic {
                operation: Arithmetic::Subtract,
                left: Box::new(left),
                right: Box::new(right),
                range: NumberRange::Int64,
            };
            (Lowered::Constant(Some(Scalar::Int(0))), difference)
        }
    };
    Lowered::Case { branches: vec![(is_less, if_less)], otherwise: Some(Box::new(otherwise)) }
}

/// Rows as often as a number says, without columns of their own.
#[derive(Debug)]
struct Repetition;

/// Rows that are being repeated.
struct Repeated {
    times: Vec<i64>,
    row: usize,
}

impl fmt::Display for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("repeat")
    }
}

impl ForeignSetFunction for Repetition {
    fn start(
        &self,
        arguments: Vec<ArrayRef>,
        _: usize,
        _: &Arc<dyn MemoryBudget>,
    ) -> Result<Box<dyn SetFunctionRows>, SetFunctionError> {
        let times = arguments[0].as_primitive::<Int64Type>().iter().map(Option::unwrap_or_default).collect();
        Ok(Box::new(Repeated { times, row: 0 }))
    }
}

impl SetFunctionRows for Repeated {
    fn next_piece(&mut self, rows_max: usize) -> Result<Option<SetPiece>, SetFunctionError> {
        let mut input_rows = Vec::new();
        while input_rows.len() < rows_max && self.row < self.times.len() {
            if self.times[self.row] <= 0 {
                self.row += 1;
                continue;
            }
            self.times[self.row] -= 1;
            input_rows.push(u32::try_from(self.row)?);
        }
        Ok((!input_rows.is_empty()).then_some(SetPiece { input_rows, columns: Vec::new() }))
    }
}
