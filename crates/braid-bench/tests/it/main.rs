//! Runs every benchmark at a tiny scale. The benchmark's own checks of answers must pass, and its figures must be plausible.
//!
//! The server's tests run the benchmarks that need a server (`tpch-mix`, `footprint` and others) and the demo. Here the closed loop runs
//! over sessions in this process.

#![allow(clippy::unwrap_used, reason = "in tests the line number is enough")]

mod tpcds;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use braid_bench::benchmarks::benchmark::Peer;
use braid_bench::benchmarks::data_directory::open_tpch;
use braid_bench::drivers::client::{Client, SessionClient};
use braid_bench::drivers::closed_loop::{Load, closed_loop};
use braid_bench::report::Report;
use braid_bench::workloads::generated::GeneratedTable;
use braid_bench::workloads::loading::{Progress, ensure, load};
use braid_bench::workloads::tpch::{TpchMix, TpchTable};
use braid_bench::workloads::workload::Workload;
use braid_bench::{BenchError, BenchOptions, Servers, benchmarks, run_benchmark};
use braid_engine::{Config, Database};

/// The smallest scale with stored answers.
const SCALE: f64 = 0.01;

/// Options with the data directory of a test. Each test has its own, because a database can be open only once at a time.
fn options(directory: &Path) -> BenchOptions {
    BenchOptions {
        peer: None,
        data: directory.to_owned(),
        scale: SCALE,
        clients: vec![1, 2],
        seconds: 0.2,
        rounds: 1,
        buffer: None,
        connections: 1,
        heavy_clients: vec![1],
        response_limit: None,
        rows: 1,
        cases: 300,
        seed: 1,
        planted_every: None,
        plot: Some(directory.join("growth.svg")),
        json: Some(directory.join("figures.json")),
    }
}

/// Servers that cannot start, for benchmarks without a server.
fn no_server() -> Servers {
    const NONE: &str = "there is no server in this test";
    Servers {
        in_process: Box::new(|_| Box::pin(async { Err(NONE.into()) })),
        own_process: Box::new(|_, _, _| Box::pin(async { Err(NONE.into()) })),
    }
}

async fn run(name: &str, options: &BenchOptions) -> Report {
    let report = run_benchmark(name, options, &no_server()).await.unwrap();
    let json: PathBuf = options.json.clone().unwrap();
    let written: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(written["bench"], name);
    assert_eq!(written["figures"].as_array().unwrap().len(), report.figures.len());
    assert!(report.figures.iter().all(|f| f.value.is_finite() && f.value >= 0.0), "{report:?}");
    report
}

fn value(report: &Report, figure: &str) -> f64 {
    report.figures.iter().find(|f| f.figure == figure).unwrap_or_else(|| panic!("{figure} in {report:?}")).value
}

/// The benchmarks that need no server, one after the other on one data directory.
#[tokio::test(flavor = "multi_thread")]
async fn benchmarks_run_tiny_and_check_their_answers() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path());

    let check = run("tpch-check", &options).await;
    assert_eq!(value(&check, "queries with the right answer"), 22.0);

    let load = run("load", &options).await;
    assert!(value(&load, "bytes on disk") > 0.5, "{load:?}");
    assert!(!directory.path().join("load-scratch").exists(), "the benchmark cleans up behind itself");

    let scan = run("cold-scan", &options).await;
    assert_eq!(value(&scan, "bytes read beyond the column's segments"), 0.0);

    let sharing = run("scan-sharing", &options).await;
    let read = |policy: &str| value(&sharing, &format!("bytes read, {policy}, 32 scans"));
    assert!(read("relevance") > 0.0 && read("relevance") <= read("normal"), "{sharing:?}");

    let pass = run("one-pass", &options).await;
    // 64 times as many queries: they share their scans, joins and groups.
    let pass_s = |count: usize| value(&pass, &format!("mix: one pass of {count}"));
    assert!(pass_s(1024) < 32.0 * pass_s(16), "{pass:?}");
    let plot = std::fs::read_to_string(directory.path().join("growth.svg")).unwrap();
    // Of each type at six numbers of queries, of the mix at those that all types have a part in.
    assert!(plot.contains("\nQ13\n") && plot.matches("<circle").count() >= 8 * 6 + 4, "{plot}");

    let spilling = run("spilling", &options).await;
    let spilled =
        |part: u64| value(&spilling, &format!("queries that wrote temporary files with 1/{part} of the memory"));
    assert!(spilled(10) >= 1.0 && spilled(10) >= spilled(2), "{spilling:?}");

    let sets = run("query-sets", &options).await;
    // 2048 times as many queries fall into few distinct sets.
    let interned_s = |count: usize| value(&sets, &format!("one pass of {count} with interned sets, one worker"));
    assert!(interned_s(4096) < 512.0 * interned_s(2), "{sets:?}");

    let orders = run("join-order", &options).await;
    let of_queries = orders.figures.iter().filter(|f| f.figure.starts_with('q') && f.figure.contains(": worst"));
    let worst: Vec<f64> = of_queries.map(|f| f.value).collect();
    assert!(worst.len() >= 10, "{orders:?}");
    assert_eq!(
        value(&orders, "worst order / chosen, worst query"),
        worst.into_iter().fold(0.0, f64::max),
        "{orders:?}"
    );
    assert!(orders.figures.iter().all(|f| !f.figure.starts_with("q06")), "it has no joins: {orders:?}");

    let power = run("tpch-power", &options).await;
    let mean_ms = |name: &str| value(&power, &format!("geometric mean of 22 queries, {name}"));
    // The sum of 22 times is no less than 22 times their geometric mean.
    assert!(value(&power, "all 22 queries, Braid") * 1e3 >= 21.99 * mean_ms("Braid"), "{power:?}");
}

/// The benchmark compares the rows of all queries.
#[tokio::test(flavor = "multi_thread")]
async fn a_merged_pass_answers_the_queries_of_all_star_templates() {
    let directory = tempfile::tempdir().unwrap();
    let report = run("star-merged", &options(directory.path())).await;
    for count in [12, 64, 256] {
        for words in ["a word for each template", "shared words"] {
            assert!(value(&report, &format!("merged pass of {count}, {words}")) > 0.0, "{report:?}");
        }
    }
    let sets = |count: usize| value(&report, &format!("sets across templates of {count}"));
    assert!(sets(12) > 1.0 && sets(12) < sets(64) && sets(64) < sets(256), "{report:?}");
}

/// Compares with other plans, because DuckDB is not installed everywhere.
#[tokio::test(flavor = "multi_thread")]
async fn random_queries_have_the_same_answers_on_other_plans() {
    let directory = tempfile::tempdir().unwrap();
    let options = BenchOptions { peer: Some(Peer::OtherPlans), ..options(directory.path()) };
    let report = run("differential", &options).await;
    assert_eq!(value(&report, "differences"), 0.0, "the cases are printed above");
    assert!(value(&report, "answers that agree") >= 280.0, "{report:?}");
    assert!(value(&report, "rows of these answers") >= 1000.0, "{report:?}");
    assert!(!directory.path().join("differential-scratch").exists(), "the benchmark cleans up behind itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_closed_loop_runs_the_mix_without_failures() {
    let directory = tempfile::tempdir().unwrap();
    let database = open_tpch(&options(directory.path()), None).await.unwrap();
    let clients = (0..3).map(|_| Box::new(SessionClient::new(&database)) as Box<dyn Client>).collect();
    let workload: Arc<dyn Workload> = Arc::new(TpchMix);
    let load = Load { workload: &workload, seed: 1, duration: Duration::from_millis(500) };
    let (figures, _) = closed_loop(clients, load).await.unwrap();
    assert_eq!(figures.errors, (0, None), "{figures:?}");
    assert!(figures.queries >= 3 && figures.elapsed >= Duration::from_millis(500), "{figures:?}");
    // Half of the queries took the median at least, and no client asks two at a time.
    let busy_s = figures.queries as f64 / 2.0 * figures.latency_ms(0.5) / 1e3;
    assert!(busy_s <= 3.0 * figures.elapsed.as_secs_f64() * 1.01, "{figures:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_is_reused_completed_and_refused() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(Config::new(directory.path().join("data"))).await.unwrap();
    let report = load::<TpchTable>(&database, 0.001, Progress::Silent).await.unwrap();
    assert_eq!(report.tables.len(), 8);
    assert_eq!(report.tables[7], ("lineitem", 6005));
    let exists = load::<TpchTable>(&database, 0.001, Progress::Silent).await.unwrap_err();
    assert!(matches!(exists, BenchError::TableExists { table: "region" }), "{exists}");

    assert!(ensure::<TpchTable>(&database, 0.001, Progress::Silent).await.unwrap().tables.is_empty());
    let other = ensure::<TpchTable>(&database, 0.01, Progress::Silent).await.unwrap_err();
    assert!(matches!(other, BenchError::OtherScale { table: "supplier", found: 10, expected: 100, .. }), "{other}");

    database.store().drop_table("orders").await.unwrap();
    let again = ensure::<TpchTable>(&database, 0.001, Progress::Silent).await.unwrap();
    assert_eq!(again.tables, [("orders", 1500)]);
    let catalog = database.store().snapshot();
    for &table in TpchTable::ALL {
        let version = catalog.table(table.name()).unwrap();
        assert_eq!(version.def.primary_key.len(), table.primary_key().len(), "{table}");
    }
}

#[tokio::test]
async fn bad_names_and_options_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(directory.path());
    let server = no_server();
    let unknown = run_benchmark("fastest", &options, &server).await.unwrap_err().to_string();
    assert!(benchmarks().iter().all(|b| unknown.contains(b.name)), "{unknown}");
    options.clients = vec![0];
    let clients = run_benchmark("tpch-mix", &options, &server).await.unwrap_err();
    assert!(matches!(clients, BenchError::BadOption { option: "clients", .. }), "{clients}");
    options.clients = vec![1];
    options.heavy_clients = vec![1, 0];
    let heavy = run_benchmark("heavy-light", &options, &server).await.unwrap_err();
    assert!(matches!(heavy, BenchError::BadOption { option: "heavy-clients", .. }), "{heavy}");
    options.heavy_clients = vec![1];
    options.response_limit = Some(0);
    let limit = run_benchmark("overload", &options, &server).await.unwrap_err();
    assert!(matches!(limit, BenchError::BadOption { option: "response-limit", .. }), "{limit}");
    options.response_limit = None;
    options.scale = 0.0;
    let scale = run_benchmark("tpch-check", &options, &server).await.unwrap_err();
    assert!(matches!(scale, BenchError::BadOption { option: "scale", .. }), "{scale}");
}
