//! Sequences: numbers that do not come twice, through power cuts, other sessions, and changes that are rolled back.

use std::collections::HashSet;
use std::sync::Arc;

use braid_base::{ColumnId, Random, SchemaId, SeededRandom, TableId};
use braid_io::Fault;
use braid_storage::{
    CatalogSequence, ColumnChange, SequenceChanges, SequenceDef, SequenceOwner, SequenceScope, SequenceState,
    SequenceType, SequenceUse, Store, StoreError, TypeChanges,
};
use braid_testing::cases;

use crate::test_table::{directory_in_memory, faulty_disk, new_table, open, open_again, open_on};

fn definition(id: TableId, name: &str) -> SequenceDef {
    let (value_type, max) = (SequenceType::BigInt, i64::MAX);
    let (start, increment, min, cache) = (1, 1, 1, 1);
    let (name, cycles, owner) = (name.to_owned(), false, None);
    SequenceDef { id, schema: SchemaId::PUBLIC, name, value_type, start, increment, min, max, cache, cycles, owner }
}

/// Changes sequences in a transaction of its own.
async fn change(
    store: &Store,
    change: impl FnOnce(&mut SequenceChanges<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut writes = store.write_set();
    writes.change_sequences(&store.snapshot(), change)?;
    writes.commit().await.map(drop)
}

async fn create(store: &Store, name: &str) -> Result<(), StoreError> {
    change(store, |changes| changes.add(definition(changes.new_id(), name))).await
}

fn sequence(store: &Store, name: &str) -> CatalogSequence {
    store.snapshot().sequence_named(name).unwrap().clone()
}

fn next(store: &Store, name: &str) -> Result<i64, StoreError> {
    let numbers = store.next_numbers((&sequence(store, name), SequenceScope::Committed), 0)?;
    Ok(numbers.first)
}

/// Takes numbers until the power goes.
async fn live(dir: &std::path::Path, random: &mut SeededRandom, taken: &mut Vec<i64>) {
    let disk = faulty_disk(dir);
    disk.inject(Fault::Crash { after_operations: random.below(60) });
    if let Ok(store) = open_on(dir, &disk) {
        while !disk.is_crashed() {
            match next(&store, "s") {
                Ok(number) => taken.push(number),
                Err(StoreError::Uncertain { .. }) => break,
                Err(error) => assert!(disk.is_crashed(), "{error}"),
            }
        }
    }
    disk.cut_power(random.below(u64::MAX)).unwrap();
}

#[tokio::test]
async fn no_number_comes_twice_over_power_cuts() {
    for case in cases!(0..50) {
        let (temp, mut random, mut taken) = (directory_in_memory(), case.random(), Vec::new());
        create(&open(temp.path()).unwrap(), "s").await.unwrap();
        for _ in 0..3 {
            live(temp.path(), &mut random, &mut taken).await;
        }
        let store = open_again(temp.path()).await.unwrap();
        taken.push(next(&store, "s").unwrap());
        assert!(taken.is_sorted_by(|a, b| a < b), "{taken:?}");
    }
}

#[tokio::test]
async fn the_first_commit_reserves_as_many_numbers_as_postgresql_logs_and_each_other_twice_as_many() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, "s").await.unwrap();
    let commits_before = store.snapshot().sequence();
    let mut left = Vec::new();
    for number in 1..=35 {
        assert_eq!(next(&store, "s").unwrap(), number);
        left.push(sequence(&store, "s").counter.shown().left);
    }
    let expected: Vec<u64> = (0..=32).rev().chain([64, 63]).collect();
    assert_eq!(left, expected);
    assert_eq!(store.snapshot().sequence() - commits_before, 2);
    let of_a_large_statement = store.next_numbers((&sequence(&store, "s"), SequenceScope::Committed), 1_000).unwrap();
    assert_eq!(of_a_large_statement.first, 36);
    drop(store);
    assert_eq!(next(&open_again(temp.path()).await.unwrap(), "s").unwrap(), 34 + 64 + 1);
}

#[tokio::test]
async fn short_statements_reserve_at_most_a_thousand_numbers() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, "s").await.unwrap();
    let commits_before = store.snapshot().sequence();
    let mut most = 0;
    for number in 1..=20_000 {
        assert_eq!(next(&store, "s").unwrap(), number);
        most = most.max(sequence(&store, "s").counter.shown().left);
    }
    assert_eq!(most, 1024);
    // 32 + 64 + ... + 512 are 992, each number that needs a reservation is one more, and the others are 1025 at a time.
    assert_eq!(store.snapshot().sequence() - commits_before, 5 + (20_000_u64 - 5 - 992).div_ceil(1025));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_that_were_reserved_come_after_an_orderly_end() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    for name in ["a", "b", "unused"] {
        create(&store, name).await.unwrap();
    }
    assert_eq!([next(&store, "a").unwrap(), next(&store, "a").unwrap(), next(&store, "b").unwrap()], [1, 2, 1]);
    store.give_back_reserved_numbers().unwrap();
    let commits = store.snapshot().sequence();
    store.give_back_reserved_numbers().unwrap();
    assert_eq!(store.snapshot().sequence(), commits, "there is nothing more to give back");
    // A statement that still runs reserves anew.
    assert_eq!(next(&store, "b").unwrap(), 2);
    store.give_back_reserved_numbers().unwrap();
    drop(store);
    let store = open_again(temp.path()).await.unwrap();
    assert_eq!(["a", "b", "unused"].map(|name| next(&store, name).unwrap()), [3, 3, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_take_different_numbers() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, "s").await.unwrap();
    let sessions = (0..32).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { (0..50).map(|_| next(&store, "s").unwrap()).collect::<Vec<_>>() })
    });
    let taken: Vec<i64> = futures::future::join_all(sessions).await.into_iter().flat_map(Result::unwrap).collect();
    let different: HashSet<i64> = taken.iter().copied().collect();
    assert_eq!((taken.len(), different.len(), taken.iter().max()), (1600, 1600, Some(&1600)));
}

#[tokio::test]
async fn a_sequence_goes_on_where_it_was_set() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, "s").await.unwrap();
    let set = |store: &Store, last_value, is_called| {
        let known = sequence(store, "s");
        store.set_number((&known, SequenceScope::Committed), SequenceState { last_value, is_called })
    };
    set(&store, 100, true).unwrap();
    assert_eq!(next(&store, "s").unwrap(), 101);
    set(&store, 7, false).unwrap();
    drop(store);
    let store = open_again(temp.path()).await.unwrap();
    assert_eq!(next(&store, "s").unwrap(), 7);
    let error = set(&store, 0, true).unwrap_err();
    assert_eq!(error.to_string(), "setval: value 0 is out of bounds for sequence \"s\" (1..9223372036854775807)");
    assert_eq!(next(&store, "s").unwrap(), 8);
}

#[tokio::test]
async fn numbers_taken_before_a_change_commits_do_not_come_after_it() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, "s").await.unwrap();
    next(&store, "s").unwrap();
    let id = sequence(&store, "s").definition.id;
    let mut writes = store.write_set();
    let faster = |changes: &mut SequenceChanges<'_>| {
        changes.redefine(SequenceDef { increment: 10, max: 1_000, ..definition(id, "s") })
    };
    writes.change_sequences(&store.snapshot(), faster).unwrap();
    let (own, scope) = writes.sequence(&store.snapshot(), id).unwrap();
    assert_eq!(scope, SequenceScope::Committed);
    assert_eq!(store.next_numbers((&own, scope), 0).unwrap().first, 11);
    // Others do not see the change yet.
    assert_eq!(next(&store, "s").unwrap(), 12);
    writes.commit().await.unwrap();
    assert_eq!(next(&store, "s").unwrap(), 22);
    drop(store);
    let store = open_again(temp.path()).await.unwrap();
    assert_eq!(next(&store, "s").unwrap(), 22 + 32 * 10 + 10);
}

#[tokio::test]
async fn only_restart_is_rolled_back() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, "s").await.unwrap();
    assert_eq!(next(&store, "s").unwrap(), 1);
    let id = sequence(&store, "s").definition.id;
    let restart = |changes: &mut SequenceChanges<'_>| {
        changes.restart(definition(id, "s"), SequenceState { last_value: 500, is_called: false })
    };
    let mut writes = store.write_set();
    writes.change_sequences(&store.snapshot(), restart).unwrap();
    let (own, scope) = writes.sequence(&store.snapshot(), id).unwrap();
    assert_eq!((scope, store.next_numbers((&own, scope), 0).unwrap().first), (SequenceScope::Transaction, 500));
    drop(writes);
    assert_eq!(next(&store, "s").unwrap(), 2);
    let mut writes = store.write_set();
    writes.change_sequences(&store.snapshot(), restart).unwrap();
    let (own, scope) = writes.sequence(&store.snapshot(), id).unwrap();
    assert_eq!(store.next_numbers((&own, scope), 0).unwrap().first, 500);
    writes.commit().await.unwrap();
    assert_eq!(next(&store, "s").unwrap(), 501);
    drop(store);
    assert!(next(&open_again(temp.path()).await.unwrap(), "s").unwrap() > 501);
}

#[tokio::test]
async fn sequences_and_tables_have_different_names() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    create(&store, "s").await.unwrap();
    assert!(matches!(store.create_table(new_table("s")).await, Err(StoreError::TableExists { .. })));
    for taken in ["s", "t"] {
        assert!(matches!(create(&store, taken).await, Err(StoreError::TableExists { .. })), "{taken}");
    }
    // Names that others take meanwhile.
    let view = store.snapshot();
    let (mut first, mut second, mut third) = (store.write_set(), store.write_set(), store.write_set());
    first.change_sequences(&view, |changes| changes.add(definition(changes.new_id(), "x"))).unwrap();
    second.change_sequences(&view, |changes| changes.add(definition(changes.new_id(), "x"))).unwrap();
    third.create_table(&view, new_table("x")).unwrap();
    first.commit().await.unwrap();
    assert!(matches!(second.commit().await, Err(StoreError::TableExists { .. })));
    assert!(matches!(third.commit().await, Err(StoreError::TableExists { .. })));
}

#[tokio::test]
async fn a_change_of_what_others_have_changed_fails() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, "s").await.unwrap();
    let (view, id) = (store.snapshot(), sequence(&store, "s").definition.id);
    let renamed = |name: &'static str| move |changes: &mut SequenceChanges<'_>| changes.redefine(definition(id, name));
    let (mut first, mut second) = (store.write_set(), store.write_set());
    first.change_sequences(&view, renamed("a")).unwrap();
    second.change_sequences(&view, renamed("b")).unwrap();
    first.commit().await.unwrap();
    assert!(matches!(second.commit().await, Err(StoreError::Conflict { .. })));
    assert!(store.snapshot().sequence_named("a").is_some());
    // What others have added between two changes of a transaction stays as they have it.
    let mut writes = store.write_set();
    writes.change_sequences(&store.snapshot(), |changes| changes.add(definition(changes.new_id(), "x"))).unwrap();
    create(&store, "y").await.unwrap();
    let view = writes.view(&store.snapshot());
    writes.change_sequences(&view, |changes| changes.add(definition(changes.new_id(), "z"))).unwrap();
    change(&store, |changes| {
        changes.remove(changes.named(SchemaId::PUBLIC, "y").unwrap().definition.id);
        Ok(())
    })
    .await
    .unwrap();
    let catalog = writes.commit().await.unwrap();
    let names: Vec<&str> = catalog.sequences().map(|known| known.definition.name.as_str()).collect();
    assert_eq!(names, ["a", "x", "z"]);
}

#[tokio::test]
async fn a_sequence_goes_with_the_column_that_owns_it() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    let owned = |table: TableId, column: u16, name: &'static str| {
        move |changes: &mut SequenceChanges<'_>| {
            let owner = Some(SequenceOwner { table, column: ColumnId(column), usage: SequenceUse::Owned });
            changes.add(SequenceDef { owner, ..definition(changes.new_id(), name) })
        }
    };
    let table = store.create_table(new_table("t")).await.unwrap().def.clone();
    change(&store, owned(table.id, 0, "first")).await.unwrap();
    change(&store, owned(table.id, 1, "second")).await.unwrap();
    store.change_columns("t", ColumnChange::Drop(table.columns[1].name.clone())).await.unwrap();
    assert!(store.snapshot().sequence_named("first").is_some());
    assert!(store.snapshot().sequence_named("second").is_none());
    let mut writes = store.write_set();
    writes.drop_table(&store.snapshot(), "t").unwrap();
    assert_eq!(writes.view(&store.snapshot()).sequences().len(), 0);
    writes.commit().await.unwrap();
    assert_eq!(store.snapshot().sequences().len(), 0);
}

/// What others have named since a transaction named the same fails its commit: a state with one name for two cannot be opened.
#[tokio::test]
async fn names_that_others_have_taken_fail_the_commit() {
    let temp = directory_in_memory();
    let mut store = open(temp.path()).unwrap();
    let named = |store: &Store, kind: usize, name: &str| {
        let (view, mut writes) = (store.snapshot(), store.write_set());
        match kind {
            0 => drop(writes.create_table(&view, new_table(name)).unwrap()),
            1 => writes.change_sequences(&view, |changes| changes.add(definition(changes.new_id(), name))).unwrap(),
            _ => {
                let labels = vec!["a".to_owned()];
                let add = |changes: &mut TypeChanges<'_>| {
                    changes.add(SchemaId::PUBLIC, (name.to_owned(), format!("_{name}")), labels)
                };
                writes.change_types(&view, add).unwrap();
            }
        }
        writes
    };
    for (round, (one, other)) in [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (2, 2)].into_iter().enumerate() {
        let name = format!("n{round}");
        let (late, early) = (named(&store, one, &name), named(&store, other, &name));
        early.commit().await.unwrap();
        let refused = late.commit().await.unwrap_err();
        let is_taken = matches!(refused, StoreError::TableExists { .. } | StoreError::TypeExists { .. });
        assert!(is_taken, "{one} after {other}: {refused}");
        drop(store);
        store = open_again(temp.path()).await.unwrap();
    }
}
