//! Tests of whole queries, and of what planning knows of stored tables.
#![expect(clippy::unwrap_used, reason = "the line number of a failing test is what one needs")]

mod accumulations;
mod chains;
mod common_tables;
mod disk_tables;
mod intervals;
mod long_values;
mod lowered_queries;
mod memory_tables;
mod numerics;
mod random_forms;
mod random_queries;
mod running;
mod statistics;
mod stored_queries;
mod windows;
