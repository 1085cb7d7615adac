//! The stored answers of the 22 queries, in `answers/`. `bench/peers/make_answers.py` makes them; DuckDB and PostgreSQL agree on
//! them. Long answers are stored as digests.

use crate::BenchError;
use crate::drivers::client::Client;
use crate::workloads::answer::{Answer, Difference, RowOrder};
use crate::workloads::tpch::query;

/// The scales with stored answers.
pub const STORED_SCALES: [f64; 2] = [0.01, 1.0];

/// A stored answer.
enum Stored {
    /// All rows, as CSV.
    Rows(&'static str),
    /// Column names, and number of rows and hash of the CSV.
    Digest(&'static [&'static str], &'static str),
}

const Q16_COLUMNS: &[&str] = &["p_brand", "p_type", "p_size", "supplier_cnt"];

macro_rules! rows {
    ($scale:literal: $($number:literal),*) => {
        [$(Stored::Rows(include_str!(concat!("../../answers/sf", $scale, "/q", $number, ".csv")))),*]
    };
}

const SCALE_0_01: [Stored; 22] = rows!(
    "0.01": "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17", "18",
    "19", "20", "21", "22"
);

const SCALE_1_TO_Q15: [Stored; 15] =
    rows!("1": "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15");

const SCALE_1_Q16: Stored = Stored::Digest(Q16_COLUMNS, include_str!("../../answers/sf1/q16.digest"));

const SCALE_1_FROM_Q17: [Stored; 6] = rows!("1": "17", "18", "19", "20", "21", "22");

/// The stored answer of a query; `None` at a scale without answers.
fn stored(number: usize, scale: f64) -> Option<&'static Stored> {
    let at = number - 1;
    if scale == 0.01 {
        return Some(&SCALE_0_01[at]);
    }
    (scale == 1.0).then(|| match at {
        0..15 => &SCALE_1_TO_Q15[at],
        15 => &SCALE_1_Q16,
        _ => &SCALE_1_FROM_Q17[at - 16],
    })
}

/// Runs a query and compares its answer with the stored one, including the order of rows: all 22 queries specify an order
/// without ties in the stored answers.
pub async fn check_query(client: &mut dyn Client, number: usize, scale: f64) -> Result<(), BenchError> {
    let stored = stored(number, scale).ok_or_else(|| BenchError::BadOption {
        option: "scale",
        value: scale.to_string(),
        reason: format!("answers are stored for {STORED_SCALES:?}"),
    })?;
    let found = client.answer(&query(number, scale)).await?;
    let result = match stored {
        Stored::Rows(csv) => Answer::from_csv(csv).compare(&found, RowOrder::Kept),
        Stored::Digest(columns, expected) => match found.digest(columns) {
            digest if digest == expected.trim_end() => Ok(()),
            digest => Err(Difference::Digest { expected: expected.trim_end().to_owned(), found: digest }),
        },
    };
    result.map_err(|difference| BenchError::WrongAnswer {
        query: format!("q{number:02} at scale {scale}"),
        difference: difference.to_string(),
    })
}
