//! Functions that return rows, such as `generate_series`.
//!
//! Rows are made when they are asked for, so that a series of 10^12 numbers takes no memory, and a LIMIT ends it early. An
//! iterator owns what it needs of the call. Errors of the arguments come with the call, others with the row that they belong to.
//!
//! | module | contents |
//! |---|---|
//! | [`series`] | `generate_series` |
//! | [`arrays`] | `unnest`, `generate_subscripts` |
//! | [`channels`] | what a session listens on |
//! | [`empty_sets`] | what there is none of |
//! | [`texts`] | parts of texts, matches of regular expressions, options |
//! | [`json`] | members of json and jsonb, what jsonpaths find |
//! | [`json_records`], `json_values` | objects of json and jsonb as rows of given columns |
//! | [`key_words`] | the words of the grammar |
//! | [`privileges`] | the privileges of access control lists |
//! | [`time_zones`] | names and abbreviations of time zones |
//! | [`token_types`] | the token types of the text search parser |

pub mod arrays;
pub mod channels;
pub mod empty_sets;
pub mod json;
pub mod json_records;
mod json_values;
pub mod key_words;
pub mod privileges;
pub mod series;
pub mod texts;
pub mod time_zones;
pub mod token_types;

use std::sync::LazyLock;

use crate::functions::{Call, Computed, found, named};
use crate::pg_catalog::{CatalogMap, FunctionEntry};
use crate::{SqlError, Value};

/// Rows, each with one value per column. After an error there are no more.
pub type Rows = Box<dyn Iterator<Item = Result<Vec<Value>, SqlError>> + Send>;

/// Computes a function that returns rows. Arguments are as those of an [`Implementation`](super::Implementation): null only if the
/// function is not strict, because a strict one returns no rows for null. `result_type` is that of a row's only column, or `record`.
pub type SetImplementation = fn(&[Value], &Call<'_>) -> Result<Rows, SqlError>;

/// Implementations by name, as [`Implementations`](super::Implementations).
pub type SetImplementations = &'static [(&'static str, SetImplementation)];

/// The tables of this room.
const FAMILIES: &[SetImplementations] = &[
    arrays::FUNCTIONS,
    channels::FUNCTIONS,
    empty_sets::FUNCTIONS,
    json::FUNCTIONS,
    json_records::FUNCTIONS,
    key_words::FUNCTIONS,
    privileges::FUNCTIONS,
    series::FUNCTIONS,
    texts::FUNCTIONS,
    time_zones::FUNCTIONS,
    token_types::FUNCTIONS,
];

static BY_NAME: LazyLock<CatalogMap<&'static str, SetImplementation>> =
    LazyLock::new(|| named(FAMILIES.iter().copied().flatten()));

/// A function that returns rows.
pub type SetFunction = Computed<SetImplementation>;

impl SetFunction {
    /// A function of the catalog; `None` if Braid does not have it.
    pub fn of(entry: &FunctionEntry) -> Option<Self> {
        set_implementation_of(entry).map(|implementation| Self { id: entry.id, implementation })
    }

    /// Its rows.
    pub fn rows(self, arguments: &[Value], call: &Call<'_>) -> Result<Rows, SqlError> {
        (self.implementation)(arguments, call)
    }
}

/// What computes a function that returns rows; `None` if Braid does not have it.
pub fn set_implementation_of(function: &FunctionEntry) -> Option<SetImplementation> {
    found(&BY_NAME, function)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::pg_catalog::{TypeId, pg_catalog};

    #[test]
    fn every_set_implementation_belongs_to_a_function() {
        // A function of one record gives a row in FROM.
        let known = pg_catalog()
            .functions()
            .filter(|function| function.returns_set || [TypeId::RECORD, TypeId::ANYELEMENT].contains(&function.result));
        let known: HashSet<String> =
            known.map(|function| function.symbol.map_or_else(|| function.signature(), str::to_owned)).collect();
        let unknown: Vec<_> = BY_NAME.keys().filter(|name| !known.contains(**name)).collect();
        assert!(unknown.is_empty(), "the catalog has no {unknown:?}");
    }
}
