//! Tests of the crate from outside.
#![expect(clippy::unwrap_used, reason = "the line number of a failing test is what one needs")]

mod aggregates;
mod answers;
mod binding_time;
mod chains;
mod expressions;
mod json_errors;
mod parameters;
mod queries;
mod sets;
mod totality;
mod value_memory;
mod varying_literals;
mod windows;
