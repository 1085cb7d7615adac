//! Tests over the whole engine, in one binary: linking takes time.

#![allow(clippy::unwrap_used, reason = "in tests the line number is enough")]

mod concurrency;
mod crash;
mod disk_full;
mod reopen;
mod small_tpch;
mod sql_logic;
mod tpch_answers;
