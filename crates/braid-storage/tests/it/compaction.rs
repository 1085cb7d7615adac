//! Compaction: chunks without their deleted rows, beside readers, appends and transactions that hold rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::{CHUNK_ROWS, Random, SeededRandom};
use braid_io::Fault;
use braid_storage::{Compaction, Locked, RowDeletes, RowLockMode, RowLocking, Store, StoreError, TableVersion};
use tempfile::TempDir;

use crate::test_table::{
    create, data_files, delete_seen, delete_where, directory_in_memory, faulty_disk, insert, key, named_files,
    new_table, open, open_on, read_ids, row_ids, seen_rows, test_device,
};

const CHUNK: i64 = CHUNK_ROWS as i64;

async fn filled(count: i64) -> (TempDir, Arc<Store>) {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    insert(&store, "t", 0..count).await.unwrap();
    (temp, store)
}

fn newest(store: &Store) -> Arc<TableVersion> {
    store.snapshot().table("t").unwrap().clone()
}

async fn sorted_ids(store: &Store, version: &TableVersion) -> Vec<i64> {
    let mut ids = read_ids(test_device(store.dir()).as_ref(), version).await;
    ids.sort_unstable();
    ids
}

async fn compact(store: &Store, share: f64) -> Compaction {
    store.compact(newest(store).def.id, share).await.unwrap()
}

#[tokio::test]
async fn worn_chunks_are_put_together_and_their_bytes_go_with_the_last_reader() {
    let (temp, store) = filled(3 * CHUNK).await;
    let device = test_device(temp.path());
    let is_kept = |id: i64| id % 4 == 0 || (CHUNK..2 * CHUNK).contains(&id);
    let before = delete_where(&store, device.as_ref(), "t", |id| !is_kept(id)).await.unwrap();
    assert!(!Store::is_worn(&before, 0.8) && Store::is_worn(&before, 0.75));
    assert_eq!(compact(&store, 0.8).await, Compaction::default());
    let done = compact(&store, 0.75).await;
    assert_eq!((done.chunks, done.removed_rows, done.given_up), (2, 2 * CHUNK as u64 * 3 / 4, 0));
    assert!(done.written_bytes < done.removed_bytes / 3, "{done:?}");
    let after = newest(&store);
    let rows: Vec<i64> = after.chunks.iter().map(|chunk| i64::from(chunk.row_count)).collect();
    assert_eq!(rows, [CHUNK, CHUNK / 2]);
    assert!(after.chunks.iter().all(|chunk| chunk.deleted.is_none()));
    let expected: Vec<i64> = (0..3 * CHUNK).filter(|id| is_kept(*id)).collect();
    for version in [&before, &after] {
        assert_eq!(sorted_ids(&store, version).await, expected);
    }
    assert_eq!(
        (after.content, after.distinct_count(braid_base::ColumnId(0))),
        (before.content, before.distinct_count(braid_base::ColumnId(0)))
    );
    assert!(after.sequence > before.sequence, "scans of the two are not shared");
    assert_eq!(data_files(temp.path()).len(), 2, "the file of the chunk that stays, and the new one");
    assert_eq!(compact(&store, 0.0).await, Compaction::default(), "nothing is left to do");
    drop((before, after, store));
    let store = open(temp.path()).unwrap();
    assert_eq!(sorted_ids(&store, &newest(&store)).await, expected);
    assert_eq!(data_files(temp.path()), named_files(&store));
    let report = store.check(|_| {}).await;
    assert!(report.is_sound(), "{report:?}");
}

#[tokio::test]
async fn a_transaction_keeps_the_rows_that_it_has_locked_and_deleted() {
    let (temp, store) = filled(10_000).await;
    let device = test_device(temp.path());
    delete_where(&store, device.as_ref(), "t", |id| id % 3 == 0).await.unwrap();
    let (snapshot, version) = (store.snapshot(), newest(&store));
    let rows = row_ids(&version);
    let (mut deleting, mut keeping) = (store.write_set(), store.write_set());
    let (deleted, kept) = (seen_rows(&version, [rows[10], rows[500]]), seen_rows(&version, [rows[20]]));
    for (writes, rows) in [(&mut deleting, &deleted), (&mut keeping, &kept)] {
        assert_eq!(writes.lock_rows(version.def.id, rows).await.unwrap(), Locked::AsSeen);
    }
    deleting.delete_seen_rows((&snapshot, &version), &deleted, RowDeletes::new()).unwrap();
    let gone = delete_seen(&store, &version, &seen_rows(&version, [rows[30]])).await.unwrap();
    assert!(gone && compact(&store, 0.0).await.chunks == 1);
    // Its own view of the old snapshot and of the new one lack the same rows.
    let ids = sorted_ids(&store, &version).await;
    for (base, others) in [(&snapshot, None), (&store.snapshot(), Some(30))] {
        let view = deleting.view(base);
        let left = sorted_ids(&store, view.table("t").unwrap()).await;
        let expected = (0..ids.len()).filter(|at| ![10, 500].contains(at) && Some(*at) != others).map(|at| ids[at]);
        assert!(left.into_iter().eq(expected));
    }
    // Others wait for the row where it is now.
    let id = version.def.id;
    for at in [10, 20, 500] {
        let now = newest(&store);
        let place = row_ids(&now).into_iter().zip(read_ids(device.as_ref(), &now).await).find(|(_, id)| *id == ids[at]);
        let (other, row) = (store.write_set(), seen_rows(&now, [place.unwrap().0]));
        let wait = async move {
            let mut other = other;
            other.lock_rows(id, &row).await
        };
        let waited = tokio::time::timeout(std::time::Duration::from_millis(10), wait).await;
        assert!(waited.is_err(), "row {at}");
    }
    assert!(!delete_seen(&store, &version, &seen_rows(&version, [rows[30]])).await.unwrap(), "it is gone");
    assert!(!delete_seen(&store, &version, &seen_rows(&version, [rows[30], rows[40]])).await.unwrap());
    // A row that was seen under two numbers is not two rows.
    let now = newest(&store);
    let place = row_ids(&now).into_iter().zip(read_ids(device.as_ref(), &now).await).find(|(_, id)| *id == ids[40]);
    let mut twice = seen_rows(&version, [rows[40]]);
    assert_eq!(twice.insert(&now, place.unwrap().0), Some(true));
    assert!(!delete_seen(&store, &version, &twice).await.unwrap());
    deleting.commit().await.unwrap();
    drop(keeping);
    let left = sorted_ids(&store, &newest(&store)).await;
    assert!(left.into_iter().eq((0..ids.len()).filter(|at| ![10, 30, 500].contains(at)).map(|at| ids[at])));
}

/// Appends, deletes and compaction at the same time: no row comes back, none is lost, and no transaction fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_beside_compaction_do_not_notice_it() {
    for seed in 0..4 {
        let (temp, store) = filled(3_000).await;
        let mut tasks = tokio::task::JoinSet::new();
        for writer in 0..3_u64 {
            let store = store.clone();
            tasks.spawn(async move {
                let (mut random, mut gone, mut added) = (SeededRandom::new(seed * 8 + writer), Vec::new(), Vec::new());
                for round in 0..40_i64 {
                    let version = newest(&store);
                    let ids = read_ids(test_device(store.dir()).as_ref(), &version).await;
                    let own = |id: i64| id as u64 % 3 == writer;
                    let chosen: Vec<usize> =
                        (0..ids.len()).filter(|at| own(ids[*at]) && random.chance(1, 30)).collect();
                    let rows = row_ids(&version);
                    let seen = seen_rows(&version, chosen.iter().map(|at| rows[*at]));
                    if random.chance(1, 2) {
                        // Rows of this writer, by their numbers.
                        let from = 100_000 * (1 + writer as i64) + 40 * round;
                        insert(&store, "t", from..from + 20).await.unwrap();
                        added.extend(from..from + 20);
                    }
                    // Those that others have added may be this writer's by number: they may be deleted by them as well.
                    if delete_seen(&store, &version, &seen).await.unwrap() {
                        gone.extend(chosen.iter().map(|at| ids[*at]));
                    } else {
                        panic!("only writer {writer} deletes these rows");
                    }
                }
                (gone, added)
            });
        }
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let compacting = tokio::spawn({
            let store = store.clone();
            async move {
                let mut total = Compaction::default();
                while !*stopped.borrow() {
                    let done = store.compact(newest(&store).def.id, 0.02).await.unwrap();
                    total.chunks += done.chunks;
                    total.given_up += done.given_up;
                    tokio::task::yield_now().await;
                }
                total
            }
        });
        let (mut gone, mut all) = (BTreeSet::new(), (0..3_000).collect::<BTreeSet<i64>>());
        while let Some(done) = tasks.join_next().await {
            let (deleted, added) = done.unwrap();
            assert!(deleted.into_iter().all(|id| gone.insert(id)), "a row was deleted twice");
            all.extend(added);
        }
        stop.send_replace(true);
        let total = compacting.await.unwrap();
        assert!(total.chunks > 0, "{total:?}");
        let left = sorted_ids(&store, &newest(&store)).await;
        assert!(left.into_iter().eq(all.difference(&gone).copied()), "seed {seed}");
        assert_eq!(data_files(temp.path()), named_files(&store));
        assert!(store.check(|_| {}).await.is_sound());
    }
}

/// A compaction whose `nth` operation finds the disk full, beside a transaction that has locked a row. Whether it failed, and whether that
/// left a doubt.
async fn compact_on_full_disk(nth: u64) -> (bool, bool) {
    let temp = directory_in_memory();
    let disk = faulty_disk(temp.path());
    let store = open_on(temp.path(), &disk).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    insert(&store, "t", 0..2_000).await.unwrap();
    delete_where(&store, test_device(temp.path()).as_ref(), "t", |id| id % 2 == 0).await.unwrap();
    let version = newest(&store);
    let (mut writes, locked) = (store.write_set(), seen_rows(&version, [row_ids(&version)[7]]));
    assert_eq!(writes.lock_rows(version.def.id, &locked).await.unwrap(), Locked::AsSeen);
    disk.inject(Fault::Fail { operation: None, file: None, nth, errno: 28 });
    let result = store.compact(version.def.id, 0.0).await;
    disk.clear();
    match result {
        Ok(_) => {}
        Err(StoreError::DiskFull { .. } | StoreError::Io { .. }) => assert!(Arc::ptr_eq(&version, &newest(&store))),
        Err(StoreError::Uncertain { .. }) => return (true, true),
        Err(error) => panic!("{error}"),
    }
    // The row is locked where it is now, and its transaction can delete it.
    let now = newest(&store);
    let ids = read_ids(test_device(temp.path()).as_ref(), &now).await;
    let row = row_ids(&now).into_iter().zip(ids).find(|(_, id)| *id == 15).unwrap().0;
    for (version, row) in [(&version, locked.ids().next().unwrap()), (&now, row)] {
        let seen = seen_rows(version, [row]);
        let wait = delete_seen(&store, version, &seen);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(2), wait).await.is_err());
    }
    writes.delete_seen_rows((&store.snapshot(), &now), &locked, RowDeletes::new()).unwrap();
    writes.commit().await.unwrap();
    // Numbers of chunks that were given out in vain lead nowhere.
    insert(&store, "t", 2_000..4_000).await.unwrap();
    assert!(delete_seen(&store, &version, &seen_rows(&version, [row_ids(&version)[8]])).await.unwrap());
    drop((version, now));
    let left = sorted_ids(&store, &newest(&store)).await;
    let expected = (1..2_000).step_by(2).filter(|id| ![15, 17].contains(id)).chain(2_000..4_000);
    assert!(left.into_iter().eq(expected), "operation {nth}");
    assert_eq!(data_files(temp.path()), named_files(&store));
    (result.is_err(), false)
}

#[tokio::test]
async fn a_compaction_that_fails_leaves_all_as_it_was() {
    let (mut failures, mut doubts) = (0, 0);
    for nth in 1.. {
        let (has_failed, is_in_doubt) = compact_on_full_disk(nth).await;
        if !has_failed {
            break;
        }
        (failures, doubts) = (failures + 1, doubts + u64::from(is_in_doubt));
    }
    assert!(failures > 4 && doubts < failures / 2, "{failures} failures, {doubts} of them in doubt");
}

#[tokio::test]
async fn a_table_that_is_altered_or_dropped_meanwhile_is_left_alone() {
    let (temp, store) = filled(5_000).await;
    delete_where(&store, test_device(temp.path()).as_ref(), "t", |id| id % 2 == 0).await.unwrap();
    let id = newest(&store).def.id;
    store.drop_table("t").await.unwrap();
    assert_eq!(store.compact(id, 0.0).await.unwrap(), Compaction::default());
    assert!(data_files(temp.path()).is_empty());
}

/// Rows move in commits that are not durable yet: a transaction that has only locked them ends well nevertheless, and one that adds the
/// key of a row whose deletion is not visible yet waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_known_while_the_rows_move() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    create(&store, new_table("t"), vec![key("t_id_key", &[0])]).await.unwrap();
    insert(&store, "t", 0..3).await.unwrap();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let inserting = tokio::spawn({
        let store = store.clone();
        async move {
            let mut id = 1_000;
            while !*stopped.borrow() {
                insert(&store, "t", id..id + 1).await.unwrap();
                id += 1;
            }
        }
    });
    let find = async |id: i64| {
        let version = newest(&store);
        let ids = read_ids(test_device(store.dir()).as_ref(), &version).await;
        let row = row_ids(&version).into_iter().zip(ids).find(|(_, found)| *found == id).unwrap().0;
        let seen = seen_rows(&version, [row]);
        (version, seen)
    };
    let locking = RowLocking { mode: RowLockMode::Exclusive, references: Vec::new(), fails_if_held: false };
    for round in 0..150 {
        let (version, seen) = find(1).await;
        let mut keeping = store.write_set();
        assert_eq!(keeping.lock_seen_rows(&version, &seen, &locking).await.unwrap(), Locked::AsSeen);
        tokio::task::yield_now().await;
        keeping.commit().await.unwrap();
        // The row gives way to another one of its key.
        let (version, seen) = find(2).await;
        let mut deleting = store.write_set();
        assert_eq!(deleting.lock_rows(version.def.id, &seen).await.unwrap(), Locked::AsSeen);
        let adding = tokio::spawn({
            let store = store.clone();
            async move { insert(&store, "t", 2..3).await.map(|_| ()) }
        });
        let state = store.snapshot();
        let now = state.by_id(version.def.id).unwrap();
        deleting.delete_seen_rows((&state, now), &seen, RowDeletes::new()).unwrap();
        deleting.commit().await.unwrap();
        adding.await.unwrap().unwrap_or_else(|error| panic!("round {round}: {error}"));
    }
    stop.send_replace(true);
    inserting.await.unwrap();
    assert!(store.check(|_| {}).await.is_sound());
}
