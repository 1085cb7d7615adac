//! Deleted rows: unions of commits, conflicts, chunks that go, merges, reopening.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::{CHUNK_ROWS, Random, SeededRandom};
use braid_storage::{RowConflict, SeenRows, StoreError, TableVersion};
use tempfile::TempDir;

use crate::test_table::{
    data_files, delete_seen, delete_where, insert, named_files, new_table, open, read_ids, row_deletes, row_ids,
    seen_rows, test_device,
};

const CHUNK: i64 = CHUNK_ROWS as i64;

/// A store with a table `t` of these rows, loaded at once.
async fn filled(count: i64) -> (TempDir, Arc<braid_storage::Store>, Arc<TableVersion>) {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    let version = insert(&store, "t", 0..count).await.unwrap();
    (temp, store, version)
}

#[tokio::test]
async fn two_commits_delete_different_rows_of_one_chunk() {
    let (temp, store, version) = filled(3_000).await;
    let rows = row_ids(&version);
    let even = row_deletes(&version, rows.iter().copied().step_by(2));
    let multiples_of_7 = row_deletes(&version, rows.iter().copied().skip(7).step_by(14));
    store.delete_rows("t", &even).await.unwrap();
    let both = store.delete_rows("t", &multiples_of_7).await.unwrap();
    let device = test_device(temp.path());
    let left = |id: &i64| id % 2 != 0 && id % 7 != 0;
    assert!(read_ids(device.as_ref(), &both).await.into_iter().eq((0..3_000).filter(left)));
    assert!(read_ids(device.as_ref(), &version).await.into_iter().eq(0..3_000), "the version before is as it was");
    assert!(both.sequence > version.sequence);
    drop((store, version, both));
    let store = open(temp.path()).unwrap();
    let found = store.snapshot().table("t").unwrap().clone();
    assert!(read_ids(device.as_ref(), &found).await.into_iter().eq((0..3_000).filter(left)), "after a restart");
    assert!(store.check(|_| {}).await.is_sound());
}

#[tokio::test]
async fn a_row_that_is_deleted_twice_is_a_conflict_and_nothing_is_deleted() {
    let (_temp, store, version) = filled(100).await;
    let rows = row_ids(&version);
    store.delete_rows("t", &row_deletes(&version, [rows[7]])).await.unwrap();
    let before = store.snapshot();
    let again = store.delete_rows("t", &row_deletes(&version, [rows[5], rows[7], rows[9]])).await;
    let expected = RowConflict::Deleted { chunk: rows[7].chunk, row: 7 };
    assert!(matches!(&again, Err(StoreError::RowConflict { conflict, .. }) if *conflict == expected), "{again:?}");
    assert!(Arc::ptr_eq(&before, &store.snapshot()));
    let nothing = store.delete_rows("t", &row_deletes(&version, [])).await.unwrap();
    assert!(Arc::ptr_eq(&nothing, before.table("t").unwrap()), "no rows are no commit");
    let missing = store.delete_rows("u", &row_deletes(&version, [])).await;
    assert!(matches!(missing, Err(StoreError::UnknownTable { .. })));
}

#[tokio::test]
async fn rows_of_a_chunk_that_was_merged_are_found_where_they_are() {
    let (_temp, store, version) = filled(2_000).await;
    insert(&store, "t", 2_000..4_000).await.unwrap();
    let chunk = version.chunks[0].id;
    let deletes = row_deletes(&version, row_ids(&version).into_iter().take(1));
    // Without what was seen of the chunk, nobody knows.
    let late = store.delete_rows("t", &deletes).await;
    let expected = RowConflict::ChunkGone { chunk };
    assert!(matches!(&late, Err(StoreError::RowConflict { conflict, .. }) if *conflict == expected), "{late:?}");
    assert!(delete_seen(&store, &version, &SeenRows::of(&version, &deletes).unwrap()).await.unwrap());
    let device = test_device(store.dir());
    let left = read_ids(device.as_ref(), store.snapshot().table("t").unwrap()).await;
    assert!(left.into_iter().eq(1..4_000));
}

#[tokio::test]
async fn a_chunk_without_rows_is_left_out_and_its_file_goes_with_the_last_one() {
    let (temp, store, version) = filled(2 * CHUNK + 1_100).await;
    let device = test_device(temp.path());
    assert_eq!((version.chunks.len(), data_files(temp.path()).len()), (3, 2));
    let fewer = delete_where(&store, device.as_ref(), "t", |id| id < CHUNK).await.unwrap();
    assert_eq!((fewer.chunks.len(), fewer.row_count()), (2, CHUNK as u64 + 1_100));
    assert_eq!(data_files(temp.path()).len(), 2, "a chunk of the file is left");
    assert!(store.check(|_| {}).await.is_sound());
    let last = delete_where(&store, device.as_ref(), "t", |id| id < 2 * CHUNK).await.unwrap();
    assert!(read_ids(device.as_ref(), &last).await.into_iter().eq(2 * CHUNK..2 * CHUNK + 1_100));
    drop(fewer);
    assert_eq!(data_files(temp.path()).len(), 2, "an old version is still read");
    assert_eq!(read_ids(device.as_ref(), &version).await.len() as i64, 2 * CHUNK + 1_100);
    drop(version);
    assert_eq!(data_files(temp.path()), named_files(&store));
    assert_eq!(data_files(temp.path()).len(), 1);
    let none = delete_where(&store, device.as_ref(), "t", |_| true).await.unwrap();
    assert_eq!((none.chunks.len(), none.row_count()), (0, 0));
    assert_eq!(none.distinct_count(braid_base::ColumnId(0)), Some(0.0), "no values are left to count");
    drop((last, none));
    assert!(data_files(temp.path()).is_empty());
    let again = insert(&store, "t", 0..5).await.unwrap();
    assert!(again.chunks[0].id.0 > 2, "ids of chunks are not used again");
    assert!(read_ids(device.as_ref(), &again).await.into_iter().eq(0..5));
}

#[tokio::test]
async fn a_file_whose_last_chunk_has_gone_is_sound() {
    let (temp, store, _) = filled(2 * CHUNK + 1_100).await;
    let fewer =
        delete_where(&store, test_device(temp.path()).as_ref(), "t", |id| (CHUNK..2 * CHUNK).contains(&id)).await;
    assert_eq!((fewer.unwrap().chunks.len(), data_files(temp.path()).len()), (2, 2));
    let report = store.check(|_| {}).await;
    assert!(report.is_sound(), "{report:?}");
}

#[tokio::test]
async fn a_merge_leaves_deleted_rows_out() {
    let (temp, store, _) = filled(20_000).await;
    let device = test_device(temp.path());
    let fewer = delete_where(&store, device.as_ref(), "t", |id| id % 10 != 0).await.unwrap();
    assert_eq!((fewer.chunks[0].row_count, fewer.chunks[0].live_row_count()), (20_000, 2_000));
    // 1100 rows are more than half of the 2000 that are left.
    let merged = insert(&store, "t", 20_000..21_100).await.unwrap();
    assert_eq!(merged.chunks.len(), 1);
    assert_eq!((merged.chunks[0].row_count, &merged.chunks[0].deleted), (3_100, &None));
    let expected = (0..20_000).step_by(10).chain(20_000..21_100);
    assert!(read_ids(device.as_ref(), &merged).await.into_iter().eq(expected));
    assert!(store.check(|_| {}).await.is_sound());
}

/// Appends merge chunks that deletes change at the same time: no row comes back, none is lost, and no delete fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletes_beside_appends_bring_no_row_back() {
    for seed in 0..8 {
        let (temp, store, _) = filled(10).await;
        let (appending, path) = (store.clone(), temp.path().to_owned());
        let appends = tokio::spawn(async move {
            for id in 10..60 {
                insert(&appending, "t", id..id + 1).await.unwrap();
            }
        });
        let (device, mut random) = (test_device(&path), SeededRandom::new(seed));
        let mut deleted = BTreeSet::new();
        for _ in 0..40 {
            let version = store.snapshot().table("t").unwrap().clone();
            let ids = read_ids(device.as_ref(), &version).await;
            assert!(ids.iter().all(|id| !deleted.contains(id)), "{deleted:?} in {ids:?}");
            if ids.is_empty() {
                tokio::task::yield_now().await;
                continue;
            }
            let at = random.below(ids.len() as u64) as usize;
            let seen = seen_rows(&version, [row_ids(&version)[at]]);
            assert!(delete_seen(&store, &version, &seen).await.unwrap(), "no other deletes rows");
            assert!(deleted.insert(ids[at]));
        }
        appends.await.unwrap();
        let found = read_ids(device.as_ref(), store.snapshot().table("t").unwrap()).await;
        assert!(found.iter().copied().eq((0..60).filter(|id| !deleted.contains(id))), "{deleted:?} in {found:?}");
        assert_eq!(data_files(temp.path()), named_files(&store));
        assert!(store.check(|_| {}).await.is_sound());
    }
}
