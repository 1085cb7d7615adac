//! Numerics as integers, against the definition of queries, which computes with values.

use braid_base::{Random, SeededRandom};
use braid_plan::lowering::Numerics;
use braid_testing::cases;

use crate::running::{Attempt, defined_rows, lowered, rows_with};

/// Rows of numerics with few and with many declared digits, of several scales, and of integers and dates.
const ROWS: usize = 9;

fn table(random: &mut SeededRandom) -> String {
    let mut number = |texts: &[&str]| texts[random.below(texts.len() as u64) as usize].to_owned();
    let rows = (0..ROWS).map(|_| {
        let a = number(&["0.00", "1.00", "-1.50", "99999999.99", "12.34", "NULL", "2.50"]);
        let b = number(&["0.0000", "0.0500", "0.1000", "-0.0001", "1.0000", "NULL"]);
        let c = number(&["0.000", "123456789012.125", "-5.500", "7.000", "NULL"]);
        let e = number(&["1", "1.0", "2.50", "NULL", "'NaN'::numeric", "-3.125"]);
        let k = number(&["0", "1", "-7", "2147483647", "NULL"]);
        let d = number(&["'1998-12-01'", "'0001-01-01'", "'0044-03-15 BC'", "'2000-02-29'", "'infinity'", "NULL"]);
        format!("({a}::numeric, {b}::numeric, {c}::numeric, {e}, {k}::int, {d}::date)")
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    format!(
        "(SELECT a::numeric(15,2) AS a, b::numeric(5,4) AS b, c::numeric(24,3) AS c, e, k, d FROM (VALUES {rows}) \
         v(a, b, c, e, k, d)) t"
    )
}

fn pick<'t>(random: &mut SeededRandom, texts: &[&'t str]) -> &'t str {
    texts[random.below(texts.len() as u64) as usize]
}

fn constant(random: &mut SeededRandom) -> &'static str {
    pick(random, &["0", "1", "0.05", "-12.3456", "100000.00", "2.50", "1e30", "-0.00001"])
}

fn numeric(random: &mut SeededRandom, depth: usize) -> String {
    if depth == 0 {
        return match random.below(9) {
            0..=2 => "a".to_owned(),
            3 => "b".to_owned(),
            4 => "c".to_owned(),
            5 => "k::numeric".to_owned(),
            6 if random.below(3) == 0 => "e".to_owned(),
            _ => format!("({})::numeric", constant(random)),
        };
    }
    let mut operand = || numeric(random, depth - 1);
    let (x, y) = (operand(), operand());
    match random.below(15) {
        0..=2 => format!("({x} + {y})"),
        3 | 4 => format!("({x} - {y})"),
        5 | 6 => format!("({x} * {y})"),
        7 => format!("(- {x})"),
        8 => format!("round({x}, {})", random.below(5)),
        9 => {
            let function = pick(random, &["abs", "ceil", "floor", "sign", "trunc", "round"]);
            format!("{function}({x})")
        }
        10 => {
            let modifier = pick(random, &["(12,1)", "(20,6)", "(38,2)", "(30,0)", ""]);
            format!("({x})::numeric{modifier}")
        }
        11 | 12 => {
            let condition = condition(random, depth - 1);
            format!("CASE WHEN {condition} THEN {x} ELSE {} END", pick(random, &[&*y, "0", "NULL", "0.000"]))
        }
        13 => format!("coalesce({x}, {y})"),
        _ => format!("nullif({x}, {y})"),
    }
}

fn condition(random: &mut SeededRandom, depth: usize) -> String {
    let x = numeric(random, depth);
    match random.below(6) {
        0 => format!("{x} IN (0, 1.0, 2.505, -1.5, 1e40)"),
        1 => format!("{x} NOT IN (0.00001, 'NaN')"),
        2 => format!("{x} IS NULL"),
        3 => format!("{x} {} {}", pick(random, &["<", "<=", "=", "<>", ">", ">="]), constant(random)),
        4 => {
            let bound = pick(random, &["'NaN'", "'Infinity'", "'-Infinity'", "1e50", "-1e50", "0.0000001"]);
            format!("{bound}::numeric {} {x}", pick(random, &["<", "<=", "=", "<>", ">", ">="]))
        }
        _ => format!("{x} {} {}", pick(random, &["<", "<=", "=", "<>", ">", ">="]), numeric(random, depth)),
    }
}

/// Rows in the order of their texts, or the SQLSTATE of an error.
fn sorted(rows: Result<Vec<Vec<String>>, braid_sql::SqlError>) -> Result<Vec<Vec<String>>, String> {
    let mut rows = rows.map_err(|error| error.sqlstate().to_string())?;
    rows.sort();
    Ok(rows)
}

/// Asserts that the operators answer as the definition says, whatever is tried with 128 bits.
fn check(sql: &str) -> [Attempt; 2] {
    let expected = sorted(defined_rows(sql));
    [Numerics::Wide, Numerics::Optimistic].map(|numerics| match rows_with(sql, numerics) {
        // Aggregates that integers are too narrow for.
        Err(error) if error.sqlstate() == "0A000" => Attempt::Failed,
        Err(error) => {
            assert_eq!(Err(error.sqlstate().to_string()), expected, "{sql}");
            Attempt::Certain
        }
        Ok((rows, attempt)) => {
            assert_eq!(sorted(Ok(rows)), expected, "{numerics:?}: {sql}");
            attempt
        }
    })
}

#[test]
fn random_expressions() {
    for case in cases!(0..150) {
        let random = &mut case.random();
        let table = table(random);
        let depth = 1 + random.below(3) as usize;
        check(&format!("SELECT {} AS x FROM {table}", numeric(random, depth)));
        check(&format!("SELECT a, b, c FROM {table} WHERE {}", condition(random, depth)));
    }
}

#[test]
fn random_groups() {
    let mut successful = 0;
    for case in cases!(0..150) {
        let random = &mut case.random();
        let table = table(random);
        let depth = random.below(3) as usize;
        let (x, y) = (numeric(random, depth), numeric(random, 1));
        let aggregates = match random.below(4) {
            0 => format!("sum({x}), avg({y})"),
            1 => format!("count({x}), sum({x}) FILTER (WHERE {}), avg({x})", condition(random, 1)),
            2 => format!("trim_scale(min({x})), trim_scale(max({y})), count(DISTINCT {y})"),
            _ => "sum(a * (1 - b) * (1 + c)), avg(a), sum(DISTINCT b), avg(k), sum(k::bigint)".to_owned(),
        };
        let groups = match random.below(8) {
            7 => "GROUP BY CUBE (k, a)".to_owned(),
            5 => "GROUP BY ROLLUP (a, k, d)".to_owned(),
            6 => format!("GROUP BY GROUPING SETS ((e, k, {y}), (k, e), (k), (), (k))"),
            0 => String::new(),
            1 => "GROUP BY a".to_owned(),
            3 => "WHERE d > '1990-01-01' GROUP BY extract(year FROM d)".to_owned(),
            2 => "GROUP BY extract(month FROM d)".to_owned(),
            _ => format!("GROUP BY {y}"),
        };
        let [_, attempt] = check(&format!("SELECT {aggregates} FROM {table} {groups}"));
        successful += usize::from(attempt == Attempt::Successful);
    }
    assert!(successful > 20, "only {successful} were optimistic");
}

#[test]
fn random_joins_and_set_operations() {
    for case in cases!(0..40) {
        let random = &mut case.random();
        let (left, right) = (table(random), table(random));
        let (x, y) = (pick(random, &["a", "b", "c", "e"]), pick(random, &["a", "b", "c", "e", "a * b"]));
        check(&format!(
            "SELECT l.a, r.x FROM {left_of} JOIN {right} ON l.{x} = r.x",
            left_of = aliased(&left, "l"),
            right = format_args!("(SELECT {y} AS x FROM {right}) r")
        ));
        let operator = pick(random, &["UNION ALL", "UNION", "INTERSECT", "EXCEPT"]);
        check(&format!("SELECT trim_scale(x) FROM (SELECT {x} AS x FROM {left} {operator} SELECT {y} FROM {right}) u"));
        check(&format!("SELECT DISTINCT {x} FROM {left} WHERE {x} > (SELECT avg({x}) FROM {right})"));
    }
}

fn aliased(table: &str, alias: &str) -> String {
    format!("{}{alias}", table.strip_suffix('t').unwrap())
}

/// Answers of PostgreSQL 15.
#[test]
fn digits_that_are_shown() {
    let items = "(SELECT p::numeric(15,2) AS p, d::numeric(15,2) AS d, t::numeric(15,2) AS t, s FROM (VALUES \
                 (1000.00, 0.05, 0.08, 'x'), (2000.50, 0.10, 0.02, 'y'), (NULL, 0.01, 0.00, 'x'), \
                 (9999999999999.99, 9999999999999.99, 9999999999999.99, 'large')) v(p, d, t, s) WHERE s <> 'large') i";
    for (select, expected, attempt) in [
        ("sum(p * (1 - d) * (1 + t))", "2862.459000", Attempt::Successful),
        ("sum(p), avg(p), min(p), max(d)", "3000.50 1500.2500000000000000 1000.00 0.10", Attempt::Certain),
        ("sum(CASE WHEN s = 'x' THEN p * (1 - d) ELSE 0 END)", "950.0000", Attempt::Successful),
        ("sum(CASE WHEN s = 'z' THEN p * (1 - d) ELSE 0 END)", "0", Attempt::Successful),
        ("avg(CASE WHEN s = 'z' THEN p * (1 - d) ELSE 0 END)", "0.00000000000000000000", Attempt::Successful),
        (
            "min(CASE WHEN s = 'x' THEN p ELSE 3 END), max(CASE WHEN s = 'x' THEN p ELSE 3.5 END)",
            "3 1000.00",
            Attempt::Certain,
        ),
        (
            "100.00 * sum(CASE WHEN s = 'x' THEN p * (1 - d) ELSE 0 END) / sum(p * (1 - d))",
            "34.5398025777600029",
            Attempt::Successful,
        ),
        ("sum(coalesce(p, 0)), sum(-p), count(p)", "3000.50 -3000.50 2", Attempt::Certain),
    ] {
        let sql = format!("SELECT {select} FROM {items}");
        let (rows, made) = rows_with(&sql, Numerics::Optimistic).unwrap();
        assert_eq!((rows[0].join(" "), made), (expected.to_owned(), attempt), "{sql}");
        assert_eq!(defined_rows(&sql).unwrap()[0].join(" "), expected, "{sql}");
    }
}

#[test]
fn fields_of_dates() {
    let dates = "(VALUES ('1998-12-01'::date), ('0001-01-01'), ('0044-03-15 BC'), ('9999-12-31'), ('10000-01-01'), (NULL), \
                 ('2000-02-29'), ('infinity'), ('-infinity')) v(d)";
    for field in ["year", "quarter", "month", "day"] {
        check(&format!("SELECT d, extract({field} FROM d) FROM {dates}"));
        check(&format!("SELECT d, date_part('{field}', d) FROM {dates}"));
        let finite = "d NOT IN ('infinity', '-infinity')";
        let [_, attempt] = check(&format!("SELECT max(extract({field} FROM d)) FROM {dates} WHERE {finite}"));
        assert_eq!(attempt == Attempt::Successful, field == "year");
        let counts = check(&format!("SELECT count(extract({field} FROM d)) FROM {dates}"));
        assert_eq!(counts[1] == Attempt::Failed, field == "year");
    }
    check("SELECT date_part('month', d) FROM (VALUES ('5874897-12-31'::date)) v(d)");
}

#[test]
fn what_is_too_narrow_is_planned_again() {
    let values =
        "(SELECT x::numeric(38,10) AS x FROM (VALUES (99999999999999999999999999.0000000000), (3.0000000000)) v(x)) t";
    let sql = format!("SELECT count(x * x) FROM {values}");
    let (rows, attempt) = rows_with(&sql, Numerics::Optimistic).unwrap();
    assert_eq!((rows[0].join(" ").as_str(), attempt), ("2", Attempt::Failed));
    // Rows of one input could come before another fails.
    let union = format!("SELECT 1::bigint UNION ALL SELECT count(x * x) FROM {values}");
    assert!(!lowered(&union, Numerics::Optimistic).unwrap().is_optimistic);
    // Rows that are returned as they come are never computed so.
    let streamed = format!("SELECT x * x FROM {values}");
    assert!(!lowered(&streamed, Numerics::Optimistic).unwrap().is_optimistic);
    assert!(!lowered(&sql, Numerics::Wide).unwrap().is_optimistic);
}

#[test]
fn columns_of_one_scale_are_integers() {
    let types = |sql: &str| {
        let schema = lowered(sql, Numerics::Wide).unwrap().schema;
        schema.fields().iter().map(|field| field.data_type().to_string()).collect::<Vec<_>>().join(" ")
    };
    for (sql, expected) in [
        ("SELECT x, x * x, x::text FROM (VALUES (1.50), (2.25)) v(x)", "Decimal128(38, 2) Decimal128(38, 4) Utf8View"),
        ("SELECT sum(x), avg(x) FROM (VALUES (1.50), (2.25)) v(x)", "Decimal128(38, 2) BinaryView"),
        ("SELECT x FROM (VALUES (1.5), (2.25)) v(x)", "BinaryView"),
        ("SELECT 1.5 UNION ALL SELECT 2.5", "Decimal128(38, 1)"),
        ("SELECT 1.5 UNION ALL SELECT 2.50", "BinaryView"),
        ("WITH w AS (SELECT 1.5 AS x) SELECT w.x + v.x FROM w, w v", "Decimal128(38, 1)"),
        ("SELECT round(x / 3, 2), round(x, 1) FROM (VALUES (1.50)) v(x)", "Decimal128(38, 2) Decimal128(38, 1)"),
        ("SELECT (SELECT max(x) FROM (VALUES (1.50)) v(x)) * 2", "Decimal128(38, 2)"),
    ] {
        assert_eq!(types(sql), expected, "{sql}");
    }
}
