//! Recent rows as chunks in memory: small encoded segments like those in files, so that scans, predicates and passes see nothing new.
//!
//! A commit of a few rows adds such a chunk. Its bytes are in the commit's record in the log, and in the manifest of the next
//! checkpoint. Chunks in memory are merged as they grow in number: when [`FAN_IN`] of them have about the same size, they become one
//! ([`merge_count_in_memory`]). So a table has at most `FAN_IN - 1` chunks of each size, and a row is encoded again
//! `log4(8192) = 6.5` times. From [`SPILL_ROWS`] rows on they become a chunk in a file
//! ([`tail_merge`](super::tail_merge)).

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::chunk_writer::{WrittenChunk, WrittenChunks, encode_column};
use super::row_buffer::ChunkRows;
use super::tail_merge::ChunkSize;
use crate::chunk_reader::gather_memory;
use crate::{ChunkMeta, SegmentMeta, StoreError, TableDef};

/// Rows that a commit adds in memory; more go into a file.
const COMMIT_ROWS_MAX: usize = 1024;

/// Bytes of these rows.
const COMMIT_BYTES_MAX: usize = 256 << 10;

/// Rows of a chunk in memory. So many are encoded again under the commit lock at most.
const CHUNK_ROWS_MAX: usize = 8192;

/// Bytes of a chunk in memory.
const CHUNK_BYTES_MAX: usize = 2 << 20;

/// Rows of a table in memory from which on they go into a file: half a chunk.
const SPILL_ROWS: usize = 65_536;

/// Bytes of a table in memory from which on they go into a file.
const SPILL_BYTES: usize = 8 << 20;

/// Number of chunks of about the same size that are merged.
const FAN_IN: usize = 4;

/// Whether rows stay in memory, beside these chunks in memory.
pub(crate) fn stay_in_memory(rows: &ChunkRows, in_memory: impl Iterator<Item = ChunkSize>) -> bool {
    let start = ChunkSize { rows: rows.row_count, bytes: rows.bytes() };
    let all = in_memory.fold(start, ChunkSize::plus);
    rows.row_count <= COMMIT_ROWS_MAX
        && rows.bytes() <= COMMIT_BYTES_MAX
        && all.rows < SPILL_ROWS
        && all.bytes < SPILL_BYTES
}

/// The rows, encoded. There is at least one.
pub(crate) fn encode_in_memory(def: &TableDef, rows: &[RecordBatch]) -> Result<WrittenChunks, StoreError> {
    let row_count = rows.iter().map(RecordBatch::num_rows).sum::<usize>();
    let (mut segments, mut distinct) = (Vec::new(), Vec::new());
    for (at, column) in def.columns.iter().enumerate() {
        let mut encoded = encode_column(def, rows, at)?;
        distinct.push(std::mem::replace(&mut encoded.distinct, crate::DistinctSketch::empty()));
        let opened = SegmentMeta::in_memory(column.id, encoded, column.column_type);
        segments.push(opened.expect("what was encoded can be opened"));
    }
    let row_count = u32::try_from(row_count).expect("a chunk has at most CHUNK_ROWS rows");
    Ok(WrittenChunks { file: None, chunks: vec![WrittenChunk { row_count, segments, keys: Arc::default() }], distinct })
}

/// The rows of a chunk in memory that are not deleted.
pub(crate) fn decode_in_memory(def: &Arc<TableDef>, chunk: &ChunkMeta) -> RecordBatch {
    let columns = def.columns.iter().zip(&chunk.segments).map(|(column, segment)| {
        let memory = segment.memory().expect("the segments of a chunk in memory are");
        gather_memory(memory.segment(), chunk.deleted.as_deref(), column.column_type)
    });
    RecordBatch::try_new(def.arrow_schema(), columns.collect()).expect("segments are of their columns")
}

/// How many of a table's last chunks in memory, given last first, are merged with `new`: all behind the first that is larger, if
/// they are `FAN_IN` with `new`; and then the same for what they make.
pub(crate) fn merge_count_in_memory(last_first: &[ChunkSize], new: ChunkSize) -> usize {
    let (mut merged, mut sum) = (0, new);
    loop {
        let (level, mut grown) = (level(sum.rows), sum);
        let merges = |chunk: &&ChunkSize| {
            grown = grown.plus(**chunk);
            self::level(chunk.rows) <= level && grown.rows <= CHUNK_ROWS_MAX && grown.bytes <= CHUNK_BYTES_MAX
        };
        let more = last_first[merged..].iter().take_while(merges).count();
        if more + 1 < FAN_IN {
            return merged;
        }
        sum = last_first[merged..merged + more].iter().copied().fold(sum, ChunkSize::plus);
        merged += more;
    }
}

/// Sizes within a factor of 4 are of one level.
fn level(rows: usize) -> u32 {
    rows.max(1).ilog2() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commits these numbers of rows; returns the chunks and how many rows were encoded in all.
    fn commit(commits: impl Iterator<Item = usize>) -> (Vec<usize>, usize) {
        let (mut chunks, mut encoded) = (Vec::<usize>::new(), 0);
        for rows in commits {
            let sizes: Vec<ChunkSize> = chunks.iter().rev().map(|&rows| size(rows)).collect();
            let kept = chunks.len() - merge_count_in_memory(&sizes, size(rows));
            let merged = rows + chunks.drain(kept..).sum::<usize>();
            chunks.push(merged);
            encoded += merged;
        }
        (chunks, encoded)
    }

    fn size(rows: usize) -> ChunkSize {
        ChunkSize { rows, bytes: rows * 8 }
    }

    #[test]
    fn single_rows_leave_few_chunks_and_are_encoded_a_few_times() {
        for count in [1, 3, 4, 16, 100, 1_000, 8_192, 60_000] {
            let (chunks, encoded) = commit(std::iter::repeat_n(1, count));
            assert_eq!(chunks.iter().sum::<usize>(), count);
            assert!(chunks.iter().all(|rows| *rows <= CHUNK_ROWS_MAX), "{chunks:?}");
            let full = chunks.iter().filter(|rows| **rows > CHUNK_ROWS_MAX / 4).count();
            assert!(chunks.len() - full <= (FAN_IN - 1) * 7, "{count} rows: {chunks:?}");
            assert!(encoded <= count * 8, "{count} rows: {encoded} encoded");
        }
    }

    #[test]
    fn chunks_of_any_sizes_come_to_be_few() {
        let (chunks, encoded) = commit((0..3_000).map(|i| 1 + i * i % 37));
        assert!(chunks.len() <= 40, "{chunks:?}");
        assert!(encoded <= 8 * chunks.iter().sum::<usize>(), "{encoded}");
    }
}
