//! What tables take in memory and on disk, and what old states keep that the newest one does not have.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::catalog::Catalog;
use crate::{ChunkMeta, DeletedRows, Store, TableVersion};

/// A state that somebody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSnapshot {
    /// The number of its commit.
    pub sequence: u64,
    /// Time since it became visible.
    pub age: Duration,
    /// What it keeps that the newest state does not have.
    pub kept: Space,
}

/// Rows and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Rows that are not deleted.
    pub rows: u64,
    /// Deleted rows of chunks that are there.
    pub deleted_rows: u64,
    /// Chunks.
    pub chunks: u64,
    /// Those in memory.
    pub chunks_in_memory: u64,
    /// Bytes of chunks in memory, and of sets of deleted rows.
    pub memory_bytes: u64,
    /// Bytes of chunks in files.
    pub file_bytes: u64,
}

impl Space {
    fn add(&mut self, chunk: &ChunkMeta) {
        self.rows += u64::from(chunk.live_row_count());
        self.deleted_rows += u64::from(chunk.row_count - chunk.live_row_count());
        self.chunks += 1;
        match &chunk.file {
            Some(_) => {
                self.file_bytes += chunk.segments.iter().map(|segment| u64::from(segment.stored_bytes())).sum::<u64>();
            }
            None => {
                self.chunks_in_memory += 1;
                self.memory_bytes += chunk.segments.iter().map(|segment| u64::from(segment.segment_bytes)).sum::<u64>();
            }
        }
        self.memory_bytes += chunk.deleted.as_deref().map_or(0, DeletedRows::bytes);
    }

    /// Adds what a version has that `newest` does not have.
    fn add_besides(&mut self, version: &TableVersion, newest: Option<&TableVersion>) {
        for chunk in version.chunks.iter() {
            match newest.and_then(|newest| newest.chunk(chunk.id)) {
                None => self.add(chunk),
                Some(now) => {
                    let is_shared =
                        |deleted: &&Arc<DeletedRows>| now.deleted.as_ref().is_some_and(|now| Arc::ptr_eq(now, deleted));
                    let own = chunk.deleted.as_ref().filter(|deleted| !is_shared(deleted));
                    self.memory_bytes += own.map_or(0, |deleted| deleted.bytes());
                }
            }
        }
    }
}

impl TableVersion {
    /// What its chunks take.
    pub fn space(&self) -> Space {
        let mut space = Space::default();
        self.chunks.iter().for_each(|chunk| space.add(chunk));
        space
    }
}

impl Store {
    /// The states that somebody reads, oldest first; the newest is the last.
    pub fn live_snapshots(&self) -> Vec<LiveSnapshot> {
        let live = self.shared().live_snapshots.live();
        let newest = self.snapshot();
        let of_state = |(state, since): &(Arc<Catalog>, Instant)| {
            let mut kept = Space::default();
            for version in state.tables() {
                let now = newest.by_id(version.def.id);
                if now.is_none_or(|now| !Arc::ptr_eq(now, version)) {
                    kept.add_besides(version, now.map(|now| &**now));
                }
            }
            LiveSnapshot { sequence: state.sequence(), age: since.elapsed(), kept }
        };
        live.iter().map(of_state).collect()
    }
}
