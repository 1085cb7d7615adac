//! Compaction: chunks are written again without their deleted rows.
//!
//! A group of chunks is read and written as a new file while others read and change its table. Its commit puts the new chunks in the place
//! of the old ones: rows that were deleted meanwhile are deleted there, and row locks follow ([`crate::moved_rows`]). So compaction waits
//! for no transaction, none waits for it, and none fails because of it. If one of the chunks has gone meanwhile, or the table has got
//! another definition, its group is given up.
//!
//! A commit for each group, at most a few chunks: what was done stays if the rest fails or is abandoned.

mod chunk_choice;

use std::sync::Arc;

use braid_base::TableId;
use chunk_choice::{ChunkWear, choose};
use futures::future::BoxFuture;

use crate::catalog::TableEntry;
use crate::chunk_reader::read_chunk;
use crate::store_shared::{Commit, CommitLock, StoreShared};
use crate::table_appender::chunk_writer::{ChunkWriter, Durability, WrittenChunks};
use crate::table_appender::row_buffer::RowBuffer;
use crate::write_set::{NextVersion, files_besides};
use crate::{ChunkMeta, RowDeletes, SegmentMeta, Store, StoreError, TableDef, TableVersion};

/// What a compaction has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Chunks that were written again.
    pub chunks: u64,
    /// Deleted rows that no version has from then on.
    pub removed_rows: u64,
    /// Bytes on disk that go with their last reader.
    pub removed_bytes: u64,
    /// Bytes that were written instead.
    pub written_bytes: u64,
    /// Chunks that have gone meanwhile, or whose table was altered.
    pub given_up: u64,
}

impl Store {
    /// Writes the chunks of a table again of whose rows at least this share is deleted, or any at zero. Durable when it returns; dropping
    /// the future leaves what was done so far.
    ///
    /// # Errors
    /// What reading, writing and commits fail with. The table is as it was, or compacted in part: chunks that cannot be read are left
    /// alone.
    pub fn compact(&self, table: TableId, share: f64) -> BoxFuture<'_, Result<Compaction, StoreError>> {
        Box::pin(async move {
            let mut done = Compaction::default();
            let Some(version) = self.snapshot().by_id(table).cloned() else { return Ok(done) };
            let chunks_at = |group: Vec<usize>| group.into_iter().map(|at| Arc::clone(&version.chunks[at])).collect();
            let groups: Vec<Vec<Arc<ChunkMeta>>> =
                choose(&wear_of(&version), share).into_iter().map(chunks_at).collect();
            let def = Arc::clone(&version.def);
            // Chunks that were written again go before the others are.
            drop(version);
            let mut unreadable = None;
            for chunks in groups {
                match compact_group(self.shared(), &def, chunks, &mut done).await {
                    Ok(()) => {}
                    Err(error @ (StoreError::Corrupt { .. } | StoreError::Malformed { .. })) => {
                        unreadable.get_or_insert(error);
                    }
                    Err(error) => return Err(error),
                }
            }
            unreadable.map_or(Ok(done), Err)
        })
    }

    /// Whether [`Self::compact`] would find something to do in a version of a table.
    pub fn is_worn(version: &TableVersion, share: f64) -> bool {
        !choose(&wear_of(version), share).is_empty()
    }
}

fn wear_of(version: &TableVersion) -> Vec<ChunkWear> {
    let wear = |chunk: &Arc<ChunkMeta>| ChunkWear {
        rows: chunk.row_count as usize,
        live: chunk.live_row_count() as usize,
        is_in_memory: chunk.file.is_none(),
    };
    version.chunks.iter().map(wear).collect()
}

async fn compact_group(
    shared: &Arc<StoreShared>,
    def: &Arc<TableDef>,
    chunks: Vec<Arc<ChunkMeta>>,
    done: &mut Compaction,
) -> Result<(), StoreError> {
    let written = write_live_rows(shared, def, &chunks).await?;
    let lock = CommitLock::acquire(shared).await?;
    let newest = lock.catalog();
    let version = newest.by_id(def.id).filter(|version| version.def == *def);
    let now: Option<Vec<&Arc<ChunkMeta>>> =
        version.and_then(|version| chunks.iter().map(|chunk| version.chunk(chunk.id)).collect());
    let (Some(version), Some(now)) = (version, now) else {
        done.given_up += chunks.len() as u64;
        return Ok(());
    };
    let mut deleted_since = RowDeletes::new();
    for (read, now) in chunks.iter().zip(now) {
        if let Some(deleted) = &now.deleted {
            let before = read.deleted.as_ref();
            let since = before.map_or_else(|| (**deleted).clone(), |before| deleted.difference(before));
            deleted_since.insert(read.id, since);
        }
    }
    let entry = newest.entry(def.id).expect("the catalog has the version");
    let first_chunk = entry.next_chunk_id;
    let count = u32::try_from(written.chunks.len()).expect("2^32 chunks are 2^49 rows");
    let next_chunk = first_chunk.checked_add(count).expect("2^32 chunks are 2^49 rows");
    let mut next = NextVersion::of(Some(version), def);
    next.replace(chunks.clone(), &written, first_chunk, deleted_since);
    let used = next.files();
    let removed = files_besides(Some(version), &used);
    let added: Vec<_> = written.file.iter().filter(|file| used.contains(&file.id())).cloned().collect();
    let moved = next.take_moved();
    let sequence = newest.sequence() + 1;
    let mut catalog = newest.numbered(sequence);
    let content = version.content;
    catalog.put(TableEntry::new(Arc::new(next.version(sequence).with_content(content)), next_chunk));
    lock.publish(Commit { catalog, added, removed, moved, locks: None }).await?;
    let bytes_of =
        |segments: &[SegmentMeta]| -> u64 { segments.iter().map(|segment| u64::from(segment.stored_bytes())).sum() };
    done.chunks += chunks.len() as u64;
    done.removed_rows += chunks.iter().map(|chunk| u64::from(chunk.row_count - chunk.live_row_count())).sum::<u64>();
    done.removed_bytes += chunks.iter().map(|chunk| bytes_of(&chunk.segments)).sum::<u64>();
    done.written_bytes += written.chunks.iter().map(|chunk| bytes_of(&chunk.segments)).sum::<u64>();
    Ok(())
}

/// Writes the rows of chunks that are not deleted. There is at least one in each.
async fn write_live_rows(
    shared: &Arc<StoreShared>,
    def: &Arc<TableDef>,
    chunks: &[Arc<ChunkMeta>],
) -> Result<WrittenChunks, StoreError> {
    let mut rows = RowBuffer::default();
    let mut writer = ChunkWriter::new(Arc::clone(shared), Arc::clone(def));
    for chunk in chunks {
        rows.push(&read_chunk(shared.device.as_ref(), def, chunk).await?);
        while let Some(full) = rows.pop_full() {
            writer.push(full).await?;
        }
    }
    let rest = rows.take_rest();
    if rest.row_count > 0 {
        writer.push(rest).await?;
    }
    Ok(writer.finish(Durability::Synced).await?.expect("a chunk has rows that are not deleted"))
}
