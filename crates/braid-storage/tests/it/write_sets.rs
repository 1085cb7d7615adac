//! Transactions of several changes: random ones beside each other and a model, and power cuts in their commits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use braid_base::{CHUNK_ROWS, Random, SeededRandom};
use braid_io::{Device, Fault};
use braid_storage::{
    Catalog, ColumnChange, Locked, PRIVATE_CHUNKS, PRIVATE_SEQUENCE, RowDeletes, RowId, Store, StoreError, WriteSet,
};
use braid_testing::cases;

use crate::crashes::{State, describe, read_state};
use crate::test_table::{
    data_files, directory_in_memory, extra_column, faulty_disk, insert, named_files, new_table, open, open_on,
    read_ids, row_deletes, row_ids, rows, rows_of, seen_rows, test_device,
};

const TABLES: [&str; 3] = ["a", "b", "c"];

/// What a catalog has: the numbers of the rows of each table, sorted.
async fn state_of(device: &dyn Device, catalog: &Catalog) -> State {
    let mut state = State::new();
    for version in catalog.tables() {
        let mut ids = read_ids(device, version).await;
        ids.sort_unstable();
        state.insert(version.def.name.clone(), ids);
    }
    state
}

async fn append(
    writes: &mut WriteSet,
    view: &Catalog,
    table: &str,
    ids: std::ops::Range<i64>,
) -> Result<(), StoreError> {
    let mut appender = writes.append(view, table)?;
    appender.append(rows(ids)).await?;
    writes.add_rows(appender.finish().await?).await.map(drop)
}

#[tokio::test]
async fn changes_are_seen_by_their_transaction_and_become_one_commit() {
    let temp = tempfile::tempdir().unwrap();
    let device = test_device(temp.path());
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("a")).await.unwrap();
    insert(&store, "a", 0..10).await.unwrap();
    let before = store.snapshot().sequence();
    let mut writes = store.write_set();
    writes.create_table(&store.snapshot(), new_table("b")).unwrap();
    let view = writes.view(&store.snapshot());
    append(&mut writes, &view, "a", 10..20).await.unwrap();
    append(&mut writes, &view, "b", 0..5).await.unwrap();
    drop(view);
    assert!(writes.is_unsettled());
    writes.settle().await.unwrap();
    // What others commit meanwhile is beneath it.
    insert(&store, "a", 100..103).await.unwrap();
    let view = writes.view(&store.snapshot());
    let a: Vec<i64> = (0..20).chain(100..103).collect();
    let own = State::from([("a".to_owned(), a), ("b".to_owned(), (0..5).collect())]);
    assert_eq!(state_of(device.as_ref(), &view).await, own);
    assert!(view.sequence() >= PRIVATE_SEQUENCE && view.table("a").unwrap().sequence >= PRIVATE_SEQUENCE);
    assert!(store.snapshot().table("b").is_none() && store.snapshot().table("a").unwrap().row_count() == 13);
    drop(view);
    let committed = writes.commit().await.unwrap();
    assert_eq!(committed.sequence(), before + 2, "the insert of others, and one for all changes");
    assert_eq!(state_of(device.as_ref(), &store.snapshot()).await, own);
    assert_eq!(data_files(temp.path()), named_files(&store));
}

#[tokio::test]
async fn what_others_have_committed_can_fail_a_commit_which_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("a")).await.unwrap();
    let begun = || async {
        let mut writes = store.write_set();
        writes.create_table(&store.snapshot(), new_table("b")).unwrap();
        append(&mut writes, &store.snapshot(), "a", 0..5).await.unwrap();
        writes
    };
    let (first, second) = (begun().await, begun().await);
    store.create_table(new_table("b")).await.unwrap();
    assert!(matches!(first.commit().await, Err(StoreError::TableExists { .. })));
    store.drop_table("b").await.unwrap();
    store.drop_table("a").await.unwrap();
    assert!(matches!(second.commit().await, Err(StoreError::UnknownTable { .. })));
    store.create_table(new_table("a")).await.unwrap();
    let third = begun().await;
    let refused = third.commit_checked(|_| Err(StoreError::Conflict { what: "a".to_owned() })).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })));
    assert_eq!(store.snapshot().tables().len(), 1);
    assert_eq!(data_files(temp.path()), Vec::<String>::new());
}

#[tokio::test]
async fn many_small_statements_and_reads_between_them_leave_few_files() {
    let temp = tempfile::tempdir().unwrap();
    let device = test_device(temp.path());
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("a")).await.unwrap();
    let mut writes = store.write_set();
    for id in 0..200 {
        let view = writes.view(&store.snapshot());
        append(&mut writes, &view, "a", id..id + 1).await.unwrap();
        writes.settle().await.unwrap();
        drop(view);
        assert!(data_files(temp.path()).len() <= 9, "{} files after {id} rows", data_files(temp.path()).len());
    }
    let view = writes.view(&store.snapshot());
    assert!(read_ids(device.as_ref(), view.table("a").unwrap()).await.into_iter().eq(0..200));
    // More rows than fit a chunk, some of which are in full chunks.
    let half = CHUNK_ROWS as i64 / 2 + 100;
    for start in [0, half, 2 * half, 3 * half] {
        append(&mut writes, &view, "a", 1000 + start..1000 + start + half).await.unwrap();
    }
    drop(view);
    writes.commit().await.unwrap();
    let version = store.snapshot().table("a").unwrap().clone();
    let mut ids = read_ids(device.as_ref(), &version).await;
    ids.sort_unstable();
    assert!(ids.into_iter().eq((0..200).chain(1000..1000 + 4 * half)));
    assert!(version.chunks.iter().map(|chunk| chunk.id).is_sorted());
    assert_eq!(data_files(temp.path()), named_files(&store));
}

#[tokio::test]
async fn rows_are_deleted_by_one_transaction_and_may_move_while_they_are_locked() {
    let temp = tempfile::tempdir().unwrap();
    let device = test_device(temp.path());
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("a")).await.unwrap();
    insert(&store, "a", 0..10).await.unwrap();
    let snapshot = store.snapshot();
    let version = snapshot.table("a").unwrap();
    let rows = |numbers: std::ops::Range<usize>| seen_rows(version, row_ids(version)[numbers].iter().copied());
    let (mut first, mut second) = (store.write_set(), store.write_set());
    for (writes, rows) in [(&mut first, rows(0..5)), (&mut second, rows(5..7))] {
        assert_eq!(writes.lock_rows(version.def.id, &rows).await.unwrap(), Locked::AsSeen);
        writes.delete_seen_rows((&snapshot, version), &rows, RowDeletes::new()).unwrap();
    }
    // Inserts merge the small chunk, whose rows are locked.
    for from in [100, 110, 120] {
        insert(&store, "a", from..from + 10).await.unwrap();
    }
    assert_eq!(store.snapshot().table("a").unwrap().chunks.len(), 1);
    let third = store.write_set();
    let waiting = tokio::spawn({
        let (mut third, wanted, id) = (third, rows(4..6), version.def.id);
        async move { third.lock_rows(id, &wanted).await.map(|locked| (locked, third)) }
    });
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    assert!(!waiting.is_finished());
    first.commit().await.unwrap();
    second.commit().await.unwrap();
    let (locked, third) = waiting.await.unwrap().unwrap();
    assert_eq!(locked, Locked::Changed);
    drop(third);
    let mut left = read_ids(device.as_ref(), store.snapshot().table("a").unwrap()).await;
    left.sort_unstable();
    assert!(left.into_iter().eq((7..10).chain(100..130)));
    // Without locks the first commit wins.
    drop(snapshot);
    let snapshot = store.snapshot();
    let version = snapshot.table("a").unwrap();
    let all = row_deletes(version, row_ids(version));
    let (mut first, mut second) = (store.write_set(), store.write_set());
    first.delete_rows(&snapshot, "a", &all).unwrap();
    second.delete_rows(&snapshot, "a", &all).unwrap();
    first.commit().await.unwrap();
    assert!(matches!(second.commit().await, Err(StoreError::RowConflict { .. })));
    drop(snapshot);
    assert_eq!(data_files(temp.path()), Vec::<String>::new());
}

/// A transaction, and what it should see of the tables that it has changed.
struct Open {
    writes: WriteSet,
    savepoints: Vec<(WriteSet, BTreeMap<&'static str, Change>, BTreeSet<i64>)>,
    changes: BTreeMap<&'static str, Change>,
    /// Rows that it has deleted. No number comes again.
    gone: BTreeSet<i64>,
}

#[derive(Clone, Debug)]
enum Change {
    Added(Vec<i64>),
    Replaced(Vec<i64>),
    Dropped,
}

impl Open {
    fn new(store: &Store) -> Self {
        Self { writes: store.write_set(), savepoints: Vec::new(), changes: BTreeMap::new(), gone: BTreeSet::new() }
    }

    /// Its tables on top of what is committed.
    fn expected(&self, committed: &State) -> State {
        let mut state = committed.clone();
        for (table, change) in &self.changes {
            match change {
                Change::Added(ids) => state.get_mut(*table).unwrap().extend(ids),
                Change::Replaced(ids) => drop(state.insert((*table).to_owned(), ids.clone())),
                Change::Dropped => drop(state.remove(*table)),
            }
        }
        state.values_mut().for_each(|ids| {
            ids.retain(|id| !self.gone.contains(id));
            ids.sort_unstable();
        });
        state
    }

    /// Does something random to a table.
    async fn act(&mut self, random: &mut SeededRandom, store: &Store, device: &dyn Device, next_id: &mut i64) {
        let table = TABLES[random.below(3) as usize];
        let view = self.writes.view(&store.snapshot());
        let count = if random.chance(1, 30) { 70_000 } else { random.below(20) as i64 };
        match (view.table(table).is_some(), random.below(10)) {
            (false, _) if !self.changes.contains_key(table) => {
                self.writes.create_table(&view, new_table(table)).unwrap();
                self.changes.insert(table, Change::Replaced(Vec::new()));
            }
            (false, _) => {}
            (true, 0) => {
                self.writes.drop_table(&view, table).unwrap();
                self.changes.insert(table, Change::Dropped);
            }
            (true, 2..5) => {
                drop(view);
                self.writes.settle().await.unwrap();
                let view = self.writes.view(&store.snapshot());
                let gone = delete_some(random, device, &mut self.writes, &view, table).await;
                match self.changes.entry(table).or_insert_with(|| Change::Added(Vec::new())) {
                    Change::Added(own) | Change::Replaced(own) => own.retain(|id| !gone.contains(id)),
                    Change::Dropped => unreachable!("the view has it"),
                }
                self.gone.extend(gone);
            }
            (true, 1) => {
                self.writes.truncate_table(&view, table).unwrap();
                self.changes.insert(table, Change::Replaced(Vec::new()));
            }
            (true, _) => {
                let ids = *next_id..*next_id + count;
                *next_id += count;
                append(&mut self.writes, &view, table, ids.clone()).await.unwrap();
                let change = self.changes.entry(table).or_insert_with(|| Change::Added(Vec::new()));
                match change {
                    Change::Added(own) | Change::Replaced(own) => own.extend(ids),
                    Change::Dropped => unreachable!("the view has it"),
                }
            }
        }
    }
}

/// Locks and deletes random rows of a table; returns their numbers.
async fn delete_some(
    random: &mut SeededRandom,
    device: &dyn Device,
    writes: &mut WriteSet,
    view: &Catalog,
    table: &str,
) -> Vec<i64> {
    let version = view.table(table).unwrap();
    let ids = read_ids(device, version).await;
    let share = 1 + random.below(4);
    let chosen = row_ids(version).into_iter().zip(ids).filter(|_| random.chance(1, share));
    let (rows, gone): (Vec<RowId>, Vec<i64>) = chosen.unzip();
    let (own, committed) = rows.into_iter().partition::<Vec<_>, _>(|row| row.chunk.0 >= PRIVATE_CHUNKS);
    let committed = seen_rows(version, committed);
    assert_eq!(writes.lock_rows(version.def.id, &committed).await.unwrap(), Locked::AsSeen);
    writes.delete_seen_rows((view, version), &committed, row_deletes(version, own)).unwrap();
    gone
}

/// One transaction at a time creates and drops: the others would fail, which is tested above.
async fn history(mut random: SeededRandom) {
    let temp = directory_in_memory();
    let device = test_device(temp.path());
    let store = open(temp.path()).unwrap();
    let (mut committed, mut next_id) = (State::new(), 0);
    for table in TABLES {
        store.create_table(new_table(table)).await.unwrap();
        committed.insert(table.to_owned(), Vec::new());
    }
    for _ in 0..6 {
        let mut open = Open::new(&store);
        for _ in 0..random.below(12) {
            match random.below(8) {
                0 => open.savepoints.push((open.writes.clone(), open.changes.clone(), open.gone.clone())),
                1 => {
                    if let Some((writes, changes, gone)) = open.savepoints.pop() {
                        (open.writes, open.changes, open.gone) = (writes, changes, gone);
                    }
                }
                2 => {
                    open.writes.settle().await.unwrap();
                    let view = open.writes.view(&store.snapshot());
                    assert_eq!(state_of(device.as_ref(), &view).await, open.expected(&committed));
                }
                3 => {
                    // Another transaction, of one statement.
                    let table = TABLES[random.below(3) as usize];
                    if committed.contains_key(table) {
                        if random.chance(1, 3) {
                            let id = store.snapshot().table(table).unwrap().def.id;
                            store.compact(id, 0.0).await.unwrap();
                        }
                        insert(&store, table, next_id..next_id + 3).await.unwrap();
                        committed.get_mut(table).unwrap().extend(next_id..next_id + 3);
                        next_id += 3;
                        if let Some(Change::Replaced(_)) = open.changes.get(table) {
                            committed.get_mut(table).unwrap().sort_unstable();
                        }
                    }
                }
                _ => open.act(&mut random, &store, device.as_ref(), &mut next_id).await,
            }
        }
        let after = open.expected(&committed);
        let Open { writes, savepoints, .. } = open;
        drop(savepoints);
        match random.chance(3, 4) {
            true => {
                writes.commit().await.unwrap();
                committed = after;
            }
            false => drop(writes),
        }
        committed.values_mut().for_each(|ids| ids.sort_unstable());
        assert_eq!(state_of(device.as_ref(), &store.snapshot()).await, committed);
        assert_eq!(data_files(temp.path()), named_files(&store));
    }
}

#[tokio::test]
async fn random_transactions_agree_with_the_model() {
    for case in cases!(20, nightly 60) {
        history(case.random()).await;
    }
}

/// A transaction that has changed table "a" as `change` says before others add a column and drop the last one.
async fn altered_meanwhile(store: &Store, change: impl AsyncFnOnce(&mut WriteSet, &Catalog)) -> WriteSet {
    let (mut writes, before) = (store.write_set(), store.snapshot());
    change(&mut writes, &before).await;
    let def = &before.table("a").unwrap().def;
    if let [.., last] = def.columns.as_slice()
        && last.name.starts_with("extra")
    {
        store.change_columns("a", ColumnChange::Drop(last.name.clone())).await.unwrap();
    }
    store.change_columns("a", ColumnChange::Add(extra_column(def.next_column_id))).await.unwrap();
    writes
}

/// Checks that the transaction's view has these rows with the columns that others have made, and that it cannot commit.
async fn check_altered(store: &Store, writes: WriteSet, expected: impl IntoIterator<Item = i64>) {
    let newest = store.snapshot();
    let view = writes.view(&newest);
    let version = view.table("a").unwrap();
    assert_eq!(version.def, newest.table("a").unwrap().def);
    assert!(read_ids(test_device(store.dir()).as_ref(), version).await.into_iter().eq(expected));
    let refused = writes.commit().await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(store.snapshot().sequence(), newest.sequence());
}

#[tokio::test]
async fn a_table_that_others_alter_is_shown_as_it_is_now_and_fails_the_commit() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("a")).await.unwrap();
    insert(&store, "a", 0..10).await.unwrap();
    let add = async |writes: &mut WriteSet, view: &Catalog, ids: std::ops::Range<i64>| {
        let mut appender = writes.append(view, "a").unwrap();
        appender.append(rows_of(appender.def(), ids)).await.unwrap();
        writes.add_rows(appender.finish().await.unwrap()).await
    };
    let settled = async |writes: &mut WriteSet, view: &Catalog| {
        add(writes, view, 10..20).await.unwrap();
        writes.settle().await.unwrap();
    };
    // The first time a column is added; later another one is dropped, too.
    for _ in 0..2 {
        check_altered(&store, altered_meanwhile(&store, settled).await, 0..20).await;
        let deletes = async |writes: &mut WriteSet, view: &Catalog| {
            let version = view.table("a").unwrap();
            writes.delete_rows(view, "a", &row_deletes(version, row_ids(version).into_iter().skip(7))).unwrap();
        };
        check_altered(&store, altered_meanwhile(&store, deletes).await, 0..7).await;
        let truncates = async |writes: &mut WriteSet, view: &Catalog| writes.truncate_table(view, "a").unwrap();
        check_altered(&store, altered_meanwhile(&store, truncates).await, []).await;
    }
    let mut writes = altered_meanwhile(&store, settled).await;
    let more = add(&mut writes, &store.snapshot(), 20..30).await;
    assert!(matches!(more, Err(StoreError::Conflict { .. })), "{more:?}");
    // What it does to the table as it is now takes the place of what it did before.
    writes.truncate_table(&store.snapshot(), "a").unwrap();
    writes.commit().await.unwrap();
    assert_eq!(store.snapshot().table("a").unwrap().row_count(), 0);
    assert_eq!(data_files(temp.path()), named_files(&store));
}

/// Transactions until the power goes; returns the states before and after the one that it hit.
async fn live(dir: &Path, random: &mut SeededRandom, found: State, next_id: &mut i64) -> (State, State) {
    let disk = faulty_disk(dir);
    disk.inject(Fault::Crash { after_operations: random.below(80) });
    let (mut before, mut after) = (found.clone(), found);
    let Ok(store) = open_on(dir, &disk) else {
        disk.cut_power(random.below(u64::MAX)).unwrap();
        return (before, after);
    };
    while !disk.is_crashed() {
        let transaction = transaction(random, &store, &mut after, next_id);
        match transaction.await {
            Ok(()) => before.clone_from(&after),
            Err(StoreError::Uncertain { .. }) => break,
            Err(error) => {
                assert!(disk.is_crashed(), "{error}");
                after.clone_from(&before);
            }
        }
    }
    drop(store);
    disk.cut_power(random.below(u64::MAX)).unwrap();
    (before, after)
}

async fn transaction(
    random: &mut SeededRandom,
    store: &Arc<Store>,
    state: &mut State,
    next_id: &mut i64,
) -> Result<(), StoreError> {
    let mut writes = store.write_set();
    for _ in 0..=random.below(4) {
        let table = TABLES[random.below(3) as usize];
        let view = writes.view(&store.snapshot());
        match (state.contains_key(table), random.below(6)) {
            (false, _) => {
                writes.create_table(&view, new_table(table))?;
                state.insert(table.to_owned(), Vec::new());
            }
            (true, 0) => {
                writes.drop_table(&view, table)?;
                state.remove(table);
            }
            (true, 2) => {
                writes.settle().await?;
                let view = writes.view(&store.snapshot());
                let version = view.table(table).unwrap();
                let chosen: Vec<RowId> = row_ids(version).into_iter().filter(|_| random.chance(1, 2)).collect();
                let ids = read_ids(test_device(store.dir()).as_ref(), version).await;
                let gone: BTreeSet<i64> = row_ids(version)
                    .iter()
                    .zip(ids)
                    .filter(|(row, _)| chosen.contains(row))
                    .map(|(_, id)| id)
                    .collect();
                writes.delete_rows(&view, table, &row_deletes(version, chosen))?;
                state.get_mut(table).unwrap().retain(|id| !gone.contains(id));
            }
            (true, 1) => {
                writes.truncate_table(&view, table)?;
                state.insert(table.to_owned(), Vec::new());
            }
            (true, _) => {
                let ids = *next_id..*next_id + 5;
                *next_id += 5;
                append(&mut writes, &view, table, ids.clone()).await?;
                state.get_mut(table).unwrap().extend(ids);
                if random.chance(1, 3) {
                    writes.settle().await?;
                }
            }
        }
    }
    writes.commit().await.map(drop)
}

#[tokio::test]
async fn power_cuts_leave_all_of_a_transaction_or_nothing() {
    for case in cases!(0..200) {
        let mut random = case.random();
        let temp = directory_in_memory();
        let (mut found, mut next_id) = (State::new(), 0);
        for life in 1..=2 {
            let (before, after) = live(temp.path(), &mut random, found, &mut next_id).await;
            let crash = format!("power cut {life}");
            found = read_state(temp.path(), &crash).await;
            // No transaction changes columns.
            found.retain(|name, _| TABLES.contains(&name.as_str()));
            assert!(found == before || found == after, "{crash}: {}", describe(&found, &before, &after));
        }
    }
}
