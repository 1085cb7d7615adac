//! Window functions: keys that vectors compare, arguments as columns, and the functions of braid-sql as foreign calls of the operator.
//!
//! | module | contents |
//! |---|---|
//! | `frame` | a frame clause with the values of its offsets |
//! | `window_call` | a function of braid-sql, or an aggregate, over whole partitions |

mod frame;
mod window_call;

use std::sync::Arc;

use braid_exec::Expression as Lowered;
use braid_exec::plan::{
    ForeignWindowCall, Plan, SortKey as LoweredKey, WindowCall as LoweredCall, WindowFunction, WindowSpec,
};
use braid_sql::pg_catalog::{FunctionKind, pg_catalog};
use braid_sql::relation::{AggregateCall, ColumnId, WindowCall, Windowing};
use braid_sql::window_functions::FrameSpecification;
use braid_sql::{Expression, SqlError};

use super::filtered_arguments::with_filtered_arguments;
use super::query::Lowering;
use super::relations::Input;
use crate::values::Form;
use window_call::{Compute, FunctionOverWindow, Ordering};

/// What is put together of windows over one input.
struct Windows<'a> {
    columns: &'a [ColumnId],
    /// Expressions over the input, one for each position that keys and calls refer to.
    expressions: Vec<Lowered>,
    calls: Vec<LoweredCall>,
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
}

impl Lowering<'_> {
    /// Window functions over one window.
    pub(super) fn window(&self, windowing: &Windowing) -> Result<Input, SqlError> {
        let frame = self.frame(windowing)?;
        frame.check_offsets()?;
        let input = self.collected(|| self.relation(&windowing.input))?;
        let columns = input.columns.clone();
        let mut windows = Windows { columns: &columns, expressions: Vec::new(), calls: Vec::new() };
        let mut partition_by = Vec::with_capacity(windowing.partition_by.len());
        for key in &windowing.partition_by {
            partition_by.push(windows.expression(self.comparable(key, &columns)?));
        }
        let mut order_by = Vec::with_capacity(windowing.order_by.len());
        for key in &windowing.order_by {
            let column = windows.expression(self.comparable(&key.expression, &columns)?);
            order_by.push(LoweredKey { column, descending: key.is_descending, nulls_first: key.nulls_first });
        }
        for (_, call) in &windowing.calls {
            let function = self.window_function(call, windowing, &frame, &mut windows)?;
            windows.calls.push(LoweredCall { key_count: order_by.len(), function });
        }
        let Windows { expressions, calls, .. } = windows;
        let (plan, positions) = input.with_positions(expressions);
        let spec = WindowSpec { partition_by, order_by, calls }.moved(|at| positions[at]);
        let width = plan.column_count();
        let plan = Plan::Window { input: Box::new(plan), spec: Arc::new(spec) };
        let results = windowing.calls.iter().enumerate();
        let results = results.map(|(at, (column, _))| (*column, Lowered::Column(width + at))).collect();
        Ok(Input { plan, columns }.with_columns(results))
    }

    fn window_function(
        &self,
        call: &WindowCall,
        windowing: &Windowing,
        frame: &FrameSpecification,
        windows: &mut Windows<'_>,
    ) -> Result<WindowFunction, SqlError> {
        let entry = pg_catalog().function(call.function);
        match entry.name {
            "row_number" => return Ok(WindowFunction::RowNumber),
            "rank" if entry.kind == FunctionKind::Window => return Ok(WindowFunction::Rank),
            "dense_rank" if entry.kind == FunctionKind::Window => return Ok(WindowFunction::DenseRank),
            _ => {}
        }
        self.foreign_window_call(call, windowing, frame, windows).map(WindowFunction::Foreign)
    }

    /// A call of a function of braid-sql.
    fn foreign_window_call(
        &self,
        call: &WindowCall,
        windowing: &Windowing,
        frame: &FrameSpecification,
        windows: &mut Windows<'_>,
    ) -> Result<ForeignWindowCall, SqlError> {
        let compute = Compute::of(pg_catalog().function(call.function))?;
        let guarded = as_aggregate(call);
        let guarded = with_filtered_arguments(&guarded)?;
        let ordering = match (compute.uses_frame() && frame.has_distance(), &windowing.order_by[..]) {
            (true, [key]) => Some(Ordering::of(key)?),
            _ => None,
        };
        let of_order = windowing.order_by.iter().filter(|_| ordering.is_some()).map(|key| &key.expression);
        let read = guarded.arguments.iter().chain(&guarded.filter).chain(of_order);
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
