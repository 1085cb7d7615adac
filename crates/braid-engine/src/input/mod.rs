//! Columns of values from texts.
//!
//! COPY, string literals in INSERT and casts from text all read values this way, with the input functions of `braid-sql`.

mod column_input;

pub(crate) use braid_sql::input::{bytes, datetime, numbers};
pub(crate) use column_input::{ColumnInput, rounded_us};
