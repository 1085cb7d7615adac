//! The difference of two timestamps: an interval of days and time, as PostgreSQL's `timestamp_mi` gives it.
//!
//! DataFusion's is a duration, which is no SQL type.

use std::sync::Arc;

use arrow::array::{AsArray, IntervalMonthDayNanoArray};
use arrow::compute::kernels::arity::try_binary;
use arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, TimestampMicrosecondType,
};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::{EngineError, SqlState};

const DAY_US: i64 = 86_400_000_000;

/// The function for two values of `data_type`, a timestamp in microseconds.
pub(super) fn timestamp_difference(data_type: &DataType) -> ScalarUDF {
    let signature = Signature::exact(vec![data_type.clone(), data_type.clone()], Volatility::Immutable);
    ScalarUDF::from(TimestampDifference { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimestampDifference {
    signature: Signature,
}

impl ScalarUDFImpl for TimestampDifference {
    fn name(&self) -> &str {
        "timestamp_difference"
    }

    /// As the operator's, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(names.join(" - "))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let sides = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = &sides[..] else {
            return Err(EngineError::internal("a difference has two sides").into());
        };
        let (left, right) =
            (left.as_primitive::<TimestampMicrosecondType>(), right.as_primitive::<TimestampMicrosecondType>());
        let intervals: IntervalMonthDayNanoArray =
            try_binary::<_, _, _, IntervalMonthDayNanoType>(left, right, interval_between)?;
        Ok(ColumnarValue::Array(Arc::new(intervals)))
    }
}

/// Days and the rest of a day, of one sign.
fn interval_between(left_us: i64, right_us: i64) -> Result<IntervalMonthDayNano, arrow::error::ArrowError> {
    let too_far = || EngineError::new(SqlState::DatetimeOverflow, "interval out of range");
    let external = |error: EngineError| arrow::error::ArrowError::ExternalError(Box::new(error));
    let us = left_us.checked_sub(right_us).ok_or_else(|| external(too_far()))?;
    let days = i32::try_from(us / DAY_US).map_err(|_| external(too_far()))?;
    Ok(IntervalMonthDayNano::new(0, days, us % DAY_US * 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_time_have_one_sign() {
        for (left, right, expected) in [
            (DAY_US + 1, 0, (1, 1000)),
            (0, DAY_US + 1, (-1, -1000)),
            (5, 5, (0, 0)),
            (DAY_US, 1, (0, (DAY_US - 1) * 1000)),
        ] {
            let interval = interval_between(left, right).unwrap();
            assert_eq!((interval.days, interval.nanoseconds), expected);
        }
        assert!(interval_between(i64::MAX, -1).is_err());
    }
}
