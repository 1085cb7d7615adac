//! Keys: no two rows have the same, whatever transactions do beside each other; random ones against a model.

use std::collections::BTreeSet;
use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{
    ArrayRef, AsArray, BinaryViewArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
};
use arrow::datatypes::Int64Type;
use braid_base::{CHUNK_ROWS, Random};
use braid_storage::{
    AlteredRows, Catalog, ColumnDef, ColumnType, ComputedKeys, KeyDef, KeyEvaluator, KeyForm, KeyKind, KeyMember,
    KeyMemberName, KeyNulls, Locked, MemberSource, NUMERIC_OID, NUMERIC_TAG, NewTable, Store, StoreError, TableDef,
    WriteSet,
};
use braid_testing::cases;

use crate::test_table::{
    create, insert, key, new_table, open, open_again, read_ids, row_deletes, row_ids, rows, seen_rows, test_device,
};

/// Longer than any wait that ends.
const SOON: Duration = Duration::from_millis(30);

/// A store with a table `a` whose ids differ.
async fn keyed_store(dir: &Path) -> Arc<Store> {
    let store = open(dir).unwrap();
    create(&store, new_table("a"), vec![key("a_id_key", &[0])]).await.unwrap();
    store
}

async fn add(writes: &mut WriteSet, view: &Catalog, ids: Range<i64>) -> Result<u64, StoreError> {
    let mut appender = writes.append(view, "a")?;
    appender.append(rows(ids)).await?;
    writes.add_rows(appender.finish().await?).await
}

/// Locks and deletes the rows with these numbers.
async fn delete(store: &Store, writes: &mut WriteSet, ids: Range<i64>) {
    writes.settle().await.unwrap();
    let view = writes.view(&store.snapshot());
    let version = view.table("a").unwrap();
    let found = read_ids(test_device(store.dir()).as_ref(), version).await;
    let found = row_ids(version).into_iter().zip(found).filter(|(_, id)| ids.contains(id)).map(|(row, _)| row);
    let (own, committed) = found.partition::<Vec<_>, _>(|row| row.chunk.0 >= braid_storage::PRIVATE_CHUNKS);
    let committed = seen_rows(version, committed);
    assert_eq!(writes.lock_rows(version.def.id, &committed).await.unwrap(), Locked::AsSeen);
    let newest = writes.view(&store.snapshot());
    let now = newest.table("a").unwrap();
    writes.delete_seen_rows((&newest, now), &committed, row_deletes(version, own)).unwrap();
}

fn is_duplicate<T: std::fmt::Debug>(result: Result<T, StoreError>) -> bool {
    match result {
        Err(StoreError::DuplicateKey(duplicate)) => {
            duplicate.members == [KeyMemberName::Column("id".to_owned())] && duplicate.key == "a_id_key"
        }
        other => panic!("{other:?}"),
    }
}

async fn ids_of(store: &Store) -> Vec<i64> {
    let mut ids = read_ids(test_device(store.dir()).as_ref(), store.snapshot().table("a").unwrap()).await;
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn a_key_comes_once_in_a_statement_a_transaction_and_a_table() {
    let temp = tempfile::tempdir().unwrap();
    let store = keyed_store(temp.path()).await;
    insert(&store, "a", 0..10).await.unwrap();
    let mut writes = store.write_set();
    let view = store.snapshot();
    let mut twice = writes.append(&view, "a").unwrap();
    twice.append(rows(20..22)).await.unwrap();
    twice.append(rows(21..22)).await.unwrap();
    assert!(is_duplicate(writes.add_rows(twice.finish().await.unwrap()).await));
    add(&mut writes, &view, 20..22).await.unwrap();
    assert!(is_duplicate(add(&mut writes, &view, 21..23).await));
    assert!(is_duplicate(add(&mut writes, &view, 9..12).await));
    add(&mut writes, &view, 22..23).await.unwrap();
    writes.commit().await.unwrap();
    assert!(is_duplicate(insert(&store, "a", 22..24).await));
    assert_eq!(ids_of(&store).await, (0..10).chain(20..23).collect::<Vec<_>>());
    drop(store);
    let store = open_again(temp.path()).await.unwrap();
    assert!(is_duplicate(insert(&store, "a", 5..6).await));
    insert(&store, "a", 10..20).await.unwrap();
    assert_eq!(ids_of(&store).await, (0..23).collect::<Vec<_>>());
}

#[tokio::test]
async fn deleted_keys_may_come_again_in_their_transaction_and_after_it() {
    let temp = tempfile::tempdir().unwrap();
    let store = keyed_store(temp.path()).await;
    insert(&store, "a", 0..10).await.unwrap();
    let mut writes = store.write_set();
    delete(&store, &mut writes, 3..6).await;
    add(&mut writes, &store.snapshot(), 4..5).await.unwrap();
    assert!(is_duplicate(add(&mut writes, &store.snapshot(), 4..5).await));
    delete(&store, &mut writes, 4..5).await;
    add(&mut writes, &store.snapshot(), 4..6).await.unwrap();
    writes.commit().await.unwrap();
    assert!(is_duplicate(insert(&store, "a", 4..5).await));
    insert(&store, "a", 3..4).await.unwrap();
    assert_eq!(ids_of(&store).await, (0..10).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_second_writer_of_a_key_waits_for_the_first() {
    let temp = tempfile::tempdir().unwrap();
    let store = keyed_store(temp.path()).await;
    for first_commits in [true, false] {
        let id = 100 + i64::from(first_commits);
        let (mut first, mut second) = (store.write_set(), store.write_set());
        let view = store.snapshot();
        add(&mut first, &view, id..id + 1).await.unwrap();
        let mut waits = Box::pin(add(&mut second, &view, id..id + 1));
        assert!(tokio::time::timeout(SOON, &mut waits).await.is_err(), "it waits");
        if first_commits {
            first.commit().await.unwrap();
            assert!(is_duplicate(waits.await));
        } else {
            drop(first);
            waits.await.unwrap();
            second.commit().await.unwrap();
        }
    }
    assert_eq!(ids_of(&store).await, [100, 101]);
}

#[tokio::test]
async fn a_writer_waits_for_the_deletion_of_the_key_and_holds_nothing_meanwhile() {
    let temp = tempfile::tempdir().unwrap();
    let store = keyed_store(temp.path()).await;
    insert(&store, "a", 0..10).await.unwrap();
    for comes_again in [true, false] {
        let (mut first, mut second) = (store.write_set(), store.write_set());
        let view = store.snapshot();
        delete(&store, &mut first, 5..6).await;
        let mut waits = Box::pin(add(&mut second, &view, 5..6));
        assert!(tokio::time::timeout(SOON, &mut waits).await.is_err(), "it waits");
        if comes_again {
            add(&mut first, &view, 5..6).await.unwrap();
        }
        first.commit().await.unwrap();
        match comes_again {
            true => assert!(is_duplicate(waits.await)),
            false => assert_eq!(waits.await.unwrap(), 1),
        }
    }
}

#[tokio::test]
async fn writers_that_wait_for_each_other_s_keys_are_a_deadlock() {
    let temp = tempfile::tempdir().unwrap();
    let store = keyed_store(temp.path()).await;
    let (mut first, mut second) = (store.write_set(), store.write_set());
    let view = store.snapshot();
    add(&mut first, &view, 1..2).await.unwrap();
    add(&mut second, &view, 2..3).await.unwrap();
    let mut waits = Box::pin(add(&mut first, &view, 2..3));
    assert!(tokio::time::timeout(SOON, &mut waits).await.is_err(), "it waits");
    assert!(matches!(add(&mut second, &view, 1..2).await, Err(StoreError::Deadlock)));
    drop(second);
    waits.await.unwrap();
}

#[tokio::test]
async fn a_commit_that_nobody_waits_for_keeps_its_keys() {
    let temp = tempfile::tempdir().unwrap();
    let store = keyed_store(temp.path()).await;
    for id in 0..50 {
        let mut writes = store.write_set();
        add(&mut writes, &store.snapshot(), id..id + 1).await.unwrap();
        let commit = tokio::spawn(writes.commit());
        tokio::task::yield_now().await;
        commit.abort();
        let outcome = insert(&store, "a", id..id + 1).await;
        assert!(outcome.is_ok() || is_duplicate(outcome));
    }
    assert_eq!(ids_of(&store).await, (0..50).collect::<Vec<_>>());
}

/// Chunks in files are searched by their bounds, their summaries and their runs.
#[tokio::test]
async fn keys_of_many_chunks_are_found() {
    let temp = tempfile::tempdir().unwrap();
    let store = keyed_store(temp.path()).await;
    let rows = CHUNK_ROWS as i64;
    insert(&store, "a", 0..2 * rows + 10).await.unwrap();
    insert(&store, "a", 10 * rows..10 * rows + 5).await.unwrap();
    for id in [0, rows - 1, rows, 2 * rows + 9, 10 * rows] {
        assert!(is_duplicate(insert(&store, "a", id..id + 1).await), "{id}");
    }
    assert!(is_duplicate(insert(&store, "a", 9 * rows..11 * rows).await));
    // More than a chunk in one statement, which meets itself.
    let mut writes = store.write_set();
    let view = store.snapshot();
    add(&mut writes, &view, 3 * rows..5 * rows).await.unwrap();
    assert!(is_duplicate(add(&mut writes, &view, 5 * rows - 1..5 * rows).await));
    add(&mut writes, &view, 5 * rows..5 * rows + 1).await.unwrap();
    let mut other = store.write_set();
    let waits = add(&mut other, &view, 4 * rows..4 * rows + 1);
    assert!(tokio::time::timeout(SOON, waits).await.is_err(), "it waits");
    writes.commit().await.unwrap();
    assert_eq!(store.snapshot().table("a").unwrap().row_count(), (4 * rows + 16) as u64);
}

#[tokio::test]
async fn a_table_gets_a_key_only_if_its_rows_differ() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.create_table(new_table("a")).await.unwrap();
    insert(&store, "a", 0..CHUNK_ROWS as i64 + 10).await.unwrap();
    insert(&store, "a", 7..8).await.unwrap();
    let add_key = async || {
        let (mut writes, committed) = (store.write_set(), store.snapshot());
        let mut def = TableDef::clone(&committed.table("a").unwrap().def);
        def.keys.push(KeyDef { id: writes.new_relation_id(), ..key("a_id_key", &[0]) });
        writes.alter_table((&committed, &committed), def, AlteredRows::Checked).await?;
        writes.commit().await
    };
    match add_key().await {
        Err(StoreError::DuplicateKey(duplicate)) => assert!(duplicate.is_of_table),
        other => panic!("{other:?}"),
    }
    let mut writes = store.write_set();
    delete(&store, &mut writes, 7..8).await;
    writes.commit().await.unwrap();
    add_key().await.unwrap();
    assert!(is_duplicate(insert(&store, "a", 8..9).await));
    insert(&store, "a", 7..8).await.unwrap();
    drop(store);
    let store = open_again(temp.path()).await.unwrap();
    assert_eq!(store.snapshot().table("a").unwrap().def.keys[0].name, "a_id_key");
    assert!(is_duplicate(insert(&store, "a", 7..8).await));
}

/// A numeric as its column has it.
fn numeric(scale: u16, integer: i128) -> Vec<u8> {
    [&[NUMERIC_TAG][..], &scale.to_le_bytes(), &integer.to_le_bytes()].concat()
}

#[tokio::test]
async fn values_are_the_same_key_if_they_are_equal_in_sql() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    let types = [
        ("i", ColumnType::Integer),
        ("f", ColumnType::Double),
        ("c", ColumnType::Char(5)),
        ("n", ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 }),
    ];
    let columns = types.map(|(name, column_type)| ColumnDef::new(name, column_type)).to_vec();
    let table = NewTable { name: "a".to_owned(), columns, primary_key: Vec::new() };
    let all = KeyDef { nulls: KeyNulls::Equal, ..key("a_all_key", &[3, 0, 2, 1]) };
    create(&store, table, vec![all, key("a_c_f_key", &[2, 1])]).await.unwrap();
    type Row<'a> = (Option<i32>, Option<f64>, Option<&'a str>, Option<Vec<u8>>);
    let try_row = async |(i, f, c, n): Row<'_>| {
        let columns: [ArrayRef; 4] = [
            Arc::new(Int32Array::from(vec![i])),
            Arc::new(Float64Array::from(vec![f])),
            Arc::new(StringViewArray::from(vec![c])),
            Arc::new(BinaryViewArray::from_iter([n.as_deref()])),
        ];
        let mut appender = store.append("a").unwrap();
        let batch = RecordBatch::try_new(appender.def().arrow_schema(), columns.to_vec()).unwrap();
        appender.append(batch).await.unwrap();
        match appender.commit().await {
            Ok(_) => None,
            Err(StoreError::DuplicateKey(duplicate)) => Some(duplicate.key),
            Err(error) => panic!("{error}"),
        }
    };
    let (one, half) = (numeric(0, 1), numeric(2, 50));
    assert_eq!(try_row((Some(1), Some(0.0), Some("x"), Some(one.clone()))).await, None);
    let equal = try_row((Some(1), Some(-0.0), Some("x  "), Some(numeric(3, 1000)))).await;
    assert_eq!(equal.as_deref(), Some("a_all_key"));
    let other = try_row((Some(2), Some(-0.0), Some("x"), Some(one.clone()))).await;
    assert_eq!(other.as_deref(), Some("a_c_f_key"));
    assert_eq!(try_row((Some(1), Some(0.0), Some(" x"), Some(half))).await, None);
    assert_eq!(try_row((Some(1), Some(f64::NAN), Some("x"), None)).await, None);
    let nan = try_row((Some(1), Some(-f64::NAN), Some("x"), Some(one.clone()))).await;
    assert_eq!(nan.as_deref(), Some("a_c_f_key"));
    // Nulls are alike in one key and not in the other.
    assert_eq!(try_row((None, None, Some("x"), None)).await, None);
    assert_eq!(try_row((None, None, Some("x"), None)).await.as_deref(), Some("a_all_key"));
    assert_eq!(try_row((Some(5), None, Some("x"), None)).await, None);
}

/// Transactions of random inserts and deletes, many at a time, some of which are given up: the table has the rows of a set.
#[tokio::test]
async fn random_transactions_beside_each_other_keep_a_set() {
    for case in cases!(0..20) {
        let temp = tempfile::tempdir().unwrap();
        let mut store = keyed_store(temp.path()).await;
        let mut random = case.random();
        let mut model = BTreeSet::new();
        for _ in 0..40 {
            let mut writes = store.write_set();
            let mut own = model.clone();
            for _ in 0..1 + random.below(4) {
                let first = random.below(60) as i64;
                let ids = first..first + 1 + random.below(6) as i64;
                if random.chance(1, 3) {
                    delete(&store, &mut writes, ids.clone()).await;
                    own.retain(|id| !ids.contains(id));
                    continue;
                }
                let savepoint = writes.clone();
                let result = add(&mut writes, &store.snapshot(), ids.clone()).await;
                if ids.clone().any(|id| own.contains(&id)) {
                    assert!(is_duplicate(result));
                    writes = savepoint;
                } else {
                    result.unwrap_or_else(|error| panic!("{error}"));
                    own.extend(ids);
                }
            }
            assert_eq!(own_rows(&writes, &store).await, own);
            if random.chance(3, 4) {
                writes.commit().await.unwrap();
                model = own;
            } else {
                drop(writes);
            }
            if random.chance(1, 10) {
                drop(store);
                store = open_again(temp.path()).await.unwrap();
            }
            assert_eq!(ids_of(&store).await, model.iter().copied().collect::<Vec<_>>());
        }
    }
}

/// The rows that the statements of a transaction see.
async fn own_rows(writes: &WriteSet, store: &Store) -> BTreeSet<i64> {
    let mut writes = writes.clone();
    writes.settle().await.unwrap();
    let view = writes.view(&store.snapshot());
    read_ids(test_device(store.dir()).as_ref(), view.table("a").unwrap()).await.into_iter().collect()
}

/// Many writers of the same keys at once: of each key one insert is kept, and no writer waits for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_writers_of_a_key_one_succeeds() {
    let temp = tempfile::tempdir().unwrap();
    let store = keyed_store(temp.path()).await;
    let writers = (0..8).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut kept = Vec::new();
            for id in 0..40 {
                match insert(&store, "a", id..id + 1).await {
                    Ok(_) => kept.push(id),
                    Err(StoreError::DuplicateKey(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            kept
        })
    });
    let mut kept = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        kept.extend(writer.await.unwrap());
    }
    kept.sort_unstable();
    assert_eq!(kept, (0..40).collect::<Vec<_>>());
    assert_eq!(ids_of(&store).await, kept);
}

/// Keys of ids that are divided by a number: the text of their expression. Other texts, and ids from 1000 on, fail.
#[derive(Debug)]
pub struct Quotients;

impl KeyEvaluator for Quotients {
    fn evaluate(
        &self,
        def: &TableDef,
        form: &KeyForm,
        columns: &[(usize, ArrayRef)],
        (row_count, is_needed): (usize, &dyn Fn(usize) -> bool),
    ) -> Result<ComputedKeys, Box<dyn Error + Send + Sync>> {
        let [(0, ids)] = columns else { panic!("the keys of {} read {columns:?}", def.name) };
        let MemberSource::Expression { text, .. } = &form.members[0].source else { panic!("{form:?}") };
        let (ids, divisor) = (ids.as_primitive::<Int64Type>(), text.parse::<i64>()?);
        let mut has_row = Vec::with_capacity(row_count);
        for row in 0..row_count {
            if ids.value(row) >= 1000 && is_needed(row) {
                return Err("1000 or more".into());
            }
            has_row.push(ids.value(row) < 1000 && (form.condition.is_none() || ids.value(row) % 2 == 0));
        }
        let quotients: Int64Array = ids.unary(|id| id / divisor);
        Ok(ComputedKeys { members: vec![Arc::new(quotients)], has_row: Some(has_row.into()) })
    }
}

pub fn quotients(divisor: &str, condition: Option<&str>) -> KeyDef {
    let source = MemberSource::Expression {
        text: divisor.to_owned(),
        name: "quotient".to_owned(),
        column_type: ColumnType::BigInt,
    };
    let member = KeyMember { source, descends: false, nulls_first: false, for_patterns: false };
    let condition = condition.map(str::to_owned);
    let form = KeyForm { members: vec![member], included: Vec::new(), condition };
    KeyDef { kind: KeyKind::UniqueIndex, form: Some(Arc::new(form)), ..key("a_quotient", &[0]) }
}

fn is_same_quotient<T: std::fmt::Debug>(result: Result<T, StoreError>) -> bool {
    match result {
        Err(StoreError::DuplicateKey(duplicate)) => {
            duplicate.key == "a_quotient" && duplicate.members == [KeyMemberName::Expression("10".to_owned())]
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn computed_keys_differ_in_all_rows_that_an_index_has() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.set_key_evaluator(Arc::new(Quotients));
    create(&store, new_table("a"), vec![quotients("10", None), key("a_id_key", &[0])]).await.unwrap();
    insert(&store, "a", 10..11).await.unwrap();
    assert!(is_same_quotient(insert(&store, "a", 19..20).await));
    assert!(is_same_quotient(insert(&store, "a", 20..22).await));
    insert(&store, "a", 20..21).await.unwrap();
    let failed = insert(&store, "a", 1000..1001).await;
    assert!(matches!(failed, Err(StoreError::KeyExpression { .. })), "{failed:?}");
    // A second transaction waits for the first, as its key is the same though its id is not.
    let (mut one, mut other) = (store.write_set(), store.write_set());
    let view = store.snapshot();
    add(&mut one, &view, 30..31).await.unwrap();
    {
        let waiting = add(&mut other, &view, 39..40);
        tokio::pin!(waiting);
        assert!(tokio::time::timeout(SOON, &mut waiting).await.is_err());
        one.commit().await.unwrap();
        assert!(is_same_quotient(waiting.await));
    }
    // A key that its transaction deletes is free.
    let mut writes = store.write_set();
    delete(&store, &mut writes, 10..11).await;
    add(&mut writes, &store.snapshot(), 11..12).await.unwrap();
    writes.commit().await.unwrap();
    drop((store, other, view));
    let store = open_again(temp.path()).await.unwrap();
    let unknown = insert(&store, "a", 12..13).await;
    assert!(matches!(unknown, Err(StoreError::KeyExpression { .. })), "{unknown:?}");
    store.set_key_evaluator(Arc::new(Quotients));
    assert!(is_same_quotient(insert(&store, "a", 12..13).await));
}

#[tokio::test]
async fn rows_that_fail_an_expression_keep_an_index_away_unless_they_are_deleted() {
    let temp = tempfile::tempdir().unwrap();
    let store = open(temp.path()).unwrap();
    store.set_key_evaluator(Arc::new(Quotients));
    store.create_table(new_table("a")).await.unwrap();
    insert(&store, "a", 1000..1001).await.unwrap();
    insert(&store, "a", 10..14).await.unwrap();
    let add_index = async |index: KeyDef| {
        let (mut writes, committed) = (store.write_set(), store.snapshot());
        let mut def = TableDef::clone(&committed.table("a").unwrap().def);
        def.keys.push(KeyDef { id: writes.new_relation_id(), ..index });
        writes.alter_table((&committed, &committed), def, AlteredRows::Checked).await?;
        writes.commit().await
    };
    let failed = add_index(quotients("1", None)).await;
    assert!(matches!(failed, Err(StoreError::KeyExpression { .. })), "{failed:?}");
    let mut writes = store.write_set();
    delete(&store, &mut writes, 1000..1001).await;
    writes.commit().await.unwrap();
    assert!(is_same_quotient(add_index(quotients("10", None)).await));
    // Of 10 and 12, which are even, the quotients by 2 differ; so do not those of 10 and 11.
    add_index(quotients("2", Some("even"))).await.unwrap();
    insert(&store, "a", 15..16).await.unwrap();
    insert(&store, "a", 14..15).await.unwrap();
}
