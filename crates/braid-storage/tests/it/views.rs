//! Views in write sets: seen by their transaction, durable with its commit, in conflict with what others commit.

use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};
use braid_storage::{
    AlteredRows, Catalog, ColumnChange, ColumnType, SequenceDef, SequenceType, SourceColumn, SourceRelation, Store,
    StoreError, TypeChanges, ViewChanges, ViewColumn, ViewDef, ViewKind, ViewSize, ViewSource, WriteSet,
};

use crate::test_table::{directory_in_memory, new_table, open};

/// A view that reads the first column of a table or view, but not its second one.
pub fn view_of(name: &str, relation: TableId) -> ViewDef {
    let columns = vec![
        SourceColumn { id: ColumnId(0), name: "id".to_owned(), is_used: true },
        SourceColumn { id: ColumnId(1), name: "name".to_owned(), is_used: false },
    ];
    let relation = SourceRelation::Stored { id: relation, columns };
    ViewDef {
        id: TableId(0),
        schema: SchemaId::PUBLIC,
        name: name.to_owned(),
        options: Vec::new(),
        kind: ViewKind::Plain,
        columns: vec![ViewColumn { name: "id".to_owned(), query_name: "id".to_owned(), type_oid: 20, modifier: -1 }],
        text: "select id from t".into(),
        sources: vec![ViewSource { schema: None, name: "t".to_owned(), uses: 1, relation }],
        type_oids: Vec::new(),
        time_zone: "UTC".to_owned(),
        read_at_us: 0,
        size: ViewSize { levels: 1, expressions: 1 },
    }
}

pub fn add_view(store: &Store, writes: &mut WriteSet, view: ViewDef) -> Result<TableId, StoreError> {
    let seen = writes.view(&store.snapshot());
    writes.change_views(&seen, |changes| changes.add(view))
}

/// Puts a view in the place of the one with its id.
fn put(writes: &mut WriteSet, seen: &Arc<Catalog>, view: ViewDef) {
    let change = |changes: &mut ViewChanges<'_>| {
        changes.put(view);
        Ok::<_, StoreError>(())
    };
    writes.change_views(seen, change).unwrap();
}

/// Removes a view.
pub fn remove_view(writes: &mut WriteSet, seen: &Arc<Catalog>, view: &str) {
    let change = |changes: &mut ViewChanges<'_>| {
        changes.remove(seen.view(view).unwrap().id);
        Ok::<_, StoreError>(())
    };
    writes.change_views(seen, change).unwrap();
}

fn table_id(store: &Store) -> TableId {
    store.snapshot().table("t").unwrap().def.id
}

async fn store_with_view(directory: &std::path::Path) -> Arc<Store> {
    let store = open(directory).unwrap();
    store.create_table(new_table("t")).await.unwrap();
    let mut writes = store.write_set();
    add_view(&store, &mut writes, view_of("v", table_id(&store))).unwrap();
    writes.commit().await.unwrap();
    store
}

fn names(store: &Store) -> Vec<String> {
    store.snapshot().views().by_id().values().map(|view| view.name.clone()).collect()
}

#[tokio::test]
async fn a_view_is_seen_by_its_transaction_and_is_there_after_a_restart() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_view(temp.path()).await;
    let v = store.snapshot().view("v").unwrap().id;
    let before = store.snapshot().views_changed();
    let mut writes = store.write_set();
    add_view(&store, &mut writes, view_of("w", v)).unwrap();
    let savepoint = writes.clone();
    let seen = writes.view(&store.snapshot());
    writes.change_views(&seen, |changes| changes.rename(seen.view("v").unwrap(), "x".to_owned())).unwrap();
    let seen = writes.view(&store.snapshot());
    assert!(seen.view("x").is_some() && seen.view("v").is_none() && seen.view("w").unwrap().reads(v));
    assert_eq!((names(&store), store.snapshot().views_changed()), (vec!["v".to_owned()], before));
    assert!(savepoint.view(&store.snapshot()).view("v").is_some());
    writes.commit().await.unwrap();
    assert_eq!(names(&store), ["x", "w"]);
    assert!(store.snapshot().views_changed() > before);
    let known = store.snapshot().view("w").unwrap().clone();
    drop((store, savepoint, seen));
    let store = open(temp.path()).unwrap();
    assert_eq!(store.snapshot().view("w"), Some(&known));
    // Its number is not given out again.
    store.create_table(new_table("u")).await.unwrap();
    assert!(store.snapshot().table("u").unwrap().def.id > known.id);
}

#[tokio::test]
async fn tables_views_and_types_have_one_name_space() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_view(temp.path()).await;
    let labels = || vec!["a".to_owned()];
    store
        .change_types(|changes| changes.add(SchemaId::PUBLIC, ("mood".to_owned(), "_mood".to_owned()), labels()))
        .await
        .unwrap();
    assert!(matches!(store.create_table(new_table("v")).await, Err(StoreError::TableExists { .. })));
    let mut writes = store.write_set();
    let t = table_id(&store);
    for name in ["v", "t"] {
        let added = add_view(&store, &mut writes, view_of(name, t));
        assert!(matches!(added, Err(StoreError::TableExists { .. })), "{name}");
    }
    for name in ["mood", "_mood"] {
        assert!(
            matches!(add_view(&store, &mut writes, view_of(name, t)), Err(StoreError::TypeExists { .. })),
            "{name}"
        );
    }
    // A name that others take while the transaction is under way.
    add_view(&store, &mut writes, view_of("w", t)).unwrap();
    let (one, mut other) = (writes.clone(), store.write_set());
    add_view(&store, &mut other, view_of("w", t)).unwrap();
    store.create_table(new_table("w")).await.unwrap();
    assert!(matches!(writes.commit().await, Err(StoreError::TableExists { .. })));
    store.drop_table("w").await.unwrap();
    one.commit().await.unwrap();
    assert!(matches!(other.commit().await, Err(StoreError::TableExists { .. })));
}

#[tokio::test]
async fn what_a_view_reads_stays() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_view(temp.path()).await;
    let is_conflict = |error: &StoreError| matches!(error, StoreError::Conflict { what } if what == "view \"v\"");
    assert!(store.drop_table("t").await.is_err_and(|error| is_conflict(&error)));
    let dropped = store.change_columns("t", ColumnChange::Drop("id".to_owned())).await;
    assert!(dropped.is_err_and(|error| is_conflict(&error)));
    store.change_columns("t", ColumnChange::Drop("name".to_owned())).await.unwrap();
    let rename = ColumnChange::Rename { from: "id".to_owned(), to: "number".to_owned() };
    store.change_columns("t", rename).await.unwrap();
    // A transaction that drops both.
    let (snapshot, mut writes) = (store.snapshot(), store.write_set());
    remove_view(&mut writes, &snapshot, "v");
    writes.drop_table(&snapshot, "t").unwrap();
    writes.commit().await.unwrap();
    assert!(names(&store).is_empty());
}

#[tokio::test]
async fn changes_of_one_view_exclude_each_other() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_view(temp.path()).await;
    let snapshot = store.snapshot();
    let v = snapshot.view("v").unwrap();
    let change = |changed: &str| {
        let mut writes = store.write_set();
        let replacement = ViewDef { text: changed.into(), ..(**v).clone() };
        put(&mut writes, &snapshot, replacement);
        writes
    };
    let (one, other) = (change("select 1"), change("select 2"));
    let mut dropping = store.write_set();
    remove_view(&mut dropping, &snapshot, "v");
    let mut reading = store.write_set();
    add_view(&store, &mut reading, view_of("w", v.id)).unwrap();
    one.commit().await.unwrap();
    for late in [other, dropping] {
        assert!(matches!(late.commit().await, Err(StoreError::Conflict { .. })));
    }
    reading.commit().await.unwrap();
    assert_eq!(&*store.snapshot().view("v").unwrap().text, "select 1");
    // Nothing takes away what others have just begun to read.
    let mut dropping = store.write_set();
    let snapshot = store.snapshot();
    remove_view(&mut dropping, &snapshot, "v");
    assert!(matches!(dropping.commit().await, Err(StoreError::Conflict { what }) if what == "view \"w\""));
}

#[tokio::test]
async fn no_two_sessions_make_views_read_each_other() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_view(temp.path()).await;
    let (t, mut writes) = (table_id(&store), store.write_set());
    add_view(&store, &mut writes, view_of("w", t)).unwrap();
    writes.commit().await.unwrap();
    let snapshot = store.snapshot();
    let reading = |view: &str, other: &str| {
        let (view, mut writes) = (snapshot.view(view).unwrap(), store.write_set());
        let replacement = ViewDef { id: view.id, ..view_of(&view.name, snapshot.view(other).unwrap().id) };
        put(&mut writes, &snapshot, replacement);
        writes
    };
    let (one, other) = (reading("v", "w"), reading("w", "v"));
    one.commit().await.unwrap();
    assert!(matches!(other.commit().await, Err(StoreError::Conflict { .. })));
}

#[tokio::test]
async fn of_commits_that_take_one_name_the_first_one_has_it_also_after_a_restart() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_view(temp.path()).await;
    let t = table_id(&store);
    let naming = |name: &'static str, what: usize| {
        let (snapshot, mut writes) = (store.snapshot(), store.write_set());
        match what {
            0 => drop(writes.create_table(&snapshot, new_table(name)).unwrap()),
            1 => drop(add_view(&store, &mut writes, view_of(name, t)).unwrap()),
            2 => {
                let add = |changes: &mut TypeChanges<'_>| {
                    changes.add(SchemaId::PUBLIC, (name.to_owned(), format!("_{name}")), vec!["a".to_owned()])
                };
                writes.change_types(&snapshot, add).unwrap();
            }
            3 => {
                let id = writes.new_relation_id();
                writes.change_sequences(&snapshot, |changes| changes.add(sequence(id, name))).unwrap();
            }
            _ => {
                let view = snapshot.view("v").unwrap();
                writes.change_views(&snapshot, |changes| changes.rename(view, name.to_owned())).unwrap();
            }
        }
        writes
    };
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    for (name, (first, second)) in names.into_iter().zip([(0, 1), (1, 0), (1, 2), (2, 1), (1, 3), (3, 1), (3, 4)]) {
        let (one, other) = (naming(name, first), naming(name, second));
        one.commit().await.unwrap();
        let error = other.commit().await.unwrap_err();
        assert!(matches!(error, StoreError::TableExists { .. } | StoreError::TypeExists { .. }), "{name}: {error}");
    }
    // In PostgreSQL, too, a sequence is no type.
    let (one, other) = (naming("s", 2), naming("s", 3));
    one.commit().await.unwrap();
    other.commit().await.unwrap();
    let known = store.snapshot();
    drop(store);
    let store = open(temp.path()).unwrap();
    assert_eq!(store.snapshot().views().by_id(), known.views().by_id());
}

fn sequence(id: TableId, name: &str) -> SequenceDef {
    let (name, value_type) = (name.to_owned(), SequenceType::BigInt);
    let (start, increment, min, max, cache, cycles, owner) = (1, 1, 1, i64::MAX, 1, false, None);
    SequenceDef { id, schema: SchemaId::PUBLIC, name, value_type, start, increment, min, max, cache, cycles, owner }
}

#[tokio::test]
async fn a_view_and_another_type_of_a_column_that_it_reads_exclude_each_other() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_view(temp.path()).await;
    let retyped = || {
        let snapshot = store.snapshot();
        let mut def = (*snapshot.table("u").unwrap().def).clone();
        def.columns[0].column_type = ColumnType::Integer;
        (snapshot, def)
    };
    store.create_table(new_table("u")).await.unwrap();
    let u = store.snapshot().table("u").unwrap().def.id;
    // The view comes first, and second.
    for is_first in [true, false] {
        let (mut viewing, mut altering) = (store.write_set(), store.write_set());
        add_view(&store, &mut viewing, view_of("w", u)).unwrap();
        let (snapshot, def) = retyped();
        altering.alter_table((&snapshot, &snapshot), def, AlteredRows::Kept).await.unwrap();
        let (one, other) = if is_first { (viewing, altering) } else { (altering, viewing) };
        one.commit().await.unwrap();
        assert!(matches!(other.commit().await, Err(StoreError::Conflict { what }) if what == "view \"w\""));
        if is_first {
            let mut writes = store.write_set();
            remove_view(&mut writes, &store.snapshot(), "w");
            writes.commit().await.unwrap();
        }
    }
}

#[tokio::test]
async fn names_of_views_are_unique_in_their_schemas_and_go_with_them() {
    let temp = directory_in_memory();
    let store = store_with_view(temp.path()).await;
    let mut writes = store.write_set();
    let seen = store.snapshot();
    let (s, own) =
        (writes.create_schema(&seen, "s").unwrap(), writes.create_temporary_schema(&seen, "pg_temp_1").unwrap());
    let in_schema = |schema: SchemaId| ViewDef { schema, ..view_of("v", table_id(&store)) };
    for schema in [s, own] {
        add_view(&store, &mut writes, in_schema(schema)).unwrap();
        assert!(matches!(add_view(&store, &mut writes, in_schema(schema)), Err(StoreError::TableExists { .. })));
    }
    // A view over that of the temporary schema goes with it, and is temporary itself.
    let temporary = writes.view(&store.snapshot()).view_in(own, "v").unwrap().id;
    add_view(&store, &mut writes, ViewDef { schema: own, ..view_of("w", temporary) }).unwrap();
    writes.commit().await.unwrap();
    let mut lasting = store.write_set();
    add_view(&store, &mut lasting, view_of("x", temporary)).unwrap();
    assert!(matches!(lasting.commit().await, Err(StoreError::Conflict { .. })));
    assert_eq!(names(&store), ["v", "v", "v", "w"]);
    drop(store);
    let store = open(temp.path()).unwrap();
    assert_eq!(names(&store), ["v", "v"]);
    let known = store.snapshot().view_in(s, "v").unwrap().clone();
    let mut writes = store.write_set();
    let seen = store.snapshot();
    writes.change_views(&seen, |changes| changes.move_to(&known, SchemaId::PUBLIC)).unwrap_err();
    writes.drop_schema(&seen, s).unwrap();
    writes.commit().await.unwrap();
    assert_eq!(names(&store), ["v"]);
    assert!(store.snapshot().view_in(SchemaId::PUBLIC, "v").is_some());
}
