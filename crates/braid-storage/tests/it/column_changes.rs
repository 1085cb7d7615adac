//! Columns that come and go: random histories against a model in memory, what is refused, and what is left as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, Float64Array, Int16Array, Int64Array,
    IntervalMonthDayNanoArray, RecordBatch, StringViewArray,
};
use arrow::datatypes::IntervalMonthDayNano;
use braid_base::{CHUNK_ROWS, ColumnId, Random, SeededRandom};
use braid_io::Device;
use braid_storage::{
    ColumnChange, ColumnChangeError, ColumnDef, ColumnType, NUMERIC_OID, NUMERIC_TAG, NewTable, Scalar, Segment, Store,
    StoreError, TableVersion,
};
use braid_testing::cases;

use crate::test_table::{
    data_files, delete_where, extra_column, insert, named_files, new_table, open, read_ids, read_segment, row_deletes,
    row_ids, rows, test_device,
};

type Value = Option<Scalar>;

const NUMERIC: ColumnType = ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 };

const TYPES: [ColumnType; 8] = [
    ColumnType::BigInt,
    ColumnType::SmallInt,
    ColumnType::Text,
    ColumnType::Boolean,
    ColumnType::Double,
    ColumnType::Numeric { precision: 9, scale: 2 },
    ColumnType::Interval,
    NUMERIC,
];

/// The bytes of a numeric.
fn numeric(scale: u8, integer: i128) -> Vec<u8> {
    [&[NUMERIC_TAG, scale, 0][..], &integer.to_le_bytes()].concat()
}

fn random_scalar(column_type: ColumnType, random: &mut SeededRandom) -> Scalar {
    let n = random.below(1_000) as i64 - 500;
    match column_type {
        ColumnType::Boolean => Scalar::Bool(n % 2 == 0),
        ColumnType::Text => Scalar::Bytes("ä".repeat(n.unsigned_abs() as usize % 40).into_bytes()),
        ColumnType::Double => Scalar::Float([f64::NAN, -0.0, 0.1, n as f64][n.unsigned_abs() as usize % 4]),
        ColumnType::Interval => Scalar::Interval(n as i32, -1, n),
        NUMERIC => Scalar::Bytes(numeric(if n % 50 == 0 { 3 } else { 2 }, n.into())),
        _ => Scalar::Int(n),
    }
}

fn array(column_type: ColumnType, values: &[Value]) -> ArrayRef {
    let int = |value: &Value| match value {
        Some(Scalar::Int(value)) => Some(*value),
        _ => None,
    };
    let bytes = |value: &'_ Value| match value {
        Some(Scalar::Bytes(bytes)) => Some(bytes.clone()),
        _ => None,
    };
    let values = values.iter();
    match column_type {
        ColumnType::Boolean => {
            let bit = |value: &Value| matches!(value, Some(Scalar::Bool(true)));
            Arc::new(values.map(|value| value.as_ref().map(|_| bit(value))).collect::<BooleanArray>())
        }
        ColumnType::SmallInt => Arc::new(values.map(|v| int(v).map(|v| v as i16)).collect::<Int16Array>()),
        ColumnType::Double => {
            let float = |value: &Value| match value {
                Some(Scalar::Float(value)) => Some(*value),
                _ => None,
            };
            Arc::new(values.map(float).collect::<Float64Array>())
        }
        ColumnType::Numeric { precision, scale } => {
            let decimals: Decimal128Array = values.map(|value| int(value).map(i128::from)).collect();
            Arc::new(decimals.with_precision_and_scale(precision, scale as i8).unwrap())
        }
        ColumnType::Interval => {
            let interval = |value: &Value| match value {
                Some(Scalar::Interval(months, days, nanos)) => Some(IntervalMonthDayNano::new(*months, *days, *nanos)),
                _ => None,
            };
            Arc::new(values.map(interval).collect::<IntervalMonthDayNanoArray>())
        }
        ColumnType::Text => {
            let text = |value: &Value| bytes(value).map(|bytes| String::from_utf8(bytes).unwrap());
            Arc::new(values.map(text).collect::<StringViewArray>())
        }
        ColumnType::Encoded { .. } => Arc::new(values.map(bytes).collect::<BinaryViewArray>()),
        _ => Arc::new(values.map(int).collect::<Int64Array>()),
    }
}

/// What a table holds: its columns, and in each row a value of each.
#[derive(Clone)]
struct Model {
    columns: Vec<ColumnDef>,
    rows: Vec<BTreeMap<ColumnId, Value>>,
}

impl Model {
    /// The rows as text, so that NaN equals itself and -0 is not 0.
    fn text(&self) -> Vec<String> {
        self.rows.iter().map(|row| format!("{:?}", row.values().collect::<Vec<_>>())).collect()
    }
}

/// The rows of a version that are not deleted, as text; checks what is said of its segments.
async fn read_text(device: &dyn Device, version: &TableVersion) -> Vec<String> {
    let mut text = Vec::new();
    for chunk in version.chunks.iter() {
        let mut segments = Vec::new();
        for column in &version.def.columns {
            let meta = chunk.segment(column.id);
            let stored_type = meta.stored_type(column.column_type);
            let segment = Segment::open(read_segment(device, chunk, meta).await, stored_type).unwrap();
            assert_eq!(segment.row_count(), chunk.row_count as usize);
            segments.push((segment, meta.scale));
        }
        let value = |(segment, scale): &(Segment, Option<u8>), row: usize| match (segment.value(row), scale) {
            (Some(Scalar::Int128(integer)), Some(scale)) => Some(Scalar::Bytes(numeric(*scale, integer))),
            (value, _) => value,
        };
        let row = |row| segments.iter().map(|segment| value(segment, row)).collect::<Vec<Value>>();
        let live =
            (0..chunk.row_count).filter(|at| chunk.deleted.as_ref().is_none_or(|deleted| !deleted.contains(*at)));
        text.extend(live.map(|at| format!("{:?}", row(at as usize).iter().collect::<Vec<_>>())));
    }
    text
}

struct History {
    random: SeededRandom,
    model: Model,
    held: Vec<(Arc<TableVersion>, Vec<String>)>,
    next_id: u16,
    names: u32,
}

impl History {
    fn new_column(&mut self) -> ColumnDef {
        let random = &mut self.random;
        let column_type = TYPES[random.below(TYPES.len() as u64) as usize];
        let nullable = random.chance(2, 3);
        let missing = (!nullable || random.chance(1, 2)).then(|| random_scalar(column_type, random));
        self.names += 1;
        ColumnDef { nullable, missing, ..ColumnDef::new(format!("column {}", self.names), column_type) }
    }

    fn any_column(&mut self) -> ColumnDef {
        self.model.columns[self.random.below(self.model.columns.len() as u64) as usize].clone()
    }

    async fn append(&mut self, store: &Store) {
        let below = if self.random.chance(1, 30) { 2_000 } else { 20 };
        let count = 1 + self.random.below(below) as usize;
        let random = &mut self.random;
        let value = |column: &ColumnDef, random: &mut SeededRandom| {
            (!column.nullable || random.chance(3, 4)).then(|| random_scalar(column.column_type, random))
        };
        let row = |_| self.model.columns.iter().map(|column| (column.id, value(column, random))).collect();
        let rows: Vec<BTreeMap<ColumnId, Value>> = (0..count).map(row).collect();
        let mut appender = store.append("t").unwrap();
        let column = |column: &ColumnDef| {
            let values: Vec<Value> = rows.iter().map(|row| row[&column.id].clone()).collect();
            array(column.column_type, &values)
        };
        let arrays = self.model.columns.iter().map(column).collect();
        appender.append(RecordBatch::try_new(appender.def().arrow_schema(), arrays).unwrap()).await.unwrap();
        appender.commit().await.unwrap();
        self.model.rows.extend(rows);
    }

    /// Deletes a few rows, half of them, or all.
    async fn delete(&mut self, store: &Store) {
        let one_in = [1, 2, 2, 10, 10][self.random.below(5) as usize];
        let is_deleted: Vec<bool> = self.model.rows.iter().map(|_| self.random.chance(1, one_in)).collect();
        let version = Arc::clone(store.snapshot().table("t").unwrap());
        let rows = row_ids(&version).into_iter().zip(&is_deleted).filter(|(_, is_deleted)| **is_deleted);
        store.delete_rows("t", &row_deletes(&version, rows.map(|(row, _)| row))).await.unwrap();
        let mut is_deleted = is_deleted.into_iter();
        self.model.rows.retain(|_| !is_deleted.next().unwrap());
    }

    async fn add(&mut self, store: &Store) {
        let column = self.new_column();
        let version = store.change_columns("t", ColumnChange::Add(column.clone())).await.unwrap();
        let id = ColumnId(self.next_id);
        self.next_id += 1;
        assert_eq!(version.def.columns.last(), Some(&ColumnDef { id, ..column.clone() }));
        self.model.rows.iter_mut().for_each(|row| drop(row.insert(id, column.missing.clone())));
        self.model.columns.push(ColumnDef { id, ..column });
    }

    async fn drop_column(&mut self, store: &Store) {
        let column = self.any_column();
        match store.change_columns("t", ColumnChange::Drop(column.name.clone())).await {
            Ok(_) => {
                self.model.columns.retain(|other| other.id != column.id);
                self.model.rows.iter_mut().for_each(|row| drop(row.remove(&column.id)));
            }
            Err(StoreError::Columns(ColumnChangeError::IsOnly { .. })) => assert_eq!(self.model.columns.len(), 1),
            Err(error) => panic!("{error}"),
        }
    }

    async fn rename(&mut self, store: &Store) {
        let column = self.any_column();
        self.names += 1;
        let to = format!("column {}", self.names);
        let change = ColumnChange::Rename { from: column.name, to: to.clone() };
        store.change_columns("t", change).await.unwrap();
        self.model
            .columns
            .iter_mut()
            .filter(|other| other.id == column.id)
            .for_each(|other| other.name.clone_from(&to));
    }

    async fn step(&mut self, store: &Store) {
        match self.random.below(20) {
            0..3 => self.add(store).await,
            3..5 => self.drop_column(store).await,
            5 => self.rename(store).await,
            6..8 => self.delete(store).await,
            8 => self.held.push((Arc::clone(store.snapshot().table("t").unwrap()), self.model.text())),
            _ => self.append(store).await,
        }
    }

    async fn verify(&self, store: &Store, device: &dyn Device) {
        let snapshot = store.snapshot();
        let version = snapshot.table("t").unwrap();
        assert_eq!((&version.def.columns, version.def.next_column_id), (&self.model.columns, self.next_id));
        assert_eq!(read_text(device, version).await, self.model.text());
        assert_eq!(version.row_count(), self.model.rows.len() as u64);
        for column in &self.model.columns {
            let has_values = self.model.rows.iter().any(|row| row[&column.id].is_some());
            let count = version.distinct_count(column.id).unwrap();
            assert!(!has_values || count > 0.5, "the sketch of {} knows none of its values", column.name);
        }
        for (version, text) in &self.held {
            assert_eq!(&read_text(device, version).await, text, "an old version");
        }
        let report = store.check(|_| {}).await;
        assert!(report.is_sound() && report.orphans.is_empty(), "{report:?}");
    }
}

async fn run(random: SeededRandom, steps: usize) {
    let temp = tempfile::tempdir().unwrap();
    let device = test_device(temp.path());
    let model = Model { columns: Vec::new(), rows: Vec::new() };
    let mut history = History { random, model, held: Vec::new(), next_id: 0, names: 0 };
    let mut store = open(temp.path()).unwrap();
    let first = ColumnDef { missing: None, ..history.new_column() };
    history.model.columns.push(first.clone());
    history.next_id = 1;
    store.create_table(NewTable { name: "t".to_owned(), columns: vec![first], primary_key: Vec::new() }).await.unwrap();
    for step in 0..steps {
        history.step(&store).await;
        if step % 15 == 14 {
            history.verify(&store, device.as_ref()).await;
        }
        if history.random.chance(1, 12) {
            history.held.clear();
            drop(store);
            store = open(temp.path()).unwrap();
            assert_eq!(data_files(temp.path()), named_files(&store));
        }
    }
    history.verify(&store, device.as_ref()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_changes_and_loads_agree_with_the_model() {
    for case in cases!(0..10) {
        run(case.random(), 90).await;
    }
}

async fn table_with_rows(dir: &std::path::Path) -> (Arc<Store>, Arc<TableVersion>) {
    let store = open(dir).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    let version = insert(&store, "t", 0..10).await.unwrap();
    (store, version)
}

#[tokio::test]
async fn a_change_of_columns_writes_no_data_file_and_keeps_the_chunks() {
    let temp = tempfile::tempdir().unwrap();
    let (store, _) = table_with_rows(temp.path()).await;
    let mut appender = store.append("t").unwrap();
    appender.append(rows(10..10 + 2 * CHUNK_ROWS as i64)).await.unwrap();
    let before = appender.commit().await.unwrap().0;
    let files = data_files(temp.path());
    let added = store.change_columns("t", ColumnChange::Add(extra_column(4))).await.unwrap();
    let dropped = store.change_columns("t", ColumnChange::Drop("day".to_owned())).await.unwrap();
    assert_eq!(data_files(temp.path()), files);
    let ids = |version: &TableVersion| version.chunks.iter().map(|chunk| chunk.id).collect::<Vec<_>>();
    assert_eq!((ids(&added), ids(&dropped)), (ids(&before), ids(&before)));
    for chunk in dropped.chunks.iter() {
        let meta = chunk.segment(ColumnId(4));
        assert_eq!((meta.stored_bytes(), meta.zone_map.null_count, meta.zone_map.exact), (0, 0, true));
        assert_eq!((&meta.zone_map.min, &meta.zone_map.max), (&Some(Scalar::Int(-5)), &Some(Scalar::Int(-5))));
    }
    // Chunks of one length share the memory.
    let memory = |at: usize| std::ptr::from_ref(added.chunks[at].segment(ColumnId(4)).memory().unwrap());
    assert_eq!(memory(1), memory(2));
    assert_eq!(added.distinct_count(ColumnId(4)).map(f64::round), Some(1.0));
    assert_eq!(read_ids(test_device(temp.path()).as_ref(), &added).await.len(), 10 + 2 * CHUNK_ROWS);
}

#[tokio::test]
async fn a_chunk_with_deleted_rows_has_a_column_that_is_added_in_the_others() {
    let temp = tempfile::tempdir().unwrap();
    let (store, _) = table_with_rows(temp.path()).await;
    let device = test_device(temp.path());
    delete_where(&store, device.as_ref(), "t", |id| id % 3 == 0).await.unwrap();
    let added = store.change_columns("t", ColumnChange::Add(extra_column(4))).await.unwrap();
    let (chunk, meta) = (&added.chunks[0], added.chunks[0].segment(ColumnId(4)));
    assert_eq!((chunk.row_count, chunk.live_row_count(), added.row_count()), (10, 6, 6));
    assert_eq!((meta.zone_map.null_count, &meta.zone_map.min), (0, &Some(Scalar::Int(-5))));
    delete_where(&store, device.as_ref(), "t", |id| id == 4).await.unwrap();
    drop((store, added));
    let store = open(temp.path()).unwrap();
    assert!(store.check(|_| {}).await.is_sound());
    assert_eq!(read_ids(device.as_ref(), store.snapshot().table("t").unwrap()).await, [1, 2, 5, 7, 8]);
    // Merged with the rows that are left, whose missing values are in the file then.
    let merged = insert(&store, "t", 20..2_000).await.unwrap();
    assert_eq!((merged.chunks.len(), merged.chunks[0].row_count), (1, 1_985));
    assert!(merged.chunks[0].deleted.is_none() && merged.chunks[0].segment(ColumnId(4)).memory().is_none());
    let ids: Vec<i64> = [1, 2, 5, 7, 8].into_iter().chain(20..2_000).collect();
    assert_eq!(read_ids(device.as_ref(), &merged).await, ids);
    assert!(store.check(|_| {}).await.is_sound());
}

#[tokio::test]
async fn what_cannot_be_changed_is_refused_and_changes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let (store, before) = table_with_rows(temp.path()).await;
    let change = async |change: ColumnChange| store.change_columns("t", change).await.unwrap_err().to_string();
    let column = |name: &str| ColumnDef::new(name, ColumnType::Integer);
    let exists = "column \"day\" of relation \"t\" already exists";
    assert_eq!(change(ColumnChange::Add(column("day"))).await, exists);
    let rename = |from: &str, to: &str| ColumnChange::Rename { from: from.to_owned(), to: to.to_owned() };
    assert_eq!(change(rename("id", "day")).await, exists);
    let unknown = "column \"x\" of relation \"t\" does not exist";
    assert_eq!(change(rename("x", "y")).await, unknown);
    assert_eq!(change(ColumnChange::Drop("x".to_owned())).await, unknown);
    let not_null = ColumnDef { nullable: false, ..column("x") };
    assert_eq!(change(ColumnChange::Add(not_null)).await, "column \"x\" of relation \"t\" contains null values");
    let unfit = ColumnDef { missing: Some(Scalar::Bool(true)), ..column("x") };
    assert_eq!(
        change(ColumnChange::Add(unfit)).await,
        "column \"x\" cannot be added to relation \"t\": the value of column \"x\" in rows before it is no value of type integer"
    );
    assert!(change(rename("day", "")).await.contains("a name has 0 bytes"));
    let missing = store.change_columns("u", ColumnChange::Drop("x".to_owned())).await.unwrap_err();
    assert!(matches!(missing, StoreError::UnknownTable { .. }));
    let snapshot = store.snapshot();
    assert_eq!((snapshot.sequence(), &snapshot.table("t").unwrap().def), (before.sequence, &before.def));
}

#[tokio::test]
async fn dropped_columns_count_among_the_most_that_a_table_can_have() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    let column = |i: usize| ColumnDef::new(format!("c{i}"), ColumnType::Integer);
    let columns = (0..1599).map(column).collect();
    store.create_table(NewTable { name: "t".to_owned(), columns, primary_key: Vec::new() }).await.unwrap();
    store.change_columns("t", ColumnChange::Add(column(1599))).await.unwrap();
    store.change_columns("t", ColumnChange::Drop("c7".to_owned())).await.unwrap();
    let error = store.change_columns("t", ColumnChange::Add(column(1600))).await.unwrap_err();
    assert_eq!(error.to_string(), "tables can have at most 1600 columns");
}

#[tokio::test]
async fn a_key_goes_with_any_of_its_columns() {
    let temp = tempfile::tempdir().unwrap();
    let (store, _) = table_with_rows(temp.path()).await;
    let version = store.change_columns("t", ColumnChange::Drop("day".to_owned())).await.unwrap();
    assert_eq!(version.def.primary_key, [ColumnId(0)]);
    let version = store.change_columns("t", ColumnChange::Drop("id".to_owned())).await.unwrap();
    assert_eq!(version.def.primary_key, []);
    assert!(!version.def.columns.iter().any(|column| column.id == ColumnId(0)));
}

#[tokio::test]
async fn rows_for_a_table_that_was_altered_meanwhile_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    let (store, _) = table_with_rows(temp.path()).await;
    let changes = [
        ColumnChange::Add(extra_column(4)),
        ColumnChange::Rename { from: "extra 4".to_owned(), to: "extra".to_owned() },
        ColumnChange::Drop("extra".to_owned()),
    ];
    for change in changes {
        let mut appender = store.append("t").unwrap();
        let mut columns = rows(10..20).columns().to_vec();
        columns.resize(appender.def().columns.len(), columns[0].clone());
        let batch = RecordBatch::try_new(appender.def().arrow_schema(), columns).unwrap();
        appender.append(batch).await.unwrap();
        store.change_columns("t", change).await.unwrap();
        let error = appender.commit().await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    }
    assert_eq!(data_files(temp.path()), named_files(&store));
    assert_eq!(store.snapshot().table("t").unwrap().row_count(), 10);
}

#[tokio::test]
async fn a_column_may_be_not_null_where_there_are_no_rows() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    let column = ColumnDef { nullable: false, ..ColumnDef::new("extra", ColumnType::BigInt) };
    let version = store.change_columns("t", ColumnChange::Add(column)).await.unwrap();
    assert_eq!(version.distinct_count(ColumnId(4)), Some(0.0));
    insert(&store, "t", 0..3).await.unwrap();
    drop(store);
    let store = open(temp.path()).unwrap();
    assert!(store.check(|_| {}).await.is_sound());
}
