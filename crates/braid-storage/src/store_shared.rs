//! What a store and its appenders have in common: the directory, the newest catalog, the numbers given out next.

mod commit;
mod group_commit;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use braid_base::{ColumnId, SchemaId, TableId};
use braid_io::Device;
use parking_lot::RwLock;
use tokio::sync::{Mutex, Semaphore};

use crate::catalog::{Catalog, NewTable};
use crate::commit_log::log_writer::LogWriter;
use crate::data_directory::DataDirectory;
use crate::data_file::DataFile;
use crate::data_file_header::DataFileId;
use crate::deleted_rows::PRIVATE_CHUNKS;
use crate::key_index::{KeptTrees, SearchCache};
use crate::live_snapshots::LiveSnapshots;
use crate::manifest::NextIds;
use crate::row_locks::RowLocks;
use crate::{KeyEvaluator, StoreError, TableDef};

pub(crate) use commit::{Commit, CommitLock};
pub(crate) use group_commit::GroupCommit;

/// The first number of versions and states that only their transaction sees.
pub const PRIVATE_SEQUENCE: u64 = 1 << 63;

/// What a store and its appenders have in common.
pub(crate) struct StoreShared {
    pub(crate) directory: Arc<DataDirectory>,
    pub(crate) device: Arc<dyn Device>,
    /// The newest durable state. Written only by the thread that flushes, and only to swap the pointer.
    catalog: RwLock<Arc<Catalog>>,
    /// Held while a commit is put on top of the newest state.
    commits: Arc<Mutex<()>>,
    pub(crate) group_commit: GroupCommit,
    next_file_id: AtomicU64,
    pub(crate) next_table_id: AtomicU32,
    pub(crate) next_type_oid: AtomicU32,
    next_private_sequence: AtomicU64,
    next_private_chunk: AtomicU32,
    pub(crate) encode_permits: Arc<Semaphore>,
    pub(crate) row_locks: Arc<RowLocks>,
    pub(crate) live_snapshots: LiveSnapshots,
    /// What searches for keys have in memory.
    pub(crate) search_cache: SearchCache,
    pub(crate) key_trees: KeptTrees,
    /// What evaluates the expressions of indexes.
    pub(crate) key_evaluator: OnceLock<Arc<dyn KeyEvaluator>>,
}

impl StoreShared {
    pub(crate) fn new(
        directory: Arc<DataDirectory>,
        device: Arc<dyn Device>,
        catalog: Catalog,
        next_ids: NextIds,
        writer: LogWriter,
        encode_threads: usize,
    ) -> Self {
        let (catalog, live_snapshots) = (Arc::new(catalog), LiveSnapshots::default());
        live_snapshots.note(&catalog);
        Self {
            directory,
            device,
            catalog: RwLock::new(catalog),
            commits: Arc::default(),
            group_commit: GroupCommit::new(writer),
            next_file_id: AtomicU64::new(next_ids.file),
            next_table_id: AtomicU32::new(next_ids.table),
            next_type_oid: AtomicU32::new(next_ids.type_oid),
            next_private_sequence: AtomicU64::new(0),
            next_private_chunk: AtomicU32::new(0),
            encode_permits: Arc::new(Semaphore::new(encode_threads)),
            row_locks: Arc::default(),
            live_snapshots,
            search_cache: SearchCache::default(),
            key_trees: KeptTrees::default(),
            key_evaluator: OnceLock::new(),
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read())
    }

    /// A number for a state that only its transaction sees.
    pub(crate) fn next_private_sequence(&self) -> u64 {
        PRIVATE_SEQUENCE | self.next_private_sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// The first of so many consecutive numbers for chunks that only their transaction sees. They come again after 2^31 others.
    pub(crate) fn next_private_chunks(&self, count: usize) -> u32 {
        let count = u32::try_from(count).expect("a transaction has fewer than 2^31 chunks");
        loop {
            let first = self.next_private_chunk.fetch_add(count, Ordering::Relaxed) | PRIVATE_CHUNKS;
            if first.checked_add(count).is_some() {
                return first;
            }
        }
    }

    /// A new data file of `table`, doomed until a commit spares it.
    pub(crate) fn create_file(&self, table: TableId) -> Result<Arc<DataFile>, StoreError> {
        let id = DataFileId(self.next_file_id.fetch_add(1, Ordering::Relaxed));
        DataFile::create(&self.directory, id, table).map_err(|error| StoreError::io(self.directory.path(), error))
    }

    /// A definition with an id of its own, in this schema.
    pub(crate) fn define(&self, schema: SchemaId, table: NewTable) -> Result<TableDef, StoreError> {
        let NewTable { name, mut columns, primary_key } = table;
        for key in &primary_key {
            if let Some(column) = columns.get_mut(usize::from(key.0)) {
                column.nullable = false;
            }
        }
        let id = self.new_relation_id();
        let next_column_id = u16::try_from(columns.len()).unwrap_or(u16::MAX);
        columns.iter_mut().zip(0..).for_each(|(column, id)| column.id = ColumnId(id));
        let (checks, keys, foreign_keys) = Default::default();
        let def = TableDef { id, schema, name, columns, primary_key, next_column_id, checks, keys, foreign_keys };
        match def.validate() {
            Ok(()) => Ok(def),
            Err(reason) => Err(StoreError::InvalidTable { table: def.name, reason }),
        }
    }
}
