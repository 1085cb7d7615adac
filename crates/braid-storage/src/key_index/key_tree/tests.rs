//! Trees of random runs against a sorted list.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::{Int64Array, StringViewArray};
use braid_base::{ColumnId, Random, SeededRandom};
use braid_io::{Backend, Device, DeviceOptions, open_device};
use futures::executor::block_on;

use super::tree_page::PAGE_BYTES;
use super::*;
use crate::ColumnType;
use crate::key_index::{KeyNulls, KeyRun, KeyShape, SearchCache};

type Entry = (Vec<u8>, u32, u32);

struct Trees {
    directory: Arc<PathBuf>,
    device: Arc<dyn Device>,
    next_id: u64,
}

impl Trees {
    fn new(path: &Path) -> Self {
        let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 4, threads: 1 };
        let device = open_device(path, &options).unwrap();
        Self { directory: Arc::new(path.to_owned()), device, next_id: 0 }
    }

    fn location(&self, id: KeyTreeId) -> TreeLocation {
        let (device, directory) = (Arc::clone(&self.device), Arc::clone(&self.directory));
        TreeLocation { id, path: directory.join(format!("{id}.tree")), device, directory }
    }

    fn write(&mut self, chunks: Vec<TreeChunk>, sources: Vec<KeySource>) -> Arc<KeyTree> {
        self.next_id += 1;
        let id = KeyTreeId(self.next_id);
        let tree = write_tree(self.location(id), shape().id(), chunks, sources, Arc::default()).unwrap();
        tree.spare();
        Arc::new(tree)
    }

    fn reopened(&self, tree: &KeyTree) -> Result<Arc<KeyTree>, TreeError> {
        let tree = KeyTree::open(self.location(tree.id()))?;
        tree.spare();
        Ok(Arc::new(tree))
    }
}

fn shape() -> Arc<KeyShape> {
    let columns = vec![(ColumnId(0), ColumnType::BigInt), (ColumnId(1), ColumnType::Text)];
    Arc::new(KeyShape::new(columns, [None; 2].into_iter(), KeyNulls::Distinct))
}

/// A run of random rows. Few values make equal keys, long texts make few keys a page.
fn run(random: &mut SeededRandom, row_count: usize, values: u64, text_bytes: u64) -> Arc<KeyRun> {
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    for _ in 0..row_count {
        numbers.push(Some((random.next_u64() % values) as i64).filter(|value| value % 17 != 3));
        texts.push(Some("t".repeat((random.next_u64() % (text_bytes + 1)) as usize)));
    }
    let columns = [Arc::new(Int64Array::from(numbers)) as _, Arc::new(StringViewArray::from_iter(texts)) as _];
    Arc::new(KeyRun::new(&shape(), &columns).unwrap())
}

fn chunk(run: &KeyRun, number: u32, row_count: usize) -> TreeChunk {
    let (key_count, row_count) = (run.len() as u32, row_count as u32);
    TreeChunk { mark: ChunkMark(u128::from(number)), key_count, row_count }
}

fn entries(run: &KeyRun, chunk_at: u32) -> impl Iterator<Item = Entry> {
    (0..run.len()).map(move |at| (run.key(at).to_vec(), chunk_at, run.row(at)))
}

fn scanned(source: KeySource) -> Vec<Entry> {
    let mut keys = MergedKeys::new(vec![source], Arc::default()).unwrap();
    let mut found = Vec::new();
    while let Some((key, place)) = keys.next().unwrap() {
        found.push((key.to_vec(), place.chunk_at, place.row));
    }
    found
}

fn whole(tree: &Arc<KeyTree>) -> KeySource {
    let chunks_at = (0..tree.chunks().len() as u32).map(Some).collect();
    KeySource::Tree { tree: Arc::clone(tree), chunks_at }
}

fn found(
    tree: &KeyTree,
    cache: &SearchCache,
    cursor: &mut LeafCursor,
    key: &[u8],
) -> Result<BTreeSet<(u32, u32)>, TreeError> {
    let mut found = BTreeSet::new();
    if tree.is_in_bounds(key) && block_on(tree.filter())?.may_have(key) {
        let take = |place: TreePlace| {
            found.insert((place.chunk_at, place.row));
            false
        };
        block_on(tree.find(cache, cursor, key, take))?;
    }
    Ok(found)
}

/// Compares a tree with the entries that it should have.
fn check(tree: &Arc<KeyTree>, mut expected: Vec<Entry>, others: &KeyRun) {
    expected.sort();
    let mut all = scanned(whole(tree));
    assert!(all.is_sorted_by(|a, b| a.0 <= b.0), "keys come in order");
    all.sort();
    assert_eq!(all, expected);
    assert_eq!(tree.key_count() as usize, expected.len());
    let (cache, mut cursor) = (SearchCache::default(), LeafCursor::default());
    for of_key in expected.chunk_by(|a, b| a.0 == b.0) {
        let places: BTreeSet<(u32, u32)> = of_key.iter().map(|(_, chunk, row)| (*chunk, *row)).collect();
        assert_eq!(found(tree, &cache, &mut cursor, &of_key[0].0).unwrap(), places);
        assert_eq!(found(tree, &cache, &mut LeafCursor::default(), &of_key[0].0).unwrap(), places);
    }
    let known: BTreeSet<&[u8]> = expected.iter().map(|(key, ..)| &key[..]).collect();
    for key in others.keys().filter(|key| !known.contains(key)) {
        assert_eq!(found(tree, &cache, &mut cursor, key).unwrap(), BTreeSet::new());
    }
}

#[test]
fn a_tree_has_the_keys_of_its_runs() {
    let temp = tempfile::tempdir().unwrap();
    let mut trees = Trees::new(temp.path());
    let mut random = SeededRandom::new(11);
    for (rows, values, text_bytes) in
        [(0, 1, 0), (1, 9, 0), (5000, 1 << 60, 0), (5000, 40, 3), (300, 5, 4000), (60, 50, 7900)]
    {
        let runs: Vec<_> = (0..3).map(|_| run(&mut random, rows, values, text_bytes)).collect();
        let chunks = runs.iter().zip(0..).map(|(run, number)| chunk(run, number, rows)).collect();
        let source = |(run, chunk_at): (&Arc<KeyRun>, u32)| KeySource::Run { run: Arc::clone(run), chunk_at };
        let tree = trees.write(chunks, runs.iter().zip(0..).map(source).collect());
        let expected: Vec<Entry> = runs.iter().zip(0..).flat_map(|(run, at)| entries(run, at)).collect();
        let others = run(&mut random, 500, values + 3, text_bytes);
        check(&tree, expected.clone(), &others);
        check(&trees.reopened(&tree).unwrap(), expected.clone(), &others);
        assert_eq!(fs::metadata(tree.path()).unwrap().len(), tree.file_bytes());

        // Merged with another run, without the chunk in the middle.
        let new = run(&mut random, rows, values, text_bytes);
        let (of_tree, of_run) = (vec![Some(1), None, Some(0)], 2);
        let chunks = vec![tree.chunks()[2], tree.chunks()[0], chunk(&new, 9, rows)];
        let sources = vec![
            KeySource::Tree { tree: Arc::clone(&tree), chunks_at: of_tree.clone() },
            KeySource::Run { run: Arc::clone(&new), chunk_at: of_run },
        ];
        let merged = trees.write(chunks, sources);
        let kept = expected.into_iter().filter_map(|(key, at, row)| Some((key, of_tree[at as usize]?, row)));
        check(&merged, kept.chain(entries(&new, of_run)).collect(), &others);
    }
}

#[test]
fn a_damaged_tree_is_found_or_answers_the_same() {
    let temp = tempfile::tempdir().unwrap();
    let mut trees = Trees::new(temp.path());
    let mut random = SeededRandom::new(12);
    let run = run(&mut random, 4000, 1 << 40, 6);
    let tree = trees.write(vec![chunk(&run, 0, 4000)], vec![KeySource::Run { run: Arc::clone(&run), chunk_at: 0 }]);
    let bytes = fs::read(tree.path()).unwrap();
    let keys: Vec<&[u8]> = run.keys().step_by(97).collect();
    let answers = |tree: &KeyTree| -> Result<Vec<_>, TreeError> {
        let (cache, mut cursor) = (SearchCache::default(), LeafCursor::default());
        keys.iter().map(|key| found(tree, &cache, &mut cursor, key)).collect()
    };
    let expected = answers(&tree).unwrap();
    let mut found_count = 0;
    for at in 0..600 {
        let mut damaged = bytes.clone();
        match at % 3 {
            0 => damaged[(random.next_u64() % bytes.len() as u64) as usize] ^= 1 << (random.next_u64() % 8),
            1 => damaged.truncate((random.next_u64() % bytes.len() as u64) as usize),
            _ => {
                let page = (random.next_u64() % (bytes.len() / PAGE_BYTES) as u64) as usize * PAGE_BYTES;
                damaged[page..page + PAGE_BYTES].fill(0);
            }
        }
        fs::write(tree.path(), &damaged).unwrap();
        match trees.reopened(&tree).and_then(|tree| answers(&tree)) {
            Ok(answers) => assert_eq!(answers, expected),
            Err(_) => found_count += 1,
        }
    }
    assert!(found_count > 300, "{found_count}");
}

#[test]
fn a_file_goes_with_its_tree_unless_it_is_spared() {
    let temp = tempfile::tempdir().unwrap();
    let mut trees = Trees::new(temp.path());
    let run = run(&mut SeededRandom::new(1), 10, 100, 0);
    let tree = trees.write(vec![chunk(&run, 0, 10)], vec![KeySource::Run { run, chunk_at: 0 }]);
    let path = tree.path().to_owned();
    drop(trees.reopened(&tree).unwrap());
    assert!(path.exists());
    tree.doom();
    assert!(path.exists());
    drop(tree);
    assert!(!path.exists());
    let stop = Arc::new(AtomicBool::new(true));
    let empty = TreeChunk { mark: ChunkMark(0), key_count: 0, row_count: 1 };
    let stopped = write_tree(trees.location(KeyTreeId(9)), shape().id(), vec![empty], vec![], stop);
    assert!(matches!(stopped, Err(MergeError::Stopped)));
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
}
