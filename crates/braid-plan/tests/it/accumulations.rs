//! Aggregates on the operators: PostgreSQL's stored answers, and random queries beside their definition.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use braid_base::{ByteSize, Random, SeededRandom};
use braid_exec::executor::Executor;
use braid_exec::{ExecError, FixedBudget};
use braid_sql::{SqlError, SqlState};
use braid_testing::cases;

use crate::memory_tables::{MemoryTable, rich, spilling};
use crate::running::{Failure, LATE_MAX, rows};

/// The files of stored answers, each with how many of its lines are refused as unsupported.
const FILES: &[(&str, usize)] = &[
    ("arrays", 0),
    ("booleans", 0),
    ("extremes", 4),
    ("bits", 0),
    ("floats", 0),
    ("hypothetical_sets", 0),
    ("integers", 0),
    ("intervals", 4),
    ("json", 0),
    ("numerics", 0),
    ("ordered_sets", 0),
    ("orders", 13),
    ("regressions", 0),
    ("strings", 0),
];

fn parts<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    if text.is_empty() { Vec::new() } else { text.split(separator).collect() }
}

/// The rows of a line as a table `v`, with their places.
fn relation(types: &[&str], rows: &str) -> String {
    let literal = |(text, sql_type): (&str, &&str)| match text {
        "NULL" => format!(", NULL::{sql_type}"),
        text => format!(", '{}'::{sql_type}", text.replace('\'', "''")),
    };
    let values = |row: &str| row.split(" & ").zip(types).map(literal).collect::<String>();
    let rows: Vec<&str> = if rows == "-" { Vec::new() } else { rows.split(" | ").collect() };
    let empty = || format!("(-1{})", types.iter().map(|sql_type| format!(", NULL::{sql_type}")).collect::<String>());
    let tuples: Vec<String> = match rows.is_empty() {
        true => vec![empty()],
        false => rows.iter().enumerate().map(|(at, row)| format!("({at}{})", values(row))).collect(),
    };
    let columns: String = (0..types.len()).map(|at| format!(", c{at}")).collect();
    format!("(SELECT * FROM (VALUES {}) AS t(place{columns}) WHERE place >= 0) AS v", tuples.join(", "))
}

/// The queries of a line: in the order of the rows' places, and, where that is the order of the input, without ORDER BY.
fn queries(call: &str, rows: &str) -> Vec<String> {
    let (name, rest) = call.split_once('(').unwrap();
    let rest = rest.strip_suffix(')').unwrap();
    if let Some((direct, keys)) = rest.split_once(") within group (") {
        let keys: Vec<(&str, &str)> = keys.split(" & ").map(|key| key.split_once(' ').unwrap_or((key, ""))).collect();
        let types: Vec<&str> = keys.iter().map(|key| key.0).collect();
        let order: Vec<String> = keys.iter().enumerate().map(|(at, key)| format!("c{at} {}", key.1)).collect();
        let direct = parts(direct, " & ").join(", ");
        let from = relation(&types, rows);
        return vec![format!("SELECT {name}({direct}) WITHIN GROUP (ORDER BY {}) FROM {from}", order.join(", "))];
    }
    if rest == "*" {
        return vec![format!("SELECT {name}(*) FROM {}", relation(&[], rows))];
    }
    let types: Vec<&str> = rest.split(" & ").collect();
    let arguments: Vec<String> = (0..types.len()).map(|at| format!("c{at}")).collect();
    let (arguments, from) = (arguments.join(", "), relation(&types, rows));
    vec![
        format!("SELECT {name}({arguments} ORDER BY place) FROM {from}"),
        format!("SELECT {name}({arguments}) FROM {from}"),
    ]
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// What is shown of the only value, or of an error.
fn answer(sql: &str) -> Result<String, SqlError> {
    match rows(sql) {
        Ok(rows) => {
            let [row] = &rows[..] else { panic!("{sql} has {} rows", rows.len()) };
            Ok(if row[0] == "\\N" { row[0].clone() } else { escaped(&row[0]) })
        }
        Err(error) if error.state() == SqlState::FeatureNotSupported => Err(error),
        Err(error) => Ok(escaped(&format!("{} {}", error.sqlstate(), error.message()))),
    }
}

/// Whether an answer is as good: the operator's own sums and extremes of floats do not tell -0 from 0, and word an overflow in another way.
fn is_alike(call: &str, found: &str, expected: &str) -> bool {
    let is_native = ["min(float", "max(float", "sum(float8"].iter().any(|native| call.starts_with(native));
    let is_overflow = |answer: &str| answer.starts_with(SqlState::NumericOutOfRange.code());
    is_native
        && (found.trim_start_matches('-') == "0" && expected.trim_start_matches('-') == "0"
            || is_overflow(found) && is_overflow(expected))
}

/// `BRAID_AGGREGATES=name` runs one file and prints what is refused.
#[test]
fn stored_aggregates_have_postgresqls_answers() {
    let only = std::env::var("BRAID_AGGREGATES").ok();
    let (mut differences, mut refused, mut count) = (Vec::new(), BTreeMap::new(), 0);
    for (name, _) in FILES.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        let path = format!("{}/../braid-sql/tests/aggregates/{name}.tsv", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let mut refused_here = 0;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let fields: Vec<&str> = line.splitn(4, '\t').collect();
            let [call, rows, _, expected] = fields[..] else { panic!("{line} of {name} has no answer") };
            for sql in queries(call, rows) {
                count += 1;
                match answer(&sql) {
                    Ok(found) if found == expected || is_alike(call, &found, expected) => {}
                    Ok(found) => differences.push(format!("{sql}\n  answer     {found}\n  PostgreSQL {expected}")),
                    Err(error) => {
                        refused_here += 1;
                        if only.is_some() {
                            println!("unsupported: {sql}: {error}");
                        }
                    }
                }
            }
        }
        refused.insert(*name, refused_here);
    }
    let shown: Vec<&str> = differences.iter().take(40).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), shown.join("\n"));
    println!("{count} queries");
    if only.is_none() {
        assert_eq!(refused, FILES.iter().copied().collect(), "queries that are refused");
    }
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

fn table(random: &mut SeededRandom) -> MemoryTable {
    let (row_count, group_count) = (random.below(120), 1 + random.below(12));
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

/// A call of an aggregate. Rows have an order wherever it matters.
fn call(random: &mut SeededRandom) -> String {
    let any =
        &["i", "n", "f", "s", "b", "d", "i::numeric / 3", "i::int2", "make_interval(days => i::int2)", "n::float4"];
    let number = &["i", "n", "f", "i::numeric / 3", "place", "n + i"];
    let order = pick(random, &["place", "s, place", "f DESC, place", "n NULLS FIRST, place DESC", "d, i, place"]);
    let fraction = pick(random, &["0.5", "0", "1", "0.3", "ARRAY[0.25, 0.75]"]);
    let (one, another, value) = (pick(random, number), pick(random, &["f", "place"]), pick(random, any));
    let same = pick(random, &["i", "s", "d", "b"]);
    let exact = pick(random, &["i", "i::int2", "n", "place", "i::numeric / 3", "n - 1.5"]);
    let call = match random.below(26) {
        0 => format!("array_agg({value} ORDER BY {order})"),
        1 => format!("string_agg(s, ',' ORDER BY {order})"),
        2 => format!("string_agg(h || s, s ORDER BY {order})"),
        3 => format!("json_agg({} ORDER BY {order})", pick(random, &["i", "s", "b", "n"])),
        4 => format!("jsonb_agg({} ORDER BY {order})", pick(random, &["i", "s", "b", "n"])),
        5 => format!("jsonb_object_agg(coalesce(s, ''), {} ORDER BY {order})", pick(random, &["i", "b"])),
        6 => format!("{}({one})", pick(random, &["sum", "avg"])),
        7 => format!("round({}({one}::numeric), 6)", pick(random, &["var_pop", "stddev_samp", "variance", "stddev"])),
        8 => format!("{}(b)", pick(random, &["bool_and", "bool_or", "every"])),
        9 => format!("{}(place)", pick(random, &["bit_and", "bit_or", "bit_xor"])),
        10 => format!("round({}(place, {another})::numeric, 6)", pick(random, &["regr_sxy", "regr_avgx", "covar_pop"])),
        11 => format!("percentile_cont({fraction}) WITHIN GROUP (ORDER BY f)"),
        12 => format!("percentile_disc({fraction}) WITHIN GROUP (ORDER BY {same} DESC)"),
        13 => format!("mode() WITHIN GROUP (ORDER BY {same})"),
        14 => format!("{}(2) WITHIN GROUP (ORDER BY place)", pick(random, &["rank", "dense_rank", "percent_rank"])),
        15 => format!("{}(DISTINCT {value})", pick(random, &["count", "array_agg"])),
        16 => format!("{}(DISTINCT {one})", pick(random, &["sum", "avg"])),
        17 => format!("string_agg(DISTINCT s, ',' {})", pick(random, &["", "ORDER BY s DESC"])),
        18 => format!("{}({value})", pick(random, &["count", "array_agg"])),
        19 => format!("{}({exact})", pick(random, &["variance", "var_pop", "stddev", "stddev_pop"])),
        20 => {
            format!("{}({})", pick(random, &["bit_and", "bit_or", "bit_xor"]), pick(random, &["i", "i::int2", "place"]))
        }
        21 => format!("regr_count({another}, f)"),
        22 => format!(
            "round({}(f, {another})::numeric, 6)",
            pick(random, &["corr", "covar_samp", "regr_slope", "regr_r2"])
        ),
        23 => {
            format!("percentile_disc({fraction}) WITHIN GROUP (ORDER BY {})", pick(random, &["f", "f DESC", "i", "d"]))
        }
        24 => {
            format!("percentile_cont({fraction}) WITHIN GROUP (ORDER BY {})", pick(random, &["f DESC", "place", "i"]))
        }
        _ => format!("percentile_disc(g / 100.0) WITHIN GROUP (ORDER BY {same})"),
    };
    // Two functions take the results of calls, which FILTER follows.
    if call.starts_with("round") || random.chance(2, 3) {
        return if call.contains("g / 100.0") { format!("{call} FILTER (WHERE place % 3 <> 0)") } else { call };
    }
    format!("{call} FILTER (WHERE {})", pick(random, &["b", "place % 2 = 0", "s <> 'x'", "i > 100"]))
}

fn query(random: &mut SeededRandom) -> String {
    let mut calls: Vec<String> = (0..=random.below(3)).map(|_| call(random)).collect();
    let keys = pick(random, &["g", "h", "g, h", "n", "b", ""]);
    if !keys.split(", ").any(|key| key == "g") {
        calls.retain(|call| !call.contains("g / 100.0"));
        calls.push("count(*)".to_owned());
    }
    let (calls, condition) = (calls.join(", "), pick(random, &["true", "place > 10", "false"]));
    let from = pick(
        random,
        &["t", "t", "(SELECT * FROM t ORDER BY s, place DESC) t", "(SELECT * FROM t ORDER BY place LIMIT 50) t"],
    );
    match keys {
        "" => format!("SELECT {calls} FROM {from} WHERE {condition}"),
        keys => {
            let sets = match random.below(6) {
                0 => format!("ROLLUP ({keys})"),
                1 => format!("CUBE ({keys})"),
                2 => format!("GROUPING SETS (({keys}), ())"),
                3 => format!("GROUPING SETS (ROLLUP ({keys}), ({keys}), GROUPING SETS (()))"),
                _ => return format!("SELECT {keys}, {calls} FROM {from} WHERE {condition} GROUP BY {keys}"),
            };
            format!("SELECT {keys}, grouping({keys}), {calls} FROM {from} WHERE {condition} GROUP BY {sets}")
        }
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
fn random_aggregates_are_what_they_are_defined_to_be() {
    let directory = tempfile::tempdir().unwrap();
    let cases = cases!(0..400);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let (mut answers, mut spilled, mut starved) = (0, 0, 0);
    for case in cases {
        let mut random = SeededRandom::new(case.seed);
        let table = table(&mut random);
        let sql = query(&mut random);
        let sql = if sql.contains("grouping(") { sql.replace("g / 100.0", "0.3") } else { sql };
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

/// The rows of one group take seconds to be collected, sorted and accumulated.
#[test]
fn a_large_group_can_be_cancelled() {
    let table = MemoryTable::new(&[], &[], 1);
    let sql = "SELECT array_agg(x ORDER BY x % 1000, x DESC) FROM generate_series(1, 200000) x";
    let mut cancelled = 0;
    for wait_ms in [50, 300, 900, 1500] {
        let executor = rich(2);
        let flag = executor.cancellation();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(wait_ms));
            flag.raise();
            Instant::now()
        });
        let ended = table.rows(sql, &executor);
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
