//! The store: one data directory, its tables and their files.
//!
//! Readers take a [`Catalog`] with [`Store::snapshot`], which never waits for a commit, and keep the table versions in
//! it for as long as they like. Writers make data files and commit them in write sets (`write_set.rs`, `store_shared/commit.rs`); committed data files never
//! change.
//!
//! Opening reads the manifest and opens the data files it names, without reading them; data files that it does not
//! name are deleted. There is nothing to replay, so that start-up does not depend on how the last process ended.
//!
//! Futures that cross the crate are boxed, so that upper crates compile a call and not the work.
//!
//! Deliberately not done here: statements, names that are not exact (the engine folds case), values of defaults, uniqueness.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use braid_base::{EnumType, EnumTypeId, EnumTypeRef};
use braid_io::Device;
use futures::future::BoxFuture;

use crate::catalog::{Catalog, CatalogType, NewTable, TableEntry};
use crate::data_directory::{DataDirectory, SwitchError};
use crate::data_file::DataFile;
use crate::data_file_header::DataFileId;
use crate::manifest::{Manifest, ManifestTable};
use crate::missing_segments::MissingSegments;
use crate::store_shared::{NextIds, StoreShared};
use crate::table_appender::TableAppender;
use crate::{ChunkMeta, ColumnType, DistinctCount, StoreError, TableDef, TableVersion};

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
    /// Opens the data directory `dir`, creating it if it does not exist. Blocks on the disk, a few milliseconds for
    /// thousands of chunks.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process has it open; [`StoreError::Manifest`] when its manifest is damaged
    /// or from another version: nothing is guessed, nothing deleted.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Arc<Self>, StoreError> {
        assert!(options.encode_threads > 0, "encoding takes at least one thread");
        let directory = Arc::new(DataDirectory::open(dir, Arc::clone(&options.device))?);
        let manifest = read_manifest(&directory)?;
        let next_file_id = remove_orphans(&directory, &manifest)?;
        let next_table_id = manifest.next_table_id;
        let next_type_oid = manifest.next_type_oid;
        let catalog = open_tables(&directory, manifest)?;
        let next_ids = NextIds { file: next_file_id, table: next_table_id, type_oid: next_type_oid };
        let shared = StoreShared::new(directory, options.device, catalog, next_ids, options.encode_threads);
        Ok(Arc::new(Self { shared: Arc::new(shared) }))
    }

    /// The newest state of all tables. Never waits.
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.shared.snapshot()
    }

    /// The data directory.
    pub fn dir(&self) -> &Path {
        self.shared.directory.path()
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
    directory.switch_manifest(&manifest.encode()).map_err(|error| match error {
        SwitchError::NotSwitched(error) | SwitchError::Uncertain(error) => *error,
    })?;
    Ok(manifest)
}

/// Deletes the data files that the manifest does not name; returns the id that the next data file gets.
fn remove_orphans(directory: &DataDirectory, manifest: &Manifest) -> Result<u64, StoreError> {
    let named: HashSet<DataFileId> = manifest.tables.iter().flat_map(|t| t.chunks.iter().map(|c| c.file_id)).collect();
    let mut next_file_id = manifest.next_file_id;
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
    let views = manifest.views.into_iter().map(|view| (view.id, Arc::new(view))).collect();
    for table in manifest.tables {
        let ManifestTable { mut def, next_chunk_id, sequence, chunks, sketches } = table;
        resolve_types(&mut def, &types);
        let mut files: HashMap<DataFileId, Arc<DataFile>> = HashMap::new();
        let mut opened = Vec::with_capacity(chunks.len());
        let mut missing = MissingSegments::default();
        for chunk in chunks {
            let file = match files.get(&chunk.file_id) {
                Some(file) => Arc::clone(file),
                None => {
                    let file = DataFile::open(directory, chunk.file_id, def.id)?;
                    files.insert(chunk.file_id, Arc::clone(&file));
                    file
                }
            };
            let (id, row_count, deleted) = (chunk.id, chunk.row_count, chunk.deleted);
            let segments = missing.complete(&def, row_count, &chunk.segments);
            opened.push(Arc::new(ChunkMeta { id, row_count, deleted, file, segments }));
        }
        let distinct = sketches.into_iter().map(|sketch| sketch.map(DistinctCount::new)).collect();
        let version = TableVersion::new(Arc::new(def), opened.into(), sequence, distinct);
        entries.push(TableEntry::new(Arc::new(version), next_chunk_id));
    }
    let mut catalog = Catalog::new(manifest.sequence, types, entries);
    catalog.set_views(views);
    Ok(catalog)
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
