//! Joins and top-k tell the scan below what they no longer need.

use datafusion::physical_plan::collect;
use datafusion::physical_plan::{ExecutionPlan, displayable};

use crate::fixture::Fixture;

fn sum(plan: &dyn ExecutionPlan, name: &str) -> usize {
    let own = plan.metrics().filter(|_| plan.name() == "BraidScanExec").and_then(|metrics| metrics.sum_by_name(name));
    own.map_or(0, |value| value.as_usize())
        + plan.children().iter().map(|child| sum(child.as_ref(), name)).sum::<usize>()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_the_same_with_dynamic_filters() {
    let fixture = Fixture::new().await;
    for sql in [
        "SELECT t.id, small.txt FROM t JOIN small ON t.id = small.id",
        "SELECT t.id, small.txt FROM t JOIN small ON t.i32 = small.i32",
        "SELECT t.id FROM t WHERE id IN (SELECT id FROM small)",
        "SELECT t.id FROM t WHERE i32 NOT IN (SELECT i32 FROM small WHERE i32 IS NOT NULL)",
        "SELECT t.id, small.id FROM t LEFT JOIN small ON t.id = small.id WHERE t.id > 5980",
        "SELECT t.id, small.id FROM t FULL JOIN small ON t.id = small.id AND t.i32 > 3",
        "SELECT t.id, small.txt FROM t JOIN small ON t.id = small.id AND t.i32 = small.i32",
        "SELECT t.id FROM t JOIN small ON t.id = small.id WHERE small.txt = 'nope'",
        "SELECT a.id FROM t a JOIN t b ON a.id = b.id WHERE b.i32 = 7 AND b.n12 > 1",
        "SELECT id FROM t ORDER BY id LIMIT 10",
        "SELECT id FROM t ORDER BY id DESC LIMIT 10",
        "SELECT id, day FROM t ORDER BY day DESC, id LIMIT 12",
        "SELECT id, i32 FROM t ORDER BY i32, id LIMIT 5",
        "SELECT id, i32 FROM t ORDER BY i32 DESC NULLS LAST, id LIMIT 5",
        "SELECT id, txt FROM t WHERE i16 > 3 ORDER BY txt NULLS FIRST, id LIMIT 700",
        "SELECT min(id), max(day) FROM t WHERE i16 > 3",
    ] {
        fixture.check(sql).await;
    }
}

#[tokio::test]
async fn a_join_leaves_out_the_chunks_its_keys_cannot_be_in() {
    let fixture = Fixture::new().await;
    let plan = fixture.plan("SELECT t.n12, small.txt FROM small JOIN t ON t.id = small.id").await;
    let batches = collect(plan.clone(), fixture.braid.task_ctx()).await.unwrap();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 10);
    let text = displayable(plan.as_ref()).indent(false).to_string();
    assert!(text.contains("dynamic_filters=[DynamicFilter ["), "{text}");
    // Four of five chunks, before the scan was registered.
    assert_eq!(sum(plan.as_ref(), "chunks_pruned"), 4, "{text}");
    // And in the fifth only the vectors with the keys are decoded.
    assert_eq!(sum(plan.as_ref(), "rows_scanned"), 700 + 10, "{text}");
}

#[tokio::test]
async fn a_top_k_leaves_out_what_cannot_reach_the_top() {
    let fixture = Fixture::new().await;
    let plan = fixture.plan("SELECT id, txt FROM t ORDER BY id DESC LIMIT 10").await;
    let batches = collect(plan.clone(), fixture.braid.task_ctx()).await.unwrap();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 10);
    let text = displayable(plan.as_ref()).indent(false).to_string();
    assert!(text.contains("dynamic_filters=[DynamicFilter ["), "{text}");
}
