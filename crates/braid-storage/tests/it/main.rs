//! The store from outside: what it keeps, through crashes, full disks, damage and concurrent writers.

#![allow(clippy::unwrap_used, reason = "in tests the line number is enough")]

mod access;
mod altered_tables;
mod appends;
mod column_changes;
mod compaction;
mod crashes;
mod damage;
mod deletes;
mod enum_columns;
mod key_trees;
mod keys;
mod kills;
mod model;
mod numeric_columns;
mod opening;
mod power_cuts;
mod schemas;
mod sequences;
mod test_table;
mod views;
mod write_sets;
