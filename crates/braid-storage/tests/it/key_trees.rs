//! Key trees: a table of many chunks in files has each key once, whatever happens to its chunks and to the trees.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use braid_base::{CHUNK_ROWS, Random, SeededRandom};
use braid_io::Fault;
use braid_storage::{
    AlteredRows, ColumnDef, ColumnType, KeyDef, KeyNulls, Locked, NewTable, RowDeletes, RowId, Segment, Selection,
    Store, StoreError, TableDef, TableVersion, WriteSet,
};
use braid_testing::cases;

use crate::keys::{Quotients, quotients};
use crate::test_table::{
    create, directory_in_memory, faulty_disk, key, open, open_again, open_on, read_segment, row_deletes, row_ids,
    seen_rows, test_device,
};

/// Bytes of a text with which 256 rows fill a chunk.
const TEXT_BYTES: usize = 2 * CHUNK_ROWS;

fn table() -> NewTable {
    let columns = vec![ColumnDef::new("id", ColumnType::BigInt), ColumnDef::new("text", ColumnType::Text)];
    NewTable { name: "a".to_owned(), columns, primary_key: Vec::new() }
}

/// Rows whose text is the same bytes in memory.
fn rows(ids: &[i64], text_bytes: usize) -> RecordBatch {
    let text = StringViewArray::from_iter_values(["x".repeat(text_bytes)]);
    let texts = arrow::compute::take(&text, &arrow::array::UInt32Array::from(vec![0; ids.len()]), None).unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from(ids.to_vec()));
    RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)]).unwrap()
}

async fn insert(store: &Store, ids: &[i64]) -> Result<(), StoreError> {
    insert_long(store, ids, TEXT_BYTES).await
}

async fn insert_long(store: &Store, ids: &[i64], text_bytes: usize) -> Result<(), StoreError> {
    let mut writes = store.write_set();
    let mut appender = writes.append(&store.snapshot(), "a")?;
    for part in ids.chunks(100) {
        appender.append(rows(part, text_bytes)).await?;
    }
    writes.add_rows(appender.finish().await?).await?;
    writes.commit().await.map(drop)
}

fn newest(store: &Store) -> Arc<TableVersion> {
    Arc::clone(store.snapshot().table("a").unwrap())
}

/// The rows of the newest version with their keys.
async fn keyed_rows(store: &Store) -> Vec<(RowId, i64)> {
    let (device, version) = (test_device(store.dir()), newest(store));
    let mut ids = Vec::new();
    for chunk in version.chunks.iter() {
        let bytes = read_segment(device.as_ref(), chunk, &chunk.segments[0]).await;
        let segment = Segment::open(bytes, ColumnType::BigInt).unwrap();
        let all = (0..segment.vector_count()).map(|vector| Selection::all(segment.vector_rows(vector)));
        let values = segment.gather(0..segment.vector_count(), &all.collect::<Vec<_>>());
        let is_live = |row: &usize| chunk.deleted.as_ref().is_none_or(|deleted| !deleted.contains(*row as u32));
        ids.extend(
            (0..chunk.row_count as usize).filter(is_live).map(|row| values.as_primitive::<Int64Type>().value(row)),
        );
    }
    row_ids(&version).into_iter().zip(ids).collect()
}

fn trees(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir.join("keys")).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

fn is_duplicate(result: Result<(), StoreError>) -> bool {
    match result {
        Ok(()) => false,
        Err(StoreError::DuplicateKey(_)) => true,
        Err(error) => panic!("{error}"),
    }
}

fn shuffled(ids: impl Iterator<Item = i64>, random: &mut SeededRandom) -> Vec<i64> {
    let mut ids: Vec<(u64, i64)> = ids.map(|id| (random.next_u64(), id)).collect();
    ids.sort_unstable();
    ids.into_iter().map(|(_, id)| id).collect()
}

/// Keys that the table has are refused, one that it has not is taken.
async fn check_keys(store: &Store, model: &mut BTreeSet<i64>, random: &mut SeededRandom) {
    let known = shuffled(model.iter().copied(), random);
    for id in known.iter().take(30) {
        assert!(is_duplicate(insert(store, &[*id]).await), "{id}");
    }
    let new = shuffled((0..20_000).filter(|id| !model.contains(id)), random)[0];
    assert!(!is_duplicate(insert(store, &[new]).await), "{new}");
    model.insert(new);
}

/// Damages a tree, or removes it.
fn damage(path: &Path, random: &mut SeededRandom) {
    let Ok(mut bytes) = std::fs::read(path) else { return };
    match random.below(3) {
        0 => std::fs::remove_file(path).unwrap(),
        1 => std::fs::write(path, &bytes[..random.below(bytes.len() as u64) as usize]).unwrap(),
        _ => {
            let first = random.below(bytes.len() as u64) as usize;
            bytes[first..].iter_mut().take(5000).for_each(|byte| *byte = !*byte);
            std::fs::write(path, bytes).unwrap();
        }
    }
}

#[tokio::test]
async fn random_inserts_deletes_and_damage_keep_a_set() {
    for case in cases!(0..6) {
        let temp = directory_in_memory();
        let mut store = open(temp.path()).unwrap();
        create(&store, table(), vec![key("a_id_key", &[0])]).await.unwrap();
        let mut random = case.random();
        let mut model = BTreeSet::new();
        let mut most_trees = 0;
        for _ in 0..14 {
            let count = 300 + random.below(2500) as usize;
            let mut ids = shuffled((0..20_000).filter(|id| !model.contains(id)), &mut random);
            ids.truncate(count);
            if random.chance(1, 4) {
                let twice = ids[random.below(ids.len() as u64) as usize];
                ids.push(twice);
                assert!(is_duplicate(insert(&store, &ids).await));
                ids.pop();
            }
            assert!(!is_duplicate(insert(&store, &ids).await));
            model.extend(ids);
            if random.chance(1, 2) {
                store.merge_keys().await.unwrap();
                most_trees = most_trees.max(trees(temp.path()).len());
            }
            if random.chance(1, 3) {
                let share = 2 + random.below(3);
                let (gone, kept): (Vec<_>, Vec<_>) =
                    keyed_rows(&store).await.into_iter().partition(|_| random.chance(1, share));
                let version = newest(&store);
                store.delete_rows("a", &row_deletes(&version, gone.into_iter().map(|(row, _)| row))).await.unwrap();
                model = kept.into_iter().map(|(_, id)| id).collect();
                store.compact(version.def.id, 0.25).await.unwrap();
            }
            if random.chance(1, 3) {
                trees(temp.path()).iter().for_each(|tree| damage(tree, &mut random));
            }
            if random.chance(1, 3) {
                drop(store);
                store = open_again(temp.path()).await.unwrap();
            }
            check_keys(&store, &mut model, &mut random).await;
        }
        let mut found: Vec<i64> = keyed_rows(&store).await.into_iter().map(|(_, id)| id).collect();
        found.sort_unstable();
        assert_eq!(found, model.into_iter().collect::<Vec<_>>());
        assert!(most_trees > 0, "{case:?}: no runs were merged");
    }
}

/// Trees are taken over by the next process, and go with the chunks that are in them.
#[tokio::test]
async fn trees_stay_while_their_chunks_do() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, table(), vec![key("a_id_key", &[0])]).await.unwrap();
    let ids = shuffled(0..6000, &mut SeededRandom::new(5));
    insert(&store, &ids).await.unwrap();
    let chunks_in_files = newest(&store).chunks.iter().filter(|chunk| chunk.file.is_some()).count();
    assert!(chunks_in_files > 16, "{chunks_in_files}");
    store.merge_keys().await.unwrap();
    let merged = trees(temp.path());
    assert!(!merged.is_empty() && merged.len() < 8, "{merged:?}");
    drop(store);

    let store = open_again(temp.path()).await.unwrap();
    assert_eq!(trees(temp.path()).len(), merged.len());
    assert!(is_duplicate(insert(&store, &ids[..1]).await));
    let report = store.check(|_| {}).await;
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(trees(temp.path()).len(), merged.len(), "a check leaves no trees");

    // Any flipped bit of a tree is a fault, of that file alone.
    let mut random = SeededRandom::new(8);
    for path in trees(temp.path()) {
        let bytes = std::fs::read(&path).unwrap();
        for _ in 0..10 {
            let mut damaged = bytes.clone();
            damaged[random.below(bytes.len() as u64) as usize] ^= 1 << random.below(8);
            std::fs::write(&path, damaged).unwrap();
            let report = store.check(|_| {}).await;
            assert!(matches!(&report.faults[..], [fault] if fault.file == path), "{report:?}");
        }
        std::fs::write(&path, bytes).unwrap();
    }

    let version = newest(&store);
    let gone = row_ids(&version).into_iter().filter(|row| row.row % 3 > 0);
    store.delete_rows("a", &row_deletes(&version, gone)).await.unwrap();
    store.compact(version.def.id, 0.0).await.unwrap();
    drop(version);
    store.merge_keys().await.unwrap();
    assert_eq!(trees(temp.path()), Vec::<PathBuf>::new());
    store.drop_table("a").await.unwrap();
    store.merge_keys().await.unwrap();
    drop(store);
    let store = open_again(temp.path()).await.unwrap();
    assert_eq!((trees(temp.path()).len(), store.snapshot().tables().count()), (0, 0));
}

/// A transaction's trees go with it.
#[tokio::test]
async fn a_rollback_leaves_no_trees() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, table(), vec![key("a_id_key", &[0])]).await.unwrap();
    let mut ids = shuffled(0..4000, &mut SeededRandom::new(6));
    ids.push(ids[7]);
    assert!(is_duplicate(insert(&store, &ids).await));
    assert_eq!(trees(temp.path()), Vec::<PathBuf>::new());
}

/// A key that is added to a table compares all rows, in trees that stay.
#[tokio::test]
async fn a_new_key_compares_all_rows() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, table(), Vec::new()).await.unwrap();
    let mut ids = shuffled(0..5000, &mut SeededRandom::new(7));
    ids.push(ids[100]);
    insert(&store, &ids).await.unwrap();
    let add_key = async || {
        let (mut writes, committed) = (store.write_set(), store.snapshot());
        let mut def = TableDef::clone(&committed.table("a").unwrap().def);
        def.keys.push(KeyDef { id: writes.new_relation_id(), ..key("a_id_key", &[0]) });
        writes.alter_table((&committed, &committed), def, AlteredRows::Checked).await?;
        writes.commit().await.map(drop)
    };
    assert!(is_duplicate(add_key().await));
    let twice: Vec<RowId> =
        keyed_rows(&store).await.into_iter().filter(|(_, id)| *id == ids[100]).map(|(row, _)| row).collect();
    let version = newest(&store);
    store.delete_rows("a", &row_deletes(&version, [twice[0]])).await.unwrap();
    add_key().await.unwrap();
    store.merge_keys().await.unwrap();
    assert!(!trees(temp.path()).is_empty());
    assert!(is_duplicate(insert(&store, &ids[100..101]).await));
    assert!(!is_duplicate(insert(&store, &[5000]).await));
}

/// After a power cut trees are whole, or go.
#[tokio::test]
async fn power_cuts_leave_trees_that_are_right_or_none() {
    for case in cases!(0..8) {
        let temp = directory_in_memory();
        let (mut random, mut model) = (case.random(), BTreeSet::new());
        create(&open(temp.path()).unwrap(), table(), vec![key("a_id_key", &[0])]).await.unwrap();
        for _ in 0..3 {
            let disk = faulty_disk(temp.path());
            let store = open_on(temp.path(), &disk).unwrap();
            let mut ids = shuffled((0..20_000).filter(|id| !model.contains(id)), &mut random);
            ids.truncate(2600);
            disk.inject(Fault::Crash { after_operations: random.below(200) });
            let inserted = insert(&store, &ids).await;
            let merged = store.merge_keys().await;
            assert!(disk.is_crashed() || inserted.and(merged).is_ok());
            drop(store);
            disk.cut_power(random.below(u64::MAX)).unwrap();

            let store = open_again(temp.path()).await.unwrap();
            let found: BTreeSet<i64> = keyed_rows(&store).await.into_iter().map(|(_, id)| id).collect();
            let after = model.iter().copied().chain(ids).collect();
            assert!(found == model || found == after, "{} rows", found.len());
            model = found;
            let report = store.check(|_| {}).await;
            assert!(report.is_sound(), "{report:?}");
            check_keys(&store, &mut model, &mut random).await;
        }
    }
}

/// A row whose key cannot be computed, and which a transaction has deleted that has given its index up, is no row of a later index.
#[tokio::test]
async fn trees_of_an_index_that_was_given_up_hide_no_rows() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    store.set_key_evaluator(Arc::new(Quotients));
    create(&store, table(), Vec::new()).await.unwrap();
    let mut ids = shuffled(0..900, &mut SeededRandom::new(9));
    ids.push(1000);
    insert_long(&store, &ids, 4 * TEXT_BYTES).await.unwrap();
    let add_index = async |writes: &mut WriteSet| {
        let committed = store.snapshot();
        let mut def = TableDef::clone(&committed.table("a").unwrap().def);
        def.keys.push(KeyDef { id: writes.new_relation_id(), ..quotients("1", None) });
        let view = writes.view(&committed);
        writes.alter_table((&committed, &view), def, AlteredRows::Checked).await.map(drop)
    };
    let (version, committed) = (newest(&store), store.snapshot());
    let failing = keyed_rows(&store).await.into_iter().filter(|(_, id)| *id == 1000).map(|(row, _)| row);
    let failing = seen_rows(&version, failing);
    let mut writes = store.write_set();
    assert_eq!(writes.lock_rows(version.def.id, &failing).await.unwrap(), Locked::AsSeen);
    writes.delete_seen_rows((&committed, &version), &failing, RowDeletes::new()).unwrap();
    add_index(&mut writes).await.unwrap();
    assert!(!trees(temp.path()).is_empty());
    drop(writes);

    let mut writes = store.write_set();
    let failed = add_index(&mut writes).await;
    assert!(matches!(failed, Err(StoreError::KeyExpression { .. })), "{failed:?}");
    drop(writes);
    // Nothing has the key, so that its trees are forgotten.
    for id in 0..70 {
        insert(&store, &[2000 + id]).await.unwrap();
        store.merge_keys().await.unwrap();
    }
    assert_eq!(trees(temp.path()), Vec::<PathBuf>::new());
}

/// A full disk makes keys of added rows and of new indexes slower to compare, and no statement fail.
#[tokio::test]
async fn keys_are_compared_without_trees_where_none_can_be_written() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    create(&store, table(), vec![key("a_id_key", &[0])]).await.unwrap();
    std::fs::remove_dir(temp.path().join("keys")).unwrap();
    let mut ids = shuffled(0..5000, &mut SeededRandom::new(10));
    insert(&store, &ids).await.unwrap();
    ids.push(5000);
    assert!(is_duplicate(insert(&store, &ids[4000..]).await));
    let mut writes = store.write_set();
    let committed = store.snapshot();
    let mut def = TableDef::clone(&committed.table("a").unwrap().def);
    def.keys.push(KeyDef { id: writes.new_relation_id(), nulls: KeyNulls::Equal, ..key("a_second", &[0]) });
    writes.alter_table((&committed, &committed), def, AlteredRows::Checked).await.unwrap();
    writes.commit().await.unwrap();
    assert!(is_duplicate(insert(&store, &ids[7..8]).await));
    let report = store.check(|_| {}).await;
    assert!(report.is_sound(), "{report:?}");
}
