//! Tables that change, and statements on them, for `braid bench histories`.
//!
//! | module | contents |
//! |---|---|
//! | [`tables`] | the tables: their first rows, and random rows that are added |
//! | [`statements`] | random statements: some forms by hand, the random generator, TPC-H |
//! | [`forms`] | the forms by hand, and their constants |
//!
//! Everything here is a pure function of the seed. A statement has the same rows in any execution: LIMIT stands behind an order without
//! ties, and sums of floats are exact. It has at most one kind of error, and the error does not depend on the order in which rows and
//! conditions are evaluated.

pub mod forms;
pub mod statements;
pub mod tables;
