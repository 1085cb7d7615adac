//! PostgreSQL's hash functions, which also partition its tables: equal values of all numeric types of one kind have one hash.
//!
//! Dates and times are hashed as PostgreSQL keeps them, counted from 2000.
//!
//! | module | contents |
//! |---|---|
//! | `bytes` | the hash of bytes |

mod bytes;

use bytes::{hash, hash_extended};

use crate::functions::arrays::vectors::oids_of_vector;
use crate::functions::{Call, Implementations};
use crate::pg_catalog::TypeId;
use crate::types::type_names::type_name;
use crate::values::{ArrayValue, EnumValue, Numeric};
use crate::{SqlError, SqlState, Value};

/// The tables of this room.
pub const FAMILIES: &[Implementations] = &[FUNCTIONS, EXTENDED];

/// Hashes of 32 bits.
const FUNCTIONS: Implementations = &[
    ("hash_array", short),
    ("hashenum", short),
    ("hash_numeric", short),
    ("hashbpchar", short),
    ("hashchar", short),
    ("hashfloat4", short),
    ("hashfloat8", short),
    ("hashint2", short),
    ("hashint4", short),
    ("hashint8", short),
    ("hashname", short),
    ("hashoid", short),
    ("hashoidvector", |arguments, _| Ok(Value::Int4(hash(&vector_bytes(&arguments[0])?).cast_signed()))),
    ("hashtext", short),
    ("interval_hash", short),
    ("time_hash", short),
    ("timestamp_hash", short),
    ("timetz_hash", short),
    ("uuid_hash", short),
];

/// Hashes of 64 bits with a seed.
const EXTENDED: Implementations = &[
    ("hash_array_extended", long),
    ("hashenumextended", long),
    ("hash_numeric_extended", long),
    ("hashbpcharextended", long),
    ("hashcharextended", long),
    ("hashfloat4extended", long),
    ("hashfloat8extended", long),
    ("hashint2extended", long),
    ("hashint4extended", long),
    ("hashint8extended", long),
    ("hashnameextended", long),
    ("hashoidextended", long),
    ("hashoidvectorextended", |arguments, _| {
        Ok(Value::Int8(hash_extended(&vector_bytes(&arguments[0])?, seed_of(arguments)).cast_signed()))
    }),
    ("hashtextextended", long),
    ("interval_hash_extended", long),
    ("time_hash_extended", long),
    ("timestamp_hash_extended", long),
    ("timetz_hash_extended", long),
    ("uuid_hash_extended", long),
];

/// Microseconds from 1970 to 2000.
const EPOCH_US: i64 = 946_684_800_000_000;
/// Days from 1970 to 2000.
const EPOCH_DAYS: i32 = 10_957;

fn seed_of(arguments: &[Value]) -> u64 {
    arguments[1].as_int8().cast_unsigned()
}

fn short(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let hash = Hash { seed: None }.of(&arguments[0], call.argument_types[0].id)?;
    Ok(Value::Int4((hash as u32).cast_signed()))
}

fn long(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let hash = Hash { seed: Some(seed_of(arguments)) }.of(&arguments[0], call.argument_types[0].id)?;
    Ok(Value::Int8(hash.cast_signed()))
}

/// What PostgreSQL has in the place of a label.
fn oid_of_label(value: EnumValue) -> u32 {
    value.enum_type.definition().label_of_key(value.key).map_or(0, |label| label.oid)
}

fn vector_bytes(vector: &Value) -> Result<Vec<u8>, SqlError> {
    Ok(oids_of_vector(vector)?.flat_map(u32::to_le_bytes).collect())
}

/// A hash of 32 bits, or of 64 with a seed.
#[derive(Clone, Copy)]
struct Hash {
    seed: Option<u64>,
}

impl Hash {
    fn of(self, value: &Value, id: TypeId) -> Result<u64, SqlError> {
        Ok(match value {
            Value::Bool(value) => self.of_word((*value).into()),
            Value::Char(value) => self.of_word(value.cast_signed().into()),
            Value::Int2(value) => self.of_word((*value).into()),
            Value::Int4(value) => self.of_word(*value),
            Value::Oid(value) => self.of_word(value.cast_signed()),
            Value::Date(days) if *days == i32::MAX || *days == i32::MIN => self.of_word(*days),
            Value::Date(days) => self.of_word(days.wrapping_sub(EPOCH_DAYS)),
            Value::Int8(value) | Value::Time(value) => self.of_wide(*value),
            Value::Timestamp(us) | Value::TimestampTz(us) if *us == i64::MAX || *us == i64::MIN => self.of_wide(*us),
            Value::Timestamp(us) | Value::TimestampTz(us) => self.of_wide(us.wrapping_sub(EPOCH_US)),
            Value::TimeTz(us, zone_s) => self.of_wide(*us) ^ self.of_word(*zone_s),
            // The lower half of what intervals are compared by.
            Value::Interval(interval) => self.of_wide(interval.comparable_us() as i64),
            Value::Float4(value) => self.of_float((*value).into()),
            Value::Float8(value) => self.of_float(*value),
            Value::Numeric(value) => self.of_numeric(value),
            Value::Text(text) if id == TypeId::BPCHAR => self.of_bytes(text.trim_end_matches(' ').as_bytes()),
            Value::Text(text) if IS_TEXT.contains(&id) => self.of_bytes(text.as_bytes()),
            Value::Bytea(bytes) => self.of_bytes(bytes),
            Value::Uuid(bytes) => self.of_bytes(bytes),
            Value::Enum(value) => self.of_word(oid_of_label(*value).cast_signed()),
            Value::Array(array) => return self.of_array(array),
            _ => {
                let message = format!("hashes of type {} are not supported", type_name(id));
                return Err(SqlError::unsupported(message));
            }
        })
    }

    fn of_bytes(self, bytes: &[u8]) -> u64 {
        self.seed.map_or_else(|| hash(bytes).into(), |seed| hash_extended(bytes, seed))
    }

    fn of_word(self, word: i32) -> u64 {
        self.of_bytes(&word.to_le_bytes())
    }

    /// The same as that of the `integer` with the same value.
    fn of_wide(self, value: i64) -> u64 {
        let (low, high) = (value as i32, (value >> 32) as i32);
        self.of_word(low ^ if value >= 0 { high } else { !high })
    }

    /// Both zeros have one hash, and all that is not a number.
    fn of_float(self, value: f64) -> u64 {
        match value {
            0.0 => self.seed.unwrap_or(0),
            value if value.is_nan() => self.of_bytes(&f64::NAN.to_le_bytes()),
            value => self.of_bytes(&value.to_le_bytes()),
        }
    }

    /// The digits of base 10000 without zeros at either end, and the exponent of the first one.
    fn of_numeric(self, value: &Numeric) -> u64 {
        if value.is_nan() || value.is_infinite() {
            return self.seed.unwrap_or(0);
        }
        let (digits, exponent) = digits_of(value);
        if digits.is_empty() {
            return self.seed.map_or(u32::MAX.into(), |seed| seed.wrapping_sub(1));
        }
        let bytes: Vec<u8> = digits.iter().flat_map(|digit| digit.to_le_bytes()).collect();
        self.of_bytes(&bytes) ^ i64::from(exponent).cast_unsigned()
    }

    fn of_array(self, array: &ArrayValue) -> Result<u64, SqlError> {
        if array.element == TypeId::JSON {
            let what = if self.seed.is_some() { "an extended hash function" } else { "a hash function" };
            let message = format!("could not identify {what} for type {}", type_name(array.element));
            return Err(SqlError::new(SqlState::UndefinedFunction, message));
        }
        let mut sum = 1_u64;
        for value in &array.values {
            let element = if value.is_null() { 0 } else { self.of(value, array.element)? };
            sum = sum.wrapping_mul(31).wrapping_add(element);
        }
        Ok(sum)
    }
}

/// Types whose values are texts that are equal if their bytes are.
const IS_TEXT: [TypeId; 3] = [TypeId::TEXT, TypeId::VARCHAR, TypeId::NAME];

/// Digits of base 10000 without zeros at either end, and the exponent of the first one.
fn digits_of(value: &Numeric) -> (Vec<i16>, i32) {
    const GROUP: usize = 4;
    let text = value.to_string();
    let unsigned = text.trim_start_matches('-');
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let groups = whole.len().div_ceil(GROUP);
    let digits = format!("{whole:0>0$}{fraction:0<1$}", groups * GROUP, fraction.len().next_multiple_of(GROUP));
    let group = |group: &[u8; GROUP]| group.iter().fold(0_i16, |sum, digit| sum * 10 + i16::from(digit - b'0'));
    let digits: Vec<i16> = digits.as_bytes().as_chunks().0.iter().map(group).collect();
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    let end = digits.iter().rposition(|digit| *digit != 0).map_or(leading, |last| last + 1);
    (digits[leading..end].to_vec(), groups as i32 - 1 - leading as i32)
}
