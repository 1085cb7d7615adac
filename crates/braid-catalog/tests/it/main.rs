//! The system relations against PostgreSQL's.
#![expect(clippy::unwrap_used, reason = "the line number of a failing test is what one needs")]

mod function_table;
mod functions;
mod given_server;
mod named_session;
mod names;
mod references;
mod user_tables;
mod view_rows;
mod views;
