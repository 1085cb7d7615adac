//! A store in a temporary directory, and a buffer over it.

use std::sync::Arc;

use braid_base::{ByteSize, Random, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, ScanPolicy};
use braid_io::{Backend, Device, DeviceOptions, open_device};
use braid_storage::{ColumnChange, ColumnDef, DeletedRows, NewTable, RowDeletes, Store, StoreOptions, TableVersion};

use crate::model::{Generator, Value, batch};

/// A table on disk, its rows in memory, and a buffer to scan it through.
pub struct Fixture {
    pub rows: Vec<Vec<Value>>,
    pub version: Arc<TableVersion>,
    /// The table before the last rows were deleted, and its rows.
    pub older: (Arc<TableVersion>, Vec<Vec<Value>>),
    pub buffer: Arc<BufferManager>,
    /// Of all columns, whose places are their ids, dropped ones included.
    pub generator: Generator,
    /// The first column that was not dropped.
    pub first_column: u16,
    _store: Arc<Store>,
    _dir: tempfile::TempDir,
}

impl Fixture {
    /// A random table of several chunks: INSERTs each less than half of the one before are not merged. Rows are deleted in
    /// between, and at the end.
    pub async fn random(seed: u64, policy: ScanPolicy) -> Self {
        Self::with_columns_added(seed, policy, |_| 0).await
    }

    /// A random table of several chunks some columns of which were added after the first one. In the end its first column is
    /// dropped, so that no column has its id as its place.
    pub async fn altered(seed: u64, policy: ScanPolicy) -> Self {
        let added = |generator: &mut Generator| generator.random.below(generator.columns.len() as u64) as usize;
        let fixture = Self::with_columns_added(seed, policy, added).await;
        let first = ColumnChange::Drop(fixture.version.def.columns[0].name.clone());
        let version = fixture._store.change_columns("t", first).await.unwrap();
        Self { version, first_column: 1, ..fixture }
    }

    /// Adds the last columns, as many as `added` says, when the first chunk is there.
    async fn with_columns_added(seed: u64, policy: ScanPolicy, added: impl Fn(&mut Generator) -> usize) -> Self {
        let mut generator = Generator::new(seed);
        let first_columns = generator.columns.len() - added(&mut generator);
        let dir = tempfile::tempdir().unwrap();
        let device = thread_device(dir.path());
        let store = Store::open(dir.path(), StoreOptions { device: device.clone(), encode_threads: 1 }).unwrap();
        let (columns, name) = (generator.columns[..first_columns].to_vec(), "t".to_owned());
        store.create_table(NewTable { name, columns, primary_key: Vec::new() }).await.unwrap();
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let mut insert_rows = 1 + generator.random.below(12_000) as usize;
        while insert_rows > 20 {
            let first = rows.len();
            rows.extend((first..first + insert_rows).map(|row| generator.row(row)));
            let schema = store.snapshot().table("t").unwrap().def.arrow_schema();
            let mut appender = store.append("t").unwrap();
            let columns = &generator.columns[..appender.def().columns.len()];
            appender.append(batch(columns, schema, &rows[first..])).await.unwrap();
            appender.commit().await.unwrap();
            if columns.len() < generator.columns.len() {
                add_columns(&store, &mut generator, first_columns, &mut rows).await;
            }
            insert_rows = insert_rows * 2 / 5;
            if generator.random.chance(1, 3) {
                delete_some(&store, &mut generator, &mut rows).await;
            }
        }
        let older = (store.snapshot().table("t").unwrap().clone(), rows.clone());
        if generator.random.chance(3, 4) {
            delete_some(&store, &mut generator, &mut rows).await;
        }
        let version = store.snapshot().table("t").unwrap().clone();
        assert_eq!(version.row_count(), rows.len() as u64);
        let segment_bytes_max = version.chunks.iter().flat_map(|c| &c.segments).map(|s| s.stored_bytes()).max();
        // Room for two chunks: scans that share it must evict.
        let capacity = u64::from(segment_bytes_max.unwrap_or(4096)) * generator.columns.len() as u64 * 2;
        let options = BufferOptions { capacity: ByteSize(capacity), policy, loads_in_flight_max: 4 };
        let buffer = BufferManager::new(device, Arc::new(SystemClock::new()), options);
        Self { rows, version, older, buffer, generator, first_column: 0, _store: store, _dir: dir }
    }
}

/// Adds the columns from `first` on to a table with these rows, in which they have one value each.
async fn add_columns(store: &Store, generator: &mut Generator, first: usize, rows: &mut [Vec<Value>]) {
    for at in first..generator.columns.len() {
        let is_null = generator.columns[at].nullable && generator.random.chance(1, 2);
        let missing = if is_null { None } else { Some(generator.constant(at)) };
        let column = ColumnDef { missing: missing.clone(), ..generator.columns[at].clone() };
        store.change_columns("t", ColumnChange::Add(column)).await.unwrap();
        rows.iter_mut().for_each(|row| row[at].clone_from(&missing));
    }
}

/// Deletes a random share of a random range of rows.
async fn delete_some(store: &Store, generator: &mut Generator, rows: &mut Vec<Vec<Value>>) {
    let (version, random) = (store.snapshot().table("t").unwrap().clone(), &mut generator.random);
    let from = random.below(rows.len() as u64) as usize;
    let to = from + random.below((rows.len() - from) as u64 + 1) as usize;
    let one_in = [1, 2, 50][random.below(3) as usize];
    let is_deleted: Vec<bool> =
        (0..rows.len()).map(|row| (from..to).contains(&row) && random.chance(1, one_in)).collect();
    let (mut deletes, mut next) = (RowDeletes::new(), is_deleted.iter());
    for chunk in version.chunks.iter() {
        let is_live = |row: &u32| chunk.deleted.as_ref().is_none_or(|deleted| !deleted.contains(*row));
        let live = (0..chunk.row_count).filter(is_live);
        let of_chunk = DeletedRows::of(chunk.row_count, live.filter(|_| *next.next().unwrap()));
        deletes.insert(chunk.id, of_chunk);
    }
    store.delete_rows("t", &deletes).await.unwrap();
    let mut is_deleted = is_deleted.into_iter();
    rows.retain(|_| !is_deleted.next().unwrap());
}

fn thread_device(dir: &std::path::Path) -> Arc<dyn Device> {
    let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 8, threads: 2 };
    open_device(dir, &options).unwrap()
}
