//! Searches of key indexes: which rows of a version have a key.
//!
//! | module | contents |
//! |---|---|
//! | [`table_keys`] | the keys of a table |
//! | [`chunk_search`] | rows of some chunks with one of several keys |
//! | [`key_evaluation`] | the run of some rows, whose keys may have to be computed |
//! | [`key_check`] | whether no two rows of a version have the same key |
//! | [`reference_check`] | validation of a foreign key against all rows of a version |

mod chunk_search;
mod key_check;
mod key_evaluation;
mod reference_check;
mod table_keys;

pub(crate) use chunk_search::{KeyMatch, SearchedChunk, all_matches, first_match, run_of_batches};
pub(crate) use key_check::check_key;
pub(crate) use reference_check::{Unsatisfied, columns_of, first_unsatisfied, missing_keys, mixed_nulls};
pub(crate) use table_keys::{Duplicate, duplicate_key, key_id, shape_of, shape_of_columns};
