//! Searches of key indexes: which rows of a version have a key.
//!
//! | module | contents |
//! |---|---|
//! | [`table_keys`] | the keys of a table |
//! | [`chunk_search`] | rows of some chunks with one of several keys |
//! | [`tree_search`] | the same of chunks whose keys are in a tree |
//! | [`index_shapes`] | what keys of a table are indexed by |
//! | [`tier_choice`] | which runs are merged: the policy |
//! | [`run_merging`] | runs and trees merged into trees |
//! | [`tree_upkeep`] | which trees stay and which go |
//! | [`key_evaluation`] | the run of some rows, whose keys may have to be computed |
//! | [`key_check`] | whether no two rows of a version have the same key; whether trees are right |
//! | [`reference_check`] | validation of a foreign key against all rows of a version |

mod chunk_search;
mod index_shapes;
mod key_check;
mod key_evaluation;
mod reference_check;
mod run_merging;
mod table_keys;
mod tier_choice;
mod tree_search;
mod tree_upkeep;

pub(crate) use chunk_search::{KeyMatch, SearchedChunk, all_matches, first_match, run_of_batches};
pub(crate) use key_check::{check_key, check_key_trees};
pub(crate) use reference_check::{Unsatisfied, columns_of, first_unsatisfied, missing_keys, mixed_nulls};
pub(crate) use run_merging::{Indexed, merge_runs};
pub(crate) use table_keys::{Duplicate, duplicate_key, key_id, shape_of, shape_of_columns};
pub(crate) use tree_upkeep::{keep_trees_of, merge_searched_runs, take_over_trees};
