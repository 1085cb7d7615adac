//! The 22 queries of TPC-H at scale 0.01 against the stored answers, under every scan policy, on a buffer smaller than
//! the data.

use std::collections::BTreeSet;

use braid_base::ByteSize;
use braid_bench::ScanPolicy;
use braid_bench::benchmarks::data_directory::stored_bytes;
use braid_bench::drivers::client::{Client, SessionClient};
use braid_bench::drivers::stored_answers::check_query;
use braid_bench::workloads::tpch::query;

use crate::small_tpch::{self, SCALE};

async fn check_all(policy: ScanPolicy) {
    let directory = tempfile::tempdir().unwrap();
    let buffer = ByteSize::mib(1);
    let database = small_tpch::open_copy(directory.path(), buffer).await;
    assert!(buffer.0 < stored_bytes(&database) / 2, "the data must not fit: {} bytes", stored_bytes(&database));
    let lineitem = database.store().snapshot().table("lineitem").unwrap().chunks.len();
    assert!(lineitem >= 4, "scans need several chunks to cooperate about, not {lineitem}");
    let mut client = SessionClient::new(&database);
    client.run(&format!("set braid.scan_policy = '{policy}'")).await.unwrap();
    let mut wrong = Vec::new();
    for number in 1..=22 {
        if let Err(error) = check_query(&mut client, number, SCALE).await {
            wrong.push(error.to_string());
        }
    }
    assert!(wrong.is_empty(), "under {policy}:\n{}", wrong.join("\n"));
    let stats = database.buffer().stats();
    assert!(stats.evictions > 0, "the buffer was never full: {stats:?}");
    assert!(stats.used_bytes <= stats.capacity_bytes, "{stats:?}");
    database.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_under_normal() {
    check_all(ScanPolicy::Normal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_under_attach() {
    check_all(ScanPolicy::Attach).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_under_elevator() {
    check_all(ScanPolicy::Elevator).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_under_relevance() {
    check_all(ScanPolicy::Relevance).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_in_random_join_orders() {
    let directory = tempfile::tempdir().unwrap();
    let database = small_tpch::open_copy(directory.path(), ByteSize::mib(1)).await;
    let mut client = SessionClient::new(&database);
    let mut plans = BTreeSet::new();
    for seed in 0..3 {
        client.run(&format!("set braid.join_order = random; set braid.join_order_seed = {seed}")).await.unwrap();
        for number in [2, 5, 7, 8, 9, 21] {
            check_query(&mut client, number, SCALE).await.unwrap();
            let plan = client.answer(&format!("explain {}", query(number, SCALE))).await.unwrap();
            plans.insert(plan.rows.concat().join("\n"));
        }
    }
    // A seed has an order of its own, nearly always.
    assert!(plans.len() > 12, "{} plans", plans.len());
    database.close().await;
}
