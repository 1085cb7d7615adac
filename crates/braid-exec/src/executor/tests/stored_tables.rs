//! Small random tables on disk, with columns of most types, whose chunks differ in their zone maps.

use arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringViewArray,
};
use braid_base::{ColumnId, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, ScanPolicy};
use braid_io::{Backend, Device, DeviceOptions, open_device};
use braid_scan::ScanSpec;
use braid_storage::{ColumnDef, ColumnType, DeletedRows, NewTable, RowDeletes, Store, StoreOptions, TableVersion};

use super::*;
use crate::scan::table_source::TableSource;

pub const TYPES: [ColumnType; 9] = [
    ColumnType::Boolean,
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::Real,
    ColumnType::Double,
    ColumnType::Numeric { precision: 12, scale: 2 },
    ColumnType::Numeric { precision: 30, scale: 4 },
    ColumnType::Text,
    ColumnType::Date,
];

/// A table named `t` with a column of each of [`TYPES`], `c0` to `c8`.
pub struct StoredTable {
    pub store: Arc<Store>,
    pub buffer: Arc<BufferManager>,
    _directory: tempfile::TempDir,
}

impl StoredTable {
    /// A table without rows.
    pub async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 8, threads: 2 };
        let device: Arc<dyn Device> = open_device(directory.path(), &options).unwrap();
        let options = StoreOptions { device: device.clone(), encode_threads: 1 };
        let store = Store::open(directory.path(), options).unwrap();
        let column = |(at, column_type): (usize, &ColumnType)| ColumnDef::new(format!("c{at}"), *column_type);
        let columns = TYPES.iter().enumerate().map(column).collect();
        store.create_table(NewTable { name: "t".to_owned(), columns, primary_key: Vec::new() }).await.unwrap();
        let options =
            BufferOptions { capacity: ByteSize(64 << 20), policy: ScanPolicy::Relevance, loads_in_flight_max: 4 };
        let buffer = BufferManager::new(device, Arc::new(SystemClock::new()), options);
        Self { store, buffer, _directory: directory }
    }

    /// A table of several chunks: an INSERT of less than half of the rows before it makes a chunk of its own. Some rows of some
    /// chunks are deleted.
    pub async fn random(random: &mut SeededRandom) -> Self {
        let table = Self::new().await;
        let mut row_count = 200 + random.below(3000) as usize;
        while row_count > 20 {
            table.insert(row_count, random).await;
            row_count = row_count * 2 / 5;
            if random.chance(1, 3) {
                let (from, one_in) = (random.below(2_000) as usize, 1 + random.below(4));
                delete_at(&table.store, "t", |row| row >= from && random.chance(1, one_in)).await;
            }
        }
        table
    }

    /// Adds random rows. Columns with an even position ascend from INSERT to INSERT.
    pub async fn insert(&self, row_count: usize, random: &mut SeededRandom) {
        let first = self.version().row_count() / 50;
        let arrays = TYPES.iter().enumerate().map(|(at, column_type)| {
            let base = if at % 2 == 0 { first % 20 } else { 0 };
            let numbers: Vec<Option<u64>> =
                (0..row_count).map(|_| (!random.chance(1, 6)).then(|| base + random.below(12))).collect();
            array(*column_type, &numbers)
        });
        let batch = RecordBatch::try_new(self.version().def.arrow_schema(), arrays.collect()).unwrap();
        let mut appender = self.store.append("t").unwrap();
        appender.append(batch).await.unwrap();
        appender.commit().await.unwrap();
    }

    /// The newest version.
    pub fn version(&self) -> Arc<TableVersion> {
        self.store.snapshot().table("t").unwrap().clone()
    }

    /// A scan of all columns of the newest version.
    pub fn plan(&self) -> Plan {
        let source = self.source((0..TYPES.len() as u16).map(ColumnId).collect());
        Plan::Source { source: Arc::new(source), column_count: TYPES.len() }
    }

    /// A scan of some columns of the newest version.
    pub fn source(&self, columns: Vec<ColumnId>) -> TableSource {
        TableSource::new(self.version(), self.buffer.clone(), ScanSpec::new(columns), "table=t".to_owned())
    }
}

/// Deletes the rows of a table at these places among those that are not deleted.
pub async fn delete_at(store: &Store, table: &str, mut is_deleted: impl FnMut(usize) -> bool) {
    let version = store.snapshot().table(table).unwrap().clone();
    let (mut deletes, mut places) = (RowDeletes::new(), 0..);
    for chunk in version.chunks.iter() {
        let is_live = |row: &u32| chunk.deleted.as_ref().is_none_or(|deleted| !deleted.contains(*row));
        let live = (0..chunk.row_count).filter(is_live);
        let deleted = live.filter(|_| is_deleted(places.next().unwrap()));
        deletes.insert(chunk.id, DeletedRows::of(chunk.row_count, deleted));
    }
    store.delete_rows(table, &deletes).await.unwrap();
}

/// The value of a column that represents a small number, as plans have it.
pub fn scalar(column_type: ColumnType, number: u64) -> Scalar {
    let n = number as i64;
    match column_type {
        ColumnType::Boolean => Scalar::Bool(n % 2 == 1),
        ColumnType::Real | ColumnType::Double => Scalar::Float(match number {
            0 => f64::NAN,
            1 => -0.0,
            2 => 0.0,
            3 => f64::INFINITY,
            4 => f64::NEG_INFINITY,
            _ => n as f64 / 4.0 - 3.0,
        }),
        ColumnType::Numeric { precision: 30, .. } if number % 3 == 2 => Scalar::Int128(i128::from(n - 6) << 66),
        ColumnType::Text => {
            Scalar::Bytes(["", "a", "a string beyond a view "][number as usize % 3].repeat(n as usize).into())
        }
        ColumnType::BigInt => Scalar::Int((n - 5) << 40),
        _ => Scalar::Int(n - 5),
    }
}

fn array(column_type: ColumnType, numbers: &[Option<u64>]) -> ArrayRef {
    let values: Vec<Option<Scalar>> = numbers.iter().map(|n| n.map(|n| scalar(column_type, n))).collect();
    let integers = || values.iter().map(|value| value.as_ref().map(memory_tables::integer));
    let floats =
        || values.iter().map(|value| value.as_ref().map(|value| if let Scalar::Float(v) = value { *v } else { 0.0 }));
    match column_type {
        ColumnType::Boolean => {
            Arc::new(values.iter().map(|v| v.as_ref().map(|v| *v == Scalar::Bool(true))).collect::<BooleanArray>())
        }
        ColumnType::Integer => Arc::new(integers().map(|v| v.map(|v| v as i32)).collect::<Int32Array>()),
        ColumnType::Date => {
            let days = integers().map(|v| v.map(|v| v as i32)).collect::<Int32Array>();
            Arc::new(days.reinterpret_cast::<arrow::datatypes::Date32Type>())
        }
        ColumnType::BigInt => Arc::new(integers().map(|v| v.map(|v| v as i64)).collect::<Int64Array>()),
        ColumnType::Real => Arc::new(floats().map(|v| v.map(|v| v as f32)).collect::<Float32Array>()),
        ColumnType::Double => Arc::new(floats().collect::<Float64Array>()),
        ColumnType::Numeric { precision, scale } => {
            let array: Decimal128Array = integers().collect();
            Arc::new(array.with_precision_and_scale(precision, scale as i8).unwrap())
        }
        _ => {
            let text = |value: &Scalar| match value {
                Scalar::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
                other => panic!("{other:?} is no text"),
            };
            Arc::new(values.iter().map(|value| value.as_ref().map(text)).collect::<StringViewArray>())
        }
    }
}
