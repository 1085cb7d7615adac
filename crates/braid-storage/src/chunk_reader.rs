//! Reading chunks without the buffer, to merge small ones, and to index keys.
//!
//! Scans do not come here; they go through the buffer, which reads each segment once for all of them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use braid_base::VECTOR_ROWS;
use braid_io::{Device, IoError, IoReason};
use bytes::Bytes;
use futures::future::try_join_all;

use crate::checksum::checksum;
use crate::segment::{Segment, as_declared};
use crate::store_shared::StoreShared;
use crate::{ChunkMeta, ColumnType, DeletedRows, SegmentPlace, Selection, StoreError, TableDef};

/// Rows up to which values are gathered in place. Those of more rows are gathered on a thread for blocking work.
const ROWS_INLINE_MAX: usize = 4096;

/// All rows of a chunk that are not deleted.
pub(crate) async fn read_chunk(
    device: &dyn Device,
    def: &Arc<TableDef>,
    chunk: &Arc<ChunkMeta>,
) -> Result<RecordBatch, StoreError> {
    let columns = (0..def.columns.len()).map(|column| async move {
        let bytes = read_segment(device, chunk, column).await?;
        let (def, chunk) = (Arc::clone(def), Arc::clone(chunk));
        let decoded = tokio::task::spawn_blocking(move || decode(&def, &chunk, column, bytes));
        decoded.await.unwrap_or_else(|error| Err(StoreError::Stopped { reason: error.to_string() }))
    });
    let columns = try_join_all(columns).await?;
    Ok(RecordBatch::try_new(def.arrow_schema(), columns).expect("columns are checked as they are decoded"))
}

/// The values of columns, by their places, in all rows of a chunk, deleted ones included.
pub(crate) async fn read_columns(
    device: &dyn Device,
    def: &Arc<TableDef>,
    chunk: &Arc<ChunkMeta>,
    columns: Vec<usize>,
) -> Result<Vec<ArrayRef>, StoreError> {
    let all = Arc::new(ChunkMeta { deleted: None, ..(**chunk).clone() });
    let columns = columns.into_iter().map(|column| {
        let all = Arc::clone(&all);
        async move {
            if let Some(memory) = all.segments[column].memory() {
                return Ok(gather_memory(memory.segment(), None, def.columns[column].column_type));
            }
            let bytes = read_segment(device, &all, column).await?;
            let def = Arc::clone(def);
            let decoded = tokio::task::spawn_blocking(move || decode(&def, &all, column, bytes));
            decoded.await.unwrap_or_else(|error| Err(StoreError::Stopped { reason: error.to_string() }))
        }
    });
    try_join_all(columns).await
}

/// The values of columns, by their places, in some rows of a chunk, by their ascending numbers, deleted or not. The segments stay in memory:
/// rows are sought one by one where a key leads to them.
pub(crate) async fn read_rows(
    shared: &StoreShared,
    def: &Arc<TableDef>,
    chunk: &Arc<ChunkMeta>,
    columns: &[usize],
    rows: &[u32],
) -> Result<Vec<ArrayRef>, StoreError> {
    let columns = columns.iter().copied().map(|column| async move {
        let segment = kept_segment(shared, def, chunk, column).await?;
        let declared = def.columns[column].column_type;
        if rows.len() <= ROWS_INLINE_MAX {
            return Ok(as_declared(gather_rows(&segment, rows), declared));
        }
        let rows = rows.to_vec();
        let gathered = tokio::task::spawn_blocking(move || as_declared(gather_rows(&segment, &rows), declared)).await;
        gathered.map_err(|error| StoreError::Stopped { reason: error.to_string() })
    });
    try_join_all(columns).await
}

/// The segment of a column, by its place, which stays in memory.
async fn kept_segment(
    shared: &StoreShared,
    def: &Arc<TableDef>,
    chunk: &Arc<ChunkMeta>,
    column: usize,
) -> Result<Arc<Segment>, StoreError> {
    let stored = &chunk.segments[column];
    let range = match &stored.place {
        SegmentPlace::InMemory(memory) => return Ok(Arc::clone(memory.segment())),
        SegmentPlace::InFile(range) => range,
    };
    let id = (chunk.data_file().id(), range.offset, def.columns[column].column_type);
    if let Some(segment) = shared.search_cache.segment(id) {
        return Ok(segment);
    }
    let bytes = read_segment(shared.device.as_ref(), chunk, column).await?;
    let (of_def, of_chunk) = (Arc::clone(def), Arc::clone(chunk));
    let opened = tokio::task::spawn_blocking(move || open_checked(&of_def, &of_chunk, column, bytes)).await;
    let opened = opened.unwrap_or_else(|error| Err(StoreError::Stopped { reason: error.to_string() }))?;
    let segment = Arc::new(opened);
    shared.search_cache.put_segment(id, Arc::clone(&segment), range.stored_bytes as usize);
    Ok(segment)
}

/// The bytes of a segment, without padding, unchecked. Those in memory are not copied.
async fn read_segment(device: &dyn Device, chunk: &ChunkMeta, column: usize) -> Result<Bytes, IoError> {
    let segment = &chunk.segments[column];
    let range = match &segment.place {
        SegmentPlace::InFile(range) => range,
        SegmentPlace::InMemory(segment) => return Ok(segment.bytes().clone()),
    };
    let read = device.read(chunk.data_file().handle(), range.offset, range.stored_bytes as usize, IoReason::Load);
    Ok(read.await?.into_bytes().slice(..segment.segment_bytes as usize))
}

/// The segment of these bytes, if they are those that were written.
fn open_checked(def: &TableDef, chunk: &ChunkMeta, column: usize, bytes: Bytes) -> Result<Segment, StoreError> {
    let (segment, column_def) = (&chunk.segments[column], &def.columns[column]);
    let found = checksum(&bytes);
    if found != segment.checksum {
        return Err(StoreError::Corrupt {
            table: def.name.clone(),
            column: column_def.name.clone(),
            chunk: chunk.id,
            file: chunk.file.as_ref().map(|file| file.path().to_owned()).unwrap_or_default(),
            offset: segment.file_range().map_or(0, |range| range.offset),
            expected: segment.checksum,
            found,
        });
    }
    let expected = chunk.row_count as usize;
    let malformed = |reason: String| StoreError::Malformed {
        table: def.name.clone(),
        column: column_def.name.clone(),
        chunk: chunk.id,
        reason,
    };
    let stored_type = segment.stored_type(column_def.column_type);
    let segment = Segment::open(bytes, stored_type).map_err(|error| malformed(error.to_string()))?;
    if segment.row_count() != expected {
        return Err(malformed(format!("{} rows instead of {expected}", segment.row_count())));
    }
    Ok(segment)
}

fn decode(def: &TableDef, chunk: &ChunkMeta, column: usize, bytes: Bytes) -> Result<ArrayRef, StoreError> {
    let (segment, column_def) = (open_checked(def, chunk, column, bytes)?, &def.columns[column]);
    let array = as_declared(gather_without(&segment, chunk.deleted.as_deref()), column_def.column_type);
    if !column_def.nullable && array.null_count() > 0 {
        let reason = format!("{} nulls in a NOT NULL column", array.null_count());
        let (table, column) = (def.name.clone(), column_def.name.clone());
        return Err(StoreError::Malformed { table, column, chunk: chunk.id, reason });
    }
    Ok(array)
}

/// All values of a segment.
pub(crate) fn gather_all(segment: &Segment) -> ArrayRef {
    gather_without(segment, None)
}

/// The values of a segment in memory in rows that are not deleted, as its column is declared.
pub(crate) fn gather_memory(segment: &Segment, deleted: Option<&DeletedRows>, declared: ColumnType) -> ArrayRef {
    as_declared(gather_without(segment, deleted), declared)
}

/// The values of a segment in some rows, by their ascending numbers.
fn gather_rows(segment: &Segment, rows: &[u32]) -> ArrayRef {
    let vectors = 0..segment.vector_count();
    let mut selections: Vec<Selection> =
        vectors.clone().map(|vector| Selection::none(segment.vector_rows(vector))).collect();
    rows.iter().for_each(|row| selections[*row as usize / VECTOR_ROWS].insert(*row as usize % VECTOR_ROWS));
    segment.gather(vectors, &selections)
}

/// The values of a segment in rows that are not deleted.
fn gather_without(segment: &Segment, deleted: Option<&DeletedRows>) -> ArrayRef {
    let vectors = 0..segment.vector_count();
    let selection = |vector: usize| {
        let mut selection = Selection::all(segment.vector_rows(vector));
        deleted.iter().for_each(|deleted| deleted.exclude_from(vector, &mut selection));
        selection
    };
    let selections: Vec<Selection> = vectors.clone().map(selection).collect();
    segment.gather(vectors, &selections)
}
