//! Whether a zone map holds for a decoded column.
//!
//! The extremes are computed from the decoded values, by code that shares nothing with the encoder but the order of
//! [`Scalar`]s.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};

use super::{BoundsFault, FaultKind};
use crate::scalar::compare_floats;
use crate::{PhysicalType, Scalar, ZoneMap};

/// Checks that the bounds hold for every value and, where they claim to be exact, that they occur.
pub(super) fn verify(array: &ArrayRef, physical: PhysicalType, zone_map: &ZoneMap) -> Result<(), FaultKind> {
    let Some((min, max)) = extremes(array, physical) else { return Ok(()) };
    let holds = |bound: &Option<Scalar>, value: &Scalar, beyond: Ordering| match bound {
        Some(bound) if zone_map.exact => value == bound,
        Some(bound) => value.compare(bound).is_some_and(|order| order != beyond),
        None => true,
    };
    if holds(&zone_map.min, &min, Ordering::Less) && holds(&zone_map.max, &max, Ordering::Greater) {
        return Ok(());
    }
    let (zone_min, zone_max) = (zone_map.min.clone(), zone_map.max.clone());
    Err(FaultKind::Bounds(Box::new(BoundsFault { min, max, zone_min, zone_max })))
}

/// The smallest and the largest value; `None` without values, and for intervals, which have no order.
fn extremes(array: &ArrayRef, physical: PhysicalType) -> Option<(Scalar, Scalar)> {
    let both = |(min, max): (i64, i64)| (Scalar::Int(min), Scalar::Int(max));
    match physical {
        PhysicalType::Bool => {
            let (min, max) = fold(array.as_boolean().iter().flatten(), Ord::cmp)?;
            Some((Scalar::Bool(min), Scalar::Bool(max)))
        }
        PhysicalType::Int => integers(array).map(both),
        PhysicalType::Int128 => {
            let (min, max) = fold(array.as_primitive::<Decimal128Type>().iter().flatten(), Ord::cmp)?;
            Some((Scalar::Int128(min), Scalar::Int128(max)))
        }
        PhysicalType::Float32 => floats(array.as_primitive::<Float32Type>().iter().flatten().map(f64::from)),
        PhysicalType::Float64 => floats(array.as_primitive::<Float64Type>().iter().flatten()),
        PhysicalType::Bytes => match array.data_type() {
            DataType::Utf8View => strings(array.as_string_view().iter().flatten().map(str::as_bytes)),
            DataType::BinaryView => strings(array.as_binary_view().iter().flatten()),
            _ => strings(array.as_fixed_size_binary().iter().flatten()),
        },
        PhysicalType::Interval => None,
    }
}

fn integers(array: &ArrayRef) -> Option<(i64, i64)> {
    fn of<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Option<(i64, i64)> {
        let array: &PrimitiveArray<T> = array.as_primitive();
        fold(array.iter().flatten().map(Into::into), Ord::cmp)
    }
    match array.data_type() {
        DataType::Int16 => of::<Int16Type>(array),
        DataType::Int32 => of::<Int32Type>(array),
        DataType::Date32 => of::<Date32Type>(array),
        DataType::Timestamp(..) => of::<TimestampMicrosecondType>(array),
        DataType::Decimal128(..) => {
            // A value beyond 64 bits cannot come out of a 64-bit segment.
            fold(array.as_primitive::<Decimal128Type>().iter().flatten().map(|value| value as i64), Ord::cmp)
        }
        _ => of::<Int64Type>(array),
    }
}

fn floats(values: impl Iterator<Item = f64>) -> Option<(Scalar, Scalar)> {
    let (min, max) = fold(values, |a, b| compare_floats(*a, *b))?;
    Some((Scalar::Float(min), Scalar::Float(max)))
}

fn strings<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<(Scalar, Scalar)> {
    let (min, max) = fold(values, |a, b| a.cmp(b))?;
    Some((Scalar::Bytes(min.to_vec()), Scalar::Bytes(max.to_vec())))
}

fn fold<T: Copy>(mut values: impl Iterator<Item = T>, compare: impl Fn(&T, &T) -> Ordering) -> Option<(T, T)> {
    let first = values.next()?;
    Some(values.fold((first, first), |(min, max), value| {
        let min = if compare(&value, &min) == Ordering::Less { value } else { min };
        let max = if compare(&value, &max) == Ordering::Greater { value } else { max };
        (min, max)
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int32Array, StringViewArray};

    use super::*;

    fn zone(min: Scalar, max: Scalar, exact: bool) -> ZoneMap {
        ZoneMap { min: Some(min), max: Some(max), null_count: 0, exact }
    }

    #[test]
    fn bounds_may_be_wide_unless_they_claim_to_be_exact_but_never_narrow() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(3), None, Some(-4)]));
        let check = |min, max, exact| {
            verify(&array, PhysicalType::Int, &zone(Scalar::Int(min), Scalar::Int(max), exact)).is_ok()
        };
        assert!(check(-4, 3, true) && check(-4, 3, false) && check(-5, 9, false));
        assert!(!check(-5, 3, true) && !check(-4, 4, true));
        assert!(!check(-3, 3, false) && !check(-4, 2, false));
        assert!(verify(&array, PhysicalType::Int, &ZoneMap::default()).is_ok());
    }

    #[test]
    fn every_kind_of_value_has_its_order() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, -0.0, 1.0]));
        let nan = Scalar::Float(f64::NAN);
        assert!(verify(&floats, PhysicalType::Float64, &zone(Scalar::Float(0.0), nan, true)).is_ok());
        let top = Scalar::Float(f64::INFINITY);
        assert!(verify(&floats, PhysicalType::Float64, &zone(Scalar::Float(0.0), top, false)).is_err());
        let strings: ArrayRef = Arc::new(StringViewArray::from(vec!["b", "ab"]));
        let bytes = |text: &str| Scalar::Bytes(text.as_bytes().to_vec());
        assert!(verify(&strings, PhysicalType::Bytes, &zone(bytes("a"), bytes("c"), false)).is_ok());
        assert!(verify(&strings, PhysicalType::Bytes, &zone(bytes("b"), bytes("c"), false)).is_err());
    }
}
