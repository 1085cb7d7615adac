//! A small store whose every value says where it belongs, on a device that fails on command.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringViewArray};
use braid_base::{ByteSize, Clock, ColumnId, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, PinnedChunk, ScanPolicy, ScanRequest};
use braid_io::{Backend, Device, DeviceOptions, FaultDevice, open_device};
use braid_storage::{ColumnDef, ColumnType, NewTable, Scalar, Store, StoreOptions, TableVersion};
use tempfile::TempDir;

/// Rows of each chunk: an INSERT of fewer than half the rows of the last chunk makes a chunk of its own, in a file if it has more than
/// 1024 rows.
pub const CHUNK_ROWS: [usize; 7] = [72_000, 35_500, 17_500, 8_700, 4_300, 2_100, 1_030];

pub struct Fixture {
    pub device: Arc<FaultDevice>,
    pub version: Arc<TableVersion>,
    _store: Arc<Store>,
    _dir: TempDir,
}

/// Value of the column `number` in a row.
pub fn number(chunk: usize, row: usize) -> i64 {
    // Spread over 40 bits, so that segments take some bytes.
    (chunk as i64 * 1_000_003 + row as i64) * 1_048_573 % (1 << 40)
}

impl Fixture {
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 16, threads: 2 };
        let device = FaultDevice::new(open_device(dir.path(), &options).unwrap());
        let store_device: Arc<dyn Device> = device.clone();
        let store = Store::open(dir.path(), StoreOptions { device: store_device, encode_threads: 1 }).unwrap();
        let column = |name: &str, column_type| ColumnDef { nullable: false, ..ColumnDef::new(name, column_type) };
        let columns = vec![
            column("number", ColumnType::BigInt),
            column("chunk", ColumnType::BigInt),
            column("name", ColumnType::Text),
        ];
        let table = NewTable { name: "things".to_owned(), columns, primary_key: Vec::new() };
        let mut version = store.create_table(table).await.unwrap();
        for (chunk, rows) in CHUNK_ROWS.into_iter().enumerate() {
            let mut appender = store.append("things").unwrap();
            let numbers = Int64Array::from_iter_values((0..rows).map(|row| number(chunk, row)));
            let chunks = Int64Array::from_iter_values((0..rows).map(|_| chunk as i64));
            let names = StringViewArray::from_iter_values((0..rows).map(|row| format!("thing {chunk} {row}")));
            let columns = vec![Arc::new(numbers) as _, Arc::new(chunks) as _, Arc::new(names) as _];
            let batch = RecordBatch::try_new(appender.def().arrow_schema(), columns).unwrap();
            appender.append(batch).await.unwrap();
            version = appender.commit().await.unwrap().0;
        }
        assert_eq!(version.chunks.len(), CHUNK_ROWS.len(), "each INSERT made a chunk");
        Self { device, version, _store: store, _dir: dir }
    }

    /// Bytes that all segments of these columns take.
    pub fn bytes_of(&self, columns: &[u16]) -> u64 {
        let chunks = self.version.chunks.iter();
        chunks.flat_map(|c| columns.iter().map(|at| u64::from(c.segments[usize::from(*at)].stored_bytes()))).sum()
    }

    /// Bytes that one chunk's segments of these columns take, at most.
    pub fn largest(&self, columns: &[u16]) -> u64 {
        let bytes = |c: &Arc<braid_storage::ChunkMeta>| {
            columns.iter().map(|at| u64::from(c.segments[usize::from(*at)].stored_bytes())).sum()
        };
        self.version.chunks.iter().map(bytes).max().unwrap()
    }

    pub fn buffer(&self, capacity: u64, policy: ScanPolicy) -> Arc<BufferManager> {
        self.buffer_with_clock(capacity, policy, Arc::new(SystemClock::new()))
    }

    pub fn buffer_with_clock(&self, capacity: u64, policy: ScanPolicy, clock: Arc<dyn Clock>) -> Arc<BufferManager> {
        let options = BufferOptions { capacity: ByteSize(capacity), policy, loads_in_flight_max: 4 };
        BufferManager::new(self.device.clone(), clock, options)
    }

    pub fn request(&self, chunks: &[usize], columns: &[u16], in_order: bool) -> ScanRequest {
        ScanRequest {
            version: Arc::clone(&self.version),
            chunks: chunks.to_vec(),
            columns: columns.iter().copied().map(ColumnId).collect(),
            in_order,
        }
    }

    /// All chunks.
    pub fn all(&self, columns: &[u16]) -> ScanRequest {
        let chunks: Vec<usize> = (0..self.version.chunks.len()).collect();
        self.request(&chunks, columns, false)
    }
}

/// Panics unless the chunk's segments are those of these columns of that chunk.
pub fn verify(chunk: &PinnedChunk, columns: &[u16]) {
    assert_eq!(chunk.segments.len(), columns.len());
    for (segment, column) in chunk.segments.iter().zip(columns) {
        let rows = CHUNK_ROWS[chunk.chunk];
        assert_eq!(segment.row_count(), rows);
        for row in [0, rows / 2, rows - 1] {
            let expected = match column {
                0 => Scalar::Int(number(chunk.chunk, row)),
                1 => Scalar::Int(chunk.chunk as i64),
                _ => Scalar::Bytes(format!("thing {} {row}", chunk.chunk).into_bytes()),
            };
            assert_eq!(segment.value(row), Some(expected));
        }
    }
}
