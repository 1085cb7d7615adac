//! What statements read and change in their transaction.
//!
//! A statement takes the changes of its transaction, adds its own and [keeps](StatementContext::keep) them: until the end of the
//! transaction, or, if it is a transaction by itself, by a commit. After a statement that fails half-way the transaction has failed.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use braid_base::{ColumnId, SchemaId, TableId};
use braid_storage::{
    AlteredRows, AppendedRows, Catalog, CatalogSequence, ForeignKeyDef, KeyDef, KeyLookup, LockWaits, Locked, NewTable,
    Redefinition, RowDeletes, RowEvent, RowId, SeenRows, SequenceScope, StoreError, TableAppender, TableDef,
    TableVersion, WriteSet,
};

use super::StatementContext;
use crate::interrupt::to_the_end;
use crate::session_locks::LockMode;
use crate::settings::SettingValues;
use crate::{EngineError, SqlState};

/// Rows to delete, and rows to add in their places.
pub struct RowChange {
    /// Their table.
    pub table: Arc<TableDef>,
    /// Rows of committed chunks.
    pub committed: SeenRows,
    /// Rows that the transaction has added.
    pub own: RowDeletes,
    /// The rows to add.
    pub appended: Vec<AppendedRows>,
}

/// A row that was written again since a statement has seen it.
#[derive(Clone, Copy, Debug)]
pub struct RenumberedRow {
    /// Its table.
    pub table: TableId,
    /// The number that the statement knows.
    pub seen: RowId,
    /// Its number in the newest state.
    pub now: RowId,
}

impl StatementContext {
    /// What the next statement reads: the newest committed state, or that of its transaction, with the transaction's changes.
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.states().1
    }

    /// The committed state that the next statement reads, and that state with the transaction's changes.
    pub fn states(&self) -> (Arc<Catalog>, Arc<Catalog>) {
        let store = self.database().store();
        let mut state = self.shared.state.lock();
        let committed = match keeps_snapshot(&state.settings) && state.is_in_transaction() {
            true => state.transaction.fixed_snapshot(|| store.snapshot()),
            false => store.snapshot(),
        };
        let view = state.transaction.view(committed.clone());
        (committed, view)
    }

    /// What names mean for a statement that comes before the state that its transaction reads.
    pub fn state_of_names(&self) -> Arc<Catalog> {
        let store = self.database().store();
        let mut state = self.shared.state.lock();
        let committed = state.transaction.known_snapshot().unwrap_or_else(|| store.snapshot());
        state.transaction.view(committed)
    }

    /// A sequence in the newest committed state, or as the transaction has changed it, and who else sees it.
    pub fn sequence_by_id(&self, id: TableId) -> Option<(CatalogSequence, SequenceScope)> {
        let committed = self.database().store().snapshot();
        let own = self.shared.state.lock().transaction.sequence(&committed, id);
        own.unwrap_or_else(|| Some((committed.sequence_by_id(id)?.clone(), SequenceScope::Committed)))
    }

    /// Whether the next statement may read no other snapshot: all statements of its transaction read one.
    pub fn has_fixed_snapshot(&self) -> bool {
        let state = self.shared.state.lock();
        keeps_snapshot(&state.settings) && state.is_in_transaction()
    }

    /// The committed state that all statements of the transaction read; `None` if each reads the newest one.
    pub fn fixed_snapshot(&self) -> Option<Arc<Catalog>> {
        self.has_fixed_snapshot().then(|| self.states().0)
    }

    /// Whether the transaction has changed something, which nobody else may see.
    pub fn has_own_writes(&self) -> bool {
        self.shared.state.lock().transaction.has_writes()
    }

    /// Whether all rows of a table are those of the transaction, which has created or emptied it.
    pub fn has_all_rows_of(&self, table: TableId) -> bool {
        let mut state = self.shared.state.lock();
        let Some(writes) = state.transaction.take_writes() else { return false };
        let has_all = writes.has_all_rows_of(table);
        state.transaction.put_writes(writes);
        has_all
    }

    /// Whether changes stay until a later commit.
    pub fn is_in_transaction(&self) -> bool {
        self.shared.state.lock().is_in_transaction()
    }

    /// Notes tables that a statement reads, if the transaction is serializable.
    pub fn note_reads(&self, tables: impl IntoIterator<Item = TableId>) {
        let mut state = self.shared.state.lock();
        if isolation(&state.settings) == Some("serializable") && state.is_in_transaction() {
            state.transaction.note_reads(tables);
        }
    }

    /// The error of a statement, or that its transaction is to be tried again: a serializable one that has looked for a key before it adds it
    /// gets no duplicate of what was added since, but 40001.
    pub fn retry_before_duplicate(&self, error: EngineError) -> EngineError {
        let newest = self.database().store().snapshot();
        let is_duplicate = error.state() == SqlState::UniqueViolation;
        match is_duplicate && self.shared.state.lock().transaction.has_changed_reads(&newest) {
            true => StoreError::ReadsChanged.into(),
            false => error,
        }
    }

    /// Lets the next statement see the rows that the transaction has added.
    ///
    /// # Errors
    /// What writing fails with.
    pub async fn settle_writes(&self) -> Result<(), EngineError> {
        if !self.shared.state.lock().transaction.is_unsettled() {
            return Ok(());
        }
        let mut writes = self.take_writes();
        writes.settle().await?;
        self.shared.state.lock().transaction.put_writes(writes);
        Ok(())
    }

    /// Starts adding rows to a table with this definition. They are in the transaction after [`Self::add_rows`].
    pub fn append(&self, def: &Arc<TableDef>) -> TableAppender {
        self.database().store().write_set().append_to(def.clone())
    }

    /// Starts a table that appears with its rows, as [`Self::append`] does.
    ///
    /// # Errors
    /// If its name is taken, or it makes no sense.
    pub fn create_and_append(&self, schema: SchemaId, table: NewTable) -> Result<TableAppender, EngineError> {
        Ok(self.database().store().write_set().create_and_append_in(&self.snapshot(), schema, table)?)
    }

    /// Adds rows, which [`Self::keep_changes`] keeps. Returns their number.
    ///
    /// # Errors
    /// What writing fails with.
    pub async fn add_rows(&self, appender: TableAppender) -> Result<u64, EngineError> {
        let rows = appender.finish().await?;
        let is_new = rows.is_of_new_table();
        let mut writes = self.take_writes();
        let row_count = writes.add_rows(rows).await?;
        self.database().row_counts().count(0, row_count);
        if is_new {
            let view = writes.view(&self.database().store().snapshot());
            self.own_new_objects(&mut writes, &view);
        }
        self.put_writes(writes);
        Ok(row_count)
    }

    /// The next thing that foreign keys are to look at.
    pub fn next_row_event(&self) -> Option<RowEvent> {
        let mut state = self.shared.state.lock();
        let mut writes = state.transaction.take_writes()?;
        let event = writes.next_event();
        state.transaction.put_writes(writes);
        event
    }

    /// The values of columns, by ascending ids, in rows of a version.
    ///
    /// # Errors
    /// What reading fails with.
    pub async fn read_columns_of_rows(
        &self,
        version: &TableVersion,
        rows: &[RowId],
        columns: &[ColumnId],
    ) -> Result<Vec<ArrayRef>, EngineError> {
        Ok(self.database().store().write_set().read_columns_of_rows(version, rows, columns).await?)
    }

    /// Looks for the rows that have keys of these rows, at most a chunk, and locks the keys that no row has.
    ///
    /// # Errors
    /// As [`WriteSet::look_up_keys`].
    pub async fn look_up_keys(
        &self,
        table: &Arc<TableDef>,
        keys: &[&KeyDef],
        rows: &RecordBatch,
    ) -> Result<KeyLookup, EngineError> {
        let mut writes = self.take_writes();
        let lookup = writes.look_up_keys(table, keys, rows).await;
        self.shared.state.lock().transaction.put_writes(writes);
        Ok(lookup?)
    }

    /// Rows of a version that a lookup has found, in this order.
    ///
    /// # Errors
    /// What reading fails with.
    pub async fn read_rows(&self, version: &TableVersion, rows: &[RowId]) -> Result<RecordBatch, EngineError> {
        Ok(self.database().store().write_set().read_rows(version, rows).await?)
    }

    /// Gives back the locks of a statement that has changed nothing, unless its transaction goes on.
    pub fn release_locks(&self) {
        let mut state = self.shared.state.lock();
        if !state.is_in_transaction() && !state.transaction.has_writes() {
            drop(state.transaction.take_writes());
        }
    }

    /// Makes changes and adds rows, in the transaction or by one commit. Returns the number of rows. The statement has locked what it defines
    /// anew.
    ///
    /// # Errors
    /// Those of `change`, and what writing and commits fail with.
    pub async fn change_and_add(
        &self,
        appender: TableAppender,
        change: impl FnOnce(&mut WriteSet, &Arc<Catalog>) -> Result<(), EngineError>,
    ) -> Result<u64, EngineError> {
        let rows = appender.finish().await?;
        let view = self.snapshot();
        let mut writes = self.take_writes();
        let before = writes.clone();
        let changed = match change(&mut writes, &view) {
            Ok(()) => writes.add_rows(rows).await.map_err(EngineError::from),
            Err(error) => Err(error),
        };
        self.own_new_objects(&mut writes, &view);
        match changed {
            Ok(row_count) => {
                self.database().row_counts().count(0, row_count);
                self.keep(writes).await.map(|()| row_count)
            }
            Err(error) => {
                self.shared.state.lock().transaction.put_writes(before);
                Err(error)
            }
        }
    }

    /// Deletes rows and adds others, if the rows are as the statement has seen them. `None` if others have changed some of them: nothing
    /// is changed then. [`Self::keep_changes`] keeps the changes. Returns the rows that have other numbers now than the statement has seen.
    ///
    /// # Errors
    /// What locks and writing fail with.
    pub async fn change_rows(&self, changes: Vec<RowChange>) -> Result<Option<Vec<RenumberedRow>>, EngineError> {
        let mut writes = self.take_writes();
        let mut renumbered = Vec::new();
        for RowChange { table, committed, .. } in &changes {
            if writes.lock_rows(table.id, committed).await? == Locked::Changed {
                self.shared.state.lock().transaction.put_writes(writes);
                return Ok(None);
            }
        }
        for RowChange { table, committed, own, appended } in changes {
            let deleted = committed.count() + own.values().map(|rows| u64::from(rows.count())).sum::<u64>();
            if !own.is_empty() || !committed.is_empty() {
                let view = writes.view(&self.database().store().snapshot());
                let unknown = || StoreError::UnknownTable { table: table.name.clone() };
                let version = view.by_id(table.id).ok_or_else(unknown)?;
                let of_table = committed.renumbered_in(version).into_iter();
                renumbered.extend(of_table.map(|(seen, now)| RenumberedRow { table: table.id, seen, now }));
                writes.delete_seen_rows((&view, version), &committed, own)?;
            }
            let mut added = 0;
            for rows in appended {
                added += writes.add_rows(rows).await?;
            }
            self.database().row_counts().count(deleted, added);
        }
        self.put_writes(writes);
        Ok(Some(renumbered))
    }

    /// Changes what `change` says, of what the statement sees, in the transaction, or commits it.
    ///
    /// # Errors
    /// Those of `change`, and what commits fail with.
    pub async fn change<T, E>(
        &self,
        change: impl FnOnce(&mut WriteSet, &Arc<Catalog>) -> Result<T, E>,
    ) -> Result<T, EngineError>
    where
        EngineError: From<E>,
    {
        self.change_seen(&self.snapshot(), change).await
    }

    /// As [`Self::change`], of a state that the statement has read.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub async fn change_seen<T, E>(
        &self,
        view: &Arc<Catalog>,
        change: impl FnOnce(&mut WriteSet, &Arc<Catalog>) -> Result<T, E>,
    ) -> Result<T, EngineError>
    where
        EngineError: From<E>,
    {
        let mut writes = self.take_writes();
        let before = writes.clone();
        let changed = change(&mut writes, view).map_err(EngineError::from);
        match changed.and_then(|changed| self.define(&before, &writes).map(|()| changed)) {
            Ok(changed) => {
                self.own_new_objects(&mut writes, view);
                self.keep(writes).await.map(|()| changed)
            }
            Err(error) => {
                self.shared.state.lock().transaction.put_writes(before);
                Err(error)
            }
        }
    }

    /// Locks a table that gets another definition, and those that new foreign keys and those that go refer to.
    ///
    /// # Errors
    /// When the statement is to begin anew.
    pub fn define_table(&self, view: &Catalog, def: &TableDef) -> Result<(), EngineError> {
        self.define_relations([def.id], mode_of_change(view, def))?;
        let known = view.by_id(def.id).map_or(&[][..], |version| &version.def.foreign_keys);
        let new = |one: &[Arc<ForeignKeyDef>], other: &[Arc<ForeignKeyDef>]| -> Vec<TableId> {
            let is_new = |key: &&Arc<ForeignKeyDef>| other.iter().all(|known| known.id != key.id);
            let referenced = one.iter().filter(is_new).map(|key| key.referenced);
            referenced.filter(|table| *table != def.id).collect()
        };
        self.define_relations(new(known, &def.foreign_keys), LockMode::AccessExclusive)?;
        self.define_relations(new(&def.foreign_keys, known), LockMode::ShareRowExclusive)
    }

    /// Locks the relations that a statement defines anew.
    fn define(&self, before: &WriteSet, writes: &WriteSet) -> Result<(), EngineError> {
        let known = before.redefinitions();
        let new = writes.redefinitions().into_iter();
        new.filter(|(relation, how)| known.get(relation) < Some(how)).try_for_each(|(relation, how)| {
            let mode = match how {
                Redefinition::BesideReaders => LockMode::ShareRowExclusive,
                Redefinition::Alone => LockMode::AccessExclusive,
            };
            self.define_relations([relation], mode)
        })
    }

    /// Makes changes and gives a table another definition, for the statements of the transaction. [`Self::keep_changes`] keeps them. `states`
    /// are those that the statement has read.
    ///
    /// # Errors
    /// Those of `change`, and as [`WriteSet::alter_table`].
    pub async fn alter_table(
        &self,
        (committed, view): &(Arc<Catalog>, Arc<Catalog>),
        (def, rows): (TableDef, AlteredRows),
        change: impl FnOnce(&mut WriteSet, &Arc<Catalog>) -> Result<(), StoreError>,
    ) -> Result<(), EngineError> {
        self.check_lasting(view, def.schema, &def.columns)?;
        self.define_table(view, &def)?;
        let mut writes = self.take_writes();
        let before = writes.clone();
        let changed = change(&mut writes, view).map_err(EngineError::from);
        if let Err(error) = changed.and_then(|()| self.define(&before, &writes)) {
            self.put_writes(before);
            return Err(error);
        }
        self.own_new_objects(&mut writes, view);
        writes.alter_table((committed, view), def, rows).await?;
        self.shared.state.lock().transaction.put_writes(writes);
        Ok(())
    }

    /// Keeps what the statement has changed so far until the end of the transaction, or commits it.
    ///
    /// # Errors
    /// What commits fail with.
    pub async fn keep_changes(&self) -> Result<(), EngineError> {
        if self.is_in_transaction() {
            return Ok(());
        }
        let writes = self.take_writes();
        self.keep(writes).await
    }

    /// Takes the changes out of the transaction, to make more. Nothing that the statement asks meanwhile knows of them.
    pub fn take_writes(&self) -> WriteSet {
        let (taken, timeout) = {
            let mut state = self.shared.state.lock();
            (state.transaction.take_writes(), state.settings.lock_timeout_ms().map(Duration::from_millis))
        };
        let mut writes = taken.unwrap_or_else(|| self.database().store().write_set());
        writes.set_lock_waits(LockWaits {
            timeout,
            total: self.times().lock_waits().clone(),
            session: Some(self.session_id()),
        });
        writes
    }

    /// Puts changes back that were taken.
    pub fn put_writes(&self, writes: WriteSet) {
        self.shared.state.lock().transaction.put_writes(writes);
    }

    /// Keeps changes until the end of the transaction, or commits them, without the temporary tables that go with it.
    ///
    /// # Errors
    /// What commits fail with.
    pub(super) async fn keep(&self, mut writes: WriteSet) -> Result<(), EngineError> {
        {
            let mut state = self.shared.state.lock();
            if state.is_in_transaction() {
                state.transaction.put_writes(writes);
                return Ok(());
            }
        }
        // It may wait for other transactions, and is cancelled like the statement.
        writes.check_deferred(true, None).await?;
        self.end_temporary(&mut writes)?;
        to_the_end(writes.commit()).await?;
        Ok(())
    }
}

/// How a table is locked that gets another definition: as in PostgreSQL, but that nobody changes rows beside it, as their commit needs the
/// definition that they were made for.
fn mode_of_change(view: &Catalog, def: &TableDef) -> LockMode {
    let Some(before) = view.by_id(def.id).map(|version| &version.def) else { return LockMode::AccessExclusive };
    let new_keys = def.keys.get(before.keys.len()..).unwrap_or_default();
    let adds_indexes = !new_keys.is_empty() && new_keys.iter().all(|key| !key.kind.is_constraint());
    if adds_indexes && **before == (TableDef { keys: before.keys.clone(), ..def.clone() }) {
        return LockMode::Share;
    }
    let adds_foreign_keys = def.foreign_keys.len() > before.foreign_keys.len();
    if adds_foreign_keys && **before == (TableDef { foreign_keys: before.foreign_keys.clone(), ..def.clone() }) {
        return LockMode::ShareRowExclusive;
    }
    match without_notes(before) == without_notes(def) {
        true => LockMode::ShareRowExclusive,
        false => LockMode::AccessExclusive,
    }
}

/// A definition without what changes the meaning of no statement: comments, which constraints are known to hold, and the names of indexes.
fn without_notes(def: &TableDef) -> TableDef {
    let mut def = def.clone();
    for check in &mut def.checks {
        (check.comment, check.validated) = (None, true);
    }
    for key in &mut def.foreign_keys {
        *key = Arc::new(ForeignKeyDef { validated: true, ..ForeignKeyDef::clone(key) });
    }
    def.keys.iter_mut().filter(|key| !key.kind.is_constraint()).for_each(|key| key.name.clear());
    def
}

/// Whether all statements of a transaction read one snapshot.
fn keeps_snapshot(settings: &SettingValues) -> bool {
    matches!(isolation(settings), Some("repeatable read" | "serializable"))
}

/// The isolation level that was set; `None` for the default.
pub(super) fn isolation(settings: &SettingValues) -> Option<&str> {
    settings.get("transaction_isolation").or_else(|| settings.get("default_transaction_isolation"))
}
