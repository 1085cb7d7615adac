//! SQL as PostgreSQL means it: types, functions by name and argument types, the binder, expressions and their values.
//!
//! A module imports only modules of its own row and of the rows below it.
//!
//! | module | contents |
//! |---|---|
//! | [`binder`] | syntax into expressions |
//! | [`relation_text`] | relations as text |
//! | [`syntax`] | texts into syntax trees |
//! | [`column_value`] | values of columns from text |
//! | [`evaluation`] | expressions into values |
//! | [`row_counts`] | numbers of rows in LIMIT and OFFSET |
//! | `immutability` | expressions that give the same for ever |
//! | [`expression`] | expressions with their types |
//! | [`relation`] | queries as trees of relational operators |
//! | [`tables`] | what the binder asks about tables |
//! | [`window_functions`] | what computes PostgreSQL's window functions, and frames |
//! | [`aggregates`] | what computes PostgreSQL's aggregates |
//! | [`functions`] | what computes PostgreSQL's functions |
//! | [`resolution`] | which operator, function, cast and common type an expression means |
//! | [`input`], [`output`] | values from text, and as text |
//! | [`types`] | names of types, and what modifiers mean |
//! | [`values`] | the values of SQL's types |
//! | [`formats`] | how a session reads and writes values |
//! | [`value_memory`] | memory for long values |
//! | [`search_path`] | the schemas that names are looked up in |
//! | [`value_text`] | what readers and writers of values share |
//! | [`sql_type`] | types with their modifiers |
//! | [`encodings`] | the encodings of clients, and texts in them |
//! | [`pg_catalog`] | what PostgreSQL has: types, casts, operators, functions |
//! | [`sql_error`], [`sql_state`] | errors as PostgreSQL reports them |
//!
//! It knows neither tables nor sessions: the engine passes what it needs of them.

pub mod aggregates;
pub mod binder;
pub mod column_value;
pub mod encodings;
pub mod evaluation;
pub mod expression;
pub mod formats;
pub mod functions;
mod immutability;
pub mod input;
pub mod output;
pub mod pg_catalog;
pub mod relation;
pub mod relation_text;
pub mod resolution;
pub mod row_counts;
pub mod search_path;
pub mod sql_error;
pub mod sql_state;
pub mod sql_type;
pub mod syntax;
pub mod tables;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod types;
pub mod value_memory;
pub mod value_text;
pub mod values;
pub mod window_functions;

pub use binder::Binder;
pub use column_value::column_value;
pub use evaluation::Evaluation;
pub use expression::Expression;
pub use formats::Formats;
pub use search_path::SearchPath;
pub use sql_error::{SqlError, ViolatedDomain};
pub use sql_state::SqlState;
pub use sql_type::SqlType;
pub use values::Value;
