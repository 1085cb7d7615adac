//! Tests of whole queries.
#![expect(clippy::unwrap_used, reason = "the line number of a failing test is what one needs")]

mod lowered_queries;
mod running;
