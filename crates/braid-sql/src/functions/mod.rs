//! What computes PostgreSQL's functions, by the names of its C functions.
//!
//! Operators and casts are functions, too: the catalog says which. An implementation gets values of the argument types in the
//! catalog, null only if the function is not strict, and returns a value of the result type. Its errors have PostgreSQL's SQLSTATE
//! and words.
//!
//! | module | contents |
//! |---|---|
//! | [`call`] | what an implementation may ask: the session, the types |
//! | [`clocks`] | what time it is |
//! | [`dates`], [`times`], [`timestamps`], [`intervals`] | types of date and time: text, order, arithmetic |
//! | [`interval_scaling`] | intervals times numbers, and units carried over |
//! | [`datetime_comparisons`] | dates and timestamps compared with each other |
//! | [`datetime_limits`] | ranges of date and time, and their errors |
//! | [`date_casts`] | casts among dates and times, modifiers |
//! | [`date_parts`], [`date_part_fields`] | `extract`, `date_part` |
//! | [`date_rounding`] | `date_trunc`, `date_bin` |
//! | [`date_making`] | `make_date` and its like, `age` |
//! | [`formatting_dates`], [`date_template`] | `to_char` of timestamps and intervals |
//! | [`overlapping`] | OVERLAPS |
//! | [`time_zones`] | AT TIME ZONE |
//! | [`arrays`], [`array_comparisons`], [`array_searches`], [`array_texts`], `array_elements` | arrays |
//! | [`booleans`], [`integers`], [`oids`], [`floats`], [`trigonometry`], [`numerics`] | numbers |
//! | [`number_casts`], [`number_comparisons`] | casts and comparisons of numbers |
//! | [`texts`], [`text_order`] | texts: types, casts, lengths; comparisons |
//! | [`substrings`], [`characters`] | parts of texts; characters and their case |
//! | [`patterns`], [`regular_expressions`] | LIKE; regular expressions and SIMILAR TO |
//! | [`bytes`], [`encoding`], [`uuids`] | bytea and digests; encodings; uuid |
//! | [`quoting`], [`formatting`] | SQL's quotes; concat and format |
//! | [`text_results`] | how long texts may be, and values as text |

pub mod array_comparisons;
mod array_elements;
pub mod array_searches;
pub mod array_texts;
pub mod arrays;
pub mod booleans;
pub mod bytes;
pub mod call;
pub mod characters;
pub mod clocks;
pub mod date_casts;
pub mod date_making;
pub mod date_part_fields;
pub mod date_parts;
pub mod date_rounding;
pub mod date_template;
pub mod dates;
pub mod datetime_comparisons;
pub mod datetime_limits;
pub mod encoding;
pub mod floats;
pub mod formatting;
pub mod formatting_dates;
pub mod integers;
pub mod interval_scaling;
pub mod intervals;
pub mod number_casts;
pub mod number_comparisons;
pub mod numerics;
pub mod oids;
pub mod overlapping;
pub mod patterns;
pub mod quoting;
pub mod regular_expressions;
pub mod substrings;
pub mod text_order;
pub mod text_results;
pub mod texts;
pub mod time_zones;
pub mod times;
pub mod timestamps;
pub mod trigonometry;
pub mod uuids;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use call::{Call, SessionFacts};

use crate::pg_catalog::FunctionEntry;
use crate::{SqlError, Value};

/// Computes a function.
pub type Implementation = fn(&[Value], &Call<'_>) -> Result<Value, SqlError>;

/// Implementations by name: the symbol of the catalog, or `name(type type)` for a function that PostgreSQL has in SQL.
pub type Implementations = &'static [(&'static str, Implementation)];

/// The tables of all families.
const FAMILIES: &[Implementations] = &[
    array_comparisons::FUNCTIONS,
    array_searches::FUNCTIONS,
    array_texts::FUNCTIONS,
    arrays::FUNCTIONS,
    clocks::FUNCTIONS,
    date_casts::FUNCTIONS,
    date_making::FUNCTIONS,
    date_parts::FUNCTIONS,
    date_rounding::FUNCTIONS,
    dates::FUNCTIONS,
    datetime_comparisons::FUNCTIONS,
    formatting_dates::FUNCTIONS,
    interval_scaling::FUNCTIONS,
    intervals::FUNCTIONS,
    overlapping::FUNCTIONS,
    time_zones::FUNCTIONS,
    times::FUNCTIONS,
    timestamps::FUNCTIONS,
    booleans::FUNCTIONS,
    integers::ARITHMETIC,
    integers::FUNCTIONS,
    integers::DIVISORS,
    oids::FUNCTIONS,
    floats::ARITHMETIC,
    floats::FUNCTIONS,
    trigonometry::FUNCTIONS,
    numerics::FUNCTIONS,
    number_casts::FUNCTIONS,
    number_comparisons::FUNCTIONS,
    number_comparisons::THREE_WAY,
    number_comparisons::DIFFERENCES,
    number_comparisons::EXTREMES,
    texts::FUNCTIONS,
    text_order::FUNCTIONS,
    substrings::FUNCTIONS,
    characters::FUNCTIONS,
    patterns::FUNCTIONS,
    regular_expressions::FUNCTIONS,
    bytes::FUNCTIONS,
    encoding::FUNCTIONS,
    uuids::FUNCTIONS,
    quoting::FUNCTIONS,
    formatting::FUNCTIONS,
];

static BY_NAME: LazyLock<HashMap<&'static str, Implementation>> = LazyLock::new(|| {
    let mut by_name = HashMap::new();
    for (name, implementation) in FAMILIES.iter().copied().flatten() {
        assert!(by_name.insert(*name, *implementation).is_none(), "{name} is implemented twice");
    }
    by_name
});

/// What computes a function; `None` if Braid does not have it.
pub fn implementation_of(function: &FunctionEntry) -> Option<Implementation> {
    match function.symbol {
        Some(symbol) => BY_NAME.get(symbol).copied(),
        None => BY_NAME.get(function.signature().as_str()).copied(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::pg_catalog::pg_catalog;

    #[test]
    fn every_implementation_belongs_to_a_function() {
        let known = |function: &FunctionEntry| function.symbol.map_or_else(|| function.signature(), str::to_owned);
        let known: HashSet<String> = pg_catalog().functions().map(known).collect();
        let unknown: Vec<_> = BY_NAME.keys().filter(|name| !known.contains(**name)).collect();
        assert!(unknown.is_empty(), "the catalog has no {unknown:?}");
    }
}
