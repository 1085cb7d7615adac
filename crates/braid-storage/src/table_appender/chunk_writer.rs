//! From rows to segments in a data file: encoding on a bounded number of threads, several writes in flight.
//!
//! ```text
//! rows of a chunk -> one encoding job a column -> offsets, in chunk order -> writes -> sync
//!                    (<= 2 chunks at a time)                                (<= a chunk and 32 segments)
//! ```
//!
//! Everything belongs to the writer: dropping it abandons the jobs that have not begun, forgets the writes and, since
//! the file is doomed until a commit spares it, deletes the file. Nothing runs on in the background but columns whose
//! encoding has begun, and they hold no file.
//!
//! The writer makes progress while [`ChunkWriter::push`] and [`ChunkWriter::finish`] are awaited, and once at each
//! [`ChunkWriter::advance`]; encoding jobs run by themselves.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use braid_io::{AlignedBuffer, IoError, IoReason};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesOrdered, FuturesUnordered, StreamExt};
use tokio::task::JoinSet;

use super::row_buffer::ChunkRows;
use crate::data_file::DataFile;
use crate::data_file_header::{DATA_FILE_HEADER_BYTES, encode_header};
use crate::key_index::ChunkKeys;
use crate::segment::{EncodedSegment, encode_segment};
use crate::store_shared::StoreShared;
use crate::{DistinctSketch, FileRange, SegmentMeta, SegmentPlace, StoreError, TableDef};

/// Chunks being encoded at a time: one keeps the threads busy, the next is ready when they are done.
const CHUNKS_ENCODING_MAX: usize = 2;

/// Writes in flight above which no further chunk is taken from the encoders.
const WRITES_MAX: usize = 32;

/// A chunk that no commit names yet; it gets its id at the commit.
#[derive(Clone, Debug)]
pub(crate) struct WrittenChunk {
    pub(crate) row_count: u32,
    pub(crate) segments: Vec<SegmentMeta>,
    pub(crate) keys: Arc<ChunkKeys>,
}

/// Whether a file survives the loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It does: a manifest may name it.
    Synced,
    /// It does not: only its transaction reads it.
    Volatile,
}

/// Chunks in a complete data file, or in memory.
#[derive(Debug)]
pub(crate) struct WrittenChunks {
    /// `None` if they are in memory.
    pub(crate) file: Option<Arc<DataFile>>,
    pub(crate) chunks: Vec<WrittenChunk>,
    /// The values of each column in all chunks.
    pub(crate) distinct: Vec<DistinctSketch>,
}

struct EncodedChunk {
    row_count: u32,
    segments: Vec<EncodedSegment>,
}

/// Writes the chunks of one data file, which it creates when the first chunk is encoded.
pub(crate) struct ChunkWriter {
    shared: Arc<StoreShared>,
    def: Arc<TableDef>,
    file: Option<Arc<DataFile>>,
    next_offset: u64,
    encoding: FuturesOrdered<BoxFuture<'static, Result<EncodedChunk, StoreError>>>,
    writing: FuturesUnordered<BoxFuture<'static, Result<(), IoError>>>,
    chunks: Vec<WrittenChunk>,
    /// The values of each column; none before the first chunk.
    distinct: Vec<DistinctSketch>,
}

impl ChunkWriter {
    /// A writer of chunks of the table `def`.
    pub(crate) fn new(shared: Arc<StoreShared>, def: Arc<TableDef>) -> Self {
        let next_offset = DATA_FILE_HEADER_BYTES as u64;
        let (encoding, writing) = (FuturesOrdered::new(), FuturesUnordered::new());
        let (chunks, distinct) = (Vec::new(), Vec::new());
        Self { shared, def, file: None, next_offset, encoding, writing, chunks, distinct }
    }

    /// Takes a chunk; waits while enough others are under way.
    pub(crate) async fn push(&mut self, rows: ChunkRows) -> Result<(), StoreError> {
        self.drive(CHUNKS_ENCODING_MAX - 1, usize::MAX).await?;
        let job = encode_chunk(Arc::clone(&self.shared), Arc::clone(&self.def), rows);
        self.encoding.push_back(job);
        self.advance()
    }

    /// Takes what the encoders and the device have finished, without waiting.
    pub(crate) fn advance(&mut self) -> Result<(), StoreError> {
        self.drive(0, 0).now_or_never().unwrap_or(Ok(()))
    }

    /// Waits until everything is written, and durable if asked for. `None` if there was nothing to write.
    pub(crate) async fn finish(mut self, durability: Durability) -> Result<Option<WrittenChunks>, StoreError> {
        self.drive(0, 0).await?;
        let Some(file) = self.file.take() else { return Ok(None) };
        if durability == Durability::Synced {
            let synced = self.shared.device.sync(file.handle()).await;
            synced.map_err(|error| self.io_error(error))?;
        }
        Ok(Some(WrittenChunks { file: Some(file), chunks: self.chunks, distinct: self.distinct }))
    }

    /// Waits until at most these numbers of chunks are being encoded and of segments being written.
    async fn drive(&mut self, encoding_max: usize, writing_max: usize) -> Result<(), StoreError> {
        while self.encoding.len() > encoding_max || self.writing.len() > writing_max {
            tokio::select! {
                Some(written) = self.writing.next() => written.map_err(|error| self.io_error(error))?,
                Some(chunk) = self.encoding.next(), if self.writing.len() < WRITES_MAX => self.start_writes(chunk?)?,
            }
        }
        Ok(())
    }

    fn start_writes(&mut self, chunk: EncodedChunk) -> Result<(), StoreError> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let file = self.shared.create_file(self.def.id)?;
                self.write(&file, 0, encode_header(file.id(), self.def.id));
                self.distinct = vec![DistinctSketch::empty(); self.def.columns.len()];
                Arc::clone(self.file.insert(file))
            }
        };
        let mut segments = Vec::with_capacity(chunk.segments.len());
        for (at, segment) in chunk.segments.into_iter().enumerate() {
            self.distinct[at].unite(&segment.distinct);
            let buffer = AlignedBuffer::from_slice_padded(&segment.bytes);
            let stored_bytes = buffer.len();
            let offset = self.next_offset;
            self.next_offset += stored_bytes as u64;
            self.write(&file, offset, buffer);
            segments.push(SegmentMeta {
                column: self.def.columns[at].id,
                place: SegmentPlace::InFile(FileRange {
                    offset,
                    stored_bytes: u32::try_from(stored_bytes).expect("segments are below 2 GiB"),
                }),
                segment_bytes: u32::try_from(segment.bytes.len()).expect("segments are below 2 GiB"),
                checksum: segment.checksum,
                zone_map: segment.zone_map,
                scale: segment.scale,
            });
        }
        self.chunks.push(WrittenChunk { row_count: chunk.row_count, segments, keys: Arc::default() });
        Ok(())
    }

    fn write(&self, file: &DataFile, offset: u64, buffer: AlignedBuffer) {
        self.writing.push(self.shared.device.write(file.handle(), offset, buffer, IoReason::Load));
    }

    fn io_error(&self, error: IoError) -> StoreError {
        StoreError::io(self.shared.directory.path(), error)
    }
}

/// Starts to encode the columns of a chunk, each on a thread of its own, as many at a time as the store allows.
fn encode_chunk(
    shared: Arc<StoreShared>,
    def: Arc<TableDef>,
    rows: ChunkRows,
) -> BoxFuture<'static, Result<EncodedChunk, StoreError>> {
    let row_count = u32::try_from(rows.row_count).expect("a chunk has at most CHUNK_ROWS rows");
    let column_count = def.columns.len();
    let batches: Arc<[RecordBatch]> = rows.batches.into();
    let mut jobs = JoinSet::new();
    for column in 0..column_count {
        let (permits, def, batches) = (Arc::clone(&shared.encode_permits), Arc::clone(&def), Arc::clone(&batches));
        jobs.spawn(async move {
            let permit = permits.acquire_owned().await.expect("the store never closes its semaphore");
            let job = tokio::task::spawn_blocking(move || {
                let encoded = encode_column(&def, &batches, column);
                drop(permit);
                encoded
            });
            (column, job.await)
        });
    }
    drop(batches);
    async move {
        let mut segments: Vec<Option<EncodedSegment>> = vec![None; column_count];
        while let Some(job) = jobs.join_next().await {
            let stopped = |error: tokio::task::JoinError| StoreError::Stopped { reason: error.to_string() };
            let (column, encoded) = job.map_err(stopped)?;
            segments[column] = Some(encoded.map_err(stopped)??);
        }
        let segments = segments.into_iter().map(|s| s.expect("every column had a job")).collect();
        Ok(EncodedChunk { row_count, segments })
    }
    .boxed()
}

/// Encodes a column of rows.
pub(crate) fn encode_column(
    def: &TableDef,
    batches: &[RecordBatch],
    column: usize,
) -> Result<EncodedSegment, StoreError> {
    let parts: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(column).as_ref()).collect();
    let column = &def.columns[column];
    let array = arrow::compute::concat(&parts).expect("batches are checked to have the table's types");
    encode_segment(array.as_ref(), column.column_type).map_err(|source| StoreError::Encode {
        table: def.name.clone(),
        column: column.name.clone(),
        source: Box::new(source),
    })
}
