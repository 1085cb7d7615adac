//! Tests of the whole scheduler.

mod rules;
