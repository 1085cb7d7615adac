//! Types as expressions have them, and their names.
//!
//! | module | contents |
//! |---|---|
//! | [`interval_modifier`] | which fields and digits an interval keeps |
//! | [`sql_type`] | a type with its modifier |
//! | [`type_names`] | names of types, as PostgreSQL prints and as statements write them |
//! | [`type_text`] | a type as a text has it |

pub mod interval_modifier;
pub mod sql_type;
pub mod type_names;
pub mod type_text;

pub use sql_type::SqlType;
