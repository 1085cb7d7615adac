//! The way of a write set into the newest catalog.
//!
//! A few rows that fill no chunk are added to the table's chunks in memory, under the commit lock. More are merged with the table's
//! small chunks and written on the assumption that no other commit to the table comes first; if one does, they are written again under
//! the commit lock, which excludes others.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use braid_base::{EnumTypeId, TableId};
use futures::future::BoxFuture;

use super::table_writes::{Base, TableWrites};
use super::{NextVersion, WriteSet};
use crate::catalog::{Catalog, TableEntry};
use crate::data_file::DataFile;
use crate::data_file_header::DataFileId;
use crate::moved_rows::MovedChunks;
use crate::store_shared::{Commit, CommitLock, StoreShared};
use crate::table_appender::chunk_writer::{ChunkWriter, Durability, WrittenChunks};
use crate::table_appender::memory_chunk::stay_in_memory;
use crate::table_appender::row_buffer::{ChunkRows, RowBuffer};
use crate::table_appender::tail_merge::{ChunkSize, Tail, write_tail};
use crate::{ChunkMeta, RowDeletes, StoreError, TableVersion};

/// What a commit asks of the newest state before it changes it.
type Check = Box<dyn FnOnce(&Catalog) -> Result<(), StoreError> + Send>;

/// The recent rows of a table, written for the version that they are added to.
struct Written {
    /// The number of that version, if the rows are merged with some of its chunks.
    on: Option<u64>,
    /// These chunks, in the order of their rows.
    merged: Vec<Arc<ChunkMeta>>,
    more: Option<WrittenChunks>,
    tail: Option<Tail>,
    /// Rows that stay in memory; then there is no tail.
    in_memory: ChunkRows,
}

/// A table in the next state.
struct NextEntry {
    entry: TableEntry,
    /// Its new files.
    files: Vec<Arc<DataFile>>,
    moved: Vec<MovedChunks>,
}

impl WriteSet {
    /// Makes all changes durable and visible; returns the state with them. Dropping the future before it is ready leaves open whether
    /// they are made: all or none.
    ///
    /// # Errors
    /// As [`Self::commit_checked`].
    pub fn commit(self) -> BoxFuture<'static, Result<Arc<Catalog>, StoreError>> {
        self.commit_checked(|_| Ok(()))
    }

    /// As [`Self::commit`], if `check` allows it for the newest state, which does not change meanwhile.
    ///
    /// # Errors
    /// Those of `check`; [`StoreError::UnknownTable`], [`StoreError::TableExists`], [`StoreError::TypeExists`],
    /// [`StoreError::UnknownType`], [`StoreError::Conflict`] for what others have committed; and what commits can fail with.
    pub fn commit_checked(
        self,
        check: impl FnOnce(&Catalog) -> Result<(), StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<Arc<Catalog>, StoreError>> {
        Box::pin(self.commit_unboxed(Box::new(check)))
    }

    async fn commit_unboxed(mut self, check: Check) -> Result<Arc<Catalog>, StoreError> {
        let shared = Arc::clone(&self.shared);
        if self.is_empty() {
            while self.has_locked_rows() {
                // Locks are of numbers in the newest state, durable or not.
                let lock = CommitLock::acquire(&shared).await?;
                let newest = lock.catalog();
                if let Some(checked) = lock.while_newest(|| self.check_locked_rows(&newest)) {
                    checked?;
                    break;
                }
            }
            return Ok(shared.snapshot());
        }
        self.check_left_events().await?;
        self.check_deferred(true, None).await?;
        let mut written = BTreeMap::new();
        let assumed = shared.snapshot();
        for (id, writes) in &self.tables {
            written.insert(*id, writes.write(&shared, &assumed).await?);
        }
        let lock = CommitLock::acquire(&shared).await?;
        let newest = lock.catalog();
        check(&newest)?;
        self.check_locked_rows(&newest)?;
        for (id, writes) in &self.tables {
            let newest_number = writes.version_to_fill(&newest)?.map(|version| version.sequence);
            if written[id].on.is_some_and(|on| Some(on) != newest_number) {
                // Frees its file before it is written again.
                written.remove(id);
                written.insert(*id, writes.write(&shared, &newest).await?);
            }
        }
        let commit = self.onto(&newest, written)?;
        let catalog = lock.publish(commit).await?;
        Ok(catalog)
    }

    /// Whether a table, sequence, view or type may get a name that it did not have: others may have taken it.
    fn may_name(&self) -> bool {
        let is_any = self.has_type_edits() || self.sequences.has_changes() || self.views.is_some();
        is_any || !self.schemas.is_empty() || self.tables.values().any(TableWrites::may_name)
    }

    /// The next state.
    fn onto(&self, newest: &Catalog, mut written: BTreeMap<TableId, Written>) -> Result<Commit, StoreError> {
        let sequence = newest.sequence() + 1;
        let mut catalog = newest.numbered(sequence);
        let (mut added, mut removed, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(types) = &self.types {
            catalog.set_types(types.committed_on(newest.types_by_oid())?);
        }
        if !self.domains.is_empty() {
            catalog.set_domains(self.committed_domains(newest)?);
        }
        if !self.schemas.is_empty() {
            catalog.set_schemas(self.schemas.committed_on(newest.schemas_by_id())?);
        }
        if let Some(views) = &self.views {
            catalog.set_views(views.committed_on(newest.views().by_id())?);
        }
        let is_gone = |(_, writes): &(&TableId, &TableWrites)| writes.base == Base::Dropped;
        for (id, writes) in self.tables.iter().filter(is_gone) {
            removed.extend(files_besides(writes.version_to_fill(newest)?, &HashSet::new()));
            catalog.remove(*id);
        }
        // They may exchange names.
        for (id, _) in self.tables.iter().filter(|(_, writes)| writes.altered.is_some()) {
            catalog.remove(*id);
        }
        for (id, writes) in self.tables.iter().filter(|table| !is_gone(table)) {
            if writes.may_name() && catalog.table_in(writes.def.schema, &writes.def.name).is_some() {
                return Err(StoreError::TableExists { table: writes.def.name.clone() });
            }
            let written = written.remove(id).expect("each table's rows are written");
            let next_chunk = newest.entry(*id).map_or(0, |entry| entry.next_chunk_id);
            let next = writes.next_entry(newest, written, (sequence, next_chunk), &mut removed)?;
            let NextEntry { entry, files, moved: of_table } = next;
            added.extend(files);
            moved.extend(of_table);
            catalog.put(entry);
        }
        match self.sequences.is_empty() {
            true => catalog.drop_orphaned_sequences(),
            false => catalog.set_sequences(self.sequences.committed_on(newest.sequences_by_id())?),
        }
        if !self.comments.is_empty() || self.may_drop() {
            catalog.take_comments(self.committed_comments(newest)?);
        }
        if !self.access.is_empty() || self.may_drop() && !newest.access().is_empty() {
            catalog.take_access(self.committed_access(newest)?);
        }
        for (_, writes) in self.tables.iter().filter(|table| !is_gone(table)) {
            catalog.check_types_of(&writes.def)?;
        }
        if self.tables.values().any(|writes| writes.is_of_definition(newest)) {
            catalog.check_references()?;
        }
        self.check_known_references(newest, &catalog)?;
        if self.may_name() {
            catalog.check_names()?;
        }
        if self.changes_lasting_names(newest) {
            catalog.note_changed_names();
        }
        if self.schemas.has_lasting() {
            catalog.note_changed_schemas();
        }
        if self.changes_definitions(newest) {
            catalog.note_changed_definitions();
        }
        if let Some(known) =
            self.types.iter().flat_map(|types| types.removed()).find(|known| is_used(&catalog, known.id))
        {
            return Err(StoreError::Conflict { what: format!("type \"{}\"", known.definition.name) });
        }
        if self.has_type_edits() {
            catalog.check_domains()?;
            catalog.check_used_domains()?;
        }
        if self.views.is_some()
            || self.has_type_edits()
            || self.tables.values().any(|writes| writes.is_of_definition(newest))
        {
            catalog.check_views(newest)?;
            self.views.iter().try_for_each(|views| views.check_types(&catalog))?;
        }
        Ok(Commit { catalog, added, removed, moved, locks: self.locks.clone() })
    }
}

fn is_used(catalog: &Catalog, id: EnumTypeId) -> bool {
    catalog.columns_of_type(id).next().is_some()
}

/// The files of a version that are not among these.
pub(crate) fn files_besides(version: Option<&Arc<TableVersion>>, used: &HashSet<DataFileId>) -> Vec<Arc<DataFile>> {
    let files = version.into_iter().flat_map(|version| version.chunks.iter().filter_map(|chunk| chunk.file.as_ref()));
    let mut files: Vec<Arc<DataFile>> = files.filter(|file| !used.contains(&file.id())).cloned().collect();
    files.sort_unstable_by_key(|file| file.id());
    files.dedup_by_key(|file| file.id());
    files
}

impl TableWrites {
    /// The committed version that the changes are of; `None` for a new table.
    fn version_to_fill<'a>(&self, catalog: &'a Catalog) -> Result<Option<&'a Arc<TableVersion>>, StoreError> {
        match (self.base, catalog.by_id(self.def.id)) {
            (Base::New, _) => Ok(None),
            (_, None) => Err(StoreError::UnknownTable { table: self.def.name.clone() }),
            // Rows of another definition have no place in it, and no definition takes the place of a newer one.
            (Base::Newest | Base::Emptied, Some(version)) if !self.fits(version) => {
                Err(StoreError::Conflict { what: format!("table \"{}\"", self.def.name) })
            }
            (_, Some(version)) => Ok(Some(version)),
        }
    }

    /// The version that rows are added to: a committed one without the rows that are deleted; `None` if it has no chunks of others.
    ///
    /// # Errors
    /// [`StoreError::RowConflict`] if others have deleted a row.
    fn base(&self, catalog: &Catalog, sequence: u64) -> Result<Option<Arc<TableVersion>>, StoreError> {
        let conflict = |conflict| StoreError::RowConflict { table: self.def.name.clone(), conflict };
        let version = match self.version_to_fill(catalog)?.filter(|_| self.base == Base::Newest) {
            Some(version) if self.deletes().is_empty() => Arc::clone(version),
            Some(version) => {
                let deletes = self.deletes().rows_in(version).map_err(conflict)?;
                Arc::new(version.without_rows(&deletes, sequence).map_err(conflict)?)
            }
            None => return Ok(None),
        };
        Ok(Some(if self.altered.is_some() { Arc::new(version.defined_as(&self.def, sequence)) } else { version }))
    }

    /// Writes the recent rows for a commit to this state. Behind full chunks of the same transaction there is nothing to merge them with.
    async fn write(&self, shared: &Arc<StoreShared>, catalog: &Catalog) -> Result<Written, StoreError> {
        let base = self.base(catalog, catalog.sequence())?;
        let mut rows = RowBuffer::default();
        self.recent_rows().for_each(|batch| rows.push(batch));
        let mut writer = ChunkWriter::new(Arc::clone(shared), Arc::clone(&self.def));
        while let Some(full) = rows.pop_full() {
            writer.push(full).await?;
        }
        let more = writer.finish(Durability::Synced).await?;
        let merges = more.is_none() && self.full_files().next().is_none();
        let chunks: &[Arc<ChunkMeta>] = match &base {
            Some(base) if merges => &base.chunks,
            _ => &[],
        };
        let rest = rows.take_rest();
        let in_memory = chunks.iter().filter(|chunk| chunk.file.is_none());
        if merges && stay_in_memory(&rest, in_memory.map(|chunk| ChunkSize::of(chunk))) {
            return Ok(Written { on: None, merged: Vec::new(), more, tail: None, in_memory: rest });
        }
        let chunks = by_recency(chunks);
        let tail = write_tail(shared, &self.def, &chunks, rest).await?;
        let replaced = tail.as_ref().map_or(0, |tail| tail.replaced);
        let merged = chunks[chunks.len() - replaced..].to_vec();
        // Its number in that state, not that of a version without rows.
        let on = self.version_to_fill(catalog)?.filter(|_| merges && self.base == Base::Newest);
        Ok(Written { on: on.map(|version| version.sequence), merged, more, tail, in_memory: ChunkRows::default() })
    }

    /// The table in the next state.
    fn next_entry(
        &self,
        newest: &Catalog,
        written: Written,
        (sequence, mut next_chunk): (u64, u32),
        removed: &mut Vec<Arc<DataFile>>,
    ) -> Result<NextEntry, StoreError> {
        let mut next = NextVersion::of(self.base(newest, sequence)?.as_ref(), &self.def);
        let Written { more, tail, in_memory, merged, .. } = written;
        let mut files = Vec::new();
        let mut first_chunk = |written: &WrittenChunks| {
            let first = next_chunk;
            let count = u32::try_from(written.chunks.len()).expect("2^32 chunks are 2^49 rows");
            next_chunk = next_chunk.checked_add(count).expect("2^32 chunks are 2^49 rows");
            first
        };
        for own in self.full_files() {
            next.add(&own.written, first_chunk(&own.written), |at| own.deleted_at(at));
            files.extend(own.written.file.clone());
        }
        if let Some(written) = more {
            next.add(&written, first_chunk(&written), |_| None);
            files.extend(written.file);
        }
        if let Some(Tail { written, .. }) = tail {
            next.replace(merged, &written, first_chunk(&written), RowDeletes::new());
            files.extend(written.file);
        }
        if in_memory.row_count > 0 {
            next.add_in_memory(&in_memory, next_chunk)?;
            next_chunk = next_chunk.checked_add(1).expect("2^32 chunks are 2^49 rows");
        }
        let used = next.files();
        // Of files whose rows were all deleted again nothing is left.
        files.retain(|file| used.contains(&file.id()));
        removed.extend(files_besides(self.version_to_fill(newest)?, &used));
        let moved = next.take_moved();
        let version = next.version(sequence);
        if self.may_name() {
            // Its definition is new: no manifest has a null where it has none.
            version.check_nulls()?;
        }
        Ok(NextEntry { entry: TableEntry::new(Arc::new(version), next_chunk), files, moved })
    }
}

/// Chunks by the age of their rows: those in memory are the newest, wherever a chunk was put that took the place of others.
fn by_recency(chunks: &[Arc<ChunkMeta>]) -> Vec<Arc<ChunkMeta>> {
    let (in_files, in_memory): (Vec<_>, Vec<_>) = chunks.iter().cloned().partition(|chunk| chunk.file.is_some());
    in_files.into_iter().chain(in_memory).collect()
}
