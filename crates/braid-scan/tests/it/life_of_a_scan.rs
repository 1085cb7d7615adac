//! When a scan begins and ends: registration, limits, cancellation, what the catalog answers, live predicates.

use std::ops::Bound;
use std::sync::Arc;

use braid_base::ColumnId;
use braid_buffer::ScanPolicy;
use braid_scan::{CooperativeScan, LivePredicates, ScanSpec, prune};
use braid_storage::{ColumnPredicate, Scalar};
use braid_testing::eventually;
use parking_lot::Mutex;

use crate::fixture::Fixture;
use crate::model::expected;

/// A column of the fixture whose chunks have bounds of one type, with a predicate on it that some chunks refute.
fn selective_predicate(fixture: &Fixture) -> Option<(ColumnId, ColumnPredicate)> {
    let columns = &fixture.generator.columns;
    (0..columns.len()).filter(|at| !columns[*at].column_type.is_encoded_numeric()).find_map(|at| {
        let column = ColumnId(at as u16);
        fixture.version.chunks.iter().find_map(|chunk| {
            let zone_map = &chunk.segments[at].zone_map;
            let predicate =
                ColumnPredicate::Range { low: Bound::Unbounded, high: Bound::Included(zone_map.min.clone()?) };
            let kept = prune(&fixture.version, &[(column, predicate.clone())]).len();
            (kept < fixture.version.chunks.len()).then_some((column, predicate))
        })
    })
}

/// The first random table on which `find` finds something.
async fn fixture_with<T>(find: impl Fn(&Fixture) -> Option<T>) -> (Fixture, T) {
    for seed in 0..1000 {
        let fixture = Fixture::random(seed, ScanPolicy::Relevance).await;
        if fixture.version.chunks.len() > 2
            && let Some(found) = find(&fixture)
        {
            return (fixture, found);
        }
    }
    panic!("no random table qualifies")
}

async fn wait_for_scans(fixture: &Fixture, scans: u64) {
    eventually(format!("{scans} scans to be registered"), || fixture.buffer.stats().scans == scans).await;
}

#[tokio::test]
async fn dropping_the_consumers_ends_the_registration() {
    let (fixture, ()) = fixture_with(|_| Some(())).await;
    let spec = ScanSpec { batch_rows: 10, ..ScanSpec::new(vec![ColumnId(0)]) };
    let scan = CooperativeScan::start(&fixture.buffer, fixture.version.clone(), spec);
    let (mut one, two) = (scan.consumer(), scan.consumer());
    drop(scan);
    assert!(one.next_batch().await.unwrap().unwrap().num_rows() > 0);
    wait_for_scans(&fixture, 1).await;
    drop(one);
    wait_for_scans(&fixture, 1).await;
    drop(two);
    wait_for_scans(&fixture, 0).await;
    assert_eq!(fixture.buffer.stats().pinned_bytes, 0);
}

#[tokio::test]
async fn a_limit_ends_the_scan_for_all_consumers() {
    let (fixture, ()) = fixture_with(|_| Some(())).await;
    let spec = ScanSpec { limit: Some(5), ..ScanSpec::new(vec![ColumnId(0)]) };
    let scan = CooperativeScan::start(&fixture.buffer, fixture.version.clone(), spec);
    let (mut one, mut two) = (scan.consumer(), scan.consumer());
    assert_eq!(one.next_batch().await.unwrap().unwrap().num_rows(), 5);
    assert!(two.next_batch().await.is_none());
    assert!(!scan.is_registered());
    let metrics = scan.metrics();
    assert_eq!((metrics.rows_out, metrics.chunks_read), (5, 1));
    let nothing = ScanSpec { limit: Some(0), ..ScanSpec::new(vec![ColumnId(0)]) };
    let scan = CooperativeScan::start(&fixture.buffer, fixture.version.clone(), nothing);
    assert!(!scan.is_registered() && scan.consumer().next_batch().await.is_none());
}

#[tokio::test]
async fn counting_what_the_zone_maps_decide_reads_nothing() {
    let (fixture, ()) = fixture_with(|_| Some(())).await;
    let column = fixture.generator.columns.iter().position(|c| !c.nullable).map_or(0, |at| at as u16);
    let predicates = match fixture.generator.columns[usize::from(column)].nullable {
        false => vec![(ColumnId(column), ColumnPredicate::IsNotNull)],
        true => Vec::new(),
    };
    let scan = CooperativeScan::start(
        &fixture.buffer,
        fixture.version.clone(),
        ScanSpec { predicates, ..ScanSpec::new(Vec::new()) },
    );
    let mut consumer = scan.consumer();
    let mut rows = 0;
    while let Some(batch) = consumer.next_batch().await {
        rows += batch.unwrap().num_rows();
    }
    assert_eq!(rows, fixture.rows.len());
    assert_eq!(scan.metrics().chunks_counted as usize, fixture.version.chunks.len());
    assert_eq!(fixture.buffer.stats().segments_loaded, 0);
}

#[tokio::test]
async fn refuted_chunks_are_not_registered() {
    let (fixture, predicate) = fixture_with(selective_predicate).await;
    let spec = ScanSpec { predicates: vec![predicate.clone()], ..ScanSpec::new(vec![ColumnId(0)]) };
    let scan = CooperativeScan::start(&fixture.buffer, fixture.version.clone(), spec);
    let mut consumer = scan.consumer();
    let mut rows = 0;
    while let Some(batch) = consumer.next_batch().await {
        rows += batch.unwrap().num_rows();
    }
    assert_eq!(rows, expected(&fixture.rows, &[ColumnId(0)], &[predicate]).len());
    let metrics = scan.metrics();
    assert!(metrics.chunks_pruned > 0);
    assert_eq!(metrics.chunks_read, metrics.chunks_total - metrics.chunks_pruned);
}

/// Predicates that a test changes.
#[derive(Debug)]
struct Switched {
    columns: Vec<ColumnId>,
    current: Mutex<Vec<(ColumnId, ColumnPredicate)>>,
}

impl LivePredicates for Switched {
    fn columns(&self) -> &[ColumnId] {
        &self.columns
    }

    fn current(&self) -> Vec<(ColumnId, ColumnPredicate)> {
        self.current.lock().clone()
    }
}

#[tokio::test]
async fn live_predicates_narrow_a_running_scan() {
    let (fixture, (column, predicate)) = fixture_with(selective_predicate).await;
    let live = Arc::new(Switched { columns: vec![column], current: Mutex::new(Vec::new()) });
    let start = |spec| {
        let live: Arc<dyn LivePredicates> = live.clone();
        CooperativeScan::start_with_live_predicates(&fixture.buffer, fixture.version.clone(), spec, Some(live))
    };
    // Nothing known at the start: every chunk is registered. Known before the first chunk is taken: chunks are refuted.
    let spec = ScanSpec::new(vec![ColumnId(0)]);
    let scan = start(spec.clone());
    *live.current.lock() = vec![(column, predicate.clone())];
    let mut consumer = scan.consumer();
    let mut rows = 0;
    while let Some(batch) = consumer.next_batch().await {
        rows += batch.unwrap().num_rows();
    }
    let wanted = expected(&fixture.rows, &[ColumnId(0)], &[(column, predicate)]).len();
    let metrics = scan.metrics();
    assert_eq!((rows, metrics.chunks_pruned), (wanted, 0));
    assert!(metrics.chunks_refuted > 0);
    // Known at the start: the refuted chunks are not even registered.
    assert!(start(spec.clone()).metrics().chunks_pruned > 0);
    // Nothing can satisfy it: nothing is read.
    *live.current.lock() = vec![(column, ColumnPredicate::In(vec![]))];
    let scan = start(spec);
    assert!(scan.consumer().next_batch().await.is_none());
    let metrics = scan.metrics();
    assert_eq!(metrics.rows_out, 0);
}

#[tokio::test]
async fn an_empty_range_answers_nothing() {
    let (fixture, ()) = fixture_with(|f| {
        (f.generator.columns[0].column_type.physical() == braid_storage::PhysicalType::Int).then_some(())
    })
    .await;
    let never = ColumnPredicate::Range { low: Bound::Excluded(Scalar::Int(3)), high: Bound::Excluded(Scalar::Int(3)) };
    let spec = ScanSpec { predicates: vec![(ColumnId(0), never)], ..ScanSpec::new(vec![ColumnId(0)]) };
    let scan = CooperativeScan::start(&fixture.buffer, fixture.version.clone(), spec);
    assert!(scan.consumer().next_batch().await.is_none());
}
