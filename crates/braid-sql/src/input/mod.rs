//! PostgreSQL's input functions: the text of a value into the value.
//!
//! COPY, string literals and column defaults all read values this way, so that `'007'` is 7 and `' yes '` is true wherever they
//! stand, and an error names the type and the text.
//!
//! | module | contents |
//! |---|---|
//! | [`numbers`] | integers, floats, numeric |
//! | [`datetime`] | date, timestamp, timestamptz, in the spellings of files |
//! | [`column_values`] | dates, timestamps and intervals of columns |
//! | [`datetime_words`] | the words of dates, times and intervals, and how texts of them are cut |
//! | [`datetime_numbers`], [`datetime_fields`] | all that PostgreSQL reads as a date, a time or a timestamp |
//! | [`datetime_values`] | values of date, time, timetz, timestamp, timestamptz from text |
//! | [`interval_fields`] | all that PostgreSQL reads as an interval |
//! | [`time_zones`] | zones by name, abbreviation and offset |
//! | [`posix_zones`] | zones whose names define them |
//! | [`enums`] | enumerated types |
//! | [`json`] | json, jsonb |
//! | [`json_tokens`] | the tokens of JSON |
//! | [`json_path`] | jsonpath |
//! | [`json_path_beginnings`] | what paths begin with |
//! | [`json_path_accessors`] | their keys, subscripts, filters and methods |
//! | [`json_path_tokens`] | the tokens of paths |
//! | [`records`] | the fields of records |
//! | [`binary`] | values of any type in binary format |
//! | [`bytes`] | boolean, bytea, uuid, the lengths of varchar and char |

pub mod binary;
pub mod bytes;
pub mod column_values;
pub mod datetime;
pub mod datetime_fields;
pub mod datetime_numbers;
pub mod datetime_values;
pub mod datetime_words;
pub mod enums;
pub mod interval_fields;
pub mod json;
pub mod json_path;
mod json_path_accessors;
mod json_path_beginnings;
mod json_path_tokens;
pub(crate) mod json_tokens;
pub mod numbers;
pub mod posix_zones;
pub mod records;
pub mod time_zone_abbreviations;
pub mod time_zones;

pub use crate::value_text::invalid_input;
