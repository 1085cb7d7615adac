//! Bounds of zone maps in the manifest, in the form of their physical type.

use super::ManifestError;
use super::byte_reader::ByteReader;
use crate::{PhysicalType, Scalar};

/// Whether a value is of a physical type.
pub(super) fn is_of(scalar: &Scalar, physical: PhysicalType) -> bool {
    match scalar {
        Scalar::Bool(_) => physical == PhysicalType::Bool,
        Scalar::Int(_) => physical == PhysicalType::Int,
        Scalar::Int128(_) => physical == PhysicalType::Int128,
        Scalar::Float(_) => matches!(physical, PhysicalType::Float32 | PhysicalType::Float64),
        Scalar::Bytes(_) => physical == PhysicalType::Bytes,
        Scalar::Interval(..) => physical == PhysicalType::Interval,
    }
}

/// Writes a value. Strings of bytes are as short as bounds are.
pub(super) fn put_scalar(out: &mut Vec<u8>, scalar: &Scalar) {
    match scalar {
        Scalar::Bool(value) => out.push(u8::from(*value)),
        Scalar::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
        Scalar::Int128(value) => out.extend_from_slice(&value.to_le_bytes()),
        Scalar::Float(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
        Scalar::Bytes(value) => {
            let length = u16::try_from(value.len()).expect("bounds are cut to ZONE_BYTES_MAX");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(value);
        }
        Scalar::Interval(months, days, nanoseconds) => {
            out.extend_from_slice(&months.to_le_bytes());
            out.extend_from_slice(&days.to_le_bytes());
            out.extend_from_slice(&nanoseconds.to_le_bytes());
        }
    }
}

/// Reads a value of a physical type.
pub(super) fn take_scalar(reader: &mut ByteReader<'_>, physical: PhysicalType) -> Result<Scalar, ManifestError> {
    Ok(match physical {
        PhysicalType::Bool => match reader.u8()? {
            0 => Scalar::Bool(false),
            1 => Scalar::Bool(true),
            other => return Err(reader.malformed(format!("a boolean bound is {other}"))),
        },
        PhysicalType::Int => Scalar::Int(reader.i64()?),
        PhysicalType::Int128 => Scalar::Int128(reader.i128()?),
        PhysicalType::Float32 | PhysicalType::Float64 => Scalar::Float(f64::from_bits(reader.u64()?)),
        PhysicalType::Bytes => {
            let length = usize::from(reader.u16()?);
            Scalar::Bytes(reader.take(length)?.to_vec())
        }
        PhysicalType::Interval => Scalar::Interval(reader.i32()?, reader.i32()?, reader.i64()?),
    })
}
