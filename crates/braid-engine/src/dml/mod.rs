//! INSERT: rows from values or a query into a table, in one atomic commit.
//!
//! | module | what lives there |
//! |---|---|
//! | [`insert`] | the statement |
//! | [`values`] | `VALUES (…), (…)` of literals and parameters, without a plan |
//! | [`assignment`] | the columns of a query as the columns of a table |
//! | [`defaults`] | DEFAULT: what a column gets when nothing is said |

pub(crate) mod assignment;
pub(crate) mod defaults;
mod insert;
mod values;

pub(crate) use insert::{execute, prepare};
