//! The log of commits. A commit is durable when its record is in the log; the manifest is a checkpoint that names the log whose
//! records follow it.
//!
//! | module | contents |
//! |---|---|
//! | [`log_writer`] | the end of the log, where batches are written |
//! | [`recovery`] | opening: the manifest, and the records that follow it |
//!
//! The bytes of a log are described in `log_file.rs`, the records in `manifest/commit_record.rs`; who writes them, in `store_shared/group_commit.rs`.

pub(crate) mod log_writer;
pub(crate) mod recovery;
