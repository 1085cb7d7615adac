//! The 22 queries with the specification's validation parameters, from `queries/*.sql`.

use std::borrow::Cow;

macro_rules! queries {
    ($($number:literal),*) => {
        [$((concat!("q", $number), include_str!(concat!("../../../queries/q", $number, ".sql")))),*]
    };
}

/// Name (`q01` to `q22`) and text of every query, as for scale 1.
pub const QUERIES: [(&str, &str); 22] = queries!(
    "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19",
    "20", "21", "22"
);

/// Q11's FRACTION at scale 1; the specification divides it by the scale factor (2.4.11.3).
const Q11_FRACTION: &str = "0.0001000000";

/// A query's text for a scale. Panics unless `1 <= number <= 22`.
pub fn query(number: usize, scale: f64) -> Cow<'static, str> {
    let (_, text) = QUERIES[number.checked_sub(1).expect("queries are numbered from 1")];
    match number {
        11 => Cow::Owned(text.replace(Q11_FRACTION, &format!("{:.10}", 0.0001 / scale))),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_eleventh_query_depends_on_the_scale() {
        for number in 1..=22 {
            assert_eq!(query(number, 1.0) == query(number, 0.01), number != 11, "q{number}");
        }
        assert!(query(11, 0.01).contains("0.0100000000"));
        assert!(query(11, 1.0).contains(Q11_FRACTION));
    }
}
