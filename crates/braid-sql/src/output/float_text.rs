//! Floats as C's `%g` prints them: in messages with six digits that count.

/// A float as `%g`, with zeros before it up to a width.
pub fn general(value: f64, width: usize) -> String {
    if value.is_nan() {
        return format!("{:>width$}", "NaN");
    }
    if value.is_infinite() {
        return format!("{:>width$}", if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let text = general_digits(value, 6);
    match text.strip_prefix('-') {
        Some(digits) => format!("-{digits:0>0$}", width.saturating_sub(1)),
        None => format!("{text:0>width$}"),
    }
}

/// A finite float as `%.*g` with so many digits that count, at least one.
pub fn general_digits(value: f64, digits: i32) -> String {
    let scientific = format!("{value:.*e}", (digits - 1) as usize);
    let (mantissa, exponent) = scientific.split_once('e').expect("an exponent is printed");
    let exponent: i32 = exponent.parse().expect("it is a small number");
    if (-4..digits).contains(&exponent) {
        without_zeros(&format!("{value:.*}", (digits - 1 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
    }
}

fn without_zeros(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::general;

    #[test]
    fn floats_look_as_with_printf() {
        for (value, width, text) in [
            (1e20, 0, "1e+20"),
            (1.5, 2, "1.5"),
            (5.0, 2, "05"),
            (100.25, 2, "100.25"),
            (1e10, 2, "1e+10"),
            (0.0, 0, "0"),
            (123_456.7, 0, "123457"),
            (-1.0, 2, "-1"),
            (0.00001, 0, "1e-05"),
        ] {
            assert_eq!(general(value, width), text);
        }
    }
}
