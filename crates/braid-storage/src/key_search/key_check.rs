//! Whether no two rows of a version have the same key.

use std::sync::Arc;

use super::chunk_search::{SearchedChunk, first_match};
use super::table_keys::{Duplicate, duplicate_key, shape_of};
use crate::key_index::{KeyDef, key_values};
use crate::store_shared::StoreShared;
use crate::{StoreError, TableVersion};

/// Compares the keys of all rows: those of each chunk with each other, and with those of the chunks before it.
///
/// # Errors
/// [`StoreError::DuplicateKey`], and what reading chunks fails with.
pub(crate) async fn check_key(
    shared: &Arc<StoreShared>,
    version: &TableVersion,
    key: &KeyDef,
) -> Result<(), StoreError> {
    let def = &version.def;
    let shape = Arc::new(shape_of(def, key));
    let searched = |chunk| SearchedChunk { table: def.id, def, chunk };
    let is_duplicate = |values: &[u8]| {
        let values = key_values(&shape, values);
        StoreError::DuplicateKey(duplicate_key(def, key, values, Duplicate::Present))
    };
    for (at, chunk) in version.chunks.iter().enumerate() {
        let mut run = searched(chunk).first_run(shared, &shape).await?;
        if let Some(deleted) = &chunk.deleted {
            run = Arc::new(run.without(|row| deleted.contains(row)));
        }
        if let Some(repeated) = run.first_repeated() {
            return Err(is_duplicate(repeated));
        }
        let earlier = version.chunks[..at].iter().map(searched);
        if let Some(found) = first_match(shared, &shape, earlier, &run, |_, _| false).await? {
            return Err(is_duplicate(run.key(found.key_at)));
        }
    }
    Ok(())
}
