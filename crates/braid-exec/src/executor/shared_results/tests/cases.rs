//! Random rows with random query sets, as sources with pieces of all sizes.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use braid_base::{SeededRandom, VECTOR_ROWS};
use braid_testing::Wait;
use futures::future::BoxFuture;

use super::*;
use crate::query_sets::set_calculator::set_column;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::runtime::result_rows::ResultRows;
use crate::values::vector::Values;
use crate::{Batch, ByteStrings, QueryBitmap, Vector};

/// A row; its number is its position.
#[derive(Clone, Debug)]
pub struct Row {
    pub key: Option<i64>,
    pub text: String,
    pub set: SetNumber,
}

/// Rows: key, text, number, set.
pub struct Sample {
    pub store: Arc<SetStore>,
    pub rows: Vec<Row>,
    /// The queries of each row.
    queries: Vec<QueryBitmap>,
    source: Arc<Pieces>,
}

/// Prints its seed when a test fails.
pub struct Case {
    pub sample: Sample,
    pub random: SeededRandom,
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (queries, rows) = (self.sample.store.query_count(), self.sample.rows.len());
            eprintln!("{queries} queries, {rows} rows");
        }
    }
}

impl Case {
    pub fn new(seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let query_count_max = [1, 3, 20, 64, 65, 150][random.below(6) as usize];
        let query_count = 1 + random.below(query_count_max) as usize;
        let store = SetStore::new(query_count, FixedBudget::new(ByteSize(1 << 26))).unwrap();
        let palette = palette(&store, &mut random);
        let row_count_max = [1, 40, 40, 300, 300, 300, 3 * VECTOR_ROWS as u64][random.below(7) as usize];
        let row_count = random.below(row_count_max) as usize;
        let variety = [2, 10, 1000][random.below(3) as usize];
        // Sorts see keys in any order, in theirs, or in the opposite.
        let trend = [0, 0, 1, -1][random.below(4) as usize];
        let row = |at: usize| Row {
            key: random.chance(9, 10).then(|| random.below(variety) as i64 + trend * 10 * at as i64),
            text: ["", "a", "ab", "b"][random.below(4) as usize].to_owned(),
            set: palette[random.below(palette.len() as u64) as usize],
        };
        let rows: Vec<Row> = (0..row_count).map(row).collect();
        let sample = Sample::new(store, rows, &mut random);
        Self { sample, random }
    }

    /// Random sort keys. No rows are equal if the number is among the keys.
    pub fn sort_keys(&mut self) -> Vec<SortKey> {
        let mut columns = vec![0, 1, 2];
        let count = 1 + self.random.below(3) as usize;
        let key = |_| {
            let column = columns.remove(self.random.below(columns.len() as u64) as usize);
            SortKey { column, descending: self.random.chance(1, 2), nulls_first: self.random.chance(1, 2) }
        };
        (0..count).map(key).collect()
    }
}

/// The sets of the rows: one, few or many sets, each of one query, of some queries, or of all.
fn palette(store: &SetStore, random: &mut SeededRandom) -> Vec<SetNumber> {
    let query_count = store.query_count();
    let count = [1, 2, 5, 100][random.below(4) as usize];
    let share = 1 + random.below(9);
    let set = |_| {
        let one = random.below(query_count as u64) as usize;
        let mut queries = match random.below(4) {
            0 => return SetNumber::ALL,
            1 => QueryBitmap::none(query_count),
            _ => {
                let wanted: Vec<bool> = (0..query_count).map(|_| random.chance(share, 10)).collect();
                QueryBitmap::from_fn(query_count, |query| wanted[query.index()])
            }
        };
        queries.insert(QueryNumber::at(one));
        store.number_of(&queries).unwrap()
    };
    (0..count).map(set).collect()
}

impl Sample {
    fn new(store: Arc<SetStore>, rows: Vec<Row>, random: &mut SeededRandom) -> Self {
        let piece_max = [1, 10, 100, 4 * VECTOR_ROWS][random.below(4) as usize];
        let mut pieces = Vec::new();
        let mut first = 0;
        while first < rows.len() {
            let end = rows.len().min(first + 1 + random.below(piece_max as u64) as usize);
            pieces.push(Arc::new(piece(first, &rows[first..end])));
            first = end;
        }
        let of_row = |row: &Row| {
            let mut queries = QueryBitmap::none(store.query_count());
            store.queries(row.set).into_iter().for_each(|query| queries.insert(query));
            queries
        };
        let queries = rows.iter().map(of_row).collect();
        Self { store, rows, queries, source: Arc::new(Pieces { pieces, is_endless: false }) }
    }

    /// An endless source with two columns, number and set. It repeats a thousand rows; one half belongs to some queries, the
    /// other half to the others.
    pub fn endless(store: &Arc<SetStore>) -> Self {
        let half = |rest| QueryBitmap::from_fn(store.query_count(), |query| query.index() % 2 == rest);
        let halves = [0, 1].map(|rest| store.number_of(&half(rest)).unwrap());
        let sets: Vec<SetNumber> = (0..1000).map(|row| halves[row % 2]).collect();
        let columns = vec![Vector::integers((0..1000).collect()), set_column(&sets)];
        let pieces = vec![Arc::new(ResultRows::new(1000, columns))];
        let source = Arc::new(Pieces { pieces, is_endless: true });
        Self { store: store.clone(), rows: Vec::new(), queries: Vec::new(), source }
    }

    pub fn plan(&self) -> Plan {
        let column_count = if self.source.is_endless { 2 } else { 4 };
        Plan::Source { source: self.source.clone(), column_count }
    }

    pub fn number_column(&self) -> usize {
        2
    }

    pub fn set_column(&self) -> usize {
        3
    }

    pub fn is_for(&self, row: usize, query: QueryNumber) -> bool {
        self.queries[row].contains(query)
    }

    /// Compares two rows by the sort keys.
    pub fn compare(&self, a: usize, b: usize, keys: &[SortKey]) -> Ordering {
        let by_key = |key: &SortKey| {
            let order = match key.column {
                0 => match (self.rows[a].key, self.rows[b].key) {
                    (Some(a), Some(b)) => a.cmp(&b),
                    (None, None) => Ordering::Equal,
                    (a, _) if a.is_none() == key.nulls_first => return Ordering::Less,
                    _ => return Ordering::Greater,
                },
                1 => self.rows[a].text.cmp(&self.rows[b].text),
                _ => a.cmp(&b),
            };
            if key.descending { order.reverse() } else { order }
        };
        keys.iter().map(by_key).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

fn piece(first: usize, rows: &[Row]) -> ResultRows {
    let keys = Values::Int(rows.iter().map(|row| row.key.unwrap_or(7)).collect());
    let valid = rows.iter().map(|row| row.key.is_some()).collect();
    let texts = ByteStrings::from_strings(rows.iter().map(|row| row.text.as_bytes()));
    let numbers = (first as i64..).take(rows.len()).collect();
    let sets: Vec<SetNumber> = rows.iter().map(|row| row.set).collect();
    let columns = vec![
        Vector::new(keys, Some(valid)),
        Vector::new(Values::Bytes(texts), None),
        Vector::integers(numbers),
        set_column(&sets),
    ];
    ResultRows::new(rows.len(), columns)
}

/// Waits until all memory is released. Workers of a failed run end after the run.
pub async fn assert_given_back(budget: &FixedBudget) {
    let wait = Wait::new("all memory to be given back");
    while budget.used() > 0 {
        wait.check(|| format!("{} bytes are held", budget.used()));
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

/// A source that returns each piece as one batch of any size.
#[derive(Clone)]
struct Pieces {
    pieces: Vec<Arc<ResultRows>>,
    is_endless: bool,
}

impl std::fmt::Debug for Pieces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for Pieces {
    fn worker_count_max(&self) -> usize {
        if self.is_endless { usize::MAX } else { self.pieces.len() }
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(Started(Arc::new((self.clone(), AtomicUsize::new(0)))))
    }

    fn describe(&self) -> String {
        format!("{} pieces", self.pieces.len())
    }
}

#[derive(Clone)]
struct Started(Arc<(Pieces, AtomicUsize)>);

impl StartedSource for Started {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(self.clone())
    }
}

impl Feed for Started {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let (Pieces { pieces, is_endless }, next) = &*self.0;
        let at = next.fetch_add(1, Relaxed);
        let piece = pieces.get(if *is_endless { at % pieces.len() } else { at });
        let morsel = piece.map(|piece| Box::new(Piece(Some(piece.clone()))) as Box<dyn Morsel>);
        Box::pin(std::future::ready(Ok(morsel)))
    }
}

struct Piece(Option<Arc<ResultRows>>);

impl Morsel for Piece {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        Ok(self.0.take().map(|rows| {
            let mut batch = Batch::new(rows.row_count());
            let numbers: Vec<u32> = (0..rows.row_count() as u32).collect();
            let column_count = rows.columns().len();
            batch.push_deferred(rows, numbers, 0..column_count);
            batch
        }))
    }
}
