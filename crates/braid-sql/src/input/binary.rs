//! Values in binary format, as the receive functions of PostgreSQL's types read them; [`send`](crate::output::binary::send) writes them.

use crate::input::bytes::NAME_BYTES_MAX;
use crate::input::enums::value_of_label;
use crate::input::json::{check_json, parse_jsonb};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::values::array_limits::{check_dimension_count, checked_count, too_many_elements};
use crate::values::calendar::{DAY_US, DAYS_MAX, DAYS_MIN, TIMESTAMP_MIN_US};
use crate::values::{ArrayValue, Interval, Numeric, Value};
use crate::{SqlError, SqlState};

/// Days from 1970-01-01 to 2000-01-01, from which dates are counted.
const EPOCH_DAYS: i32 = 10_957;

/// The same in microseconds.
const EPOCH_US: i64 = EPOCH_DAYS as i64 * DAY_US;

/// Longest bit string (`VARBITMAXLEN`).
const BITS_MAX: i32 = i32::MAX - 8 + 1;

/// Seconds from UTC that a time may have at most.
const ZONE_SECONDS_MAX: i32 = 15 * 3600 + 59 * 60 + 59;

/// The value of a type that these bytes are.
///
/// # Errors
/// PostgreSQL's for bytes that are no value of the type: 08P01 for too few, 22P03 for too many or for wrong ones; 0A000 for a type
/// without a binary format here.
pub fn receive(id: TypeId, bytes: &[u8]) -> Result<Value, SqlError> {
    let mut message = Message { rest: bytes };
    let value = message.value(id)?;
    match message.rest {
        [] => Ok(value),
        _ => Err(invalid("incorrect binary data format")),
    }
}

fn invalid(message: &str) -> SqlError {
    SqlError::new(SqlState::InvalidBinaryRepresentation, message)
}

fn too_late(type_name: &str) -> SqlError {
    SqlError::new(SqlState::DatetimeOverflow, format!("{type_name} out of range"))
}

/// What has not been read yet.
struct Message<'a> {
    rest: &'a [u8],
}

impl<'a> Message<'a> {
    fn value(&mut self, id: TypeId) -> Result<Value, SqlError> {
        Ok(match id {
            TypeId::BOOL => Value::Bool(self.take(1)? != [0]),
            TypeId::INT2 => Value::Int2(i16::from_be_bytes(self.bytes()?)),
            TypeId::INT4 => Value::Int4(self.int4()?),
            TypeId::INT8 => Value::Int8(self.int8()?),
            TypeId::OID => Value::Oid(u32::from_be_bytes(self.bytes()?)),
            TypeId::FLOAT4 => Value::Float4(f32::from_be_bytes(self.bytes()?)),
            TypeId::FLOAT8 => Value::Float8(f64::from_be_bytes(self.bytes()?)),
            TypeId::NUMERIC => Value::Numeric(self.numeric()?),
            TypeId::TEXT | TypeId::VARCHAR | TypeId::BPCHAR | TypeId::UNKNOWN => Value::text(self.text()?),
            TypeId::NAME => self.name()?,
            TypeId::JSON => {
                let text = self.text()?;
                check_json(text)?;
                Value::text(text)
            }
            TypeId::JSONB => self.jsonb()?,
            TypeId::CHAR => Value::Char(self.take(1)?[0]),
            TypeId::BYTEA => Value::Bytea(self.take_all().into()),
            TypeId::UUID => Value::Uuid(self.bytes()?),
            TypeId::DATE => Value::Date(self.date()?),
            TypeId::TIME => Value::Time(self.time_of_day()?),
            TypeId::TIMETZ => self.time_with_zone()?,
            TypeId::TIMESTAMP => Value::Timestamp(self.timestamp()?),
            TypeId::TIMESTAMPTZ => Value::TimestampTz(self.timestamp()?),
            TypeId::INTERVAL => {
                let (us, days, months) = (self.int8()?, self.int4()?, self.int4()?);
                Value::Interval(Interval { months, days, us })
            }
            TypeId::BIT | TypeId::VARBIT => self.bit_string()?,
            other if other.enum_type().is_some() => value_of_label(self.text()?, other)?,
            other => {
                let entry = pg_catalog().find_type(other).and_then(|_| pg_catalog().element_of_array(other));
                let element = entry.ok_or_else(|| SqlError::unsupported("this type has no binary format here"))?;
                Value::Array(self.array(element)?.into())
            }
        })
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], SqlError> {
        let too_short = || SqlError::new(SqlState::ProtocolViolation, "insufficient data left in message");
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(too_short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn take_all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], SqlError> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("as many bytes as were asked for"))
    }

    fn int4(&mut self) -> Result<i32, SqlError> {
        Ok(i32::from_be_bytes(self.bytes()?))
    }

    fn int8(&mut self) -> Result<i64, SqlError> {
        Ok(i64::from_be_bytes(self.bytes()?))
    }

    fn word(&mut self) -> Result<u16, SqlError> {
        Ok(u16::from_be_bytes(self.bytes()?))
    }

    /// All that is left, as a text in UTF-8 without zeros.
    fn text(&mut self) -> Result<&'a str, SqlError> {
        let bytes = self.take_all();
        let not_encoded = |at: usize| {
            let shown: Vec<String> = bytes[at..].iter().take(1).map(|byte| format!("0x{byte:02x}")).collect();
            let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
            SqlError::new(SqlState::CharacterNotInRepertoire, message)
        };
        let text = std::str::from_utf8(bytes).map_err(|error| not_encoded(error.valid_up_to()))?;
        match memchr::memchr(0, bytes) {
            Some(at) => Err(not_encoded(at)),
            None => Ok(text),
        }
    }

    fn name(&mut self) -> Result<Value, SqlError> {
        let text = self.text()?;
        if text.len() > NAME_BYTES_MAX {
            let detail = format!("Identifier must be less than {} characters.", NAME_BYTES_MAX + 1);
            return Err(SqlError::new(SqlState::NameTooLong, "identifier too long").with_detail(detail));
        }
        Ok(Value::text(text))
    }

    fn jsonb(&mut self) -> Result<Value, SqlError> {
        match self.take(1)? {
            [1] => Ok(Value::jsonb(parse_jsonb(self.text()?)?)),
            [version] => {
                let message = format!("unsupported jsonb version number {version}");
                Err(SqlError::new(SqlState::InternalError, message))
            }
            _ => unreachable!("one byte was taken"),
        }
    }

    fn date(&mut self) -> Result<i32, SqlError> {
        let days = self.int4()?;
        if days == i32::MIN || days == i32::MAX {
            return Ok(days);
        }
        let since_1970 = i64::from(days) + i64::from(EPOCH_DAYS);
        let is_date = (DAYS_MIN..=DAYS_MAX).contains(&since_1970);
        if is_date { Ok(since_1970 as i32) } else { Err(too_late("date")) }
    }

    fn time_of_day(&mut self) -> Result<i64, SqlError> {
        let us = self.int8()?;
        if (0..=DAY_US).contains(&us) { Ok(us) } else { Err(too_late("time")) }
    }

    fn time_with_zone(&mut self) -> Result<Value, SqlError> {
        let us = self.time_of_day()?;
        let zone = self.int4()?;
        if !(-ZONE_SECONDS_MAX..=ZONE_SECONDS_MAX).contains(&zone) {
            return Err(SqlError::new(SqlState::TimeZoneDisplacement, "time zone displacement out of range"));
        }
        Ok(Value::TimeTz(us, zone))
    }

    fn timestamp(&mut self) -> Result<i64, SqlError> {
        let us = self.int8()?;
        if us == i64::MIN || us == i64::MAX {
            return Ok(us);
        }
        // What is beyond the last timestamp in this count would be infinite.
        let since_1970 = us.checked_add(EPOCH_US).filter(|us| (TIMESTAMP_MIN_US..i64::MAX).contains(us));
        since_1970.ok_or_else(|| too_late("timestamp"))
    }

    fn bit_string(&mut self) -> Result<Value, SqlError> {
        let length = self.int4()?;
        if !(0..=BITS_MAX).contains(&length) {
            return Err(invalid("invalid length in external bit string"));
        }
        let length = length as usize;
        let bytes = self.take(length.div_ceil(8))?;
        let bit = |at: usize| if bytes[at / 8] & (0x80 >> (at % 8)) == 0 { '0' } else { '1' };
        Ok(Value::text((0..length).map(bit).collect::<String>()))
    }

    /// The digits in groups of four, of which the first has the weight of `weight` groups; those after `scale` are cut off.
    fn numeric(&mut self) -> Result<Numeric, SqlError> {
        const SCALE_MASK: u16 = 0x3fff;
        let (count, weight, sign, scale) = (self.word()?, self.word()? as i16, self.word()?, self.word()?);
        let special = match sign {
            0x0000 | 0x4000 => None,
            0xC000 => Some("NaN"),
            0xD000 => Some("Infinity"),
            0xF000 => Some("-Infinity"),
            _ => return Err(invalid("invalid sign in external \"numeric\" value")),
        };
        if scale & SCALE_MASK != scale {
            return Err(invalid("invalid scale in external \"numeric\" value"));
        }
        let mut digits = String::with_capacity(4 * usize::from(count));
        for _ in 0..count {
            let group = self.word()?;
            if group > 9999 {
                return Err(invalid("invalid digit in external \"numeric\" value"));
            }
            digits.push_str(&format!("{group:04}"));
        }
        if let Some(text) = special {
            return Numeric::parse(text);
        }
        let whole = (i64::from(weight) + 1).max(0) as usize * 4;
        let leading = (-i64::from(weight) - 1).max(0) as usize * 4;
        let digit = |place: usize| digits.as_bytes().get(place).copied().unwrap_or(b'0') as char;
        let mut text = String::with_capacity(whole + usize::from(scale) + 2);
        if sign == 0x4000 {
            text.push('-');
        }
        text.extend((0..whole.max(1)).map(|place| if whole == 0 { '0' } else { digit(place) }));
        if scale > 0 {
            text.push('.');
            let fraction = |place: usize| match place.checked_sub(leading) {
                Some(place) => digit(whole + place),
                None => '0',
            };
            text.extend((0..usize::from(scale)).map(fraction));
        }
        Numeric::parse(&text)
    }

    fn array(&mut self, element: TypeId) -> Result<ArrayValue, SqlError> {
        let count = self.int4()?;
        let count = usize::try_from(count).map_err(|_| invalid(&format!("invalid number of dimensions: {count}")))?;
        check_dimension_count(count)?;
        if !matches!(self.int4()?, 0 | 1) {
            return Err(invalid("invalid array flags"));
        }
        let sent = self.int4()? as u32;
        if sent != element.oid() {
            return Err(other_element(sent, element));
        }
        let mut dimensions = Vec::with_capacity(count);
        for _ in 0..count {
            let (length, lower) = (self.int4()?, self.int4()?);
            dimensions.push((usize::try_from(length).map_err(|_| too_many_elements())?, lower));
        }
        let count = checked_count(&dimensions)?;
        if count == 0 {
            return Ok(ArrayValue::of(element, Vec::new()));
        }
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(self.element(element)?);
        }
        Ok(ArrayValue { element, dimensions, values })
    }

    fn element(&mut self, id: TypeId) -> Result<Value, SqlError> {
        let length = self.int4()?;
        if length == -1 {
            return Ok(Value::Null);
        }
        let too_short = || invalid("insufficient data left in message");
        let length = usize::try_from(length).map_err(|_| too_short())?;
        let bytes = self.take(length).map_err(|_| too_short())?;
        receive(id, bytes).map_err(|error| match error.state() {
            SqlState::InvalidBinaryRepresentation if error.message() == "incorrect binary data format" => {
                invalid("improper binary format in array element")
            }
            _ => error,
        })
    }
}

fn other_element(sent: u32, expected: TypeId) -> SqlError {
    let name = |id: Option<TypeId>| id.map_or("unknown", |id| pg_catalog().type_entry(id).name);
    let message = format!(
        "binary data has array element type {} ({}) instead of expected {} ({})",
        sent,
        name(pg_catalog().type_of_oid(sent)),
        expected.oid(),
        name(Some(expected))
    );
    SqlError::new(SqlState::DatatypeMismatch, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::text_input::value_of_text;
    use crate::output::binary::send;

    fn bytes_of(hex: &str) -> Vec<u8> {
        crate::input::bytes::parse_hex(hex).unwrap()
    }

    /// The bytes are those of PostgreSQL's send functions: `encode(numeric_send('12.5'), 'hex')` and the like.
    #[test]
    fn values_are_read_as_postgresql_reads_them() {
        for (id, hex, text) in [
            (TypeId::BOOL, "02", "true"),
            (TypeId::INT2, "fffe", "-2"),
            (TypeId::NUMERIC, "0003000140000004007b11d722c5", "-1234567.8901"),
            (TypeId::NUMERIC, "0001ffff000000040001", "0.0001"),
            (TypeId::NUMERIC, "0001fffe000000040001", "0.0000"),
            (TypeId::NUMERIC, "00010001000000000001", "10000"),
            // More digits than the scale has are cut off.
            (TypeId::NUMERIC, "00020000000000010001270f", "1.9"),
            (TypeId::NUMERIC, "00000000f0000000", "-Infinity"),
            (TypeId::DATE, "7fffffff", "infinity"),
            (TypeId::DATE, "00000000", "2000-01-01"),
            (TypeId::TIMESTAMP, "0000000000000001", "2000-01-01 00:00:00.000001"),
            (TypeId::TIMETZ, "00000000000f4240ffffe3e0", "00:00:01+02"),
            (TypeId::BIT, "00000005a8", "10101"),
            (TypeId::JSONB, "015b315d", "[1]"),
            (TypeId(1007), "00000001000000010000001700000002000000010000000400000007ffffffff", "{7,NULL}"),
            (TypeId(1007), "000000000000000000000017", "{}"),
        ] {
            assert_eq!(receive(id, &bytes_of(hex)).unwrap(), value_of_text(id, text).unwrap(), "{hex}");
        }
    }

    #[test]
    fn what_is_sent_is_read_back() {
        for (id, text) in [
            (TypeId::INT8, "-9223372036854775808"),
            (TypeId::FLOAT8, "-1.5e-300"),
            (TypeId::NUMERIC, "123456789012345678901234567890.000000000000000000000000000000012345"),
            (TypeId::NUMERIC, "-0.00000000"),
            (TypeId::DATE, "4713-01-01 BC"),
            (TypeId::TIMESTAMPTZ, "-infinity"),
            (TypeId::TIMESTAMPTZ, "2024-02-29 12:00:00.123456+00"),
            (TypeId::INTERVAL, "-1 years 2 mons -3 days 04:05:06.7"),
            (TypeId::UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            (TypeId::BYTEA, "\\x00ff"),
            (TypeId::VARBIT, "111100001"),
            (TypeId::TEXT, "ä"),
            (TypeId(1231), "[0:1][2:2]={{1.50},{NULL}}"),
        ] {
            let value = value_of_text(id, text).unwrap();
            let mut bytes = Vec::new();
            send(&value, id, &mut bytes).unwrap();
            assert_eq!(receive(id, &bytes).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn other_bytes_are_errors() {
        for (id, hex, code, message) in [
            (TypeId::INT4, "0001", "08P01", "insufficient data left in message"),
            (TypeId::INT4, "0000000100", "22P03", "incorrect binary data format"),
            (TypeId::NUMERIC, "0001000000000000ffff", "22P03", "invalid digit in external \"numeric\" value"),
            (TypeId::NUMERIC, "0000000012340000", "22P03", "invalid sign in external \"numeric\" value"),
            (TypeId::NUMERIC, "0000000000004000", "22P03", "invalid scale in external \"numeric\" value"),
            (TypeId::TEXT, "61ff", "22021", "invalid byte sequence for encoding \"UTF8\": 0xff"),
            (TypeId::TEXT, "6100", "22021", "invalid byte sequence for encoding \"UTF8\": 0x00"),
            (TypeId::DATE, "80000001", "22008", "date out of range"),
            (TypeId::TIME, "000000141dd76001", "22008", "time out of range"),
            (TypeId::TIMESTAMP, "8000000000000001", "22008", "timestamp out of range"),
            (TypeId(1007), "ffffffff0000000000000017", "22P03", "invalid number of dimensions: -1"),
            (TypeId(1007), "000000000000000200000017", "22P03", "invalid array flags"),
            (
                TypeId(1007),
                "000000000000000000000014",
                "42804",
                "binary data has array element type 20 (int8) instead of expected 23 (int4)",
            ),
            (
                TypeId(1007),
                "0000000700000000000000170000",
                "54000",
                "number of array dimensions (7) exceeds the maximum allowed (6)",
            ),
            (
                TypeId(1007),
                "000000010000000000000017000000010000000100000005000000070a",
                "22P03",
                "improper binary format in array element",
            ),
            (
                TypeId(1007),
                "00000001000000000000001700000001000000010000000400",
                "22P03",
                "insufficient data left in message",
            ),
        ] {
            let error = receive(id, &bytes_of(hex)).unwrap_err();
            assert_eq!((error.state().code(), error.message()), (code, message), "{hex}");
        }
    }
}
