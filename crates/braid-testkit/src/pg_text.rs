//! Values as PostgreSQL prints them (its text format, `DateStyle` ISO, `IntervalStyle` postgres).
//!
//! The server has an encoder of its own for the wire, with every type and both formats. This one is written apart from
//! it, for the tests' few types, so that a misprint there does not hide itself here.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, IntervalMonthDayNanoType, IntervalUnit};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// A value's text; `None` for null.
pub fn pg_text(column: &dyn Array, row: usize) -> Result<Option<String>, ArrowError> {
    // A column of nothing but nulls has no validity bits to ask.
    if column.is_null(row) || column.data_type() == &DataType::Null {
        return Ok(None);
    }
    let text = match column.data_type() {
        DataType::Boolean => if column.as_boolean().value(row) { "t" } else { "f" }.to_owned(),
        DataType::Float32 => {
            let value = column.as_primitive::<Float32Type>().value(row);
            float_text(f64::from(value), format!("{value:e}"), 6)
        }
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            float_text(value, format!("{value:e}"), 15)
        }
        DataType::Binary => hex(column.as_binary::<i32>().value(row)),
        DataType::LargeBinary => hex(column.as_binary::<i64>().value(row)),
        DataType::BinaryView => hex(column.as_binary_view().value(row)),
        DataType::FixedSizeBinary(16) => uuid_text(column.as_fixed_size_binary().value(row)),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            interval_text(value.months, value.days, value.nanoseconds)
        }
        DataType::List(_) => list_text(column.as_list::<i32>().value(row).as_ref())?,
        _ => {
            let options = FormatOptions::new()
                .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
                .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f+00"));
            let text = ArrayFormatter::try_new(column, &options)?.value(row).try_to_string()?;
            match column.data_type() {
                // chrono prints .500 or .500000 for half a second; PostgreSQL cuts zeros.
                DataType::Timestamp(..) => without_trailing_zeros(&text),
                _ => text,
            }
        }
    };
    Ok(Some(text))
}

/// PostgreSQL's shortest form of a float: exponents of two digits at least, plain digits between 1e-4 and 10^`digits`.
/// `scientific` is Rust's shortest form (`1.5e-7`).
fn float_text(value: f64, scientific: String, digits: i32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let (mantissa, exponent) = scientific.split_once('e').expect("Rust's scientific form has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    if (-4..digits).contains(&exponent) || value == 0.0 {
        return plain_digits(mantissa, exponent);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// `1.5`, -1 gives `0.15`.
fn plain_digits(mantissa: &str, exponent: i32) -> String {
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let text = match usize::try_from(exponent) {
        Err(_) => format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        Ok(exponent) if exponent + 1 >= digits.len() => {
            format!("{digits}{}", "0".repeat(exponent + 1 - digits.len()))
        }
        Ok(exponent) => format!("{}.{}", &digits[..=exponent], &digits[exponent + 1..]),
    };
    format!("{sign}{text}")
}

fn without_trailing_zeros(timestamp: &str) -> String {
    let (text, zone) = timestamp.strip_suffix("+00").map_or((timestamp, ""), |text| (text, "+00"));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    format!("{text}{zone}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

fn uuid_text(bytes: &[u8]) -> String {
    let digits = &hex(bytes)[2..];
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

fn interval_text(months: i32, days: i32, nanoseconds: i64) -> String {
    let unit = |count: i32, name: &str| match count {
        0 => None,
        1 => Some(format!("1 {name}")),
        _ => Some(format!("{count} {name}s")),
    };
    let mut parts: Vec<String> =
        [unit(months / 12, "year"), unit(months % 12, "mon"), unit(days, "day")].into_iter().flatten().collect();
    if nanoseconds != 0 || parts.is_empty() {
        let micros = (nanoseconds / 1000).unsigned_abs();
        let sign = if nanoseconds < 0 { "-" } else { "" };
        let seconds = micros / 1_000_000;
        let time = format!("{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let fraction = format!(".{:06}", micros % 1_000_000);
        parts.push(time + fraction.trim_end_matches('0').trim_end_matches('.'));
    }
    parts.join(" ")
}

fn list_text(values: &dyn Array) -> Result<String, ArrowError> {
    let texts = (0..values.len()).map(|row| Ok(pg_text(values, row)?.unwrap_or_else(|| "NULL".to_owned())));
    Ok(format!("{{{}}}", texts.collect::<Result<Vec<_>, ArrowError>>()?.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_postgresql() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (100.0, "100"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123456789012345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1.5e300, "1.5e+300"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float_text(value, format!("{value:e}"), 15), text);
        }
        assert_eq!(float_text(f64::from(1e6_f32), format!("{:e}", 1e6_f32), 6), "1e+06");
        assert_eq!(float_text(f64::from(0.1_f32), format!("{:e}", 0.1_f32), 6), "0.1");
    }

    #[test]
    fn intervals_print_as_in_postgresql() {
        assert_eq!(interval_text(14, 3, 0), "1 year 2 mons 3 days");
        assert_eq!(interval_text(0, 0, 0), "00:00:00");
        assert_eq!(interval_text(0, 1, 3_661_500_000_000), "1 day 01:01:01.5");
        assert_eq!(interval_text(-1, 0, -1_000_000_000), "-1 mons -00:00:01");
    }

    #[test]
    fn other_values_print_as_in_postgresql() {
        assert_eq!(hex(&[0, 255]), "\\x00ff");
        assert_eq!(uuid_text(&[0x11; 16]), "11111111-1111-1111-1111-111111111111");
        assert_eq!(without_trailing_zeros("2024-01-01 00:00:00.500000+00"), "2024-01-01 00:00:00.5+00");
        assert_eq!(without_trailing_zeros("2024-01-10 00:00:00"), "2024-01-10 00:00:00");
    }
}
