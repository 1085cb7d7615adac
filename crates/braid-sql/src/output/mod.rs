//! PostgreSQL's output functions: values into their text.
//!
//! COPY TO and casts to text write values this way, so that what one writes the other reads, and so that it is the
//! text PostgreSQL writes: `2024-02-29 13:14:15.5`, `1e+20`, `\x00ff`, `1 year 2 mons 03:04:05`.
//!
//! | module | contents |
//! |---|---|
//! | [`numbers`] | floats and numeric |
//! | [`float_digits`] | which digits a float has |
//! | [`float_text`] | floats in messages |
//! | [`binary`] | the binary format of the wire |
//! | [`datetime`] | times and intervals of columns |
//! | [`enums`] | enumerated types |
//! | [`json`] | JSON |
//! | [`json_path`] | jsonpath |
//! | [`datetime_text`] | dates, times and timestamps over their whole range, with infinities |
//! | [`datetime_styles`], [`interval_styles`] | the other styles of dates, timestamps and intervals |
//! | [`bytes`] | bytea |

pub mod binary;
pub mod bytes;
pub mod datetime;
pub mod datetime_styles;
pub mod datetime_text;
pub mod enums;
pub mod float_digits;
pub mod float_text;
pub mod interval_styles;
pub mod json;
pub mod json_path;
pub mod numbers;
