//! Queries on the operators.

use crate::running::rows;

/// Rows, in order, with blanks between values.
fn shown(sql: &str) -> String {
    match rows(sql) {
        Ok(rows) => rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join(", "),
        Err(error) => format!("{} {}", error.sqlstate(), error.message()),
    }
}

#[test]
fn queries_without_tables() {
    for (sql, expected) in [
        ("SELECT 1, 'a', 1.50", "1 a 1.50"),
        ("VALUES (1, 'a'), (2, NULL)", "1 a, 2 \\N"),
        ("SELECT * FROM generate_series(1, 5) AS g(x) WHERE x % 2 = 1 ORDER BY x DESC", "5, 3, 1"),
        ("SELECT count(*), sum(x), avg(x), min(x), max(x) FROM generate_series(1, 4) x", "4 10 2.5000000000000000 1 4"),
        ("SELECT x % 3 AS r, count(*) FROM generate_series(1, 10) x GROUP BY r ORDER BY r", "0 3, 1 4, 2 3"),
        ("SELECT DISTINCT x FROM (VALUES (1.0), (1.00), (2)) v(x) ORDER BY x", "1.0, 2"),
        ("SELECT a.x, b.y FROM (VALUES (1, 'p'), (2, 'q')) a(x, y) JOIN (VALUES (2, 'r')) b(x, y) USING (x)", "2 r"),
        (
            "SELECT a, b FROM generate_series(1, 2) a LEFT JOIN generate_series(2, 3) b ON a = b ORDER BY a",
            "1 \\N, 2 2",
        ),
        ("SELECT 1 UNION SELECT 1 UNION ALL SELECT 2 ORDER BY 1", "1, 2"),
        ("SELECT x FROM generate_series(1, 4) x EXCEPT SELECT 2 ORDER BY 1", "1, 3, 4"),
        ("WITH t AS (SELECT 2 AS two) SELECT a.two + b.two FROM t a, t b", "4"),
        ("SELECT (SELECT max(x) FROM generate_series(1, 3) x) + 1", "4"),
        (
            "SELECT (SELECT x FROM generate_series(1, 3) x)",
            "21000 more than one row returned by a subquery used as an expression",
        ),
        ("SELECT x FROM generate_series(1, 1000000000000) x LIMIT 2", "1, 2"),
        ("SELECT interval '1 month' = i FROM (VALUES (interval '30 days')) v(i)", "t"),
        ("SELECT 1 / x FROM (VALUES (1), (0)) v(x)", "22012 division by zero"),
        ("SELECT sum(x) FROM (VALUES (9223372036854775807), (1)) v(x)", "9223372036854775808"),
        ("SELECT sum(x), min(x), max(x) FROM (VALUES (1.5::float8), (NULL), (3)) v(x)", "4.5 1.5 3"),
        (
            "SELECT substring(x, 2, 2), substring(x FROM 3), substring(x, -1, 3) FROM (VALUES ('größer'), (NULL)) v(x)",
            "rö ößer g, \\N \\N \\N",
        ),
        ("SELECT substring(x, 2, -1) FROM (VALUES ('a')) v(x)", "22011 negative substring length not allowed"),
        (
            "SELECT nullif(x, 2), CASE x WHEN 1 THEN 'one' ELSE 'more' END FROM generate_series(1, 2) x",
            "1 one, \\N more",
        ),
        ("SELECT count(*) FROM generate_series(1, 3) a CROSS JOIN generate_series(1, 4) b", "12"),
        (
            "SELECT x FROM generate_series(1, 4) x WHERE x IN (SELECT y * 2 FROM generate_series(1, 2) y) ORDER BY x",
            "2, 4",
        ),
        (
            "SELECT x FROM generate_series(1, 3) x WHERE NOT EXISTS (SELECT FROM generate_series(2, 3) y WHERE y = x)",
            "1",
        ),
        (
            "SELECT x, (SELECT count(*) FROM generate_series(1, 3) y WHERE y < x) FROM generate_series(1, 3) x ORDER BY x",
            "1 0, 2 1, 3 2",
        ),
        ("SELECT x FROM (VALUES (1), (2), (NULL)) v(x) WHERE x NOT IN (SELECT y FROM (VALUES (2), (NULL)) w(y))", ""),
        (
            "SELECT x, x IN (SELECT y FROM (VALUES (2), (NULL)) w(y)) FROM (VALUES (1), (2)) v(x) ORDER BY x",
            "1 \\N, 2 t",
        ),
        ("SELECT x, s FROM generate_series(1, 2) x, LATERAL (SELECT x * 10 AS s) t ORDER BY x", "1 10, 2 20"),
        ("WITH r AS (SELECT clock_timestamp() AS t) SELECT (SELECT t FROM r) = (SELECT t FROM r)", "t"),
        ("WITH r AS (SELECT clock_timestamp() AS t) SELECT count(t) FROM r", "1"),
        (
            "SELECT x, count(*), count(y), sum(y), avg(y), stddev(y), bool_or(y > 1), max(y) FROM (VALUES (1, 2), (1, NULL), (2, 5)) v(x, y) WHERE x > 5 GROUP BY ROLLUP (x)",
            "\\N 0 0 \\N \\N \\N \\N \\N",
        ),
        (
            "SELECT x, y, grouping(x, y), count(z), avg(z), sum(z) FROM (VALUES (1.0, 'a', 1.5), (1.00, 'a', 2), (1, 'b', NULL), (NULL, 'b', 4)) v(x, y, z) GROUP BY ROLLUP (x, y) ORDER BY 3, 1, 2",
            "1.0 a 0 2 1.7500000000000000 3.5, 1 b 0 0 \\N \\N, \\N b 0 1 4.0000000000000000 4, 1.0 \\N 1 2 1.7500000000000000 3.5, \\N \\N 1 1 4.0000000000000000 4, \\N \\N 3 3 2.5000000000000000 7.5",
        ),
        (
            "SELECT x, max(clock_timestamp()) FROM generate_series(1, 2) x GROUP BY ROLLUP (x)",
            "0A000 volatile arguments of aggregates over several grouping sets are not supported by Braid's operators yet",
        ),
        (
            "SELECT sum(1 / x) FILTER (WHERE clock_timestamp() > now() AND x <> 0) FROM generate_series(0, 2) x",
            "0A000 volatile filters of aggregates whose arguments may fail are not supported by Braid's operators yet",
        ),
        ("SELECT sum(1 / x) FILTER (WHERE x <> 0), count(*) FROM generate_series(0, 2) x", "1 3"),
        ("SELECT sum(1 / x), count(*) FROM generate_series(0, 2) x", "22012 division by zero"),
        ("WITH r AS (SELECT x FROM generate_series(1, 3) x LIMIT 1) SELECT * FROM r a, r b", "1 1"),
        ("WITH r AS MATERIALIZED (SELECT 1 / x AS y FROM generate_series(0, 3) x) SELECT y FROM r LIMIT 0", ""),
        (
            "WITH r AS MATERIALIZED (SELECT 1 / x AS y FROM generate_series(0, 3) x) \
             SELECT 1 UNION ALL SELECT y FROM r UNION ALL SELECT y FROM r LIMIT 1",
            "1",
        ),
        ("SELECT DISTINCT x FROM (VALUES (1.00), (1.0), (1.000)) v(x)", "1.00"),
        (
            "SELECT x, count(*) FROM (VALUES ('a '::char(2)), ('a'::bpchar), (NULL)) v(x) GROUP BY x ORDER BY x",
            "a  2, \\N 1",
        ),
        ("SELECT DISTINCT i FROM (VALUES (interval '24 hours'), (interval '1 day')) v(i)", "24:00:00"),
        ("SELECT DISTINCT x FROM (VALUES (2.5), (1.0), (1.00)) v(x) ORDER BY x", "1.0, 2.5"),
        ("SELECT x FROM (VALUES (2.5), (1.0)) v(x) INTERSECT SELECT y FROM (VALUES (1.00), (3)) w(y)", "1.0"),
        ("SELECT x FROM (VALUES (3), (NULL), (1)) v(x) ORDER BY x NULLS FIRST", "\\N, 1, 3"),
        ("SELECT x FROM generate_series(1, 3) x WHERE 1 = 2", ""),
        ("SELECT count(*), max(x) FROM generate_series(1, 3) x WHERE 1 = 2", "0 \\N"),
        (
            "SELECT x, y FROM generate_series(1, 2) x LEFT JOIN (SELECT y FROM generate_series(1, 2) y WHERE false) q ON x = y ORDER BY x",
            "1 \\N, 2 \\N",
        ),
        (
            "SELECT x, y, z FROM generate_series(1, 3) x, generate_series(2, 4) y, generate_series(3, 5) z WHERE x = z AND y = z AND y > 1",
            "3 3 3",
        ),
        (
            "SELECT x, z FROM generate_series(1, 3) x, generate_series(2, 3) z, generate_series(2, 4) y WHERE x = y AND z = y ORDER BY x",
            "2 2, 3 3",
        ),
        ("SELECT x FROM generate_series(0, 3) x, generate_series(1, 1) y WHERE x <> 0 AND 6 / x = 2 AND y = 1", "3"),
        ("SELECT x FROM generate_series(1, 3) x LEFT JOIN generate_series(2, 3) y ON x = y WHERE y IS NULL", "1"),
        ("SELECT x, y FROM generate_series(1, 3) x LEFT JOIN generate_series(2, 3) y ON x = y WHERE y > 2", "3 3"),
        (
            "SELECT x, y FROM generate_series(1, 3) x FULL JOIN generate_series(2, 4) y ON x = y WHERE x < 3 ORDER BY x",
            "1 \\N, 2 2",
        ),
        ("SELECT count(*) FROM (SELECT x, x + 1 FROM generate_series(1, 3) x UNION ALL SELECT 1, 2) q", "4"),
        ("SELECT count(*) FROM (SELECT sum(x) FROM generate_series(1, 3) x) q", "1"),
        (
            "WITH c AS (SELECT x, x * 2 AS z FROM generate_series(1, 3) x) SELECT l.x FROM c l, c m WHERE l.x = m.z ORDER BY 1",
            "2",
        ),
    ] {
        assert_eq!(shown(sql), expected, "{sql}");
    }
}
