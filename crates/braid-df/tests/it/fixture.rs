//! One table of every type, in a store on disk and in memory, behind contexts of the same settings.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, RecordBatch, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{IntervalMonthDayNano, SchemaRef};
use arrow::util::pretty::pretty_format_batches;
use braid_base::{ByteSize, Random, SeededRandom, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, ScanPolicy};
use braid_df::operators::OperatorSettings;
use braid_df::{BraidTable, ScanSettings, SessionSettings, session_state};
use braid_io::{Backend, DeviceOptions, open_device};
use braid_storage::{ColumnDef, ColumnType, NewTable, Store, StoreOptions, TableVersion};
use datafusion::common::Result;
use datafusion::datasource::MemTable;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;

/// Rows of each INSERT; each fewer than half of the one before, so that each stays a chunk.
const INSERTS: [usize; 5] = [4000, 1700, 700, 300, 100];

/// The columns of table `t`: a key in load order, one of every type with nulls, and a clustered date without.
pub fn columns() -> Vec<ColumnDef> {
    let column =
        |name: &str, column_type, nullable| ColumnDef { name: name.to_owned(), column_type, nullable, default: None };
    vec![
        column("id", ColumnType::BigInt, false),
        column("bool", ColumnType::Boolean, true),
        column("i16", ColumnType::SmallInt, true),
        column("i32", ColumnType::Integer, true),
        column("i64", ColumnType::BigInt, true),
        column("f32", ColumnType::Real, true),
        column("f64", ColumnType::Double, true),
        column("n12", ColumnType::Numeric { precision: 12, scale: 2 }, true),
        column("n30", ColumnType::Numeric { precision: 30, scale: 4 }, true),
        column("txt", ColumnType::Text, true),
        column("chr", ColumnType::Char(10), true),
        column("dat", ColumnType::Date, true),
        column("ts", ColumnType::Timestamp, true),
        column("tz", ColumnType::TimestampTz, true),
        column("iv", ColumnType::Interval, true),
        column("byt", ColumnType::Bytea, true),
        column("uid", ColumnType::Uuid, true),
        column("day", ColumnType::Date, false),
    ]
}

/// Both sides of every comparison.
pub struct Fixture {
    /// Tables `t` (of [`columns`]) and `small` in Braid, under DataFusion's operators.
    pub braid: SessionContext,
    /// The same under Braid's operators.
    pub operators: SessionContext,
    /// The same in memory.
    pub memory: SessionContext,
    pub buffer: Arc<BufferManager>,
    pub version: Arc<TableVersion>,
    _store: Arc<Store>,
    _dir: tempfile::TempDir,
}

impl Fixture {
    pub async fn new() -> Self {
        Self::with_settings(ScanSettings::default()).await
    }

    pub async fn with_settings(settings: ScanSettings) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 8, threads: 2 };
        let device = open_device(dir.path(), &options).unwrap();
        let store = Store::open(dir.path(), StoreOptions { device: device.clone(), encode_threads: 1 }).unwrap();
        let options =
            BufferOptions { capacity: ByteSize::mib(64), policy: ScanPolicy::Relevance, loads_in_flight_max: 4 };
        let buffer = BufferManager::new(device, Arc::new(SystemClock::new()), options);
        let mut random = SeededRandom::new(42);
        let mut first = 0;
        let batches = INSERTS.map(|rows| {
            let batch = batch(&mut random, first, rows);
            first += rows;
            batch
        });
        let small = small_columns();
        let small_rows = [small_batch()];
        let fixture_session = |braid: bool| {
            let settings = SessionSettings::new(2, Arc::new(RuntimeEnv::default()));
            let mut state = session_state(&settings);
            let extensions = &mut state.config_mut().options_mut().extensions;
            extensions.get_mut::<OperatorSettings>().unwrap().braid = braid;
            SessionContext::new_with_state(state)
        };
        let foreign = || fixture_session(false);
        let (braid, operators, memory) = (foreign(), fixture_session(true), foreign());
        for (name, columns, batches) in [("t", columns(), &batches[..]), ("small", small, &small_rows[..])] {
            let new = NewTable { name: name.to_owned(), columns, primary_key: vec![braid_base::ColumnId(0)] };
            store.create_table(new).await.unwrap();
            for batch in batches {
                let mut appender = store.append(name).unwrap();
                appender.append(batch.clone()).await.unwrap();
                appender.commit().await.unwrap();
            }
            let version = store.snapshot().table(name).unwrap().clone();
            let table = Arc::new(BraidTable::with_settings(version, buffer.clone(), settings));
            braid.register_table(name, table.clone()).unwrap();
            operators.register_table(name, table).unwrap();
            let table = MemTable::try_new(batches[0].schema(), vec![batches.to_vec()]).unwrap();
            memory.register_table(name, Arc::new(table)).unwrap();
        }
        let version = store.snapshot().table("t").unwrap().clone();
        assert_eq!(version.chunks.len(), INSERTS.len());
        Self { braid, operators, memory, buffer, version, _store: store, _dir: dir }
    }

    /// The physical plan of `sql` over Braid.
    pub async fn plan(&self, sql: &str) -> Arc<dyn ExecutionPlan> {
        self.braid.sql(sql).await.unwrap().create_physical_plan().await.unwrap()
    }

    /// The physical plan of `sql` over Braid, as text.
    pub async fn plan_text(&self, sql: &str) -> String {
        displayable(self.plan(sql).await.as_ref()).indent(false).to_string()
    }

    /// Runs `sql` on all of them and compares the rows, in order if it has one.
    pub async fn check(&self, sql: &str) {
        let expected = rows(&self.memory, sql).await.unwrap_or_else(|error| panic!("in memory: {sql}: {error}"));
        for context in [&self.braid, &self.operators] {
            let found = rows(context, sql).await.unwrap_or_else(|error| panic!("in Braid: {sql}: {error}"));
            assert_eq!(found, expected, "{sql}");
        }
    }
}

/// The rows of `sql` as lines of text; sorted unless `sql` orders them.
pub async fn rows(context: &SessionContext, sql: &str) -> Result<Vec<String>> {
    let batches = context.sql(sql).await?.collect().await?;
    let text = pretty_format_batches(&batches)?.to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).filter(|line| !line.starts_with('+')).collect();
    if !sql.contains("ORDER BY") {
        lines.sort();
    }
    Ok(lines)
}

fn schema(columns: &[ColumnDef]) -> SchemaRef {
    let fields = columns.iter().map(|c| arrow::datatypes::Field::new(&c.name, c.column_type.arrow(), c.nullable));
    Arc::new(arrow::datatypes::Schema::new(fields.collect::<Vec<_>>()))
}

/// Values are few (0..40 or so), so that literals hit them; every sixth is null.
fn batch(random: &mut SeededRandom, first: usize, rows: usize) -> RecordBatch {
    let mut numbers = || -> Vec<Option<i64>> {
        (0..rows).map(|_| (!random.chance(1, 6)).then(|| random.below(40) as i64 - 10)).collect()
    };
    let text =
        |n: &i64| ["", "a", "ab", "abc", "abd", "zeta", "äöü", "AB", "a%b", "a_b"][(n + 10) as usize % 10].to_owned();
    let long = |n: &i64| format!("{}{n:04}", text(n));
    let bytes = |n: &i64| vec![*n as u8; (n + 10) as usize % 4];
    let uuid = |n: &i64| (*n as u128).to_be_bytes();
    let numeric = |unscaled: Vec<Option<i128>>, precision, scale| {
        Decimal128Array::from(unscaled).with_precision_and_scale(precision, scale).unwrap()
    };
    let map = |values: Vec<Option<i64>>, f: fn(i64) -> i128| values.into_iter().map(|v| v.map(f)).collect();
    let day = |row: usize| ((first + row) / 100) as i32 + 9000;
    let arrays: Vec<ArrayRef> = vec![
        Arc::new((first..first + rows).map(|row| row as i64).collect::<Int64Array>()),
        Arc::new(numbers().iter().map(|v| v.map(|v| v % 2 == 0)).collect::<BooleanArray>()),
        Arc::new(numbers().iter().map(|v| v.map(|v| v as i16)).collect::<Int16Array>()),
        Arc::new(numbers().iter().map(|v| v.map(|v| v as i32)).collect::<Int32Array>()),
        Arc::new(numbers().into_iter().collect::<Int64Array>()),
        Arc::new(numbers().iter().map(|v| v.map(|v| v as f32 * 0.5)).collect::<Float32Array>()),
        Arc::new(numbers().iter().map(|v| v.map(|v| v as f64 * 0.1)).collect::<Float64Array>()),
        Arc::new(numeric(map(numbers(), |v| i128::from(v) * 25), 12, 2)),
        Arc::new(numeric(map(numbers(), |v| i128::from(v) * 2500), 30, 4)),
        Arc::new(numbers().iter().map(|v| v.as_ref().map(text)).collect::<StringViewArray>()),
        Arc::new(numbers().iter().map(|v| v.as_ref().map(long)).collect::<StringViewArray>()),
        Arc::new(numbers().iter().map(|v| v.map(|v| v as i32 + 8766)).collect::<Date32Array>()),
        Arc::new(
            numbers()
                .iter()
                .map(|v| v.map(|v| (8766 * 24 + v * 12) * 3_600_000_000))
                .collect::<TimestampMicrosecondArray>(),
        ),
        Arc::new(
            numbers()
                .iter()
                .map(|v| v.map(|v| (8766 * 24 + v * 12) * 3_600_000_000 + 1))
                .collect::<TimestampMicrosecondArray>()
                .with_timezone("UTC"),
        ),
        Arc::new(
            numbers()
                .iter()
                .map(|v| v.map(|v| IntervalMonthDayNano::new(0, v as i32, 0)))
                .collect::<IntervalMonthDayNanoArray>(),
        ),
        Arc::new(numbers().iter().map(|v| v.as_ref().map(bytes)).collect::<BinaryViewArray>()),
        Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(numbers().iter().map(|v| v.as_ref().map(uuid)), 16)
                .unwrap(),
        ),
        Arc::new((0..rows).map(|row| Some(day(row))).collect::<Date32Array>()),
    ];
    RecordBatch::try_new(schema(&columns()), arrays).unwrap()
}

fn small_columns() -> Vec<ColumnDef> {
    columns().into_iter().filter(|c| ["id", "i32", "txt"].contains(&c.name.as_str())).collect()
}

/// Rows 5990 to 5999 of the key of `t`.
fn small_batch() -> RecordBatch {
    let arrays: Vec<ArrayRef> = vec![
        Arc::new((5990..6000).collect::<Int64Array>()),
        Arc::new((0..10).map(|v| (v != 3).then_some(v)).collect::<Int32Array>()),
        Arc::new((0..10).map(|v| Some(format!("small {v}"))).collect::<StringViewArray>()),
    ];
    RecordBatch::try_new(schema(&small_columns()), arrays).unwrap()
}
