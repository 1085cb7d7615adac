//! Tables: CREATE TABLE, CREATE TABLE AS, DROP TABLE, TRUNCATE.
//!
//! | module | what lives there |
//! |---|---|
//! | [`definition`] | CREATE TABLE's syntax into a definition, and what is refused in it |
//! | [`create`] | CREATE TABLE and CREATE TABLE AS |
//! | [`drop`] | DROP TABLE |
//! | [`truncate`] | TRUNCATE |

mod create;
pub(crate) mod definition;
mod drop;
mod truncate;

pub(crate) use crate::table_names::Missing;
pub(crate) use create::{Rows, create_table, create_table_as};
pub(crate) use drop::drop_tables;
pub(crate) use truncate::truncate;
