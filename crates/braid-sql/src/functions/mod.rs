//! What computes PostgreSQL's functions, by the names of its C functions.
//!
//! Operators and casts are functions, too: the catalog says which. An implementation gets values of the argument types in the
//! catalog, null only if the function is not strict, and returns a value of the result type. Its errors have PostgreSQL's SQLSTATE
//! and words.
//!
//! | module | contents |
//! |---|---|
//! | [`call`] | what an implementation may ask: the session, the types |
//! | [`ordering`] | the order and the equality of a type |
//! | [`in_range`] | distances within RANGE frames |
//! | [`numbers`] | numbers and booleans |
//! | [`strings`] | texts, patterns, bytes, uuid |
//! | [`datetime`] | dates, times and intervals |
//! | [`arrays`] | arrays |
//! | [`enums`] | enumerated types |
//! | [`nulls`] | how many arguments are null |
//! | [`records`] | rows as values |
//! | [`sending`] | values in binary format |
//! | [`hashes`] | hashes of values |
//! | [`objects`] | types, functions and operators by name and number |
//! | [`advisory`] | advisory locks |
//! | [`backends`] | what sessions do to others |
//! | `notifying` | what a transaction tells the sessions that listen |
//! | `sequences` | the numbers of sequences |
//! | [`session`] | the session and its settings |
//! | [`sets`] | functions that return rows |
//! | [`json`] | json, jsonb, jsonpath |
//! | [`templates`] | formats of `to_char` and its inverses |
//! | [`in_formats`] | a session with other formats |
//! | [`literal_notes`] | literals of times, as a prepared statement keeps them |
//! | [`text_input`] | texts read by the input functions of their types |

pub mod advisory;
pub mod arrays;
pub mod backends;
pub mod call;
pub mod datetime;
pub mod enums;
pub mod hashes;
pub mod in_formats;
pub mod in_range;
pub mod json;
pub mod literal_notes;
mod notifying;
pub mod nulls;
pub mod numbers;
pub mod objects;
pub mod ordering;
pub mod records;
pub mod sending;
mod sequences;
pub mod session;
pub mod sets;
pub mod strings;
pub mod templates;
pub mod text_input;

use std::fmt;
use std::sync::LazyLock;

pub use crate::value_memory::{LimitedMemory, UnlimitedMemory, ValueMemory};
pub use call::{
    Call, ColumnOf, DATABASE_ID, HeldPrivileges, Notifications, ObjectNames, PrivilegedObject, RoleRight, RowTypeName,
    Sequences, SessionFacts, SettingChanges,
};
pub use sets::{Rows, SetImplementation, set_implementation_of};

use crate::pg_catalog::{CatalogMap, FunctionEntry, FunctionId, pg_catalog};
use crate::{SqlError, Value};

/// Computes a function.
pub type Implementation = fn(&[Value], &Call<'_>) -> Result<Value, SqlError>;

/// Implementations by name: the symbol of the catalog, or `name(type type)` for a function that PostgreSQL has in SQL.
pub type Implementations = &'static [(&'static str, Implementation)];

/// The tables of all rooms.
const ROOMS: &[&[Implementations]] = &[
    arrays::FAMILIES,
    datetime::FAMILIES,
    hashes::FAMILIES,
    &[
        enums::FUNCTIONS,
        in_range::FUNCTIONS,
        nulls::FUNCTIONS,
        records::FUNCTIONS,
        sending::FUNCTIONS,
        advisory::FUNCTIONS,
        backends::FUNCTIONS,
        notifying::FUNCTIONS,
        sequences::FUNCTIONS,
        session::FUNCTIONS,
        sets::json_records::RECORDS,
    ],
    json::FAMILIES,
    numbers::FAMILIES,
    objects::FAMILIES,
    strings::FAMILIES,
];

static BY_NAME: LazyLock<CatalogMap<&'static str, Implementation>> =
    LazyLock::new(|| named(ROOMS.iter().copied().flatten().copied().flatten()));

/// Implementations by their names, which differ.
fn named<F: Copy + 'static>(tables: impl Iterator<Item = &'static (&'static str, F)>) -> CatalogMap<&'static str, F> {
    let mut by_name = CatalogMap::default();
    for (name, implementation) in tables {
        assert!(by_name.insert(*name, *implementation).is_none(), "{name} is implemented twice");
    }
    by_name
}

/// A function of the catalog, with what computes it. The same function is equal to itself.
#[derive(Clone, Copy)]
pub struct Computed<I> {
    /// Which one.
    pub id: FunctionId,
    implementation: I,
}

/// A function that returns a value.
pub type Function = Computed<Implementation>;

impl Function {
    /// A function of the catalog; `None` if Braid does not have it.
    pub fn of(entry: &FunctionEntry) -> Option<Self> {
        implementation_of(entry).map(|implementation| Self { id: entry.id, implementation })
    }

    /// A function of Braid's own under the number of another one.
    pub(crate) fn own(id: FunctionId, implementation: Implementation) -> Self {
        Self { id, implementation }
    }

    /// Its result.
    pub fn compute(self, arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
        (self.implementation)(arguments, call)
    }
}

impl<I> PartialEq for Computed<I> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<I> fmt::Debug for Computed<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(pg_catalog().function(self.id).name)
    }
}

/// What computes a function; `None` if Braid does not have it.
pub fn implementation_of(function: &FunctionEntry) -> Option<Implementation> {
    found(&BY_NAME, function)
}

/// What has the name of a function: its symbol, or its signature.
fn found<I: Copy>(by_name: &CatalogMap<&'static str, I>, function: &FunctionEntry) -> Option<I> {
    match function.symbol {
        Some(symbol) => by_name.get(symbol).copied(),
        None => by_name.get(function.signature().as_str()).copied(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_implementation_belongs_to_a_function() {
        let known = |function: &FunctionEntry| function.symbol.map_or_else(|| function.signature(), str::to_owned);
        let known: HashSet<String> = pg_catalog().functions().map(known).collect();
        let unknown: Vec<_> = BY_NAME.keys().filter(|name| !known.contains(**name)).collect();
        assert!(unknown.is_empty(), "the catalog has no {unknown:?}");
    }
}
