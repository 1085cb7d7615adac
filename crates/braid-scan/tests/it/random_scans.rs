//! Random scans of random tables: any projection, predicates, limit, order, batch size, number of consumers and policy
//! answers what the model answers.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use braid_base::{ColumnId, Random};
use braid_buffer::ScanPolicy;
use braid_scan::{ChunkConsumer, CooperativeScan, FilteredChunk, ScanChunk, ScanSpec};
use braid_storage::{ColumnType, TableVersion};
use braid_testing::cases;

use crate::fixture::Fixture;
use crate::model::{Value, expected, sorted, values};

const POLICIES: [ScanPolicy; 4] = [ScanPolicy::Normal, ScanPolicy::Attach, ScanPolicy::Elevator, ScanPolicy::Relevance];

/// A random table, every other one with columns that were added after its first rows, and without its first column.
async fn random_fixture(seed: u64) -> Fixture {
    let policy = POLICIES[seed as usize / 2 % 4];
    if seed.is_multiple_of(2) { Fixture::random(seed, policy).await } else { Fixture::altered(seed, policy).await }
}

fn random_spec(fixture: &mut Fixture) -> ScanSpec {
    let (generator, row_count, first) = (&mut fixture.generator, fixture.rows.len(), fixture.first_column);
    let width = generator.columns.len() as u64 - u64::from(first);
    let projected = generator.random.below(width + 2);
    let projection = (0..projected).map(|_| ColumnId(first + generator.random.below(width) as u16)).collect();
    let mut predicates: Vec<_> = (0..generator.random.below(4)).map(|_| generator.predicate()).collect();
    predicates.retain(|(column, _)| column.0 >= first);
    let limit = generator.random.chance(1, 3).then(|| generator.random.below(row_count as u64 + 10));
    let batch_rows = [1, 100, 1024, 8192][generator.random.below(4) as usize];
    ScanSpec { projection, predicates, limit, in_order: generator.random.chance(1, 4), batch_rows }
}

/// All rows that `consumers` consumers of one scan produce, each its own task, in the order of one if it is alone.
async fn run(fixture: &Fixture, spec: &ScanSpec, consumers: usize) -> Vec<Vec<Value>> {
    run_version(fixture, &fixture.version, spec, consumers).await
}

async fn run_version(
    fixture: &Fixture,
    version: &Arc<TableVersion>,
    spec: &ScanSpec,
    consumers: usize,
) -> Vec<Vec<Value>> {
    let scan = CooperativeScan::start(&fixture.buffer, version.clone(), spec.clone());
    let types: Vec<ColumnType> =
        spec.projection.iter().map(|c| fixture.generator.columns[usize::from(c.0)].column_type).collect();
    let tasks: Vec<_> = (0..consumers)
        .map(|_| {
            let (mut consumer, types, batch_rows) = (scan.consumer(), types.clone(), spec.batch_rows);
            tokio::spawn(async move {
                let mut rows = Vec::new();
                while let Some(batch) = consumer.next_batch().await {
                    let batch = batch.unwrap();
                    assert!((1..=batch_rows).contains(&batch.num_rows()), "{} rows", batch.num_rows());
                    rows.extend(values(&types, &batch));
                }
                assert!(consumer.next_batch().await.is_none());
                rows
            })
        })
        .collect();
    let mut rows = Vec::new();
    for task in tasks {
        rows.extend(task.await.unwrap());
    }
    let metrics = scan.metrics();
    assert_eq!(metrics.rows_out, rows.len() as u64);
    assert!(metrics.chunks_read + metrics.chunks_counted + metrics.chunks_pruned <= metrics.chunks_total);
    assert!(!scan.is_registered());
    rows
}

/// The rows that a consumer of chunks selects in one of them.
fn selected(
    scan: &CooperativeScan,
    consumer: &mut ChunkConsumer,
    mut chunk: FilteredChunk,
    types: &[ColumnType],
) -> Vec<Vec<Value>> {
    let (spec, mut rows, mut vectors) = (scan.spec(), Vec::new(), Vec::new());
    let schema = spec.schema(&scan.version().def);
    // What is selected can be read for as long as the chunk is pinned.
    let _pin = chunk.pin();
    while let Some((vector, selection)) = consumer.next_vector(&mut chunk) {
        vectors.push(vector);
        assert!(selection.count() > 0, "a vector without rows");
        let options = RecordBatchOptions::new().with_row_count(Some(selection.count()));
        let gather = |column: &ColumnId| {
            chunk.segment(scan, *column).gather(vector..vector + 1, std::slice::from_ref(&selection))
        };
        let arrays = spec.projection.iter().map(gather).collect();
        let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options).unwrap();
        rows.extend(values(types, &batch));
    }
    assert!(vectors.is_sorted_by(|a, b| a < b), "vectors {vectors:?}");
    rows
}

/// The same as [`run`], from consumers that select rows and leave their columns to be read.
async fn run_chunks(fixture: &Fixture, spec: &ScanSpec, consumers: usize) -> Vec<Vec<Value>> {
    let scan = CooperativeScan::start(&fixture.buffer, fixture.version.clone(), spec.clone());
    let columns = &fixture.generator.columns;
    let types: Arc<[ColumnType]> = spec.projection.iter().map(|c| columns[usize::from(c.0)].column_type).collect();
    let tasks: Vec<_> = (0..consumers)
        .map(|_| {
            let (scan, types) = (scan.clone(), types.clone());
            let mut consumer = scan.chunk_consumer();
            tokio::spawn(async move {
                let mut rows = Vec::new();
                while let Some(chunk) = consumer.next_chunk().await {
                    match chunk.unwrap() {
                        ScanChunk::Counted { chunk, rows: count } => {
                            assert!(types.is_empty(), "rows without the columns that are wanted of them");
                            assert_eq!(count, u64::from(scan.version().chunks[chunk].live_row_count()));
                            rows.resize(rows.len() + count as usize, Vec::new());
                        }
                        ScanChunk::Filtered(chunk) => rows.extend(selected(&scan, &mut consumer, chunk, &types)),
                    }
                }
                assert!(consumer.next_chunk().await.is_none());
                assert_eq!(consumer.metrics().rows_out, rows.len() as u64);
                rows
            })
        })
        .collect();
    let mut rows = Vec::new();
    for task in tasks {
        rows.extend(task.await.unwrap());
    }
    assert_eq!(scan.metrics().rows_out, rows.len() as u64);
    assert!(!scan.is_registered());
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunks_select_the_rows_that_batches_have() {
    for case in cases!(100..116) {
        let mut fixture = random_fixture(case.seed).await;
        for number in 0..12 {
            let spec = ScanSpec { limit: None, ..random_spec(&mut fixture) };
            let consumers = 1 + fixture.generator.random.below(3) as usize;
            let context = format!("scan {number}, {consumers} consumers: {spec:?}");
            let found = run_chunks(&fixture, &spec, consumers).await;
            let batches = run(&fixture, &spec, consumers).await;
            let all = expected(&fixture.rows, &spec.projection, &spec.predicates);
            if spec.in_order && consumers == 1 {
                assert_eq!(format!("{found:?}"), format!("{all:?}"), "{context}");
            }
            let found = sorted(found);
            assert!(found == sorted(batches), "other than batches, {context}");
            assert!(found == sorted(all), "{context}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_scans_answer_as_the_model_does() {
    for case in cases!(0..32) {
        let mut fixture = random_fixture(case.seed).await;
        for number in 0..12 {
            let spec = random_spec(&mut fixture);
            let consumers = 1 + fixture.generator.random.below(3) as usize;
            let all = expected(&fixture.rows, &spec.projection, &spec.predicates);
            let context = format!("scan {number}, {consumers} consumers: {spec:?}");
            let found = run(&fixture, &spec, consumers).await;
            let wanted = spec.limit.map_or(all.len(), |limit| all.len().min(limit as usize));
            assert_eq!(found.len(), wanted, "{context}");
            if spec.in_order && consumers == 1 {
                assert_eq!(format!("{found:?}"), format!("{:?}", &all[..wanted]), "{context}");
            }
            let (found, mut all) = (sorted(found), sorted(all));
            if spec.limit.is_none() {
                assert!(found == all, "{context}");
            } else {
                // Each row found is taken from those that may be.
                for row in found {
                    let at =
                        all.binary_search(&row).unwrap_or_else(|_| panic!("{context}: {row} is not in the answer"));
                    all.remove(at);
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_scans_share_a_buffer_smaller_than_the_table() {
    for case in cases!(0..4) {
        let policy = POLICIES[case.seed as usize % 4];
        let mut fixture = Fixture::random(case.seed, policy).await;
        let specs: Vec<ScanSpec> = (0..6).map(|_| ScanSpec { limit: None, ..random_spec(&mut fixture) }).collect();
        let answers = futures::future::join_all(specs.iter().map(|spec| run(&fixture, spec, 2))).await;
        for (spec, answer) in specs.iter().zip(answers) {
            let all = expected(&fixture.rows, &spec.projection, &spec.predicates);
            assert!(sorted(answer) == sorted(all), "{policy}: {spec:?}");
        }
    }
}

/// Versions share segments in the buffer, and not what is deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_scans_of_two_versions_have_each_their_own_rows() {
    let mut differing = 0;
    for case in cases!(0..16) {
        let mut fixture = random_fixture(case.seed).await;
        let (older, older_rows) = fixture.older.clone();
        differing += usize::from(older_rows.len() != fixture.rows.len());
        let specs: Vec<ScanSpec> = (0..4).map(|_| ScanSpec { limit: None, ..random_spec(&mut fixture) }).collect();
        let of_both = specs.iter().map(|spec| {
            let newer = run(&fixture, spec, 2);
            async { tokio::join!(newer, run_version(&fixture, &older, spec, 2)) }
        });
        for (spec, (newer, of_older)) in specs.iter().zip(futures::future::join_all(of_both).await) {
            let all = |rows: &[Vec<Value>]| sorted(expected(rows, &spec.projection, &spec.predicates));
            assert!(sorted(newer) == all(&fixture.rows), "{spec:?}");
            assert!(sorted(of_older) == all(&older_rows), "before the delete: {spec:?}");
        }
    }
    assert!(differing > 4);
}
