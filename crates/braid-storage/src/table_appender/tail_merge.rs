//! Size-tiered merging: how a table that is filled by small INSERTs keeps few small chunks.
//!
//! When `r` rows come in and the table's last chunk has fewer than `2r`, it is read back and written again together
//! with them; then the same question is asked of the chunk before it and the grown `r`, as long as all fit one chunk.
//! Afterwards each of the small chunks has at least twice the rows of its successor, so that `k` inserted rows lie in
//! at most `log2(k) + 1` small chunks, and each row is rewritten at most about `log1.5(CHUNK_ROWS) = 29` times, by
//! which time its chunk is full.
//!
//! Chunks in memory ([`memory_chunk`](super::memory_chunk)) are merged whatever their size, when rows that come in go into a file.
//!
//! Nor are more bytes merged than a chunk may have. What a stored chunk takes in memory is only known when it has been
//! read back, as strings may be stored in a hundredth of their size: its size on disk decides what is read, its size in
//! memory what is merged.
//!
//! Deleted rows are not read back, so that a merged chunk has none. At least one row of each chunk is not deleted.
//!
//! A chunk that cannot be read back (a bad disk) is left alone: the merge is a matter of tidiness, and the INSERT must
//! not fail for damage to other rows, which scans and `check` report.

use std::sync::Arc;

use arrow::array::RecordBatch;
use braid_base::CHUNK_ROWS;

use super::chunk_writer::{ChunkWriter, Durability, WrittenChunks};
use super::row_buffer::{CHUNK_BYTES_MAX, ChunkRows, batch_bytes};
use crate::chunk_reader::read_chunk;
use crate::store_shared::StoreShared;
use crate::{ChunkMeta, StoreError, TableDef};

/// The last rows of an append, written as one chunk that also takes the place of the table's last few.
#[derive(Debug)]
pub(crate) struct Tail {
    /// How many chunks at the end of the table it replaces.
    pub(crate) replaced: usize,
    /// The chunk, alone in its file.
    pub(crate) written: WrittenChunks,
}

/// Writes `rows` as the successor of `chunks`, merged with as many of the last ones as the rule above says. `None` if
/// there are no rows.
pub(crate) async fn write_tail(
    shared: &Arc<StoreShared>,
    def: &Arc<TableDef>,
    chunks: &[Arc<ChunkMeta>],
    rows: ChunkRows,
) -> Result<Option<Tail>, StoreError> {
    let last_first: Vec<(ChunkSize, Place)> =
        chunks.iter().rev().map(|chunk| (ChunkSize::of(chunk), Place::of(chunk))).collect();
    let planned = merge_count(&last_first, ChunkSize { rows: rows.row_count, bytes: rows.bytes() });
    let room_bytes = CHUNK_BYTES_MAX.saturating_sub(rows.bytes());
    let merged = read_back(shared, def, &chunks[chunks.len() - planned..], room_bytes).await;
    let replaced = merged.len();
    let mut all = ChunkRows::default();
    merged.into_iter().chain(rows.batches).for_each(|batch| all.push(batch));
    if all.row_count == 0 {
        return Ok(None);
    }
    let mut writer = ChunkWriter::new(Arc::clone(shared), Arc::clone(def));
    writer.push(all).await?;
    let written = writer.finish(Durability::Synced).await?;
    Ok(written.map(|written| Tail { replaced, written }))
}

/// The rows of the last of `chunks`, in their order: as many as can be read and take no more than `room_bytes`.
async fn read_back(
    shared: &StoreShared,
    def: &Arc<TableDef>,
    chunks: &[Arc<ChunkMeta>],
    mut room_bytes: usize,
) -> Vec<RecordBatch> {
    let mut last_first = Vec::with_capacity(chunks.len());
    for chunk in chunks.iter().rev() {
        match read_chunk(shared.device.as_ref(), def, chunk).await {
            Ok(batch) if batch_bytes(&batch) <= room_bytes => {
                room_bytes -= batch_bytes(&batch);
                last_first.push(batch);
            }
            Ok(_) => break,
            Err(error) => {
                tracing::warn!(%error, "a chunk cannot be read; new rows are stored in a chunk of their own");
                break;
            }
        }
    }
    last_first.reverse();
    last_first
}

/// Rows of a chunk without the deleted ones, and bytes: on disk for one that is written, in memory for one that is not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkSize {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

impl ChunkSize {
    pub(crate) fn of(chunk: &ChunkMeta) -> Self {
        let bytes = chunk.segments.iter().map(|segment| segment.segment_bytes as usize).sum();
        Self { rows: chunk.live_row_count() as usize, bytes }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { rows: self.rows + other.rows, bytes: self.bytes + other.bytes }
    }
}

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    InFile,
    InMemory,
}

impl Place {
    fn of(chunk: &ChunkMeta) -> Self {
        if chunk.file.is_some() { Self::InFile } else { Self::InMemory }
    }
}

/// How many of the table's last chunks, given last first, are merged with `new`. Those in memory are, whatever their size.
pub(crate) fn merge_count(last_first: &[(ChunkSize, Place)], new: ChunkSize) -> usize {
    let mut sum = new;
    let merges = |(chunk, place): &&(ChunkSize, Place)| {
        let is_small = *place == Place::InMemory || chunk.rows < 2 * sum.rows;
        sum = sum.plus(*chunk);
        is_small && sum.rows <= CHUNK_ROWS && sum.bytes <= CHUNK_BYTES_MAX
    };
    last_first.iter().take_while(merges).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts the given numbers of rows, one insert each; returns the chunks and how many rows were written in all.
    fn insert(inserts: impl Iterator<Item = usize>, bytes_per_row: usize) -> (Vec<usize>, usize) {
        let (mut chunks, mut rows_written) = (Vec::new(), 0);
        let size = |rows: usize| ChunkSize { rows, bytes: rows * bytes_per_row };
        for rows in inserts {
            let sizes: Vec<_> = chunks.iter().rev().map(|&rows| (size(rows), Place::InFile)).collect();
            let kept = chunks.len() - merge_count(&sizes, size(rows));
            let merged = rows + chunks.drain(kept..).sum::<usize>();
            chunks.push(merged);
            rows_written += merged;
        }
        (chunks, rows_written)
    }

    #[test]
    fn single_rows_leave_logarithmically_many_chunks_and_are_rewritten_logarithmically_often() {
        for count in [1, 2, 3, 10, 100, 1_000, 10_000, CHUNK_ROWS] {
            let (chunks, rows_written) = insert(std::iter::repeat_n(1, count), 8);
            let log2 = count.ilog2() as usize;
            assert_eq!(chunks.iter().sum::<usize>(), count);
            assert!(chunks.len() <= log2 + 1, "{count} rows: {chunks:?}");
            assert!(chunks.windows(2).all(|pair| pair[0] >= 2 * pair[1]), "{chunks:?}");
            assert!(rows_written <= count * 30, "{count} rows: {rows_written} written");
        }
    }

    #[test]
    fn chunks_fill_up_and_are_then_left_alone() {
        let (chunks, _) = insert(std::iter::repeat_n(10_000, 100), 8);
        assert_eq!(chunks.iter().sum::<usize>(), 1_000_000);
        let small = chunks.iter().filter(|&&rows| rows < CHUNK_ROWS / 2).count();
        assert!(small <= 5 && chunks.len() <= 15, "{chunks:?}");
    }

    #[test]
    fn merging_stops_at_the_bytes_of_a_chunk() {
        let (chunks, _) = insert(std::iter::repeat_n(1, 1_000), CHUNK_BYTES_MAX / 10);
        assert!(chunks.iter().all(|&rows| rows <= 10), "{chunks:?}");
    }
}
