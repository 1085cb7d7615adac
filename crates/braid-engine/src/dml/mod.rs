//! INSERT: rows from values or a query into a table, in one atomic commit.
//!
//! | module | contents |
//! |---|---|
//! | [`insert`] | the statement |
//! | [`values`] | `VALUES (…), (…)` of literals and parameters, without a plan |
//! | [`assignment`] | conversion of rows to the columns of a table |
//! | [`defaults`] | DEFAULT: the values of missing columns |

pub(crate) mod assignment;
pub(crate) mod defaults;
mod insert;
mod values;

pub(crate) use insert::{execute, prepare};
