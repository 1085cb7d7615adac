//! The time: the operating system's clock, the instants of a statement, and `clock_timestamp()`, which reads the clock for
//! each row.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::array::TimestampMicrosecondArray;
use arrow::datatypes::DataType;
use braid_storage::ColumnType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

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
