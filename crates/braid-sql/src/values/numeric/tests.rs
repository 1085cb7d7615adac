//! Answers are PostgreSQL 15's.

use std::cmp::Ordering;

use super::*;

fn number(text: &str) -> Numeric {
    Numeric::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn check(result: Result<Numeric, SqlError>, expected: &str) {
    let text = result.map_or_else(|error| format!("{} {error}", error.sqlstate()), |number| number.to_string());
    assert_eq!(text, expected);
}

#[test]
fn texts_keep_their_digits() {
    for (text, expected) in [
        (" 1.50 ", "1.50"),
        ("-.5e3", "-500"),
        ("-0.00", "0.00"),
        ("1e-5", "0.00001"),
        ("1e 5", "100000"),
        ("0000001.500", "1.500"),
        ("+inf", "Infinity"),
        ("nAn", "NaN"),
        ("-170141183460469231731687303715884105729.5", "-170141183460469231731687303715884105729.5"),
    ] {
        assert_eq!(number(text).to_string(), expected);
    }
    for text in ["", ".", "1e", "abc", "+nan", "1..2", "0x10", "infx"] {
        assert_eq!(Numeric::parse(text).unwrap_err().sqlstate(), "22P02", "{text}");
    }
    for text in ["1e131072", "1e-16384", "0e-16384", "0e1073741823", "1e9999999999x"] {
        check(Numeric::parse(text), "22003 value overflows numeric format");
    }
}

#[test]
fn narrow_and_wide_numbers_have_one_representation() {
    let max = Numeric::from(i128::MAX);
    let wide = max.checked_add(&Numeric::ONE).unwrap();
    assert_eq!((wide.unscaled(), wide.signum()), (None, 1));
    assert_eq!(wide.checked_sub(&Numeric::ONE).unwrap(), max);
    let min = Numeric::from(i128::MIN);
    assert_eq!(min.negated(), wide);
    assert_eq!(wide.negated(), min);
}

#[test]
fn order_is_sqls() {
    let ascending =
        ["-Infinity", "-1e50", "-2", "-1.5", "0", "1e-50", "1.0", "1.01", "1e50", "Infinity", "NaN"].map(number);
    for (a, left) in ascending.iter().enumerate() {
        for (b, right) in ascending.iter().enumerate() {
            assert_eq!(left.compare(right), a.cmp(&b), "{left} {right}");
        }
    }
    assert_eq!(number("1.00").compare(&number("1")), Ordering::Equal);
    assert_eq!(number("1.00").normal_form(), number("1").normal_form());
    assert_eq!(number("0.00").normal_form(), Numeric::ZERO);
    let wide = format!("{}.500", "9".repeat(50));
    assert_eq!(number(&wide).normal_form().scale(), Some(1));
}

#[test]
fn modifiers_round_and_refuse() {
    check(number("12.345").with_modifier(4, 2), "12.35");
    check(number("12345").with_modifier(3, -2), "12300");
    check(number("0.0099").with_modifier(2, 4), "0.0099");
    check(number("NaN").with_modifier(2, 1), "NaN");
    check(Numeric::parse_with_modifier("1e-20000", 10, 2), "0.00");
    for (text, precision, scale, detail) in [
        ("9.5", 1, 0, "A field with precision 1, scale 0 must round to an absolute value less than 10^1."),
        ("99.5", 2, 2, "A field with precision 2, scale 2 must round to an absolute value less than 1."),
        ("1.5", 2, 4, "A field with precision 2, scale 4 must round to an absolute value less than 10^-2."),
        ("1e999999", 5, 2, "A field with precision 5, scale 2 must round to an absolute value less than 10^3."),
        ("inf", 3, 1, "A field with precision 3, scale 1 cannot hold an infinite value."),
    ] {
        let error = Numeric::parse_with_modifier(text, precision, scale).unwrap_err();
        assert_eq!((error.sqlstate(), error.detail()), ("22003", Some(detail)));
    }
}

#[test]
fn results_have_postgresqls_scales() {
    let [one, three] = ["1", "3"].map(number);
    check(one.checked_div(&three), "0.33333333333333333333");
    check(number("100000000").checked_div(&three), "33333333.333333333333");
    check(number("-7.50").div_trunc(&number("2")), "-3");
    check(number("-7.5").checked_rem(&number("2.000")), "-1.500");
    check(one.checked_div(&Numeric::ZERO), "22012 division by zero");
    check(number("1e16383").checked_mul(&number("1e-16383")), &format!("1.{}", "0".repeat(16383)));
    check(number("2").sqrt(), "1.414213562373095");
    check(number("0.00002").sqrt(), "0.0044721359549995794");
    check(number("-1").sqrt(), "2201F cannot take square root of a negative number");
    check(number("1").exp(), "2.7182818284590452");
    check(number("6000").exp(), "22003 value overflows numeric format");
    check(number("2").ln(), "0.6931471805599453");
    check(number("0").ln(), "2201E cannot take logarithm of zero");
    check(Numeric::log(&number("2"), &number("8")), "3.0000000000000000");
    check(Numeric::log(&number("10"), &number("1e20")), "20.000000000000000");
    check(number("2").power(&number("0.5")), "1.4142135623730950");
    check(number("0.5").power(&number("17")), "0.0000076293945313");
    check(number("-8").power(&number("0.5")), &format!("2201F {}", powers::complex_power()));
    check(Numeric::factorial(21), "51090942171709440000");
    check(number("12.5").gcd(&number("7.50")), "2.50");
    check(number("12.5").lcm(&number("7.50")), "37.50");
    check(number("55.5").round(-2), "100");
    check(number("-0.5").ceil(), "0");
    check(number("-0.5").floor(), "-1");
}

#[test]
fn doubles_give_and_take_their_digits() {
    for (value, text) in [(0.1, "0.1"), (1e20, "100000000000000000000"), (-0.0, "0"), (1.0 / 3.0, "0.333333333333333")]
    {
        assert_eq!(Numeric::from_f64(value, 15).to_string(), text);
    }
    for (text, value) in [("0.1", 0.1), ("1e300", 1e300), ("-123.456", -123.456), ("1e400", f64::INFINITY)] {
        assert_eq!(number(text).to_f64(), value);
    }
}
