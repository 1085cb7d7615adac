//! Values as keys: bytes that are equal if and only if SQL says that the values are.
//!
//! Arrow's row format makes the bytes, of columns in which equal values are the same: all integers are 64 bits wide and all floats
//! double, -0 is 0, a char(n) has no blanks at its end, and a numeric without a precision is its shortest text. Bytes are ordered as the values
//! are, but for these numerics.

use std::sync::{Arc, OnceLock};

use arrow::array::{
    ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array,
    Int64Array, StringViewArray, TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use arrow::row::{RowConverter, Rows, SortField};
use braid_base::ColumnId;
use xxhash_rust::xxh3::xxh3_128;

use super::key_def::{KeyForm, KeyNulls};
use crate::segment::NUMERIC_TAG;
use crate::types::{NUMERIC_OID, NUMERIC_PRECISION_MAX};
use crate::{ColumnType, Scalar};

/// What makes keys of the values of a table: the columns of a key, with their types, and what they have in chunks without them. A column whose
/// addition was rolled back leaves its id to another one, which may differ in both.
///
/// Keys may also be computed of the columns: then their members have types of their own. The texts that compute them name the columns, whose
/// names may have been swapped, so that the same texts compute other keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyShape {
    columns: Vec<(ColumnId, ColumnType)>,
    computed: Option<Computed>,
    pub(super) nulls: KeyNulls,
    id: ShapeId,
}

/// Identity of a shape: a hash of all that makes keys, in this process and, if they are not computed, in others. Two shapes with one id
/// make the same bytes of the same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeId(pub u128);

/// What computes keys.
#[derive(Clone, Debug, Hash)]
struct Computed {
    form: Arc<KeyForm>,
    types: Vec<ColumnType>,
    /// The names that the form's texts have for the columns of the shape.
    names: Vec<String>,
}

/// Whether a column of a key can have this type.
pub fn is_key_type(column_type: ColumnType) -> bool {
    match column_type {
        ColumnType::Interval => false,
        ColumnType::Encoded { type_oid, .. } => type_oid == NUMERIC_OID,
        _ => true,
    }
}

/// Whether equal values of these types are the same key.
pub fn is_same_key_type(one: ColumnType, other: ColumnType) -> bool {
    let is_char = |column_type: ColumnType| matches!(column_type, ColumnType::Char(_));
    let is_same_kind = match (one, other) {
        (ColumnType::Enum(_), _) | (_, ColumnType::Enum(_)) => one == other,
        (ColumnType::Encoded { .. }, _) | (_, ColumnType::Encoded { .. }) => {
            matches!((one, other), (ColumnType::Encoded { .. }, ColumnType::Encoded { .. }))
        }
        _ => is_char(one) == is_char(other),
    };
    is_key_type(one) && is_key_type(other) && is_same_kind && comparable_type(one) == comparable_type(other)
}

impl KeyShape {
    /// The shape of a key with these columns, which have these values in chunks without them.
    pub fn new<'a>(
        columns: Vec<(ColumnId, ColumnType)>,
        missing: impl Iterator<Item = Option<&'a Scalar>>,
        nulls: KeyNulls,
    ) -> Self {
        let mut bytes = vec![u8::from(nulls == KeyNulls::Equal)];
        for ((id, column_type), missing) in columns.iter().zip(missing) {
            // Texts of Debug are quoted, so that none runs into the next.
            bytes.extend_from_slice(format!("{} {:?} {missing:?};", id.0, type_name(*column_type)).as_bytes());
        }
        bytes.extend_from_slice(&encoding_hash().to_le_bytes());
        Self { columns, computed: None, nulls, id: ShapeId(xxh3_128(&bytes)) }
    }

    /// The same, of keys that are computed of these columns by their names, and whose members have these types.
    pub fn computed_by(self, form: Arc<KeyForm>, types: Vec<ColumnType>, names: Vec<String>) -> Self {
        let computed = Computed { form, types, names };
        let id = ShapeId(xxh3_128(format!("{:?} {computed:?}", self.id).as_bytes()));
        Self { computed: Some(computed), id, ..self }
    }

    /// What makes keys, in one number.
    pub fn id(&self) -> ShapeId {
        self.id
    }

    /// What computes the keys; `None` if they are the values of the columns.
    pub fn form(&self) -> Option<&Arc<KeyForm>> {
        self.computed.as_ref().map(|computed| &computed.form)
    }

    /// The types of the members.
    fn types(&self) -> impl Iterator<Item = ColumnType> {
        let of_columns = self.columns.iter().map(|(_, column_type)| *column_type).filter(|_| self.computed.is_none());
        let computed = self.computed.iter().flat_map(|computed| computed.types.iter().copied());
        of_columns.chain(computed)
    }

    /// The ids of the columns that keys are made of.
    pub fn columns(&self) -> impl Iterator<Item = ColumnId> {
        self.columns.iter().map(|(id, _)| *id)
    }

    /// The values of members in which equal ones are the same.
    pub fn comparable(&self, members: &[ArrayRef]) -> Vec<ArrayRef> {
        self.types().zip(members).map(|(column_type, array)| comparable(array, column_type)).collect()
    }

    /// The keys of rows of such columns.
    pub fn encode(&self, comparable: &[ArrayRef]) -> Rows {
        let rows = self.converter().convert_columns(comparable);
        rows.expect("the columns are of the converter's types")
    }

    fn converter(&self) -> RowConverter {
        let fields = self.types().map(|column_type| SortField::new(comparable_type(column_type)));
        RowConverter::new(fields.collect()).expect("the types of keys have a row format")
    }
}

/// A name of a type that no other one has, in all processes.
fn type_name(column_type: ColumnType) -> String {
    match column_type {
        ColumnType::Enum(enum_type) => format!("enum {}", enum_type.oid()),
        ColumnType::Encoded { type_oid, modifier } => format!("encoded {type_oid} {modifier}"),
        other => other.to_string(),
    }
}

/// Raised when values make other keys, or rows are left out of runs for other reasons: trees of earlier versions are not taken over then.
const KEYS_VERSION: u32 = 1;

/// A hash of the keys of some values of each kind of type. Other versions of Arrow may encode rows in another way: then this is another number.
fn encoding_hash() -> u128 {
    static HASH: OnceLock<u128> = OnceLock::new();
    *HASH.get_or_init(|| {
        let texts = [Some("\0"), Some("a  "), Some("longer than the eight bytes of the first block of a text"), None];
        let integers = [Some(i64::MIN), Some(-1), Some(258), None];
        let narrow = [&[NUMERIC_TAG, 2, 0][..], &150_i128.to_le_bytes()].concat();
        let numerics = [Some(&narrow[..]), Some(&[7, 3, 0, 0, 0, b'N', b'a', b'N'][..]), None, None];
        let uuids = [Some([0; 16]), Some([255; 16]), Some(258_u128.to_be_bytes()), None];
        let uuids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids.into_iter(), 16);
        let decimals = Decimal128Array::from(vec![Some(i128::MIN), Some(-1), Some(258), None]);
        let sample: [(ColumnType, ArrayRef); 11] = [
            (ColumnType::BigInt, Arc::new(Int64Array::from(integers.to_vec()))),
            (ColumnType::Double, Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(-0.0), Some(0.5), None]))),
            (ColumnType::Numeric { precision: 38, scale: 2 }, Arc::new(decimals)),
            (
                ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 },
                Arc::new(BinaryViewArray::from_iter(numerics)),
            ),
            (ColumnType::Text, Arc::new(StringViewArray::from_iter(texts))),
            (ColumnType::Char(9), Arc::new(StringViewArray::from_iter(texts))),
            (ColumnType::Bytea, Arc::new(BinaryViewArray::from_iter(texts))),
            (ColumnType::Boolean, Arc::new(BooleanArray::from(vec![Some(false), Some(true), Some(true), None]))),
            (ColumnType::Date, Arc::new(Date32Array::from(vec![Some(i32::MIN), Some(-1), Some(258), None]))),
            (ColumnType::Timestamp, Arc::new(TimestampMicrosecondArray::from(integers.to_vec()))),
            (ColumnType::Uuid, Arc::new(uuids.expect("uuids have 16 bytes"))),
        ];
        let columns: Vec<ArrayRef> =
            sample.iter().map(|(column_type, array)| comparable(array, *column_type)).collect();
        let fields = columns.iter().map(|array| SortField::new(array.data_type().clone())).collect();
        let converter = RowConverter::new(fields).expect("the types have a row format");
        let rows = converter.convert_columns(&columns).expect("the columns are of the converter's types");
        let keys = rows.iter().flat_map(|row| row.as_ref().to_vec());
        xxh3_128(&KEYS_VERSION.to_le_bytes().into_iter().chain(keys).collect::<Vec<u8>>())
    })
}

/// The values of one key, a row of each column as it is declared. Numerics without a precision come as their shortest text.
pub(crate) fn key_values(shape: &KeyShape, key: &[u8]) -> Vec<ArrayRef> {
    let converter = shape.converter();
    let columns = converter.convert_rows([converter.parser().parse(key)]).expect("the key is of this shape");
    let declared = |(column_type, array): (ColumnType, ArrayRef)| match column_type {
        ColumnType::Encoded { .. } => array,
        declared => cast(&array, &declared.arrow()).unwrap_or(array),
    };
    shape.types().zip(columns).map(declared).collect()
}

fn comparable_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::SmallInt | ColumnType::Integer => DataType::Int64,
        ColumnType::Real => DataType::Float64,
        ColumnType::Numeric { scale, .. } => DataType::Decimal128(NUMERIC_PRECISION_MAX, scale as i8),
        ColumnType::Encoded { .. } => DataType::Utf8View,
        other => other.arrow(),
    }
}

fn comparable(array: &ArrayRef, column_type: ColumnType) -> ArrayRef {
    let widened = || cast(array, &comparable_type(column_type)).expect("numbers are widened");
    match column_type {
        ColumnType::SmallInt | ColumnType::Integer => widened(),
        ColumnType::Real | ColumnType::Double => {
            let one_of_equal = |value: f64| match value {
                // Both zeros.
                0.0 => 0.0,
                value if value.is_nan() => f64::NAN,
                value => value,
            };
            Arc::new(widened().as_primitive::<Float64Type>().unary::<_, Float64Type>(one_of_equal) as Float64Array)
        }
        ColumnType::Numeric { .. } => {
            let integers = array.as_primitive::<Decimal128Type>().clone();
            Arc::new(integers.with_data_type(comparable_type(column_type)))
        }
        ColumnType::Char(_) => {
            let trimmed = array.as_string_view().iter().map(|text| text.map(|text| text.trim_end_matches(' ')));
            Arc::new(trimmed.collect::<StringViewArray>())
        }
        ColumnType::Encoded { .. } => {
            let texts = array.as_binary_view().iter().map(|bytes| bytes.map(numeric_text));
            Arc::new(texts.collect::<StringViewArray>())
        }
        _ => Arc::clone(array),
    }
}

/// The smallest and the largest of a column of integers, nulls aside; `None` for other columns, and without values.
pub(super) fn integer_bounds(array: &ArrayRef) -> Option<(i64, i64)> {
    let integers = array.as_primitive_opt::<Int64Type>()?;
    Some((arrow::compute::min(integers)?, arrow::compute::max(integers)?))
}

/// The shortest text of an encoded numeric: an integer and a scale, or a tag, a length of four bytes and a text.
fn numeric_text(bytes: &[u8]) -> String {
    const NARROW_BYTES: usize = 1 + 2 + 16;
    let text = match bytes {
        [NUMERIC_TAG, low, high, integer @ ..] if bytes.len() == NARROW_BYTES => {
            let integer = i128::from_le_bytes(integer.try_into().expect("16 bytes are left"));
            let scale = usize::from(u16::from_le_bytes([*low, *high]));
            let digits = format!("{:0>width$}", integer.unsigned_abs(), width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            format!("{}{whole}.{fraction}", if integer < 0 { "-" } else { "" })
        }
        _ => String::from_utf8_lossy(bytes.get(5..).unwrap_or_default()).into_owned(),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrow(scale: u16, integer: i128) -> Vec<u8> {
        [&[NUMERIC_TAG][..], &scale.to_le_bytes(), &integer.to_le_bytes()].concat()
    }

    fn wide(text: &str) -> Vec<u8> {
        [&[7][..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
    }

    #[test]
    fn numerics_are_the_same_text_whatever_digits_they_show() {
        for (bytes, text) in [
            (narrow(0, 0), "0"),
            (narrow(2, 0), "0"),
            (narrow(2, 150), "1.5"),
            (narrow(1, -15), "-1.5"),
            (narrow(3, -5), "-0.005"),
            (narrow(0, 100), "100"),
            (wide("1000000000000000000000000000000000000000000.500"), "1000000000000000000000000000000000000000000.5"),
            (wide("100.0000000000000000000000000000000000000000000"), "100"),
            (wide("NaN"), "NaN"),
            (wide("Infinity"), "Infinity"),
        ] {
            assert_eq!(numeric_text(&bytes), text);
        }
    }
}
