//! Every type, comparison and kind of literal: the same rows as DataFusion evaluates, and pushed down where they should
//! be.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use braid_df::BraidTable;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;

use crate::fixture::{Fixture, rows};

/// Per column, literals of several types, some between, below or above all values.
const LITERALS: [(&str, &[&str]); 16] = [
    ("id", &["0", "3999", "4000.5", "-1", "99999999999999999999"]),
    ("bool", &["true", "false", "NULL"]),
    ("i16", &["5", "-3", "4.5", "100000", "-99999999999", "CAST(7 AS bigint)", "CAST(7.5 AS double)", "NULL"]),
    ("i32", &["5", "-3", "4.5", "5.0", "3000000000", "CAST(7 AS smallint)", "CAST(2.5 AS double)", "1e3", "NULL"]),
    ("i64", &["5", "-3", "4.25", "CAST(7 AS integer)", "9223372036854775807", "12345678901234567890", "NULL"]),
    ("f32", &["1.5", "0.3", "CAST(0.3 AS real)", "CAST(2 AS double)", "7", "CAST('Infinity' AS double)", "NULL"]),
    ("f64", &["1.5", "0.3", "CAST(0.3 AS real)", "CAST(0.7 AS double)", "-1", "CAST('-Infinity' AS double)", "NULL"]),
    ("n12", &["1.25", "1.2", "1.255", "2", "-2.5", "1e12", "CAST(1.5 AS double)", "99999999999999999999999", "NULL"]),
    ("n30", &["1.25", "1.20001", "3", "-2.5", "CAST(5 AS smallint)", "99999999999999999999999999999999", "NULL"]),
    ("txt", &["''", "'ab'", "'abc'", "'äöü'", "'zz'", "CAST('ab' AS varchar)", "NULL"]),
    ("chr", &["'a0001'", "'ab'", "'abd0024'", "''", "NULL"]),
    (
        "dat",
        &[
            "DATE '1994-01-05'",
            "'1993-12-25'",
            "TIMESTAMP '1994-01-05 00:00:00'",
            "TIMESTAMP '1994-01-05 11:00:00'",
            "NULL",
        ],
    ),
    (
        "ts",
        &[
            "TIMESTAMP '1994-01-05 12:00:00'",
            "DATE '1994-01-05'",
            "'1994-01-03'",
            "TIMESTAMP '1994-01-01 00:00:00.0000005'",
            "NULL",
        ],
    ),
    ("tz", &["TIMESTAMP '1994-01-05T12:00:00.000001Z'", "TIMESTAMPTZ '1994-01-05 14:00:00.000001+02:00'", "NULL"]),
    ("byt", &["X''", "X'0101'", "X'FFFF'", "NULL"]),
    ("day", &["DATE '1994-08-27'", "DATE '1994-09-01'", "TIMESTAMP '1994-09-01 12:00:00'", "DATE '2020-01-01'"]),
];

/// Checks each filter over Braid against all of them evaluated in memory, in one pass.
async fn check_filters(fixture: &Fixture, filters: &[String]) {
    let columns: Vec<String> = filters.iter().enumerate().map(|(at, filter)| format!("({filter}) AS f{at}")).collect();
    let sql = format!("SELECT id, {} FROM t", columns.join(", "));
    let batches = fixture.memory.sql(&sql).await.unwrap().collect().await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    for (at, filter) in filters.iter().enumerate() {
        let mut expected: Vec<i64> = Vec::new();
        for batch in &batches {
            let (ids, truths) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(at + 1).as_boolean());
            expected
                .extend(ids.values().iter().zip(truths).filter(|(_, truth)| *truth == Some(true)).map(|(id, _)| id));
        }
        let sql = format!("SELECT id FROM t WHERE {filter}");
        let batches = fixture.braid.sql(&sql).await.unwrap().collect().await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        let ids = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
        let mut found: Vec<i64> = ids.collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{filter}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comparisons_with_every_kind_of_literal() {
    let fixture = Fixture::new().await;
    for (column, literals) in LITERALS {
        let mut filters = Vec::new();
        for literal in literals {
            for operator in ["=", "<>", "<", "<=", ">", ">="] {
                filters.push(format!("{column} {operator} {literal}"));
            }
        }
        filters.push(format!("{column} IS DISTINCT FROM {}", literals[1]));
        filters.push(format!("{column} IS NOT DISTINCT FROM {}", literals[1]));
        filters.push(format!("{} < {column}", literals[0]));
        filters.push(format!("NOT ({column} <= {})", literals[1]));
        for pair in literals.chunks_exact(2) {
            let (a, b) = (pair[0], pair[1]);
            filters.extend([
                format!("{column} BETWEEN {a} AND {b}"),
                format!("{column} NOT BETWEEN {a} AND {b}"),
                format!("{column} > {a} AND {column} <= {b}"),
                format!("{column} = {a} OR {column} = {b}"),
                format!("NOT ({column} = {a} OR {column} = {b})"),
                format!("{column} <> {a} AND {column} <> {b} AND {column} IS NOT NULL"),
            ]);
        }
        check_filters(&fixture, &filters).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_nulls_booleans_and_patterns() {
    let fixture = Fixture::new().await;
    let filters = [
        "i32 IN (1, 2, 3)",
        "i32 NOT IN (1, 2, 3)",
        "i32 IN (1, NULL, 3)",
        "i32 NOT IN (1, NULL, 3)",
        "NOT (i32 NOT IN (1, 2))",
        "i16 IN (1, 100000, 3)",
        "n12 IN (0.25, 1.255, 2)",
        "txt IN ('a', 'ab', 'nope', '')",
        "txt NOT IN ('a', 'ab', 'nope', '')",
        "dat IN (DATE '1994-01-05', DATE '1994-01-09')",
        "i32 IN (0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)",
        "i32 IN (1, 2) OR i32 = 7",
        "i32 = 1 OR i16 = 2",
        "i32 IS NULL",
        "i32 IS NOT NULL",
        "NOT (i32 IS NULL)",
        "iv IS NULL",
        "iv = INTERVAL '3 days'",
        "uid IS NOT NULL",
        "day IS NULL",
        "bool",
        "NOT bool",
        "bool = true",
        "bool <> true",
        "bool IS TRUE",
        "bool IS NOT TRUE",
        "bool IS FALSE",
        "bool IS NOT FALSE",
        "bool IS UNKNOWN",
        "bool IS NOT UNKNOWN",
        "NOT (bool IS NOT TRUE)",
        "(i32 > 3) IS TRUE",
        "(i32 > 3) IS NOT TRUE",
        "(i32 > 3) IS FALSE",
        "NOT ((i32 > 3) IS NOT FALSE)",
        "txt LIKE 'ab%'",
        "txt NOT LIKE 'ab%'",
        "txt LIKE '%b'",
        "txt LIKE 'ab'",
        "txt LIKE '%'",
        "txt LIKE 'a%b'",
        "txt LIKE 'a\\%b'",
        "txt LIKE 'a_b'",
        "txt LIKE 'ä%'",
        "txt ILIKE 'AB%'",
        "starts_with(txt, 'ab')",
        "i32 > 1 AND n12 < 3.5 AND txt > 'a' AND dat >= DATE '1993-12-30'",
        "i32 BETWEEN 10 AND 5",
        "i32 > 5 AND i32 < 5",
        "i32 + 1 > 5",
        "i32 > i16",
        "CAST(i32 AS text) = '5'",
        "CAST(n12 AS integer) = 1",
        "i32 = 5 AND 1 = 0",
        "date_trunc('month', ts) = TIMESTAMP '1994-01-01'",
    ];
    check_filters(&fixture, &filters.map(str::to_owned)).await;
    // Filters whose columns are otherwise not needed, and counts.
    for filter in ["i32 IN (1, NULL, 3)", "txt LIKE '%b'", "bool", "day IS NULL"] {
        fixture.check(&format!("SELECT n12 FROM t WHERE {filter}")).await;
        fixture.check(&format!("SELECT count(*) FROM t AS other WHERE {filter}")).await;
    }
}

/// Whether DataFusion keeps a filter above the scan.
fn has_filter(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<FilterExec>() || plan.children().iter().any(|child| has_filter(child.as_ref()))
}

#[tokio::test]
async fn what_can_be_said_exactly_is_pushed_down() {
    let fixture = Fixture::new().await;
    for filter in [
        "i16 < 4.5",
        "i16 = 100000",
        "i32 >= CAST(2.5 AS double)",
        "i64 = 5",
        "i64 > 12345678901234567890",
        "f32 < CAST(0.3 AS double)",
        "f64 = 0.3",
        "n12 = 1.255",
        "n12 BETWEEN 1.2 AND 2",
        "n30 > 99999999999999999999",
        "txt >= 'ab'",
        "txt LIKE 'ab%'",
        "chr IN ('a0001', 'ab')",
        "dat < TIMESTAMP '1994-01-05 11:00:00'",
        "dat >= '1994-01-01'",
        "ts > DATE '1994-01-05'",
        "ts > TIMESTAMP '1994-01-01 00:00:00.0000005'",
        "tz <= TIMESTAMPTZ '1994-01-05 14:00:00+02:00'",
        "byt = X'0101'",
        "NOT bool",
        "i32 IS NULL",
        "i32 = 1 OR i32 = 2 OR i32 = 30",
        "i32 NOT IN (1, 2, 3)",
    ] {
        let plan = fixture.plan(&format!("SELECT id FROM t WHERE {filter}")).await;
        assert!(!has_filter(plan.as_ref()), "{filter}");
    }
    for filter in [
        "i32 > i16",
        "i64 > CAST(2.5 AS double)",
        "n12 > CAST(2.5 AS double)",
        "txt LIKE '%b%'",
        "i32 NOT BETWEEN 1 AND 2",
    ] {
        let plan = fixture.plan(&format!("SELECT id FROM t WHERE {filter}")).await;
        assert!(has_filter(plan.as_ref()), "{filter}");
    }
}

/// NaN equals NaN and is above every number, -0 equals 0: PostgreSQL's floats, in which DataFusion differs for -0.
#[test]
fn floats_compare_as_in_postgresql() {
    use braid_df::comparison::compare;
    use braid_exec::expression::Comparison;
    use braid_storage::{ColumnType, Scalar};
    use datafusion::common::ScalarValue;
    let values = [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 0.3, 1.0, f64::INFINITY, f64::NAN];
    let check = |column_type: ColumnType, literal: f64, scalar: ScalarValue| {
        for value in values {
            let value = if column_type == ColumnType::Real { f64::from(value as f32) } else { value };
            let order = braid_storage::scalar::compare_floats(value, literal);
            for (comparison, expected) in [
                (Comparison::Equal, order.is_eq()),
                (Comparison::NotEqual, order.is_ne()),
                (Comparison::Less, order.is_lt()),
                (Comparison::LessOrEqual, order.is_le()),
                (Comparison::Greater, order.is_gt()),
                (Comparison::GreaterOrEqual, order.is_ge()),
            ] {
                let predicate = compare(column_type, comparison, &scalar).unwrap();
                let found = predicate.matches(Some(&Scalar::Float(value)));
                assert_eq!(found, expected, "{value} {comparison:?} {literal} as {column_type}");
            }
        }
    };
    for literal in values {
        check(ColumnType::Double, literal, ScalarValue::Float64(Some(literal)));
        check(ColumnType::Real, literal, ScalarValue::Float64(Some(literal)));
        check(ColumnType::Real, f64::from(literal as f32), ScalarValue::Float32(Some(literal as f32)));
    }
}

#[tokio::test]
async fn a_table_without_rows_answers() {
    let fixture = Fixture::new().await;
    let version = braid_storage::TableVersion {
        def: fixture.version.def.clone(),
        chunks: std::sync::Arc::from(Vec::new()),
        sequence: 1,
        distinct: fixture.version.distinct.clone(),
    };
    let table = BraidTable::new(std::sync::Arc::new(version), fixture.buffer.clone());
    fixture.braid.register_table("empty", std::sync::Arc::new(table)).unwrap();
    for (sql, expected) in [
        ("SELECT count(*) AS n FROM empty", vec!["| 0 |", "| n |"]),
        ("SELECT id FROM empty WHERE i32 > 5", vec![]),
        ("SELECT max(i32) AS n FROM empty", vec!["|   |", "| n |"]),
    ] {
        let found = rows(&fixture.braid, sql).await.unwrap();
        let found: Vec<&str> = found.iter().map(String::as_str).filter(|line| *line != "| id |").collect();
        assert_eq!(found, expected, "{sql}");
    }
}
