//! Columns of `numeric` without a precision: random appends of values of one scale, of several, of too many digits and of
//! none, against the rows in memory. What is known of a version's values is exactly what its rows say.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{AsArray, BinaryViewArray, RecordBatch};
use braid_base::{ColumnId, Random, SeededRandom};
use braid_io::Device;
use braid_storage::{
    ColumnDef, ColumnType, CommonScale, NUMERIC_OID, NUMERIC_TAG, NewTable, PhysicalType, Segment, Selection, Store,
    TableVersion,
};
use braid_testing::cases;

use crate::test_table::{open, read_segment, test_device};

const NUMERIC: ColumnType = ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 };

/// A value as bytes of the front end, or null.
type Value = Option<Vec<u8>>;

fn numeric(scale: u16, integer: i128) -> Value {
    Some([&[NUMERIC_TAG][..], &scale.to_le_bytes(), &integer.to_le_bytes()].concat())
}

/// NaN, as a text: it is no integer.
fn nan() -> Value {
    Some(b"\x07\x03\0\0\0NaN".to_vec())
}

/// What the values of an append are.
#[derive(Clone, Copy)]
enum Kind {
    Nulls,
    OneScale { scale: u16, digits: u32 },
    ManyScales,
    WithNan,
    TooWide,
}

fn value(kind: Kind, random: &mut SeededRandom) -> Value {
    let below = |digits: u32, random: &mut SeededRandom| {
        let wide = i128::from(random.next_u64()) << 64 | i128::from(random.next_u64());
        wide % 10_i128.pow(digits)
    };
    if random.chance(1, 10) {
        return None;
    }
    match kind {
        Kind::Nulls => None,
        Kind::OneScale { scale, digits } => numeric(scale, below(digits, random)),
        Kind::ManyScales => numeric(random.below(4) as u16, below(5, random)),
        Kind::WithNan if random.chance(1, 20) => nan(),
        Kind::WithNan => numeric(2, below(5, random)),
        Kind::TooWide => numeric(2, 10_i128.pow(38) + below(30, random)),
    }
}

/// What the rows say: the scale and the digits, in steps, if all values have one scale and at most 38 digits.
fn expected(rows: &[Value]) -> Option<CommonScale> {
    let mut parts = Vec::new();
    for bytes in rows.iter().flatten() {
        let numeric: &[u8; 19] = bytes.as_slice().try_into().ok()?;
        let integer = i128::from_le_bytes(numeric[3..].try_into().unwrap()).unsigned_abs();
        parts.push((u16::from_le_bytes([numeric[1], numeric[2]]), integer));
    }
    let (scale, _) = *parts.first()?;
    let most = parts.iter().map(|(_, integer)| *integer).max()?;
    let digits = [9, 18, 38].into_iter().find(|digits| most < 10_u128.pow(u32::from(*digits)))?;
    parts.iter().all(|(other, _)| *other == scale).then_some(CommonScale { digits, scale: scale as u8 })
}

/// All rows of a version, from the disk.
async fn read(device: &dyn Device, version: &TableVersion) -> Vec<Value> {
    let mut rows = Vec::new();
    for chunk in version.chunks.iter() {
        let meta = &chunk.segments[0];
        let bytes = read_segment(device, chunk, meta).await;
        let segment = Segment::open(bytes, meta.stored_type(NUMERIC)).unwrap();
        if version.common_scales()[0].is_some() {
            assert_eq!(segment.column_type().physical(), PhysicalType::Int128);
        }
        let vectors = 0..segment.vector_count();
        let all: Vec<Selection> = vectors.clone().map(|v| Selection::all(segment.vector_rows(v))).collect();
        let array = segment.gather_declared(vectors, &all, NUMERIC);
        rows.extend(array.as_binary_view().iter().map(|bytes| bytes.map(<[u8]>::to_vec)));
    }
    rows
}

async fn append(store: &Store, values: &[Value]) -> Arc<TableVersion> {
    let array: BinaryViewArray = values.iter().map(Option::as_deref).collect();
    let batch = RecordBatch::try_from_iter([("n", Arc::new(array) as _)]).unwrap();
    let mut appender = store.append("t").unwrap();
    appender.append(batch).await.unwrap();
    appender.commit().await.unwrap().0
}

async fn with_table(dir: &Path) -> Arc<Store> {
    let store = open(dir).unwrap();
    let column = ColumnDef::new("n", NUMERIC);
    store
        .create_table(NewTable { name: "t".to_owned(), columns: vec![column], primary_key: Vec::new() })
        .await
        .unwrap();
    store
}

async fn verify(store: &Store, dir: &Path, rows: &[Value]) {
    let snapshot = store.snapshot();
    let version = snapshot.table("t").unwrap();
    assert_eq!(read(test_device(dir).as_ref(), version).await, rows);
    assert_eq!(version.common_scales()[0], expected(rows));
    let report = store.check(|_| {}).await;
    assert!(report.is_sound(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_appends_of_numerics_agree_with_the_rows() {
    for case in cases!(0..30) {
        let random = &mut case.random();
        let temp = tempfile::tempdir().unwrap();
        let mut store = with_table(temp.path()).await;
        let mut rows = Vec::new();
        let usual =
            Kind::OneScale { scale: random.below(39) as u16, digits: [3, 9, 17, 18, 19, 38][random.below(6) as usize] };
        // In half of the cases nothing but the usual values and nulls comes.
        let is_mixed = random.chance(1, 2);
        for step in 0..12 {
            let unusual = [Kind::ManyScales, Kind::WithNan, Kind::TooWide, Kind::OneScale { scale: 1, digits: 4 }];
            let kind = match random.below(8) {
                0 | 1 => Kind::Nulls,
                2 if is_mixed => unusual[random.below(4) as usize],
                _ => usual,
            };
            let count_max = [4, 100, 5_000][random.below(3) as usize];
            let count = 1 + random.below(count_max);
            let values: Vec<Value> = (0..count).map(|_| value(kind, random)).collect();
            append(&store, &values).await;
            rows.extend(values);
            verify(&store, temp.path(), &rows).await;
            if step % 5 == 4 {
                drop(store);
                store = open(temp.path()).unwrap();
                verify(&store, temp.path(), &rows).await;
            }
        }
    }
}

#[tokio::test]
async fn a_version_keeps_what_its_values_have_in_common_when_the_next_has_it_no_more() {
    let temp = tempfile::tempdir().unwrap();
    let store = with_table(temp.path()).await;
    let cents: Vec<Value> = (0..100).map(|integer| numeric(2, integer)).collect();
    let first = append(&store, &cents).await;
    let common = Some(CommonScale { digits: 9, scale: 2 });
    assert_eq!(first.common_scales()[0], common);
    assert_eq!(first.value_type(ColumnId(0)), ColumnType::Numeric { precision: 9, scale: 2 });
    assert_eq!(first.physical(ColumnId(0)), PhysicalType::Int128);
    let second = append(&store, &[numeric(3, 1)]).await;
    assert_eq!(second.common_scales()[0], None);
    assert_eq!((second.value_type(ColumnId(0)), second.physical(ColumnId(0))), (NUMERIC, PhysicalType::Bytes));
    assert_eq!(first.common_scales()[0], common);
    assert!(second.chunks[0].segments[0].scale.is_some(), "a chunk of one scale stays one of integers");
}
