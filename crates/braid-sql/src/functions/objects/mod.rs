//! Objects of the catalog by name and number: types, functions, operators and encodings.
//!
//! The numbers are PostgreSQL's. Where Braid does not know what PostgreSQL has under one, such as a table's row type, it refuses it.
//!
//! | module | contents |
//! |---|---|
//! | [`types`] | `regtype`, `pg_typeof`, `format_type` |
//! | [`procedures`] | `regproc`, `regprocedure` |
//! | [`function_texts`] | arguments and results of functions as text |
//! | [`sizes`] | sizes in bytes as text |
//! | [`relations`] | `regclass`, `regnamespace`, `regrole` |
//! | [`storage`] | how much room relations take on disk |
//! | [`privileges`] | privileges of roles |
//! | [`acls`] | access control lists |
//! | [`operators`] | `regoper`, `regoperator` |
//! | [`encodings`] | character encodings |
//! | [`identifiers`] | `parse_ident` |
//! | [`names`] | names with schemas, names with the types of arguments |

pub mod acls;
pub mod encodings;
pub mod function_texts;
pub mod identifiers;
pub mod names;
pub mod operators;
pub mod privileges;
pub mod procedures;
pub mod relations;
pub mod sizes;
pub mod storage;
pub mod types;

use crate::functions::Implementations;
use crate::{SqlError, Value};

/// The tables of this room.
pub const FAMILIES: &[Implementations] = &[
    types::FUNCTIONS,
    relations::FUNCTIONS,
    procedures::FUNCTIONS,
    function_texts::FUNCTIONS,
    operators::FUNCTIONS,
    encodings::FUNCTIONS,
    sizes::FUNCTIONS,
    storage::FUNCTIONS,
    privileges::FUNCTIONS,
    identifiers::FUNCTIONS,
    acls::FUNCTIONS,
];

/// The first number of what users make; those below are PostgreSQL's own.
const FIRST_USER_OBJECT: u32 = 16_384;

/// A number that the catalog does not have, as text.
fn unknown_number(number: u32) -> Result<Value, SqlError> {
    if number < FIRST_USER_OBJECT {
        return Err(SqlError::unsupported(format!("the object with number {number} is not supported")));
    }
    Ok(Value::text(number.to_string()))
}

/// Whether an object is found without its schema: all that are there; null for others.
fn is_visible(number: u32, exists: bool) -> Result<Value, SqlError> {
    match exists {
        true => Ok(Value::Bool(true)),
        false => unknown_number(number).map(|_| Value::Null),
    }
}
