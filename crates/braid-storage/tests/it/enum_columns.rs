//! Enumerated types and their columns, over reopenings.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch};
use braid_base::enum_types::{EnumLabel, FIRST_TYPE_OID, KEY_GAP, LabelPlace};
use braid_base::{EnumTypeRef, SchemaId};
use braid_storage::{ColumnDef, ColumnType, NewTable, Store, StoreError, TypeChanges};

use crate::test_table::{open, open_again};

async fn add_type(store: &Store, name: &str, labels: &[&str]) -> ColumnType {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    let add =
        |changes: &mut TypeChanges<'_>| changes.add(SchemaId::PUBLIC, (name.to_owned(), format!("_{name}")), labels);
    store.change_types::<(), StoreError>(add).await.unwrap();
    ColumnType::Enum(EnumTypeRef::Open(store.snapshot().enum_type_in(SchemaId::PUBLIC, name).unwrap().id))
}

fn table_of(name: &str, column_type: ColumnType) -> NewTable {
    let column = ColumnDef::new("m", column_type);
    NewTable { name: name.to_owned(), columns: vec![column], primary_key: Vec::new() }
}

#[tokio::test]
async fn types_and_their_columns_are_there_when_the_store_opens_again() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    add_type(&store, "first", &[]).await;
    let mood = add_type(&store, "mood", &["sad", "happy"]).await;
    let table = store.create_table(table_of("t", mood)).await.unwrap();
    let mut appender = store.append("t").unwrap();
    let keys = Int64Array::from(vec![Some(2 * KEY_GAP), None, Some(KEY_GAP)]);
    let batch = RecordBatch::try_new(table.def.arrow_schema(), vec![Arc::new(keys)]).unwrap();
    appender.append(batch).await.unwrap();
    appender.commit().await.unwrap();
    let between = |changes: &mut TypeChanges<'_>| {
        let mut definition = (*changes.catalog().enum_type_in(SchemaId::PUBLIC, "mood").unwrap().definition).clone();
        let (oid, key) = (changes.label_oid()?, definition.key_at(LabelPlace::Before("happy")).unwrap());
        definition.insert(EnumLabel { oid, key, text: "ok".into() });
        changes.replace(definition);
        Ok(())
    };
    store.change_types::<(), StoreError>(between).await.unwrap();
    let before = store.snapshot().enum_type_in(SchemaId::PUBLIC, "mood").unwrap().definition.clone();
    assert_eq!((before.oid, before.array_oid), (FIRST_TYPE_OID + 2, FIRST_TYPE_OID + 3));
    drop((store, table));

    let store = open_again(temp.path()).await.unwrap();
    let snapshot = store.snapshot();
    let mood = snapshot.enum_type_in(SchemaId::PUBLIC, "mood").unwrap();
    assert_eq!(mood.definition, before);
    let texts: Vec<&str> = mood.definition.labels.iter().map(|label| &*label.text).collect();
    assert_eq!(texts, ["sad", "ok", "happy"]);
    let (table, column) = snapshot.columns_of_type(mood.id).next().unwrap();
    assert_eq!((table.name.as_str(), column.name.as_str()), ("t", "m"));
    assert_eq!(snapshot.table("t").unwrap().row_count(), 3);
    // Oids are never given out twice.
    let later = add_type(&store, "later", &["a"]).await;
    let ColumnType::Enum(later) = later else { unreachable!("it is an enumerated type") };
    assert_eq!(later.oid(), before.labels.iter().map(|label| label.oid).max().unwrap() + 1);
    assert!(store.check(|_| {}).await.is_sound());
}

#[tokio::test]
async fn a_table_has_the_name_of_no_type_and_columns_of_types_that_exist() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    let mood = add_type(&store, "mood", &["a"]).await;
    for name in ["mood", "_mood"] {
        let created = store.create_table(table_of(name, ColumnType::Integer)).await;
        assert!(matches!(created, Err(StoreError::TypeExists { .. })), "{created:?}");
        let filled = store.create_and_append(table_of(name, ColumnType::Integer));
        assert!(matches!(filled, Err(StoreError::TypeExists { .. })));
    }
    // A type that takes the name before the commit.
    let mut appender = store.create_and_append(table_of("temper", ColumnType::Integer)).unwrap();
    let rows = Arc::new(arrow::array::Int32Array::from(vec![1]));
    appender.append(RecordBatch::try_new(appender.def().arrow_schema(), vec![rows]).unwrap()).await.unwrap();
    add_type(&store, "temper", &["a"]).await;
    assert!(matches!(appender.commit().await, Err(StoreError::TypeExists { .. })));
    let drop_it = |changes: &mut TypeChanges<'_>| {
        let oid = changes.catalog().enum_type_in(SchemaId::PUBLIC, "mood").unwrap().definition.oid;
        changes.remove(oid);
        Ok(())
    };
    store.change_types::<(), StoreError>(drop_it).await.unwrap();
    let created = store.create_table(table_of("t", mood)).await;
    assert!(matches!(created, Err(StoreError::UnknownType { .. })), "{created:?}");
    let sequence = store.snapshot().sequence();
    store.change_types::<(), StoreError>(|_| Ok(())).await.unwrap();
    assert_eq!(store.snapshot().sequence(), sequence, "nothing was changed, so nothing is written");
}
