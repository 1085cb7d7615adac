//! Random plans over stored tables of which rows are deleted, alone and in passes, with much and with little memory. Their answers
//! are those of the same plans over tables without these rows.

use arrow::array::{ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringViewArray};
use braid_base::{ColumnId, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, ScanPolicy};
use braid_io::{Backend, Device, DeviceOptions, open_device};
use braid_scan::ScanSpec;
use braid_storage::{ColumnDef, ColumnType, NewTable, Store, StoreOptions};

use super::memory_tables::{Kind, integer};
use super::shared_plans::SharedCase;
use super::stored_tables::delete_at;
use super::*;
use crate::scan::table_source::TableSource;

/// A directory with tables, as long as plans read them.
struct Directory {
    store: Arc<Store>,
    buffer: Arc<BufferManager>,
    _directory: tempfile::TempDir,
}

impl Directory {
    fn new() -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 8, threads: 1 };
        let device: Arc<dyn Device> = open_device(directory.path(), &options).unwrap();
        let options = StoreOptions { device: device.clone(), encode_threads: 1 };
        let store = Store::open(directory.path(), options).unwrap();
        let options =
            BufferOptions { capacity: ByteSize(64 << 20), policy: ScanPolicy::Relevance, loads_in_flight_max: 4 };
        let buffer = BufferManager::new(device, Arc::new(SystemClock::new()), options);
        Self { store, buffer, _directory: directory }
    }

    /// Stores the tables of a case, with further rows that are deleted, and has its plan read these.
    async fn store(&self, case: &mut Case) {
        let tables = case.tables.clone();
        for (number, table) in tables.iter().enumerate() {
            self.store_table(&format!("t{number}"), table, &mut case.random).await;
        }
        let mut stored = |source: &Arc<dyn Source>| {
            let number = source.describe();
            let version = self.store.snapshot().table(&format!("t{number}")).unwrap().clone();
            let spec = ScanSpec::new((0..version.def.columns.len() as u16).map(ColumnId).collect());
            let source = TableSource::new(version, self.buffer.clone(), spec, number);
            Ok::<_, std::convert::Infallible>(Some(Arc::new(source) as Arc<dyn Source>))
        };
        let Ok(()) = case.plan.map_sources(&mut stored);
    }

    /// Stores the rows of a table in several appends. Rows in between are deleted at once or in the end.
    async fn store_table(&self, name: &str, table: &Table, random: &mut SeededRandom) {
        let column = |(at, kind): (usize, &Kind)| ColumnDef::new(format!("c{at}"), type_of(*kind));
        let columns = table.kinds.iter().enumerate().map(column).collect();
        self.store.create_table(NewTable { name: name.to_owned(), columns, primary_key: Vec::new() }).await.unwrap();
        let rows = with_deleted_rows(table, random);
        // Whether each row of the table so far is to be deleted.
        let (mut deleted, mut rest): (Vec<bool>, _) = (Vec::new(), &rows[..]);
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().div_ceil(1 + random.below(3) as usize));
            self.append(name, &table.kinds, part).await;
            deleted.extend(part.iter().map(|(_, is_deleted)| is_deleted));
            rest = after;
            if random.chance(1, 2) || rest.is_empty() {
                delete_at(&self.store, name, |row| deleted[row]).await;
                deleted.retain(|is_deleted| !is_deleted);
            }
        }
        let version = self.store.snapshot().table(name).unwrap().clone();
        assert_eq!(version.row_count(), table.rows.len() as u64);
    }

    async fn append(&self, name: &str, kinds: &[Kind], rows: &[(Row, bool)]) {
        let column = |(at, kind): (usize, &Kind)| {
            let values: Vec<Value> = rows.iter().map(|(row, _)| row[at].clone()).collect();
            array(*kind, &values)
        };
        let mut appender = self.store.append(name).unwrap();
        let arrays = kinds.iter().enumerate().map(column).collect();
        appender.append(RecordBatch::try_new(appender.def().arrow_schema(), arrays).unwrap()).await.unwrap();
        appender.commit().await.unwrap();
    }
}

/// The rows of a table, among others that are to be deleted: few, or so many that some vectors have no others.
fn with_deleted_rows(table: &Table, random: &mut SeededRandom) -> Vec<(Row, bool)> {
    let (most, mut rows) = ([1, 3, 10][random.below(3) as usize], Vec::new());
    let other = |random: &mut SeededRandom| {
        let value = |kind: &Kind| (!random.chance(1, 5)).then(|| kind.scalar(random.below(40), 1));
        table.kinds.iter().map(value).collect::<Row>()
    };
    for row in &table.rows {
        rows.extend((0..random.below(most)).map(|_| (other(random), true)));
        rows.push((row.clone(), false));
    }
    let at = random.below(rows.len() as u64 + 1) as usize;
    let many = if random.chance(1, 8) { 2_500 } else { random.below(10) };
    let others: Vec<(Row, bool)> = (0..many).map(|_| (other(random), true)).collect();
    rows.splice(at..at, others);
    rows
}

fn type_of(kind: Kind) -> ColumnType {
    match kind {
        Kind::Int => ColumnType::BigInt,
        Kind::Wide => ColumnType::Numeric { precision: 38, scale: 0 },
        Kind::Text => ColumnType::Text,
        Kind::Bool => ColumnType::Boolean,
        Kind::Float => ColumnType::Double,
    }
}

fn array(kind: Kind, values: &[Value]) -> ArrayRef {
    let integers = || values.iter().map(|value| value.as_ref().map(integer));
    match kind {
        Kind::Int => Arc::new(integers().map(|value| value.map(|value| value as i64)).collect::<Int64Array>()),
        Kind::Wide => {
            let array: Decimal128Array = integers().collect();
            Arc::new(array.with_precision_and_scale(38, 0).unwrap())
        }
        Kind::Text => {
            let text = |value: &Scalar| match value {
                Scalar::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
                other => panic!("{other:?} is no text"),
            };
            Arc::new(values.iter().map(|value| value.as_ref().map(text)).collect::<StringViewArray>())
        }
        Kind::Bool => {
            let is_true = |value: &Scalar| *value == Scalar::Bool(true);
            Arc::new(values.iter().map(|value| value.as_ref().map(is_true)).collect::<BooleanArray>())
        }
        Kind::Float => {
            let float = |value: &Scalar| if let Scalar::Float(value) = value { *value } else { f64::MAX };
            Arc::new(values.iter().map(|value| value.as_ref().map(float)).collect::<Float64Array>())
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_over_deleted_rows_are_what_they_are_without_them() {
    let cases = cases!(0..400);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0 as u64);
    let (mut compared, tally) = (0, Tally::default());
    for drawn in cases {
        let (directory, mut case) = (Directory::new(), Case::new(drawn.seed));
        directory.store(&mut case).await;
        compared += u64::from(check(case, &tally).await);
    }
    let spilled = tally.spilled.get();
    println!("{compared} of {count} plans were compared, {spilled} spilled");
    assert!(is_replay || compared * 2 > count && spilled > 5, "{compared} of {count} plans, {spilled} spilled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_of_a_pass_over_deleted_rows_gets_what_it_gets_without_them() {
    let cases = cases!(0..300);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let (mut compared, mut spilled) = (0, 0);
    for drawn in cases {
        let (directory, mut case) = (Directory::new(), SharedCase::new(drawn.seed));
        directory.store(&mut case.case).await;
        let little = shared_spilling::check(case).await;
        spilled += usize::from(little.1);
        let mut case = SharedCase::new(drawn.seed);
        let directory = Directory::new();
        directory.store(&mut case.case).await;
        compared += usize::from(case.check().await);
    }
    println!("{compared} of {count} shared plans were compared, {spilled} spilled");
    assert!(is_replay || compared * 2 > count && spilled > 5, "{compared} of {count} shared plans, {spilled} spilled");
}
