//! What computes PostgreSQL's functions, by the names of its C functions.
//!
//! Operators and casts are functions, too: the catalog says which. An implementation gets values of the argument types in the
//! catalog, null only if the function is not strict, and returns a value of the result type. Its errors have PostgreSQL's SQLSTATE
//! and words.
//!
//! | module | contents |
//! |---|---|
//! | [`call`] | what an implementation may ask: the session, the types |
//! | [`numbers`] | numbers and booleans |
//! | [`strings`] | texts, patterns, bytes, uuid |
//! | [`datetime`] | dates, times and intervals |
//! | [`arrays`] | arrays |

pub mod arrays;
pub mod call;
pub mod datetime;
pub mod numbers;
pub mod strings;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use call::{Call, SessionFacts};

use crate::pg_catalog::FunctionEntry;
use crate::{SqlError, Value};

/// Computes a function.
pub type Implementation = fn(&[Value], &Call<'_>) -> Result<Value, SqlError>;

/// Implementations by name: the symbol of the catalog, or `name(type type)` for a function that PostgreSQL has in SQL.
pub type Implementations = &'static [(&'static str, Implementation)];

/// The tables of all rooms.
const ROOMS: &[&[Implementations]] = &[arrays::FAMILIES, datetime::FAMILIES, numbers::FAMILIES, strings::FAMILIES];

static BY_NAME: LazyLock<HashMap<&'static str, Implementation>> = LazyLock::new(|| {
    let mut by_name = HashMap::new();
    for (name, implementation) in ROOMS.iter().copied().flatten().copied().flatten() {
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
