//! Key trees: the keys of many chunks in one file, as a B+tree that is written once.
//!
//! The index of a key is a sorted run for each chunk (`key_run.rs`). A table has many chunks: to search each of their runs for a key, and
//! to have each of them in memory, costs the more the larger the table is. So runs are merged, as those of an LSM-tree are (O'Neil and others:
//! The Log-Structured Merge-Tree, 1996), into trees whose number grows with the logarithm of the table's size.
//!
//! A tree is a function of its chunks, as a run is, and never changes. Each chunk knows which tree has its keys
//! ([`crate::key_index::TreeShare`]); what a tree says of chunks that a version does not have is passed over. So trees need no commit and no
//! log. A tree that is lost or damaged is forgotten, and its chunks are indexed again.
//!
//! | module | contents |
//! |---|---|
//! | [`tree_page`] | the format of a page |
//! | [`tree_header`] | the format of the header |
//! | [`tree_writer`] | writes a tree bottom-up |
//! | [`tree_file`] | a tree that is open: its life, searches |
//! | [`tree_scan`] | all keys of a tree, in order |
//! | [`tree_check`] | whether a file is as it was written |
//! | [`merged_keys`] | the keys of several runs and trees, in order |

mod merged_keys;
#[cfg(test)]
mod tests;
mod tree_check;
mod tree_file;
mod tree_header;
mod tree_page;
mod tree_scan;
mod tree_writer;

use braid_io::IoError;

pub(crate) use merged_keys::{KeySource, MergeError, MergedKeys, write_tree};
pub(crate) use tree_check::{hash_of_run, keys_of_chunks};
pub(crate) use tree_file::{KeyTree, KeyTreeId, LeafCursor, TreeLocation};
pub use tree_header::{ChunkMark, HeaderFault, TreeChunk, TreeHeader};
pub(crate) use tree_page::CHUNKS_MAX;
pub use tree_page::{PAGE_BYTES, PageFault, TreePage, TreePlace};

/// Why a tree cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    #[error(transparent)]
    Io(#[from] IoError),
    #[error(transparent)]
    Page(#[from] PageFault),
    #[error(transparent)]
    Header(#[from] HeaderFault),
    #[error("the filter of a key tree has a wrong checksum")]
    Filter,
}
