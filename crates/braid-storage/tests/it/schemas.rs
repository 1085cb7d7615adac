//! Schemas: names beside each other in them, commits that exclude each other, temporary ones, and crashes.

use std::path::Path;
use std::sync::Arc;

use braid_base::{SchemaId, TableId};
use braid_io::{Fault, FaultDevice};
use braid_storage::{Catalog, Constraints, SequenceDef, SequenceType, Store, StoreError, TableDef, WriteSet};

use crate::test_table::{
    data_files, directory_in_memory, faulty_disk, named_files, new_table, open, open_again, open_on, read_ids, rows,
    test_device,
};

fn sequence(id: TableId, schema: SchemaId, name: &str) -> SequenceDef {
    let (value_type, max) = (SequenceType::BigInt, i64::MAX);
    let (start, increment, min, cache) = (1, 1, 1, 1);
    let (name, cycles, owner) = (name.to_owned(), false, None);
    SequenceDef { id, schema, name, value_type, start, increment, min, max, cache, cycles, owner }
}

fn create_in(writes: &mut WriteSet, view: &Catalog, schema: SchemaId, name: &str) -> Result<Arc<TableDef>, StoreError> {
    writes.create_constrained_table(view, (schema, new_table(name)), Constraints::default())
}

fn create_sequence(writes: &mut WriteSet, view: &Catalog, schema: SchemaId, name: &str) -> Result<(), StoreError> {
    writes.change_sequences(view, |changes| changes.add(sequence(changes.new_id(), schema, name)))
}

/// Creates a schema in a transaction of its own.
async fn create_schema(store: &Store, name: &str) -> SchemaId {
    let mut writes = store.write_set();
    let id = writes.create_schema(&store.snapshot(), name).unwrap();
    writes.commit().await.unwrap();
    id
}

/// Adds rows to a table.
async fn insert_into(store: &Store, table: &Arc<TableDef>, ids: std::ops::Range<i64>) -> Result<(), StoreError> {
    let mut appender = store.write_set().append_to(Arc::clone(table));
    appender.append(rows(ids)).await?;
    appender.commit().await.map(drop)
}

/// The relations and schemas of a catalog: `schema.name`, tables with the number of their rows.
fn names_of(catalog: &Catalog) -> Vec<String> {
    let shown = |schema: SchemaId, name: &str| format!("{}.{name}", catalog.schema_name(schema).unwrap());
    let tables =
        catalog.tables().map(|table| format!("{} {}", shown(table.def.schema, &table.def.name), table.row_count()));
    let sequences = catalog.sequences().map(|known| shown(known.definition.schema, &known.definition.name));
    let schemas = catalog.schemas().map(|schema| schema.name.clone());
    let mut names: Vec<String> = schemas.chain(tables).chain(sequences).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_name_is_another_relation_in_each_schema() {
    let temp = directory_in_memory();
    {
        let store = open(temp.path()).unwrap();
        let (s, public) = (create_schema(&store, "s").await, SchemaId::PUBLIC);
        let mut writes = store.write_set();
        let view = store.snapshot();
        let in_s = create_in(&mut writes, &view, s, "t").unwrap();
        create_in(&mut writes, &view, public, "t").unwrap();
        create_sequence(&mut writes, &view, s, "q").unwrap();
        create_sequence(&mut writes, &view, public, "q").unwrap();
        let view = writes.view(&view);
        for schema in [s, public] {
            assert!(matches!(create_in(&mut writes, &view, schema, "t"), Err(StoreError::TableExists { .. })));
            assert!(matches!(create_in(&mut writes, &view, schema, "q"), Err(StoreError::TableExists { .. })));
            let refused = create_sequence(&mut writes, &view, schema, "t");
            assert!(matches!(refused, Err(StoreError::TableExists { .. })));
        }
        assert_eq!(view.table_in(s, "t").unwrap().def.id, in_s.id);
        assert_ne!(view.table("t").unwrap().def.id, in_s.id);
        writes.commit().await.unwrap();
        insert_into(&store, &in_s, 0..10).await.unwrap();
    }
    let expected = ["public.q", "public.t 0", "s", "s.q", "s.t 10"];
    for _ in 0..2 {
        let store = open_again(temp.path()).await.unwrap();
        assert_eq!(names_of(&store.snapshot()), expected);
        store.checkpoint().await.unwrap();
    }
}

#[tokio::test]
async fn commits_beside_each_other_take_a_name_once_in_a_schema() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    let (s, u) = (create_schema(&store, "s").await, create_schema(&store, "u").await);
    let view = store.snapshot();
    let creating = |schema: SchemaId| {
        let mut writes = store.write_set();
        create_in(&mut writes, &view, schema, "t").unwrap();
        writes
    };
    let (first, second, other) = (creating(s), creating(s), creating(u));
    let mut of_sequence = store.write_set();
    create_sequence(&mut of_sequence, &view, u, "t").unwrap();
    first.commit().await.unwrap();
    assert!(matches!(second.commit().await, Err(StoreError::TableExists { .. })));
    other.commit().await.unwrap();
    assert!(matches!(of_sequence.commit().await, Err(StoreError::TableExists { .. })));
    assert_eq!(names_of(&store.snapshot()), ["s", "s.t 0", "u", "u.t 0"]);
}

#[tokio::test]
async fn commits_beside_each_other_change_a_schema_once() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    let s = create_schema(&store, "s").await;
    let view = store.snapshot();
    let begun = |change: &dyn Fn(&mut WriteSet)| {
        let mut writes = store.write_set();
        change(&mut writes);
        writes
    };
    let filled = begun(&|writes| drop(create_in(writes, &view, s, "t").unwrap()));
    let numbered = begun(&|writes| create_sequence(writes, &view, s, "q").unwrap());
    let renamed = begun(&|writes| writes.rename_schema(&view, s, "r").unwrap());
    let taken = begun(&|writes| assert!(writes.create_schema(&view, "u").is_ok()));
    let dropped = begun(&|writes| writes.drop_schema(&view, s).unwrap());
    create_schema(&store, "u").await;
    dropped.commit().await.unwrap();
    for conflicting in [filled, numbered, renamed] {
        assert!(matches!(conflicting.commit().await, Err(StoreError::Conflict { .. })));
    }
    assert!(matches!(taken.commit().await, Err(StoreError::SchemaExists { .. })));
    assert_eq!(names_of(&store.snapshot()), ["u"]);
}

#[tokio::test]
async fn public_is_dropped_as_others_are_and_another_takes_its_name() {
    let temp = directory_in_memory();
    {
        let store = open(temp.path()).unwrap();
        let view = store.snapshot();
        let mut writes = store.write_set();
        create_in(&mut writes, &view, SchemaId::PUBLIC, "t").unwrap();
        create_sequence(&mut writes, &view, SchemaId::PUBLIC, "q").unwrap();
        writes.commit().await.unwrap();
        let view = store.snapshot();
        let (mut dropping, mut again, mut filling) = (store.write_set(), store.write_set(), store.write_set());
        dropping.drop_schema(&view, SchemaId::PUBLIC).unwrap();
        again.drop_schema(&view, SchemaId::PUBLIC).unwrap();
        create_in(&mut filling, &view, SchemaId::PUBLIC, "u").unwrap();
        dropping.commit().await.unwrap();
        for conflicting in [again, filling] {
            assert!(matches!(
                conflicting.commit().await,
                Err(StoreError::UnknownTable { .. } | StoreError::Conflict { .. })
            ));
        }
        let view = store.snapshot();
        let unknown = store.write_set().drop_schema(&view, SchemaId::PUBLIC);
        assert!(matches!(unknown, Err(StoreError::UnknownSchema { .. })));
    }
    for _ in 0..2 {
        let store = open_again(temp.path()).await.unwrap();
        let catalog = store.snapshot();
        assert!(catalog.is_public_dropped() && names_of(&catalog).is_empty());
        assert_eq!((catalog.schema_named("public"), catalog.schema_name(SchemaId::PUBLIC)), (None, None));
        store.checkpoint().await.unwrap();
    }
    {
        let store = open_again(temp.path()).await.unwrap();
        assert!(matches!(store.create_table(new_table("t")).await, Err(StoreError::UnknownSchema { .. })));
        let public = create_schema(&store, "public").await;
        assert_ne!(public, SchemaId::PUBLIC);
        let mut writes = store.write_set();
        create_in(&mut writes, &store.snapshot(), public, "t").unwrap();
        assert!(matches!(writes.create_schema(&store.snapshot(), "public"), Err(StoreError::SchemaExists { .. })));
        writes.commit().await.unwrap();
        assert!(matches!(store.create_table(new_table("t")).await, Err(StoreError::TableExists { .. })));
        assert_eq!(store.create_table(new_table("u")).await.unwrap().def.schema, public);
    }
    for _ in 0..2 {
        let store = open_again(temp.path()).await.unwrap();
        assert_eq!(names_of(&store.snapshot()), ["public", "public.t 0", "public.u 0"]);
        store.checkpoint().await.unwrap();
    }
}

#[tokio::test]
async fn a_schema_that_is_dropped_takes_all_along_unless_others_put_something_in() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    let s = create_schema(&store, "s").await;
    let mut writes = store.write_set();
    let table = create_in(&mut writes, &store.snapshot(), s, "t").unwrap();
    create_sequence(&mut writes, &store.snapshot(), s, "q").unwrap();
    writes.commit().await.unwrap();
    insert_into(&store, &table, 0..2000).await.unwrap();
    let mut dropping = store.write_set();
    dropping.drop_schema(&store.snapshot(), s).unwrap();
    assert_eq!(names_of(&dropping.view(&store.snapshot())), Vec::<String>::new());
    let late = dropping.clone();
    let mut other = store.write_set();
    create_in(&mut other, &store.snapshot(), s, "x").unwrap();
    other.commit().await.unwrap();
    assert!(matches!(late.commit().await, Err(StoreError::Conflict { .. })));
    drop(dropping);
    let mut dropping = store.write_set();
    dropping.drop_schema(&store.snapshot(), s).unwrap();
    dropping.commit().await.unwrap();
    assert_eq!(names_of(&store.snapshot()), Vec::<String>::new());
    assert_eq!(data_files(temp.path()), Vec::<String>::new());
}

#[tokio::test]
async fn names_change_with_what_lasts_only() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    let s = create_schema(&store, "s").await;
    let before = store.snapshot().names_changed();
    let mut writes = store.write_set();
    let own = writes.create_temporary_schema(&store.snapshot(), "pg_temp_1").unwrap();
    let view = writes.view(&store.snapshot());
    let table = create_in(&mut writes, &view, own, "t").unwrap();
    create_sequence(&mut writes, &view, own, "q").unwrap();
    writes.commit().await.unwrap();
    insert_into(&store, &table, 0..10).await.unwrap();
    let mut writes = store.write_set();
    writes.drop_schema(&store.snapshot(), own).unwrap();
    writes.commit().await.unwrap();
    assert_eq!(store.snapshot().names_changed(), before);
    let mut writes = store.write_set();
    create_in(&mut writes, &store.snapshot(), s, "t").unwrap();
    let after = writes.commit().await.unwrap();
    assert!(after.names_changed() == after.sequence() && after.sequence() > before);
}

/// A history with temporary and other relations; stops at the first error.
async fn history(store: &Store) -> Result<(), StoreError> {
    let mut writes = store.write_set();
    let s = writes.create_schema(&store.snapshot(), "s")?;
    let view = writes.view(&store.snapshot());
    let lasting = create_in(&mut writes, &view, s, "t")?;
    writes.commit().await?;
    let mut writes = store.write_set();
    let own = writes.create_temporary_schema(&store.snapshot(), "pg_temp_7")?;
    let view = writes.view(&store.snapshot());
    let temporary = create_in(&mut writes, &view, own, "t")?;
    create_sequence(&mut writes, &view, own, "q")?;
    writes.commit().await?;
    // Into a file.
    insert_into(store, &temporary, 0..2000).await?;
    insert_into(store, &lasting, 0..5).await?;
    store.checkpoint().await?;
    insert_into(store, &temporary, 2000..2010).await?;
    insert_into(store, &lasting, 5..10).await
}

/// What is left of the history in a directory: all that is not temporary, whole.
async fn check_left(dir: &Path, crash: &str) -> Vec<String> {
    let store = open_again(dir).await.unwrap_or_else(|error| panic!("{crash}: {error}"));
    let names = names_of(&store.snapshot());
    let expected = [&[][..], &["s", "s.t 0"], &["s", "s.t 5"], &["s", "s.t 10"]];
    assert!(expected.iter().any(|expected| names == *expected), "{crash}: {names:?}");
    assert_eq!(data_files(dir), named_files(&store), "{crash}");
    let report = store.check(|_| {}).await;
    assert!(report.is_sound() && report.orphans.is_empty(), "{crash}: {report:?}");
    for table in store.snapshot().tables() {
        let ids = read_ids(test_device(dir).as_ref(), table).await;
        assert_eq!(ids, (0..ids.len() as i64).collect::<Vec<_>>(), "{crash}");
    }
    names
}

#[tokio::test]
async fn crashes_leave_no_temporary_table_and_all_others() {
    for n in 1.. {
        let temp = directory_in_memory();
        let disk: Arc<FaultDevice> = faulty_disk(temp.path());
        disk.inject(Fault::Crash { after_operations: n - 1 });
        if let Ok(store) = open_on(temp.path(), &disk) {
            let ended = history(&store).await;
            assert!(ended.is_ok() || disk.is_crashed(), "{ended:?}");
        }
        let died = disk.is_crashed();
        disk.cut_power(n).unwrap();
        drop(disk);
        check_left(temp.path(), &format!("crash at operation {n}")).await;
        if !died {
            assert!(n > 20, "the history has more than {n} operations");
            break;
        }
    }
}

#[tokio::test]
async fn crashes_while_temporary_tables_are_dropped_at_the_opening_lose_nothing() {
    for n in 1.. {
        let temp = directory_in_memory();
        history(&open(temp.path()).unwrap()).await.unwrap();
        let store = open_again(temp.path()).await.unwrap();
        drop(store);
        history_again(temp.path()).await;
        let disk: Arc<FaultDevice> = faulty_disk(temp.path());
        disk.inject(Fault::Crash { after_operations: n - 1 });
        drop(open_on(temp.path(), &disk));
        let died = disk.is_crashed();
        disk.cut_power(n).unwrap();
        drop(disk);
        assert_eq!(check_left(temp.path(), &format!("crash at operation {n}")).await, ["s", "s.t 10"]);
        if !died {
            break;
        }
    }
}

/// Another temporary table of a session, in a directory that is left as it is.
async fn history_again(dir: &Path) {
    let store = open_again(dir).await.unwrap();
    let mut writes = store.write_set();
    let own = writes.create_temporary_schema(&store.snapshot(), "pg_temp_7").unwrap();
    let view = writes.view(&store.snapshot());
    let table = create_in(&mut writes, &view, own, "t").unwrap();
    writes.commit().await.unwrap();
    insert_into(&store, &table, 0..3000).await.unwrap();
    store.checkpoint().await.unwrap();
}
