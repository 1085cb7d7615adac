//! The identities of rows as a column: through filters, joins, groups and sorts, and as what a deletion is made of.

use std::collections::BTreeSet;

use braid_base::ColumnId;
use braid_scan::ScanSpec;
use braid_storage::{DeletedRows, RowDeletes, RowId, TableVersion};

use super::filters_in_scans::{Conditions, rows_of};
use super::stored_tables::{StoredTable, TYPES, delete_at};
use super::*;
use crate::scan::table_source::TableSource;

/// The place of the identities in [`scan`].
const ID: usize = TYPES.len();

/// A scan of all columns with the identities behind them.
fn scan(table: &StoredTable) -> Plan {
    let source = table.source((0..TYPES.len() as u16).map(ColumnId).collect()).with_row_ids();
    Plan::Source { source: Arc::new(source), column_count: TYPES.len() + 1 }
}

/// The identities of the rows of a version that are not deleted, ascending.
fn live_ids(version: &TableVersion) -> Vec<i64> {
    let of_chunk = |chunk: &Arc<braid_storage::ChunkMeta>| {
        let (id, deleted) = (chunk.id, chunk.deleted.clone());
        let is_live = move |row: &u32| deleted.as_ref().is_none_or(|deleted| !deleted.contains(*row));
        (0..chunk.row_count).filter(is_live).map(move |row| RowId { chunk: id, row }.to_number())
    };
    version.chunks.iter().flat_map(of_chunk).collect()
}

fn id_of(value: &Value) -> i64 {
    match value {
        Some(Scalar::Int(id)) => *id,
        other => panic!("{other:?} is no identity"),
    }
}

/// The values of a column of a plan's rows, ascending.
async fn ids(plan: &Plan, column: usize, worker_count: usize) -> Vec<i64> {
    let rows = run(plan, worker_count, &FixedBudget::new(PLENTY)).await.unwrap();
    let mut ids: Vec<i64> = rows.iter().map(|row| id_of(&row[column])).collect();
    ids.sort_unstable();
    ids
}

fn is_true(random: &mut SeededRandom) -> Expression {
    let mut conditions = Conditions { random, values: Vec::new() };
    let condition = conditions.condition(2);
    let values = conditions.values;
    let plan = Plan::Filter { input: Plan::Union(Vec::new()).into(), condition };
    match plan.bind(&values) {
        Plan::Filter { condition, .. } => condition,
        other => panic!("{other:?} is no filter"),
    }
}

fn filtered(input: Plan, condition: &Expression) -> Plan {
    Plan::Filter { input: input.into(), condition: condition.clone() }
}

#[tokio::test]
async fn identities_are_those_of_the_rows_in_their_chunks() {
    for case in cases!(0..12) {
        let table = StoredTable::random(&mut case.random()).await;
        let columns: Vec<ColumnId> = (0..TYPES.len() as u16).map(ColumnId).collect();
        let in_order = ScanSpec { in_order: true, ..ScanSpec::new(columns) };
        let source = || TableSource::new(table.version(), table.buffer.clone(), in_order.clone(), String::new());
        let plan = |source, column_count| Plan::Source { source: Arc::new(source), column_count };
        let all = |plan: Plan| async move { run(&plan, 1, &FixedBudget::new(PLENTY)).await.unwrap() };
        let with_ids = all(plan(source().with_row_ids(), ID + 1)).await;
        let expected = live_ids(&table.version());
        assert!(with_ids.iter().map(|row| id_of(&row[ID])).eq(expected.iter().copied()));
        let without: Vec<&[Value]> = with_ids.iter().map(|row| &row[..ID]).collect();
        assert_eq!(format!("{:?}", all(plan(source(), ID)).await), format!("{without:?}"));
        assert_eq!(ids(&scan(&table), ID, 3).await, expected);
    }
}

#[tokio::test]
async fn identities_of_all_rows_are_found_without_reading_any() {
    let mut random = SeededRandom::new(3);
    let table = StoredTable::random(&mut random).await;
    let plan = Plan::Source { source: Arc::new(table.source(Vec::new()).with_row_ids()), column_count: 1 };
    let before = table.buffer.stats();
    assert_eq!(ids(&plan, 0, 2).await, live_ids(&table.version()));
    assert_eq!(format!("{:?}", table.buffer.stats()), format!("{before:?}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_keeps_the_identities_of_its_rows_in_a_scan_and_above_it() {
    let mut selective = 0;
    for case in cases!(0..12) {
        let mut random = case.random();
        let table = StoredTable::random(&mut random).await;
        for _ in 0..15 {
            let condition = is_true(&mut random);
            let plan = filtered(scan(&table), &condition);
            let found = ids(&plan, ID, 2).await;
            assert_eq!(ids(&plan.clone().with_filters_in_scans(), ID, 2).await, found, "{condition:?}");
            // A condition on the identities themselves stays above the scan.
            let middle = found.get(found.len() / 2).copied().unwrap_or_default();
            let above = Expression::Compare {
                comparison: crate::expression::Comparison::GreaterOrEqual,
                left: Expression::Column(ID).into(),
                right: Expression::Constant(Some(Scalar::Int(middle))).into(),
            };
            let upper = filtered(plan, &above).with_filters_in_scans();
            assert!(ids(&upper, ID, 2).await.into_iter().eq(found.iter().copied().filter(|id| *id >= middle)));
            selective += usize::from(!found.is_empty() && found.len() < table.version().row_count() as usize);
        }
    }
    assert!(selective > 30, "{selective} conditions selected some rows");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_by_identity_find_each_row_once() {
    for case in cases!(0..40) {
        let mut random = case.random();
        let table = StoredTable::random(&mut random).await;
        let condition = is_true(&mut random);
        let some = filtered(scan(&table), &condition);
        let expected = ids(&some, ID, 1).await;
        for kind in [JoinKind::Inner, JoinKind::ProbeSemi, JoinKind::BuildSemi] {
            let (build_keys, probe_keys, residual) = (vec![ID], vec![ID], None);
            let null_keys = NullKeys::EqualNothing;
            let by_id = JoinCondition { kind, build_keys, probe_keys, residual, null_keys };
            for plan in [
                Plan::join(some.clone(), scan(&table), by_id.clone()),
                Plan::join(scan(&table), some.clone(), by_id.clone()),
            ] {
                assert_eq!(ids(&plan, ID, 2).await, expected, "{kind:?}");
                assert_eq!(ids(&plan.with_filters_in_scans(), ID, 2).await, expected, "{kind:?}");
            }
        }
    }
}

/// DELETE: the rows that satisfy a condition are found by their identities, deleted, and gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_condition_finds_can_be_deleted_by_identity() {
    for case in cases!(0..30) {
        let mut random = case.random();
        let table = StoredTable::random(&mut random).await;
        for _ in 0..4 {
            let (version, condition) = (table.version(), is_true(&mut random));
            let found = ids(&filtered(scan(&table), &condition).with_filters_in_scans(), ID, 2).await;
            let left: BTreeSet<i64> = live_ids(&version).into_iter().filter(|id| !found.contains(id)).collect();
            let before = run(&scan(&table), 2, &FixedBudget::new(PLENTY)).await.unwrap();
            let mut expected: Vec<Row> = before.into_iter().filter(|row| left.contains(&id_of(&row[ID]))).collect();
            expected.sort_by(|a, b| compare_rows(a, b));
            let mut deletes = RowDeletes::new();
            for RowId { chunk, row } in found.into_iter().map(|id| RowId::of_number(id).unwrap()) {
                let row_count = || version.chunks.iter().find(|known| known.id == chunk).unwrap().row_count;
                deletes.entry(chunk).or_insert_with(|| DeletedRows::none(row_count())).insert(row);
            }
            table.store.delete_rows("t", &deletes).await.unwrap();
            let expected: Vec<String> = expected.iter().map(|row| format!("{row:?}")).collect();
            assert_eq!(rows_of(&scan(&table)).await, expected, "{condition:?}");
            assert!(rows_of(&filtered(scan(&table), &condition)).await.is_empty());
        }
        delete_at(&table.store, "t", |_| true).await;
        assert!(rows_of(&scan(&table)).await.is_empty());
    }
}
