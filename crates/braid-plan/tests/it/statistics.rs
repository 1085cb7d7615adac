//! Statistics of scans, compared with the rows of a stored table.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray};
use braid_base::{ColumnId, Random, SeededRandom};
use braid_io::{Backend, DeviceOptions, open_device};
use braid_plan::optimization::Estimate;
use braid_plan::statistics::{Bounds, ColumnStatistics, ConditionOn, Count, ScanStatistics};
use braid_scan::ScanSpec;
use braid_storage::{
    ColumnDef, ColumnPredicate, ColumnType, DeletedRows, NewTable, RowDeletes, Scalar, Store, StoreOptions,
    TableVersion,
};

/// Rows of each append; each fewer than half of the one before, so that each stays a chunk.
const APPENDS: [usize; 4] = [4000, 1700, 700, 300];

const KEY: ColumnId = ColumnId(0);
const FEW: ColumnId = ColumnId(1);
const TEXT: ColumnId = ColumnId(2);
const FLOAT: ColumnId = ColumnId(3);
const ALL: [ColumnId; 4] = [KEY, FEW, TEXT, FLOAT];

/// A table of a key in load order, an integer with nulls, a text and a float.
struct StoredTable {
    few: Vec<Option<i32>>,
    version: Arc<TableVersion>,
    store: Arc<Store>,
    _directory: tempfile::TempDir,
}

impl StoredTable {
    async fn new(seed: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 8, threads: 2 };
        let device = open_device(directory.path(), &options).unwrap();
        let store = Store::open(directory.path(), StoreOptions { device, encode_threads: 1 }).unwrap();
        let column = |name: &str, column_type, nullable| {
            let name = name.to_owned();
            ColumnDef { nullable, ..ColumnDef::new(name, column_type) }
        };
        let columns = vec![
            column("key", ColumnType::BigInt, false),
            column("few", ColumnType::Integer, true),
            column("text", ColumnType::Text, false),
            column("float", ColumnType::Double, false),
        ];
        store.create_table(NewTable { name: "t".to_owned(), columns, primary_key: vec![KEY] }).await.unwrap();
        let mut random = SeededRandom::new(seed);
        let mut few: Vec<Option<i32>> = Vec::new();
        for row_count in APPENDS {
            let first = few.len();
            let mut value = || (!random.chance(1, 6)).then(|| random.below(40) as i32 - 10);
            few.extend((0..row_count).map(|_| value()));
            let rows = first..first + row_count;
            let arrays: Vec<ArrayRef> = vec![
                Arc::new(rows.clone().map(|row| row as i64).collect::<Int64Array>()),
                Arc::new(Int32Array::from(few[first..].to_vec())),
                Arc::new(rows.clone().map(|row| Some(format!("text {}", row % 10))).collect::<StringViewArray>()),
                Arc::new(rows.map(|row| row as f64 * 0.5).collect::<Float64Array>()),
            ];
            let schema = store.snapshot().table("t").unwrap().def.arrow_schema();
            let mut appender = store.append("t").unwrap();
            appender.append(RecordBatch::try_new(schema, arrays).unwrap()).await.unwrap();
            appender.commit().await.unwrap();
        }
        let version = store.snapshot().table("t").unwrap().clone();
        assert_eq!(version.chunks.len(), APPENDS.len());
        Self { few, version, store, _directory: directory }
    }

    fn of_chunks(&self, chunks: &[usize], predicates: &[ConditionOn]) -> ScanStatistics {
        ScanStatistics::of(&self.version, &ALL, chunks, predicates)
    }

    fn of(&self, predicates: &[ConditionOn]) -> ScanStatistics {
        self.of_chunks(&[0, 1, 2, 3], predicates)
    }
}

fn below(value: i64) -> ColumnPredicate {
    ColumnPredicate::Range { low: Bound::Unbounded, high: Bound::Excluded(Scalar::Int(value)) }
}

/// Four standard errors of a sketch.
fn is_near(found: u64, expected: usize) -> bool {
    found.abs_diff(expected as u64) * 100 <= 13 * expected as u64
}

#[tokio::test]
async fn counts_and_bounds_without_predicates_are_exact() {
    let table = StoredTable::new(1).await;
    for chunks in [&[0, 1, 2, 3][..], &[1], &[0, 2]] {
        let first_row = |chunk: usize| APPENDS[..chunk].iter().sum::<usize>();
        let rows: Vec<usize> =
            chunks.iter().flat_map(|chunk| first_row(*chunk)..first_row(*chunk) + APPENDS[*chunk]).collect();
        let few: Vec<i32> = rows.iter().filter_map(|row| table.few[*row]).collect();
        let statistics = table.of_chunks(chunks, &[]);
        assert_eq!(statistics.row_count, Count::Exact(rows.len() as u64));
        let [key, of_few, text, float] = &statistics.columns[..] else { panic!("{statistics:?}") };
        let (min, max) = (Scalar::Int(rows[0] as i64), Scalar::Int(rows[rows.len() - 1] as i64));
        assert_eq!(key.bounds, Some(Bounds { min, max, is_exact: true }));
        assert_eq!((key.null_count, key.distinct_count), (Count::Exact(0), Some(rows.len() as u64)));
        assert_eq!(key.integer_width(), Some((rows[rows.len() - 1] - rows[0] + 1) as f64));
        assert_eq!(of_few.null_count, Count::Exact((rows.len() - few.len()) as u64));
        let bound = |value: Option<&i32>| Scalar::Int(i64::from(*value.unwrap()));
        let (min, max) = (bound(few.iter().min()), bound(few.iter().max()));
        assert_eq!(of_few.bounds, Some(Bounds { min, max, is_exact: true }));
        let distinct: BTreeSet<i32> = few.iter().copied().collect();
        assert!(is_near(of_few.distinct_count.unwrap(), distinct.len()), "{of_few:?}");
        assert!(is_near(text.distinct_count.unwrap(), 10), "{text:?}");
        assert_eq!((text.integer_width(), float.integer_width()), (None, None));
        // The order of zone maps does not tell -0 from 0.
        assert!(!float.bounds.as_ref().unwrap().is_exact);
        let bytes: Vec<u64> = statistics.columns.iter().map(|column| column.decoded_bytes).collect();
        let row_count = rows.len() as u64;
        assert_eq!((bytes[0], bytes[1], bytes[3]), (8 * row_count, 4 * row_count, 8 * row_count));
        assert!(bytes[2] > 16 * row_count);
        assert_eq!(statistics.decoded_bytes, bytes.iter().sum::<u64>());
    }
}

#[tokio::test]
async fn predicates_leave_estimates() {
    let table = StoredTable::new(2).await;
    let equal = |value| ColumnPredicate::Range {
        low: Bound::Included(Scalar::Int(value)),
        high: Bound::Included(Scalar::Int(value)),
    };
    let few_is = |test: fn(&Option<i32>) -> bool| table.few.iter().filter(|value| test(value)).count();
    let (nulls, below_ten) = (few_is(Option::is_none), few_is(|value| value.is_some_and(|value| value < 10)));
    for (predicate, expected) in [
        ((KEY, below(680)), 680),
        ((FEW, equal(7)), few_is(|value| *value == Some(7))),
        ((FEW, below(10)), below_ten),
        ((FEW, ColumnPredicate::IsNotNull), 6700 - nulls),
        ((FEW, ColumnPredicate::IsNull), nulls),
    ] {
        let statistics = table.of(std::slice::from_ref(&predicate));
        let Count::Estimated(rows) = statistics.row_count else { panic!("{predicate:?}: {statistics:?}") };
        assert!(rows.abs_diff(expected as u64) * 5 <= expected as u64, "{predicate:?}: {rows}, not {expected}");
        let [key, few, ..] = &statistics.columns[..] else { panic!("{statistics:?}") };
        assert!(!key.bounds.as_ref().unwrap().is_exact, "{predicate:?}");
        assert!((8 * rows - 8..=8 * rows).contains(&key.decoded_bytes), "{predicate:?}: {key:?}");
        let is_null = predicate.1 == ColumnPredicate::IsNull;
        match (&predicate, is_null) {
            (_, true) => assert_eq!(few.null_count, statistics.row_count),
            ((FEW, _), false) => assert_eq!(few.null_count, Count::Exact(0), "{predicate:?}"),
            _ => assert!(few.null_count.value().abs_diff(rows / 6) < rows / 12, "{few:?}"),
        }
        assert_eq!(few.distinct_count.is_none(), is_null, "{predicate:?}");
    }
    // No chunk, so no row to estimate: it is known that there is none.
    assert_eq!(table.of_chunks(&[], &[(KEY, below(0))]).row_count, Count::Exact(0));
}

#[tokio::test]
async fn deleted_rows_are_not_counted_and_leave_no_exact_bounds_and_nulls() {
    let mut table = StoredTable::new(5).await;
    let chunk = &table.version.chunks[1];
    let deletes = RowDeletes::from([(chunk.id, DeletedRows::of(chunk.row_count, 0..850))]);
    table.version = table.store.delete_rows("t", &deletes).await.unwrap();
    let statistics = table.of(&[]);
    let [key, few, ..] = &statistics.columns[..] else { panic!("{statistics:?}") };
    assert_eq!(statistics.row_count, Count::Exact(6700 - 850));
    let (min, max) = (Scalar::Int(0), Scalar::Int(6699));
    assert_eq!(key.bounds, Some(Bounds { min, max, is_exact: false }));
    assert_eq!((key.null_count, key.distinct_count), (Count::Estimated(0), Some(6700 - 850)));
    let nulls = table.few.iter().enumerate().filter(|(row, few)| few.is_none() && !(4000..4850).contains(row)).count();
    let Count::Estimated(estimated) = few.null_count else { panic!("{few:?}") };
    assert!(estimated.abs_diff(nulls as u64) * 10 < nulls as u64, "{estimated}, not {nulls}");
    let others = table.of_chunks(&[0, 2, 3], &[]);
    assert_eq!(others.row_count, Count::Exact(5000));
    assert!(others.columns[0].bounds.as_ref().unwrap().is_exact);
    assert!(matches!(others.columns[1].null_count, Count::Exact(_)));
}

#[tokio::test]
async fn single_rows_of_chunks_have_statistics_of_single_rows() {
    let mut table = StoredTable::new(6).await;
    let all_but_one = |chunk: &Arc<braid_storage::ChunkMeta>| {
        (chunk.id, DeletedRows::of(chunk.row_count, (0..chunk.row_count).filter(|row| *row != 17)))
    };
    let deletes: RowDeletes = table.version.chunks.iter().map(all_but_one).collect();
    table.version = table.store.delete_rows("t", &deletes).await.unwrap();
    assert_eq!(table.of(&[]).row_count, Count::Exact(4));
    for predicates in [&[][..], &[(KEY, below(700))], &[(FEW, below(3))], &[(FEW, ColumnPredicate::IsNull)]] {
        let statistics = table.of(predicates);
        assert!(statistics.row_count.value() <= 4, "{statistics:?}");
        for column in &statistics.columns {
            assert!(column.null_count.value() <= 4 && column.distinct_count.is_none_or(|values| values <= 4));
        }
    }
}

#[tokio::test]
async fn distinct_values_shrink_with_the_rows_left() {
    let table = StoredTable::new(3).await;
    let distinct = |predicates: &[ConditionOn], column: ColumnId| {
        table.of(predicates).columns[usize::from(column.0)].distinct_count.unwrap()
    };
    // Half of the column's own values; all values of another.
    assert!((18..=22).contains(&distinct(&[(FEW, below(10))], FEW)));
    assert!((9..=11).contains(&distinct(&[(FEW, below(10))], TEXT)));
    // 20 rows know less than half of 40 values, and 20 keys.
    assert!((8..=20).contains(&distinct(&[(KEY, below(20))], FEW)));
    assert_eq!(distinct(&[(KEY, below(20))], KEY), 20);
}

#[tokio::test]
async fn an_estimate_of_a_scan_has_the_rows_and_values_of_its_statistics() {
    let table = StoredTable::new(4).await;
    let spec = ScanSpec { predicates: vec![(KEY, below(700))], ..ScanSpec::new(vec![FEW, TEXT, FLOAT]) };
    let Estimate { rows, distinct, explodes } = Estimate::of_scan(&table.version, &spec);
    assert!((690.0..=710.0).contains(&rows), "{rows}");
    assert!((35.0..=45.0).contains(&distinct[0]) && (9.0..=11.0).contains(&distinct[1]), "{distinct:?}");
    assert!(distinct.iter().all(|values| (1.0..=rows).contains(values)), "{distinct:?}");
    assert!(!explodes);
}

#[test]
fn widths_are_those_of_integers_and_of_steps_of_numerics() {
    let column = |column_type, min: Scalar, max: Scalar| {
        let bounds = Some(Bounds { min, max, is_exact: true });
        ColumnStatistics { column_type, null_count: Count::Exact(0), bounds, distinct_count: None, decoded_bytes: 0 }
    };
    let ints = |column_type| column(column_type, Scalar::Int(-3), Scalar::Int(6)).integer_width();
    let numeric = ColumnType::Numeric { precision: 30, scale: 4 };
    for column_type in [ColumnType::SmallInt, ColumnType::Integer, ColumnType::BigInt, ColumnType::Date, numeric] {
        assert_eq!(ints(column_type), Some(10.0), "{column_type:?}");
    }
    assert_eq!(ints(ColumnType::Timestamp), None);
    assert_eq!(
        column(numeric, Scalar::Int128(0), Scalar::Int128(1 << 70)).integer_width(),
        Some((1_i128 << 70) as f64)
    );
    assert_eq!(column(ColumnType::Boolean, Scalar::Bool(false), Scalar::Bool(true)).integer_width(), None);
    let unbounded = ColumnStatistics { bounds: None, ..column(ColumnType::Integer, Scalar::Int(0), Scalar::Int(1)) };
    assert_eq!(unbounded.integer_width(), None);
}
