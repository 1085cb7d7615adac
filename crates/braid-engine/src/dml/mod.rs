//! INSERT, UPDATE and DELETE.
//!
//! | module | contents |
//! |---|---|
//! | [`insert`] | INSERT: rows from values or a query into a table |
//! | [`update`], [`delete`] | UPDATE and DELETE |
//! | [`changed_rows`] | the rows that these two change: found, locked, deleted, added again |
//! | [`values`] | `VALUES (…), (…)` of literals and parameters, without a plan |
//! | [`assignment`] | conversion of rows to the columns of a table |
//! | [`row_checks`] | NOT NULL and CHECK |
//! | [`defaults`] | DEFAULT: the values of missing columns |

pub(crate) mod assignment;
mod changed_rows;
pub(crate) mod defaults;
mod delete;
mod insert;
pub(crate) mod row_checks;
mod update;
mod values;

pub(crate) use delete::{delete, prepare_delete};
pub(crate) use insert::{execute, prepare};
pub(crate) use update::{prepare_update, update};
