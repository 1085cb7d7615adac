//! Tests of whole queries, and of what planning knows of stored tables.
#![expect(clippy::unwrap_used, reason = "the line number of a failing test is what one needs")]

mod lowered_queries;
mod numerics;
mod running;
mod statistics;
