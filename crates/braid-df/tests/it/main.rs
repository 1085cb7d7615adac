//! SQL over Braid tables against the same rows in DataFusion's own memory tables, and the plans that lead there.

#![allow(clippy::unwrap_used, reason = "in a test the line number is enough, in its fixture too")]

mod dynamic_filters;
mod execution;
mod filters;
mod fixture;
mod operators;
mod plans;
mod statistics;
