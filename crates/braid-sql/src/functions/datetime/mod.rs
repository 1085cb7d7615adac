//! Dates, times and intervals.
//!
//! | module | contents |
//! |---|---|
//! | [`dates`] | date |
//! | [`times`] | time, with and without time zone |
//! | [`timestamps`] | timestamp, with and without time zone |
//! | [`intervals`] | interval |
//! | [`interval_scaling`] | intervals times numbers, and units carried over |
//! | [`comparisons`] | dates and timestamps compared with each other |
//! | [`limits`] | ranges of date and time, and their errors |
//! | [`casts`] | casts among dates and times, modifiers |
//! | [`parts`] | `extract`, `date_part` |
//! | [`part_fields`] | the fields that they know |
//! | [`rounding`] | `date_trunc`, `date_bin` |
//! | [`making`] | `make_date` and its like, `age` |
//! | [`formatting`] | `to_char` of timestamps and intervals |
//! | [`parsing`] | `to_date` and `to_timestamp` of texts |
//! | [`standard_parsing`] | the same as the SQL standard has it, for jsonpath |
//! | [`parsed_fields`] | the fields that they read |
//! | [`scanner`] | numbers and words in their texts |
//! | [`template`] | the templates of all these |
//! | [`overlapping`] | OVERLAPS |
//! | [`time_zones`] | AT TIME ZONE |
//! | [`clocks`] | what time it is |

pub mod casts;
pub mod clocks;
pub mod comparisons;
pub mod dates;
pub mod formatting;
pub mod interval_scaling;
pub mod intervals;
pub mod limits;
pub mod making;
pub mod overlapping;
pub mod parsed_fields;
pub mod parsing;
pub mod part_fields;
pub mod parts;
pub mod rounding;
pub mod scanner;
pub mod standard_parsing;
pub mod template;
pub mod time_zones;
pub mod times;
pub mod timestamps;

use crate::functions::Implementations;

/// The tables of this room.
pub const FAMILIES: &[Implementations] = &[
    clocks::FUNCTIONS,
    casts::FUNCTIONS,
    making::FUNCTIONS,
    parts::FUNCTIONS,
    rounding::FUNCTIONS,
    dates::FUNCTIONS,
    comparisons::FUNCTIONS,
    formatting::FUNCTIONS,
    interval_scaling::FUNCTIONS,
    intervals::FUNCTIONS,
    overlapping::FUNCTIONS,
    parsing::FUNCTIONS,
    time_zones::FUNCTIONS,
    times::FUNCTIONS,
    timestamps::FUNCTIONS,
];
