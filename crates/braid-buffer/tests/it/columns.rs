//! Columns that come and go while their segments are in the buffer.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use braid_base::{ByteSize, ColumnId, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, ScanPolicy, ScanRequest};
use braid_io::{Backend, DeviceOptions, open_device};
use braid_storage::{ColumnChange, ColumnDef, ColumnType, NewTable, Scalar, Store, StoreOptions, TableVersion};

/// Rows of the first chunk; the others have less than half as many, so that they are not merged.
const ROWS: i64 = 5_000;

struct Table {
    store: Arc<Store>,
    buffer: Arc<BufferManager>,
    _dir: tempfile::TempDir,
}

impl Table {
    /// A table with the columns "a" and "b", and one chunk in which they have the values 0, 1, 2 … and 1000, 1001, 1002 …
    async fn new(policy: ScanPolicy) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 16, threads: 2 };
        let device = open_device(dir.path(), &options).unwrap();
        let store = Store::open(dir.path(), StoreOptions { device: device.clone(), encode_threads: 1 }).unwrap();
        let columns = ["a", "b"].map(|name| ColumnDef::new(name, ColumnType::BigInt)).to_vec();
        store.create_table(NewTable { name: "t".to_owned(), columns, primary_key: Vec::new() }).await.unwrap();
        let options = BufferOptions { capacity: ByteSize(1 << 20), policy, loads_in_flight_max: 4 };
        let buffer = BufferManager::new(device, Arc::new(SystemClock::new()), options);
        let table = Self { store, buffer, _dir: dir };
        table.insert(ROWS).await;
        table
    }

    /// Adds rows in which the column with the id `c` has the values 1000 c, 1000 c + 1 …
    async fn insert(&self, count: i64) {
        let mut appender = self.store.append("t").unwrap();
        let values = |column: &ColumnDef| -> ArrayRef {
            let first = 1_000 * i64::from(column.id.0);
            Arc::new(Int64Array::from_iter_values(first..first + count))
        };
        let columns = appender.def().columns.iter().map(values).collect();
        let batch = RecordBatch::try_new(appender.def().arrow_schema(), columns).unwrap();
        appender.append(batch).await.unwrap();
        appender.commit().await.unwrap();
    }

    async fn change(&self, change: ColumnChange) -> Arc<TableVersion> {
        self.store.change_columns("t", change).await.unwrap()
    }

    async fn add(&self, name: &str, missing: Option<i64>) -> Arc<TableVersion> {
        let missing = missing.map(Scalar::Int);
        self.change(ColumnChange::Add(ColumnDef { missing, ..ColumnDef::new(name, ColumnType::BigInt) })).await
    }

    fn version(&self) -> Arc<TableVersion> {
        self.store.snapshot().table("t").unwrap().clone()
    }

    /// The first values of the columns in each chunk, and the number of segments that were read for that.
    async fn scan(&self, version: &Arc<TableVersion>, columns: &[u16]) -> (Vec<Vec<Option<Scalar>>>, u64) {
        let before = self.buffer.stats().segments_loaded;
        let columns = columns.iter().copied().map(ColumnId).collect();
        let chunks = (0..version.chunks.len()).collect();
        let request = ScanRequest { version: version.clone(), chunks, columns, in_order: true };
        let scan = self.buffer.register(request);
        let mut values = Vec::new();
        while let Some(chunk) = scan.next().await {
            values.push(chunk.unwrap().segments.iter().map(|segment| segment.value(0)).collect());
        }
        (values, self.buffer.stats().segments_loaded - before)
    }
}

fn int(value: i64) -> Option<Scalar> {
    Some(Scalar::Int(value))
}

#[tokio::test]
async fn columns_that_had_one_place_at_different_times_are_not_taken_for_each_other() {
    for policy in ScanPolicy::ALL {
        let table = Table::new(policy).await;
        let before = table.version();
        assert_eq!(table.scan(&before, &[0, 1]).await, (vec![vec![int(0), int(1_000)]], 2));
        table.change(ColumnChange::Drop("b".to_owned())).await;
        let after = table.add("c", Some(-7)).await;
        assert_eq!(after.def.columns[1].id, ColumnId(2), "the second column is another one");
        // What is in the buffer of "b" is served to those that still see it, and to no one else.
        assert_eq!(table.scan(&after, &[0, 2]).await, (vec![vec![int(0), int(-7)]], 0), "{policy}");
        assert_eq!(table.scan(&before, &[1, 0]).await, (vec![vec![int(1_000), int(0)]], 0), "{policy}");
        table.insert(2_000).await;
        let newer = table.version();
        assert_eq!(newer.chunks.len(), 2);
        let values = vec![vec![int(-7), int(0)], vec![int(2_000), int(0)]];
        assert_eq!(table.scan(&newer, &[2, 0]).await, (values.clone(), 2), "{policy}: of the new chunk only");
        assert_eq!(table.scan(&newer, &[2, 0]).await, (values, 0), "{policy}");
        assert_eq!(table.scan(&before, &[1]).await, (vec![vec![int(1_000)]], 0), "{policy}");
    }
}

#[tokio::test]
async fn segments_in_memory_are_delivered_without_reads_and_take_no_room() {
    for policy in ScanPolicy::ALL {
        let table = Table::new(policy).await;
        table.add("null", None).await;
        let version = table.add("seven", Some(7)).await;
        assert_eq!(table.scan(&version, &[3, 2]).await, (vec![vec![int(7), None]], 0), "{policy}");
        let stats = table.buffer.stats();
        assert_eq!((stats.reads, stats.used_bytes, stats.pinned_bytes, stats.segment_hits), (0, 0, 0, 0), "{policy}");
        assert_eq!(table.scan(&version, &[3, 1]).await, (vec![vec![int(7), int(1_000)]], 1), "{policy}");
        // The bytes are not copied: each delivery hands out the same segment.
        let memory = version.chunks[0].segment(ColumnId(3)).memory().unwrap().segment().clone();
        let request = ScanRequest { version, chunks: vec![0], columns: vec![ColumnId(3)], in_order: false };
        let chunk = table.buffer.register(request).next().await.unwrap().unwrap();
        assert!(Arc::ptr_eq(&chunk.segments[0], &memory));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_of_versions_with_other_columns_share_what_they_have_in_common() {
    for policy in ScanPolicy::ALL {
        let table = Table::new(policy).await;
        let first = table.version();
        table.add("c", None).await;
        table.insert(2_000).await;
        let second = table.version();
        let third = table.change(ColumnChange::Drop("a".to_owned())).await;
        let versions = [(&first, &[0, 1][..]), (&second, &[0, 1, 2]), (&third, &[1, 2])];
        let scans = versions.map(|(version, columns)| table.scan(version, columns));
        let answers = futures::future::join_all(scans).await;
        let (a, b) = ([int(0), int(0)], [int(1_000), int(1_000)]);
        let c = [None, int(2_000)];
        for ((version, columns), (rows, _)) in versions.iter().zip(answers) {
            let value = |column: &u16, chunk: usize| [&a, &b, &c][usize::from(*column)][chunk].clone();
            let expected: Vec<Vec<_>> = (0..version.chunks.len())
                .map(|chunk| columns.iter().map(|column| value(column, chunk)).collect())
                .collect();
            assert_eq!(rows, expected, "{policy}");
        }
        assert_eq!(table.buffer.stats().segments_loaded, 5, "{policy}: each segment once");
    }
}
