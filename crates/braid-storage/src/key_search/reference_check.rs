//! Validation of a foreign key against all rows of a version.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};

use super::chunk_search::{SearchedChunk, all_matches};
use super::table_keys::shape_of_columns;
use crate::chunk_reader::read_columns;
use crate::key_index::{KeyNulls, KeyRun};
use crate::store_shared::StoreShared;
use crate::{ForeignKeyDef, MatchType, StoreError, TableVersion};

/// How rows violate a foreign key.
#[derive(Debug)]
pub(crate) enum Unsatisfied {
    /// These keys have no referenced row.
    Missing(KeyRun),
    /// A row has some nulls in a key of MATCH FULL.
    MixedNulls,
}

/// The first violation of a foreign key in a version; `None` if its rows satisfy it.
///
/// # Errors
/// What reading chunks fails with.
pub(crate) async fn first_unsatisfied(
    shared: &Arc<StoreShared>,
    (version, key): (&TableVersion, &ForeignKeyDef),
    referenced: Option<&TableVersion>,
) -> Result<Option<Unsatisfied>, StoreError> {
    let shape = Arc::new(shape_of_columns(&version.def, &key.columns, KeyNulls::Distinct));
    for chunk in version.chunks.iter() {
        let searched = SearchedChunk { table: version.def.id, def: &version.def, chunk };
        let is_deleted = |row: u32| chunk.deleted.as_ref().is_some_and(|deleted| deleted.contains(row));
        if key.matching == MatchType::Full {
            let columns = columns_of(shared, searched, key).await?;
            if mixed_nulls(&columns).any(|row| !is_deleted(row as u32)) {
                return Ok(Some(Unsatisfied::MixedNulls));
            }
        }
        let keys = searched.run(shared, &shape).await?.without(is_deleted).distinct();
        let missing = match referenced {
            Some(referenced) => missing_keys(shared, referenced, key, &keys).await?,
            None => keys,
        };
        if missing.len() > 0 {
            return Ok(Some(Unsatisfied::Missing(missing)));
        }
    }
    Ok(None)
}

/// The keys without a row in the referenced table.
///
/// # Errors
/// What reading chunks fails with.
pub(crate) async fn missing_keys(
    shared: &Arc<StoreShared>,
    referenced: &TableVersion,
    key: &ForeignKeyDef,
    keys: &KeyRun,
) -> Result<KeyRun, StoreError> {
    let shape = Arc::new(shape_of_columns(&referenced.def, &key.key, KeyNulls::Distinct));
    let mut is_there = vec![false; keys.len()];
    let found = all_matches(shared, &shape, SearchedChunk::all_of(referenced), keys).await?;
    found.iter().for_each(|found| is_there[found.key_at] = true);
    Ok(keys.only(|at| !is_there[at]))
}

/// The values of a foreign key in all rows of a chunk, deleted ones included.
///
/// # Errors
/// What reading the chunk fails with.
pub(crate) async fn columns_of(
    shared: &Arc<StoreShared>,
    searched: SearchedChunk<'_>,
    key: &ForeignKeyDef,
) -> Result<Vec<ArrayRef>, StoreError> {
    let position = |column| searched.def.position(column).expect("a key has columns of its table");
    let positions = key.columns.iter().map(|column| position(*column)).collect();
    read_columns(shared.device.as_ref(), searched.def, searched.chunk, positions).await
}

/// The rows that have some nulls in these columns, and not only nulls.
pub(crate) fn mixed_nulls(columns: &[ArrayRef]) -> impl Iterator<Item = usize> {
    let row_count = columns.first().map_or(0, |column| column.len());
    let nulls = move |row: usize| columns.iter().filter(|column| column.is_null(row)).count();
    (0..row_count).filter(move |row| !matches!(nulls(*row), 0) && nulls(*row) < columns.len())
}
