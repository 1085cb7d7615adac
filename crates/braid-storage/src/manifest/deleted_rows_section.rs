//! The deleted rows of a table's chunks, at the end of its section of the manifest (see [`crate::DeletedRows`]):
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of chunks with deleted rows; then for each of them, by ascending chunk id: |
//! | 4 | chunk id |
//! | 1 | form: 1 list, 2 bitmap |
//! | | form 1: 4 for the number of deleted rows; 4 for each of them, ascending: its number in the chunk |
//! | | form 2: ⌈rows / 8⌉ bytes: row r is deleted where bit r mod 8 of byte r / 8 is set; bits beyond the last row are 0 |
//!
//! The shorter form is written, and both are read. Some rows of such a chunk are deleted, and some are not: a chunk without
//! others is not in the manifest.

use std::sync::Arc;

use braid_base::ChunkId;

use super::byte_reader::ByteReader;
use super::{ManifestChunk, ManifestError};
use crate::DeletedRows;

const LIST: u8 = 1;
const BITMAP: u8 = 2;

/// The shortest entry: a chunk id, a form, and a bitmap of one byte.
const ENTRY_BYTES_MIN: usize = 4 + 1 + 1;

/// Writes the deleted rows of the chunks that have any.
pub(super) fn put_deleted_rows<'a>(
    out: &mut Vec<u8>,
    chunks: impl Iterator<Item = (ChunkId, &'a DeletedRows)> + Clone,
) {
    out.extend_from_slice(&(chunks.clone().count() as u32).to_le_bytes());
    for (id, deleted) in chunks {
        assert!(!deleted.is_empty() && !deleted.is_all(), "some rows of chunk {id} are deleted, and some are not");
        out.extend_from_slice(&id.0.to_le_bytes());
        put_rows(out, deleted);
    }
}

/// Writes the form of deleted rows, and the rows.
pub(super) fn put_rows(out: &mut Vec<u8>, deleted: &DeletedRows) {
    let bitmap_bytes = deleted.row_count().div_ceil(8) as usize;
    if 4 + 4 * deleted.count() as usize <= bitmap_bytes {
        out.push(LIST);
        out.extend_from_slice(&deleted.count().to_le_bytes());
        deleted.iter().for_each(|row| out.extend_from_slice(&row.to_le_bytes()));
    } else {
        out.push(BITMAP);
        let first = out.len();
        out.resize(first + bitmap_bytes, 0);
        deleted.iter().for_each(|row| out[first + row as usize / 8] |= 1 << (row % 8));
    }
}

/// Reads the deleted rows of `chunks` and gives them to these.
pub(super) fn take_deleted_rows(
    reader: &mut ByteReader<'_>,
    chunks: &mut [ManifestChunk],
) -> Result<(), ManifestError> {
    let count = reader.u32()? as usize;
    if count != reader.bounded_capacity(count, ENTRY_BYTES_MIN) {
        return Err(reader.malformed(format!("deleted rows of {count} chunks")));
    }
    let mut from = 0;
    for _ in 0..count {
        let id = ChunkId(reader.u32()?);
        let Some(at) = chunks[from..].iter().position(|chunk| chunk.id == id) else {
            return Err(reader.malformed(format!("deleted rows of chunk {id}, which is unknown or out of order")));
        };
        let chunk = &mut chunks[from + at];
        from += at + 1;
        let deleted = take_rows(reader, chunk.row_count)?;
        if deleted.is_empty() || deleted.is_all() {
            let (deleted, rows) = (deleted.count(), chunk.row_count);
            return Err(reader.malformed(format!("{deleted} deleted rows of the {rows} of chunk {id}")));
        }
        chunk.deleted = Some(Arc::new(deleted));
    }
    Ok(())
}

/// Reads what [`put_rows`] wrote of a chunk of `row_count` rows.
pub(super) fn take_rows(reader: &mut ByteReader<'_>, row_count: u32) -> Result<DeletedRows, ManifestError> {
    match reader.u8()? {
        LIST => take_list(reader, row_count),
        BITMAP => take_bitmap(reader, row_count),
        other => Err(reader.malformed(format!("deleted rows have form {other}"))),
    }
}

fn take_list(reader: &mut ByteReader<'_>, row_count: u32) -> Result<DeletedRows, ManifestError> {
    let mut deleted = DeletedRows::none(row_count);
    let mut next_row = 0;
    for _ in 0..reader.u32()? {
        let row = reader.u32()?;
        if !(next_row..row_count).contains(&row) {
            return Err(reader.malformed(format!("row {row} of {row_count} is deleted, out of order")));
        }
        deleted.insert(row);
        next_row = row + 1;
    }
    Ok(deleted)
}

fn take_bitmap(reader: &mut ByteReader<'_>, row_count: u32) -> Result<DeletedRows, ManifestError> {
    let bytes = reader.take(row_count.div_ceil(8) as usize)?;
    let is_set = |row: &u32| bytes[*row as usize / 8] >> (row % 8) & 1 == 1;
    if (row_count..8 * bytes.len() as u32).any(|row| is_set(&row)) {
        return Err(reader.malformed(format!("rows beyond the {row_count} of a chunk are deleted")));
    }
    Ok(DeletedRows::of(row_count, (0..row_count).filter(is_set)))
}
