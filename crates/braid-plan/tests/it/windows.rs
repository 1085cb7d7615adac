//! Window functions on the operators: PostgreSQL's stored answers, and random queries beside their definition.

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_base::{ByteSize, Random, SeededRandom};
use braid_exec::executor::Executor;
use braid_exec::{ExecError, FixedBudget};
use braid_plan::lowering::{Environment, NoPlan, NoStoredTables, Numerics, Purpose, Session};
use braid_plan::planning::plan;
use braid_sql::tables::NoTables;
use braid_sql::testing::FixedSession;
use braid_sql::{SqlError, SqlState};
use braid_testing::cases;

use crate::memory_tables::{MemoryTable, rich, spilling};
use crate::running::{Failure, LATE_MAX, bound_to, lowered, run_by, texts};

/// The files of stored answers.
const FILES: &[&str] = &["counted_frames", "moving_frames", "places", "range_frames", "ranks"];

/// The rows of a line as a table in their order, with their places.
fn relation(types: &str, rows: &str) -> String {
    let types: Vec<&str> = types.split(" & ").collect();
    let literal = |(text, sql_type): (&str, &&str)| match text {
        "NULL" => format!(", NULL::{sql_type}"),
        text => format!(", '{}'::{sql_type}", text.replace('\'', "''")),
    };
    let values = |row: &str| row.split(" & ").zip(&types).map(literal).collect::<String>();
    let tuples: Vec<String> = match rows {
        "-" => vec![format!("(-1{})", types.iter().map(|sql_type| format!(", NULL::{sql_type}")).collect::<String>())],
        rows => rows.split(" | ").enumerate().map(|(at, row)| format!("({at}{})", values(row))).collect(),
    };
    let columns: String = (0..types.len()).map(|at| format!(", c{at}")).collect();
    format!("(SELECT * FROM (VALUES {}) AS t(place{columns}) WHERE place >= 0 ORDER BY place) AS v", tuples.join(", "))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// The results of a call in the order of the rows.
fn results(call: &str, over: &str, from: &str, executor: &Executor) -> Result<Vec<String>, SqlError> {
    let sql = format!("SELECT {call} OVER ({over}) FROM {from} ORDER BY place");
    let session: Arc<dyn Session> = Arc::new(FixedSession);
    let (bound, columns) = bound_to(&sql, &NoTables)?;
    let (purpose, numerics) = (Purpose::OneStatement, Numerics::Wide);
    let environment = Environment { session: &session, tables: &NoStoredTables, purpose, numerics };
    let lowered = plan(bound, columns, environment).map_err(NoPlan::into_error)?;
    let batches = match run_by(&lowered, executor) {
        Ok(batches) => batches,
        Err(Failure::OfSql(error)) => return Err(error),
        Err(other) => panic!("{sql}: {other:?}"),
    };
    let mut results = Vec::new();
    for batch in batches {
        results.extend(texts(&lowered, batch)?.into_iter().map(|mut row| row.remove(0)));
    }
    Ok(results)
}

fn answer(call: &str, over: &str, from: &str, executor: &Executor) -> String {
    let escaped_text = |text: String| if text == "\\N" { text } else { escaped(&text) };
    match results(call, over, from, executor) {
        Ok(results) => results.into_iter().map(escaped_text).collect::<Vec<_>>().join(" | "),
        Err(error) => escaped(&format!("{} {}", error.sqlstate(), error.message())),
    }
}

/// Whether an answer is as good: the operator words an overflow in another way.
fn is_alike(found: &str, expected: &str) -> bool {
    let is_overflow = |answer: &str| answer.starts_with(SqlState::NumericOutOfRange.code());
    is_overflow(found) && is_overflow(expected)
}

/// `BRAID_WINDOWS=name` runs one file.
#[test]
fn stored_windows_have_postgresqls_answers() {
    let only = std::env::var("BRAID_WINDOWS").ok();
    let (mut differences, mut count) = (Vec::new(), 0);
    for name in FILES.iter().filter(|name| only.as_deref().is_none_or(|only| only == **name)) {
        let path = format!("{}/../braid-sql/tests/windows/{name}.tsv", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let fields: Vec<&str> = line.splitn(6, '\t').collect();
            let [call, types, over, rows, _, expected] = fields[..] else { panic!("{line} has no answer") };
            count += 1;
            let found = answer(call, over, &relation(types, rows), &rich(1 + count % 2));
            if found != expected && !is_alike(&found, expected) {
                differences
                    .push(format!("{call} over ({over}) of {rows}\n  answer     {found}\n  PostgreSQL {expected}"));
            }
        }
    }
    let shown: Vec<&str> = differences.iter().take(40).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), shown.join("\n"));
    println!("{count} queries");
}

/// Columns of the random table.
const COLUMNS: &[(&str, &str)] = &[
    ("place", "int"),
    ("g", "int"),
    ("h", "text"),
    ("i", "bigint"),
    ("n", "numeric(10,2)"),
    ("f", "float8"),
    ("s", "text"),
    ("b", "boolean"),
    ("d", "date"),
];

fn pick<'t>(random: &mut SeededRandom, texts: &[&'t str]) -> &'t str {
    texts[random.below(texts.len() as u64) as usize]
}

fn table(random: &mut SeededRandom, row_count_max: u64) -> MemoryTable {
    let (row_count, group_count) = (random.below(row_count_max), 1 + random.below(12));
    let row = |place: u64, random: &mut SeededRandom| {
        let text = |random: &mut SeededRandom, texts: &[&str]| pick(random, texts).to_owned();
        vec![
            place.to_string(),
            random.below(group_count).to_string(),
            text(random, &["NULL", "'a'", "'b'", "'größer'"]),
            text(random, &["NULL", "1", "2", "-7", "9223372036854775807", "40"]),
            text(random, &["NULL", "1.50", "2.00", "-0.01", "99999999.99"]),
            text(random, &["NULL", "0.5", "-2", "1.25", "8"]),
            text(random, &["NULL", "'x'", "'y'", "''", "'zz\"'"]),
            text(random, &["NULL", "true", "false"]),
            text(random, &["NULL", "'2020-02-29'", "'infinity'", "'1998-12-01'"]),
        ]
    };
    let rows: Vec<Vec<String>> = (0..row_count).map(|place| row(place, random)).collect();
    MemoryTable::new(COLUMNS, &rows, 1 + random.below(40) as usize)
}

/// A call whose result does not depend on the order of peers, if these are in or out of its frame together.
fn call_of_groups(random: &mut SeededRandom) -> String {
    let any = pick(random, &["i", "n", "f", "s", "d", "i::numeric / 3", "make_interval(days => g)", "n::float4"]);
    let number = pick(random, &["i", "n", "f", "place", "g::int2", "i::numeric / 3", "n * g", "place * 2"]);
    let call = match random.below(8) {
        0 => "count(*)".to_owned(),
        1 => format!("count({any})"),
        2 => format!("sum({number})"),
        3 => format!("avg({number})"),
        4 | 5 => format!("{}({any})", pick(random, &["min", "max"])),
        6 => format!("{}(b)", pick(random, &["bool_and", "bool_or", "every"])),
        _ => format!("{}(place)", pick(random, &["bit_and", "bit_or", "max", "min"])),
    };
    if random.chance(2, 3) {
        return call;
    }
    format!("{call} FILTER (WHERE {})", pick(random, &["b", "place % 2 = 0", "s <> 'x'", "i > 100"]))
}

/// A call in an order without peers.
fn call_of_rows(random: &mut SeededRandom) -> String {
    let any =
        pick(random, &["i", "n", "f", "s", "b", "d", "i::numeric / 3", "make_interval(days => g)", "i::int2 / 1"]);
    let any = if any.contains("int2") { "g::int2" } else { any };
    let distance = pick(random, &["1", "0", "3", "-2", "g", "NULL::int", "1000000"]);
    match random.below(12) {
        0 => "row_number()".to_owned(),
        1 => format!("ntile({})", pick(random, &["1", "3", "200", "NULL::int"])),
        2 => format!("{}({any})", pick(random, &["lag", "lead"])),
        3 => format!("{}({any}, {distance})", pick(random, &["lag", "lead"])),
        4 => format!("{}(s, {distance}, h)", pick(random, &["lag", "lead"])),
        5 => format!("{}(n, {distance}, n * 2)", pick(random, &["lag", "lead"])),
        6 | 7 => format!("{}({any})", pick(random, &["first_value", "last_value"])),
        8 => format!("nth_value({any}, {})", pick(random, &["1", "2", "5", "g + 1", "NULL::int"])),
        9 => format!("array_agg({any})"),
        10 => "string_agg(s, h)".to_owned(),
        _ => call_of_groups(random),
    }
}

fn call_of_peers(random: &mut SeededRandom) -> String {
    match random.below(6) {
        0..4 => format!("{}()", pick(random, &["rank", "dense_rank", "percent_rank", "cume_dist"])),
        _ => call_of_groups(random),
    }
}

fn frame(random: &mut SeededRandom, modes: &[&str]) -> String {
    if random.chance(1, 3) {
        return String::new();
    }
    let starts = &["UNBOUNDED PRECEDING", "2 PRECEDING", "0 PRECEDING", "CURRENT ROW", "1 FOLLOWING"];
    let start = random.below(starts.len() as u64) as usize;
    let ends: &[&str] = match start {
        0..3 => &["1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "5 FOLLOWING", "UNBOUNDED FOLLOWING"],
        3 => &["CURRENT ROW", "3 FOLLOWING", "UNBOUNDED FOLLOWING"],
        _ => &["3 FOLLOWING", "1 FOLLOWING", "UNBOUNDED FOLLOWING"],
    };
    let (mode, start, end) = (pick(random, modes), starts[start], pick(random, ends));
    if mode == "RANGE" && [start, end].iter().any(|bound| bound.starts_with(|first: char| first.is_ascii_digit())) {
        return format!(" ROWS BETWEEN {start} AND {end}");
    }
    let exclusion = match mode {
        "ROWS" | "GROUPS" if random.chance(1, 4) => {
            pick(random, &[" EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS"])
        }
        _ => "",
    };
    match random.chance(1, 8) {
        true if start != "1 FOLLOWING" => format!(" {mode} {start}{exclusion}"),
        _ => format!(" {mode} BETWEEN {start} AND {end}{exclusion}"),
    }
}

/// A call over a window.
fn windowed(random: &mut SeededRandom) -> String {
    let partition = pick(random, &["", "", "PARTITION BY g", "PARTITION BY g", "PARTITION BY h, b", "PARTITION BY n"]);
    let keys = ["s", "d DESC", "n NULLS FIRST", "f DESC NULLS LAST, s", "i", "n / 3"];
    match random.below(4) {
        0 => format!("{} OVER ({partition})", call_of_groups(random)),
        1 => {
            let (call, key) = (call_of_peers(random), pick(random, &keys));
            let frame = frame(random, &["RANGE", "GROUPS", "GROUPS"]).replace("ROWS", "GROUPS");
            format!("{call} OVER ({partition} ORDER BY {key}{frame})")
        }
        2 => {
            let (start, key) = (pick(random, &["2", "0", "1.5"]), pick(random, &["n", "n DESC", "f NULLS FIRST", "f"]));
            let call = call_of_groups(random);
            format!("{call} OVER ({partition} ORDER BY {key} RANGE BETWEEN {start} PRECEDING AND 1 FOLLOWING)")
        }
        _ => {
            let (call, key) = (call_of_rows(random), pick(random, &keys));
            let place = pick(random, &["place", "place DESC"]);
            format!("{call} OVER ({partition} ORDER BY {key}, {place}{})", frame(random, &["ROWS", "GROUPS", "RANGE"]))
        }
    }
}

fn query(random: &mut SeededRandom) -> String {
    let calls: Vec<String> = (0..=random.below(4)).map(|at| format!("{} AS r{at}", windowed(random))).collect();
    let calls = calls.join(", ");
    let condition = pick(random, &["true", "place > 10", "false", "g = 1 OR h = 'a'"]);
    let from = pick(random, &["t", "t", "t", "(SELECT * FROM t ORDER BY place LIMIT 50) t"]);
    let inner = format!("SELECT place, g, h, n, {calls} FROM {from} WHERE {condition}");
    match random.below(5) {
        0 => format!("SELECT * FROM ({inner}) w WHERE g > 1 AND n > 0 ORDER BY place"),
        1 => format!("SELECT w.*, t.i FROM ({inner}) w JOIN t ON w.place = t.place AND w.g = 1"),
        2 => format!("SELECT h, count(r0), row_number() OVER (ORDER BY h) FROM ({inner}) w GROUP BY h"),
        3 => format!("{inner} ORDER BY place LIMIT 20"),
        _ => inner,
    }
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

/// The rows on an executor, or the text of the error; `None` if there was too little memory.
fn outcome(table: &MemoryTable, sql: &str, executor: &Executor) -> Option<Result<Vec<Vec<String>>, String>> {
    Some(match table.rows(sql, executor) {
        Ok(rows) => Ok(sorted(rows)),
        Err(Failure::OfSql(error)) => Err(error.message().to_owned()),
        Err(Failure::Other(ExecError::Memory(_))) => return None,
        Err(other) => panic!("{sql}: {other:?}"),
    })
}

#[test]
fn random_windows_are_what_they_are_defined_to_be() {
    let directory = tempfile::tempdir().unwrap();
    let cases = cases!(150, nightly 400);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let (mut answers, mut spilled, mut starved) = (0, 0, 0);
    for case in cases {
        let mut random = SeededRandom::new(case.seed);
        let table = table(&mut random, 150);
        let sql = query(&mut random);
        let expected = table.defined_rows(&sql).map(sorted).map_err(|error| error.message().to_owned());
        answers += usize::from(expected.is_ok());
        for worker_count in [1, 3] {
            let found = outcome(&table, &sql, &rich(worker_count)).expect("there is enough memory");
            assert_eq!(found, expected, "{sql} with {worker_count} workers");
        }
        let place = directory.path().join(case.seed.to_string());
        std::fs::create_dir(&place).unwrap();
        let (executor, space) = spilling(1 + random.below(3) as usize, 1 << (8 + random.below(6)), &place);
        assert_eq!(outcome(&table, &sql, &executor).expect("it spills"), expected, "{sql} spilling");
        spilled += usize::from(space.file_count() > 0);
        let poor = Executor::new(2, FixedBudget::new(ByteSize(1 << (8 + random.below(8)))));
        match outcome(&table, &sql, &poor) {
            None => starved += 1,
            found => assert_eq!(found, Some(expected), "{sql} with little memory"),
        }
    }
    println!("{answers} of {count} queries had answers, {spilled} spilled, {starved} had too little memory");
    assert!(is_replay || answers * 2 > count && spilled * 4 > count && starved * 10 > count);
}

/// A window in a query that reads columns of the query around it, or is joined, filtered or read twice.
fn nested_query(random: &mut SeededRandom) -> String {
    let call = pick(
        random,
        &["rank()", "count(*)", "sum(u.place + t.g)", "min(u.s)", "count(u.n + t.n)", "dense_rank()", "max(t.n)"],
    );
    let partition = pick(random, &["", "PARTITION BY u.h", "PARTITION BY t.g, u.b", "PARTITION BY u.g"]);
    let order = pick(random, &["", "ORDER BY u.s", "ORDER BY u.d DESC, u.b", "ORDER BY t.i, u.n"]);
    let of_rows = format!("row_number() OVER ({partition} ORDER BY u.n, u.place DESC)");
    let windowed = if random.chance(1, 3) { of_rows } else { format!("{call} OVER ({partition} {order})") };
    let correlation =
        pick(random, &["u.g = t.g", "u.g <= t.g", "u.h = t.h AND u.place < t.place", "u.n = t.n", "true"]);
    let inner = format!("SELECT u.place AS p, u.g AS k, {windowed} AS r FROM t u WHERE {correlation}");
    let alone = inner.replace("t.", "u.").replace(&correlation.replace("t.", "u."), "u.g IS NOT NULL");
    let plain = "SELECT place AS p, g AS k, rank() OVER (PARTITION BY g ORDER BY s) AS r FROM t";
    match random.below(9) {
        0 => format!("SELECT place, (SELECT count(r) FROM ({inner}) s) FROM t"),
        1 => format!("SELECT place, (SELECT r FROM ({inner}) s WHERE p = t.place) FROM t"),
        2 => format!("SELECT place, s.p, s.r FROM t, LATERAL ({inner}) s WHERE t.place % 3 = 0"),
        3 => format!("SELECT place, s.r FROM t LEFT JOIN LATERAL ({inner}) s ON s.p = t.place"),
        4 => format!("SELECT place FROM t WHERE EXISTS (SELECT 1 FROM ({inner}) s WHERE k > 2)"),
        5 => format!("SELECT place FROM t WHERE place IN (SELECT p FROM ({inner}) s WHERE k = t.g)"),
        6 => format!("SELECT a.p, b.r FROM ({alone}) a JOIN ({plain}) b ON a.p = b.r WHERE a.k > 1"),
        7 => format!("WITH w AS ({plain}) SELECT a.p, b.p FROM w a LEFT JOIN w b ON a.r = b.r + 1 AND a.k = b.k"),
        _ => format!("SELECT k, r, count(*) OVER (PARTITION BY k) FROM ({alone}) a WHERE k IN (1, 2) AND p > 3"),
    }
}

#[test]
fn random_windows_in_subqueries_are_what_they_are_defined_to_be() {
    let cases = cases!(0..300);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let mut answers = 0;
    for case in cases {
        let mut random = SeededRandom::new(case.seed);
        let table = table(&mut random, 30);
        let sql = nested_query(&mut random);
        let expected = table.defined_rows(&sql).map(sorted).map_err(|error| error.message().to_owned());
        let found = outcome(&table, &sql, &rich(1 + random.below(3) as usize)).expect("there is enough memory");
        answers += usize::from(found.is_ok());
        assert_eq!(found, expected, "{sql}");
    }
    println!("{answers} of {count} queries had answers");
    assert!(is_replay || answers * 4 > count * 3, "{answers} of {count}");
}

#[test]
fn windows_whose_orders_are_prefixes_share_a_sort() {
    for (calls, sort_count) in [
        ("rank() OVER (ORDER BY x), row_number() OVER (ORDER BY x, y), count(*) OVER ()", 1),
        ("rank() OVER (PARTITION BY x, y), sum(x) OVER (PARTITION BY y, x ORDER BY z)", 1),
        ("rank() OVER (ORDER BY x), sum(y) OVER (PARTITION BY x), max(x) OVER (ORDER BY x ROWS 1 PRECEDING)", 2),
        ("rank() OVER (ORDER BY x), rank() OVER (ORDER BY x DESC)", 2),
        ("rank() OVER (ORDER BY x), rank() OVER (ORDER BY y), rank() OVER (ORDER BY x, z)", 2),
    ] {
        let sql = format!("SELECT {calls} FROM (VALUES (1, 2, 3), (1, 2, 4)) v(x, y, z)");
        let mut plan = String::new();
        lowered(&sql, Numerics::Wide).unwrap().plan.describe(0, &mut plan).unwrap();
        assert_eq!(plan.matches("Window:").count(), sort_count, "{sql}\n{plan}");
    }
    let nested = "SELECT sum(r) OVER (PARTITION BY x) FROM (SELECT x, rank() OVER (PARTITION BY x) AS r FROM generate_series(1, 2) x) v";
    let mut plan = String::new();
    lowered(nested, Numerics::Wide).unwrap().plan.describe(0, &mut plan).unwrap();
    assert_eq!(plan.matches("Window:").count(), 2, "{plan}");
}

/// The rows of one partition take seconds.
#[test]
fn a_long_partition_can_be_cancelled() {
    let table = MemoryTable::new(&[], &[], 1);
    let calls = [
        "max(x) OVER (ORDER BY x % 1000, x DESC ROWS BETWEEN 500 PRECEDING AND 500 FOLLOWING)",
        "sum(x::numeric / 7) OVER (ORDER BY x RANGE BETWEEN 1000 PRECEDING AND 10 FOLLOWING)",
    ];
    let mut cancelled = 0;
    for (wait_ms, call) in [50, 300, 900, 1500].into_iter().zip(calls.iter().cycle()) {
        let sql = format!("SELECT count(r) FROM (SELECT {call} AS r FROM generate_series(1, 100000) x) AS w");
        let executor = rich(2);
        let flag = executor.cancellation();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(wait_ms));
            flag.raise();
            Instant::now()
        });
        let ended = table.rows(&sql, &executor);
        let end = Instant::now();
        let late = end.saturating_duration_since(canceller.join().unwrap());
        match ended {
            Err(Failure::Other(ExecError::Cancelled)) => cancelled += 1,
            ended => assert_eq!(ended.unwrap().len(), 1),
        }
        assert!(late < LATE_MAX, "it ended {late:?} after it was cancelled");
    }
    assert!(cancelled > 0, "every run ended before it was cancelled");
}
