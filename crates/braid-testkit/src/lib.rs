//! Crash, differential and SQL logic tests over the whole engine.
//!
//! | module | what lives there |
//! |---|---|
//! | [`sql_logic`] | the engine behind sqllogictest, for the files in `slt/` |
//! | [`pg_text`] | values as PostgreSQL prints them |
//!
//! The tests are in `tests/it`, one binary: the 22 queries of TPC-H against stored answers, the `.slt` files, many
//! sessions at once with cancellations, and a loading process that is killed.

pub mod pg_text;
pub mod sql_logic;
