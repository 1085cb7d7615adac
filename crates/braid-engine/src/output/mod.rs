//! Columns of values as texts.
//!
//! COPY TO and casts to text write values this way, with the output functions of `braid-sql`.
//!
//! | module | contents |
//! |---|---|
//! | [`shown_digits`] | digits of quotients |
//! | [`column_output`] | the values of an Arrow array, whatever its type |

mod column_output;
pub mod shown_digits;

pub(crate) use braid_sql::output::{datetime, numbers};
pub(crate) use column_output::{BooleanStyle, ColumnOutput};
