//! `now()`, `current_date` and similar functions as literals of one instant.
//!
//! Within a block it is the instant at which the block began, otherwise the statement's, so that a value is the same
//! wherever a statement asks for it. `clock_timestamp()` reads the clock for each row. Types are PostgreSQL's: dates and
//! plain timestamps are what a clock in the session's time zone shows.

use std::time::{SystemTime, UNIX_EPOCH};

use arrow::array::TimestampMicrosecondArray;
use arrow::datatypes::DataType;
use braid_storage::ColumnType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion::sql::sqlparser::ast::{CastKind, DataType as SqlType, Expr, Function, FunctionArguments, TimezoneInfo};
use std::sync::Arc;

use super::rewrite::string;
use crate::EngineError;
use crate::input::datetime::utc;
use crate::output::datetime::write_timestamptz;

/// Microseconds since 1970-01-01 UTC by the operating system's clock.
pub(crate) fn read_clock_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The instants that a statement may ask for, in microseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instants {
    /// When the statement began.
    pub statement_us: i64,
    /// When its transaction began.
    pub transaction_us: i64,
}

/// The literal that a function of this name stands for; `None` if it does not ask for the time.
pub(super) fn time_of(name: &str, function: &Function, instants: Instants) -> Result<Option<Expr>, EngineError> {
    let us = match name {
        "now" | "transaction_timestamp" | "current_timestamp" | "localtimestamp" | "current_date" => {
            instants.transaction_us
        }
        "statement_timestamp" => instants.statement_us,
        "current_time" | "localtime" => {
            return Err(EngineError::unsupported(format!("{name} is not supported: Braid has no type time"))
                .with_hint("Use current_timestamp or localtimestamp."));
        }
        _ => return Ok(None),
    };
    let has_arguments = matches!(&function.args, FunctionArguments::List(list) if !list.args.is_empty());
    if has_arguments && matches!(name, "current_timestamp" | "localtimestamp") {
        return Err(EngineError::unsupported("timestamps have microseconds; other precisions are not supported"));
    }
    if has_arguments {
        return Ok(None);
    }
    let mut text = String::new();
    write_timestamptz(us, &utc(), &mut text);
    let instant = cast(string(&text), SqlType::Timestamp(None, TimezoneInfo::WithTimeZone));
    Ok(Some(match name {
        "localtimestamp" => cast(instant, SqlType::Timestamp(None, TimezoneInfo::None)),
        "current_date" => cast(instant, SqlType::Date),
        _ => instant,
    }))
}

pub(super) fn cast(expr: Expr, data_type: SqlType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// `clock_timestamp()`.
pub(crate) fn clock_function() -> ScalarUDF {
    ScalarUDF::from(ClockFunction { signature: Signature::nullary(Volatility::Volatile) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ClockFunction {
    signature: Signature,
}

impl ScalarUDFImpl for ClockFunction {
    fn name(&self) -> &str {
        "clock_timestamp"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(ColumnType::TimestampTz.arrow())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let readings: Vec<i64> = (0..args.number_rows).map(|_| read_clock_us()).collect();
        let array = TimestampMicrosecondArray::from(readings).with_data_type(ColumnType::TimestampTz.arrow());
        Ok(ColumnarValue::Array(Arc::new(array)))
    }
}
