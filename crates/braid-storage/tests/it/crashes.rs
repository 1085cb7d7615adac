//! A crash at every single operation of a history of commits leaves the state before or after the commit it hit.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use braid_base::enum_types::{EnumLabel, KEY_GAP, LabelPlace};
use braid_base::{CHUNK_ROWS, SchemaId};
use braid_io::{Fault, FaultDevice};
use braid_storage::{CatalogType, ColumnChange, Store, StoreError, TypeChanges};

use crate::test_table::{
    create, data_files, delete_where, directory_in_memory, extra_column, faulty_disk, insert, key, named_files,
    new_table, open_again, open_on, read_ids, rows, test_device,
};
use crate::views::{add_view, remove_view, view_of};

/// The system's number of an error of the disk.
const EIO: i32 = 5;

/// Tables and the numbers of their rows; of each table the next column id and the ids of extra columns; enumerated types, and
/// the sort orders of their labels; views, and the numbers of their columns.
pub type State = BTreeMap<String, Vec<i64>>;

#[derive(Clone, Copy, Debug)]
pub enum Action {
    Create(&'static str),
    Insert(&'static str, i64, i64),
    CreateAs(&'static str, i64, i64),
    /// The rows of a table whose numbers are multiples of a number.
    Delete(&'static str, i64),
    Drop(&'static str),
    AddColumn(&'static str),
    /// Drops the last extra column, if there is one.
    DropColumn(&'static str),
    AddType(&'static str),
    AddLabel(&'static str),
    DropType(&'static str),
    /// A view of a table.
    AddView(&'static str, &'static str),
    DropView(&'static str),
    /// Writes all chunks of a table with deleted rows again.
    Compact(&'static str),
    Checkpoint,
}

/// What the columns of a table are called in a state.
fn columns_entry(table: &str) -> String {
    format!("columns of {table}")
}

/// Number of the columns that every table has.
const COLUMN_COUNT: usize = 4;

/// What a type is called in a state.
fn type_entry(name: &str) -> String {
    format!("type {name}")
}

/// What a view is called in a state.
fn view_entry(name: &str) -> String {
    format!("view {name}")
}

impl Action {
    pub async fn run(self, store: &Store) -> Result<(), StoreError> {
        match self {
            Self::Checkpoint => store.checkpoint().await,
            Self::Compact(table) => {
                let id = store.snapshot().table(table).unwrap().def.id;
                store.compact(id, 0.0).await.map(|_| ())
            }
            Self::Create(table) => create(store, new_table(table), vec![key(&format!("{table}_id_key"), &[0])]).await,
            Self::Insert(table, from, to) => insert(store, table, from..to).await.map(|_| ()),
            Self::CreateAs(table, from, to) => {
                let mut appender = store.create_and_append(new_table(table))?;
                appender.append(rows(from..to)).await?;
                appender.commit().await.map(|_| ())
            }
            Self::Delete(table, of) => {
                // Other operations than the commit's do not go through the device that fails.
                let device = test_device(store.dir());
                delete_where(store, device.as_ref(), table, |id| id % of == 0).await.map(|_| ())
            }
            Self::Drop(table) => store.drop_table(table).await,
            Self::AddColumn(table) => {
                let next_column_id = store.snapshot().table(table).unwrap().def.next_column_id;
                store.change_columns(table, ColumnChange::Add(extra_column(next_column_id))).await.map(|_| ())
            }
            Self::DropColumn(table) => match store.snapshot().table(table).unwrap().def.columns.as_slice() {
                [.., last] if last.name.starts_with("extra") => {
                    store.change_columns(table, ColumnChange::Drop(last.name.clone())).await.map(|_| ())
                }
                _ => Ok(()),
            },
            Self::AddType(name) => {
                let labels = vec!["a".to_owned(), "b".to_owned()];
                store
                    .change_types(|changes| {
                        changes.add(SchemaId::PUBLIC, (name.to_owned(), format!("_{name}")), labels)
                    })
                    .await
            }
            Self::AddLabel(name) => store.change_types(|changes| add_label(changes, name)).await,
            Self::DropType(name) => {
                let drop_it = |changes: &mut TypeChanges<'_>| {
                    let oid = changes.catalog().enum_type_in(SchemaId::PUBLIC, name).unwrap().definition.oid;
                    changes.remove(oid);
                    Ok(())
                };
                store.change_types(drop_it).await
            }
            Self::AddView(name, table) => {
                let mut writes = store.write_set();
                add_view(store, &mut writes, view_of(name, store.snapshot().table(table).unwrap().def.id))?;
                writes.commit().await.map(|_| ())
            }
            Self::DropView(name) => {
                let mut writes = store.write_set();
                remove_view(&mut writes, &store.snapshot(), name);
                writes.commit().await.map(|_| ())
            }
        }
    }

    pub fn apply(self, state: &mut State) {
        match self {
            Self::Checkpoint | Self::Compact(_) => {}
            Self::Create(table) => {
                state.insert(table.to_owned(), Vec::new());
                state.insert(columns_entry(table), vec![COLUMN_COUNT as i64]);
            }
            Self::Insert(table, from, to) => state.get_mut(table).unwrap().extend(from..to),
            Self::CreateAs(table, from, to) => {
                state.insert(table.to_owned(), (from..to).collect());
                state.insert(columns_entry(table), vec![COLUMN_COUNT as i64]);
            }
            Self::Delete(table, of) => state.get_mut(table).unwrap().retain(|id| id % of != 0),
            Self::Drop(table) => {
                state.remove(table);
                state.remove(&columns_entry(table));
            }
            Self::AddColumn(table) => {
                let columns = state.get_mut(&columns_entry(table)).unwrap();
                let id = columns[0];
                columns[0] += 1;
                columns.push(id);
            }
            Self::DropColumn(table) => {
                let columns = state.get_mut(&columns_entry(table)).unwrap();
                columns.truncate(1.max(columns.len() - 1));
            }
            Self::AddType(name) => drop(state.insert(type_entry(name), vec![1, 2])),
            Self::AddLabel(name) => {
                let orders = state.get_mut(&type_entry(name)).unwrap();
                orders.push(orders.len() as i64 + 1);
            }
            Self::DropType(name) => drop(state.remove(&type_entry(name))),
            Self::AddView(name, _) => drop(state.insert(view_entry(name), vec![1])),
            Self::DropView(name) => drop(state.remove(&view_entry(name))),
        }
    }
}

/// Puts a label behind the others.
fn add_label(changes: &mut TypeChanges<'_>, name: &str) -> Result<(), StoreError> {
    let mut definition = (*changes.catalog().enum_type_in(SchemaId::PUBLIC, name).unwrap().definition).clone();
    let key = definition.key_at(LabelPlace::Last).unwrap();
    let oid = changes.label_oid()?;
    definition.insert(EnumLabel { oid, key, text: format!("label {oid}").into() });
    changes.replace(definition);
    Ok(())
}

/// The columns of all tables, the numbers of columns of all views, and the sort orders of the labels of all types.
fn definitions_of(store: &Store) -> State {
    let orders = |known: &CatalogType| known.definition.labels.iter().map(|label| label.key / KEY_GAP).collect();
    let snapshot = store.snapshot();
    let types = snapshot.enum_types().map(|known| (type_entry(&known.definition.name), orders(known)));
    let columns = snapshot.tables().map(|version| {
        let extra = version.def.columns[COLUMN_COUNT..].iter().map(|column| i64::from(column.id.0));
        let columns = std::iter::once(i64::from(version.def.next_column_id)).chain(extra).collect();
        (columns_entry(&version.def.name), columns)
    });
    let views = snapshot.views().by_id().values();
    let views = views.map(|view| (view_entry(&view.name), vec![view.columns.len() as i64]));
    types.chain(columns).chain(views).collect()
}

/// A disk on which everything is refused from operation `n` on, from 1.
fn dying_at(dir: &Path, n: u64) -> Arc<FaultDevice> {
    let disk = faulty_disk(dir);
    disk.inject(Fault::Crash { after_operations: n - 1 });
    disk
}

/// Runs `actions` until the disk dies at operation `n`, cuts the power, opens the directory with a sound disk and
/// checks what is there. Returns whether the disk died at all.
async fn crash_at(n: u64, actions: &[Action]) -> bool {
    let temp = directory_in_memory();
    let disk = dying_at(temp.path(), n);
    let mut before = State::new();
    let mut after = State::new();
    match open_on(temp.path(), &disk) {
        Err(error) => assert!(disk.is_crashed(), "{error}"),
        Ok(store) => {
            for action in actions {
                action.apply(&mut after);
                match action.run(&store).await {
                    Ok(()) => before.clone_from(&after),
                    Err(StoreError::Uncertain { .. }) => break,
                    Err(_) => {
                        after.clone_from(&before);
                        break;
                    }
                }
            }
        }
    }
    let died = disk.is_crashed();
    disk.cut_power(n).unwrap();
    drop(disk);
    let found = read_state(temp.path(), &format!("crash at operation {n}")).await;
    assert!(found == before || found == after, "crash at operation {n}: {}", describe(&found, &before, &after));
    died
}

/// What a sound disk finds in the directory; it must be whole and without remains.
pub async fn read_state(dir: &Path, crash: &str) -> State {
    let device = test_device(dir);
    let store = open_again(dir).await.unwrap_or_else(|error| panic!("{crash}: {error}"));
    let mut state = definitions_of(&store);
    for version in store.snapshot().tables() {
        let mut ids = read_ids(device.as_ref(), version).await;
        // Compaction puts rows behind others. They are numbered as they come.
        ids.sort_unstable();
        state.insert(version.def.name.clone(), ids);
    }
    assert_eq!(data_files(dir), named_files(&store), "{crash}");
    let report = store.check(|_| {}).await;
    assert!(report.is_sound() && report.orphans.is_empty(), "{crash}: {report:?}");
    // The directory is fit for use.
    store.create_table(new_table("later")).await.unwrap();
    insert(&store, "later", 0..3).await.unwrap();
    store.drop_table("later").await.unwrap();
    state
}

pub fn describe(found: &State, before: &State, after: &State) -> String {
    let counts = |state: &State| state.iter().map(|(name, ids)| (name.clone(), ids.len())).collect::<Vec<_>>();
    format!("found {:?}, neither {:?} nor {:?}", counts(found), counts(before), counts(after))
}

async fn crash_everywhere(actions: &[Action], operations: impl Iterator<Item = u64>) {
    for n in operations {
        if !crash_at(n, actions).await {
            assert!(n > 20, "the history has more than {n} operations");
            return;
        }
    }
}

const SMALL_COMMITS: [Action; 25] = [
    Action::AddType("mood"),
    Action::Create("a"),
    Action::Insert("a", 0, 10),
    Action::CreateAs("b", 0, 300),
    // Merged with the ten rows before: replaces a file.
    Action::Insert("a", 10, 40),
    Action::AddLabel("mood"),
    Action::AddView("v", "b"),
    Action::Checkpoint,
    Action::Delete("b", 2),
    Action::AddColumn("b"),
    Action::AddType("temper"),
    // All rows: the file goes.
    Action::Delete("a", 1),
    Action::Insert("b", 300, 310),
    Action::AddColumn("b"),
    Action::DropColumn("b"),
    Action::AddView("w", "b"),
    Action::Checkpoint,
    Action::Checkpoint,
    Action::DropView("v"),
    Action::AddColumn("b"),
    Action::Delete("b", 3),
    Action::Drop("a"),
    Action::DropType("temper"),
    // Merged with all rows of b that are left, in chunks from before the columns.
    Action::Insert("b", 310, 700),
    Action::DropColumn("b"),
];

#[tokio::test]
async fn at_every_operation_of_small_commits() {
    crash_everywhere(&SMALL_COMMITS, 1..).await;
}

/// What a caller does about a failed commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterFailure {
    Retry,
    Close,
}

/// One operation fails and the process lives on: the commit fails, everything else goes on, unless the operation was
/// the one that leaves a doubt. Returns whether the operation was reached, and whether it left a doubt.
async fn fail_at(n: u64, policy: AfterFailure) -> (bool, bool) {
    let temp = directory_in_memory();
    let device = test_device(temp.path());
    let disk = faulty_disk(temp.path());
    disk.inject(Fault::Fail { operation: None, file: None, nth: n, errno: EIO });
    let has_failed = || disk.counts().total() >= n;
    let Ok(store) = open_on(temp.path(), &disk) else {
        assert!(has_failed());
        open_again(temp.path()).await.unwrap();
        return (true, false);
    };
    let (mut before, mut after, mut in_doubt) = (State::new(), State::new(), false);
    for action in SMALL_COMMITS {
        action.apply(&mut after);
        match action.run(&store).await {
            Ok(()) => {}
            Err(StoreError::Uncertain { .. }) => {
                let again = action.run(&store).await;
                assert!(matches!(again, Err(StoreError::Halted { .. })), "{again:?}");
                in_doubt = true;
                break;
            }
            Err(error) => {
                assert!(has_failed(), "{error}");
                assert_eq!(data_files(temp.path()), named_files(&store), "space is given back after failure at {n}");
                if policy == AfterFailure::Close {
                    after.clone_from(&before);
                    break;
                }
                action.run(&store).await.unwrap();
            }
        }
        before.clone_from(&after);
    }
    // Whatever failed, what was there before can be read, in this process and in the next.
    let definitions = definitions_of(&store);
    for (table, ids) in &before {
        if let Some(definition) = definitions.get(table) {
            assert_eq!(definition, ids, "failure at {n}");
            continue;
        }
        assert_eq!(&read_ids(device.as_ref(), store.snapshot().table(table).unwrap()).await, ids, "failure at {n}");
    }
    drop(store);
    let failed = has_failed();
    disk.cut_power(n).unwrap();
    let found = read_state(temp.path(), &format!("crash at operation {n}")).await;
    assert!(found == before || found == after, "failure at {n}: {}", describe(&found, &before, &after));
    (failed, in_doubt)
}

#[tokio::test]
async fn any_single_operation_may_fail() {
    for policy in [AfterFailure::Retry, AfterFailure::Close] {
        let mut doubts = 0;
        for n in 1.. {
            let (failed, in_doubt) = fail_at(n, policy).await;
            doubts += usize::from(in_doubt);
            if !failed {
                break;
            }
        }
        let commits = SMALL_COMMITS.iter().filter(|action| !matches!(action, Action::Checkpoint)).count();
        assert_eq!(doubts, commits, "the sync of the log of each commit, and no other operation");
    }
}

#[tokio::test]
async fn at_operations_of_a_load_of_several_chunks() {
    let rows = 2 * CHUNK_ROWS as i64 + 1000;
    let actions = [Action::Create("a"), Action::Insert("a", 0, 50), Action::Insert("a", 50, rows)];
    // The first 19 operations are like those above; beyond, every third.
    crash_everywhere(&actions, (20..).step_by(3)).await;
}

/// Two writers at once, so that crashes also hit one commit while another is being prepared.
#[tokio::test]
async fn at_every_third_operation_of_concurrent_writers() {
    for n in (8..).step_by(3) {
        let temp = directory_in_memory();
        let disk = dying_at(temp.path(), n);
        let Ok(store) = open_on(temp.path(), &disk) else { continue };
        if store.create_table(new_table("t")).await.is_err() {
            continue;
        }
        let writer = |first: i64| {
            let store = Arc::clone(&store);
            async move {
                let mut committed = Vec::new();
                for i in 0..4 {
                    let ids = first + 10 * i..first + 10 * i + 10;
                    match insert(&store, "t", ids.clone()).await {
                        Ok(_) => committed.push(ids.start),
                        Err(_) => break,
                    }
                }
                committed
            }
        };
        let (a, b) = (tokio::spawn(writer(0)), tokio::spawn(writer(1000)));
        let committed = [a.await.unwrap(), b.await.unwrap()].concat();
        let died = disk.is_crashed();
        drop(store);
        disk.cut_power(n).unwrap();
        drop(disk);
        let ids = read_state(temp.path(), &format!("crash at operation {n}")).await.remove("t").unwrap();
        let inserts: Vec<i64> = ids.chunks(10).map(|insert| insert[0]).collect();
        assert!(ids.chunks(10).all(|insert| insert.iter().copied().eq(insert[0]..insert[0] + 10)), "whole inserts");
        assert!(committed.iter().all(|start| inserts.contains(start)), "crash at {n}: {committed:?} in {inserts:?}");
        assert!(inserts.len() <= committed.len() + 2, "crash at {n}: one batch at most is in doubt");
        if !died {
            assert_eq!(inserts.len(), 8);
            return;
        }
    }
}
