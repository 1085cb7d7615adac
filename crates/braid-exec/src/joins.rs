//! Joins of one query: rows of two sides with equal keys.
//!
//! | module | contents |
//! |---|---|
//! | [`hash`] | the hash join: build side, directories of keys, probe |
//! | `not_in` | what NOT IN needs to know of a build side that spills |
//! | `operator` | the probe as an operator of a pipeline |
//! | `spilled` | a join that spills, partition by partition |
//! | `side_choice` | the choice of the build side at run time |
//!
//! Joins whose partners depend on the query are in [`crate::sharing`].

pub mod hash;
pub(crate) mod not_in;
pub(crate) mod operator;
pub mod side_choice;
pub(crate) mod spilled;
