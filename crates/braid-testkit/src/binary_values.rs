//! Values in PostgreSQL's binary form as PostgreSQL prints them: what a driver would read, put into text.
//!
//! Written from PostgreSQL's `*send` functions and apart from the server's encoders. Every byte has to be consumed: a
//! value that is too long is an error like one that is too short.

use arrow::array::timezone::Tz;

use crate::calendar_text::{DAY_US, date_text, timestamp_text};
use crate::text_forms::{
    array_text, bytea_text, dimension_text, float4_text, float8_text, interval_text, record_text, time_text, uuid_text,
};

/// Microseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's dates and timestamps begin.
const EPOCH_US: i64 = 10_957 * DAY_US;

/// The first oid of enumerated types and of their array types.
const FIRST_TYPE_OID: u32 = 0x4000_0000;

/// Bytes that are no value of their type.
pub type Malformed = String;

/// The text of a value of type `oid`, and for `timestamptz` in `zone`.
pub fn text_of_binary(oid: u32, bytes: &[u8], zone: Tz) -> Result<String, Malformed> {
    let mut value = Bytes(bytes);
    let text = value.text(oid, zone).map_err(|reason| format!("type {oid}, {bytes:02x?}: {reason}"))?;
    if value.0.is_empty() { Ok(text) } else { Err(format!("type {oid}, {bytes:02x?}: bytes are left over")) }
}

/// What is left of a value.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("it ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        Ok(self.take(N)?.try_into().expect("as many were taken"))
    }

    fn i16(&mut self) -> Result<i16, Malformed> {
        self.array().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    /// The text of a value of type `oid`, which these bytes begin with.
    fn text(&mut self, oid: u32, zone: Tz) -> Result<String, Malformed> {
        Ok(match oid {
            16 => match self.array()? {
                [0] => "f".to_owned(),
                [1] => "t".to_owned(),
                [other] => return Err(format!("{other} is no boolean")),
            },
            17 => bytea_text(self.take(self.0.len())?),
            18 => match self.array()? {
                [0] => String::new(),
                byte => String::from_utf8(byte.to_vec()).map_err(|e| e.to_string())?,
            },
            19 | 25 | 705 | 1042 | 1043 | 2278 => {
                String::from_utf8(self.take(self.0.len())?.to_vec()).map_err(|e| e.to_string())?
            }
            20 => self.i64()?.to_string(),
            21 => self.i16()?.to_string(),
            23 => self.i32()?.to_string(),
            26 => u32::from_be_bytes(self.array()?).to_string(),
            700 => float4_text(f32::from_be_bytes(self.array()?)),
            701 => float8_text(f64::from_be_bytes(self.array()?)),
            1082 => match self.i32()? {
                i32::MAX => "infinity".to_owned(),
                i32::MIN => "-infinity".to_owned(),
                days => date_text(EPOCH_US + i64::from(days) * DAY_US)?,
            },
            1083 => time_text(self.i64()?.try_into().map_err(|_| "a time is below zero")?),
            1114 => timestamp(self.i64()?, None)?,
            1184 => timestamp(self.i64()?, Some(zone))?,
            1186 => {
                let (micros, days, months) = (self.i64()?, self.i32()?, self.i32()?);
                interval_text(months, days, micros)
            }
            1266 => {
                let time = time_text(self.i64()?.try_into().map_err(|_| "a time is below zero")?);
                // Seconds to the west.
                let zone = -self.i32()?;
                let (sign, seconds) = (if zone < 0 { '-' } else { '+' }, zone.unsigned_abs());
                let rest = match (seconds / 60 % 60, seconds % 60) {
                    (0, 0) => String::new(),
                    (minutes, 0) => format!(":{minutes:02}"),
                    (minutes, seconds) => format!(":{minutes:02}:{seconds:02}"),
                };
                format!("{time}{sign}{:02}{rest}", seconds / 3600)
            }
            1560 | 1562 => self.bits()?,
            1700 => self.numeric()?,
            2249 => self.record(zone)?,
            2950 => uuid_text(&self.array()?),
            114 => String::from_utf8(self.take(self.0.len())?.to_vec()).map_err(|e| e.to_string())?,
            3802 => match self.array()? {
                [1] => String::from_utf8(self.take(self.0.len())?.to_vec()).map_err(|e| e.to_string())?,
                [other] => return Err(format!("{other} is no version of jsonb")),
            },
            FIRST_TYPE_OID.. => self.of_enumerated(zone)?,
            _ => match ARRAYS.iter().find(|(array, _)| *array == oid) {
                Some((_, element)) => self.elements(*element, zone)?,
                None => return Err("no such type is expected".to_owned()),
            },
        })
    }

    /// A label, or an array of labels, which begins with the number of its dimensions and names the type of its elements.
    fn of_enumerated(&mut self, zone: Tz) -> Result<String, Malformed> {
        if self.0.first() != Some(&0) {
            return String::from_utf8(self.take(self.0.len())?.to_vec()).map_err(|e| e.to_string());
        }
        let element = self.0.get(8..12).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        let element = element.filter(|oid| *oid >= FIRST_TYPE_OID).ok_or("it is no array of labels")?;
        self.elements(element, zone)
    }

    /// A length and as many bytes of a value; -1 is null.
    fn sized(&mut self, oid: u32, zone: Tz) -> Result<Option<String>, Malformed> {
        let length = self.i32()?;
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| format!("{length} is no length"))?;
        text_of_binary(oid, self.take(length)?, zone).map(Some)
    }

    fn record(&mut self, zone: Tz) -> Result<String, Malformed> {
        let count = self.i32()?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let oid = self.i32()? as u32;
            fields.push(self.sized(oid, zone)?);
        }
        Ok(record_text(fields))
    }

    fn elements(&mut self, expected: u32, zone: Tz) -> Result<String, Malformed> {
        let (dimension_count, has_nulls, oid) = (self.i32()?, self.i32()?, self.i32()? as u32);
        if oid != expected {
            return Err(format!("its elements are of type {oid}, not {expected}"));
        }
        let (mut lengths, mut bounds, mut begin_at_1) = (Vec::new(), String::new(), true);
        for _ in 0..dimension_count {
            let (length, lower) = (self.i32()?, self.i32()?);
            lengths.push(usize::try_from(length).map_err(|_| "a dimension is below zero")?);
            bounds += &format!("[{lower}:{}]", lower + length - 1);
            begin_at_1 &= lower == 1;
        }
        if lengths.is_empty() {
            return Ok(array_text([]));
        }
        let mut elements = Vec::new();
        for _ in 0..lengths.iter().product() {
            elements.push(self.sized(oid, zone)?);
        }
        if (has_nulls == 1) != elements.contains(&None) {
            return Err(format!("has_nulls is {has_nulls}"));
        }
        let text = nested(&lengths, elements);
        Ok(if begin_at_1 { text } else { format!("{bounds}={text}") })
    }

    /// A number of bits, and the bits.
    fn bits(&mut self) -> Result<String, Malformed> {
        let count = usize::try_from(self.i32()?).map_err(|_| "a number of bits is below zero")?;
        let bytes = self.take(count.div_ceil(8))?;
        Ok(bytes.iter().map(|byte| format!("{byte:08b}")).collect::<String>()[..count].to_owned())
    }

    /// Digits to the base 10000, the first of them worth 10000^weight.
    fn numeric(&mut self) -> Result<String, Malformed> {
        let (digit_count, weight, sign, scale) = (self.i16()?, self.i16()?, self.i16()? as u16, self.i16()?);
        let digits = (0..digit_count).map(|_| self.i16()).collect::<Result<Vec<_>, _>>()?;
        if let Some(digit) = digits.iter().find(|digit| !(0..10_000).contains(*digit)) {
            return Err(format!("{digit} is no digit to the base 10000"));
        }
        let sign = match sign {
            0 => "",
            0x4000 => "-",
            0xC000 => return Ok("NaN".to_owned()),
            0xD000 => return Ok("Infinity".to_owned()),
            0xF000 => return Ok("-Infinity".to_owned()),
            other => return Err(format!("{other:#x} is no sign")),
        };
        // The digit worth 10000^power; those that are not sent are 0.
        let digit = |power: i16| {
            let at = usize::try_from(i32::from(weight) - i32::from(power)).ok();
            format!("{:04}", at.and_then(|at| digits.get(at)).unwrap_or(&0))
        };
        let whole: String = (0..=weight.max(0)).rev().map(digit).collect();
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let scale = usize::try_from(scale).map_err(|_| "a scale is below zero")?;
        if scale == 0 {
            return Ok(format!("{sign}{whole}"));
        }
        let fraction: String = (1..=scale.div_ceil(4) as i16).map(|power| digit(-power)).collect();
        Ok(format!("{sign}{whole}.{}", &fraction[..scale]))
    }
}

/// The text of microseconds since 2000-01-01.
fn timestamp(micros: i64, zone: Option<Tz>) -> Result<String, Malformed> {
    match micros {
        i64::MAX => Ok("infinity".to_owned()),
        i64::MIN => Ok("-infinity".to_owned()),
        _ => timestamp_text(micros.checked_add(EPOCH_US).ok_or("it is beyond the calendar")?, zone),
    }
}

/// The array types of the catalog and their elements.
const ARRAYS: &[(u32, u32)] = &[
    (1000, 16),
    (1001, 17),
    (1002, 18),
    (1003, 19),
    (1005, 21),
    (1007, 23),
    (1009, 25),
    (1014, 1042),
    (1015, 1043),
    (1016, 20),
    (1021, 700),
    (1022, 701),
    (1028, 26),
    (1115, 1114),
    (1182, 1082),
    (1183, 1083),
    (1185, 1184),
    (1187, 1186),
    (1231, 1700),
    (1561, 1560),
    (1563, 1562),
    (2287, 2249),
    (2951, 2950),
    (3807, 3802),
];

/// The elements of an array in row-major order, as text with all its dimensions.
fn nested(lengths: &[usize], elements: Vec<Option<String>>) -> String {
    match lengths {
        [] | [_] => array_text(elements),
        [_, inner @ ..] => {
            let rows = elements.chunks(inner.iter().product());
            dimension_text(rows.map(|row| nested(inner, row.to_vec())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(oid: u32, bytes: &[u8], text: &str) {
        assert_eq!(text_of_binary(oid, bytes, "UTC".parse().unwrap()).as_deref(), Ok(text));
    }

    /// The bytes are what `COPY (SELECT …) TO STDOUT (FORMAT binary)` of PostgreSQL 15 has.
    #[test]
    fn binary_values_print_as_in_postgresql() {
        check(1700, &[0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 0x13, 0x88], "-12.50");
        check(1700, &[0, 1, 0xFF, 0xFF, 0, 0, 0, 4, 0, 5], "0.0005");
        check(1700, &[0, 0, 0, 0, 0, 0, 0, 3], "0.000");
        check(1700, &[0, 1, 0, 2, 0, 0, 0, 0, 0, 1], "100000000");
        check(1082, &(-1_i32).to_be_bytes(), "1999-12-31");
        check(1082, &(-730_120_i32).to_be_bytes(), "0001-12-31 BC");
        check(1114, &1_500_000_i64.to_be_bytes(), "2000-01-01 00:00:01.5");
        check(1184, &0_i64.to_be_bytes(), "2000-01-01 00:00:00+00");
        let array = [[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 23], [0, 0, 0, 2], [0, 0, 0, 1]].concat();
        let elements = [[0, 0, 0, 4], [0, 0, 0, 7], [0xFF; 4]].concat();
        check(1007, &[array, elements].concat(), "{7,NULL}");
    }

    #[test]
    fn bytes_too_few_or_too_many_are_told() {
        let zone = "UTC".parse().unwrap();
        assert!(text_of_binary(23, &[0; 3], zone).unwrap_err().contains("too early"));
        assert!(text_of_binary(23, &[0; 5], zone).unwrap_err().contains("left over"));
        assert!(text_of_binary(16, &[2], zone).unwrap_err().contains("no boolean"));
    }
}
