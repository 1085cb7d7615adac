//! What the catalog tells the planner.

use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::common::stats::Precision;
use datafusion::physical_plan::displayable;

use braid_df::BraidTable;

use crate::fixture::Fixture;

#[tokio::test]
async fn counts_and_bounds_come_from_the_catalog() {
    let fixture = Fixture::new().await;
    let table = BraidTable::new(fixture.version.clone(), fixture.buffer.clone());
    let statistics = table.statistics().unwrap();
    assert_eq!(statistics.num_rows, Precision::Exact(6800));
    let id = &statistics.column_statistics[0];
    assert_eq!(id.min_value, Precision::Exact(ScalarValue::Int64(Some(0))));
    assert_eq!(id.max_value, Precision::Exact(ScalarValue::Int64(Some(6799))));
    assert_eq!((id.null_count, id.distinct_count), (Precision::Exact(0), Precision::Inexact(6800)));
    assert_eq!(id.byte_size, Precision::Inexact(6800 * 8));
    // Aggregates that these answer read nothing.
    fixture.check("SELECT count(*), min(id), max(day), count(i32), min(n12), max(txt) FROM t").await;
    let plan = fixture.plan_text("SELECT count(*), min(id), max(day), count(i32) FROM t").await;
    assert!(plan.contains("PlaceholderRowExec"), "{plan}");
}

#[tokio::test]
async fn selective_scans_are_estimated_small() {
    let fixture = Fixture::new().await;
    for (filter, at_least, at_most) in [
        ("id = 5", 1, 10),
        ("id < 680", 600, 760),
        ("id BETWEEN 1000 AND 1999", 900, 1100),
        ("day >= DATE '1994-10-20'", 900, 1100),
        ("i32 = 7", 100, 250),
        ("i32 IS NULL", 900, 1300),
        ("i32 = 7 AND i16 = 7", 1, 20),
        ("id > 100000", 0, 0),
    ] {
        let plan = fixture.plan(&format!("SELECT id, txt FROM t WHERE {filter}")).await;
        let context = datafusion::physical_plan::statistics::StatisticsContext::new();
        let statistics = context.compute(plan.as_ref(), &Default::default()).unwrap();
        let rows = *statistics.num_rows.get_value().unwrap();
        assert!((at_least..=at_most).contains(&rows), "{filter}: {rows}");
    }
}

#[tokio::test]
async fn distinct_counts_come_from_sketches() {
    let fixture = Fixture::new().await;
    let table = BraidTable::new(fixture.version.clone(), fixture.buffer.clone());
    let statistics = table.statistics().unwrap();
    for (name, expected) in [("bool", 2), ("i32", 40), ("f64", 40), ("n12", 40), ("n30", 40), ("txt", 10), ("day", 68)]
    {
        let (column, _) = fixture.version.def.column(name).unwrap();
        let counted = statistics.column_statistics[usize::from(column.0)].distinct_count;
        let Precision::Inexact(counted) = counted else { panic!("{name}: {counted:?}") };
        // Four standard errors.
        assert!(counted.abs_diff(expected) * 100 <= 13 * expected, "{name}: {counted}, not {expected}");
    }
}

#[tokio::test]
async fn distinct_counts_shrink_with_the_rows_that_filters_leave() {
    let fixture = Fixture::new().await;
    for (filter, column, at_least, at_most) in [
        // Half of the column's own values; all values of another.
        ("day < DATE '1994-09-27'", "day", 32, 36),
        ("day < DATE '1994-09-27'", "i32", 36, 44),
        // 20 rows know less than half of 40 values.
        ("id < 20", "i32", 8, 20),
        ("id < 20", "id", 20, 20),
        ("txt = 'ab'", "txt", 1, 1),
        ("i32 IN (1, 2, 3)", "i32", 3, 3),
    ] {
        let plan = fixture.plan(&format!("SELECT {column} FROM t WHERE {filter}")).await;
        let context = datafusion::physical_plan::statistics::StatisticsContext::new();
        let statistics = context.compute(plan.as_ref(), &Default::default()).unwrap();
        let distinct = *statistics.column_statistics[0].distinct_count.get_value().unwrap();
        assert!((at_least..=at_most).contains(&distinct), "{column} where {filter}: {distinct}");
    }
}

/// How deep the only scan with this projection lies in the plan that Braid's operators have for `sql`.
async fn scan_depth(fixture: &Fixture, sql: &str, projection: &str) -> usize {
    let plan = fixture.operators.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    let text = displayable(plan.as_ref()).indent(false).to_string();
    let scans: Vec<&str> = text.lines().filter(|line| line.contains(&format!("projection=[{projection}]"))).collect();
    let [scan] = scans[..] else { panic!("{projection}: {text}") };
    scan.len() - scan.trim_start().len()
}

/// Columns of few values where bounds suggest many (multiples of a quarter) or say nothing (strings, booleans): a join
/// on them makes more rows than one on a column of 40 adjacent integers.
#[tokio::test]
async fn joins_on_few_values_are_not_taken_for_joins_on_many() {
    let fixture = Fixture::new().await;
    for few in ["bool", "txt"] {
        let sql = format!("SELECT count(*) FROM t a, t b, t c WHERE a.{few} = b.{few} AND b.i32 = c.i32");
        let (last, first) = (scan_depth(&fixture, &sql, few).await, scan_depth(&fixture, &sql, "i32").await);
        assert!(last < first, "{few}: the join on i32 goes first");
    }
    // 40 values, a thousand by their bounds; 68 days.
    let sql = "SELECT count(*) FROM t a, t b, t c WHERE a.n12 = b.n12 AND b.day = c.day";
    assert!(scan_depth(&fixture, sql, "n12").await < scan_depth(&fixture, sql, "day").await);
}
