//! The values of SQL's types.
//!
//! | module | contents |
//! |---|---|
//! | [`value`] | a value of any type |
//! | [`numeric`] | numbers with any number of digits |
//! | [`interval`] | months, days and microseconds |
//! | [`array`] | arrays |
//! | [`calendar`] | days of the Gregorian calendar, and the ranges of dates and timestamps |

pub mod array;
pub mod calendar;
pub mod interval;
pub mod numeric;
pub mod value;

pub use array::ArrayValue;
pub use interval::Interval;
pub use numeric::Numeric;
pub use value::Value;
