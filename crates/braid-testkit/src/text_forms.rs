//! PostgreSQL's text of single values (`DateStyle` ISO, `IntervalStyle` postgres), from what Arrow or the wire's binary
//! form say they are.
//!
//! The server has encoders of its own. These are written apart from them, so that a mistake there does not hide itself
//! here. Sources: `float8out`, `EncodeInterval`, `array_out` and `record_out` of PostgreSQL.

/// PostgreSQL's text of a `double precision`.
pub fn float8_text(value: f64) -> String {
    float_text(value, &format!("{value:e}"), 15)
}

/// PostgreSQL's text of a `real`.
pub fn float4_text(value: f32) -> String {
    float_text(f64::from(value), &format!("{value:e}"), 6)
}

/// The shortest form of a float: exponents of two digits at least, plain digits between 1e-4 and 10^`digits`.
/// `scientific` is Rust's shortest form (`1.5e-7`).
fn float_text(value: f64, scientific: &str, digits: i32) -> String {
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

/// PostgreSQL's text of a `bytea`.
pub fn bytea_text(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// PostgreSQL's text of a `uuid`.
pub fn uuid_text(bytes: &[u8; 16]) -> String {
    let digits = &bytea_text(bytes)[2..];
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// Hours, minutes and seconds of a number of microseconds, which is not negative.
pub fn time_text(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    match micros % 1_000_000 {
        0 => time,
        fraction => format!("{time}.{}", format!("{fraction:06}").trim_end_matches('0')),
    }
}

/// PostgreSQL's text of an `interval`. A part above zero has a sign where the part before it is below zero.
pub fn interval_text(months: i32, days: i32, micros: i64) -> String {
    let mut parts = Vec::new();
    let mut is_before = false;
    for (count, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if count != 0 {
            let sign = if is_before && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            parts.push(format!("{sign}{count} {unit}{plural}"));
            is_before = count < 0;
        }
    }
    if micros != 0 || parts.is_empty() {
        let sign = match (micros < 0, is_before) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        parts.push(format!("{sign}{}", time_text(micros.unsigned_abs())));
    }
    parts.join(" ")
}

/// One dimension of an array, from the texts of its elements; `None` is null.
pub fn array_text(elements: impl IntoIterator<Item = Option<String>>) -> String {
    let element = |element: Option<String>| match element {
        None => "NULL".to_owned(),
        Some(text) if text.is_empty() || text.eq_ignore_ascii_case("null") || text.contains(needs_quotes_in_array) => {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        }
        Some(text) => text,
    };
    dimension_text(elements.into_iter().map(element))
}

/// What is above the last dimension of an array: the dimensions in it as they are.
pub fn dimension_text(inner: impl Iterator<Item = String>) -> String {
    format!("{{{}}}", inner.collect::<Vec<_>>().join(","))
}

fn needs_quotes_in_array(c: char) -> bool {
    matches!(c, '{' | '}' | '"' | ',' | '\\') || is_blank(c)
}

/// A record from the texts of its fields; `None` is null.
pub fn record_text(fields: impl IntoIterator<Item = Option<String>>) -> String {
    let field = |field: Option<String>| match field {
        None => String::new(),
        Some(text) if text.is_empty() || text.contains(needs_quotes_in_record) => {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\"\""))
        }
        Some(text) => text,
    };
    format!("({})", fields.into_iter().map(field).collect::<Vec<_>>().join(","))
}

fn needs_quotes_in_record(c: char) -> bool {
    matches!(c, '(' | ')' | '"' | ',' | '\\') || is_blank(c)
}

/// C's `isspace`.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
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
            assert_eq!(float8_text(value), text);
        }
        assert_eq!(float4_text(1e6), "1e+06");
        assert_eq!(float4_text(0.1), "0.1");
    }

    #[test]
    fn intervals_print_as_in_postgresql() {
        assert_eq!(interval_text(14, 3, 0), "1 year 2 mons 3 days");
        assert_eq!(interval_text(0, 0, 0), "00:00:00");
        assert_eq!(interval_text(0, 1, 3_661_500_000), "1 day 01:01:01.5");
        assert_eq!(interval_text(-1, 0, -1_000_000), "-1 mons -00:00:01");
        assert_eq!(interval_text(-13, 3, 1_000_000), "-1 years -1 mons +3 days 00:00:01");
        assert_eq!(interval_text(0, -3, 1_000_000), "-3 days +00:00:01");
    }

    #[test]
    fn bytes_and_nested_values_print_as_in_postgresql() {
        assert_eq!(bytea_text(&[0, 255]), "\\x00ff");
        assert_eq!(uuid_text(&[0x11; 16]), "11111111-1111-1111-1111-111111111111");
        let texts = ["a", "", "null", "a b", "a\"b", "a\\b", "(", "{"].map(|text| Some(text.to_owned()));
        let elements = texts.clone().into_iter().chain([None]);
        assert_eq!(array_text(elements), r#"{a,"","null","a b","a\"b","a\\b",(,"{",NULL}"#);
        assert_eq!(record_text(texts.into_iter().chain([None])), r#"(a,"",null,"a b","a""b","a\\b","(",{,)"#);
    }
}
