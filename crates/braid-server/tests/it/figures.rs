//! The demo and the benchmarks that need a server, tiny: that they run, and that their figures make sense.
//!
//! In processes of their own, because other tests here measure this one's memory. Benchmarks of one test use one data directory.

use std::path::Path;
use std::process::Command;

use braid_base::ByteSize;
use braid_bench::benchmarks::data_directory::database_directory;
use serde_json::Value;

/// Nine thousand rows.
const SCALE: f64 = 0.001;

/// Runs `braid bench NAME` in `directory`; the JSON it writes.
fn bench(name: &str, directory: &Path, options: &[&str]) -> Value {
    let json = directory.join("figures.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command
        .args(["bench", name, "--scale", &SCALE.to_string(), "--data"])
        .arg(directory)
        .arg("--json")
        .arg(&json)
        .args(options);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["bench"], name);
    assert!(report["machine"].is_string());
    let printed = String::from_utf8(output.stdout).unwrap();
    for figure in report["figures"].as_array().unwrap() {
        let mut fields: Vec<&String> = figure.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["figure", "goal", "met", "unit", "value"]);
        assert_eq!(figure["goal"].is_null(), figure["met"].is_null(), "{figure}");
        assert!(figure["value"].as_f64().unwrap() >= 0.0, "{figure}");
        assert!(printed.contains(figure["figure"].as_str().unwrap()), "{figure} in {printed}");
    }
    report
}

/// The value of the figure called `name`.
fn value(report: &Value, name: &str) -> f64 {
    let figures = report["figures"].as_array().unwrap();
    let figure = figures.iter().find(|f| f["figure"] == name).unwrap_or_else(|| panic!("{name} in {report}"));
    figure["value"].as_f64().unwrap()
}

#[test]
fn the_demo_and_benchmarks_with_many_clients_run_tiny() {
    let directory = tempfile::tempdir().unwrap();
    check_demo(directory.path());
    check_mix(directory.path());
    check_many_clients(directory.path());
    check_heavy_light(directory.path());
    check_overload(directory.path());
}

#[test]
fn benchmarks_of_memory_run_tiny() {
    let directory = tempfile::tempdir().unwrap();
    check_footprint(directory.path());
    check_memory(directory.path());
}

#[test]
fn benchmarks_of_changing_tables_run_tiny() {
    let directory = tempfile::tempdir().unwrap();
    check_histories(directory.path());
    check_isolation(directory.path());
    check_refresh_mix(directory.path());
}

/// A history at each level, with kills of the server. An anomaly would be an error.
fn check_isolation(directory: &Path) {
    let report = bench("isolation", directory, &["--cases", "300", "--clients", "8", "--seed", "3"]);
    for level in ["read committed", "repeatable read", "serializable"] {
        let of = |figure| value(&report, &format!("{level}, 8 clients: {figure}"));
        // And the transaction that reads all lists.
        let ended = of("committed transactions") + of("aborted transactions") + of("transactions in doubt");
        assert_eq!((ended, of("anomalies"), of("kills of the server")), (101.0, 0.0, 4.0), "{report}");
        assert!(of("committed transactions") > 10.0 && of("appends of these") > 0.0, "{report}");
    }
}

/// Reads whose elements are in another order than those of others are found, and are an error.
#[test]
fn isolation_finds_wrong_reads() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(["bench", "isolation", "--cases", "300", "--clients", "8", "--seed", "5", "--planted-every", "5"]);
    let output = command.arg("--data").arg(directory.path()).output().unwrap();
    let (printed, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success(), "{printed}");
    let expected = "wrong answer to read committed: the history of 8 clients has";
    assert!(error.contains(expected) && error.contains("incompatible-order"), "{printed}{error}");
}

fn check_refresh_mix(directory: &Path) {
    let options = ["--clients", "4", "--seconds", "1", "--rounds", "2"];
    let report = bench("refresh-mix", directory, &options);
    let of = |figure| value(&report, &format!("4 clients: {figure}"));
    assert!(of("queries alone") > 0.0 && of("queries beside inserts") > 0.0, "{report}");
    assert!(of("beside / alone") > 0.05 && of("p95 of inserts") > 0.0, "{report}");
    assert!(of("inserted rows") > 50.0, "{report}");
}

/// Few queries, of enough clients that they share passes. A wrong answer would be an error.
fn check_histories(directory: &Path) {
    let report = bench("histories", directory, &["--queries", "600", "--clients", "24", "--seed", "3"]);
    assert_eq!(value(&report, "wrong answers"), 0.0, "{report}");
    let of = |figure| value(&report, figure);
    let ended = of("queries with the answer of the query alone")
        + of("queries with the error of the query alone")
        + of("cancelled queries")
        + of("refused queries")
        + of("queries whose client left");
    assert_eq!(ended, 600.0, "{report}");
    assert!(of("answers computed alone") > 0.0 && of("versions of the tables") > 0.0, "{report}");
    assert!(of("queries in passes with different ones") > 0.0, "{report}");
    assert!(of("distinct queries in the largest pass") > 1.0, "{report}");
}

/// Answers that are made wrong before they are checked are found, and are an error.
#[test]
fn histories_find_wrong_answers() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(["bench", "histories", "--queries", "200", "--clients", "8", "--seed", "5", "--planted-every", "40"]);
    let output = command.arg("--data").arg(directory.path()).output().unwrap();
    let (printed, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success(), "{printed}");
    let expected = (1..=5).any(|n| error.contains(&format!("{n} of the answers of this history, {n} of them planted")));
    assert!(expected && printed.contains("wrong answer, seed 5"), "{printed}{error}");
}

/// DuckDB is beside it where it is installed.
fn check_memory(directory: &Path) {
    let memory = bench("tpch-memory", directory, &["--buffer", "64MB", "--peer", "duckdb", "--seconds", "0.01"]);
    for at in 1..=22 {
        let growth = value(&memory, &format!("q{at:02}: growth, Braid"));
        assert!((1.0..500.0).contains(&growth), "q{at:02}: {memory}");
    }
    assert_eq!(value(&memory, "Braid's buffer"), ByteSize::mib(64).0 as f64 / 1e6, "{memory}");
}

/// DuckDB is beside it where it is installed.
fn check_mix(directory: &Path) {
    let plot = directory.join("throughput.svg");
    let plot_path = plot.to_str().unwrap();
    let options = ["--clients", "1,3", "--seconds", "0.2", "--rounds", "1", "--peer", "duckdb", "--plot", plot_path];
    check_comparison(&bench("tpch-mix", directory, &options), &[1, 3]);
    let drawing = std::fs::read_to_string(plot).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.contains("sharing off"), "{drawing}");
}

/// The other benchmarks with many clients, without DuckDB.
fn check_many_clients(directory: &Path) {
    let options = ["--clients", "3", "--seconds", "0.2", "--rounds", "1", "--peer", "other-plans"];
    check_comparison(&bench("panels", directory, &options), &[3]);
    check_comparison(&bench("star", directory, &options), &[3]);
    check_comparison(&bench("unlike", directory, &options), &[64]);
}

/// Figures of a benchmark with many clients, of sharing off and on.
fn check_comparison(report: &Value, client_counts: &[usize]) {
    for count in client_counts {
        let clients = if *count == 1 { "1 client".to_owned() } else { format!("{count} clients") };
        for sharing in ["off", "auto"] {
            let of = |figure: &str| value(report, &format!("{figure}, sharing {sharing}, {clients}"));
            assert_eq!(of("failed queries"), 0.0, "{report}");
            assert!(of("latency p50") <= of("latency p95") && of("latency p95") <= of("latency p99"), "{report}");
            // Half of the queries took the median at least, and no client asks two at a time. It holds for the figures of one
            // round: the medians over several rounds may be those of different ones.
            let busy_clients = of("throughput") / 2.0 * of("latency p50") / 1e3;
            assert!(busy_clients <= 1.05 * *count as f64, "{busy_clients} of {report}");
            assert!(of("server's processor time per query") > 0.0, "{report}");
            // Where a process may have a peak forgotten. Opening the file changes nothing: tests here measure this process's peak.
            // Code takes tens of megabytes, and tiny tables no gigabyte.
            if std::fs::OpenOptions::new().write(true).open("/proc/self/clear_refs").is_ok() {
                let (peak_mb, beyond_mb) = (of("server's peak memory"), of("server's peak memory beyond the buffer"));
                assert!(20.0 < beyond_mb && beyond_mb <= peak_mb && peak_mb < 1000.0, "{report}");
            }
        }
        assert!(value(report, &format!("throughput, auto / off, {clients}")) > 0.0, "{report}");
    }
}

/// Batches, and light queries beside heavy clients.
fn check_heavy_light(directory: &Path) {
    let options = ["--clients", "1,8", "--heavy-clients", "1,8", "--seconds", "0.5", "--rounds", "2"];
    let report = bench("heavy-light", directory, &options);
    for kind in ["light", "heavy"] {
        for queries in [format!("1 {kind} query"), format!("8 {kind} queries")] {
            assert_eq!(value(&report, &format!("failed queries, batches of {queries}")), 0.0, "{report}");
            let [off, auto] = ["off", "auto"].map(|of| value(&report, &format!("batch of {queries}, sharing {of}")));
            assert!(off > 0.0 && auto > 0.0, "{report}");
        }
    }
    let arrivals = value(&report, "arrivals of light queries");
    assert!(arrivals > 0.0, "{report}");
    for clients in ["0 heavy clients", "1 heavy client", "8 heavy clients"] {
        for sharing in ["off", "auto"] {
            let of = |figure: &str| value(&report, &format!("{figure}, sharing {sharing}, {clients}"));
            assert_eq!(of("failed queries"), 0.0, "{report}");
            assert!(of("light p50") <= of("light p95") && of("light p95") <= of("light p99"), "{report}");
            // No more answers than random arrivals; there are few of them.
            assert!(of("light throughput") <= 3.0 * arrivals + 10.0, "{report}");
            if clients != "0 heavy clients" {
                assert!(of("heavy throughput") > 0.0 && of("heavy p50") <= of("heavy p95"), "{report}");
                assert!(of("light p99 / unloaded") > 0.0, "{report}");
            }
        }
    }
}

/// With a limit that is met, so that some queries are answered, and with one that few queries meet when they have to wait.
fn check_overload(directory: &Path) {
    let options = ["--seconds", "0.5", "--rounds", "1", "--connections", "64", "--response-limit"];
    for limit in ["60000", "1"] {
        let report = bench("overload", directory, &[&options[..], &[limit]].concat());
        let capacity = value(&report, "capacity, sharing off");
        assert!(capacity > 0.0, "{report}");
        let mut arrived_before = 0.0;
        for load in ["0.5", "0.9", "1.5", "3"] {
            let contestants = ["sharing off", "sharing auto", "auto with a limit"];
            // Within a millisecond a busy machine may answer nothing.
            let answers_some = |contestant: &str| limit == "60000" || contestant != "auto with a limit";
            let arrived = contestants.map(|contestant| {
                assert!(!answers_some(contestant) || answered(&report, contestant, load) > 0.0, "{report}");
                check_contestant(&report, contestant, load)
            });
            // All have the same arrivals, no fewer than at the load before.
            assert!(arrived[0] >= arrived_before && arrived == [arrived[0]; 3], "{arrived:?} of {report}");
            arrived_before = arrived[0];
            assert!(value(&report, &format!("response p95, auto / off, load {load}")) > 0.0, "{report}");
            let refused = value(&report, &format!("refused queries, auto with a limit, load {load}"));
            let share = value(&report, &format!("refused with a limit, load {load}"));
            assert!((share - 100.0 * refused / arrived[2]).abs() < 1e-6, "{report}");
            if limit == "60000" {
                assert_eq!(refused, 0.0, "{report}");
                assert_eq!(value(&report, &format!("answers later than the limit, load {load}")), 0.0, "{report}");
            }
        }
    }
}

/// How many queries of a contestant were answered at a load of `overload`.
fn answered(report: &Value, contestant: &str, load: &str) -> f64 {
    value(report, &format!("answered queries, {contestant}, load {load}"))
}

/// Checks the figures of a contestant at a load of `overload`; the number of queries that arrived.
fn check_contestant(report: &Value, contestant: &str, load: &str) -> f64 {
    let of = |figure: &str| value(report, &format!("{figure}, {contestant}, load {load}"));
    assert_eq!(of("failed queries"), 0.0, "{report}");
    assert_eq!(of("answered queries") > 0.0, of("response p50") > 0.0, "{report}");
    assert!(of("response p50") <= of("response p95") && of("response p95") <= of("response p99"), "{report}");
    if contestant != "auto with a limit" {
        assert_eq!(of("refused queries"), 0.0, "{report}");
    }
    of("answered queries") + of("refused queries") + of("unfinished queries")
}

fn check_footprint(directory: &Path) {
    let options = ["--connections", "50", "--rows", "100000", "--seconds", "0.1", "--buffer", "64MB"];
    let footprint = bench("footprint", directory, &options);
    // A process starts, opens its directory and answers: no less than a tenth of a millisecond, in seconds.
    assert!((1e-4..60.0).contains(&value(&footprint, "start to first answer, median")), "{footprint}");
    let start = value(&footprint, "resident after start");
    assert!(start > 1.0 && value(&footprint, "resident after the 22 queries") > start, "{footprint}");
    assert!(value(&footprint, "resident for 50 idle connections") < 100.0, "{footprint}");
    assert!(value(&footprint, "peak resident growth while it streams") < 100.0, "{footprint}");
    assert!(value(&footprint, "rows per second once the client reads") > 1000.0, "{footprint}");
}

/// The rows of the demo's table: clients; queries a second, off and on; bytes read for each query, off and on.
fn demo_rows(printed: &str) -> Vec<(usize, [f64; 2], [f64; 2])> {
    let row = |line: &'_ str| {
        // Clients, queries/s twice, their ratio, p95 twice, bytes read and their unit twice.
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let clients = words.first().filter(|_| words.len() == 10)?.parse().ok()?;
        let number = |at: usize| words[at].parse::<f64>().unwrap();
        let bytes = |at: usize| number(at) * format!("1{}", words[at + 1]).parse::<ByteSize>().unwrap().0 as f64;
        Some((clients, [number(1), number(2)], [bytes(6), bytes(8)]))
    };
    printed.lines().filter_map(row).collect()
}

/// Also that sharing reads no more. It makes the data, where the benchmarks then find it.
fn check_demo(directory: &Path) {
    let data = database_directory(directory, SCALE);
    let scale = SCALE.to_string();
    let options = ["demo", "--scale", &scale, "--clients", "1,4", "--seconds", "0.3", "--data"];
    let output = Command::new(env!("CARGO_BIN_EXE_braid")).args(options).arg(data).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let rows = demo_rows(&printed);
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [1, 4], "{printed}");
    assert!(!printed.contains("failed"), "{printed}");
    for (_, throughput, bytes_read) in rows {
        assert!(throughput.iter().all(|of| *of > 0.0), "{printed}");
        assert!(bytes_read[1] <= bytes_read[0], "{printed}");
    }
}
