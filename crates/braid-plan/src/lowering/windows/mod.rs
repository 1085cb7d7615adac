//! Window functions: keys that vectors compare, arguments as columns, and the functions of braid-sql as foreign calls of the operator.
//!
//! | module | contents |
//! |---|---|
//! | `frame` | a frame clause with the values of its offsets |
//! | `native_calls` | functions that the operator computes itself |
//! | `shared_sorts` | windows over one sort |
//! | `window_call` | a function of braid-sql, or an aggregate, over whole partitions |

mod frame;
mod native_calls;
mod shared_sorts;
mod window_call;

use std::sync::Arc;

use braid_exec::Expression as Lowered;
use braid_exec::plan::{
    ForeignWindowCall, Plan, SortKey as LoweredKey, WindowCall as LoweredCall, WindowFunction, WindowSpec,
};
use braid_sql::pg_catalog::pg_catalog;
use braid_sql::relation::{AggregateCall, ColumnId, WindowCall, Windowing};
use braid_sql::{Expression, SqlError};

use super::filtered_arguments::with_filtered_arguments;
use super::groups::NativeCalls;
use super::query::Lowering;
use super::relations::Input;
use crate::values::Form;
use frame::LoweredFrame;
use shared_sorts::{SortedWindows, sorted_windows};
use window_call::{Compute, FunctionOverWindow, Ordering};

/// What is put together of windows over one input.
struct Windows<'a> {
    columns: &'a [ColumnId],
    /// Expressions over the input, one for each position that keys and calls refer to.
    expressions: Vec<Lowered>,
    calls: Vec<LoweredCall>,
    /// The columns made.
    results: Vec<(ColumnId, Made)>,
}

/// What makes a column of the results of calls.
enum Made {
    /// The result of this call.
    Call(usize),
    /// An aggregate by calls from this one on.
    Native(usize, NativeCalls),
}

/// A window whose calls are lowered.
struct Window<'a> {
    windowing: &'a Windowing,
    frame: LoweredFrame<'a>,
    key_count: usize,
}

impl Windows<'_> {
    /// The number of an expression. A column is there once.
    fn expression(&mut self, expression: Lowered) -> usize {
        let is_known = |other: &Lowered| other.as_column().is_some() && other.as_column() == expression.as_column();
        let known = self.expressions.iter().position(is_known);
        known.unwrap_or_else(|| {
            self.expressions.push(expression);
            self.expressions.len() - 1
        })
    }

    /// The number of a call.
    fn call(&mut self, key_count: usize, function: WindowFunction) -> usize {
        self.calls.push(LoweredCall { key_count, function });
        self.calls.len() - 1
    }
}

impl Made {
    /// The column over the results of calls, which begin at this position.
    fn expression(self, first: usize) -> Lowered {
        match self {
            Self::Call(call) => Lowered::Column(first + call),
            Self::Native(call, native) => native.result(first + call),
        }
    }
}

impl Lowering<'_> {
    /// Window functions, and those directly below.
    pub(super) fn window(&self, windowing: &Windowing) -> Result<Input, SqlError> {
        let (input, windows) = sorted_windows(windowing);
        let input = self.collected(|| self.relation(input))?;
        windows.iter().try_fold(input, |input, sorted| self.windows_over_sort(input, sorted))
    }

    /// Window functions over rows that are sorted once.
    fn windows_over_sort(&self, input: Input, sorted: &SortedWindows<'_>) -> Result<Input, SqlError> {
        let columns = input.columns.clone();
        let (expressions, calls, results) = (Vec::new(), Vec::new(), Vec::new());
        let mut windows = Windows { columns: &columns, expressions, calls, results };
        let mut partition_by = Vec::with_capacity(sorted.partition_by.len());
        for key in sorted.partition_by {
            partition_by.push(windows.expression(self.comparable(key, &columns)?));
        }
        let mut order_by = Vec::with_capacity(sorted.order_by.len());
        for key in sorted.order_by {
            let column = windows.expression(self.comparable(&key.expression, &columns)?);
            order_by.push(LoweredKey { column, descending: key.is_descending, nulls_first: key.nulls_first });
        }
        for windowing in &sorted.windowings {
            let frame = self.frame(windowing)?;
            let window = Window { windowing, frame, key_count: windowing.order_by.len() };
            for (column, call) in &windowing.calls {
                self.window_call(*column, call, &window, &mut windows)?;
            }
        }
        let Windows { expressions, calls, results, .. } = windows;
        let (plan, positions) = input.with_positions(expressions);
        let spec = WindowSpec { partition_by, order_by, calls }.moved(|at| positions[at]);
        let width = plan.column_count();
        let plan = Plan::Window { input: Box::new(plan), spec: Arc::new(spec) };
        let results = results.into_iter().map(|(column, made)| (column, made.expression(width))).collect();
        Ok(Input { plan, columns }.with_columns(results))
    }

    /// Adds a call, and the column that it makes.
    fn window_call(
        &self,
        column: ColumnId,
        call: &WindowCall,
        window: &Window<'_>,
        windows: &mut Windows<'_>,
    ) -> Result<(), SqlError> {
        let made = match self.native_window_call(column, call, window, windows)? {
            Some(made) => made,
            None => {
                let foreign = self.foreign_window_call(call, window, windows)?;
                Made::Call(windows.call(window.key_count, WindowFunction::Foreign(foreign)))
            }
        };
        windows.results.push((column, made));
        Ok(())
    }

    /// A call of a function of braid-sql.
    fn foreign_window_call(
        &self,
        call: &WindowCall,
        Window { windowing, frame, .. }: &Window<'_>,
        windows: &mut Windows<'_>,
    ) -> Result<ForeignWindowCall, SqlError> {
        let compute = Compute::of(pg_catalog().function(call.function))?;
        let guarded = as_aggregate(call);
        let guarded = with_filtered_arguments(&guarded)?;
        let LoweredFrame { frame, computed } = frame;
        let ordering = match (compute.uses_frame() && frame.has_distance(), &windowing.order_by[..]) {
            (true, [key]) => Some(Ordering::of(key)?),
            _ => None,
        };
        let of_order = windowing.order_by.iter().filter(|_| ordering.is_some()).map(|key| &key.expression);
        let offsets = computed.iter().filter(|_| compute.uses_frame());
        let of_frame = offsets.clone().map(|(_, offset)| *offset);
        let read = guarded.arguments.iter().chain(&guarded.filter).chain(of_order).chain(of_frame);
        let mut arguments = Vec::new();
        for argument in read {
            let at = windows.expression(self.expression(argument, windows.columns)?);
            arguments.push((at, Form::of(argument.sql_type.id).data_type()));
        }
        let function = FunctionOverWindow {
            name: pg_catalog().function(call.function).name,
            compute,
            argument_types: call.argument_types.clone(),
            ids: call.arguments.iter().map(|argument| argument.sql_type.id).collect(),
            result: call.sql_type,
            has_filter: call.filter.is_some(),
            ordering,
            frame: frame.clone(),
            computed_offsets: offsets.map(|(offset, _)| *offset).collect(),
            session: self.session.clone(),
        };
        Ok(ForeignWindowCall { function: Arc::new(function), arguments })
    }
}

/// The call as one of an aggregate, without regard to its window.
fn as_aggregate(call: &WindowCall) -> AggregateCall {
    AggregateCall {
        function: call.function,
        arguments: call.arguments.clone(),
        argument_types: call.argument_types.clone(),
        sql_type: call.sql_type,
        is_distinct: false,
        order_by: Vec::new(),
        is_within_group: false,
        filter: call.filter.clone(),
    }
}

/// A key's order, as braid-sql compares by it.
fn sort_key(key: &braid_sql::relation::SortKey) -> Result<braid_sql::functions::ordering::SortKey, SqlError> {
    use braid_sql::functions::ordering::{Direction, Nulls, SortKey};
    let direction = if key.is_descending { Direction::Descending } else { Direction::Ascending };
    let nulls = if key.nulls_first { Nulls::First } else { Nulls::Last };
    SortKey::of(key.expression.sql_type.id, direction, Some(nulls))
}

/// The type of an expression.
fn type_of(expression: &Expression) -> braid_sql::pg_catalog::TypeId {
    expression.sql_type.id
}
