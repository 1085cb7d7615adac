//! What operators on intervals become: their length, by which they compare, and their product with a number.
//!
//! PostgreSQL compares intervals as if a month had 30 days and a day 24 hours (`interval_cmp_value`), so that
//! `'24:00:00' = '1 day'`; Arrow compares months, then days, then time. A product is taken part by part, and what is
//! less than a month or a day goes down to the smaller unit (`interval_mul`).

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, PrimitiveArray};
use arrow::compute::kernels::arity::{try_binary, try_unary};
use arrow::datatypes::{
    DataType, Decimal128Type, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
};
use arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::{EngineError, SqlState};

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const DAY_NS: i128 = 86_400_000_000_000;
const DAY_SECONDS: f64 = 86_400.0;
const DAYS_OF_MONTH: f64 = 30.0;
/// Nanoseconds of any interval: 2^31 months of 30 days are below 10^25.
const LENGTH: DataType = DataType::Decimal128(38, 0);

/// The length of an interval as a number.
pub(super) fn interval_length() -> ScalarUDF {
    let signature = Signature::exact(vec![INTERVAL], Volatility::Immutable);
    ScalarUDF::from(IntervalFunction { kind: Kind::Length, signature })
}

/// An interval times a double.
pub(super) fn interval_product() -> ScalarUDF {
    let signature = Signature::exact(vec![INTERVAL, DataType::Float64], Volatility::Immutable);
    ScalarUDF::from(IntervalFunction { kind: Kind::Product, signature })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Length,
    Product,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalFunction {
    kind: Kind,
    signature: Signature,
}

impl ScalarUDFImpl for IntervalFunction {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Length => "interval_length",
            Kind::Product => "interval_product",
        }
    }

    /// As the operator's, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(match self.kind {
            Kind::Length => format!("interval_length({})", names.join(", ")),
            Kind::Product => names.join(" * "),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.kind {
            Kind::Length => LENGTH,
            Kind::Product => INTERVAL,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = ColumnarValue::values_to_arrays(&args.args)?;
        let array: ArrayRef = match &arguments[..] {
            [intervals] => {
                let lengths: Decimal128Array = try_unary(intervals_of(intervals), |i| Ok(length_ns(i)))?;
                Arc::new(lengths.with_data_type(LENGTH))
            }
            [intervals, factors] => {
                let factors: &PrimitiveArray<Float64Type> = factors.as_primitive();
                let products: PrimitiveArray<IntervalMonthDayNanoType> =
                    try_binary(intervals_of(intervals), factors, |interval, factor| {
                        product(interval, factor).ok_or_else(out_of_range)
                    })?;
                Arc::new(products)
            }
            _ => return Err(EngineError::internal("an interval function has one or two arguments").into()),
        };
        Ok(ColumnarValue::Array(array))
    }
}

fn intervals_of(array: &ArrayRef) -> &PrimitiveArray<IntervalMonthDayNanoType> {
    array.as_primitive()
}

fn length_ns(interval: IntervalMonthDayNano) -> <Decimal128Type as ArrowPrimitiveType>::Native {
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * DAY_NS + i128::from(interval.nanoseconds)
}

fn product(interval: IntervalMonthDayNano, factor: f64) -> Option<IntervalMonthDayNano> {
    let (months, days) = (f64::from(interval.months) * factor, f64::from(interval.days) * factor);
    let days_of_months = rounded_us((months - months.trunc()) * DAYS_OF_MONTH);
    let mut seconds = rounded_us((days - days.trunc() + days_of_months - days_of_months.trunc()) * DAY_SECONDS);
    let mut whole_days = days.trunc() + days_of_months.trunc();
    // Parts of days from both may make up a day.
    if seconds.abs() >= DAY_SECONDS {
        let carried = (seconds / DAY_SECONDS).trunc();
        whole_days += carried;
        seconds -= carried * DAY_SECONDS;
    }
    let us = (interval.nanoseconds as f64 / 1000.0 * factor + seconds * 1e6).round_ties_even();
    let fits_int = |value: f64| (value.abs() < f64::from(i32::MAX)).then_some(value as i32);
    // Beyond 2^63 nanoseconds.
    let ns = (us.abs() < 9.2e15).then_some(us as i64 * 1000)?;
    Some(IntervalMonthDayNano::new(fits_int(months.trunc())?, fits_int(whole_days)?, ns))
}

/// Rounded to a millionth, which is what PostgreSQL trusts such a product to.
fn rounded_us(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}

fn out_of_range() -> ArrowError {
    let error = EngineError::new(SqlState::DatetimeOverflow, "interval out of range");
    ArrowError::ExternalError(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_compare_by_their_length() {
        let length = |months, days, ns| length_ns(IntervalMonthDayNano::new(months, days, ns));
        assert_eq!(length(1, 0, 0), length(0, 30, 0));
        assert_eq!(length(0, 1, 0), length(0, 0, 86_400_000_000_000));
        assert!(length(0, 0, 1) > length(0, -1, 0));
    }

    /// Every expected value was PostgreSQL 15's answer.
    #[test]
    fn products_go_down_to_smaller_units() {
        let hour = 3_600_000_000_000;
        for ((months, days, ns), factor, expected) in [
            ((0, 1, 0), 1.5, (0, 1, 12 * hour)),
            ((1, 0, 0), 0.5, (0, 15, 0)),
            ((1, 1, hour), -2.0, (-2, -2, -2 * hour)),
            ((0, 0, hour), 3.0, (0, 0, 3 * hour)),
        ] {
            let product = product(IntervalMonthDayNano::new(months, days, ns), factor).unwrap();
            assert_eq!((product.months, product.days, product.nanoseconds), expected);
        }
        assert!(product(IntervalMonthDayNano::new(1, 0, 0), 1e300).is_none());
    }
}
