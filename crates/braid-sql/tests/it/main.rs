//! Tests of the crate from outside.
#![expect(clippy::unwrap_used, reason = "the line number of a failing test is what one needs")]

mod expressions;
mod function_table;
mod totality;
