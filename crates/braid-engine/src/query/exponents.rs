//! Numbers written with an exponent above their digits (`1e15`), written out.
//!
//! DataFusion reads them as numerics of a negative scale, `1 * 10^15`. Casts then divide by `10^-15`, which no float is
//! exactly: `1e15::double precision` would be 999999999999999.9. Written out, as PostgreSQL's `numeric_in` does, they are
//! numerics of scale 0.

/// Digits of the widest number that is written out: Arrow's widest decimal.
const DIGITS_MAX: i64 = 76;

/// `number` without its exponent, where that is above its digits after the point.
pub(super) fn written_out(number: &str) -> Option<String> {
    let (mantissa, exponent) = number.split_once(['e', 'E'])?;
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let zeros = exponent - fraction.len() as i64;
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if zeros <= 0 || zeros > DIGITS_MAX || digits.is_empty() || digits.len() as i64 + zeros > DIGITS_MAX {
        return None;
    }
    // The point makes it a numeric: without, it would be an integer or a bigint.
    Some(format!("{digits}{}.", "0".repeat(zeros as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_above_the_digits_are_written_out() {
        for (number, expected) in [
            ("1e15", Some("1000000000000000.")),
            ("1.5E3", Some("1500.")),
            (".5e2", Some("50.")),
            ("1e+2", Some("100.")),
            ("12.5e1", None),
            ("1e-5", None),
            ("15", None),
            ("0e9", None),
            ("1e400", None),
        ] {
            assert_eq!(written_out(number).as_deref(), expected, "{number}");
        }
    }
}
