//! Damage done to files behind the store's back: `check` finds it, names the place, and goes on.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use braid_base::{ChunkId, ColumnId, Random, TableId};
use braid_storage::{
    CheckReport, Deferral, DeletedRows, Fault, FaultKind, ForeignKeyDef, KeyDef, Manifest, MatchType,
    ReferentialAction, StoreError, TableVersion,
};
use braid_testing::cases;

use crate::test_table::{data_files, delete_where, insert, key, new_table, open, read_ids, test_device};

/// Two tables, `t` with two chunks in two files and `u` with one.
async fn fill(dir: &Path) {
    let store = open(dir).unwrap();
    for table in ["t", "u"] {
        store.create_table(new_table(table)).await.unwrap();
    }
    insert(&store, "t", 0..30_000).await.unwrap();
    insert(&store, "t", 30_000..31_100).await.unwrap();
    insert(&store, "u", 0..1_500).await.unwrap();
    store.checkpoint().await.unwrap();
}

async fn check(dir: &Path) -> CheckReport {
    open(dir).unwrap().check(|_| {}).await
}

fn flip(path: &Path, bit: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, bit / 8).unwrap();
    byte[0] ^= 1 << (bit % 8);
    file.write_all_at(&byte, bit / 8).unwrap();
}

#[tokio::test]
async fn a_sound_directory_has_no_faults_and_every_byte_is_read() {
    let temp = tempfile::tempdir().unwrap();
    fill(temp.path()).await;
    let (calls, last) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let report = open(temp.path())
        .unwrap()
        .check(|progress| {
            calls.fetch_add(1, Ordering::Relaxed);
            last.store(progress.segments_total - progress.segments, Ordering::Relaxed);
        })
        .await;
    assert!(report.is_sound() && report.orphans.is_empty(), "{report:?}");
    assert_eq!((report.tables, report.chunks, report.segments, report.files), (2, 3, 12, 3));
    assert_eq!((calls.into_inner(), last.into_inner()), (12, 0));
    let bytes = |path: &Path| fs::metadata(path).unwrap().len();
    let files = data_files(temp.path()).into_iter().map(|name| bytes(&temp.path().join("data").join(name)));
    let (manifest, log) = (bytes(&temp.path().join("manifest")), bytes(&temp.path().join("log/0000000000000002.log")));
    assert_eq!(report.bytes, files.sum::<u64>() + manifest + log);
}

/// The segment that holds the byte at `offset`, as (table, column, chunk, its offset); `None` for the header.
fn place(versions: &[Arc<TableVersion>], path: &Path, offset: u64) -> Option<(String, String, ChunkId, u64)> {
    versions.iter().find_map(|version| {
        version.chunks.iter().filter(|chunk| chunk.data_file().path() == path).find_map(|chunk| {
            let holds = |s: &&(usize, &braid_storage::SegmentMeta)| {
                s.1.file_range().is_some_and(|range| (range.offset..range.end()).contains(&offset))
            };
            let segments: Vec<_> = chunk.segments.iter().enumerate().collect();
            let (column, meta) = segments.iter().find(holds)?;
            let (table, column) = (version.def.name.clone(), version.def.columns[*column].name.clone());
            Some((table, column, chunk.id, meta.file_range().unwrap().offset))
        })
    })
}

#[tokio::test]
async fn a_flipped_bit_anywhere_is_one_fault_at_its_place() {
    let temp = tempfile::tempdir().unwrap();
    fill(temp.path()).await;
    let store = open(temp.path()).unwrap();
    let versions: Vec<Arc<TableVersion>> = store.snapshot().tables().cloned().collect();
    for (round, case) in cases!(0..60).enumerate() {
        let mut random = case.random();
        let names = data_files(temp.path());
        let path = temp.path().join("data").join(&names[random.below(names.len() as u64) as usize]);
        let bytes = fs::metadata(&path).unwrap().len();
        // Every third in the header, the others anywhere.
        let bit = random.below(if round % 3 == 0 { 4096 * 8 } else { bytes * 8 });
        flip(&path, bit);
        let report = store.check(|_| {}).await;
        flip(&path, bit);
        let [fault] = &report.faults[..] else { panic!("bit {bit} of {}: {report:?}", path.display()) };
        assert_eq!((report.segments, &fault.file), (12, &path), "the check goes on after a fault");
        match place(&versions, &path, bit / 8) {
            None => assert!(matches!(fault.kind, FaultKind::Header(_)) && fault.offset == Some(0), "{fault}"),
            Some((table, column, chunk, offset)) => {
                let found = (fault.table.clone(), fault.column.clone(), fault.chunk, fault.offset);
                assert_eq!(found, (Some(table), Some(column), Some(chunk), Some(offset)), "{fault}");
                match fault.kind {
                    FaultKind::Checksum { expected, found } => assert_ne!(expected, found),
                    FaultKind::Padding => {}
                    _ => panic!("{fault}"),
                }
            }
        }
    }
    assert!(store.check(|_| {}).await.is_sound());
}

#[tokio::test]
async fn a_fault_reads_as_a_sentence_with_both_checksums() {
    let temp = tempfile::tempdir().unwrap();
    fill(temp.path()).await;
    flip(&temp.path().join("data").join(&data_files(temp.path())[0]), (4096 + 70) * 8);
    let report = check(temp.path()).await;
    let text = report.faults[0].to_string();
    assert!(text.starts_with("table \"t\", column \"id\", chunk k0: the checksum is 0x"), "{text}");
    assert!(text.contains(" instead of 0x") && text.ends_with(".seg\", offset 4096)"), "{text}");
}

#[tokio::test]
async fn a_missing_file_fails_its_table_alone() {
    let temp = tempfile::tempdir().unwrap();
    fill(temp.path()).await;
    let device = test_device(temp.path());
    let missing = temp.path().join("data").join(&data_files(temp.path())[0]);
    fs::remove_file(&missing).unwrap();
    {
        let store = open(temp.path()).unwrap();
        assert!(!missing.exists(), "nothing is put in its place");
        let snapshot = store.snapshot();
        assert_eq!(read_ids(device.as_ref(), snapshot.table("u").unwrap()).await.len(), 1_500);
        let chunk = &snapshot.table("t").unwrap().chunks[0];
        let read = device.read(chunk.data_file().handle(), 4096, 4096, braid_io::IoReason::Scan).await;
        let text = read.unwrap_err().to_string();
        assert!(text.contains(missing.to_str().unwrap()) && text.contains("the file ends after 0 of them"), "{text}");
        let report = store.check(|_| {}).await;
        let [fault] = &report.faults[..] else { panic!("{report:?}") };
        let Fault { table, kind, file, .. } = fault;
        assert!(matches!(kind, FaultKind::Missing) && *file == missing && table.as_deref() == Some("t"), "{fault}");
        // Rows can still be added: what cannot be read back is not merged.
        insert(&store, "t", 31_100..90_000).await.unwrap();
    }
    let store = open(temp.path()).unwrap();
    assert_eq!(store.snapshot().table("t").unwrap().row_count(), 90_000);
    store.drop_table("t").await.unwrap();
    assert!(store.check(|_| {}).await.is_sound());
}

#[tokio::test]
async fn lengths_manifests_and_orphans_are_checked_too() {
    let temp = tempfile::tempdir().unwrap();
    fill(temp.path()).await;
    let store = open(temp.path()).unwrap();
    let path = temp.path().join("data").join(&data_files(temp.path())[0]);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length + 4096).unwrap();
    let report = store.check(|_| {}).await;
    let expected = (length, length + 4096);
    let [Fault { kind: FaultKind::Length { expected: e, found }, .. }] = &report.faults[..] else {
        panic!("{report:?}")
    };
    assert_eq!((*e, *found), expected);
    file.set_len(length - 4096).unwrap();
    let kinds: Vec<FaultKind> = store.check(|_| {}).await.faults.into_iter().map(|fault| fault.kind).collect();
    assert!(matches!(kinds[..], [FaultKind::Length { .. }, FaultKind::Read(_)]), "{kinds:?}");
    drop((store, file));

    let temp = tempfile::tempdir().unwrap();
    fill(temp.path()).await;
    let store = open(temp.path()).unwrap();
    let orphan = temp.path().join("data/00000000000000aa.seg");
    fs::write(&orphan, b"x").unwrap();
    let mut appender = store.append("t").unwrap();
    appender.append(crate::test_table::rows(0..140_000)).await.unwrap();
    let report = store.check(|_| {}).await;
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.orphans, [orphan], "a file that is being written is no orphan");
    flip(&temp.path().join("manifest"), 700);
    let report = store.check(|_| {}).await;
    assert!(matches!(report.faults[..], [Fault { kind: FaultKind::Manifest(_), .. }]), "{report:?}");
}

#[tokio::test]
async fn a_damaged_last_chunk_is_not_merged_and_stays_damaged() {
    let temp = tempfile::tempdir().unwrap();
    fill(temp.path()).await;
    let store = open(temp.path()).unwrap();
    let snapshot = store.snapshot();
    let last = snapshot.table("t").unwrap().chunks.last().unwrap();
    flip(last.data_file().path(), last.segments[1].file_range().unwrap().offset * 8 + 8 * 20);
    let version = insert(&store, "t", 31_100..34_000).await.unwrap();
    let counts: Vec<u32> = version.chunks.iter().map(|chunk| chunk.row_count).collect();
    assert_eq!(counts, [30_000, 1_100, 2_900]);
    let report = store.check(|_| {}).await;
    assert_eq!(report.faults.len(), 1);
    assert!(matches!(store.append("v").err(), Some(StoreError::UnknownTable { .. })));
}

#[tokio::test]
async fn deleted_rows_that_the_manifest_does_not_have_are_a_fault() {
    let temp = tempfile::tempdir().unwrap();
    fill(temp.path()).await;
    let store = open(temp.path()).unwrap();
    delete_where(&store, test_device(temp.path()).as_ref(), "t", |id| id % 100 == 0).await.unwrap();
    assert!(store.check(|_| {}).await.is_sound());
    store.checkpoint().await.unwrap();
    assert!(store.check(|_| {}).await.is_sound());
    let path = temp.path().join("manifest");
    let mut manifest = Manifest::decode(&fs::read(&path).unwrap()).unwrap();
    let chunk = &mut manifest.tables[0].chunks[0];
    let forged = DeletedRows::of(chunk.row_count, chunk.deleted.as_ref().unwrap().iter().skip(1));
    chunk.deleted = Some(Arc::new(forged));
    fs::write(&path, manifest.encode()).unwrap();
    let report = store.check(|_| {}).await;
    let [fault] = &report.faults[..] else { panic!("{report:?}") };
    let expected = "table \"t\", chunk k0: 300 of 30000 rows are deleted, and 299 by the manifest";
    assert!(fault.to_string().starts_with(expected), "{fault}");
}

/// Puts other definitions of tables into a manifest, whose rows may not satisfy them.
fn forge(dir: &Path, change: impl FnOnce(&mut Manifest)) {
    let path = dir.join("manifest");
    let mut manifest = Manifest::decode(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(path, manifest.encode()).unwrap();
}

#[tokio::test]
async fn rows_that_violate_a_key_or_a_foreign_key_are_faults() {
    for (rows, referencing, expected) in [
        (&[0..40, 50..90][..], 10..30, &[][..]),
        (&[0..40, 39..41], 10..30, &["two rows have the same value of key \"t_id_key\""]),
        (&[0..40, 50..90], 30..60, &["a row satisfies foreign key \"u_id_fkey\" not"]),
    ] {
        let temp = tempfile::tempdir().unwrap();
        let store = open(temp.path()).unwrap();
        for table in ["t", "u"] {
            store.create_table(new_table(table)).await.unwrap();
        }
        for ids in rows {
            insert(&store, "t", ids.clone()).await.unwrap();
        }
        insert(&store, "u", referencing).await.unwrap();
        // Deleted rows satisfy all.
        delete_where(&store, test_device(temp.path()).as_ref(), "u", |id| id > 55).await.unwrap();
        store.checkpoint().await.unwrap();
        drop(store);
        forge(temp.path(), |manifest| {
            let [t, u] = &mut manifest.tables[..] else { panic!("two tables") };
            let ids = [0, 1].map(|at| TableId(manifest.next_ids.table + at));
            t.def.keys.push(KeyDef { id: ids[0], ..key("t_id_key", &[0]) });
            u.def.foreign_keys.push(Arc::new(ForeignKeyDef {
                id: ids[1],
                name: "u_id_fkey".to_owned(),
                columns: vec![ColumnId(0)],
                referenced: t.def.id,
                key: vec![ColumnId(0)],
                on_delete: ReferentialAction::NoAction,
                on_update: ReferentialAction::NoAction,
                set_columns: Vec::new(),
                matching: MatchType::Simple,
                deferral: Deferral::NotDeferrable,
                validated: true,
            }));
            manifest.next_ids.table += 2;
        });
        let report = open(temp.path()).unwrap().check(|_| {}).await;
        let found: Vec<String> = report.faults.iter().map(|fault| fault.kind.to_string()).collect();
        assert_eq!(found, expected, "{report:?}");
    }
}
