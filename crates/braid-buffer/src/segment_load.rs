//! One read of the buffer: from the device to verified segments.
//!
//! Runs as a task of its own, off the buffer's lock, on the runtime's ordinary threads: verifying and parsing a segment
//! of 1 MB takes a fraction of a millisecond (XXH3 runs at more than 10 GB/s), less than the operators around it do
//! between two yields, and a blocking thread would add a switch each way.

use std::sync::Arc;

use braid_base::ColumnId;
use braid_io::{AlignedBuffer, Device, IoReason};
use braid_storage::{ChunkMeta, Segment, TableVersion, checksum};
use bytes::Bytes;

use crate::error::BufferError;
use crate::loads::{LoadId, LoadRequest};
use crate::stored_table::StoredTable;

/// What became of each segment of a read.
pub(crate) type LoadedSegments = Vec<(ColumnId, Result<Arc<Segment>, BufferError>)>;

/// A read under way. However it ends, also by being dropped, it is reported, so that no scan waits for ever.
pub(crate) struct SegmentLoad<R: FnOnce(LoadId, LoadedSegments)> {
    device: Arc<dyn Device>,
    request: LoadRequest<StoredTable>,
    /// `None` once it has been called.
    report: Option<R>,
}

impl<R: FnOnce(LoadId, LoadedSegments)> SegmentLoad<R> {
    /// A read through `device`; `report` is called once, when it ends.
    pub fn new(device: Arc<dyn Device>, request: LoadRequest<StoredTable>, report: R) -> Self {
        Self { device, request, report: Some(report) }
    }

    /// Reads, verifies, and reports.
    pub async fn run(mut self) {
        let version = Arc::clone(&self.request.version.0);
        let chunk = &version.chunks[self.request.chunk];
        let (offset, len) = (self.request.offset, self.request.bytes as usize);
        let read = self.device.read(chunk.data_file().handle(), offset, len, IoReason::Scan).await;
        let segments = match read {
            Ok(bytes) => self.open_all(&version, chunk, bytes),
            Err(error) => self.columns().map(|column| (column, Err(BufferError::Io(error.clone())))).collect(),
        };
        self.report(segments);
    }

    fn columns(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.request.segments.iter().map(|(column, _)| *column)
    }

    fn open_all(&self, version: &TableVersion, chunk: &ChunkMeta, bytes: AlignedBuffer) -> LoadedSegments {
        let is_joined = self.request.segments.len() > 1;
        let bytes = bytes.into_bytes();
        let mut loaded = Vec::with_capacity(self.request.segments.len());
        for (column, place) in &self.request.segments {
            let start = (place.offset - self.request.offset) as usize;
            let len = chunk.segment(*column).segment_bytes as usize;
            let own = bytes.slice(start..start + len);
            // Segments of one read are copied apart: a slice would keep the whole read in memory after its neighbours
            // have been evicted.
            let own = if is_joined { AlignedBuffer::from_slice(&own).into_bytes() } else { own };
            loaded.push((*column, open(version, chunk, *column, own)));
        }
        loaded
    }

    /// Reports the segments, unless the load has reported.
    fn report(&mut self, segments: LoadedSegments) {
        if let Some(report) = self.report.take() {
            report(self.request.id, segments);
        }
    }
}

impl<R: FnOnce(LoadId, LoadedSegments)> Drop for SegmentLoad<R> {
    fn drop(&mut self) {
        if self.report.is_some() {
            let version = &self.request.version.0;
            let (table, chunk) = (version.def.name.clone(), version.chunks[self.request.chunk].id);
            let error = BufferError::Abandoned { table, chunk };
            let segments = self.columns().map(|column| (column, Err(error.clone()))).collect();
            self.report(segments);
        }
    }
}

/// Verifies and parses a segment.
fn open(
    version: &TableVersion,
    chunk: &ChunkMeta,
    column: ColumnId,
    bytes: Bytes,
) -> Result<Arc<Segment>, BufferError> {
    let (def, meta) = (&version.def.columns[version.position(column)], chunk.segment(column));
    let (table, column, chunk_id) = (|| version.def.name.clone(), || def.name.clone(), chunk.id);
    let (expected, found) = (meta.checksum, checksum(&bytes));
    if expected != found {
        return Err(BufferError::Corrupt { table: table(), column: column(), chunk: chunk_id, expected, found });
    }
    let stored_type = meta.stored_type(def.column_type);
    let segment = Segment::open(bytes, stored_type).map_err(|source| BufferError::Segment {
        table: table(),
        column: column(),
        chunk: chunk_id,
        source: Arc::new(source),
    })?;
    let (expected, found) = (chunk.row_count as usize, segment.row_count());
    if expected != found {
        return Err(BufferError::RowCount { table: table(), column: column(), chunk: chunk_id, expected, found });
    }
    Ok(Arc::new(segment))
}
