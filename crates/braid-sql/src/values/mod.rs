//! The values of SQL's types.
//!
//! | module | contents |
//! |---|---|
//! | [`value`] | a value of any type |
//! | [`numeric`] | numbers with any number of digits |
//! | [`interval`] | months, days and microseconds |
//! | [`array`], [`array_limits`] | arrays; how large they may be |
//! | [`enum_value`] | values of enumerated types |
//! | [`record`] | rows as values |
//! | `memory` | how much memory values hold |
//! | [`exact_text`] | texts that are written where they stay |
//! | [`json`] | the trees of jsonb |
//! | [`json_datetime`] | dates and times within a jsonpath |
//! | [`json_path`] | paths in jsonb |
//! | [`calendar`] | days of the Gregorian calendar, and the ranges of dates and timestamps |

pub mod array;
pub mod array_limits;
pub mod calendar;
pub mod enum_value;
pub mod exact_text;
pub mod interval;
pub mod json;
pub mod json_datetime;
pub mod json_path;
mod memory;
pub mod numeric;
pub mod record;
pub mod value;

pub use array::ArrayValue;
pub use enum_value::EnumValue;
pub use interval::Interval;
pub use json::Jsonb;
pub use json_path::JsonPath;
pub use numeric::Numeric;
pub use record::{RecordField, RecordType, RecordValue};
pub use value::Value;
