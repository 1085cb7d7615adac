//! The store: one data directory, its tables and their files.
//!
//! Readers take a [`Catalog`] with [`Store::snapshot`], which never waits for a commit, and keep the table versions in
//! it for as long as they like. Writers make data files and commit them in write sets (`write_set.rs`, `store_shared/commit.rs`); committed data files never
//! change.
//!
//! Opening reads the manifest and the log of the commits behind it, and opens the data files of the newest state, without reading
//! them; other data files are deleted. Key trees of chunks that are there are taken over. If commits were read from the log, a checkpoint is made.
//!
//! Futures that cross the crate are boxed, so that upper crates compile a call and not the work.
//!
//! Deliberately not done here: statements, names that are not exact (the engine folds case), values of defaults, uniqueness.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use braid_base::{EnumType, EnumTypeId, EnumTypeRef, TableId};
use braid_io::durable::ReplaceError;
use braid_io::{Device, IoError};
use futures::future::BoxFuture;

use crate::catalog::{Catalog, CatalogSequence, CatalogType, NewTable, TableEntry};
use crate::commit_log::log_writer::LogWriter;
use crate::commit_log::recovery::{LogEnd, Recovered, recover};
use crate::data_directory::DataDirectory;
use crate::data_file::DataFile;
use crate::data_file_header::DataFileId;
use crate::domains::open_domains;
use crate::key_search::{keep_trees_of, merge_searched_runs, take_over_trees};
use crate::log_file::{LOG_HEADER_BYTES, encode_empty_log};
use crate::manifest::{Manifest, ManifestSequence, ManifestTable};
use crate::missing_segments::MissingSegments;
use crate::schemas::Schemas;
use crate::sequences::SequenceCounter;
use crate::store_shared::StoreShared;
use crate::table_appender::TableAppender;
use crate::{ChunkMeta, ColumnType, DistinctCount, StoreError, TableDef, TableVersion};
use crate::{KeyEvaluator, LockingTransaction, OtherWaits};

/// What a store is built on.
#[derive(Clone)]
pub struct StoreOptions {
    /// Through which the data directory is read and written.
    pub device: Arc<dyn Device>,
    /// Threads that encode columns at the same time, for all loads together; at least 1.
    pub encode_threads: usize,
}

/// One data directory.
pub struct Store {
    shared: Arc<StoreShared>,
}

impl Store {
    /// Opens the data directory `dir`, creating it if it does not exist. Blocks on the disk: a few milliseconds for
    /// thousands of chunks, and as long as it takes to read the log behind the last checkpoint.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process has it open; [`StoreError::Manifest`] and [`StoreError::Log`] when its manifest
    /// or log is damaged or from another version: nothing is guessed, nothing deleted.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Arc<Self>, StoreError> {
        assert!(options.encode_threads > 0, "encoding takes at least one thread");
        let directory = Arc::new(DataDirectory::open(dir, Arc::clone(&options.device))?);
        let mut recovered = recover(&directory, read_manifest(&directory)?)?;
        // Their sessions are gone.
        recovered.is_reduced = recovered.manifest.drop_temporary();
        recovered.manifest.next_ids.file = remove_orphans(&directory, &recovered.manifest)?;
        let writer = log_writer(&directory, &options.device, &mut recovered)?;
        let next_ids = recovered.manifest.next_ids;
        let catalog = open_tables(&directory, recovered.manifest)?;
        let shared = StoreShared::new(directory, options.device, catalog, next_ids, writer, options.encode_threads);
        take_over_trees(&shared.key_trees, &shared.directory, &shared.device, &shared.snapshot())?;
        Ok(Arc::new(Self { shared: Arc::new(shared) }))
    }

    /// Gives the store what evaluates the expressions of indexes. A second one is not taken.
    pub fn set_key_evaluator(&self, evaluator: Arc<dyn KeyEvaluator>) {
        let _ = self.shared.key_evaluator.set(evaluator);
    }

    /// Says how sessions wait beside locks of rows and keys, so that circles through both are found. A second one is not taken.
    pub fn set_other_waits(&self, others: Arc<dyn OtherWaits>) {
        self.shared.row_locks.set_other_waits(others);
    }

    /// The sessions that wait for others by locks of rows and keys, and for whom.
    pub fn session_waits(&self) -> Vec<(i32, i32)> {
        self.shared.row_locks.session_waits()
    }

    /// The transactions that have locked rows or keys, or wait to.
    pub fn locking_transactions(&self) -> Vec<LockingTransaction> {
        self.shared.row_locks.transactions()
    }

    /// The newest state of all tables. Never waits.
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.shared.snapshot()
    }

    /// The data directory.
    pub fn dir(&self) -> &Path {
        self.shared.directory.path()
    }

    /// Merges the runs of chunks that were searched for keys into trees, keeps the trees that the newest state needs, and lets the others go.
    /// Quick if nothing has happened since the last call. Dropping the future leaves what was done so far.
    ///
    /// # Errors
    /// What reading chunks and writing trees fails with.
    pub fn merge_keys(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { merge_searched_runs(&self.shared, &self.snapshot()).await })
    }

    /// Makes a checkpoint: the next opening reads no commit from before. Durable when it returns. Commits wait meanwhile.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`], [`StoreError::Io`]: the log goes on.
    pub fn checkpoint(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.shared.checkpoint())
    }

    /// Checkpoints since it was opened, whether they were asked for or the log was long.
    pub fn checkpoint_count(&self) -> u64 {
        self.shared.group_commit.checkpoint_count()
    }

    /// Creates an empty table; durable when it returns.
    ///
    /// # Errors
    /// [`StoreError::TableExists`], [`StoreError::InvalidTable`], and what commits can fail with.
    pub fn create_table(&self, table: NewTable) -> BoxFuture<'_, Result<Arc<TableVersion>, StoreError>> {
        Box::pin(self.create_table_unboxed(table))
    }

    async fn create_table_unboxed(&self, table: NewTable) -> Result<Arc<TableVersion>, StoreError> {
        let mut writes = self.write_set();
        let def = writes.create_table(&self.snapshot(), table)?;
        let catalog = writes.commit().await?;
        Ok(Arc::clone(catalog.by_id(def.id).expect("the commit has this table")))
    }

    /// Drops a table; durable when it returns. Its files go when the last scan of it is over.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`], and what commits can fail with.
    pub fn drop_table<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.drop_table_unboxed(name))
    }

    async fn drop_table_unboxed(&self, name: &str) -> Result<(), StoreError> {
        let mut writes = self.write_set();
        writes.drop_table(&self.snapshot(), name)?;
        writes.commit().await.map(drop)
    }

    /// Starts adding rows to a table, in a transaction of their own. Nothing of them is seen before [`TableAppender::commit`].
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`].
    pub fn append(&self, table: &str) -> Result<TableAppender, StoreError> {
        self.write_set().append(&self.snapshot(), table)
    }

    /// Starts a table that appears with its rows, at [`TableAppender::commit`]: CREATE TABLE AS.
    ///
    /// # Errors
    /// [`StoreError::TableExists`], [`StoreError::InvalidTable`].
    pub fn create_and_append(&self, table: NewTable) -> Result<TableAppender, StoreError> {
        self.write_set().create_and_append(&self.snapshot(), table)
    }

    pub(crate) fn shared(&self) -> &Arc<StoreShared> {
        &self.shared
    }
}

impl Drop for Store {
    /// The key trees of the newest state stay for the next process.
    fn drop(&mut self) {
        keep_trees_of(&self.shared.key_trees, &self.shared.snapshot());
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("dir", &self.dir()).finish_non_exhaustive()
    }
}

/// The manifest of an existing data directory, or the first one of a new one.
fn read_manifest(directory: &DataDirectory) -> Result<Manifest, StoreError> {
    if let Some(bytes) = directory.read_manifest()? {
        return Manifest::decode(&bytes).map_err(|source| StoreError::Manifest { path: directory.manifest(), source });
    }
    // Without this, a directory that lost its manifest would lose its data files as orphans.
    let data_files = directory.list_data_files()?.len();
    if data_files > 0 {
        return Err(StoreError::ManifestMissing { dir: directory.path().to_owned(), data_files });
    }
    let manifest = Manifest::empty();
    let io = |error| StoreError::io(directory.path(), error);
    directory.create_log(manifest.log_number, &encode_empty_log(manifest.log_number)).map_err(io)?;
    directory.switch_manifest(&manifest.encode()).map_err(|error| io(error.into_error()))?;
    Ok(manifest)
}

/// The end of the log, behind a checkpoint if the manifest is not the newest state. A disk that refuses the checkpoint does not
/// keep the store from being opened, unless it has no log yet.
fn log_writer(
    directory: &Arc<DataDirectory>,
    device: &Arc<dyn Device>,
    recovered: &mut Recovered,
) -> Result<LogWriter, StoreError> {
    let io = |error| StoreError::io(directory.path(), error);
    let before = LogEnd { number: 0, end: LOG_HEADER_BYTES as u64, length: LOG_HEADER_BYTES as u64, is_torn: false };
    let log = recovered.log.unwrap_or(before);
    let mut writer = LogWriter::new(Arc::clone(directory), Arc::clone(device), log);
    if !recovered.needs_checkpoint() {
        return Ok(writer);
    }
    tracing::info!(commits = recovered.record_count, log = log.number, "read commits from the log");
    if log.is_torn {
        // Else commits in the next log would seem to follow an incomplete batch, should the checkpoint fail.
        writer.clear_end().map_err(io)?;
    }
    match checkpoint(directory, &mut writer, &mut recovered.manifest) {
        Ok(()) => Ok(writer),
        Err(error) if recovered.log.is_some() => {
            tracing::warn!(%error, "the checkpoint at the start failed; the log goes on");
            Ok(writer)
        }
        Err(error) => Err(io(error)),
    }
}

/// Begins the next log and writes the manifest that it follows.
fn checkpoint(directory: &DataDirectory, writer: &mut LogWriter, manifest: &mut Manifest) -> Result<(), IoError> {
    writer.begin_next()?;
    manifest.log_number = writer.number();
    directory.switch_manifest(&manifest.encode()).map_err(ReplaceError::into_error)?;
    directory.remove_logs_before(writer.number());
    Ok(())
}

/// Deletes the data files that the state does not name; returns the id that the next data file gets.
fn remove_orphans(directory: &DataDirectory, manifest: &Manifest) -> Result<u64, StoreError> {
    let named: HashSet<DataFileId> = manifest.tables.iter().flat_map(ManifestTable::files).collect();
    let mut next_file_id = manifest.next_ids.file;
    for id in directory.list_data_files()? {
        if !named.contains(&id) {
            let path = directory.data_file(id);
            tracing::info!(file = %path.display(), "deleting a data file that no commit completed");
            directory.remove(&path);
            // Should the deletion have failed, the name stays taken.
            next_file_id = next_file_id.max(id.0.saturating_add(1));
        }
    }
    Ok(next_file_id)
}

/// The catalog that `manifest` describes, with its data files open.
fn open_tables(directory: &Arc<DataDirectory>, manifest: Manifest) -> Result<Catalog, StoreError> {
    let mut entries = Vec::with_capacity(manifest.tables.len());
    let types = open_types(manifest.types);
    let domains = open_domains(manifest.domains, &types);
    let sequences = open_sequences(manifest.sequences);
    let schemas: Schemas = manifest.schemas.into_iter().map(|schema| (schema.id, Arc::new(schema))).collect();
    let (comments, access) = (manifest.comments, manifest.access);
    let views = manifest.views.into_iter().map(|view| (view.id, Arc::new(view))).collect();
    for table in manifest.tables {
        let ManifestTable { mut def, next_chunk_id, sequence, chunks, sketches } = table;
        resolve_types(&mut def, &types);
        let mut files: HashMap<DataFileId, Arc<DataFile>> = HashMap::new();
        let mut opened = Vec::with_capacity(chunks.len());
        let mut missing = MissingSegments::default();
        for chunk in chunks {
            let file = match chunk.file_id.map(|id| (id, files.get(&id))) {
                None => None,
                Some((_, Some(file))) => Some(Arc::clone(file)),
                Some((id, None)) => {
                    let file = DataFile::open(directory, id, def.id)?;
                    files.insert(id, Arc::clone(&file));
                    Some(file)
                }
            };
            let (id, row_count, deleted) = (chunk.id, chunk.row_count, chunk.deleted);
            let segments = missing.complete(&def, row_count, &chunk.segments);
            let (keys, successor) = Default::default();
            opened.push(Arc::new(ChunkMeta { id, row_count, deleted, file, segments, keys, successor }));
        }
        let distinct = sketches.into_iter().map(|sketch| sketch.map(DistinctCount::new)).collect();
        let version = TableVersion::new(Arc::new(def), opened.into(), sequence, distinct);
        entries.push(TableEntry::new(Arc::new(version), next_chunk_id));
    }
    let mut catalog = Catalog::new(manifest.sequence, types, entries);
    if !schemas.is_empty() {
        catalog.note_changed_schemas();
    }
    catalog.set_domains(domains);
    catalog.set_schemas(schemas);
    catalog.set_sequences(sequences);
    catalog.set_views(views);
    catalog.take_comments(comments);
    catalog.take_access(access);
    Ok(catalog)
}

fn open_sequences(sequences: Vec<ManifestSequence>) -> BTreeMap<TableId, CatalogSequence> {
    let opened = sequences.into_iter().map(|ManifestSequence { def, state }| {
        (def.id, CatalogSequence::new(Arc::new(def), SequenceCounter::new(state)))
    });
    opened.collect()
}

fn open_types(types: Vec<EnumType>) -> BTreeMap<u32, CatalogType> {
    let opened = types.into_iter().map(|definition| {
        let definition = Arc::new(definition);
        (definition.oid, CatalogType { id: EnumTypeId::register(definition.clone()), definition })
    });
    opened.collect()
}

/// The columns of enumerated types are of those that are open, instead of oids.
fn resolve_types(def: &mut TableDef, types: &BTreeMap<u32, CatalogType>) {
    for column in &mut def.columns {
        if let ColumnType::Enum(enum_type) = &mut column.column_type
            && let Some(known) = types.get(&enum_type.oid())
        {
            *enum_type = EnumTypeRef::Open(known.id);
        }
    }
}
