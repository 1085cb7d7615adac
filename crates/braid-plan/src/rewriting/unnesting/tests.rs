//! Every form against the definition of its rows, over random data.

use super::unnest;
use crate::rewriting::renumbering::each_relation;
use crate::rewriting::tests::{bound, check, check_rows};
use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{Relation, SubqueryKind};

pub(in crate::rewriting) const FORMS: &[&str] = &[
    // Conditions.
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s WHERE x = a)",
    "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE x = a AND y > b)",
    "SELECT a FROM t WHERE a IN (SELECT x FROM s)",
    "SELECT a FROM t WHERE a NOT IN (SELECT x FROM s)",
    "SELECT a FROM t WHERE a NOT IN (SELECT x FROM s WHERE y = b)",
    "SELECT a FROM t WHERE (a, b) IN (SELECT x, y FROM s)",
    "SELECT a FROM t WHERE (a, b) NOT IN (SELECT x, y FROM s)",
    "SELECT a FROM t WHERE a > ALL (SELECT x FROM s WHERE y <> b)",
    "SELECT a FROM t WHERE NOT a > ALL (SELECT x FROM s WHERE y <> b)",
    "SELECT a FROM t WHERE a <= ANY (SELECT x FROM s WHERE y <> b)",
    "SELECT a FROM t WHERE b = 1 OR EXISTS (SELECT 1 FROM s WHERE x = a)",
    "SELECT a FROM t WHERE b = 1 OR a NOT IN (SELECT x FROM s WHERE y = b)",
    // Values.
    "SELECT a, a IN (SELECT x FROM s WHERE y >= b) FROM t",
    "SELECT a, EXISTS (SELECT 1 FROM s WHERE y >= b LIMIT 1) FROM t",
    "SELECT a, (SELECT count(*) FROM s WHERE x = a) FROM t",
    "SELECT a, (SELECT count(*) FROM s WHERE x < a) FROM t",
    "SELECT a, (SELECT sum(y) FROM s WHERE x = a AND y <> b) FROM t",
    "SELECT a, (SELECT max(y) FROM s WHERE x = a HAVING count(*) > 1) FROM t",
    "SELECT a, (SELECT count(*) + a FROM s WHERE x = a) FROM t",
    "SELECT a, (SELECT y FROM s WHERE x = a) FROM t",
    "SELECT a, (SELECT y FROM s WHERE x = a ORDER BY y LIMIT 1) FROM t",
    "SELECT a, (SELECT y FROM s WHERE x >= a ORDER BY y DESC LIMIT 1 OFFSET 1) FROM t",
    "SELECT a, (SELECT DISTINCT b FROM s WHERE x = a) FROM t",
    "SELECT a, (SELECT b FROM s WHERE x = a LIMIT 1) FROM t",
    "SELECT a, (SELECT max(n2.n) FROM t n2 WHERE n2.n = t.n) FROM t",
    "SELECT a, (SELECT max(x::text || n::text) FROM s WHERE x < a) FROM t",
    "SELECT a FROM t WHERE b = (SELECT min(x) FROM s WHERE y = a)",
    "SELECT a, CASE WHEN a > 1 THEN (SELECT count(*) FROM s WHERE x = a) ELSE 0 END FROM t",
    "SELECT a, CASE WHEN a > 1 THEN (SELECT y FROM s WHERE x = a) ELSE 0 END FROM t",
    "SELECT a, COALESCE(b, (SELECT max(y) FROM s WHERE x = a)) FROM t",
    "SELECT sum((SELECT count(*) FROM s WHERE x = a)) FROM t",
    "SELECT b, sum(a) FROM t GROUP BY b HAVING count(*) > (SELECT count(*) FROM s WHERE x = b)",
    "SELECT a FROM t ORDER BY (SELECT max(y) FROM s WHERE x = a), a",
    "SELECT c, (SELECT count(*) FROM s WHERE x::text::char(3) = c) FROM (SELECT a::text::char(3) AS c FROM t) p",
    "SELECT c, (SELECT max(octet_length(d) + octet_length(c)) FROM (SELECT x::text::char(5) AS d FROM s) q WHERE d = c) FROM (SELECT a::text::char(3) AS c FROM t) p",
    "SELECT c, q.* FROM (SELECT a::text::char(3) AS c FROM t) p, LATERAL (SELECT octet_length(d), octet_length(c), count(*) FROM (SELECT x::text::char(5) AS d FROM s) q WHERE d = c GROUP BY d) q",
    // Joins within.
    "SELECT a, (SELECT count(*) FROM s JOIN r ON x = k WHERE y = a) FROM t",
    "SELECT a, (SELECT count(v) FROM s LEFT JOIN r ON x = k AND v = a) FROM t",
    "SELECT a, (SELECT count(v) FROM s LEFT JOIN r ON x = k WHERE y = a) FROM t",
    "SELECT a, (SELECT count(v) FROM (SELECT * FROM s WHERE y = a) s LEFT JOIN (SELECT * FROM r WHERE v >= a) r ON x = k) FROM t",
    "SELECT a, (SELECT count(v) FROM (SELECT * FROM s WHERE y = a) s RIGHT JOIN (SELECT * FROM r WHERE v >= a) r ON x = k) FROM t",
    "SELECT a, (SELECT count(*) FROM (SELECT * FROM s WHERE y = a) s FULL JOIN (SELECT * FROM r WHERE v = a) r ON x = k) FROM t",
    "SELECT a, (SELECT count(*) FROM s, r WHERE x = a AND k = b) FROM t",
    "SELECT a, (SELECT count(*) FROM s, r WHERE x = a AND k = x AND v <> b) FROM t",
    // Two levels.
    "SELECT a, (SELECT sum((SELECT count(*) FROM r WHERE k = x AND v = a)) FROM s WHERE y = b) FROM t",
    "SELECT a, (SELECT count(*) FROM s WHERE x = a AND y > (SELECT min(v) FROM r WHERE k = b)) FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s WHERE x = a AND NOT EXISTS (SELECT 1 FROM r WHERE k = y AND v = b))",
    "SELECT a FROM t WHERE a IN (SELECT x FROM s WHERE y IN (SELECT k FROM r WHERE v <> b))",
    "SELECT a, (SELECT max(q.c) FROM (SELECT x, count(*) AS c FROM s WHERE y = a GROUP BY x) q WHERE q.c > (SELECT count(*) FROM r WHERE k = q.x AND v = b)) FROM t",
    "SELECT a, (SELECT max(z) FROM s, LATERAL (SELECT count(*) AS z FROM r WHERE k = x AND v <> a) q) FROM t",
    // Lateral joins.
    "SELECT a, q.* FROM t, LATERAL (SELECT x FROM s WHERE y = b) q",
    "SELECT a, q.* FROM t LEFT JOIN LATERAL (SELECT x FROM s WHERE y = b ORDER BY x, y LIMIT 2) q ON x > a",
    "SELECT a, q.* FROM t LEFT JOIN LATERAL (SELECT a AS z FROM s WHERE y = b) q ON true",
    "SELECT a, q.* FROM t, LATERAL (SELECT x, count(*) FROM s WHERE y >= b GROUP BY x) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x, y, count(*) FROM s WHERE y >= b GROUP BY ROLLUP (x, y)) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT count(*), sum(y) FROM s WHERE y >= b) q",
    "SELECT a, q.* FROM t LEFT JOIN LATERAL (SELECT count(*) AS c FROM s WHERE y >= b) q ON c > 1",
    "SELECT a, q.* FROM t, LATERAL (SELECT DISTINCT y FROM s WHERE x = a) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT DISTINCT ON (y) y, x FROM s WHERE x <> a ORDER BY y, x) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x FROM s WHERE y = a UNION ALL SELECT k FROM r WHERE v = b) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x FROM s WHERE y = a UNION SELECT b) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x FROM s WHERE y = a EXCEPT SELECT k FROM r WHERE v = b) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x FROM s WHERE y >= a INTERSECT ALL SELECT k FROM r) q",
    "SELECT a, q.* FROM t, LATERAL (VALUES (a, b), (b, 7)) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x, row_number() OVER (ORDER BY x, y) FROM s WHERE y <> b) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x, sum(y) OVER (PARTITION BY x) FROM s WHERE y <> b) q",
    "SELECT a, q.* FROM t, generate_series(1, a) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT * FROM generate_series(1, a) g, s WHERE x = g) q",
    "SELECT a, q.* FROM t, LATERAL (WITH c AS (SELECT x FROM s WHERE y = b) SELECT l.x, m.x AS z FROM c l, c m) q",
    "SELECT a, q.* FROM t, LATERAL (WITH RECURSIVE c AS (SELECT a AS z UNION SELECT y FROM c, s WHERE x = z) SELECT * FROM c) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x FROM s WHERE y <= b ORDER BY x FETCH FIRST 1 ROWS WITH TIES) q",
    "SELECT q.* FROM t JOIN r ON a = k, LATERAL (SELECT count(*) FROM s WHERE x = a AND y <> v) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT n::text, count(*) FROM s WHERE x <= a) q",
    "SELECT t.n, q.* FROM t, LATERAL (SELECT t.n::text || x::text AS z FROM s WHERE x <= a UNION SELECT t.n::text) q",
    "VALUES ((SELECT count(*) FROM s)), ((SELECT max(x) FROM s))",
    // Groups that exist without rows.
    "SELECT a, q.* FROM t, LATERAL (SELECT x, count(*) FROM s WHERE y = a GROUP BY GROUPING SETS ((x), ())) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x, y, count(*) FROM s WHERE y >= b GROUP BY ROLLUP (x, y)) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x, grouping(x), sum(y) FROM s WHERE y > b GROUP BY CUBE (x) HAVING count(*) < 3) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT count(*) AS c FROM s WHERE y = b GROUP BY GROUPING SETS ((), ())) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT rank(a) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY y) FROM s WHERE y = b) q",
    "SELECT percentile_disc((SELECT 0.5)) WITHIN GROUP (ORDER BY a), rank((SELECT max(x) FROM s)) WITHIN GROUP (ORDER BY b) FROM t",
    // Behind guards.
    "SELECT a, CASE WHEN a > 1 THEN (SELECT max(6 / y) FROM s WHERE x = a) ELSE 0 END FROM t",
    "SELECT a, CASE WHEN a > 1 THEN (SELECT 6 / y FROM s WHERE x = a) ELSE 0 END FROM t",
    "SELECT a, CASE WHEN b > 0 THEN (SELECT max(x + 6 / b) FROM s) WHEN a > 0 THEN (SELECT min(6 / a + y) FROM s WHERE x = b) END FROM t",
    "SELECT a, CASE WHEN b > 0 THEN EXISTS (SELECT 1 FROM s WHERE 6 / b > x) END, b <> 0 AND 6 / b IN (SELECT 6 / b - x FROM s) FROM t",
    "SELECT a, CASE (SELECT count(*) FROM s WHERE x = a) WHEN 1 THEN (SELECT y FROM s WHERE x = a) WHEN 2 THEN 7 END FROM t",
    "SELECT a, COALESCE(NULLIF(b, 0), (SELECT max(6 / (x + 1)) FROM s WHERE y = a AND x >= 0), 6 / (SELECT count(*) + 1 FROM s WHERE y = a)) FROM t",
    "SELECT a FROM t WHERE b = 0 OR (SELECT max(6 / b + y) FROM s) > 1",
    "SELECT a FROM t WHERE b <> 0 AND (6 / b > 1 OR a IN (SELECT x FROM s WHERE y > 6 / b))",
    "SELECT sum((SELECT y FROM s WHERE x = a)) FILTER (WHERE EXISTS (SELECT 1 FROM r WHERE k = a)) FROM t",
    "SELECT b, sum((SELECT max(6 / b + y) FROM s WHERE x = a)) FILTER (WHERE b <> 0) FROM t GROUP BY b",
    "SELECT a, CASE WHEN b > 0 THEN (SELECT count(*) FROM (SELECT 6 / b AS q FROM s GROUP BY x) z WHERE z.q > 1) END FROM t",
    "SELECT a, CASE WHEN b > 0 THEN (SELECT sum(z) FROM generate_series(1, a) z WHERE 6 / b > z) END FROM t",
    // Limits.
    "SELECT a FROM t ORDER BY a, b, n LIMIT (SELECT count(*) FROM s)",
    "SELECT a FROM t ORDER BY a, b, n LIMIT (SELECT max(x) FROM s) OFFSET (SELECT count(*) FROM r)",
    "SELECT a, q.* FROM t, LATERAL (SELECT x FROM s ORDER BY x LIMIT abs(a) OFFSET abs(b)) q",
    "SELECT a, q.* FROM t, LATERAL (SELECT x, y FROM s WHERE y <> a ORDER BY x, y LIMIT a) q",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s WHERE x = a OFFSET abs(b))",
    // Offsets of frames.
    "SELECT a, q.* FROM t, LATERAL (SELECT x, sum(y) OVER (ORDER BY x, y ROWS coalesce(abs(a), 1) PRECEDING) AS z FROM s) q",
    "SELECT a, sum(b) OVER (ORDER BY a GROUPS BETWEEN (SELECT count(*) FROM s) PRECEDING AND (SELECT count(*) FROM r) FOLLOWING) FROM t",
    // Conditions of outer joins.
    "SELECT a, x, y FROM t LEFT JOIN s ON a = x AND EXISTS (SELECT 1 FROM r WHERE k = y)",
    "SELECT a, x, y FROM t LEFT JOIN s ON a = x AND b IN (SELECT v FROM r WHERE k >= a)",
    "SELECT a, x, y FROM t LEFT JOIN s ON (SELECT count(*) FROM r WHERE k = a AND v <> y) = 1",
    "SELECT a, x, y FROM t RIGHT JOIN s ON a = x AND y NOT IN (SELECT k FROM r WHERE v <> b)",
    "SELECT a, x, y FROM t FULL JOIN s ON a = x AND (SELECT max(v) FROM r WHERE k = b OR k = y) > 1",
    "SELECT a, x, y FROM t FULL JOIN s ON EXISTS (SELECT 1 FROM r WHERE k = a) AND EXISTS (SELECT 1 FROM r WHERE k = x)",
    "SELECT a, q.* FROM t LEFT JOIN LATERAL (SELECT x FROM s WHERE y = b) q ON q.x > (SELECT min(k) FROM r WHERE v = a OR v = q.x)",
    // Values of common table expressions that read outer columns.
    "SELECT a, q.* FROM t, LATERAL (WITH c AS (SELECT x FROM s WHERE y = b) SELECT x, (SELECT count(*) FROM c) AS n FROM c) q",
    "SELECT a, (WITH c AS (SELECT x FROM s WHERE y = b) SELECT sum(x) FROM c WHERE x >= (SELECT min(x) FROM c)) FROM t",
    "SELECT a, (WITH RECURSIVE c(z) AS (SELECT a UNION SELECT z + 1 FROM c WHERE z < (SELECT max(x) FROM s WHERE y = b)) SELECT count(*) FROM c) FROM t",
];

/// Arrays of subqueries, which another rule makes aggregates of.
pub(in crate::rewriting) const ARRAYS: &[&str] = &[
    "SELECT a, ARRAY(SELECT x FROM s WHERE y = a) FROM t",
    "SELECT a, CASE WHEN b > 0 THEN ARRAY(SELECT 6 / b + y FROM s ORDER BY y) END FROM t",
];

/// Whether an expression has a subquery other than a value that is computed once.
fn has_nested(expression: &Expression) -> bool {
    let is_nested = match &expression.node {
        Node::Subquery(query) => query.kind != SubqueryKind::Scalar || !query.relation.free_columns().is_empty(),
        _ => false,
    };
    is_nested || expression.operands().into_iter().any(has_nested)
}

/// Whether there is a subquery that is evaluated for each row, or a join whose right side reads the left one's columns.
fn is_nested(relation: &Relation) -> bool {
    let mut is_nested = relation.expressions().into_iter().any(has_nested);
    each_relation(relation, &mut |relation| {
        is_nested |= relation.expressions().into_iter().any(has_nested);
        if let Relation::Join { left, right, .. } = relation {
            let of_left = left.columns();
            is_nested |= right.free_columns().iter().any(|column| of_left.contains(column));
        }
    });
    is_nested
}

/// Asserts of each form; tells which ones failed in the end.
fn each_form(assert: impl Fn(&str) + std::panic::RefUnwindSafe) {
    let fails = |sql: &&&str| std::panic::catch_unwind(|| assert(sql)).is_err();
    let failed: Vec<_> = FORMS.iter().filter(fails).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn all_forms_keep_their_rows() {
    each_form(|sql| check_rows(sql, unnest, 0..40));
}

#[test]
fn all_forms_are_unnested() {
    each_form(|sql| {
        let (query, mut columns) = bound(sql).unwrap();
        let relation = unnest(query.relation, &mut columns);
        let text = relation.text(&columns, &braid_sql::testing::FixedSession);
        assert!(!is_nested(&relation), "{sql}\n{text}");
        let mut made = std::collections::BTreeSet::new();
        each_relation(&relation, &mut |relation| {
            for column in relation.made_columns() {
                assert!(made.insert(column), "{sql}: {column} is made twice\n{text}");
            }
        });
        assert!(relation.free_columns().is_empty(), "{sql}\n{text}");
    });
}

#[test]
fn simple_subqueries_need_no_domain() {
    check(
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s WHERE x = a AND y > b)",
        unnest,
        "
        Semi join on #3 = #0 AND #4 > #1
          Table t (#0 a, #1 b, #2 n)
          Table s (#3 x, #4 y)
        ",
    );
}

#[test]
fn only_outer_columns_whose_equal_values_differ_need_numbers() {
    let is_numbered = |sql_type: &str| {
        let sql = format!(
            "SELECT c, (SELECT count(*) FROM s WHERE x::text::{sql_type} = c) FROM (SELECT a::text::{sql_type} AS c FROM t) p"
        );
        let (query, mut columns) = bound(&sql).unwrap();
        unnest(query.relation, &mut columns).text(&columns, &braid_sql::testing::FixedSession).contains("row_number")
    };
    let types = ["text", "varchar(3)", "char(3)", "bpchar", "numeric"];
    assert_eq!(types.map(is_numbered), [false, false, false, true, true]);
}
