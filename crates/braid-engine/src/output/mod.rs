//! Columns of values as texts.
//!
//! COPY TO writes values this way, with the output functions of `braid-sql`.

mod column_output;

pub(crate) use braid_sql::output::{datetime, numbers};
pub(crate) use column_output::{BooleanStyle, ColumnOutput};
