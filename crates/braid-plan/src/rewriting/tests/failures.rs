//! What is said to never fail does not, on the least, greatest and strangest values of each type.

use braid_sql::relation::Relation;
use braid_sql::testing::FixedSession;
use braid_sql::testing::naive::rows_of;

use super::{SmallTables, bound};
use crate::rewriting::failing::{may_fail, may_fail_at_all};
use crate::rewriting::folding::fold_constants;

/// Rows of extreme values.
const VALUES: &str = "(VALUES \
    ('-32768'::int2, '-2147483648'::int4, '-9223372036854775808'::int8, 'NaN'::numeric, 'NaN'::float8, ''::text, \
     'infinity'::date, 'infinity'::timestamp, true), \
    (32767, 2147483647, 9223372036854775807, 'Infinity', 'Infinity', '\\', '-infinity', '-infinity', false), \
    (0, 0, 0, 0, '-0', '%', '4713-01-01 BC', '4714-11-24 BC', NULL), \
    (-1, -1, -1, '-0.00000001', '1e-300', 'ä_b', '5874897-12-31', '294247-01-09', true), \
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) v(i2, i4, i8, n, f, t, d, ts, b)";

/// Expressions, and whether they may fail.
const EXPRESSIONS: &[(&str, bool)] = &[
    ("i2 < i4 AND i4 = i8 OR NOT n >= i8", false),
    ("f < n::float8", true),
    ("f = i4 OR f IS NOT DISTINCT FROM i8", false),
    ("d < ts OR ts >= d OR d <> '2000-01-01'", false),
    ("t < 'x' AND t::varchar = t", false),
    ("i4 IN (1, 2, 3) AND n NOT IN (1, 2.0) AND t = ANY (ARRAY['a', 'b'])", false),
    ("n + 1 > i4 AND n * n - n < 0 AND -n = abs(n)", false),
    ("n / 7.0 > 1 OR n / i4 > 1", true),
    ("n / 7.0 > 1 OR n / 0.01 > 1", false),
    ("n / 0 > 1", true),
    ("n / 'NaN'::numeric > 1", true),
    ("i4 + 1 > 2", true),
    ("i8 - i4 > 2", true),
    ("i2::int4 + 0 > 2", true),
    ("i2::int4 > 2 AND i2::int8 > 2 AND i4::int8 > 2", false),
    ("i4 / 2 > 1 AND i8 / 10 = 3 AND i2 % 7 = 1", false),
    ("i4 / 0 > 1", true),
    ("i4 / -1 > 1", true),
    ("i4 % -1 > 1", false),
    ("i8 % i4 > 1", true),
    ("n::int4 > 1", true),
    ("i4::numeric = n AND i8::float8 = f", false),
    ("t LIKE 'a%' AND t NOT LIKE '%b_' AND t ILIKE 'x\\\\%'", false),
    ("t LIKE 'a\\'", true),
    ("t LIKE t", true),
    ("upper(t) = lower(t) AND length(t) > 1 AND trim(t) = ltrim(t) || rtrim(t)", false),
    ("substring(t from 1 for 2) IN ('a', 'b') AND substring(t from 2) = t", false),
    ("substring(t from i4) = left(t, i4) || right(t, i4)", false),
    ("substring(t from 1 for i4) = 'a'", true),
    ("strpos(t, 'a') > 0 AND starts_with(t, '%')", false),
    ("extract(year from d) = 2000 AND extract(month from d) > 1 AND extract(dow from d) = 0", false),
    ("extract(quarter from d) = 1 OR extract(doy from d) = 1 OR extract(day from d) = 1", false),
    ("extract(fortnight from d) = 1", true),
    ("d + 1 > d", true),
    ("d::timestamp > ts", true),
    ("d + interval '1 day' > ts", true),
    ("d - '2000-01-01'::date > 3", true),
    ("CASE WHEN b THEN i4 > 1 ELSE 1 / i4 > 1 END", true),
    ("CASE WHEN b THEN i4 > 1 ELSE COALESCE(b, i8 = 2, GREATEST(i4, 3) > i2) END", false),
    // Quotients that a CASE guards.
    ("CASE WHEN i4 > 0 THEN i8 / i4 > 1 AND n / i4 > 1 AND i4 % i4 = 0 END", false),
    ("CASE WHEN i4 > -1 THEN n / i4 > 1 END", true),
    ("CASE WHEN i4 >= 1 AND b THEN i8 / i4 > 1 END", false),
    ("CASE WHEN i4 >= 0 THEN i8 / i4 > 1 END", true),
    ("CASE WHEN i4 <> 0 THEN n / i4 > 1 AND i4 % i4 = 0 END", false),
    ("CASE WHEN i4 <> 0 THEN i8 / i4 > 1 END", true),
    ("CASE WHEN i4 < 0 THEN n / i4 > 1 END", false),
    ("CASE WHEN i4 <= -1 THEN n / i4 > 1 END", false),
    ("CASE WHEN i4 < 1 THEN n / i4 > 1 END", true),
    ("CASE WHEN 0 < n THEN i4 / n > 1 WHEN 0 > n THEN i4 / n > 1 END", false),
    ("CASE WHEN 0 <= n THEN i4 / n > 1 END", true),
    ("CASE WHEN n = 0 THEN false ELSE i4 / n > 1 END", false),
    ("CASE n WHEN 0 THEN false ELSE i4 / n > 1 END", false),
    ("CASE WHEN n = 0 THEN false WHEN b THEN i4 / n > 1 END", false),
    ("CASE WHEN b THEN i4 / n > 1 WHEN n = 0 THEN false END", true),
    ("CASE WHEN n = 2 THEN i4 / n > 1 ELSE b END", false),
    ("CASE WHEN NOT (n = 0 OR b) THEN i4 / n > 1 END", false),
    ("CASE WHEN NOT (n = 0 AND b) THEN i4 / n > 1 END", true),
    ("CASE WHEN n > 0 OR n < 0 THEN i4 / n > 1 END", true),
    ("CASE WHEN n > 0 THEN i4 / i8 > 1 END", true),
    ("CASE WHEN i4 > 0 THEN CASE WHEN i8 > 0 THEN i8 / i4 > 1 ELSE i8 / i4 > 2 END END", false),
    ("CASE WHEN n > 0 THEN b END OR i4 / n > 1", true),
    ("CASE WHEN f > 0 THEN f / f > 1 END", true),
    ("i8 / NULLIF(i4, 0) > 1", true),
    ("n / NULLIF(i4, 0) > 1 AND i4 % NULLIF(i4, 0) = 0", false),
    ("i8 / CASE WHEN i4 > 0 THEN i4 ELSE 1 END > 1", false),
    ("i8 / CASE WHEN i4 > 0 THEN i8 ELSE 1 END > 1", true),
    ("n / (i4 + 0) > 1 AND i4 > 0", true),
    ("t::int4 > 1", true),
    ("i4::text = t", true),
    ("(SELECT max(x) FROM s) > i4", false),
    ("(SELECT x FROM s) > i4", true),
    ("EXISTS (SELECT 1 / x FROM s) OR i4 IN (SELECT x FROM s)", true),
    ("EXISTS (SELECT 1 FROM s WHERE x = i4) OR i4 IN (SELECT x FROM s)", false),
];

#[test]
fn expressions_fail_only_if_they_may() {
    let mut wrong = Vec::new();
    for (expression, expected) in EXPRESSIONS {
        let sql = format!("SELECT * FROM {VALUES} WHERE {expression}");
        let (mut query, columns) = bound(&sql).unwrap_or_else(|error| panic!("{expression}: {error:?}"));
        query.relation = fold_constants(query.relation, &FixedSession).relation;
        let Relation::Filter { condition, .. } = &query.relation else { panic!("{expression} is folded") };
        let fails = rows_of(&query, &columns, (&FixedSession, &[]), &SmallTables::random(1)).is_err();
        if may_fail(condition) != *expected || fails && !expected {
            wrong.push(format!("{expression}: may fail: {}, fails: {fails}", may_fail(condition)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_computed_of_parameters_fails_before_the_query() {
    for (condition, expected) in [
        ("a = $1 + 1", false),
        ("a BETWEEN $1 AND $1 + 10 AND b > 10 / $1", false),
        ("a = ANY (ARRAY[$1, $1 + 1])", false),
        ("a + $1 > 1", true),
        ("a = 1 / $1 + b", true),
        ("a = random()::int + $1", true),
    ] {
        let (query, _) = bound(&format!("SELECT * FROM t WHERE {condition}")).unwrap();
        let Relation::Filter { condition: found, .. } = &query.relation else { panic!("{condition} is folded") };
        assert_eq!(may_fail(found), expected, "{condition}");
        assert!(may_fail_at_all(found), "{condition}");
    }
}
