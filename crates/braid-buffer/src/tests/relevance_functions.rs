//! Figures 3 and 11, function by function, on books set up by hand.

use braid_base::{ColumnId, ScanId};

use super::rig::{MB, table};
use crate::bit_set::BitSet;
use crate::buffer_state::BufferState;
use crate::keys::{ChunkKey, ScanKey, TableIndex};
use crate::relevance::{Score, keep_relevance, load_relevance, query_relevance, use_relevance};
use crate::scan_state::ScanState;

/// The only table of the books.
const TABLE: TableIndex = TableIndex(0);

/// Books of one table of ten chunks with columns of 10, 20 and 40 MB.
struct Books {
    state: BufferState,
    next_scan: u64,
}

impl Books {
    fn new() -> Self {
        let mut state = BufferState::new(1 << 40);
        state.learn(&table(1, 10, &[10 * MB, 20 * MB, 40 * MB]));
        Self { state, next_scan: 0 }
    }

    fn scan(&mut self, chunks: std::ops::Range<usize>, columns: &[u16]) -> ScanKey {
        let columns = columns.iter().copied().map(ColumnId).collect();
        let id = ScanId(self.next_scan);
        self.next_scan += 1;
        self.state.enter(TABLE, ScanState::new(id, columns, chunks.collect()))
    }

    fn cache(&mut self, chunk: usize, columns: &[usize]) {
        let columns: BitSet = columns.iter().copied().collect();
        let key = ChunkKey { table: TABLE, position: chunk };
        self.state.begin_load(key);
        self.state.reserve(key, &columns);
        columns.iter().for_each(|column| self.state.loaded(key, column));
        self.state.end_load(key);
        self.state.check();
    }

    fn load(&self, chunk: usize, trigger: ScanKey) -> f64 {
        load_relevance(&self.state.tables[0], chunk, trigger.slot).0
    }

    fn keep(&self, chunk: usize) -> f64 {
        keep_relevance(&self.state.tables[0], chunk)
    }

    fn is_starved(&self, scan: ScanKey) -> bool {
        self.state.tables[0].starved.contains(scan.slot.0)
    }

    fn is_almost_starved(&self, scan: ScanKey) -> bool {
        self.state.tables[0].almost_starved.contains(scan.slot.0)
    }
}

/// Relevance per byte, from the paper's queries per size in megabytes.
fn per_mb(queries: f64, mb: u32) -> f64 {
    queries / f64::from(mb * MB)
}

#[test]
fn a_query_is_starved_below_two_available_chunks_the_one_in_processing_included() {
    let mut books = Books::new();
    let scan = books.scan(0..10, &[0]);
    let mut seen = vec![(books.is_starved(scan), books.is_almost_starved(scan))];
    for chunk in 0..3 {
        books.cache(chunk, &[0]);
        seen.push((books.is_starved(scan), books.is_almost_starved(scan)));
    }
    // 0, 1, 2, 3 available chunks.
    assert_eq!(seen, [(true, true), (true, true), (false, true), (false, false)]);
    // Taking one for processing changes nothing; being done with it does.
    books.state.deliver(scan, 0, 0);
    assert!(!books.is_almost_starved(scan));
    let chunk = books.state.tables[0].chunks[0].id;
    books.state.release(scan, chunk, 0);
    assert!(!books.is_starved(scan) && books.is_almost_starved(scan));
}

#[test]
fn a_chunk_is_available_only_with_all_columns_and_one_on_its_way_counts() {
    let mut books = Books::new();
    let scan = books.scan(0..10, &[0, 1]);
    for chunk in 0..4 {
        books.cache(chunk, &[0]);
    }
    assert!(books.is_starved(scan), "four halves are no chunk");
    books.cache(0, &[1]);
    assert!(books.is_starved(scan));
    let key = ChunkKey { table: TABLE, position: 1 };
    books.state.begin_load(key);
    books.state.reserve(key, &BitSet::from_iter([1]));
    assert!(!books.is_starved(scan), "the second one is on its way");
    books.state.cancelled(key, 1);
    assert!(books.is_starved(scan), "it does not come");
}

#[test]
fn query_relevance_prefers_short_queries_and_those_that_wait_long() {
    let mut books = Books::new();
    let (long, short) = (books.scan(0..10, &[0]), books.scan(0..3, &[0]));
    let relevance = |books: &Books, scan: ScanKey, running: usize, now_us: u64| {
        query_relevance(&books.state, scan, books.state.scan(scan), running, now_us)
    };
    assert_eq!(relevance(&books, long, 2, 0), Some(-10.0));
    assert_eq!(relevance(&books, short, 2, 0), Some(-3.0));
    // - chunksNeeded + waitingTime / runningQueries: 20 ms for two queries are worth ten chunks.
    let waiting = books.state.scan_mut(long);
    (waiting.waiting, waiting.waiting_since_us) = (1, 1_000);
    assert_eq!(relevance(&books, long, 2, 21_000), Some(0.0));
    // A query that is not starved has none.
    books.cache(0, &[0]);
    books.cache(1, &[0]);
    assert_eq!(relevance(&books, short, 2, 0), None);
}

#[test]
fn use_relevance_is_cached_bytes_per_interested_overlapping_query() {
    let mut books = Books::new();
    let trigger = books.scan(0..10, &[0, 1]);
    books.scan(0..1, &[1, 2]);
    books.scan(0..2, &[2]);
    books.cache(0, &[0, 1, 2]);
    books.cache(1, &[0, 1]);
    let score = |books: &Books, chunk| use_relevance(&books.state.tables[0], chunk, trigger.slot);
    // Chunk 0: 30 MB of the trigger's columns; itself and the second scan want them, the third shares no column.
    assert_eq!(score(&books, 0), Score(f64::from(30 * MB) / 2.0, 0.0));
    // Chunk 1: only the trigger itself is left, so it is used first.
    assert_eq!(score(&books, 1), Score(f64::from(30 * MB), 0.0));
}

#[test]
fn load_relevance_is_starved_overlapping_queries_per_byte_to_load() {
    let mut books = Books::new();
    let trigger = books.scan(0..10, &[0]);
    let both = books.scan(2..10, &[0, 1]);
    books.scan(2..10, &[2]);
    // Chunk 1: the trigger alone, 10 MB.
    assert_eq!(books.load(1, trigger), per_mb(1.0, 10));
    // Chunk 2: two starved queries with a column in common; their columns are 0 and 1. Column 2 is no concern.
    assert_eq!(books.load(2, trigger), per_mb(2.0, 30));
    // What is in memory need not be loaded.
    books.cache(2, &[1]);
    assert_eq!(books.load(2, trigger), per_mb(2.0, 10));
    // A query that is not starved does not count, and its columns are not loaded for it.
    books.cache(8, &[0, 1]);
    books.cache(9, &[0, 1]);
    assert!(!books.is_starved(both));
    let fresh = books.scan(0..8, &[0]);
    assert_eq!(books.load(3, fresh), per_mb(1.0, 10));
}

#[test]
fn keep_relevance_is_almost_starved_queries_per_cached_byte() {
    let mut books = Books::new();
    books.scan(0..10, &[0]);
    books.scan(0..1, &[0, 1]);
    books.cache(0, &[0, 1, 2]);
    books.cache(1, &[0, 1]);
    // Chunk 0: both queries, 30 MB of their columns; column 2 is not theirs.
    assert_eq!(books.keep(0), per_mb(2.0, 30));
    // Chunk 1: one query, whose column takes 10 MB.
    assert_eq!(books.keep(1), per_mb(1.0, 10));
    // With two more chunks the first query is safe: losing chunk 1 would starve no query.
    books.cache(2, &[0]);
    books.cache(3, &[0]);
    assert_eq!(books.keep(1), 0.0);
}
