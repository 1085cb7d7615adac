//! Tables that transactions alter: what their statements see, what a commit makes of it, and what fails it.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::ColumnId;
use braid_storage::{AlteredRows, Catalog, ColumnChange, ColumnDef, ColumnType, Store, StoreError, TableDef, WriteSet};

use crate::test_table::{
    data_files, extra_column, insert, named_files, new_table, open, read_ids, row_deletes, row_ids, rows_of,
    test_device,
};

/// A transaction on a store.
struct Open<'a> {
    store: &'a Store,
    writes: WriteSet,
}

impl<'a> Open<'a> {
    fn new(store: &'a Store) -> Self {
        Self { store, writes: store.write_set() }
    }

    async fn view(&mut self) -> Arc<Catalog> {
        self.writes.settle().await.unwrap();
        self.writes.view(&self.store.snapshot())
    }

    async fn alter(
        &mut self,
        table: &str,
        rows: AlteredRows,
        change: impl FnOnce(&TableDef) -> TableDef,
    ) -> Result<(), StoreError> {
        let (committed, view) = (self.store.snapshot(), self.view().await);
        let def = change(&view.table(table).unwrap().def);
        self.writes.alter_table((&committed, &view), def, rows).await
    }

    async fn change(&mut self, change: ColumnChange) {
        self.alter("a", AlteredRows::Kept, |def| def.with_change(change).unwrap()).await.unwrap();
    }

    async fn insert(&mut self, table: &str, ids: std::ops::Range<i64>) {
        let view = self.view().await;
        let mut appender = self.writes.append(&view, table).unwrap();
        appender.append(rows_of(appender.def(), ids)).await.unwrap();
        self.writes.add_rows(appender.finish().await.unwrap()).await.unwrap();
    }

    async fn delete(&mut self, table: &str, is_deleted: impl Fn(i64) -> bool) {
        let view = self.view().await;
        let version = view.table(table).unwrap();
        let ids = read_ids(test_device(self.store.dir()).as_ref(), version).await;
        let rows = row_ids(version).into_iter().zip(ids).filter(|(_, id)| is_deleted(*id)).map(|(row, _)| row);
        self.writes.delete_rows(&view, table, &row_deletes(version, rows)).unwrap();
    }

    async fn check(&mut self, table: &str, expected: impl IntoIterator<Item = i64>) {
        let view = self.view().await;
        check(self.store, &view, table, expected).await;
    }

    async fn commit(self) {
        self.writes.commit().await.unwrap();
        assert_eq!(data_files(self.store.dir()), named_files(self.store));
        assert!(self.store.check(|_| {}).await.is_sound());
    }
}

async fn check(store: &Store, catalog: &Catalog, table: &str, expected: impl IntoIterator<Item = i64>) {
    let ids = read_ids(test_device(store.dir()).as_ref(), catalog.table(table).unwrap()).await;
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), expected.into_iter().collect());
}

async fn store_with_rows(dir: &std::path::Path) -> Arc<Store> {
    let store = open(dir).unwrap();
    store.create_table(new_table("a")).await.unwrap();
    insert(&store, "a", 0..10).await.unwrap();
    store
}

fn renamed(name: &str) -> impl FnOnce(&TableDef) -> TableDef {
    |def| TableDef { name: name.to_owned(), ..def.clone() }
}

#[tokio::test]
async fn rows_from_before_and_after_an_alteration_become_one_commit() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_rows(temp.path()).await;
    let mut open_one = Open::new(&store);
    open_one.insert("a", 10..20).await;
    open_one.change(ColumnChange::Add(extra_column(4))).await;
    open_one.check("a", 0..20).await;
    open_one.insert("a", 20..30).await;
    open_one.delete("a", |id| id % 10 == 3).await;
    let savepoint = open_one.writes.clone();
    open_one.change(ColumnChange::Drop("extra 4".to_owned())).await;
    open_one.change(ColumnChange::Add(extra_column(5))).await;
    open_one.insert("a", 30..40).await;
    let is_left = |id: &i64| id % 10 != 3;
    open_one.check("a", (0..30).filter(is_left).chain(30..40)).await;
    open_one.writes = savepoint;
    open_one.check("a", (0..30).filter(is_left)).await;
    assert_eq!(open_one.view().await.table("a").unwrap().def.columns[4].id, ColumnId(4));
    open_one.change(ColumnChange::Rename { from: "extra 4".to_owned(), to: "extra".to_owned() }).await;
    // Others add rows, which have the missing value.
    insert(&store, "a", 100..103).await.unwrap();
    open_one.check("a", (0..30).filter(is_left).chain(100..103)).await;
    assert_eq!(store.snapshot().table("a").unwrap().def.columns.len(), 4);
    open_one.commit().await;
    drop(store);
    let store = open(temp.path()).unwrap();
    check(&store, &store.snapshot(), "a", (0..30).filter(is_left).chain(100..103)).await;
    assert_eq!(store.snapshot().table("a").unwrap().def.columns[4].name, "extra");
}

#[tokio::test]
async fn a_new_table_is_altered_like_any_other() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_rows(temp.path()).await;
    let mut open_one = Open::new(&store);
    let view = open_one.view().await;
    open_one.writes.create_table(&view, new_table("b")).unwrap();
    drop(view);
    open_one.insert("b", 0..5).await;
    open_one.alter("b", AlteredRows::Kept, |def| def.with_added_column(extra_column(4)).unwrap()).await.unwrap();
    open_one.insert("b", 5..9).await;
    open_one.alter("b", AlteredRows::Kept, renamed("c")).await.unwrap();
    let taken = open_one.alter("c", AlteredRows::Kept, renamed("a")).await;
    assert!(matches!(taken, Err(StoreError::TableExists { .. })));
    open_one.check("c", 0..9).await;
    open_one.commit().await;
    check(&store, &store.snapshot(), "c", 0..9).await;
    assert!(store.snapshot().table("b").is_none());
}

#[tokio::test]
async fn tables_exchange_their_names_in_one_commit() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_rows(temp.path()).await;
    store.create_table(new_table("b")).await.unwrap();
    let mut open_one = Open::new(&store);
    for (from, to) in [("a", "c"), ("b", "a"), ("c", "b")] {
        open_one.alter(from, AlteredRows::Kept, renamed(to)).await.unwrap();
    }
    open_one.check("b", 0..10).await;
    open_one.check("a", []).await;
    open_one.commit().await;
    check(&store, &store.snapshot(), "b", 0..10).await;
    assert_eq!(store.snapshot().tables().len(), 2);
    // A name that others have taken meanwhile.
    let mut open_one = Open::new(&store);
    open_one.alter("a", AlteredRows::Kept, renamed("c")).await.unwrap();
    store.create_table(new_table("c")).await.unwrap();
    assert!(matches!(open_one.writes.commit().await, Err(StoreError::TableExists { .. })));
    drop(store);
    assert_eq!(open(temp.path()).unwrap().snapshot().tables().len(), 3);
}

#[tokio::test]
async fn an_alteration_of_others_fails_the_commit_and_is_not_seen() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_rows(temp.path()).await;
    let mut open_one = Open::new(&store);
    open_one.change(ColumnChange::Add(extra_column(4))).await;
    // Another column of the same id.
    store.change_columns("a", ColumnChange::Add(ColumnDef::new("other", ColumnType::Text))).await.unwrap();
    check_own_view(&mut open_one).await;
    let again = open_one.alter("a", AlteredRows::Kept, |def| def.with_added_column(extra_column(5)).unwrap()).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })));
    assert!(matches!(open_one.writes.commit().await, Err(StoreError::Conflict { .. })));
    assert_eq!(store.snapshot().table("a").unwrap().def.columns[4].name, "other");
}

/// The view is of the table as the transaction has altered it.
async fn check_own_view(open_one: &mut Open<'_>) {
    assert_eq!(open_one.view().await.table("a").unwrap().def.columns[4].name, "extra 4");
    open_one.check("a", 0..10).await;
}

#[tokio::test]
async fn rows_that_others_change_fail_an_alteration_that_depends_on_them() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_rows(temp.path()).await;
    for checked in [true, false] {
        let mut open_one = Open::new(&store);
        let rows = if checked { AlteredRows::Checked } else { AlteredRows::Kept };
        open_one
            .alter("a", rows, |def| def.with_added_column(extra_column(def.next_column_id)).unwrap())
            .await
            .unwrap();
        let def = store.snapshot().table("a").unwrap().def.clone();
        let mut appender = store.append("a").unwrap();
        appender.append(rows_of(&def, 10..12)).await.unwrap();
        appender.commit().await.unwrap();
        assert_eq!(open_one.writes.commit().await.is_err(), checked);
    }
    check(&store, &store.snapshot(), "a", (0..12).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn replaced_rows_take_the_place_of_those_that_were_seen() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_rows(temp.path()).await;
    for commits_first in [false, true] {
        let mut open_one = Open::new(&store);
        open_one.insert("a", 10..15).await;
        let view = open_one.view().await;
        let def =
            view.table("a").unwrap().def.with_added_column(extra_column(view.table("a").unwrap().def.next_column_id));
        let def = def.unwrap();
        drop(view);
        let mut appender = open_one.writes.append_to(Arc::new(def.clone()));
        appender.append(rows_of(&def, 0..3)).await.unwrap();
        let replaced = AlteredRows::Replaced(appender.finish().await.unwrap());
        open_one.alter("a", replaced, |_| def).await.unwrap();
        open_one.check("a", 0..3).await;
        open_one.insert("a", 20..22).await;
        if commits_first {
            let def = store.snapshot().table("a").unwrap().def.clone();
            let mut appender = store.append("a").unwrap();
            appender.append(rows_of(&def, 50..51)).await.unwrap();
            appender.commit().await.unwrap();
            // Its row would be lost.
            assert!(matches!(open_one.writes.commit().await, Err(StoreError::Conflict { .. })));
        } else {
            open_one.commit().await;
        }
    }
    check(&store, &store.snapshot(), "a", (0..3).chain(20..22).chain(50..51)).await;
}

#[tokio::test]
async fn a_null_that_others_add_fails_a_column_without_nulls() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("a")).await.unwrap();
    insert(&store, "a", 1..3).await.unwrap();
    let not_null = |def: &TableDef| {
        let mut def = def.clone();
        def.columns[1].nullable = false;
        def
    };
    let mut first = Open::new(&store);
    first.alter("a", AlteredRows::Kept, not_null).await.unwrap();
    insert(&store, "a", 3..5).await.unwrap();
    let refused = first.writes.commit().await.unwrap_err().to_string();
    assert_eq!(refused, "column \"name\" of relation \"a\" contains null values");
    let mut second = Open::new(&store);
    second.delete("a", |id| id == 3).await;
    // The null is deleted, but in a chunk with other rows.
    second.alter("a", AlteredRows::Kept, not_null).await.unwrap();
    assert!(matches!(second.writes.commit().await, Err(StoreError::Columns(_))));
    drop(store);
    let store = open(temp.path()).unwrap();
    check(&store, &store.snapshot(), "a", 1..5).await;
}

/// The type of a text column: the values are the same, and so is their form.
fn varchar(def: &TableDef) -> TableDef {
    let mut def = def.clone();
    def.columns[1].column_type = ColumnType::UnlimitedVarchar;
    def
}

/// The types that the segments in memory of the second column were opened with.
fn types_in_memory(store: &Store) -> BTreeSet<String> {
    let version = Arc::clone(store.snapshot().table("a").unwrap());
    let segments = version.chunks.iter().filter_map(|chunk| chunk.segments[1].memory());
    segments.map(|memory| memory.segment().column_type().to_string()).collect()
}

#[tokio::test]
async fn rows_in_memory_are_kept_when_a_column_gets_a_type_of_the_same_form() {
    let temp = tempfile::tempdir().unwrap();
    let store = store_with_rows(temp.path()).await;
    let names = async |store: &Store| {
        let version = Arc::clone(store.snapshot().table("a").unwrap());
        let nulls = version.chunks.iter().map(|chunk| chunk.segments[1].zone_map.null_count).sum::<u32>();
        (version.row_count(), nulls)
    };
    assert_eq!(names(&store).await, (10, 1));
    let mut open_one = Open::new(&store);
    open_one.insert("a", 10..15).await;
    open_one.alter("a", AlteredRows::Kept, varchar).await.unwrap();
    open_one.change(ColumnChange::Add(extra_column(4))).await;
    open_one.change(ColumnChange::Drop("extra 4".to_owned())).await;
    open_one.change(ColumnChange::Add(extra_column(5))).await;
    open_one.insert("a", 17..20).await;
    open_one.check("a", (0..15).chain(17..20)).await;
    open_one.commit().await;
    assert_eq!(types_in_memory(&store), ["character varying".to_owned()].into());
    // The log, then the checkpoint of the opening.
    let mut store = store;
    for _ in 0..2 {
        drop(store);
        store = open(temp.path()).unwrap();
        check(&store, &store.snapshot(), "a", (0..15).chain(17..20)).await;
        // Those of the numbers 3, 10 and 17.
        assert_eq!(names(&store).await, (18, 3));
        assert_eq!(types_in_memory(&store), ["character varying".to_owned()].into());
    }
    // Chunks in memory are merged with rows that come.
    for first in 20..30 {
        let def = store.snapshot().table("a").unwrap().def.clone();
        let mut appender = store.append("a").unwrap();
        appender.append(rows_of(&def, first..first + 1)).await.unwrap();
        appender.commit().await.unwrap();
    }
    check(&store, &store.snapshot(), "a", (0..15).chain(17..30)).await;
    assert_eq!(names(&store).await, (28, 4));
}
