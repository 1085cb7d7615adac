//! Referential actions and foreign key checks at the end of a statement.
//!
//! A statement makes its own changes first. Then its events are handled in order ([`braid_storage::RowEvent`]), each for all foreign keys in
//! the order of their declaration. A removed row deletes its referencing rows (CASCADE), gives them other values (CASCADE after an UPDATE,
//! SET NULL, SET DEFAULT), or fails if there are some (NO ACTION, RESTRICT). An added row must have its referenced row. An UPDATE that
//! keeps the key of a referencing row is not checked.
//!
//! Actions change the newest committed rows. A transaction with a fixed snapshot fails if its snapshot lacks one of them (40001).

use std::collections::btree_map::Entry;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::compute::take;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use braid_base::ColumnId;
use braid_storage::{
    DeletedRows, Locked, PRIVATE_CHUNKS, Reference, ReferenceKeys, ReferentialAction, ReferringRows, RemovedRows,
    RowCheck, RowDeletes, RowEvent, RowId, SeenRows, TableDef, TableVersion,
};

use super::assignment::Assignment;
use super::changed_rows::concurrent_update;
use super::replaced_rows::ReplacedRows;
use crate::EngineError;
use crate::session_locks::LockMode;
use crate::statement_context::StatementContext;

/// Referencing rows that are replaced together.
const PART_ROWS: usize = 65_536;

/// Keys of removed rows.
struct LostKeys {
    keys: ReferenceKeys,
    /// The keys that the rows have instead; `None` if the rows are deleted.
    new: Option<Vec<ArrayRef>>,
}

/// Handles all events of a statement, and those of its actions.
///
/// # Errors
/// For a foreign key that is violated (23503), for rows that actions change and that violate other constraints, and what locks and
/// writing fail with.
pub(crate) async fn enforce(context: &StatementContext, mut replaced: ReplacedRows) -> Result<(), EngineError> {
    while let Some(event) = context.next_row_event() {
        match event {
            RowEvent::Removed(removed) => follow(context, &removed, &mut replaced).await?,
            RowEvent::Added(keys) => {
                check(context, RowCheck::Referenced(keys.without(replaced.unchanged()))).await?;
            }
            RowEvent::MixedNulls(reference) => check(context, RowCheck::MixedNulls(reference)).await?,
        }
    }
    Ok(())
}

/// Runs a check now, or defers it to the end of the transaction.
async fn check(context: &StatementContext, check: RowCheck) -> Result<(), EngineError> {
    let snapshot = context.fixed_snapshot();
    let mut writes = context.take_writes();
    writes.check(check, snapshot.as_ref()).await?;
    context.put_writes(writes);
    Ok(())
}

/// Handles removed rows.
///
/// # Errors
/// 40001 if another transaction has added or changed a foreign key since the statement looked at its rows.
async fn follow(
    context: &StatementContext,
    removed: &RemovedRows,
    replaced: &mut ReplacedRows,
) -> Result<(), EngineError> {
    let def = &removed.version.def;
    let is_missing = |column: &ColumnId| def.position(*column).is_none();
    let is_unknown = |reference: &Reference| replaced.is_new(reference) || reference.key.key.iter().any(is_missing);
    if removed.references.iter().any(is_unknown) {
        return Err(concurrent_update());
    }
    for reference in &removed.references {
        let mut lost = Vec::new();
        for rows in removed.parts() {
            let old = columns_of_rows(context, &removed.version, &rows, &reference.key.key).await?;
            lost.extend(lost_keys(def, reference, (&rows, &old), replaced)?);
        }
        let (updated, deleted): (Vec<LostKeys>, Vec<LostKeys>) = lost.into_iter().partition(|lost| lost.new.is_some());
        for lost in [deleted, updated] {
            act(context, reference, lost, replaced).await?;
        }
    }
    for rows in removed.parts() {
        note_unchanged(context, removed, &rows, replaced).await?;
    }
    Ok(())
}

/// The values of columns in rows of a version, in the order of the columns.
async fn columns_of_rows(
    context: &StatementContext,
    version: &TableVersion,
    rows: &[RowId],
    columns: &[ColumnId],
) -> Result<Vec<ArrayRef>, EngineError> {
    let mut ids = columns.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let values = context.read_columns_of_rows(version, rows, &ids).await?;
    let value = |column: &ColumnId| ids.binary_search(column).ok().and_then(|at| values.get(at)).cloned();
    let found: Option<Vec<ArrayRef>> = columns.iter().map(value).collect();
    found.ok_or_else(concurrent_update)
}

/// Notes the keys that an UPDATE leaves as they were: they are not checked again. If a foreign key is NOT VALID, an inserted row must be
/// checked though an old row has the same key; so nothing is noted for a statement that also inserts.
async fn note_unchanged(
    context: &StatementContext,
    removed: &RemovedRows,
    rows: &[RowId],
    replaced: &mut ReplacedRows,
) -> Result<(), EngineError> {
    let def = &removed.version.def;
    let is_beside_others = replaced.is_beside_others(def.id);
    for key in def.foreign_keys.iter().filter(|key| key.validated || !is_beside_others) {
        let with_places = rows.iter().filter_map(|row| Some((*row, replaced.place_of(def.id, *row)?)));
        let (rows, places): (Vec<RowId>, Vec<(usize, usize)>) = with_places.unzip();
        if rows.is_empty() {
            continue;
        }
        let before = columns_of_rows(context, &removed.version, &rows, &key.columns).await?;
        let after = replaced.values(&key.columns, &places)?;
        let reference = Reference { table: def.clone(), key: key.clone() };
        replaced.note_unchanged(ReferenceKeys::unchanged(&reference, &before, &after)?);
    }
    Ok(())
}

/// The keys of deleted rows, and the old keys of rows that have new ones.
fn lost_keys(
    def: &TableDef,
    reference: &Reference,
    (rows, old): (&[RowId], &[ArrayRef]),
    replaced: &ReplacedRows,
) -> Result<Vec<LostKeys>, EngineError> {
    let (mut deleted, mut updated, mut successors) = (Vec::new(), Vec::new(), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        match replaced.place_of(def.id, *row) {
            None => deleted.push(at as u64),
            Some(place) => {
                updated.push(at as u64);
                successors.push(place);
            }
        }
    }
    let mut lost = Vec::new();
    if !deleted.is_empty() {
        let keys = ReferenceKeys::of(reference, def, &rows_of(old, &deleted)?)?;
        lost.push(LostKeys { keys, new: None });
    }
    if !updated.is_empty() {
        let (before, after) = (rows_of(old, &updated)?, replaced.values(&reference.key.key, &successors)?);
        let changed = differing(&before, &after)?;
        if !changed.is_empty() {
            let keys = ReferenceKeys::of(reference, def, &rows_of(&before, &changed)?)?;
            lost.push(LostKeys { keys, new: Some(rows_of(&after, &changed)?) });
        }
    }
    Ok(lost)
}

fn rows_of(columns: &[ArrayRef], rows: &[u64]) -> Result<Vec<ArrayRef>, EngineError> {
    let rows = UInt64Array::from(rows.to_vec());
    columns.iter().map(|column| Ok(take(column, &rows, None)?)).collect()
}

/// The rows that differ in their bytes: 1.0 differs from 1.00.
fn differing(before: &[ArrayRef], after: &[ArrayRef]) -> Result<Vec<u64>, EngineError> {
    let fields = before.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let converter = RowConverter::new(fields)?;
    let (before, after) = (converter.convert_columns(before)?, converter.convert_columns(after)?);
    Ok((0..before.num_rows()).filter(|at| before.row(*at) != after.row(*at)).map(|at| at as u64).collect())
}

/// Takes the action of a foreign key for removed keys: all of deleted rows, or all of updated ones.
async fn act(
    context: &StatementContext,
    reference: &Reference,
    lost: Vec<LostKeys>,
    replaced: &mut ReplacedRows,
) -> Result<(), EngineError> {
    let Some(first) = lost.first() else { return Ok(()) };
    let is_update = first.new.is_some();
    let action = if is_update { reference.key.on_update } else { reference.key.on_delete };
    let successors = match action {
        ReferentialAction::NoAction => {
            for LostKeys { keys, .. } in lost {
                check(context, RowCheck::Unreferenced(keys)).await?;
            }
            return Ok(());
        }
        ReferentialAction::Restrict => return check_unreferenced(context, &lost, false).await,
        ReferentialAction::Cascade if is_update => Successors::Keys(reference.key.columns.clone()),
        ReferentialAction::Cascade => Successors::None,
        ReferentialAction::SetNull => Successors::Nulls(set_columns(reference, is_update)),
        ReferentialAction::SetDefault => Successors::Defaults(set_columns(reference, is_update)),
    };
    context.wait_to_use(reference.table.id, LockMode::RowExclusive).await?;
    change_referencing(context, &lost, &successors, replaced).await?;
    match action {
        // The default may be the removed key itself.
        ReferentialAction::SetDefault => check_unreferenced(context, &lost, true).await,
        _ => Ok(()),
    }
}

async fn check_unreferenced(
    context: &StatementContext,
    lost: &[LostKeys],
    unless_back: bool,
) -> Result<(), EngineError> {
    let mut writes = context.take_writes();
    for LostKeys { keys, .. } in lost {
        writes.check_unreferenced(keys, unless_back).await?;
    }
    context.put_writes(writes);
    Ok(())
}

/// The columns that SET NULL and SET DEFAULT set.
fn set_columns(reference: &Reference, is_update: bool) -> Vec<ColumnId> {
    let key = &reference.key;
    if is_update || key.set_columns.is_empty() { key.columns.clone() } else { key.set_columns.clone() }
}

/// What replaces the referencing rows of a removed key.
enum Successors {
    /// Nothing: they are deleted.
    None,
    /// They have the new keys in these columns.
    Keys(Vec<ColumnId>),
    /// They have nulls in these columns.
    Nulls(Vec<ColumnId>),
    /// They have the defaults of these columns.
    Defaults(Vec<ColumnId>),
}

/// Referencing rows of several sets of keys.
struct FoundRows {
    version: Arc<TableVersion>,
    /// For each set its rows, each with the place of its key.
    of_keys: Vec<Vec<(RowId, usize)>>,
}

/// Deletes or replaces the referencing rows of keys. All of them are found before one is changed: a new key may be an old one as well.
async fn change_referencing(
    context: &StatementContext,
    lost: &[LostKeys],
    successors: &Successors,
    replaced: &mut ReplacedRows,
) -> Result<(), EngineError> {
    let Some(FoundRows { version, of_keys }) = lock_referencing(context, lost).await? else { return Ok(()) };
    let def = &version.def;
    let view = context.snapshot();
    let mut appended = None;
    if !matches!(successors, Successors::None) {
        let assignment = match successors {
            Successors::Defaults(columns) => {
                let given: Vec<usize> =
                    (0..def.columns.len()).filter(|at| !columns.contains(&def.columns[*at].id)).collect();
                Assignment::with_defaults(context, def, &given)?
            }
            _ => Assignment::checked(context, def)?,
        };
        let mut appender = context.append(def);
        for (found, lost) in of_keys.iter().zip(lost) {
            for part in found.chunks(PART_ROWS) {
                let ids: Vec<RowId> = part.iter().map(|(row, _)| *row).collect();
                let places: Vec<u64> = part.iter().map(|(_, place)| *place as u64).collect();
                let present = context.read_rows(&version, &ids).await?;
                let new = lost.new.as_deref().unwrap_or_default();
                let rows = successors.rows(&assignment, &present, (new, &places))?;
                replaced.note((context, &view), def, ids.into_iter(), &rows)?;
                appender.append(rows).await?;
            }
        }
        appended = Some(appender.finish().await?);
    }
    let rows = row_deletes(&version, of_keys.iter().flatten().map(|(row, _)| *row)).ok_or_else(concurrent_update)?;
    let mut writes = context.take_writes();
    writes.delete_of_version(&view, &version, &rows)?;
    let mut added = 0;
    if let Some(appended) = appended {
        added = writes.add_rows(appended).await?;
    }
    let deleted = rows.values().map(|rows| u64::from(rows.count())).sum();
    context.database().row_counts().count(deleted, added);
    context.put_writes(writes);
    Ok(())
}

impl Successors {
    /// The rows that take the places of these, whose new keys are at `places`.
    fn rows(
        &self,
        assignment: &Assignment,
        present: &RecordBatch,
        (new, places): (&[ArrayRef], &[u64]),
    ) -> Result<RecordBatch, EngineError> {
        let def = assignment.def().clone();
        let mut arrays: Vec<Option<ArrayRef>> = present.columns().iter().cloned().map(Some).collect();
        let position = |column: &ColumnId| {
            def.position(*column)
                .ok_or_else(|| EngineError::internal("a foreign key has a column that its table lacks"))
        };
        match self {
            Self::None => {}
            Self::Keys(columns) => {
                for (column, values) in columns.iter().zip(rows_of(new, places)?) {
                    let at = position(column)?;
                    arrays[at] = Some(assignment.convert_column(at, &values)?);
                }
            }
            Self::Nulls(columns) => {
                for column in columns {
                    let at = position(column)?;
                    let data_type = def.columns[at].column_type.arrow();
                    arrays[at] = Some(arrow::array::new_null_array(&data_type, present.num_rows()));
                }
            }
            Self::Defaults(columns) => {
                for column in columns {
                    arrays[position(column)?] = None;
                }
            }
        }
        assignment.assemble(arrays, present.num_rows())
    }
}

/// The referencing rows of keys, locked; `None` if there are none.
async fn lock_referencing(context: &StatementContext, lost: &[LostKeys]) -> Result<Option<FoundRows>, EngineError> {
    loop {
        let mut writes = context.take_writes();
        let (mut last, mut of_keys) = (None, Vec::with_capacity(lost.len()));
        for LostKeys { keys, .. } in lost {
            let Some(ReferringRows { version, rows }) = writes.find_referencing(keys).await? else { break };
            of_keys.push(rows);
            last = Some(version);
        }
        let Some(version) = last.filter(|_| of_keys.iter().any(|found| !found.is_empty())) else {
            context.put_writes(writes);
            return Ok(None);
        };
        let committed = of_keys.iter().flatten().map(|(row, _)| *row).filter(|row| row.chunk.0 < PRIVATE_CHUNKS);
        let is_fixed = context.has_fixed_snapshot();
        let mut seen = SeenRows::default();
        if committed.map(|row| seen.insert(&version, row)).any(|is_new| is_new.is_none()) {
            // A commit has merged a chunk between two searches.
            context.put_writes(writes);
            continue;
        }
        let locked = writes.lock_rows(version.def.id, &seen).await?;
        context.put_writes(writes);
        match locked {
            Locked::AsSeen if is_fixed && !are_visible(context, &version, &seen) => {
                return Err(concurrent_update());
            }
            Locked::AsSeen => return Ok(Some(FoundRows { version, of_keys })),
            Locked::Changed if is_fixed => return Err(concurrent_update()),
            Locked::Changed => {}
        }
    }
}

/// Whether the snapshot of the transaction has these rows.
fn are_visible(context: &StatementContext, version: &TableVersion, rows: &SeenRows) -> bool {
    let (committed, _) = context.states();
    let known = committed.by_id(version.def.id);
    known.is_some_and(|known| rows.chunk_ids().all(|chunk| known.chunk(chunk).is_some()))
}

/// Rows by chunk; `None` if the version lacks a chunk.
fn row_deletes(version: &TableVersion, rows: impl Iterator<Item = RowId>) -> Option<RowDeletes> {
    let mut deletes = RowDeletes::new();
    for RowId { chunk, row } in rows {
        let rows = match deletes.entry(chunk) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let known = version.chunk(chunk)?;
                entry.insert(DeletedRows::none(known.row_count))
            }
        };
        rows.insert(row);
    }
    Some(deletes)
}
