//! EXPLAIN, as people read it.

use crate::fixture::Fixture;

/// The physical plan of `sql`, its lines trimmed on the left as far as the first one is.
async fn check(fixture: &Fixture, sql: &str, expected: &[&str]) {
    let found = fixture.plan_text(sql).await;
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(found, expected, "{sql}");
}

#[tokio::test]
async fn a_scan_shows_its_columns_predicates_and_chunks() {
    let fixture = Fixture::new().await;
    check(
        &fixture,
        "SELECT txt FROM t WHERE day >= DATE '1994-10-20' AND i32 IN (2, 1)",
        &["BraidScanExec: table=t, projection=[txt], predicates=[day >= 1994-10-20, i32 IN (1, 2)], chunks=3 of 5"],
    )
    .await;
    check(
        &fixture,
        "SELECT id FROM t WHERE n12 > 0.5 AND n12 <= 3.333 AND bool AND txt LIKE 'ab%' AND i16 IS NOT NULL \
         AND tz <> TIMESTAMPTZ '1994-01-05 14:00:00+02:00' AND i64 NOT IN (1,2,3,4,5,6,7,8,9,10)",
        &["BraidScanExec: table=t, projection=[id], predicates=[n12 > 0.50 AND n12 <= 3.33, bool = true, \
           i16 IS NOT NULL, tz <> '1994-01-05T12:00:00Z', i64 NOT IN (1, 2, 3, 4, 5, 6, 7, 8, … 2 more), \
           txt >= 'ab' AND txt < 'ac'], chunks=5 of 5"],
    )
    .await;
}

#[tokio::test]
async fn limits_reach_the_scan_unless_a_filter_is_in_between() {
    let fixture = Fixture::new().await;
    check(
        &fixture,
        "SELECT id FROM t WHERE i32 > 3 LIMIT 7",
        &[
            "CoalescePartitionsExec: fetch=7",
            "  BraidScanExec: table=t, projection=[id], predicates=[i32 > 3], limit=7, chunks=5 of 5",
        ],
    )
    .await;
    check(
        &fixture,
        "SELECT id FROM t WHERE i32 > i16 LIMIT 5",
        &[
            "CoalescePartitionsExec: fetch=5",
            "  FilterExec: i32@2 > CAST(i16@1 AS Int32), projection=[id@0], fetch=5",
            "    BraidScanExec: table=t, projection=[id, i16, i32], chunks=5 of 5",
        ],
    )
    .await;
}

#[tokio::test]
async fn counting_needs_no_column_and_a_refuted_scan_no_chunk() {
    let fixture = Fixture::new().await;
    check(
        &fixture,
        "SELECT count(*) FROM t WHERE i32 > 3",
        &[
            "ProjectionExec: expr=[count(Int64(1))@0 as count(*)]",
            "  AggregateExec: mode=Final, gby=[], aggr=[count(Int64(1))]",
            "    CoalescePartitionsExec",
            "      AggregateExec: mode=Partial, gby=[], aggr=[count(Int64(1))]",
            "        BraidScanExec: table=t, projection=[], predicates=[i32 > 3], chunks=5 of 5",
        ],
    )
    .await;
    check(
        &fixture,
        "SELECT txt FROM t WHERE id > 100000",
        &["BraidScanExec: table=t, projection=[txt], predicates=[id > 100000], chunks=0 of 5"],
    )
    .await;
}

#[tokio::test]
async fn a_join_builds_on_the_side_that_the_predicates_leave_small() {
    let fixture = Fixture::new().await;
    check(
        &fixture,
        "SELECT a.n12, b.txt FROM t a JOIN t b ON a.id = b.i64 WHERE b.day = DATE '1994-08-28' AND b.i32 = 3",
        &[
            "HashJoinExec: mode=CollectLeft, join_type=Inner, on=[(i64@0, id@0)], projection=[n12@3, txt@1]",
            "  BraidScanExec: table=t, projection=[i64, txt], predicates=[day = 1994-08-28, i32 = 3], chunks=1 of 5",
            "  BraidScanExec: table=t, projection=[id, n12], dynamic_filters=[DynamicFilter [ empty ]], chunks=5 of 5",
        ],
    )
    .await;
}

#[tokio::test]
async fn numerics_beside_floats_are_floats() {
    let fixture = Fixture::new().await;
    check(
        &fixture,
        "SELECT id FROM t WHERE f64 BETWEEN 0.3 AND 1e20 AND f32 IN (0.5, 1)",
        &["BraidScanExec: table=t, projection=[id], predicates=[f64 >= 0.3 AND f64 <= 1e20, f32 IN (0.5, 1.0)], \
           chunks=5 of 5"],
    )
    .await;
    check(
        &fixture,
        "SELECT id FROM t WHERE n12 > f64",
        &[
            "FilterExec: CAST(n12@2 AS Float64) > f64@1, projection=[id@0]",
            "  BraidScanExec: table=t, projection=[id, f64, n12], chunks=5 of 5",
        ],
    )
    .await;
}
