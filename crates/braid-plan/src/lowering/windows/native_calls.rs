//! Window functions that the operator computes itself: ranks, values of other rows, and the aggregates that it has states for, over frames
//! that count rows or groups of peers and leave nothing out.

use braid_exec::plan::{
    AggregateFunction, FrameAggregate, FrameBound as LoweredBound, FrameMode as LoweredMode, FramePlace,
    WindowFrame as LoweredFrame, WindowFunction,
};
use braid_sql::expression::Node;
use braid_sql::pg_catalog::{FunctionKind, TypeId, pg_catalog};
use braid_sql::relation::{ColumnId, WindowCall};
use braid_sql::window_functions::{Exclusion, FrameBound, FrameMode, FrameOffset, FrameSpecification};
use braid_sql::{Expression, SqlError, Value};

use super::{Made, Window, Windows, as_aggregate};
use crate::lowering::query::Lowering;

impl Lowering<'_> {
    /// A call that the operator computes itself; `None` for others.
    pub(super) fn native_window_call(
        &self,
        column: ColumnId,
        call: &WindowCall,
        window: &Window<'_>,
        windows: &mut Windows<'_>,
    ) -> Result<Option<Made>, SqlError> {
        let entry = pg_catalog().function(call.function);
        let frame = lowered_frame(&window.frame.frame).filter(|_| window.frame.computed.is_empty());
        if entry.kind == FunctionKind::Aggregate {
            return match frame {
                Some(frame) => self.native_aggregate(column, call, (window, frame), windows),
                None => Ok(None),
            };
        }
        let value = |function: &dyn Fn(usize) -> WindowFunction, windows: &mut Windows<'_>| {
            let argument = self.made(column, &call.arguments[0], windows.columns)?;
            let function = function(windows.expression(argument));
            Ok(Some(Made::Call(windows.call(window.key_count, function))))
        };
        let in_frame = |place: FramePlace, windows: &mut Windows<'_>| match frame {
            Some(frame) => value(&|argument| WindowFunction::ValueInFrame { argument, place, frame }, windows),
            None => Ok(None),
        };
        let plain = |function: WindowFunction, windows: &mut Windows<'_>| {
            Ok(Some(Made::Call(windows.call(window.key_count, function))))
        };
        match (entry.name, distance_of(call), &call.arguments[..]) {
            ("row_number", ..) => plain(WindowFunction::RowNumber, windows),
            ("rank", ..) => plain(WindowFunction::Rank, windows),
            ("dense_rank", ..) => plain(WindowFunction::DenseRank, windows),
            ("first_value", ..) => in_frame(FramePlace::First, windows),
            ("last_value", ..) => in_frame(FramePlace::Last, windows),
            ("nth_value", _, [_, number]) => match integer(number) {
                Some(number @ 1..) => in_frame(FramePlace::Nth(u64::from(number.unsigned_abs()) - 1), windows),
                _ => Ok(None),
            },
            ("lag" | "lead", Some(distance), _) => {
                value(&|argument| WindowFunction::ValueAtDistance { argument, distance }, windows)
            }
            _ => Ok(None),
        }
    }

    /// An aggregate that the operator has states for.
    fn native_aggregate(
        &self,
        column: ColumnId,
        call: &WindowCall,
        (window, frame): (&Window<'_>, LoweredFrame),
        windows: &mut Windows<'_>,
    ) -> Result<Option<Made>, SqlError> {
        let Some(native) = self.native_calls(&as_aggregate(call), windows.columns)? else { return Ok(None) };
        let functions: Option<Vec<FrameAggregate>> =
            native.calls.iter().map(|call| frame_aggregate(call.function)).collect();
        let sums_floats = call.arguments.iter().any(|argument| argument.sql_type.id == TypeId::FLOAT8)
            && pg_catalog().function(call.function).name == "sum";
        let Some(functions) = functions.filter(|_| !native.is_shown_extreme() && (!sums_floats || begins_first(frame)))
        else {
            return Ok(None);
        };
        let at: Vec<usize> =
            native.expressions.iter().map(|expression| windows.expression(expression.clone())).collect();
        let first = windows.calls.len();
        for (lowered, function) in native.calls.iter().zip(functions) {
            let (argument, filter) = (lowered.argument.map(|argument| at[argument]), lowered.filter.map(|own| at[own]));
            let function = WindowFunction::Aggregate { function, argument, filter, frame };
            windows.call(window.key_count, function);
        }
        native.form().into_iter().for_each(|form| self.note_form(column, form));
        Ok(Some(Made::Native(first, native)))
    }
}

/// Whether frames begin with the partition and end behind the current row, so that rows are added in their order, as PostgreSQL adds them.
fn begins_first(frame: LoweredFrame) -> bool {
    frame.start == LoweredBound::UnboundedPreceding
        && matches!(frame.end, LoweredBound::CurrentRow | LoweredBound::UnboundedFollowing)
}

fn frame_aggregate(function: AggregateFunction) -> Option<FrameAggregate> {
    Some(match function {
        AggregateFunction::CountRows => FrameAggregate::CountRows,
        AggregateFunction::Count => FrameAggregate::Count,
        AggregateFunction::Sum => FrameAggregate::Sum,
        AggregateFunction::Minimum => FrameAggregate::Minimum,
        AggregateFunction::Maximum => FrameAggregate::Maximum,
        _ => return None,
    })
}

/// The frame, if its bounds count rows or groups and it leaves nothing out.
fn lowered_frame(frame: &FrameSpecification) -> Option<LoweredFrame> {
    let mode = match frame.mode {
        FrameMode::Rows => LoweredMode::Rows,
        FrameMode::Range if frame.has_distance() => return None,
        FrameMode::Range | FrameMode::Groups => LoweredMode::Groups,
    };
    let is_whole = frame.exclusion == Exclusion::Nothing;
    Some(LoweredFrame { mode, start: lowered_bound(&frame.start)?, end: lowered_bound(&frame.end)? })
        .filter(|_| is_whole)
}

fn lowered_bound(bound: &FrameBound) -> Option<LoweredBound> {
    let count = |offset: &FrameOffset| match offset {
        FrameOffset::Count(Value::Int8(count)) => u64::try_from(*count).ok(),
        _ => None,
    };
    Some(match bound {
        FrameBound::UnboundedPreceding => LoweredBound::UnboundedPreceding,
        FrameBound::Preceding(offset) => LoweredBound::Preceding(count(offset)?),
        FrameBound::CurrentRow => LoweredBound::CurrentRow,
        FrameBound::Following(offset) => LoweredBound::Following(count(offset)?),
        FrameBound::UnboundedFollowing => LoweredBound::UnboundedFollowing,
    })
}

/// How many rows behind the current one `lag` or `lead` look, if that is the same for all rows and there is no default.
fn distance_of(call: &WindowCall) -> Option<i64> {
    let distance = match &call.arguments[..] {
        [_] => 1,
        [_, distance] => i64::from(integer(distance)?),
        _ => return None,
    };
    Some(if pg_catalog().function(call.function).name == "lag" { -distance } else { distance })
}

fn integer(expression: &Expression) -> Option<i32> {
    match expression.node {
        Node::Constant(Value::Int4(value)) => Some(value),
        _ => None,
    }
}
