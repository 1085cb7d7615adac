//! Interval columns of stored tables: read, compared by length, grouped, joined, aggregated, sorted and in windows.

use braid_base::{Random, SeededRandom};
use braid_exec::ExecError;
use braid_testing::cases;

use crate::disk_tables::DiskTable;
use crate::memory_tables::{MemoryTable, rich, spilling};
use crate::running::Failure;
use crate::stored_queries::is_ordered;

const COLUMNS: &[(&str, &str)] = &[("k", "int"), ("i", "interval"), ("j", "interval"), ("d", "date")];

/// Intervals of which some are equal and look different.
const INTERVALS: &[&str] = &[
    "NULL",
    "'0'",
    "'1 mon'",
    "'30 days'",
    "'720 hours'",
    "'1 mon -30 days 00:00:01'",
    "'1 second'",
    "'-1 mon'",
    "'-30 days'",
    "'1 year'",
    "'360 days'",
    "'-0.000001 seconds'",
    "'290 years 3 days 01:02:03.456789'",
    "'-100000 years'",
];

fn rows(random: &mut SeededRandom, count: usize) -> Vec<Vec<String>> {
    let row = |random: &mut SeededRandom| {
        let mut interval = || {
            let text = INTERVALS[random.below(INTERVALS.len() as u64) as usize];
            format!("{text}::interval")
        };
        let (i, j) = (interval(), interval());
        vec![random.below(6).to_string(), i, j, format!("date '2024-01-31' + {}", random.below(40))]
    };
    (0..count).map(|_| row(random)).collect()
}

/// Queries whose rows do not depend on the order in which operators meet equal intervals.
const QUERIES: &[&str] = &[
    "SELECT k, i, j FROM t",
    "SELECT i FROM t WHERE i > '29 days'",
    "SELECT i, j FROM t WHERE i = j",
    "SELECT i FROM t WHERE i IN ('30 days', '1 year')",
    "SELECT i FROM t WHERE i NOT IN ('1 mon', '1 second')",
    "SELECT i FROM t WHERE i BETWEEN '-1 mon' AND '720:00:00'",
    "SELECT k FROM t WHERE i IS NULL",
    "SELECT k, i FROM t WHERE i IS NOT NULL AND i <> '0'",
    "SELECT i IS DISTINCT FROM j, i < j, i >= j FROM t",
    "SELECT count(*), count(i), count(DISTINCT i) FROM t",
    "SELECT min(i) = '-100000 years', max(i) >= '0', sum(i), avg(i) FROM t WHERE i > '-1 year'",
    "SELECT k, sum(i), count(*) FROM t WHERE i < '2 years' AND i > '-2 years' GROUP BY k",
    "SELECT justify_interval(i), count(*) FROM t GROUP BY 1",
    "SELECT justify_interval(i), count(*), sum(k) FROM t GROUP BY i",
    "SELECT DISTINCT justify_interval(i) FROM t",
    "SELECT justify_interval(i) FROM (SELECT DISTINCT i FROM t) q ORDER BY 1",
    "SELECT justify_interval(i), k FROM t ORDER BY i, k",
    "SELECT justify_interval(i), k FROM t ORDER BY i DESC NULLS LAST, k LIMIT 7",
    "SELECT count(*), sum(a.k) FROM t a JOIN t b ON a.i = b.j",
    "SELECT a.k, a.i, b.j FROM t a LEFT JOIN t b ON a.i = b.j AND b.k = 1",
    "SELECT count(*) FROM t WHERE i IN (SELECT j FROM t WHERE k < 3)",
    "SELECT count(*) FROM t a WHERE NOT EXISTS (SELECT FROM t b WHERE b.j = a.i)",
    "SELECT count(*) FROM t WHERE i > (SELECT avg(j) FROM t WHERE j > '-2 years')",
    "SELECT d + i FROM t WHERE i > '-1000 years'",
    "SELECT i * 2, i / 3, -i, i + j FROM t WHERE i > '-2 years' AND j > '-2 years'",
    "SELECT CASE WHEN i > j THEN i ELSE j END, coalesce(i, j, '5 days'), greatest(i, '1 hour') FROM t WHERE i IS NULL OR i <> j",
    "SELECT i::text, to_char(i, 'YYYY MM DD HH24'), extract(day FROM i) FROM t",
    "SELECT k, justify_interval(i), rank() OVER (PARTITION BY k ORDER BY i) FROM t",
    "SELECT k, sum(i) OVER (PARTITION BY k) FROM t WHERE i > '-2 years' AND i < '2 years'",
    "SELECT justify_interval(i), count(*) OVER (PARTITION BY i) FROM t",
    "SELECT d, count(*) OVER (ORDER BY d RANGE BETWEEN '3 days' PRECEDING AND '1 day' FOLLOWING) FROM t",
    "SELECT justify_interval(i), dense_rank() OVER (ORDER BY i DESC) FROM t",
    "SELECT justify_interval(i) FROM (SELECT i FROM t UNION SELECT j FROM t) q ORDER BY i",
    "SELECT justify_interval(i) FROM (SELECT i FROM t EXCEPT SELECT j FROM t WHERE k > 2) q ORDER BY i",
    "SELECT justify_interval(i) FROM (SELECT i FROM t INTERSECT ALL SELECT j FROM t) q ORDER BY i",
    "SELECT array_agg(i ORDER BY k, i, i::text) FROM t",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i) >= '0' FROM t",
    "WITH c AS MATERIALIZED (SELECT i, k FROM t WHERE i > '1 day') SELECT x.i, y.k FROM c x, c y WHERE x.k = y.k AND x.i = y.i AND x.k < 2",
    "SELECT k, i FROM (SELECT DISTINCT ON (k) k, i::text AS i FROM t ORDER BY k, i::text) q",
];

#[test]
fn stored_intervals_are_compared_by_length_and_shown_as_they_are() {
    for case in cases!(0..3) {
        let table =
            DiskTable::new(COLUMNS, &rows(&mut SeededRandom::new(case.seed), 40 + 60 * case.seed as usize % 200));
        let found: usize = QUERIES.iter().map(|sql| table.check(sql)).sum();
        assert!(found > QUERIES.len(), "the queries have rows");
    }
}

#[test]
fn intervals_go_through_temporary_files() {
    let directory = tempfile::tempdir().unwrap();
    let table = MemoryTable::new(COLUMNS, &rows(&mut SeededRandom::new(7), 3000), 256);
    for sql in [
        "SELECT k, justify_interval(i), i::text FROM t ORDER BY i, k, i::text",
        "SELECT justify_interval(i), d, count(*), sum(j) FROM t WHERE j < '2 years' AND j > '-2 years' GROUP BY i, d",
        "SELECT count(*), count(DISTINCT a.i) FROM t a JOIN (SELECT DISTINCT i FROM t) b ON a.i = b.i",
        "SELECT k, justify_interval(i), row_number() OVER (PARTITION BY i ORDER BY k, d, j, j::text, i::text) FROM t",
    ] {
        let (executor, _space) = spilling(2, 16 << 10, directory.path());
        let mut found = table.rows(sql, &executor).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        let mut expected = table.rows(sql, &rich(1)).unwrap();
        if !is_ordered(sql) {
            found.sort();
            expected.sort();
        }
        assert_eq!(found, expected, "{sql}");
    }
}

#[test]
fn sums_beyond_the_range_fail() {
    let rows: Vec<Vec<String>> = (0..3)
        .map(|_| vec!["1".to_owned(), "'100000000 years'::interval".to_owned(), "NULL".to_owned(), "NULL".to_owned()])
        .collect();
    let table = MemoryTable::new(COLUMNS, &rows, 2);
    match table.rows("SELECT sum(i) FROM t", &rich(2)) {
        Err(Failure::OfSql(error)) => {
            assert_eq!((error.sqlstate(), error.message()), ("22008", "interval out of range"))
        }
        Err(Failure::Other(ExecError::OutOfRange { type_name })) => assert_eq!(type_name, "interval"),
        other => panic!("{other:?}"),
    }
}
