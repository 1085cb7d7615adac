//! To integers, floats and numerics: PostgreSQL rounds, and what does not fit is an error.
//!
//! A numeric rounds half away from zero, a float half to even. A float becomes a numeric through its 15 significant
//! decimal digits (6 for real), as PostgreSQL does: 0.1 is 0.1, not 0.1000000000000000055.

use std::fmt::{Debug, Display};
use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, PrimitiveArray, downcast_integer_array,
};
use arrow::datatypes::{
    ArrowNativeType, DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type,
};
use braid_storage::ColumnType;

use crate::arrow_cast::strict_cast;
use crate::input::numbers::{check_plain_digits, numeric_overflow, parse_numeric};
use crate::output::numbers::write_numeric;
use crate::{EngineError, SqlState};

/// To smallint, integer or bigint.
pub(crate) fn to_integer(array: &ArrayRef, target: ColumnType) -> Result<ArrayRef, EngineError> {
    match target {
        ColumnType::SmallInt => to_integer_type::<Int16Type>(array, "smallint"),
        ColumnType::Integer => to_integer_type::<Int32Type>(array, "integer"),
        _ => to_integer_type::<Int64Type>(array, "bigint"),
    }
}

fn to_integer_type<T>(array: &ArrayRef, type_name: &'static str) -> Result<ArrayRef, EngineError>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    let out_of_range = || EngineError::new(SqlState::NumericOutOfRange, format!("{type_name} out of range"));
    let fit = |value: i128| T::Native::try_from(value).map_err(|_| out_of_range());
    let integers: PrimitiveArray<T> = match array.data_type() {
        DataType::Float16 | DataType::Float32 => {
            let floats = strict_cast(array, &DataType::Float64)?;
            try_map(floats.as_primitive::<Float64Type>(), |value| fit(round_even(value).ok_or_else(out_of_range)?))?
        }
        DataType::Float64 => {
            try_map(array.as_primitive::<Float64Type>(), |value| fit(round_even(value).ok_or_else(out_of_range)?))?
        }
        DataType::Decimal128(_, scale) => {
            let scale = *scale;
            try_map(array.as_primitive::<Decimal128Type>(), |value| fit(round_scale(value, scale)))?
        }
        data_type if data_type.is_decimal() => {
            let wide =
                strict_cast(array, &DataType::Decimal128(38, decimal_scale(data_type))).map_err(|_| out_of_range())?;
            return to_integer_type::<T>(&wide, type_name);
        }
        _ => downcast_integer_array!(
            array => try_map(array, |value| fit(value.to_i128_lossless()))?,
            other => return Err(EngineError::internal(format!("{other} is not a numeric type")))
        ),
    };
    Ok(Arc::new(integers))
}

/// Arrow's integers, as the widest.
trait Widen {
    fn to_i128_lossless(self) -> i128;
}

macro_rules! widen {
    ($($type:ty),*) => {
        $(impl Widen for $type {
            fn to_i128_lossless(self) -> i128 {
                i128::from(self)
            }
        })*
    };
}
widen!(i8, i16, i32, i64, u8, u16, u32, u64);

/// The integer nearest to `value`, the even one of two; `None` if it exceeds 128 bits.
fn round_even(value: f64) -> Option<i128> {
    let rounded = value.round_ties_even();
    // 2^126 is exact in a double and far outside every integer type's range.
    (rounded.abs() < 2_f64.powi(126)).then_some(rounded as i128)
}

/// An unscaled numeric as an integer, half away from zero.
fn round_scale(unscaled: i128, scale: i8) -> i128 {
    if scale <= 0 {
        return unscaled.saturating_mul(10_i128.saturating_pow(u32::from(scale.unsigned_abs())));
    }
    let divisor = 10_i128.pow(u32::from(scale.unsigned_abs()));
    let half_away = if unscaled < 0 { -(divisor / 2) } else { divisor / 2 };
    unscaled.saturating_add(half_away) / divisor
}

/// To `numeric(precision, scale)`.
pub(crate) fn to_numeric(array: &ArrayRef, precision: u8, scale: u8) -> Result<ArrayRef, EngineError> {
    let target = DataType::Decimal128(precision, scale as i8);
    match array.data_type() {
        DataType::Float64 => {
            let texts = |value: f64| format!("{value:.14e}");
            floats_to_numeric(array.as_primitive::<Float64Type>(), texts, precision, scale)
        }
        DataType::Float32 => {
            let texts = |value: f32| format!("{value:.5e}");
            floats_to_numeric(array.as_primitive::<Float32Type>(), texts, precision, scale)
        }
        _ => strict_cast(array, &target).map_err(|_| numeric_overflow(precision, scale).into()),
    }
}

/// Refuses numbers with more than `scale` digits after the point.
pub(crate) fn check_digits_kept(array: &ArrayRef, scale: u8) -> Result<(), EngineError> {
    match array.data_type() {
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>().iter().flatten();
            floats.map(|value| format!("{value:.14e}")).try_for_each(|text| Ok(check_plain_digits(&text, scale)?))
        }
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>().iter().flatten();
            floats.map(|value| format!("{value:.5e}")).try_for_each(|text| Ok(check_plain_digits(&text, scale)?))
        }
        DataType::Decimal128(_, source) if *source > scale as i8 => {
            let cut = 10_i128.pow(u32::from(source.unsigned_abs() - scale));
            let source = *source;
            let loses = |unscaled: &i128| unscaled % cut != 0;
            match array.as_primitive::<Decimal128Type>().iter().flatten().find(loses) {
                None => Ok(()),
                Some(unscaled) => {
                    let mut text = String::new();
                    write_numeric(unscaled, source, &mut text);
                    Ok(check_plain_digits(&text, scale)?)
                }
            }
        }
        _ => Ok(()),
    }
}

fn floats_to_numeric<T: ArrowPrimitiveType>(
    floats: &PrimitiveArray<T>,
    digits: impl Fn(T::Native) -> String,
    precision: u8,
    scale: u8,
) -> Result<ArrayRef, EngineError> {
    let numerics: Decimal128Array = try_map(floats, |value| Ok(parse_numeric(&digits(value), precision, scale)?))?;
    Ok(Arc::new(numerics.with_data_type(DataType::Decimal128(precision, scale as i8))))
}

/// To real or double precision. A number that is finite and no real is an error.
pub(crate) fn to_float(array: &ArrayRef, target: ColumnType) -> Result<ArrayRef, EngineError> {
    match (array.data_type(), target) {
        (DataType::Decimal128(_, scale), ColumnType::Real) => {
            let (scale, numerics) = (*scale, array.as_primitive::<Decimal128Type>());
            let reals: PrimitiveArray<Float32Type> = try_map(numerics, |value| nearest_real(value, scale))?;
            return Ok(Arc::new(reals));
        }
        (DataType::Decimal128(_, scale), _) => {
            let (scale, numerics) = (*scale, array.as_primitive::<Decimal128Type>());
            let doubles: PrimitiveArray<Float64Type> = try_map(numerics, |value| Ok(nearest_double(value, scale)))?;
            return Ok(Arc::new(doubles));
        }
        // Literals of more than 38 digits.
        (DataType::Decimal256(_, scale), _) => {
            let (scale, numerics) = (*scale, array.as_primitive::<Decimal256Type>());
            let reals_or_doubles: ArrayRef = if target == ColumnType::Real {
                Arc::new(try_map::<_, Float32Type>(numerics, |value| nearest_real(value, scale))?)
            } else {
                Arc::new(try_map::<_, Float64Type>(numerics, |value| Ok(parsed(value, scale)))?)
            };
            return Ok(reals_or_doubles);
        }
        _ => {}
    }
    let floats = strict_cast(array, &target.arrow())?;
    if *array.data_type() == DataType::Float64 && target == ColumnType::Real {
        let (doubles, reals) = (array.as_primitive::<Float64Type>(), floats.as_primitive::<Float32Type>());
        let out_of_range =
            |how: &str| EngineError::new(SqlState::NumericOutOfRange, format!("value out of range: {how}"));
        for (wide, narrow) in doubles.iter().zip(reals.iter()).filter_map(|(wide, narrow)| Some((wide?, narrow?))) {
            if wide.is_finite() && narrow.is_infinite() {
                return Err(out_of_range("overflow"));
            }
            if wide != 0.0 && narrow == 0.0 {
                return Err(out_of_range("underflow"));
            }
        }
    }
    Ok(floats)
}

/// Integers up to this one, and powers of ten up to `10^EXACT_POWER_MAX`, are exact in a double.
const EXACT_INTEGER_MAX: u128 = 1 << 53;
const EXACT_POWER_MAX: i8 = 22;

/// The double nearest to a numeric. Arrow rounds twice, and is one unit off for some.
pub(crate) fn nearest_double(unscaled: i128, scale: i8) -> f64 {
    if unscaled.unsigned_abs() <= EXACT_INTEGER_MAX && (0..=EXACT_POWER_MAX).contains(&scale) {
        return unscaled as f64 / 10_f64.powi(scale.into());
    }
    parsed(unscaled, scale)
}

/// The real nearest to a numeric.
fn nearest_real(unscaled: impl Display, scale: i8) -> Result<f32, EngineError> {
    let real: f32 = parsed(unscaled, scale);
    if real.is_infinite() {
        return Err(EngineError::new(SqlState::NumericOutOfRange, "value out of range: overflow"));
    }
    Ok(real)
}

/// A numeric as Rust reads its digits, which is exact.
fn parsed<F: FromStr<Err: Debug>>(unscaled: impl Display, scale: i8) -> F {
    let text = format!("{unscaled}e{}", -i16::from(scale));
    text.parse().expect("an integer and an exponent are a float")
}

fn decimal_scale(data_type: &DataType) -> i8 {
    match data_type {
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    }
}

/// `map` on every value that is not null.
fn try_map<S, T>(
    array: &PrimitiveArray<S>,
    map: impl Fn(S::Native) -> Result<T::Native, EngineError>,
) -> Result<PrimitiveArray<T>, EngineError>
where
    S: ArrowPrimitiveType,
    T: ArrowPrimitiveType,
{
    let mut values = vec![T::Native::usize_as(0); array.len()];
    match array.nulls() {
        None => {
            for (value, slot) in array.values().iter().zip(&mut values) {
                *slot = map(*value)?;
            }
        }
        Some(nulls) => {
            for row in nulls.valid_indices() {
                values[row] = map(array.value(row))?;
            }
        }
    }
    Ok(PrimitiveArray::new(values.into(), array.nulls().cloned()))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal256Array, Float64Array, Int64Array, UInt64Array};

    use super::*;

    fn decimal(values: Vec<i128>, scale: i8) -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap())
    }

    #[test]
    fn numerics_round_away_and_floats_to_even() {
        let integers = to_integer(&decimal(vec![250, -250, 249, 350], 2), ColumnType::Integer).unwrap();
        assert_eq!(integers.as_primitive::<Int32Type>().values(), &[3, -3, 2, 4]);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![2.5, -2.5, 3.5, 0.4]));
        let integers = to_integer(&floats, ColumnType::Integer).unwrap();
        assert_eq!(integers.as_primitive::<Int32Type>().values(), &[2, -2, 4, 0]);
    }

    #[test]
    fn ranges_are_checked_and_nulls_are_not() {
        let longs: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(40_000)]));
        let error = to_integer(&longs, ColumnType::SmallInt).unwrap_err();
        assert_eq!((error.sqlstate(), error.message()), ("22003", "smallint out of range"));
        assert_eq!(to_integer(&longs, ColumnType::Integer).unwrap().null_count(), 1);
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        assert_eq!(to_integer(&unsigned, ColumnType::BigInt).unwrap_err().sqlstate(), "22003");
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
        assert_eq!(to_integer(&floats, ColumnType::BigInt).unwrap_err().sqlstate(), "22003");
    }

    #[test]
    fn floats_become_numerics_by_their_digits() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.1, 1.005, -2.675, 1e10]));
        let numerics = to_numeric(&floats, 18, 2).unwrap();
        assert_eq!(numerics.as_primitive::<Decimal128Type>().values(), &[10, 101, -268, 1_000_000_000_000]);
        assert_eq!(to_numeric(&floats, 5, 2).unwrap_err().sqlstate(), "22003");
        let rescaled = to_numeric(&decimal(vec![12345, -12355], 3), 5, 2).unwrap();
        assert_eq!(rescaled.as_primitive::<Decimal128Type>().values(), &[1235, -1236]);
        assert_eq!(to_numeric(&decimal(vec![100_000], 2), 4, 2).unwrap_err().sqlstate(), "22003");
    }

    /// Every expected value was PostgreSQL 15's answer.
    #[test]
    fn numerics_become_the_nearest_float() {
        for (unscaled, scale, double) in [
            (1_234_567_891_234_567_890, 1, 1.234_567_891_234_567_8e17),
            (1, 1, 0.1),
            (-5, 0, -5.0),
            (1, 38, 1e-38),
            (1 << 53, 22, 9.007_199_254_740_992e-7),
            ((1 << 53) + 1, 0, 9_007_199_254_740_992.0),
        ] {
            let floats = to_float(&decimal(vec![unscaled], scale), ColumnType::Double).unwrap();
            assert_eq!(floats.as_primitive::<Float64Type>().value(0), double, "{unscaled}e-{scale}");
        }
        let reals = to_float(&decimal(vec![16_777_217], 0), ColumnType::Real).unwrap();
        assert_eq!(reals.as_primitive::<Float32Type>().value(0), 16_777_216.0);
        let wide = arrow::datatypes::i256::from_i128(10).checked_pow(50).unwrap();
        let wide: ArrayRef = Arc::new(Decimal256Array::from(vec![wide]).with_precision_and_scale(76, 0).unwrap());
        assert_eq!(to_float(&wide, ColumnType::Double).unwrap().as_primitive::<Float64Type>().value(0), 1e50);
        assert_eq!(to_float(&wide, ColumnType::Real).unwrap_err().sqlstate(), "22003");
    }

    #[test]
    fn doubles_overflow_real() {
        let doubles: ArrayRef = Arc::new(Float64Array::from(vec![1e39]));
        assert_eq!(to_float(&doubles, ColumnType::Real).unwrap_err().sqlstate(), "22003");
        let infinite: ArrayRef = Arc::new(Float64Array::from(vec![f64::INFINITY]));
        assert!(to_float(&infinite, ColumnType::Real).is_ok());
    }
}
