//! The rows of an answer as canonical text, which makes the answers of different engines comparable.
//!
//! Canonical text: null is `\N`, numbers have no trailing zeros after the point, strings no trailing blanks (char(n) is
//! padded in some engines), booleans are `t` and `f`. Two values agree if their texts are equal, or if they are numbers that
//! differ by at most [`TOLERANCE_UNITS`], because engines return averages and quotients with different numbers of digits. A
//! number with an exponent is a binary float; floats agree within a relative 1e-9.
//!
//! The comparison permits no differences beyond [`RowOrder`]; queries must avoid ties under LIMIT.

use std::fmt;

use arrow::array::{Array, ArrayRef, RecordBatch, cast::AsArray};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// Number of compared digits after the point.
const SCALE: usize = 12;

/// Largest difference between numbers that agree, in units of 10^-12: 10^-6.
const TOLERANCE_UNITS: u128 = 1_000_000;

/// Largest relative difference between binary floats that agree: sums in different orders of a few million values
/// differ by about 1e-12.
const FLOAT_TOLERANCE: f64 = 1e-9;

/// Null in canonical text.
const NULL: &str = "\\N";

/// Whether the order of rows matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// The query specifies the order of its rows.
    Kept,
    /// The order is unspecified.
    Free,
}

/// A query's rows in canonical text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Values, row by row.
    pub rows: Vec<Vec<String>>,
}

/// The difference of two answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Different numbers of rows.
    RowCount {
        /// The expected number.
        expected: usize,
        /// The actual number.
        found: usize,
    },
    /// The first row that differs.
    Row {
        /// Its position, from 1 (in sorted order if the order is unspecified).
        row: usize,
        /// The expected row.
        expected: Vec<String>,
        /// The actual row.
        found: Vec<String>,
    },
    /// A stored digest does not match.
    Digest {
        /// The stored digest.
        expected: String,
        /// The digest of the actual answer.
        found: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RowCount { expected, found } => write!(f, "{expected} rows expected, {found} found"),
            Self::Row { row, expected, found } => {
                write!(f, "row {row}: expected [{}], found [{}]", expected.join(", "), found.join(", "))
            }
            Self::Digest { expected, found } => write!(f, "expected {expected}, found {found}"),
        }
    }
}

impl Answer {
    /// The answer in record batches.
    pub fn from_batches(batches: &[RecordBatch]) -> Result<Self, ArrowError> {
        let mut rows = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
        for batch in batches {
            let columns = batch.columns().iter().map(canonical_column).collect::<Result<Vec<_>, _>>()?;
            rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|c| c[row].clone()).collect()));
        }
        Ok(Self { rows })
    }

    /// Fails unless the answer has this number of rows, for engines that return only the number.
    pub fn check_row_count(&self, expected: usize) -> Result<(), Difference> {
        let found = self.rows.len();
        if found == expected { Ok(()) } else { Err(Difference::RowCount { expected, found }) }
    }

    /// The answer from values in PostgreSQL's text format, as they come over the wire.
    pub fn from_wire<'a>(rows: impl Iterator<Item = Vec<Option<&'a str>>>) -> Self {
        let value = |v: Option<&str>| v.map_or_else(|| NULL.to_owned(), canonical_text);
        Self { rows: rows.map(|row| row.into_iter().map(value).collect()).collect() }
    }

    /// The answer in a stored file: CSV with a header line, values in canonical text.
    pub fn from_csv(text: &str) -> Self {
        let mut rows = csv_records(text);
        rows.remove(0);
        Self { rows }
    }

    /// Whether `found` agrees with this answer.
    pub fn compare(&self, found: &Self, order: RowOrder) -> Result<(), Difference> {
        if self.rows.len() != found.rows.len() {
            return Err(Difference::RowCount { expected: self.rows.len(), found: found.rows.len() });
        }
        let (expected, found) = match order {
            RowOrder::Kept => (self.rows.iter().collect(), found.rows.iter().collect()),
            RowOrder::Free => (self.sorted(), found.sorted()),
        };
        let agree = |a: &[String], b: &[String]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_agree(a, b));
        match expected.iter().zip(&found).position(|(a, b)| !agree(a, b)) {
            None => Ok(()),
            Some(at) => Err(Difference::Row { row: at + 1, expected: expected[at].clone(), found: found[at].clone() }),
        }
    }

    /// `N rows, fnv1a HASH` of the CSV file this answer would be stored as, given its column names.
    pub fn digest(&self, columns: &[&str]) -> String {
        let mut hash = Fnv1a::new();
        hash.record(columns.iter().copied());
        for row in &self.rows {
            hash.record(row.iter().map(String::as_str));
        }
        format!("{} rows, fnv1a {:016x}", self.rows.len(), hash.0)
    }

    fn sorted(&self) -> Vec<&Vec<String>> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_cached_key(|row| row.iter().map(|v| sort_key(v)).collect::<Vec<_>>());
        rows
    }
}

/// Numbers are sorted by their rounded value, so that equal values have the same position.
fn sort_key(value: &str) -> (Option<i128>, String) {
    match decimal(value) {
        Some(number) => (Some(number / (100 * TOLERANCE_UNITS as i128)), String::new()),
        None => (None, value.to_owned()),
    }
}

/// A column's values in canonical text.
fn canonical_column(column: &ArrayRef) -> Result<Vec<String>, ArrowError> {
    if let DataType::Boolean = column.data_type() {
        let text = |v| match v {
            None => NULL.to_owned(),
            Some(true) => "t".to_owned(),
            Some(false) => "f".to_owned(),
        };
        return Ok(column.as_boolean().iter().map(text).collect());
    }
    let options = FormatOptions::new()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f+00"));
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
    // A column of only nulls has no validity bits.
    let value = |row| match column.is_null(row) || column.data_type() == &DataType::Null {
        true => Ok(NULL.to_owned()),
        false => formatter.value(row).try_to_string().map(|text| canonical_text(&text)),
    };
    (0..column.len()).map(value).collect()
}

/// Canonical text of a non-null value in an engine's own text.
fn canonical_text(text: &str) -> String {
    let text = text.trim_end_matches(' ');
    let is_number = decimal(text).is_some() && text.contains('.');
    if is_number { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

/// Whether two values in canonical text agree.
pub fn values_agree(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    match (decimal(a), decimal(b)) {
        (Some(a), Some(b)) => a.abs_diff(b) <= TOLERANCE_UNITS,
        _ => floats_agree(a, b),
    }
}

fn floats_agree(a: &str, b: &str) -> bool {
    let exponent = |text: &str| text.contains(['e', 'E']);
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a_value), Ok(b_value)) if exponent(a) || exponent(b) => {
            (a_value - b_value).abs() <= FLOAT_TOLERANCE * a_value.abs().max(b_value.abs())
        }
        _ => false,
    }
}

/// The value of `-12.345` in units of 10^-12; further digits are cut. `None` for other texts, and for
/// numbers out of i128's range.
fn decimal(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let fraction = format!("{:0<width$.width$}", fraction, width = SCALE);
    let units = format!("{whole}{fraction}").parse::<i128>().ok()?;
    Some(if negative { -units } else { units })
}

/// The records of a CSV text, with quotes as in RFC 4180 and lines that end with a line feed.
fn csv_records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            _ => field.push(c),
        }
    }
    records
}

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo). Digests use it because it takes ten lines in any language.
struct Fnv1a(u64);

impl Fnv1a {
    fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    /// Hashes a CSV record as it would be written.
    fn record<'a>(&mut self, fields: impl Iterator<Item = &'a str>) {
        for (at, field) in fields.enumerate() {
            if at > 0 {
                self.write(b",");
            }
            if field.contains(['"', ',', '\n', '\r']) {
                self.write(format!("\"{}\"", field.replace('"', "\"\"")).as_bytes());
            } else {
                self.write(field.as_bytes());
            }
        }
        self.write(b"\n");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BooleanArray, Decimal128Array, Float64Array, StringViewArray};

    use super::*;

    #[test]
    fn values_agree_up_to_the_tolerance_and_no_further() {
        for (a, b, agree) in [
            ("1", "1", true),
            ("25.5", "25.500001", true),
            ("25.5", "25.500002", false),
            ("53758257134.87", "53758257134.88", false),
            ("-0.000001", "0", true),
            ("1e20", "1.0000000001e20", true),
            ("1e20", "1.00001e20", false),
            ("\\N", "0", false),
            ("\\N", "", false),
            ("BRAZIL", "BRASIL", false),
            ("1996-01-01", "1996-01-02", false),
        ] {
            assert_eq!(values_agree(a, b), agree, "{a} and {b}");
        }
    }

    #[test]
    fn canonical_text_is_the_same_from_arrow_and_from_the_wire() {
        let batch = RecordBatch::try_from_iter([
            (
                "n",
                Arc::new(Decimal128Array::from(vec![Some(1250), None]).with_precision_and_scale(15, 2).unwrap())
                    as ArrayRef,
            ),
            ("f", Arc::new(Float64Array::from(vec![1.0, 0.25])) as ArrayRef),
            ("s", Arc::new(StringViewArray::from(vec!["a  ", "b"])) as ArrayRef),
            ("b", Arc::new(BooleanArray::from(vec![true, false])) as ArrayRef),
        ])
        .unwrap();
        let from_arrow = Answer::from_batches(&[batch]).unwrap();
        let wire =
            [vec![Some("12.50"), Some("1"), Some("a  "), Some("t")], vec![None, Some("0.25"), Some("b"), Some("f")]];
        assert_eq!(from_arrow, Answer::from_wire(wire.into_iter()));
        assert_eq!(from_arrow.rows[0], ["12.5", "1", "a", "t"]);
        assert_eq!(from_arrow.rows[1], ["\\N", "0.25", "b", "f"]);
    }

    #[test]
    fn order_matters_only_where_it_is_kept() {
        let answer = |rows: &[&str]| Answer { rows: rows.iter().map(|r| vec![(*r).to_owned()]).collect() };
        let (a, b) = (answer(&["2", "10", "x"]), answer(&["10", "x", "2"]));
        assert_eq!(a.compare(&b, RowOrder::Free), Ok(()));
        let expected = Difference::Row { row: 1, expected: vec!["2".to_owned()], found: vec!["10".to_owned()] };
        assert_eq!(a.compare(&b, RowOrder::Kept), Err(expected));
        assert_eq!(a.compare(&answer(&["2"]), RowOrder::Free), Err(Difference::RowCount { expected: 3, found: 1 }));
        assert!(answer(&["2", "2", "3"]).compare(&answer(&["2", "3", "3"]), RowOrder::Free).is_err());
    }

    #[test]
    fn stored_files_are_read_back() {
        let answer = Answer::from_csv("a,b\n1,\"x, \"\"y\"\"\"\n\\N,\n");
        assert_eq!(answer.rows, [["1", "x, \"y\""], ["\\N", ""]]);
        // fnv1a of the text above, from the script that writes the files.
        assert_eq!(
            answer.digest(&["a", "b"]),
            format!("2 rows, fnv1a {:016x}", {
                let mut hash = Fnv1a::new();
                hash.write(b"a,b\n1,\"x, \"\"y\"\"\"\n\\N,\n");
                hash.0
            })
        );
        let mut hash = Fnv1a::new();
        hash.write(b"foobar");
        assert_eq!(hash.0, 0x85944171f73967e8, "the reference test vector");
    }
}
