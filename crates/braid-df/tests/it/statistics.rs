//! What the catalog tells the planner.

use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::common::stats::Precision;

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
