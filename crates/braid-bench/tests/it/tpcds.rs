//! TPC-DS at scale 0.01: all statements against PostgreSQL's answers, and `tpcds-power` on the same data.

use std::path::Path;

use braid_bench::BenchOptions;
use braid_bench::benchmarks::benchmark::Peer;
use braid_bench::benchmarks::data_directory::open_tpcds;
use braid_bench::drivers::client::{Client, SessionClient};
use braid_bench::workloads::answer::{Answer, RowOrder};
use braid_bench::workloads::tpcds::QUERIES;

use crate::{options, run, value};

/// Where `bench/peers/make_answers.py` stores the answers.
const ANSWERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/answers/tpcds-sf0.01");

/// The difference from the stored answer, or the error.
async fn fault(client: &mut SessionClient, name: &str, sql: &str) -> Option<String> {
    let stored = std::fs::read_to_string(Path::new(ANSWERS).join(format!("{name}.csv"))).unwrap();
    let compared = match client.answer(sql).await {
        Ok(found) => Answer::from_csv(&stored).compare(&found, RowOrder::Kept).map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    };
    compared.err().map(|message| format!("{name}: {message}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tpcds_query_has_the_answer_of_postgresql_and_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    // DuckDB is not installed everywhere.
    let options = BenchOptions { peer: Some(Peer::OtherPlans), ..options(directory.path()) };
    let database = open_tpcds(&options).await.unwrap();
    let mut client = SessionClient::new(&database);
    let mut faults = Vec::new();
    for (name, sql) in QUERIES {
        faults.extend(fault(&mut client, name, sql).await);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    drop(client);
    database.close().await;
    drop(database);

    let power = run("tpcds-power", &options).await;
    let mean_ms = value(&power, "geometric mean of 103 queries, Braid");
    assert!(value(&power, "all 103 queries, Braid") * 1e3 >= 102.9 * mean_ms, "{power:?}");
}
