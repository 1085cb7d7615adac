//! Rows on their way into chunks: batches of any size in, pieces of exactly one chunk out.
//!
//! A chunk is full at [`CHUNK_ROWS`] rows. Rows of long strings close it earlier, at [`CHUNK_BYTES_MAX`] bytes: a chunk
//! is what a load holds in memory a few times over, and what the buffer must find room for at once.
//!
//! Nothing is copied here but strings whose batch would otherwise keep much larger buffers alive.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use braid_base::CHUNK_ROWS;

/// Bytes of values at which a chunk is closed though it has fewer than [`CHUNK_ROWS`] rows: 64 MiB, 512 bytes a row. Rows of
/// TPC-H and TPC-DS are shorter. A scan may decode a whole chunk of very long rows as one batch, which no budget counts.
pub(crate) const CHUNK_BYTES_MAX: usize = CHUNK_ROWS * 512;

/// A buffer of strings may be this much larger than the strings in it, before they are copied out.
const SLACK_BYTES_MAX: usize = 64 << 10;

/// Rows of one chunk, or of a part of one, as slices of the batches they came in.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkRows {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) row_count: usize,
    bytes: usize,
}

impl ChunkRows {
    /// Adds rows at the end.
    pub(crate) fn push(&mut self, batch: RecordBatch) {
        self.row_count += batch.num_rows();
        self.bytes += batch_bytes(&batch);
        self.batches.push(batch);
        assert!(self.row_count <= CHUNK_ROWS, "rows of one chunk");
    }

    /// Bytes of the values, as they are in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Unites the last batches until each has at least twice the rows of its successor: so that rows that come one by one are few
    /// batches.
    pub(crate) fn unite_last(&mut self, schema: &SchemaRef) {
        while let [.., before, last] = &self.batches[..]
            && before.num_rows() < 2 * last.num_rows()
        {
            let united = arrow::compute::concat_batches(schema, [before, last]);
            self.batches.truncate(self.batches.len() - 2);
            self.batches.push(united.expect("batches are checked to have the table's types"));
        }
    }
}

/// Collects batches into chunks.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    rows: ChunkRows,
    full: Vec<ChunkRows>,
}

impl RowBuffer {
    /// Adds rows at the end.
    pub(crate) fn push(&mut self, batch: &RecordBatch) {
        let batch = compacted(batch);
        let mut at = 0;
        while at < batch.num_rows() {
            let room = (CHUNK_ROWS - self.rows.row_count).min(batch.num_rows() - at);
            let piece = self.fitting(&batch.slice(at, room));
            at += piece.num_rows();
            if piece.num_rows() > 0 {
                self.rows.push(piece);
            }
            if self.rows.row_count == CHUNK_ROWS || at < batch.num_rows() {
                self.full.push(std::mem::take(&mut self.rows));
            }
        }
    }

    /// The next full chunk, oldest first.
    pub(crate) fn pop_full(&mut self) -> Option<ChunkRows> {
        (!self.full.is_empty()).then(|| self.full.remove(0))
    }

    /// The rows that fill no chunk yet. All full chunks have been taken before.
    pub(crate) fn take_rest(&mut self) -> ChunkRows {
        assert!(self.full.is_empty(), "full chunks are taken first");
        std::mem::take(&mut self.rows)
    }

    /// The first rows of `piece`, as many as the chunk's bytes allow: at least one if the chunk is empty.
    fn fitting(&self, piece: &RecordBatch) -> RecordBatch {
        let room_bytes = CHUNK_BYTES_MAX.saturating_sub(self.rows.bytes);
        let mut count = piece.num_rows();
        while count > 0 && batch_bytes(&piece.slice(0, count)) > room_bytes {
            count /= 2;
        }
        let count_min = usize::from(self.rows.row_count == 0);
        piece.slice(0, count.max(count_min))
    }
}

/// Bytes of a batch's values, without what their buffers hold besides.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(column_bytes).sum()
}

fn column_bytes(column: &ArrayRef) -> usize {
    const VIEW_BYTES: usize = 16;
    // The low half of the low half of a view is the string's length. A null's view may say anything: those of a scan
    // repeat the string before.
    let viewed = |views: &[u128]| {
        let len = |(row, view): (usize, &u128)| if column.is_null(row) { 0 } else { *view as u32 as usize };
        views.len() * VIEW_BYTES + views.iter().enumerate().map(len).sum::<usize>()
    };
    match column.data_type() {
        DataType::Utf8View => viewed(column.as_string_view().views()),
        DataType::BinaryView => viewed(column.as_binary_view().views()),
        DataType::FixedSizeBinary(width) => column.len() * (*width).max(0) as usize,
        other => column.len() * other.primitive_width().unwrap_or(1),
    }
}

/// The batch, its strings copied out where they keep much larger buffers alive: a filter that kept one row in a
/// thousand would else make a load hold a thousand times its rows.
fn compacted(batch: &RecordBatch) -> RecordBatch {
    let compact = |column: &ArrayRef| -> ArrayRef {
        let held = |buffers: &[arrow::buffer::Buffer]| buffers.iter().map(|b| b.len()).sum::<usize>();
        let wasteful = |held: usize| held > 2 * column_bytes(column) + SLACK_BYTES_MAX;
        match column.data_type() {
            DataType::Utf8View if wasteful(held(column.as_string_view().data_buffers())) => {
                Arc::new(column.as_string_view().gc())
            }
            DataType::BinaryView if wasteful(held(column.as_binary_view().data_buffers())) => {
                Arc::new(column.as_binary_view().gc())
            }
            _ => Arc::clone(column),
        }
    };
    let columns = batch.columns().iter().map(compact).collect();
    RecordBatch::try_new(batch.schema(), columns).expect("compaction keeps types and lengths")
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringViewArray};

    fn numbers(range: std::ops::Range<i64>) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    }

    fn row_counts(buffer: &mut RowBuffer) -> Vec<usize> {
        let mut counts: Vec<usize> = std::iter::from_fn(|| buffer.pop_full()).map(|rows| rows.row_count).collect();
        counts.push(buffer.take_rest().row_count);
        counts
    }

    #[test]
    fn batches_of_any_size_become_full_chunks_and_a_rest() {
        for batch_rows in [1_000, 131_071, 131_072, 131_073, 300_000] {
            let mut buffer = RowBuffer::default();
            let mut at = 0;
            while at < 400_000 {
                let end = (at + batch_rows).min(400_000);
                buffer.push(&numbers(at..end));
                at = end;
            }
            let mut next = 0;
            let mut chunks: Vec<ChunkRows> = std::iter::from_fn(|| buffer.pop_full()).collect();
            chunks.push(buffer.take_rest());
            let counts: Vec<usize> = chunks.iter().map(|rows| rows.row_count).collect();
            assert_eq!(counts, [CHUNK_ROWS, CHUNK_ROWS, CHUNK_ROWS, 400_000 - 3 * CHUNK_ROWS], "{batch_rows}");
            for batch in chunks.iter().flat_map(|rows| &rows.batches) {
                let column = batch.column(0).as_primitive::<arrow::datatypes::Int64Type>();
                assert!(column.values().iter().copied().eq(next..next + column.len() as i64));
                next += column.len() as i64;
            }
        }
    }

    #[test]
    fn long_strings_close_a_chunk_early_and_none_is_lost() {
        let long = "x".repeat(1 << 20);
        let column: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..700).map(|_| &long)));
        let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
        let mut buffer = RowBuffer::default();
        buffer.push(&batch);
        let counts = row_counts(&mut buffer);
        assert_eq!(counts.iter().sum::<usize>(), 700);
        assert!(counts.len() >= 3 && counts.iter().all(|&count| count << 20 <= CHUNK_BYTES_MAX), "{counts:?}");
    }

    #[test]
    fn the_views_of_nulls_do_not_count() {
        let strings = StringViewArray::from_iter_values([&"x".repeat(1 << 20); 3]);
        let nulls = arrow::buffer::NullBuffer::from(vec![false, true, false]);
        let column: ArrayRef =
            Arc::new(StringViewArray::new(strings.views().clone(), strings.data_buffers().to_vec(), Some(nulls)));
        assert_eq!(column_bytes(&column), 3 * 16 + (1 << 20));
    }

    #[test]
    fn a_few_strings_do_not_keep_the_buffers_of_many() {
        let many = StringViewArray::from_iter_values((0..20_000).map(|i| format!("a string too long to inline {i}")));
        let column: ArrayRef = Arc::new(many);
        let batch = RecordBatch::try_from_iter([("s", column)]).unwrap().slice(100, 3);
        let mut buffer = RowBuffer::default();
        buffer.push(&batch);
        let kept = &buffer.take_rest().batches[0];
        assert_eq!(kept, &batch);
        assert!(kept.column(0).get_buffer_memory_size() < 1_000);
    }
}
