//! The missing value of a column in the manifest: as a bound, but for bytes, which have their length in four bytes, as they may
//! be longer. Whether the column can have it is for [`crate::TableDef`] to check.

use super::ManifestError;
use super::byte_reader::ByteReader;
use super::scalars::{put_scalar, take_scalar};
use crate::{PhysicalType, Scalar};

pub(super) fn put_missing_value(out: &mut Vec<u8>, value: &Scalar) {
    match value {
        Scalar::Bytes(bytes) => {
            let length = u32::try_from(bytes.len()).expect("missing values are checked when a column is added");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(bytes);
        }
        _ => put_scalar(out, value),
    }
}

pub(super) fn take_missing_value(reader: &mut ByteReader<'_>, physical: PhysicalType) -> Result<Scalar, ManifestError> {
    match physical {
        PhysicalType::Bytes => {
            let length = reader.u32()? as usize;
            Ok(Scalar::Bytes(reader.take(length)?.to_vec()))
        }
        _ => take_scalar(reader, physical),
    }
}
