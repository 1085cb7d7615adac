//! Key indexes: UNIQUE and PRIMARY KEY, enforced.
//!
//! The index of a key is a sorted run of keys and rows for each chunk ([`KeyRun`]). A run is a function of its chunk, and chunks never
//! change, so it is right in every version that has the chunk: for transactions, snapshots and merged chunks nothing is to be kept up. Whether
//! a row that it leads to is still there, the version says.
//!
//! | module | contents |
//! |---|---|
//! | [`key_def`] | the definition of a key |
//! | [`key_columns`] | values as keys: equal if and only if SQL says so |
//! | [`key_run`] | keys in order, each with its row |
//! | [`key_summary`] | bounds and a filter of a run: what need not be read; which tree has its keys |
//! | [`key_filter`] | a filter of keys |
//! | [`key_tree`] | the keys of many chunks, in a file |
//! | [`kept_trees`] | the trees that outlive the process |
//! | [`search_cache`] | runs, pages and segments in memory, up to a budget |
//! | [`pending_keys`] | the keys that a transaction is about to add |
//!
//! Runs are searched, made and merged into trees by [`crate::key_search`].

mod kept_trees;
mod key_columns;
mod key_def;
mod key_filter;
mod key_run;
mod key_summary;
mod key_tree;
mod pending_keys;
mod search_cache;

pub use key_columns::{ShapeId, is_key_type, is_same_key_type};
pub use key_def::{KEY_COLUMNS_MAX, KEYS_MAX, KeyDef, KeyForm, KeyKind, KeyMember, KeyNulls, MemberSource};

pub(crate) use kept_trees::{KeptTrees, TreesInUse};
pub(crate) use key_columns::{KeyShape, key_values};
pub(crate) use key_run::{KEY_BYTES_MAX, KeyRun, KeyTooLong};
pub(crate) use key_summary::{ChunkKeys, KeySummary, KnownRun, TreeShare};
pub(crate) use key_tree::{
    CHUNKS_MAX, KeySource, KeyTree, KeyTreeId, LeafCursor, MergeError, MergedKeys, TreeError, TreeLocation,
    hash_of_run, keys_of_chunks, write_tree,
};
pub use key_tree::{ChunkMark, HeaderFault, PAGE_BYTES, PageFault, TreeChunk, TreeHeader, TreePage, TreePlace};
pub(crate) use pending_keys::{AddedKeys, KeyId, PendingKeys};
pub(crate) use search_cache::SearchCache;
