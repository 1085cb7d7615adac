//! Crash, differential and SQL logic tests over the whole engine.
//!
//! | module | what lives there |
//! |---|---|
//! | [`sql_logic`] | Braid behind sqllogictest, in this process and over the wire, for the files in `slt/` |
//! | [`wire_client`] | a strict client of both sub-protocols |
//! | [`pg_text`] | Arrow's values as PostgreSQL prints them |
//! | [`binary_values`] | values in PostgreSQL's binary form as PostgreSQL prints them |
//! | [`text_forms`], [`calendar_text`] | what both need: floats, intervals, arrays, records; dates and timestamps |
//!
//! The tests are in `tests/it`, one binary: the 22 queries of TPC-H against stored answers, the `.slt` files, many
//! sessions at once with cancellations, and a loading process that is killed.

pub mod binary_values;
pub mod calendar_text;
pub mod pg_text;
pub mod sql_logic;
pub mod text_forms;
pub mod wire_client;
