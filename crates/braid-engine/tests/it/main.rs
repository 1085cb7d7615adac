//! Scenarios over the whole engine, each on a data directory of its own.
#![expect(clippy::unwrap_used, reason = "the line number of a failing test is what one needs")]

mod alter_table;
mod attaching;
mod checks;
mod copy;
mod deleted_rows;
mod dml;
mod doubtful_commits;
mod enum_types;
mod errors;
mod explain;
mod explosions;
mod failed_passes;
mod group_rules;
mod long_values;
mod maintenance;
mod notices;
mod notifications;
mod prepared_statements;
mod queries;
mod result_cache;
mod returning;
mod sequences;
mod sessions;
mod shared_operators;
mod sharing;
mod sharing_views;
mod slow_readers;
mod system_tables;
mod tables;
mod templates;
mod test_db;
mod transactions;
mod views;
