//! A table whose rows are determined by one number each, so that a row that is lost, doubled or mixed shows.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Date32Array, Decimal128Array, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::{Date32Type, Decimal128Type, Int64Type};
use braid_base::{ColumnId, SchemaId, TableId};
use braid_io::{Backend, Device, DeviceOptions, FaultDevice, IoReason, open_device};
use braid_storage::{
    ChunkMeta, ColumnDef, ColumnType, Constraints, DeletedRows, KeyDef, KeyKind, KeyNulls, Locked, NewTable,
    RowDeletes, RowId, Scalar, SeenRows, Segment, SegmentMeta, SegmentPlace, Selection, Store, StoreError,
    StoreOptions, TableDef, TableVersion,
};
use braid_testing::{PAUSE, Wait};
use bytes::Bytes;
use tempfile::TempDir;

/// A device for tests: threads and the page cache, so that hundreds of stores can be opened in a second.
pub fn test_device(dir: &Path) -> Arc<dyn Device> {
    let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 32, threads: 4 };
    open_device(dir, &options).unwrap()
}

/// A disk that forgets what was not synced when its power is cut.
pub fn faulty_disk(dir: &Path) -> Arc<FaultDevice> {
    FaultDevice::with_volatile_cache(test_device(dir))
}

/// The store on a disk of the test's own.
pub fn open_on(dir: &Path, disk: &Arc<FaultDevice>) -> Result<Arc<Store>, StoreError> {
    Store::open(dir, StoreOptions { device: disk.clone(), encode_threads: 2 })
}

/// For tests whose losses are simulated: nothing real need be synced.
pub fn directory_in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn open(dir: &Path) -> Result<Arc<Store>, StoreError> {
    Store::open(dir, StoreOptions { device: test_device(dir), encode_threads: 2 })
}

/// As [`open`], after a store of this process on the same directory: encoders and reads of an append that failed may
/// still be ending on other threads, and hold the directory until then.
pub async fn open_again(dir: &Path) -> Result<Arc<Store>, StoreError> {
    let wait = Wait::new("the directory to be released");
    loop {
        match open(dir) {
            Err(error @ StoreError::InUse { .. }) => wait.check(|| error.to_string()),
            result => return result,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// id bigint, name text with nulls, amount numeric(10, 2), day date with nulls.
pub fn new_table(name: &str) -> NewTable {
    let column = |name: &str, column_type, nullable| ColumnDef {
        nullable,
        default: (name == "amount").then(|| "0.00".to_owned()),
        ..ColumnDef::new(name, column_type)
    };
    let columns = vec![
        column("id", ColumnType::BigInt, false),
        column("name", ColumnType::Text, true),
        column("amount", ColumnType::Numeric { precision: 10, scale: 2 }, false),
        column("day", ColumnType::Date, true),
    ];
    NewTable { name: name.to_owned(), columns, primary_key: vec![ColumnId(0)] }
}

fn name_of(id: i64) -> Option<String> {
    (id % 7 != 3).then(|| format!("name number {id} {}", "x".repeat((id % 23) as usize)))
}

fn amount_of(id: i64) -> i128 {
    i128::from(id * 7919 % 1_000_000)
}

fn day_of(id: i64) -> Option<i32> {
    (id % 5 != 0).then_some((id % 10_000) as i32)
}

/// The rows with these numbers.
pub fn rows(ids: Range<i64>) -> RecordBatch {
    let amounts = Decimal128Array::from_iter_values(ids.clone().map(amount_of)).with_precision_and_scale(10, 2);
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(ids.clone()))),
        ("name", Arc::new(StringViewArray::from_iter(ids.clone().map(name_of)))),
        ("amount", Arc::new(amounts.unwrap())),
        ("day", Arc::new(Date32Array::from_iter(ids.map(day_of)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A column to be added to the table with this next column id: in new rows it has their numbers, in older ones this value.
pub fn extra_column(next_column_id: u16) -> ColumnDef {
    let column = ColumnDef::new(format!("extra {next_column_id}"), ColumnType::BigInt);
    ColumnDef { nullable: false, missing: Some(Scalar::Int(-1 - i64::from(next_column_id))), ..column }
}

/// The rows with these numbers of a table that may have extra columns.
pub fn rows_of(def: &TableDef, ids: Range<i64>) -> RecordBatch {
    let mut columns = rows(ids.clone()).columns().to_vec();
    let extra: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    columns.resize(def.columns.len(), extra);
    RecordBatch::try_new(def.arrow_schema(), columns).unwrap()
}

/// The bytes of a segment, wherever they are.
pub async fn read_segment(device: &dyn Device, chunk: &ChunkMeta, meta: &SegmentMeta) -> Bytes {
    let bytes = match &meta.place {
        SegmentPlace::InMemory(segment) => segment.bytes().clone(),
        SegmentPlace::InFile(range) => {
            let read =
                device.read(chunk.data_file().handle(), range.offset, range.stored_bytes as usize, IoReason::Scan);
            read.await.unwrap().into_bytes().slice(..meta.segment_bytes as usize)
        }
    };
    assert_eq!(braid_storage::checksum(&bytes), meta.checksum);
    bytes
}

/// Reads the rows of a version that are not deleted from the disk, checks that each is whole, and returns their numbers in order.
pub async fn read_ids(device: &dyn Device, version: &TableVersion) -> Vec<i64> {
    let mut ids = Vec::new();
    for chunk in version.chunks.iter() {
        let mut columns = Vec::new();
        for (meta, column) in chunk.segments.iter().zip(&version.def.columns) {
            let bytes = read_segment(device, chunk, meta).await;
            let segment = Segment::open(bytes, column.column_type).unwrap();
            assert_eq!(segment.row_count(), chunk.row_count as usize);
            let vectors = 0..segment.vector_count();
            let live: Vec<Selection> = vectors.clone().map(|vector| live_rows(chunk, &segment, vector)).collect();
            columns.push(segment.gather(vectors, &live));
        }
        let first = ids.len();
        ids.extend_from_slice(columns[0].as_primitive::<Int64Type>().values());
        assert_eq!(ids.len() - first, chunk.live_row_count() as usize);
        let ids = &ids[first..];
        let names = columns[1].as_string_view().iter().map(|name| name.map(str::to_owned));
        assert!(names.eq(ids.iter().map(|&id| name_of(id))));
        assert!(columns[2].as_primitive::<Decimal128Type>().iter().eq(ids.iter().map(|&id| Some(amount_of(id)))));
        assert!(columns[3].as_primitive::<Date32Type>().iter().eq(ids.iter().map(|&id| day_of(id))));
        for (extra, column) in columns.iter().zip(&version.def.columns).skip(4) {
            let missing = -1 - i64::from(column.id.0);
            let is_whole = |(extra, id): (&i64, &i64)| extra == id || *extra == missing;
            assert!(extra.as_primitive::<Int64Type>().values().iter().zip(ids).all(is_whole), "{}", column.name);
        }
    }
    assert_eq!(ids.len() as u64, version.row_count());
    ids
}

/// The rows of a chunk's vector that are not deleted.
fn live_rows(chunk: &ChunkMeta, segment: &Segment, vector: usize) -> Selection {
    let mut rows = Selection::all(segment.vector_rows(vector));
    chunk.deleted.iter().for_each(|deleted| deleted.exclude_from(vector, &mut rows));
    rows
}

/// The rows of a version that are not deleted, in the order in which [`read_ids`] returns them.
pub fn row_ids(version: &TableVersion) -> Vec<RowId> {
    let of_chunk = |chunk: &Arc<ChunkMeta>| {
        let (chunk, deleted, row_count) = (chunk.id, chunk.deleted.clone(), chunk.row_count);
        let is_live = move |row: &u32| deleted.as_ref().is_none_or(|deleted| !deleted.contains(*row));
        (0..row_count).filter(is_live).map(move |row| RowId { chunk, row })
    };
    version.chunks.iter().flat_map(of_chunk).collect()
}

/// These rows of a version, by chunk.
pub fn row_deletes(version: &TableVersion, rows: impl IntoIterator<Item = RowId>) -> RowDeletes {
    let mut deletes = RowDeletes::new();
    for RowId { chunk, row } in rows {
        let row_count = || version.chunks.iter().find(|known| known.id == chunk).unwrap().row_count;
        deletes.entry(chunk).or_insert_with(|| DeletedRows::none(row_count())).insert(row);
    }
    deletes
}

/// A unique key of these columns, without an identity.
pub fn key(name: &str, columns: &[u16]) -> KeyDef {
    let columns = columns.iter().map(|id| ColumnId(*id)).collect();
    KeyDef {
        id: TableId(0),
        name: name.to_owned(),
        columns,
        kind: KeyKind::Unique,
        nulls: KeyNulls::Distinct,
        patterns: Vec::new(),
        form: None,
    }
}

/// Creates a table with keys.
pub async fn create(store: &Store, table: NewTable, keys: Vec<KeyDef>) -> Result<(), StoreError> {
    let mut writes = store.write_set();
    let constraints = Constraints { keys, ..Constraints::default() };
    writes.create_constrained_table(&store.snapshot(), (SchemaId::PUBLIC, table), constraints)?;
    writes.commit().await.map(drop)
}

/// These rows of a version, as a statement has seen them.
pub fn seen_rows(version: &TableVersion, rows: impl IntoIterator<Item = RowId>) -> SeenRows {
    SeenRows::of(version, &row_deletes(version, rows)).unwrap()
}

/// Locks rows of a table that a statement has seen and deletes them, in one commit. False if others have changed one of them.
pub async fn delete_seen(store: &Store, version: &Arc<TableVersion>, seen: &SeenRows) -> Result<bool, StoreError> {
    let mut writes = store.write_set();
    if writes.lock_rows(version.def.id, seen).await? == Locked::Changed {
        return Ok(false);
    }
    let newest = store.snapshot();
    let unknown = || StoreError::UnknownTable { table: version.def.name.clone() };
    let now = newest.by_id(version.def.id).ok_or_else(unknown)?;
    writes.delete_seen_rows((&newest, now), seen, RowDeletes::new())?;
    writes.commit().await.map(|_| true)
}

/// Deletes the rows of a table whose numbers satisfy a condition, in one commit.
pub async fn delete_where(
    store: &Store,
    device: &dyn Device,
    table: &str,
    is_deleted: impl Fn(i64) -> bool,
) -> Deleted {
    let Some(version) = store.snapshot().table(table).cloned() else {
        return Err(StoreError::UnknownTable { table: table.to_owned() });
    };
    let ids = read_ids(device, &version).await;
    let rows = row_ids(&version).into_iter().zip(ids).filter(|(_, id)| is_deleted(*id)).map(|(row, _)| row);
    store.delete_rows(table, &row_deletes(&version, rows)).await
}

pub type Deleted = Result<Arc<TableVersion>, StoreError>;

/// Appends rows to a table in one commit.
pub async fn insert(store: &Store, table: &str, ids: Range<i64>) -> Result<Arc<TableVersion>, StoreError> {
    let mut appender = store.append(table)?;
    let batch = rows_of(appender.def(), ids);
    appender.append(batch).await?;
    Ok(appender.commit().await?.0)
}

/// Rows in one commit that go into a file: fewer stay in memory.
pub const FILE_ROWS: i64 = 1_025;

/// Names of the data files in a directory.
pub fn data_files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join("data")).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Names of the data files that the newest state names.
pub fn named_files(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = store
        .snapshot()
        .tables()
        .flat_map(|version| version.chunks.iter())
        .filter_map(|chunk| chunk.file.as_ref())
        .map(|file| file.path().file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}
