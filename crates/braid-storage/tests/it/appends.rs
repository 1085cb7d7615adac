//! Appends: chunks, merging, constraints, concurrency, abandonment, full disks.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewBuilder};
use braid_base::{CHUNK_ROWS, ColumnId};
use braid_io::{Fault, FaultDevice};
use braid_storage::{Manifest, Store, StoreError, StoreOptions, TableVersion};

use crate::test_table::{data_files, insert, named_files, new_table, open, read_ids, rows, test_device};

const CHUNK: i64 = CHUNK_ROWS as i64;

#[tokio::test]
async fn a_load_becomes_full_chunks_and_a_rest_in_a_file_of_its_own() {
    let temp = tempfile::tempdir().unwrap();
    let device = test_device(temp.path());
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    let mut appender = store.append("t").unwrap();
    let total = 2 * CHUNK + 1_777;
    for start in (0..total).step_by(10_000) {
        appender.append(rows(start..(start + 10_000).min(total))).await.unwrap();
    }
    assert_eq!(store.snapshot().table("t").unwrap().row_count(), 0, "nothing is seen before the commit");
    let (version, count) = appender.commit().await.unwrap();
    assert_eq!(count, total as u64);
    let chunks: Vec<u32> = version.chunks.iter().map(|chunk| chunk.row_count).collect();
    assert_eq!(chunks, [CHUNK_ROWS as u32, CHUNK_ROWS as u32, 1_777]);
    assert_eq!(version.chunks[0].data_file().id(), version.chunks[1].data_file().id());
    assert_ne!(version.chunks[1].data_file().id(), version.chunks[2].data_file().id());
    assert!(read_ids(device.as_ref(), &version).await.into_iter().eq(0..total));
    // The rest is merged with what comes next; the full chunks are not touched.
    let next = insert(&store, "t", total..total + 2_000).await.unwrap();
    assert!(Arc::ptr_eq(&next.chunks[1], &version.chunks[1]));
    assert_eq!(next.chunks[2].row_count, 3_777);
    assert!(read_ids(device.as_ref(), &next).await.into_iter().eq(0..total + 2_000));
    // The old version still reads its own file, which goes with it.
    assert_eq!(read_ids(device.as_ref(), &version).await.len() as i64, total);
    assert_eq!(data_files(temp.path()).len(), 3);
    drop(version);
    assert_eq!(data_files(temp.path()), named_files(&store));
    assert!(store.check(|_| {}).await.is_sound());
}

#[tokio::test]
async fn small_inserts_leave_few_chunks_and_all_rows_in_order() {
    let temp = tempfile::tempdir().unwrap();
    let device = test_device(temp.path());
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    for id in 0..100 {
        let version = insert(&store, "t", id..id + 1).await.unwrap();
        assert!(version.chunks.len() <= 12, "100 rows in {} chunks", version.chunks.len());
        assert!(version.chunks.iter().all(|chunk| chunk.file.is_none()), "few rows are in memory");
    }
    let version = Arc::clone(store.snapshot().table("t").unwrap());
    assert!(read_ids(device.as_ref(), &version).await.into_iter().eq(0..100));
    assert_eq!(data_files(temp.path()), named_files(&store));
    assert!(version.chunks.iter().map(|chunk| chunk.id).is_sorted());
}

#[tokio::test]
async fn concurrent_appends_to_one_table_all_arrive_whole() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    let writer = |writer: i64| {
        let store = Arc::clone(&store);
        async move {
            for i in 0..10 {
                let start = 1000 * writer + 10 * i;
                insert(&store, "t", start..start + 10).await.unwrap();
            }
        }
    };
    let tasks: Vec<_> = (0..6).map(|w| tokio::spawn(writer(w))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let version = Arc::clone(store.snapshot().table("t").unwrap());
    let mut ids = read_ids(test_device(temp.path()).as_ref(), &version).await;
    assert!(ids.chunks(10).all(|insert| insert.windows(2).all(|pair| pair[0] + 1 == pair[1])), "inserts stay whole");
    ids.sort_unstable();
    assert!(ids.into_iter().eq((0..6).flat_map(|w| 1000 * w..1000 * w + 100)));
    assert!(version.chunks.len() <= 12, "{} chunks", version.chunks.len());
    drop(version);
    assert_eq!(data_files(temp.path()), named_files(&store));
}

#[tokio::test]
async fn an_appender_dropped_at_any_point_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    insert(&store, "t", 0..50).await.unwrap();
    let before = data_files(temp.path());
    let mut appender = store.append("t").unwrap();
    appender.append(rows(0..CHUNK + 5)).await.unwrap();
    drop(appender);
    let mut appender = store.append("t").unwrap();
    appender.append(rows(0..2 * CHUNK)).await.unwrap();
    appender.append(rows(0..CHUNK)).await.unwrap();
    assert!(data_files(temp.path()).len() > before.len(), "the first chunk is on its way to the disk");
    drop(appender);
    assert_eq!(data_files(temp.path()), before);
    // Abandoned in the middle of a commit: all or nothing.
    let mut appender = store.append("t").unwrap();
    appender.append(rows(50..60)).await.unwrap();
    let _ = tokio::time::timeout(std::time::Duration::ZERO, appender.commit()).await;
    insert(&store, "t", 60..70).await.unwrap();
    let count = store.snapshot().table("t").unwrap().row_count();
    assert!(count == 60 || count == 70, "{count}");
    assert_eq!(data_files(temp.path()), named_files(&store));
}

#[tokio::test]
async fn rows_that_do_not_fit_the_table_spoil_the_append() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    let mut appender = store.append("t").unwrap();
    appender.append(rows(0..10)).await.unwrap();
    let mut columns = rows(10..11).columns().to_vec();
    columns[0] = Arc::new(Int64Array::from(vec![None]));
    let schema = Arc::new(arrow::datatypes::Schema::new(
        rows(0..1).schema().fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect::<Vec<_>>(),
    ));
    let bad = RecordBatch::try_new(schema, columns).unwrap();
    match appender.append(bad).await.unwrap_err() {
        StoreError::NullViolation { table, column, .. } => assert_eq!((table.as_str(), column.as_str()), ("t", "id")),
        other => panic!("{other}"),
    }
    assert!(matches!(appender.append(rows(11..12)).await, Err(StoreError::IncompleteAppend { .. })));
    assert!(matches!(appender.commit().await, Err(StoreError::IncompleteAppend { .. })));
    let mut appender = store.append("t").unwrap();
    let narrow: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let narrow = RecordBatch::try_from_iter([("id", narrow)]).unwrap();
    assert!(matches!(appender.append(narrow).await, Err(StoreError::SchemaMismatch { .. })));
    assert_eq!(store.snapshot().table("t").unwrap().row_count(), 0);
    assert!(matches!(store.append("nowhere").err(), Some(StoreError::UnknownTable { .. })));
}

#[tokio::test]
async fn tables_that_come_and_go_while_rows_are_on_their_way() {
    let temp = tempfile::tempdir().unwrap();
    let device = test_device(temp.path());
    let store = open(temp.path()).unwrap();
    // CREATE TABLE AS: seen at the commit, with its rows; the name may be taken meanwhile.
    let mut first = store.create_and_append(new_table("t")).unwrap();
    first.append(rows(0..30)).await.unwrap();
    let second = store.create_and_append(new_table("t")).unwrap();
    assert!(store.snapshot().table("t").is_none());
    let (version, count) = first.commit().await.unwrap();
    assert_eq!((count, version.row_count()), (30, 30));
    assert!(matches!(second.commit().await, Err(StoreError::TableExists { .. })));
    assert!(matches!(store.create_and_append(new_table("t")).err(), Some(StoreError::TableExists { .. })));
    // A table without rows.
    let (empty, count) = store.create_and_append(new_table("empty")).unwrap().commit().await.unwrap();
    assert_eq!((count, empty.chunks.len()), (0, 0));
    // Nothing added is no new version.
    let sequence = store.snapshot().sequence();
    store.append("t").unwrap().commit().await.unwrap();
    assert_eq!(store.snapshot().sequence(), sequence);
    // Dropped under an append, and under a reader.
    let mut appender = store.append("t").unwrap();
    appender.append(rows(30..40)).await.unwrap();
    store.drop_table("t").await.unwrap();
    store.create_table(new_table("t")).await.unwrap();
    assert!(matches!(appender.commit().await, Err(StoreError::UnknownTable { .. })));
    assert!(read_ids(device.as_ref(), &version).await.into_iter().eq(0..30));
    drop(version);
    assert_eq!(data_files(temp.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_full_disk_leaves_the_table_as_it_was_and_gives_the_space_back() {
    let temp = tempfile::tempdir().unwrap();
    let disk = FaultDevice::new(test_device(temp.path()));
    let store = Store::open(temp.path(), StoreOptions { device: disk.clone(), encode_threads: 2 }).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    insert(&store, "t", 0..2_000).await.unwrap();
    let before = data_files(temp.path());
    for bytes_left in [0, 5_000, 20_000, 200_000, 1_000_000] {
        disk.inject(Fault::DiskFull { after_bytes: bytes_left });
        let mut appender = store.append("t").unwrap();
        let mut result = Ok(());
        for part in 0..3 {
            result = result.and(appender.append(rows(part * CHUNK..(part + 1) * CHUNK)).await);
        }
        let error = match result {
            Ok(()) => appender.commit().await.map(|_| ()).unwrap_err(),
            Err(error) => {
                drop(appender);
                error
            }
        };
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
        assert_eq!(data_files(temp.path()), before);
        let small = insert(&store, "t", 2_000..4_000).await;
        match small {
            Err(error) => assert!(matches!(error, StoreError::DiskFull { .. }), "{error}"),
            Ok(_) => panic!("{bytes_left} bytes were used up"),
        }
        assert_eq!(data_files(temp.path()), before);
        assert!(!temp.path().join("manifest.new").exists());
        assert_eq!(store.snapshot().table("t").unwrap().row_count(), 2_000);
        disk.clear();
    }
    insert(&store, "t", 2_000..2_100).await.unwrap();
    assert!(store.check(|_| {}).await.is_sound());
}

/// Rows with these numbers whose names are all one string of `name_bytes` bytes, or null but for the first.
fn rows_named(ids: std::ops::Range<i64>, name_bytes: usize, only_first: bool) -> RecordBatch {
    let row_count = (ids.end - ids.start) as usize;
    let mut names = StringViewBuilder::new().with_deduplicate_strings();
    let name = "n".repeat(name_bytes);
    (0..row_count).for_each(|row| names.append_option((row == 0 || !only_first).then_some(&name)));
    let mut columns = rows(ids).columns().to_vec();
    columns[1] = Arc::new(names.finish());
    RecordBatch::try_from_iter(["id", "name", "amount", "day"].into_iter().zip(columns)).unwrap()
}

/// Appends `batch` to table `t`; returns the numbers of rows of the table's chunks.
async fn chunk_rows_after(store: &Store, batch: RecordBatch) -> Vec<u32> {
    let mut appender = store.append("t").unwrap();
    appender.append(batch).await.unwrap();
    appender.commit().await.unwrap().0.chunks.iter().map(|chunk| chunk.row_count).collect()
}

/// 40 MB a time, in a few kilobytes on disk: two together are above the 64 MiB that a chunk may have.
#[tokio::test]
async fn strings_that_compress_well_are_not_merged_beyond_a_chunk() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    for n in 1..=8 {
        let chunks = chunk_rows_after(&store, rows_named(0..40, 1_000_000, false)).await;
        assert_eq!(chunks, vec![40; n]);
    }
    // What fits is merged: with the last chunk, but not with the one before.
    assert_eq!(chunk_rows_after(&store, rows_named(0..22, 1_000_000, false)).await.split_off(7), [62]);
}

/// A null has no bytes, whatever its neighbour's are.
#[tokio::test]
async fn a_long_string_among_many_nulls_is_no_large_column() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    assert_eq!(chunk_rows_after(&store, rows_named(0..1_200, 1_000_000, true)).await, [1_200]);
    assert_eq!(chunk_rows_after(&store, rows_named(0..1_200, 1_000_000, true)).await, [2_400]);
}

/// Checks the estimates of a version that has the rows `0..count`, against what [`rows`] makes of them.
fn check_distinct_counts(version: &TableVersion, count: i64) {
    let days = (0..count).filter(|id| id % 5 != 0).map(|id| id % 10_000).collect::<HashSet<_>>().len();
    let names = (0..count).filter(|id| id % 7 != 3).count();
    for (column, expected) in [(0, count as usize), (1, names), (2, count as usize), (3, days)] {
        let estimate = version.distinct_count(ColumnId(column)).unwrap();
        // Four standard errors, and half a value where there are few.
        let error = (estimate - expected as f64).abs();
        assert!(error <= 0.13 * expected as f64 + 0.5, "column {column}: {estimate} for {expected}");
    }
}

#[tokio::test]
async fn distinct_counts_are_those_of_all_rows_across_appends_merges_and_restarts() {
    let temp = tempfile::tempdir().unwrap();
    let mut store = open(temp.path()).unwrap();
    let version = store.create_table(new_table("t")).await.unwrap();
    check_distinct_counts(&version, 0);
    let mut count = 0;
    for added in [1, 1, 1, 5, 40, 2_000, 30_000, 3, CHUNK, 1, 700] {
        let version = insert(&store, "t", count..count + added).await.unwrap();
        count += added;
        check_distinct_counts(&version, count);
        drop(version);
        drop(store);
        store = open(temp.path()).unwrap();
        check_distinct_counts(store.snapshot().table("t").unwrap(), count);
    }
    // Rows that were there already change nothing.
    let before = store.snapshot().table("t").unwrap().distinct.clone();
    let version = insert(&store, "t", 0..1_000).await.unwrap();
    assert_eq!(version.distinct, before);
}

#[tokio::test]
async fn a_merged_table_forgets_its_old_sketches_and_one_without_gets_them_when_all_rows_are_rewritten() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("small")).await.unwrap();
    store.create_table(new_table("large")).await.unwrap();
    insert(&store, "small", 0..2_000).await.unwrap();
    insert(&store, "large", 0..50_000).await.unwrap();
    store.checkpoint().await.unwrap();
    drop(store);
    // As the version before would have left it.
    let path = temp.path().join("manifest");
    let mut manifest = Manifest::decode(&std::fs::read(&path).unwrap()).unwrap();
    manifest.tables.iter_mut().for_each(|table| table.sketches.fill(None));
    std::fs::write(&path, manifest.encode()).unwrap();
    let store = open(temp.path()).unwrap();
    assert_eq!(store.snapshot().table("small").unwrap().distinct_count(ColumnId(0)), None);
    // The small table's only chunk is rewritten, that of the large one stays.
    insert(&store, "small", 2_000..4_000).await.unwrap();
    insert(&store, "large", 50_000..50_010).await.unwrap();
    drop(store);
    let store = open(temp.path()).unwrap();
    check_distinct_counts(store.snapshot().table("small").unwrap(), 4_000);
    assert_eq!(store.snapshot().table("large").unwrap().distinct_count(ColumnId(0)), None);
}
