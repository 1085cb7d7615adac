//! The write set of a transaction: all that it changes, before it is committed.
//!
//! Statements of a transaction read a [`WriteSet::view`]: a catalog that nobody else has, with the transaction's changes on top of
//! committed tables. A commit puts the same changes on top of the newest catalog, whatever was committed meanwhile, and switches to
//! it once: all of them become durable and visible together, or none.
//!
//! | module | contents |
//! |---|---|
//! | [`table_writes`] | the rows for one table, until they are committed |
//! | [`altered_table`] | a table's new definition, and what it was made of |
//! | [`next_version`] | a table's version with added rows |
//! | [`type_edits`] | changes of the enumerated types |
//! | [`domain_edits`] | changes of the domains |
//! | [`schema_edits`] | changes of the schemas |
//! | [`sequence_edits`] | changes of the sequences |
//! | [`key_claims`] | the keys of added rows, which no other row has |
//! | [`row_locking`] | locks of rows that a statement has seen |
//! | [`row_events`] | the event queue of foreign keys |
//! | [`references`] | foreign key checks |
//! | [`key_lookup`] | the rows that have keys of rows that are to be added: ON CONFLICT |
//! | [`view_edits`] | changes of the views |
//! | [`redefinitions`] | the committed relations that others are kept from |
//! | [`comment_edits`] | changes of the comments |
//! | [`access_edits`] | changes of access control |
//! | [`keyed_edits`] | changes of what is kept one by one |
//! | [`commit`] | the way of a write set into the newest catalog |
//!
//! Rules:
//! 1. A clone is a savepoint: what is written later does not change it. It shares files and rows.
//! 2. What only a transaction has is named by numbers that no manifest has: versions and catalogs from [`PRIVATE_SEQUENCE`](crate::PRIVATE_SEQUENCE), chunks
//!    from [`PRIVATE_CHUNKS`](crate::PRIVATE_CHUNKS). So plans, results and segments that are kept by number are never taken for committed ones.
//! 3. Files are doomed until a commit names them: they go with the last clone.
//! 4. Added rows need no order among transactions. A table that was dropped or altered meanwhile, a name that was taken, or a type,
//!    sequence, view or comment that was changed by others fails the commit, and nothing of it is visible.

mod access_edits;
mod altered_table;
mod comment_edits;
mod commit;
mod domain_edits;
mod key_claims;
mod key_lookup;
mod keyed_edits;
mod next_version;
mod redefinitions;
mod references;
mod row_events;
mod row_locking;
mod schema_edits;
mod sequence_edits;
mod table_writes;
mod type_edits;
mod view_edits;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use braid_base::{SchemaId, TableId};
use futures::future::BoxFuture;

use crate::access::{AccessEntry, AccessKey, AccessObject};
use crate::catalog::{Catalog, CatalogDomain, NewTable, TableEntry};
use crate::comments::CommentSubject;
use crate::row_locks::{LockOwner, LockWaits};
use crate::schemas::TableRef;
use crate::store_shared::StoreShared;
use crate::table_appender::{AppendedRows, TableAppender, Target};
use crate::{
    CheckDef, DeletedRows, ForeignKeyDef, KeyDef, PRIVATE_CHUNKS, RowDeletes, SeenRows, Store, StoreError, TableDef,
    TableVersion, TypeChanges, ViewChanges, ViewDef,
};

pub use access_edits::NewObject;
pub use altered_table::AlteredRows;
pub(crate) use commit::files_besides;
pub use key_lookup::KeyLookup;
use keyed_edits::KeyedEdits;
pub(crate) use next_version::NextVersion;
pub use redefinitions::Redefinition;
use references::PendingReferences;
pub use references::{CheckTime, ReferenceKeys, ReferringRows, RowCheck};
pub use row_events::{RemovedRows, RowEvent};
pub use row_locking::{RowLocking, RowState};
use schema_edits::SchemaEdits;
use sequence_edits::SequenceEdits;
use table_writes::{Base, TableWrites};
use type_edits::TypeEdits;
use view_edits::ViewEdits;

/// The constraints of a new table.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// Conditions of its rows.
    pub checks: Vec<CheckDef>,
    /// Columns whose values differ in all rows. Their ids are given out by the write set.
    pub keys: Vec<KeyDef>,
    /// Columns whose values are in rows of other tables, or of this one ([`OWN_TABLE`]). Their ids are given out likewise.
    pub foreign_keys: Vec<ForeignKeyDef>,
}

/// Stands for the id of a new table in its own foreign keys.
pub const OWN_TABLE: TableId = TableId(u32::MAX);

/// What a transaction changes.
#[derive(Clone)]
pub struct WriteSet {
    shared: Arc<StoreShared>,
    tables: BTreeMap<TableId, TableWrites>,
    types: Option<TypeEdits>,
    domains: KeyedEdits<u32, CatalogDomain>,
    schemas: SchemaEdits,
    sequences: SequenceEdits,
    views: Option<ViewEdits>,
    comments: KeyedEdits<CommentSubject, Arc<str>>,
    access: KeyedEdits<AccessKey, Arc<AccessEntry>>,
    /// What it has created that has an owner.
    owned: BTreeSet<AccessObject>,
    references: PendingReferences,
    /// The locked rows, of all clones.
    locks: Option<Arc<LockOwner>>,
    /// How it waits for locks of others.
    lock_waits: LockWaits,
}

impl Store {
    /// The write set of a transaction that begins.
    pub fn write_set(&self) -> WriteSet {
        WriteSet::new(Arc::clone(self.shared()))
    }

    /// Deletes rows of a table; durable when it returns. Returns the table's new version.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`], [`StoreError::RowConflict`], and what commits can fail with.
    pub fn delete_rows<'a>(
        &'a self,
        table: &'a str,
        deletes: &'a RowDeletes,
    ) -> BoxFuture<'a, Result<Arc<TableVersion>, StoreError>> {
        Box::pin(self.delete_rows_unboxed(table, deletes))
    }

    async fn delete_rows_unboxed(&self, table: &str, deletes: &RowDeletes) -> Result<Arc<TableVersion>, StoreError> {
        let (snapshot, mut writes) = (self.snapshot(), self.write_set());
        writes.delete_rows(&snapshot, table, deletes)?;
        let catalog = writes.commit().await?;
        catalog.table(table).cloned().ok_or_else(|| StoreError::UnknownTable { table: table.to_owned() })
    }
}

impl WriteSet {
    pub(crate) fn new(shared: Arc<StoreShared>) -> Self {
        let (tables, domains, schemas, sequences, comments, access, owned) = Default::default();
        let references = PendingReferences::default();
        Self {
            shared,
            tables,
            types: None,
            domains,
            schemas,
            sequences,
            views: None,
            comments,
            access,
            owned,
            references,
            locks: None,
            lock_waits: LockWaits::default(),
        }
    }

    /// Waits so for locks of others from now on.
    pub fn set_lock_waits(&mut self, waits: LockWaits) {
        self.locks.iter().for_each(|owner| owner.set_waits(waits.clone()));
        self.lock_waits = waits;
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        let has_system = self.has_type_edits() || !self.schemas.is_empty() || self.views.is_some();
        let has_notes = !self.comments.is_empty() || !self.access.is_empty();
        self.tables.is_empty() && !has_system && self.sequences.is_empty() && !has_notes
    }

    /// Whether types or domains are changed.
    fn has_type_edits(&self) -> bool {
        self.types.is_some() || !self.domains.is_empty()
    }

    /// Whether there are rows that [`Self::view`] does not show before [`Self::settle`].
    pub fn is_unsettled(&self) -> bool {
        self.tables.values().any(TableWrites::is_unsettled)
    }

    /// Whether all rows of a table are the transaction's: it has created or emptied it.
    pub fn has_all_rows_of(&self, table: TableId) -> bool {
        self.tables.get(&table).is_some_and(|writes| matches!(writes.base, Base::New | Base::Emptied))
    }

    /// Creates an empty table in schema `public`. `view` is what the statement sees.
    ///
    /// # Errors
    /// [`StoreError::TableExists`], [`StoreError::TypeExists`], [`StoreError::UnknownType`], [`StoreError::InvalidTable`].
    pub fn create_table(&mut self, view: &Catalog, table: NewTable) -> Result<Arc<TableDef>, StoreError> {
        self.create_constrained_table(view, (view.public_schema()?, table), Constraints::default())
    }

    /// As [`Self::create_table`], in any schema, with constraints of its rows. Keys get ids of their own.
    ///
    /// # Errors
    /// The same.
    pub fn create_constrained_table(
        &mut self,
        view: &Catalog,
        (schema, table): (SchemaId, NewTable),
        Constraints { checks, mut keys, foreign_keys }: Constraints,
    ) -> Result<Arc<TableDef>, StoreError> {
        for key in &mut keys {
            if view.has_relation(schema, &key.name) {
                return Err(StoreError::TableExists { table: key.name.clone() });
            }
            key.id = self.new_relation_id();
        }
        let defined = self.defined(view, schema, table)?;
        let with_ids = |key: ForeignKeyDef| {
            let referenced = if key.referenced == OWN_TABLE { defined.id } else { key.referenced };
            Arc::new(ForeignKeyDef { id: self.new_relation_id(), referenced, ..key })
        };
        let foreign_keys = foreign_keys.into_iter().map(with_ids).collect();
        let def = TableDef { checks, keys, foreign_keys, ..defined };
        if let Err(reason) = def.validate() {
            return Err(StoreError::InvalidTable { table: def.name, reason });
        }
        let def = Arc::new(def);
        self.tables.insert(def.id, TableWrites::new(Arc::clone(&def), Base::New));
        Ok(def)
    }

    /// The definition of a new table.
    fn defined(&self, view: &Catalog, schema: SchemaId, table: NewTable) -> Result<TableDef, StoreError> {
        let def = self.shared.define(schema, table)?;
        if view.has_relation(schema, &def.name) {
            return Err(StoreError::TableExists { table: def.name });
        }
        view.check_types_of(&def)?;
        Ok(def)
    }

    /// Drops a table.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`].
    pub fn drop_table<'a>(&mut self, view: &Catalog, table: impl Into<TableRef<'a>>) -> Result<(), StoreError> {
        let def = meant(view, table.into())?;
        self.check_none_deferred(def, "DROP TABLE")?;
        match self.tables.get(&def.id).is_some_and(|writes| writes.base == Base::New) {
            true => drop(self.tables.remove(&def.id)),
            false => drop(self.tables.insert(def.id, TableWrites::new(Arc::clone(def), Base::Dropped))),
        }
        Ok(())
    }

    /// Removes all rows of a table: those of the transaction, and those that are committed before it.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`].
    pub fn truncate_table<'a>(&mut self, view: &Catalog, table: impl Into<TableRef<'a>>) -> Result<(), StoreError> {
        let def = meant(view, table.into())?;
        self.check_none_deferred(def, "TRUNCATE")?;
        self.note_known_references(view, def.id);
        let is_new = self.tables.get(&def.id).is_some_and(|writes| writes.base == Base::New);
        let base = if is_new { Base::New } else { Base::Emptied };
        let altered = self.tables.remove(&def.id).and_then(|writes| writes.altered);
        let mut writes = TableWrites::new(Arc::clone(def), base);
        writes.altered = altered;
        self.tables.insert(def.id, writes);
        Ok(())
    }

    /// Deletes rows of a table that `view` has, none of which is deleted there.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`], [`StoreError::RowConflict`] if the view lacks a chunk.
    pub fn delete_rows<'a>(
        &mut self,
        view: &Catalog,
        table: impl Into<TableRef<'a>>,
        deletes: &RowDeletes,
    ) -> Result<(), StoreError> {
        let table = table.into();
        meant(view, table)?;
        match view.meant(table) {
            Some(version) => self.delete_of_version(view, version, deletes),
            None => Ok(()),
        }
    }

    /// As [`Self::delete_rows`], of a version of a table of `view` that has the rows.
    ///
    /// # Errors
    /// [`StoreError::RowConflict`] if the version lacks a chunk.
    pub fn delete_of_version(
        &mut self,
        view: &Catalog,
        version: &Arc<TableVersion>,
        deletes: &RowDeletes,
    ) -> Result<(), StoreError> {
        let (own, committed) = deletes.clone().into_iter().partition(|(chunk, _)| chunk.0 >= PRIVATE_CHUNKS);
        let seen = SeenRows::of(version, &committed);
        let seen = seen.map_err(|conflict| StoreError::RowConflict { table: version.def.name.clone(), conflict })?;
        self.delete_seen_rows((view, version), &seen, own)
    }

    /// Deletes committed rows that a statement has seen, and rows of the transaction's own, of a version of a table of `view` that is as
    /// new as those that they were seen in. None of them is deleted there.
    ///
    /// # Errors
    /// [`StoreError::RowConflict`] if the version lacks a row that was seen.
    pub fn delete_seen_rows(
        &mut self,
        (view, version): (&Catalog, &Arc<TableVersion>),
        seen: &SeenRows,
        own: RowDeletes,
    ) -> Result<(), StoreError> {
        let def = &version.def;
        let mut deletes = own;
        let conflict = |conflict| StoreError::RowConflict { table: def.name.clone(), conflict };
        deletes.extend(seen.rows_in(version).map_err(conflict)?);
        if deletes.values().all(DeletedRows::is_empty) {
            return Ok(());
        }
        self.note_removed(view, version, &deletes);
        deletes.retain(|chunk, _| chunk.0 >= PRIVATE_CHUNKS);
        let writes = self.tables.entry(def.id).or_insert_with(|| TableWrites::new(Arc::clone(def), Base::Newest));
        writes.delete(seen, &deletes);
        Ok(())
    }

    fn check_none_deferred(&self, def: &TableDef, operation: &'static str) -> Result<(), StoreError> {
        match self.has_deferred(def.id) {
            true => Err(StoreError::PendingChecks { operation, table: def.name.clone() }),
            false => Ok(()),
        }
    }

    /// Starts adding rows to a table that `view` has. They are in the write set after [`Self::add_rows`].
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`].
    pub fn append(&self, view: &Catalog, name: &str) -> Result<TableAppender, StoreError> {
        Ok(self.append_to(Arc::clone(meant(view, name.into())?)))
    }

    /// As [`Self::append`], to a table with this definition. If it has another one when the rows are added or committed, that fails.
    pub fn append_to(&self, def: Arc<TableDef>) -> TableAppender {
        TableAppender::to_existing(Arc::clone(&self.shared), def)
    }

    /// Starts a table that appears with its rows, at [`Self::add_rows`].
    ///
    /// # Errors
    /// As [`Self::create_table`].
    pub fn create_and_append(&self, view: &Catalog, table: NewTable) -> Result<TableAppender, StoreError> {
        self.create_and_append_in(view, view.public_schema()?, table)
    }

    /// As [`Self::create_and_append`], in any schema.
    ///
    /// # Errors
    /// The same.
    pub fn create_and_append_in(
        &self,
        view: &Catalog,
        schema: SchemaId,
        table: NewTable,
    ) -> Result<TableAppender, StoreError> {
        Ok(TableAppender::to_new(Arc::clone(&self.shared), Arc::new(self.defined(view, schema, table)?)))
    }

    /// Adds rows; returns their number. A table of [`Self::create_and_append`] is created with them.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`] when the transaction has dropped the table, [`StoreError::Conflict`] when others have altered it
    /// since the transaction's first change of it, [`StoreError::DuplicateKey`], [`StoreError::KeyTooLong`] and
    /// [`StoreError::Deadlock`] for their keys, and what writing fails with.
    pub fn add_rows(&mut self, rows: AppendedRows) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let row_count = rows.row_count;
            let base = match rows.target {
                Target::Existing if row_count == 0 => return Ok(0),
                Target::Existing => Base::Newest,
                Target::New => Base::New,
            };
            let writes =
                self.tables.entry(rows.def.id).or_insert_with(|| TableWrites::new(Arc::clone(&rows.def), base));
            if writes.base == Base::Dropped {
                return Err(StoreError::UnknownTable { table: rows.def.name.clone() });
            }
            if writes.def != rows.def {
                return Err(StoreError::Conflict { what: format!("table \"{}\"", rows.def.name) });
            }
            self.claim_keys(&rows).await?;
            self.note_added(&rows).await?;
            let writes = self.tables.get_mut(&rows.def.id).expect("it was put there");
            writes.add(&self.shared, rows).await?;
            Ok(row_count)
        })
    }

    /// Changes types as `change` says, of what the statement sees. Values of types that others have too keep the labels that are
    /// committed: a transaction cannot use a label that it has added to one.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn change_types<T, E>(
        &mut self,
        view: &Arc<Catalog>,
        change: impl FnOnce(&mut TypeChanges<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut changes = TypeChanges::new(&self.shared, Arc::clone(view));
        let result = change(&mut changes)?;
        if let Some(types) = changes.into_changed() {
            let seen = view.types_by_oid();
            let base = self.types.take().map_or_else(|| seen.clone(), |edits| edits.before(seen));
            let edits = TypeEdits::new(base, types);
            edits.changed().for_each(|known| known.id.propose(&known.definition));
            self.types = Some(edits);
            self.announce_new_types();
        }
        Ok(result)
    }

    /// Changes views as `change` says, of what the statement sees and has changed itself since.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn change_views<T, E>(
        &mut self,
        view: &Arc<Catalog>,
        change: impl FnOnce(&mut ViewChanges<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let known = view.views().by_id();
        let shown = self.views.as_ref().map_or_else(|| known.clone(), |edits| edits.shown_on(known));
        let mut changes = ViewChanges::new(&self.shared, Arc::clone(view), shown);
        let result = change(&mut changes)?;
        if let Some(views) = changes.into_changed() {
            let edits = self.views.take().unwrap_or_else(|| ViewEdits::of(view.views().by_id()));
            self.views = Some(edits.changed_to(views, view));
        }
        Ok(result)
    }

    /// Drops views, and the tables of those that are materialized.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`], and those of deferred checks.
    pub fn drop_views(&mut self, view: &Arc<Catalog>, dropped: &[Arc<ViewDef>]) -> Result<(), StoreError> {
        if dropped.is_empty() {
            return Ok(());
        }
        self.change_views(view, |changes| {
            dropped.iter().for_each(|view| changes.remove(view.id));
            Ok::<_, StoreError>(())
        })?;
        let materialized = dropped.iter().filter(|view| view.is_materialized());
        materialized.map(|dropped| dropped.id).try_for_each(|id| self.drop_table(view, id))
    }

    /// Whether a committed type, or a label of one, has another name: statements of the transaction still see the old one.
    pub fn renames_types(&self) -> bool {
        self.types.as_ref().is_some_and(TypeEdits::has_renamed)
    }

    /// Makes the definitions of types that the transaction has created those that its statements see: after a change, and where a
    /// savepoint takes the place of later changes.
    pub fn announce_new_types(&self) {
        let new = self.types.iter().flat_map(TypeEdits::added);
        new.for_each(|known| known.id.redefine(Arc::clone(&known.definition)));
    }

    /// Writes the rows that are only in memory, so that [`Self::view`] shows them. Nothing becomes durable.
    ///
    /// # Errors
    /// What writing fails with.
    pub fn settle(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            for writes in self.tables.values_mut() {
                writes.settle(&self.shared).await?;
            }
            Ok(())
        })
    }

    /// What the transaction's statements see: the committed state `base` with these changes. A table that others have dropped stays
    /// dropped. One that others have altered is shown with its new columns, and one that the transaction has altered too as it was before
    /// that; the commit will fail.
    pub fn view(&self, base: &Catalog) -> Arc<Catalog> {
        let sequence = self.shared.next_private_sequence();
        let mut view = base.numbered(sequence);
        if let Some(types) = &self.types {
            view.set_types(types.shown_on(base.types_by_oid()));
        }
        if !self.domains.is_empty() {
            view.set_domains(self.domains.shown_on(base.domains_by_oid()));
        }
        view.set_schemas(self.schemas.shown_on(base.schemas_by_id()));
        if let Some(views) = &self.views {
            view.set_views(views.shown_on(base.views().by_id()));
        }
        for (id, writes) in &self.tables {
            let entry = match writes.base {
                Base::Dropped => None,
                Base::New => Some(writes.version(&writes.def, None, sequence)),
                Base::Emptied => base.by_id(*id).map(|version| writes.version(writes.shown(version), None, sequence)),
                Base::Newest => base.by_id(*id).map(|version| {
                    let def = writes.shown(version);
                    writes.version(def, Some(writes.shown_on(version)), sequence)
                }),
            };
            view.remove(*id);
            if let Some(version) = entry {
                view.shadow(TableEntry::of_view(Arc::new(version)));
            }
        }
        view.set_sequences(self.sequences.shown_on(base.sequences_by_id()));
        if !self.comments.is_empty() || self.may_drop() {
            view.take_comments(self.comments.shown_on(base.comments_by_subject()));
        }
        if !self.access.is_empty() || self.may_drop() && !base.access().is_empty() {
            view.take_access(self.shown_access(base));
        }
        if self.changes_definitions(base) {
            view.note_changed_definitions();
        }
        Arc::new(view)
    }
}

impl TableWrites {
    fn version(&self, def: &Arc<TableDef>, base: Option<&Arc<TableVersion>>, sequence: u64) -> TableVersion {
        let base = base.map(|base| {
            let left = base.without_rows_left(&self.deletes().rows_left_in(base), sequence);
            Arc::new(if left.def == *def { left } else { left.defined_as(def, sequence) })
        });
        let mut next = NextVersion::of(base.as_ref(), def);
        self.own_files().for_each(|own| next.add(&own.written, own.first_chunk, |at| own.deleted_at(at)));
        next.version(sequence)
    }
}

fn meant<'a>(view: &'a Catalog, table: TableRef<'_>) -> Result<&'a Arc<TableDef>, StoreError> {
    let unknown = || match table {
        TableRef::Named(name) => StoreError::UnknownTable { table: name.to_owned() },
        TableRef::Id(id) => StoreError::UnknownTable { table: id.to_string() },
    };
    Ok(&view.meant(table).ok_or_else(unknown)?.def)
}

impl TableAppender {
    /// Makes all rows durable and visible, in a transaction of their own; returns the table's new version and the number of rows
    /// added. Dropping the future before it is ready leaves open whether the rows are added: all or none.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`] when the table was dropped meanwhile, [`StoreError::TableExists`] when a new one's name was taken
    /// meanwhile, and as [`Self::append`].
    pub fn commit(self) -> BoxFuture<'static, Result<(Arc<TableVersion>, u64), StoreError>> {
        Box::pin(async move {
            let (mut writes, def) = (WriteSet::new(Arc::clone(&self.shared)), Arc::clone(self.def()));
            let rows = self.finish().await?;
            let row_count = writes.add_rows(rows).await?;
            let catalog = writes.commit().await?;
            match catalog.by_id(def.id) {
                Some(version) => Ok((Arc::clone(version), row_count)),
                None => Err(StoreError::UnknownTable { table: def.name.clone() }),
            }
        })
    }
}

impl fmt::Debug for WriteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteSet").field("tables", &self.tables.len()).finish_non_exhaustive()
    }
}
