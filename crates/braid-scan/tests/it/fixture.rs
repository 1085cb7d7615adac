//! A store in a temporary directory, and a buffer over it.

use std::sync::Arc;

use braid_base::{ByteSize, Random, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, ScanPolicy};
use braid_io::{Backend, Device, DeviceOptions, open_device};
use braid_storage::{NewTable, Store, StoreOptions, TableVersion};

use crate::model::{Generator, Value, batch};

/// A table on disk, its rows in memory, and a buffer to scan it through.
pub struct Fixture {
    pub rows: Vec<Vec<Value>>,
    pub version: Arc<TableVersion>,
    pub buffer: Arc<BufferManager>,
    pub generator: Generator,
    _store: Arc<Store>,
    _dir: tempfile::TempDir,
}

impl Fixture {
    /// A random table of several chunks: INSERTs each less than half of the one before are not merged.
    pub async fn random(seed: u64, policy: ScanPolicy) -> Self {
        let mut generator = Generator::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let device = thread_device(dir.path());
        let store = Store::open(dir.path(), StoreOptions { device: device.clone(), encode_threads: 1 }).unwrap();
        let (columns, name) = (generator.columns.clone(), "t".to_owned());
        store.create_table(NewTable { name, columns, primary_key: Vec::new() }).await.unwrap();
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let mut insert_rows = 1 + generator.random.below(12_000) as usize;
        while insert_rows > 20 {
            let first = rows.len();
            rows.extend((first..first + insert_rows).map(|row| generator.row(row)));
            let schema = store.snapshot().table("t").unwrap().def.arrow_schema();
            let mut appender = store.append("t").unwrap();
            appender.append(batch(&generator.columns, schema, &rows[first..])).await.unwrap();
            appender.commit().await.unwrap();
            insert_rows = insert_rows * 2 / 5;
        }
        let version = store.snapshot().table("t").unwrap().clone();
        let segment_bytes_max = version.chunks.iter().flat_map(|c| &c.segments).map(|s| s.stored_bytes()).max();
        // Room for two chunks: scans that share it must evict.
        let capacity = u64::from(segment_bytes_max.unwrap_or(4096)) * generator.columns.len() as u64 * 2;
        let options = BufferOptions { capacity: ByteSize(capacity), policy, loads_in_flight_max: 4 };
        let buffer = BufferManager::new(device, Arc::new(SystemClock::new()), options);
        Self { rows, version, buffer, generator, _store: store, _dir: dir }
    }
}

fn thread_device(dir: &std::path::Path) -> Arc<dyn Device> {
    let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 8, threads: 2 };
    open_device(dir, &options).unwrap()
}
