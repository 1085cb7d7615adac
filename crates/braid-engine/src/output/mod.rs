//! PostgreSQL's output functions: values into their text.
//!
//! COPY TO and casts to text write values this way, so that what one writes the other reads, and so that it is the
//! text PostgreSQL writes: `2024-02-29 13:14:15.5`, `1e+20`, `\x00ff`, `1 year 2 mons 03:04:05`.
//!
//! | module | what lives there |
//! |---|---|
//! | [`numbers`] | floats and numeric |
//! | [`float_digits`] | which digits a float has |
//! | [`shown_digits`] | digits of quotients |
//! | [`datetime`] | date, timestamp, timestamptz, interval |
//! | [`column_output`] | the values of an Arrow array, whatever its type |

pub(crate) mod column_output;
pub(crate) mod datetime;
pub mod float_digits;
pub(crate) mod numbers;
pub mod shown_digits;

pub(crate) use column_output::{BooleanStyle, ColumnOutput};
