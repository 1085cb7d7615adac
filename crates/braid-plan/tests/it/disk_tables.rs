//! Queries over a table in segments of several chunks, compared with the same query by its definition.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, IntervalMonthDayNano};
use braid_base::{ByteSize, ColumnId, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, ScanPolicy};
use braid_exec::executor::Executor;
use braid_exec::runtime::pipeline::Source;
use braid_exec::scan::table_sample::TableSample;
use braid_exec::scan::table_source::TableSource;
use braid_exec::values::intervals::interval_of_bytes;
use braid_io::{Backend, Device, DeviceOptions, open_device};
use braid_plan::lowering::StoredTables;
use braid_plan::values::Form;
use braid_plan::values::arrays::ArrayBuilder;
use braid_scan::ScanSpec;
use braid_sql::{SqlError, Value};
use braid_storage::{ColumnDef, ColumnType, NewTable, Store, StoreOptions, TableVersion};
use tokio::runtime::Runtime;

use crate::memory_tables::{MemoryTable, rich};
use crate::running::Failure;
use crate::stored_queries::is_ordered;

const NS_PER_US: i64 = 1000;

/// The table `t` on disk.
pub struct DiskTable {
    given: MemoryTable,
    version: Arc<TableVersion>,
    buffer: Arc<BufferManager>,
    /// The tasks of the buffer run here. A query has a runtime of its own.
    _runtime: Runtime,
    _store: Arc<Store>,
    _directory: tempfile::TempDir,
}

impl fmt::Debug for DiskTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on disk", self.given)
    }
}

impl DiskTable {
    /// With these columns, and rows of expressions.
    pub fn new(columns: &[(&str, &str)], rows: &[Vec<String>]) -> Self {
        let given = MemoryTable::new(columns, rows, rows.len().max(1));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (directory, store, device) = runtime.block_on(stored(columns, &given));
        let version = store.snapshot().table("t").unwrap().clone();
        let options =
            BufferOptions { capacity: ByteSize(16 << 20), policy: ScanPolicy::Relevance, loads_in_flight_max: 4 };
        let entered = runtime.enter();
        let buffer = BufferManager::new(device, Arc::new(SystemClock::new()), options);
        drop(entered);
        Self { given, version, buffer, _runtime: runtime, _store: store, _directory: directory }
    }

    /// The rows of a query as texts.
    pub fn rows(&self, sql: &str, executor: &Executor) -> Result<Vec<Vec<String>>, Failure> {
        self.given.rows_from(sql, self, executor)
    }

    /// Compares the rows of a query with its definition, and returns how many there are. Without ORDER BY they may come in any order.
    pub fn check(&self, sql: &str) -> usize {
        let mut expected = self.given.defined_rows(sql).unwrap();
        for workers in [1, 2] {
            let mut found = self.rows(sql, &rich(workers)).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            if !is_ordered(sql) {
                found.sort();
                expected.sort();
            }
            assert_eq!(found, expected, "{sql}");
        }
        expected.len()
    }
}

impl StoredTables for DiskTable {
    fn source(
        &self,
        _: u64,
        columns: &[usize],
        _: Option<TableSample>,
    ) -> Result<(Arc<dyn Source>, Vec<ColumnType>), SqlError> {
        let projection: Vec<ColumnId> = columns.iter().map(|column| ColumnId(*column as u16)).collect();
        let types = projection.iter().map(|column| self.version.value_type(*column)).collect();
        let spec = ScanSpec::new(projection);
        let source = TableSource::new(self.version.clone(), self.buffer.clone(), spec, "table=t".to_owned());
        Ok((Arc::new(source), types))
    }
}

/// A store with the rows of the table.
async fn stored(names: &[(&str, &str)], given: &MemoryTable) -> (tempfile::TempDir, Arc<Store>, Arc<dyn Device>) {
    let directory = tempfile::tempdir().unwrap();
    let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 8, threads: 2 };
    let device = open_device(directory.path(), &options).unwrap();
    let store = Store::open(directory.path(), StoreOptions { device: device.clone(), encode_threads: 1 }).unwrap();
    let column = |((name, _), column_type): (&(&str, &str), &ColumnType)| ColumnDef::new(*name, *column_type);
    let columns = names.iter().zip(given.types()).map(column).collect();
    store.create_table(NewTable { name: "t".to_owned(), columns, primary_key: Vec::new() }).await.unwrap();
    // An append of less than half of the rows before it stays a chunk of its own.
    let values = given.values();
    let mut rest = &values[..];
    while !rest.is_empty() {
        let (part, after) = rest.split_at((rest.len() * 2 / 3).max(1));
        rest = after;
        let arrays = given.types().iter().enumerate().map(|(at, column_type)| stored_array(part, at, *column_type));
        let schema = store.snapshot().table("t").unwrap().def.arrow_schema();
        let mut appender = store.append("t").unwrap();
        appender.append(RecordBatch::try_new(schema, arrays.collect()).unwrap()).await.unwrap();
        appender.commit().await.unwrap();
    }
    (directory, store, device)
}

/// A column of some rows as storage takes it.
fn stored_array(rows: &[Vec<Value>], column: usize, column_type: ColumnType) -> ArrayRef {
    let mut array = ArrayBuilder::new(Form::of_column(column_type));
    rows.iter().for_each(|row| array.add(&row[column]).unwrap());
    let array = array.finish();
    match column_type {
        ColumnType::Interval => {
            let interval = |bytes: &[u8]| {
                let (months, days, us) = interval_of_bytes(bytes).unwrap();
                IntervalMonthDayNano::new(months, days, us * NS_PER_US)
            };
            let intervals = array.as_binary_view().iter().map(|bytes| bytes.map(interval));
            Arc::new(intervals.collect::<IntervalMonthDayNanoArray>())
        }
        ColumnType::Date => cast(&cast(&array, &DataType::Int32).unwrap(), &DataType::Date32).unwrap(),
        column_type => cast(&array, &column_type.arrow()).unwrap(),
    }
}
