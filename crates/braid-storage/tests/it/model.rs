//! Random histories against a model in memory: creates, appends of all sizes, abandoned appends, deletes, drops, reopenings,
//! and readers that keep old versions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use braid_base::{CHUNK_ROWS, Random, SeededRandom};
use braid_storage::{ChunkMeta, Store, StoreError, TableVersion};
use braid_testing::cases;

use crate::test_table::{
    data_files, delete_seen, named_files, new_table, open, read_ids, row_ids, rows, seen_rows, test_device,
};

/// The numbers of a table's rows in order.
type Rows = Vec<i64>;

struct History {
    random: SeededRandom,
    model: BTreeMap<String, Rows>,
    /// Old versions that a reader still holds, with the rows they must have.
    held: Vec<(Arc<TableVersion>, Rows)>,
    next_id: i64,
}

impl History {
    fn table(&mut self) -> String {
        format!("t{}", self.random.below(4))
    }

    /// Mostly a few rows, sometimes thousands, seldom more than a chunk.
    fn row_count(&mut self) -> i64 {
        let below = match self.random.below(40) {
            0 => 2 * CHUNK_ROWS as u64,
            1..=8 => 5_000,
            _ => 20,
        };
        self.random.below(below) as i64
    }

    async fn append(&mut self, store: &Store, create: bool) {
        let table = self.table();
        let appender = if create { store.create_and_append(new_table(&table)) } else { store.append(&table) };
        let mut appender = match (appender, self.model.contains_key(&table) != create) {
            (Ok(appender), true) => appender,
            (Err(StoreError::UnknownTable { .. } | StoreError::TableExists { .. }), false) => return,
            (result, expected) => panic!("{:?}, expected success: {expected}", result.err()),
        };
        let mut added = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let ids = self.next_id..self.next_id + self.row_count();
            self.next_id = ids.end;
            appender.append(rows(ids.clone())).await.unwrap();
            added.push(ids);
        }
        if self.random.chance(1, 5) {
            return;
        }
        let (version, count) = appender.commit().await.unwrap();
        assert_eq!(count as i64, added.iter().map(|ids| ids.end - ids.start).sum::<i64>());
        let expected = self.model.entry(table).or_default();
        expected.extend(added.into_iter().flatten());
        if self.random.chance(1, 4) {
            self.held.push((version, expected.clone()));
        }
    }

    /// Deletes some rows of a version that may be old by now: by chance, a range, or all.
    async fn delete(&mut self, store: &Store, dir: &std::path::Path) {
        let (table, device) = (self.table(), test_device(dir));
        let Some(version) = store.snapshot().table(&table).cloned() else { return };
        let ids = read_ids(device.as_ref(), &version).await;
        let (from, share) = (self.random.below(ids.len() as u64 + 1) as usize, 1 + self.random.below(4));
        let to = from + self.random.below((ids.len() - from) as u64 + 1) as usize;
        let chosen = match self.random.below(8) {
            0 => 0..ids.len(),
            1..4 => from..to,
            _ => from..(from + 5).min(ids.len()),
        };
        let chosen: Vec<usize> = chosen.filter(|_| self.random.chance(1, share)).collect();
        let rows = row_ids(&version);
        let seen = seen_rows(&version, chosen.iter().map(|at| rows[*at]));
        // They may be in other chunks by then.
        for _ in 0..self.random.below(3) {
            match self.random.chance(1, 2) {
                true => self.append(store, false).await,
                false => self.compact(store).await,
            }
        }
        let expected = self.model.get_mut(&table).unwrap();
        assert!(delete_seen(store, &version, &seen).await.unwrap());
        let gone: BTreeSet<i64> = chosen.iter().map(|at| ids[*at]).collect();
        expected.retain(|id| !gone.contains(id));
        assert_eq!(store.snapshot().table(&table).unwrap().row_count(), expected.len() as u64);
        // What is gone is not deleted again.
        if let Some(row) = chosen.first() {
            let again = seen_rows(&version, [rows[*row]]);
            assert!(!delete_seen(store, &version, &again).await.unwrap());
        }
    }

    /// Compacts a table: worn chunks only, or all with deleted rows.
    async fn compact(&mut self, store: &Store) {
        let table = self.table();
        let Some(version) = store.snapshot().table(&table).cloned() else { return };
        let share = [0.0, 0.25][self.random.below(2) as usize];
        let deleted: u64 = version.chunks.iter().map(|chunk| u64::from(chunk.row_count - chunk.live_row_count())).sum();
        let done = store.compact(version.def.id, share).await.unwrap();
        assert_eq!(done.given_up, 0);
        let now = store.snapshot().table(&table).unwrap().clone();
        let left = now.chunks.iter().map(|chunk| u64::from(chunk.row_count - chunk.live_row_count())).sum::<u64>();
        assert_eq!(left, deleted - done.removed_rows);
        let is_worn = |chunk: &&Arc<ChunkMeta>| chunk.file.is_some() && chunk.deleted.is_some();
        assert!(share > 0.0 || now.chunks.iter().filter(is_worn).count() == 0);
        assert_eq!((now.row_count(), now.content), (version.row_count(), version.content));
        if self.random.chance(1, 4) {
            self.held.push((now, self.model[&table].clone()));
        }
    }

    async fn step(&mut self, store: &Store, dir: &std::path::Path) {
        let table = self.table();
        match self.random.below(20) {
            0 | 1 => match store.create_table(new_table(&table)).await {
                Ok(_) => assert!(self.model.insert(table, Rows::new()).is_none()),
                Err(StoreError::TableExists { .. }) => assert!(self.model.contains_key(&table)),
                Err(error) => panic!("{error}"),
            },
            2 => match store.drop_table(&table).await {
                Ok(()) => assert!(self.model.remove(&table).is_some()),
                Err(StoreError::UnknownTable { .. }) => assert!(!self.model.contains_key(&table)),
                Err(error) => panic!("{error}"),
            },
            3 => self.append(store, true).await,
            5..10 => self.delete(store, dir).await,
            10 | 11 => self.compact(store).await,
            4 if !self.held.is_empty() => {
                let at = self.random.below(self.held.len() as u64) as usize;
                self.held.swap_remove(at);
            }
            _ => self.append(store, false).await,
        }
    }

    async fn verify(&self, store: &Store, dir: &std::path::Path) {
        let device = test_device(dir);
        let snapshot = store.snapshot();
        let names: Vec<&str> = snapshot.tables().map(|version| version.def.name.as_str()).collect();
        assert_eq!(names.len(), self.model.len());
        for (name, expected) in &self.model {
            let ids = sorted(read_ids(device.as_ref(), snapshot.table(name).unwrap()).await);
            assert!(ids == *expected, "table {name}");
        }
        for (version, expected) in &self.held {
            let ids = sorted(read_ids(device.as_ref(), version).await);
            assert!(ids == *expected, "an old version of {}", version.def.name);
        }
    }
}

/// Rows are numbered as they come, and compaction puts them behind others.
fn sorted(mut ids: Rows) -> Rows {
    ids.sort_unstable();
    ids
}

async fn run(random: SeededRandom, steps: usize) {
    let temp = tempfile::tempdir().unwrap();
    let mut history = History { random, model: BTreeMap::new(), held: Vec::new(), next_id: 0 };
    let mut store = open(temp.path()).unwrap();
    for step in 0..steps {
        history.step(&store, temp.path()).await;
        if step % 20 == 19 {
            history.verify(&store, temp.path()).await;
            let report = store.check(|_| {}).await;
            assert!(report.is_sound() && report.orphans.is_empty(), "{report:?}");
            history.held.clear();
            assert_eq!(data_files(temp.path()), named_files(&store));
        }
        if history.random.chance(1, 15) {
            history.held.clear();
            drop(store);
            store = open(temp.path()).unwrap();
            assert_eq!(data_files(temp.path()), named_files(&store));
        }
    }
    history.verify(&store, temp.path()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_agree_with_the_model() {
    for case in cases!(0..6) {
        run(case.random(), 100).await;
    }
}
