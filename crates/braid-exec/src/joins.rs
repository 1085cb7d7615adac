//! Joins of one query: rows of two sides with equal keys.
//!
//! | module | what lives there |
//! |---|---|
//! | [`hash`] | the hash join's build side, directories of keys, and probing |
//! | `operator` | the probe as an operator of a pipeline |
//! | `spilled` | a join whose sides do not fit into memory, partition by partition |
//! | `side_choice` | which side is built, decided again when the join runs |
//!
//! Joins whose partners depend on the query are in [`crate::sharing`].

pub mod hash;
pub(crate) mod operator;
pub(crate) mod side_choice;
pub(crate) mod spilled;
