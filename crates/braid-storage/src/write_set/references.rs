//! Foreign key checks: every referencing row has its referenced row.
//!
//! Rules:
//! 1. A check reads the newest committed state with the transaction's own changes, whatever its snapshot shows.
//! 2. A check locks its keys first. Adding referencing rows takes [`KeyLock::Referenced`], removing referenced rows takes
//!    [`KeyLock::Removed`]. The two modes conflict, and both are held to the end of the transaction. A commit releases its locks after its
//!    rows are visible, so the result of a check stays true.
//! 3. A commit that has removed rows of a table fails if another transaction has added a foreign key to that table meanwhile: the removals
//!    were not checked against it.
//! 4. Deferred checks run at the commit, or at SET CONSTRAINTS IMMEDIATE.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_base::{ColumnId, TableId};
use futures::future::BoxFuture;

use super::WriteSet;
use super::row_events::{RemovedRows, RowEvent, key_run};
use super::table_writes::Base;
use crate::catalog::Catalog;
use crate::key_index::{KeyId, KeyNulls, KeyRun, is_same_key_type, key_values};
use crate::key_search::{
    KeyMatch, SearchedChunk, Unsatisfied, all_matches, columns_of, first_unsatisfied, missing_keys, mixed_nulls,
    shape_of_columns,
};
use crate::references::Reference;
use crate::row_locks::KeyLock;
use crate::store_error::ViolatedReference;
use crate::{Deferral, ForeignKeyDef, PRIVATE_CHUNKS, RowId, StoreError, TableDef, TableVersion};

pub use crate::store_error::ViolatingSide;

/// When foreign keys are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckTime {
    /// At the end of each statement.
    Immediate,
    /// At the end of the transaction.
    Deferred,
}

/// Keys of referencing or referenced rows.
#[derive(Clone, Debug)]
pub struct ReferenceKeys {
    /// The foreign key.
    pub reference: Reference,
    /// Each key once.
    pub(super) keys: Arc<KeyRun>,
}

/// Referencing rows.
#[derive(Clone, Debug)]
pub struct ReferringRows {
    /// The version of their table that has them.
    pub version: Arc<TableVersion>,
    /// The rows, each with the place of its key among the values that the keys were made of.
    pub rows: Vec<(RowId, usize)>,
}

/// A check.
#[derive(Clone, Debug)]
pub enum RowCheck {
    /// Rows refer to these keys.
    Referenced(ReferenceKeys),
    /// The rows with these keys are gone.
    Unreferenced(ReferenceKeys),
    /// Rows may have some nulls in a key of MATCH FULL.
    MixedNulls(Reference),
}

/// The events and deferred checks of a transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingReferences {
    pub(super) events: VecDeque<RowEvent>,
    deferred: Arc<Vec<RowCheck>>,
    all_times: Option<CheckTime>,
    times: BTreeMap<TableId, CheckTime>,
    /// The foreign keys that referred to a table when the transaction first removed rows of it.
    pub(super) known: BTreeMap<TableId, Vec<TableId>>,
    /// The versions of the referenced tables that new foreign keys were validated against.
    compared: BTreeMap<TableId, u64>,
}

impl ReferenceKeys {
    /// The keys of referenced rows with these values in the columns of the key.
    ///
    /// # Errors
    /// For a key that is too long.
    pub fn of(reference: &Reference, referenced: &TableDef, values: &[ArrayRef]) -> Result<Self, StoreError> {
        let shape = shape_of_columns(referenced, &reference.key.key, KeyNulls::Distinct);
        let keys = Arc::new(key_run(referenced, &shape, values)?.distinct());
        Ok(Self { reference: reference.clone(), keys })
    }

    /// The keys of referencing rows whose key an UPDATE leaves as it was.
    ///
    /// # Errors
    /// For a key that is too long.
    pub fn unchanged(reference: &Reference, before: &[ArrayRef], after: &[ArrayRef]) -> Result<Self, StoreError> {
        let def = &reference.table;
        let shape = shape_of_columns(def, &reference.key.columns, KeyNulls::Distinct);
        let of = |values: &[ArrayRef]| shape.encode(&shape.comparable(values));
        let (old, new) = (of(before), of(after));
        let keys = key_run(def, &shape, before)?.without(|row| old.row(row as usize) != new.row(row as usize));
        Ok(Self { reference: reference.clone(), keys: Arc::new(keys.distinct()) })
    }

    /// The keys without those of the same foreign key in `others`.
    #[must_use]
    pub fn without(self, others: &[Self]) -> Self {
        let others = || others.iter().filter(|other| other.reference.key.id == self.reference.key.id);
        if others().next().is_none() {
            return self;
        }
        // Both runs are sorted: each is read once.
        let mut is_other = vec![false; self.keys.len()];
        for other in others() {
            let mut from = 0;
            for key in other.keys.keys() {
                while from < self.keys.len() && self.keys.key(from) < key {
                    from += 1;
                }
                if from < self.keys.len() && self.keys.key(from) == key {
                    is_other[from] = true;
                }
            }
        }
        Self { keys: Arc::new(self.keys.only(|at| !is_other[at])), ..self }
    }

    pub(super) fn lock_id(&self) -> KeyId {
        lock_id(&self.reference.key)
    }
}

impl RowCheck {
    fn key(&self) -> &ForeignKeyDef {
        match self {
            Self::Referenced(ReferenceKeys { reference, .. })
            | Self::Unreferenced(ReferenceKeys { reference, .. })
            | Self::MixedNulls(reference) => &reference.key,
        }
    }
}

impl WriteSet {
    /// When a foreign key is checked.
    pub fn check_time(&self, key: &ForeignKeyDef) -> CheckTime {
        let wanted = self.references.times.get(&key.id).copied().or(self.references.all_times);
        match key.deferral {
            Deferral::NotDeferrable => CheckTime::Immediate,
            Deferral::InitiallyImmediate => wanted.unwrap_or(CheckTime::Immediate),
            Deferral::InitiallyDeferred => wanted.unwrap_or(CheckTime::Deferred),
        }
    }

    /// Checks these foreign keys, or all deferrable ones, at this time until the end of the transaction: SET CONSTRAINTS.
    pub fn set_check_time(&mut self, keys: Option<&[TableId]>, time: CheckTime) {
        match keys {
            None => {
                self.references.times.clear();
                self.references.all_times = Some(time);
            }
            Some(keys) => self.references.times.extend(keys.iter().map(|key| (*key, time))),
        }
    }

    /// Whether a deferred check on a table is pending.
    pub fn has_deferred(&self, table: TableId) -> bool {
        self.references.deferred.iter().any(|check| match check {
            RowCheck::Unreferenced(ReferenceKeys { reference, .. }) => {
                reference.key.referenced == table || reference.table.id == table
            }
            RowCheck::Referenced(ReferenceKeys { reference, .. }) | RowCheck::MixedNulls(reference) => {
                reference.table.id == table
            }
        })
    }

    /// Runs a check now, or defers it.
    ///
    /// # Errors
    /// As [`Self::check_deferred`].
    pub async fn check(&mut self, check: RowCheck, snapshot: Option<&Arc<Catalog>>) -> Result<(), StoreError> {
        let is_later = self.check_time(check.key()) == CheckTime::Deferred;
        match is_later {
            true => Arc::make_mut(&mut self.references.deferred).push(check),
            false => self.check_now(&check, snapshot).await?,
        }
        Ok(())
    }

    async fn check_now(&mut self, check: &RowCheck, snapshot: Option<&Arc<Catalog>>) -> Result<(), StoreError> {
        match check {
            RowCheck::Referenced(keys) => self.check_referenced(keys, snapshot).await,
            RowCheck::Unreferenced(keys) => self.check_unreferenced(keys, true).await,
            RowCheck::MixedNulls(reference) => self.check_mixed_nulls(reference).await,
        }
    }

    /// Runs the deferred checks of foreign keys that are immediate by now; at a commit all of them.
    ///
    /// # Errors
    /// [`StoreError::ForeignKey`], [`StoreError::Deadlock`], and what reading chunks fails with.
    pub fn check_deferred<'a>(
        &'a mut self,
        is_commit: bool,
        snapshot: Option<&'a Arc<Catalog>>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let all = std::mem::take(&mut self.references.deferred);
            let mut later = Vec::new();
            for check in all.iter() {
                match !is_commit && self.check_time(check.key()) == CheckTime::Deferred {
                    true => later.push(check.clone()),
                    false => self.check_now(check, snapshot).await?,
                }
            }
            self.references.deferred = Arc::new(later);
            Ok(())
        })
    }

    /// Checks that the referenced rows exist. Keys whose referencing rows are gone again are skipped. With a snapshot, the referenced rows
    /// must be in it as well.
    ///
    /// # Errors
    /// As [`Self::check_deferred`]; [`StoreError::KeyGone`] if another transaction has removed a row that the snapshot shows.
    pub fn check_referenced<'a>(
        &'a mut self,
        keys: &'a ReferenceKeys,
        snapshot: Option<&'a Arc<Catalog>>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.lock(KeyLock::Referenced, keys).await?;
            let newest = self.shared.snapshot();
            self.note_own_key(&keys.reference, &newest);
            let version = self.referenced_version(&keys.reference, &newest).await?;
            let mut missing = self.missing(keys, version.as_deref()).await?;
            if let Some(snapshot) = snapshot {
                let shown = self.referenced_version(&keys.reference, snapshot).await?;
                let unknown = self.missing(keys, shown.as_deref()).await?;
                if unknown.is_none() && missing.is_some() {
                    return Err(StoreError::KeyGone);
                }
                missing = unknown.or(missing);
            }
            let Some(missing) = missing else { return Ok(()) };
            match self.first_referencing(&keys.reference, &missing).await? {
                Some(at) => Err(self.violated(&keys.reference, missing.key(at), ViolatingSide::Referencing)),
                None => Ok(()),
            }
        })
    }

    /// Checks that removed rows have no referencing rows. With `unless_back`, other rows with the same keys may take their place.
    ///
    /// # Errors
    /// As [`Self::check_deferred`].
    pub fn check_unreferenced<'a>(
        &'a mut self,
        keys: &'a ReferenceKeys,
        unless_back: bool,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.lock(KeyLock::Removed, keys).await?;
            let gone = match unless_back {
                true => {
                    let newest = self.shared.snapshot();
                    let version = self.referenced_version(&keys.reference, &newest).await?;
                    self.missing(keys, version.as_deref()).await?
                }
                false => Some(Arc::clone(&keys.keys)),
            };
            let Some(gone) = gone else { return Ok(()) };
            match self.first_referencing(&keys.reference, &gone).await? {
                Some(at) => Err(self.violated(&keys.reference, gone.key(at), ViolatingSide::Referenced)),
                None => Ok(()),
            }
        })
    }

    /// The referencing rows of keys; `None` if their table is gone. Locks the keys, so that no other transaction adds referencing rows.
    ///
    /// # Errors
    /// As [`Self::check_deferred`].
    pub fn find_referencing<'a>(
        &'a mut self,
        keys: &'a ReferenceKeys,
    ) -> BoxFuture<'a, Result<Option<ReferringRows>, StoreError>> {
        Box::pin(async move {
            self.lock(KeyLock::Removed, keys).await?;
            let newest = self.shared.snapshot();
            let Some(version) = self.referencing_version(&keys.reference, &newest).await? else { return Ok(None) };
            let shape = Arc::new(shape_of_columns(&version.def, &keys.reference.key.columns, KeyNulls::Distinct));
            let found = all_matches(&self.shared, &shape, SearchedChunk::all_of(&version), &keys.keys).await?;
            let row =
                |found: KeyMatch| (RowId { chunk: found.chunk, row: found.row }, keys.keys.row(found.key_at) as usize);
            Ok(Some(ReferringRows { version, rows: found.into_iter().map(row).collect() }))
        })
    }

    /// Locks all keys of these foreign keys: no other transaction adds referencing rows until this one ends.
    ///
    /// # Errors
    /// [`StoreError::Deadlock`].
    pub fn lock_references<'a>(&'a mut self, references: &'a [Reference]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if references.is_empty() {
                return Ok(());
            }
            let owner = self.lock_owner();
            for reference in references {
                while let Err(holder) = owner.try_lock_all_keys(KeyLock::Removed, &lock_id(&reference.key)) {
                    owner.wait_for(holder).await?;
                }
            }
            Ok(())
        })
    }

    /// Validates a new foreign key against all rows of its table.
    ///
    /// # Errors
    /// As [`Self::check_deferred`].
    pub fn check_reference<'a>(&'a mut self, reference: &'a Reference) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let Reference { table, key } = reference;
            // Waits for transactions that remove referenced rows, and keeps others from starting to.
            let owner = self.lock_owner();
            while let Err(holder) = owner.try_lock_all_keys(KeyLock::Referenced, &lock_id(key)) {
                owner.wait_for(holder).await?;
            }
            let newest = self.shared.snapshot();
            if let Some(referenced) = newest.by_id(key.referenced).filter(|_| key.referenced != table.id) {
                self.references.compared.entry(key.referenced).or_insert(referenced.content);
            }
            let Some(version) = self.settled_version(table.id, &newest).await? else { return Ok(()) };
            let referenced = self.settled_version(key.referenced, &newest).await?;
            match first_unsatisfied(&self.shared, (&version, key), referenced.as_deref()).await? {
                None => Ok(()),
                Some(Unsatisfied::Missing(keys)) => {
                    Err(self.violated(reference, keys.key(0), ViolatingSide::Referencing))
                }
                Some(Unsatisfied::MixedNulls) => {
                    Err(violation(table, key, table, Vec::new(), ViolatingSide::MixedNulls))
                }
            }
        })
    }

    /// Runs the checks of events that no statement has handled. Actions are not taken.
    pub(super) async fn check_left_events(&mut self) -> Result<(), StoreError> {
        while let Some(event) = self.next_event() {
            match event {
                RowEvent::Added(keys) => self.check_referenced(&keys, None).await?,
                RowEvent::Removed(removed) => self.check_removed(&removed).await?,
                RowEvent::MixedNulls(reference) => self.check_mixed_nulls(&reference).await?,
            }
        }
        Ok(())
    }

    async fn check_removed(&mut self, removed: &RemovedRows) -> Result<(), StoreError> {
        let RemovedRows { version, references, .. } = removed;
        for rows in removed.parts() {
            for reference in references {
                let columns = self.read_columns_of_rows(version, &rows, &reference.key.key).await?;
                self.check_unreferenced(&ReferenceKeys::of(reference, &version.def, &columns)?, true).await?;
            }
        }
        Ok(())
    }

    /// Checks that no row of the transaction has some nulls in a key of MATCH FULL.
    async fn check_mixed_nulls(&mut self, reference: &Reference) -> Result<(), StoreError> {
        let (newest, Reference { table, key }) = (self.shared.snapshot(), reference);
        let Some(version) = self.referencing_version(reference, &newest).await? else { return Ok(()) };
        for searched in SearchedChunk::all_of(&version).filter(|searched| searched.chunk.id.0 >= PRIVATE_CHUNKS) {
            let columns = columns_of(&self.shared, searched, key).await?;
            let deleted = searched.chunk.deleted.as_ref();
            let is_left = |row: usize| deleted.is_none_or(|deleted| !deleted.contains(row as u32));
            if mixed_nulls(&columns).any(is_left) {
                return Err(violation(table, key, table, Vec::new(), ViolatingSide::MixedNulls));
            }
        }
        Ok(())
    }

    /// Checks that no foreign key has been added meanwhile that the changes were not checked against (rule 3).
    ///
    /// # Errors
    /// [`StoreError::Conflict`].
    pub(super) fn check_known_references(&self, newest: &Catalog, next: &Catalog) -> Result<(), StoreError> {
        let conflict = |def: &TableDef| Err(StoreError::Conflict { what: format!("table \"{}\"", def.name) });
        for (table, known) in &self.references.known {
            let of_others: Vec<TableId> =
                newest.references_to(*table).iter().map(|reference| reference.key.id).collect();
            let is_unknown = |reference: &Reference| {
                let id = reference.key.id;
                of_others.contains(&id) && !known.contains(&id)
            };
            if let Some(unknown) = next.references_to(*table).into_iter().find(is_unknown) {
                return conflict(&unknown.table);
            }
        }
        for (table, sequence) in &self.references.compared {
            match newest.by_id(*table) {
                Some(version) if version.content != *sequence => return conflict(&version.def),
                _ => {}
            }
        }
        Ok(())
    }

    /// Notes the version of the referenced table if no other transaction knows the foreign key yet: its changes since are not checked.
    fn note_own_key(&mut self, reference: &Reference, newest: &Catalog) {
        let Reference { table, key } = reference;
        let is_known = newest
            .by_id(table.id)
            .is_some_and(|version| version.def.foreign_keys.iter().any(|known| known.id == key.id));
        if let Some(referenced) = newest.by_id(key.referenced).filter(|_| !is_known) {
            self.references.compared.entry(key.referenced).or_insert(referenced.content);
        }
    }

    /// The referencing table, as [`Self::settled_version`].
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if another transaction has dropped the foreign key.
    async fn referencing_version(
        &mut self,
        reference: &Reference,
        snapshot: &Catalog,
    ) -> Result<Option<Arc<TableVersion>>, StoreError> {
        let Reference { table, key } = reference;
        let Some(version) = self.settled_version(table.id, snapshot).await? else { return Ok(None) };
        let is_same_type = |id: &ColumnId| match (table.column_by_id(*id), version.def.column_by_id(*id)) {
            (Some(own), Some(known)) => is_same_key_type(own.column_type, known.column_type),
            _ => false,
        };
        let has_key = version.def.foreign_keys.iter().any(|known| known.id == key.id);
        match has_key && key.columns.iter().all(is_same_type) {
            true => Ok(Some(version)),
            false => Err(StoreError::Conflict { what: format!("table \"{}\"", table.name) }),
        }
    }

    /// The referenced table, as [`Self::settled_version`].
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if another transaction has dropped or altered the key.
    async fn referenced_version(
        &mut self,
        reference: &Reference,
        snapshot: &Catalog,
    ) -> Result<Option<Arc<TableVersion>>, StoreError> {
        let Reference { table, key } = reference;
        let Some(version) = self.settled_version(key.referenced, snapshot).await? else { return Ok(None) };
        let is_same_type = |(own, other): (&ColumnId, &ColumnId)| {
            let types = table.column_by_id(*own).zip(version.def.column_by_id(*other));
            types.is_some_and(|(own, other)| is_same_key_type(own.column_type, other.column_type))
        };
        match key.columns.iter().zip(&key.key).all(is_same_type) {
            true => Ok(Some(version)),
            false => Err(StoreError::Conflict { what: format!("table \"{}\"", version.def.name) }),
        }
    }

    async fn lock(&mut self, purpose: KeyLock, keys: &ReferenceKeys) -> Result<(), StoreError> {
        let owner = self.lock_owner();
        while let Err(holder) = owner.try_lock_keys(purpose, &keys.lock_id(), &keys.keys) {
            owner.wait_for(holder).await?;
        }
        Ok(())
    }

    /// The keys without a row in this version of the referenced table; `None` if every key has one.
    async fn missing(
        &self,
        keys: &ReferenceKeys,
        version: Option<&TableVersion>,
    ) -> Result<Option<Arc<KeyRun>>, StoreError> {
        let ReferenceKeys { reference, keys } = keys;
        let Some(version) = version else {
            return Ok(Some(Arc::clone(keys)).filter(|keys| keys.len() > 0));
        };
        let missing = missing_keys(&self.shared, version, &reference.key, keys).await?;
        Ok((missing.len() > 0).then(|| Arc::new(missing)))
    }

    /// The place of the first key with a referencing row, in the order of the rows that the keys were made of.
    async fn first_referencing(&mut self, reference: &Reference, keys: &KeyRun) -> Result<Option<usize>, StoreError> {
        let newest = self.shared.snapshot();
        let Some(version) = self.referencing_version(reference, &newest).await? else { return Ok(None) };
        let shape = Arc::new(shape_of_columns(&version.def, &reference.key.columns, KeyNulls::Distinct));
        let found = all_matches(&self.shared, &shape, SearchedChunk::all_of(&version), keys).await?;
        Ok(found.iter().map(|found| found.key_at).min_by_key(|at| keys.row(*at)))
    }

    /// The version of a table in a committed state with the transaction's changes; `None` if the table is gone.
    async fn settled_version(
        &mut self,
        table: TableId,
        snapshot: &Catalog,
    ) -> Result<Option<Arc<TableVersion>>, StoreError> {
        let shared = Arc::clone(&self.shared);
        let Some(writes) = self.tables.get_mut(&table) else {
            return Ok(snapshot.by_id(table).cloned());
        };
        if writes.base == Base::Dropped {
            return Ok(None);
        }
        writes.settle(&shared).await?;
        let committed = snapshot.by_id(table).filter(|_| writes.base == Base::Newest);
        if committed.is_some_and(|committed| writes.altered.is_none() && committed.def != writes.def) {
            return Err(StoreError::Conflict { what: format!("table \"{}\"", writes.def.name) });
        }
        let base = committed.map(|committed| writes.shown_on(committed));
        Ok(Some(Arc::new(writes.version(&writes.def, base, shared.next_private_sequence()))))
    }

    fn violated(&self, reference: &Reference, key: &[u8], side: ViolatingSide) -> StoreError {
        let Reference { table, key: constraint } = reference;
        let own = self.tables.get(&constraint.referenced).map(|writes| Arc::clone(&writes.def));
        let committed = || self.shared.snapshot().by_id(constraint.referenced).map(|version| Arc::clone(&version.def));
        let Some(referenced) = own.or_else(committed) else {
            return StoreError::UnknownTable { table: constraint.referenced.to_string() };
        };
        let shape = match side {
            ViolatingSide::Referenced => shape_of_columns(&referenced, &constraint.key, KeyNulls::Distinct),
            _ => shape_of_columns(table, &constraint.columns, KeyNulls::Distinct),
        };
        violation(table, constraint, &referenced, key_values(&shape, key), side)
    }
}

fn lock_id(key: &ForeignKeyDef) -> KeyId {
    (key.referenced, key.key.clone(), KeyNulls::Distinct)
}

/// The error of a violated foreign key.
pub(super) fn violation(
    table: &TableDef,
    key: &ForeignKeyDef,
    referenced: &TableDef,
    values: Vec<ArrayRef>,
    side: ViolatingSide,
) -> StoreError {
    let (of, columns) = match side {
        ViolatingSide::Referenced => (referenced, &key.key),
        ViolatingSide::Referencing | ViolatingSide::MixedNulls => (table, &key.columns),
    };
    let columns = || columns.iter().filter_map(|id| of.column_by_id(*id));
    StoreError::ForeignKey(Box::new(ViolatedReference {
        constraint: key.name.clone(),
        schema: table.schema,
        table: table.name.clone(),
        referenced: referenced.name.clone(),
        columns: columns().map(|column| column.name.clone()).collect(),
        types: columns().map(|column| column.column_type).collect(),
        values,
        side,
    }))
}
