//! The names of types, and what their modifiers mean.
//!
//! | module | contents |
//! |---|---|
//! | [`interval_modifier`] | which fields and digits an interval keeps |
//! | [`type_names`] | names of types, as PostgreSQL prints and as statements write them |
//! | [`type_numbers`] | names of users' types in stored texts |
//! | [`type_text`] | a type as a text has it |

pub mod interval_modifier;
pub mod type_names;
pub mod type_numbers;
pub mod type_text;

pub use crate::sql_type::SqlType;
