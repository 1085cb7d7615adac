//! What keys of a table are indexed by: its unique keys, and the foreign keys from it and to it. And which rows a tree has the keys of.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use super::table_keys::{shape_of, shape_of_columns};
use crate::key_index::{ChunkMark, KeyNulls, KeyShape};
use crate::{Catalog, ChunkMeta, SegmentPlace, TableDef};

/// The shapes of the keys of a table that searches may be for, each once.
pub(super) fn index_shapes(catalog: &Catalog, def: &TableDef) -> Vec<Arc<KeyShape>> {
    let of_columns = |columns: &[_]| shape_of_columns(def, columns, KeyNulls::Distinct);
    let mut shapes: Vec<KeyShape> = def.unique_keys().map(|key| shape_of(def, key)).collect();
    shapes.extend(def.foreign_keys.iter().map(|key| of_columns(&key.columns)));
    shapes.extend(catalog.references_to(def.id).iter().map(|reference| of_columns(&reference.key.key)));
    shapes.sort_by_key(KeyShape::id);
    shapes.dedup_by_key(|shape| shape.id());
    shapes.into_iter().map(Arc::new).collect()
}

/// Which rows a chunk has, as far as keys of this shape tell; `None` of a chunk whose keys are in no file.
pub(super) fn mark_of(shape: &KeyShape, chunk: &ChunkMeta) -> Option<ChunkMark> {
    let file = chunk.file.as_ref()?;
    let mut bytes = file.id().0.to_le_bytes().to_vec();
    let mut is_in_file = false;
    for column in shape.columns() {
        let segment = chunk.find_segment(column)?;
        match &segment.place {
            SegmentPlace::InFile(range) => {
                is_in_file = true;
                bytes.extend_from_slice(&range.offset.to_le_bytes());
                bytes.extend_from_slice(&segment.checksum.to_le_bytes());
                // Numerics are integers in the segment; their scale is beside it.
                bytes.push(segment.scale.unwrap_or(u8::MAX));
            }
            // Missing values, which the shape tells.
            SegmentPlace::InMemory(_) => bytes.extend_from_slice(&u64::MAX.to_le_bytes()),
        }
    }
    is_in_file.then(|| ChunkMark(xxh3_128(&bytes)))
}
