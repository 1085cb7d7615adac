//! Plans whose scans read other versions of their tables than those that they were made with.

use arrow::array::{BinaryViewArray, RecordBatch};
use braid_base::ColumnId;
use braid_scan::ScanSpec;
use braid_storage::{ColumnDef, ColumnType, NUMERIC_OID, NUMERIC_TAG, NewTable, TableVersion};

use super::stored_tables::{StoredTable, TYPES};
use super::*;
use crate::plan::{AggregateCall, AggregateFunction};
use crate::scan::table_source::TableSource;

fn row_count(input: Plan) -> Plan {
    let call = AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
    let spec = AggregationSpec { keys: Vec::new(), aggregates: vec![call] };
    Plan::Aggregate { input: input.into(), spec: spec.into() }
}

/// The rows of a table with their number, from a scalar subquery, and a constant from another source.
fn numbered(table: &Plan) -> Plan {
    let one = ResultRows::new(1, vec![Vector::integers(vec![7])]);
    let one = Plan::Source { source: Arc::new(ResultSource::new(vec![Arc::new(one)])), column_count: 1 };
    let expressions = vec![Expression::SubqueryValue(0), Expression::SubqueryValue(1)];
    let input = Plan::Project { input: table.clone().into(), expressions };
    Plan::WithScalars { subqueries: vec![row_count(table.clone()), one], input: input.into() }
}

#[tokio::test]
async fn a_plan_reads_the_versions_that_it_is_given() {
    let mut random = SeededRandom::new(1);
    let table = StoredTable::new().await;
    table.insert(30, &mut random).await;
    let plan = numbered(&table.plan());
    let old = table.version();
    assert_eq!(plan.tables().into_iter().collect::<Vec<_>>(), [old.def.id]);
    table.insert(10, &mut random).await;
    let new = table.version();
    for (version, count) in [(&old, 30), (&new, 40), (&old, 30)] {
        let plan = plan.at_versions(|id| (id == version.def.id).then(|| version.clone())).unwrap();
        let rows = run(&plan, 2, &FixedBudget::new(PLENTY)).await.unwrap();
        let int = |value: i64| Some(Scalar::Int(value));
        assert_eq!(rows, vec![vec![int(count), int(7)]; count as usize]);
    }
    assert!(plan.at_versions(|_| None).is_none(), "the table is gone");
    let mut other = (*new).clone();
    let mut def = (*other.def).clone();
    def.columns.pop();
    other.def = def.into();
    assert!(plan.at_versions(|_| Some(Arc::new(other.clone()))).is_none(), "a table without column {}", TYPES.len());
}

/// A table `n` of one column of numerics without a precision, beside the table `t`.
struct NumericTable(StoredTable);

impl NumericTable {
    async fn new() -> Self {
        let table = StoredTable::new().await;
        let column_type = ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 };
        let column = ColumnDef::new("n", column_type);
        let table_of_column = NewTable { name: "n".to_owned(), columns: vec![column], primary_key: Vec::new() };
        table.store.create_table(table_of_column).await.unwrap();
        Self(table)
    }

    /// The version with these further rows: integers of a scale.
    async fn insert(&self, scale: u16, integers: &[i128]) -> Arc<TableVersion> {
        let array: BinaryViewArray = integers.iter().map(|integer| Some(numeric(scale, *integer))).collect();
        let batch = RecordBatch::try_from_iter([("n", Arc::new(array) as _)]).unwrap();
        let mut appender = self.0.store.append("n").unwrap();
        appender.append(batch).await.unwrap();
        appender.commit().await.unwrap().0
    }

    fn plan(&self, version: &Arc<TableVersion>) -> Plan {
        let spec = ScanSpec::new(vec![ColumnId(0)]);
        let source = TableSource::new(version.clone(), self.0.buffer.clone(), spec, "table=n".to_owned());
        Plan::Source { source: Arc::new(source), column_count: 1 }
    }
}

/// A numeric as bytes.
fn numeric(scale: u16, integer: i128) -> Vec<u8> {
    [&[NUMERIC_TAG][..], &scale.to_le_bytes(), &integer.to_le_bytes()].concat()
}

#[tokio::test]
async fn a_plan_for_integers_reads_no_version_whose_numerics_have_other_scales_or_more_digits() {
    let table = NumericTable::new().await;
    let cents: Vec<i128> = (0..100).collect();
    let versions = [
        table.insert(2, &cents).await,
        table.insert(2, &[-1, -2]).await,
        table.insert(2, &[1 << 70]).await,
        table.insert(3, &[5]).await,
    ];
    let may_read =
        |plan: &Plan| versions.each_ref().map(|version| plan.at_versions(|_| Some(version.clone())).is_some());
    for (version, expected) in [
        (0, [true, true, false, false]),
        (1, [true, true, false, false]),
        (2, [false, false, true, false]),
        (3, [false, false, false, true]),
    ] {
        assert_eq!(may_read(&table.plan(&versions[version])), expected, "a plan for version {version}");
    }
}

#[tokio::test]
async fn numerics_are_integers_or_bytes_in_all_chunks_of_a_version() {
    let table = NumericTable::new().await;
    let cents: Vec<i128> = (0..100).collect();
    let first = table.insert(2, &cents).await;
    let wide = table.insert(2, &[1 << 70]).await;
    let mixed = table.insert(3, &[5]).await;
    // The fourth of the chunks in memory of one row merges all four of them.
    table.insert(2, &[6]).await;
    let merged = table.insert(2, &[7]).await;
    let scales =
        |version: &TableVersion| version.chunks.iter().map(|chunk| chunk.segments[0].scale).collect::<Vec<_>>();
    assert_eq!(scales(&mixed), [Some(2), Some(2), Some(3)]);
    assert_eq!(scales(&merged), [Some(2), None]);
    let rows = |version: &Arc<TableVersion>| {
        let plan = table.plan(version);
        async move { run(&plan, 1, &FixedBudget::new(PLENTY)).await.unwrap() }
    };
    let mut integers: Vec<Vec<Option<Scalar>>> = (0..100).map(|cent| vec![Some(Scalar::Int(cent))]).collect();
    assert_eq!(rows(&first).await, integers);
    integers.push(vec![Some(Scalar::Int128(1 << 70))]);
    assert_eq!(rows(&wide).await, integers);
    let bytes = |scale, integer| vec![Some(Scalar::Bytes(numeric(scale, integer)))];
    let mut expected: Vec<Vec<Option<Scalar>>> = cents.iter().map(|cent| bytes(2, *cent)).collect();
    expected.extend([bytes(2, 1 << 70), bytes(3, 5)]);
    assert_eq!(rows(&mixed).await, expected);
    expected.extend([bytes(2, 6), bytes(2, 7)]);
    assert_eq!(rows(&merged).await, expected);
}
