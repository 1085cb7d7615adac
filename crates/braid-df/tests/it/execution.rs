//! Running scans through DataFusion: rounds of execution, partitions, limits, cancellation, metrics, errors.

use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::{ExecutionPlan, collect, execute_stream, execute_stream_partitioned};
use futures::StreamExt;

use crate::fixture::Fixture;

fn row_count(batches: &[arrow::array::RecordBatch]) -> usize {
    batches.iter().map(|batch| batch.num_rows()).sum()
}

async fn wait_for_no_scans(fixture: &Fixture) {
    for _ in 0..1000 {
        if fixture.buffer.stats().scans == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{} scans are still registered", fixture.buffer.stats().scans);
}

#[tokio::test]
async fn dropping_the_stream_ends_the_scan() {
    let fixture = Fixture::new().await;
    let plan = fixture.plan("SELECT txt FROM t").await;
    let context = fixture.braid.task_ctx();
    let mut streams = execute_stream_partitioned(plan.clone(), context.clone()).unwrap();
    assert_eq!(streams.len(), 2);
    assert_eq!(fixture.buffer.stats().scans, 0, "nothing is registered before the first poll");
    assert!(streams[0].next().await.unwrap().unwrap().num_rows() > 0);
    assert_eq!(fixture.buffer.stats().scans, 1);
    // The plan is still there: it does not hold the scan.
    drop(streams);
    wait_for_no_scans(&fixture).await;
    // A stream that is dropped in the middle of waiting.
    let mut stream =
        execute_stream(fixture.plan("SELECT a.id FROM t a JOIN t b ON a.id = b.i64").await, context).unwrap();
    let _ = futures::poll!(stream.next());
    drop(stream);
    wait_for_no_scans(&fixture).await;
    drop(plan);
}

#[tokio::test]
async fn each_round_of_execution_is_a_scan_of_its_own() {
    let fixture = Fixture::new().await;
    let plan = fixture.plan("SELECT id FROM t").await;
    let total = fixture.version.row_count() as usize;
    let context = fixture.braid.task_ctx();
    for _ in 0..2 {
        assert_eq!(row_count(&collect(plan.clone(), context.clone()).await.unwrap()), total);
    }
    let reset = plan.clone().reset_state().unwrap();
    assert_eq!(row_count(&collect(reset, context.clone()).await.unwrap()), total);
    // One partition alone produces everything; the other, executed later in the same round, has nothing left.
    let mut rows = Vec::new();
    for partition in [0, 1] {
        let stream = plan.execute(partition, context.clone()).unwrap();
        let batches: Vec<_> = stream.map(|batch| batch.unwrap()).collect().await;
        rows.push(row_count(&batches));
    }
    assert_eq!(rows, [total, 0]);
    wait_for_no_scans(&fixture).await;
}

#[tokio::test]
async fn limits_are_exact() {
    let fixture = Fixture::new().await;
    for (sql, expected) in [
        ("SELECT id FROM t LIMIT 7", 7),
        ("SELECT id FROM t LIMIT 0", 0),
        ("SELECT id FROM t LIMIT 100000", 6800),
        ("SELECT id FROM t LIMIT 10 OFFSET 6795", 5),
        ("SELECT id FROM t WHERE id >= 6790 LIMIT 7", 7),
        ("SELECT id FROM t WHERE id >= 6790 LIMIT 50", 10),
        ("SELECT id FROM t WHERE i32 + id > 6795 AND id > 10 LIMIT 3", 3),
        ("SELECT * FROM (SELECT id FROM t LIMIT 50) ORDER BY id DESC LIMIT 9", 9),
        ("SELECT a.id FROM (SELECT id FROM t LIMIT 20) a, (SELECT id FROM t LIMIT 30) b", 600),
        ("SELECT id FROM t UNION ALL SELECT id FROM t LIMIT 6900", 6900),
    ] {
        let batches = fixture.braid.sql(sql).await.unwrap().collect().await.unwrap();
        assert_eq!(row_count(&batches), expected, "{sql}");
    }
    let plan = fixture.plan_text("SELECT id FROM t LIMIT 7").await;
    assert!(plan.contains("limit=7"), "{plan}");
}

#[tokio::test]
async fn ordered_scans_keep_the_order() {
    let settings = braid_df::ScanSettings { in_order: true, ..Default::default() };
    let fixture = Fixture::with_settings(settings).await;
    let plan = fixture.plan("SELECT id FROM t").await;
    assert_eq!(plan.properties().partitioning.partition_count(), 1);
    let batches = collect(plan, fixture.braid.task_ctx()).await.unwrap();
    let ids: Vec<i64> = batches
        .iter()
        .flat_map(|batch| {
            let ids = arrow::array::AsArray::as_primitive::<arrow::datatypes::Int64Type>(batch.column(0).as_ref());
            ids.values().to_vec()
        })
        .collect();
    assert!(ids.is_sorted() && ids.len() == 6800);
}

#[tokio::test]
async fn metrics_say_what_was_read_and_what_was_not() {
    let fixture = Fixture::new().await;
    let plan = fixture.plan("SELECT txt FROM t WHERE day = DATE '1994-08-28'").await;
    let batches = collect(plan.clone(), fixture.braid.task_ctx()).await.unwrap();
    let scan = leaf(&plan);
    let metrics = scan.metrics().unwrap();
    let sum = |name: &str| metrics.sum_by_name(name).map_or(0, |value| value.as_usize());
    assert_eq!(metrics.output_rows(), Some(row_count(&batches)));
    assert_eq!((sum("chunks_pruned"), sum("chunks_read")), (4, 1));
    assert!(sum("vectors_skipped") > 0 && sum("vectors_skipped") < sum("vectors"));
    assert!(sum("bytes_scanned") > 0 && sum("rows_scanned") >= 1000);
}

fn leaf(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    plan.children().first().map_or_else(|| plan.clone(), |child| leaf(child))
}
