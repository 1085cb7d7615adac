//! Random aggregations of a pass. The result of each query must be that of an aggregation of its own rows.

use braid_testing::cases;

use super::*;
use crate::query_sets::set_calculator::set_column;
use crate::{QueryBitmap, QueryNumber, SetNumber};

const SETS: usize = FILTER + 1;

/// Number of queries whose results are compared. Sets are compared for all queries.
const COMPARED_MAX: usize = 4;

/// A random number below a bound that is drawn from `bounds`.
fn up_to(bounds: &[u64], random: &mut SeededRandom) -> usize {
    let bound = bounds[random.below(bounds.len() as u64) as usize];
    random.below(bound) as usize
}

/// The query sets that rows draw from.
fn sets(store: &SetStore, random: &mut SeededRandom) -> Vec<SetNumber> {
    let query_count = store.query_count();
    let set_count = 1 + up_to(&[1, 4, 60], random);
    let mut sets = Vec::new();
    for _ in 0..set_count {
        let (shape, share) = (random.below(5), 1 + random.below(6));
        let bound = random.below(query_count as u64) as usize;
        let words: Vec<bool> = (0..query_count).map(|_| random.chance(share, 8)).collect();
        let wanted = |query: QueryNumber| match shape {
            0 => query.index() == bound,
            1 => query.index() <= bound,
            2 => true,
            _ => query.index() == bound || words[query.index()],
        };
        sets.push(store.number_of(&QueryBitmap::from_fn(query_count, wanted)).unwrap());
    }
    sets
}

struct Pass {
    spec: Arc<AggregationSpec>,
    store: Arc<SetStore>,
    rows: Vec<(Row, SetNumber)>,
    found: Vec<(Row, SetNumber)>,
}

impl Pass {
    fn new(mut random: SeededRandom) -> Self {
        let query_count = 1 + up_to(&[2, 20, 200], &mut random);
        let store = SetStore::new(query_count, FixedBudget::new(ByteSize(1 << 26))).unwrap();
        let sets = sets(&store, &mut random);
        let row_count = up_to(&[4, 20, 60, 250], &mut random);
        let set = |random: &mut SeededRandom| sets[random.below(sets.len() as u64) as usize];
        let rows: Vec<Row> = rows(row_count, &mut random);
        let rows: Vec<(Row, SetNumber)> = rows.into_iter().map(|row| (row, set(&mut random))).collect();
        let keys = (0..random.below(4)).map(|_| random.below(1 + FILTER as u64) as usize).collect();
        let aggregates = (0..random.below(5)).map(|_| call(&mut random)).collect();
        let spec = Arc::new(AggregationSpec { keys, aggregates });
        let found = run_pass(&spec, &store, &rows, &mut random);
        Self { spec, store, rows, found }
    }

    fn check(&self) {
        self.check_sets();
        let step = self.store.query_count().div_ceil(COMPARED_MAX);
        for query in (0..self.store.query_count()).step_by(step).map(QueryNumber::at) {
            assert_eq!(sorted(&of_query(&self.store, &self.found, query)), {
                let rows = of_query(&self.store, &self.rows, query);
                sorted(&expected(&self.spec, &rows))
            });
        }
    }

    /// Checks that no query has a key twice, and that without keys every query has one row.
    fn check_sets(&self) {
        let mut met: BTreeMap<Vec<String>, Vec<u64>> = BTreeMap::new();
        for (row, set) in &self.found {
            assert_ne!(*set, SetNumber::EMPTY);
            let key: Vec<String> = row[..self.spec.keys.len()].iter().map(form).collect();
            let words = self.store.words(*set);
            let met = met.entry(key).or_insert_with(|| vec![0; words.len()]);
            for (met, word) in met.iter_mut().zip(&*words) {
                assert_eq!(*met & word, 0, "queries of set {set:?} have their key twice");
                *met |= word;
            }
        }
        if self.spec.keys.is_empty() {
            assert_eq!(met[&Vec::new()][..], self.store.words(SetNumber::ALL)[..]);
        }
    }
}

fn of_query(store: &SetStore, rows: &[(Row, SetNumber)], query: QueryNumber) -> Vec<Row> {
    let is_wanted: Vec<bool> = (0..store.set_count())
        .map(|set| store.words(SetNumber::from_value(set as i64))[query.index() / 64] >> (query.index() % 64) & 1 == 1)
        .collect();
    let wanted = rows.iter().filter(|(_, set)| is_wanted[set.index()]);
    wanted.map(|(row, _)| row.clone()).collect()
}

fn run_pass(
    spec: &Arc<AggregationSpec>,
    store: &Arc<SetStore>,
    rows: &[(Row, SetNumber)],
    random: &mut SeededRandom,
) -> Vec<(Row, SetNumber)> {
    let mut batches = Vec::new();
    let mut rest = rows;
    let batch_rows_max = 1 + random.below(200);
    while !rest.is_empty() {
        let (taken, after) = rest.split_at(rest.len().min(random.below(batch_rows_max + 1) as usize));
        let (values, sets): (Vec<Row>, Vec<SetNumber>) = taken.iter().cloned().unzip();
        let mut batch = batch(&values, random);
        batch.push(Arc::new(set_column(&sets)));
        batches.push(batch);
        rest = after;
    }
    let sets = SetColumn { store: store.clone(), column: SETS };
    let worker_count = 1 + random.below(3) as usize;
    let tuning = AggregationTuning { groups_per_partition: 1 << random.below(9), ..tuning(random) };
    let found = run(spec, Some(sets), batches, worker_count, tuning);
    let split = |mut row: Row| match row.pop() {
        Some(Some(Scalar::Int(set))) => (row, SetNumber::from_value(set)),
        other => panic!("{other:?} is no set"),
    };
    found.into_iter().map(split).collect()
}

#[test]
fn each_query_of_a_pass_gets_what_it_gets_alone() {
    for case in cases!(0..2_000) {
        Pass::new(case.random()).check();
    }
}

fn numbers(store: &SetStore, sets: &[&[usize]]) -> Vec<SetNumber> {
    let number = |set: &&[usize]| {
        let wanted = QueryBitmap::from_fn(store.query_count(), |query| set.contains(&query.index()));
        store.number_of(&wanted).unwrap()
    };
    sets.iter().map(number).collect()
}

fn shared_worker(spec: &Arc<AggregationSpec>, store: &Arc<SetStore>, budget: ByteSize) -> AggregationWorker {
    let sets = SetColumn { store: store.clone(), column: 1 };
    AggregationWorker::shared(spec.clone(), sets, FixedBudget::new(budget))
}

#[test]
fn overlapping_sets_of_a_key_are_cut_apart() {
    let store = SetStore::new(4, FixedBudget::new(ByteSize(1 << 20))).unwrap();
    let sets = numbers(&store, &[&[1, 2, 3], &[2], &[1, 2, 3]]);
    let spec =
        Arc::new(AggregationSpec { keys: vec![0], aggregates: vec![aggregate(AggregateFunction::CountRows, None)] });
    let mut worker = shared_worker(&spec, &store, ByteSize(1 << 26));
    let keys = Arc::new(Vector::integers(vec![7, 7, 7]));
    worker.consume(&mut Batch::of_vectors(3, [keys, Arc::new(set_column(&sets))])).unwrap();
    let columns = Aggregation::of_workers(spec, vec![worker]).unwrap().partition(0).unwrap();
    let int = |value: i64| Some(Scalar::Int(value));
    let mut found: Vec<Row> = (0..2).map(|row| columns.iter().map(|column| column.value(row)).collect()).collect();
    found.sort_by_key(|row| form(&row[1]));
    let atoms = numbers(&store, &[&[2], &[1, 3]]);
    let expected = vec![vec![int(7), int(2), int(atoms[1].value())], vec![int(7), int(3), int(atoms[0].value())]];
    assert_eq!((found, columns[0].len()), (expected, 2));
}

#[test]
fn queries_that_no_row_reached_have_a_row_without_keys_only() {
    let store = SetStore::new(3, FixedBudget::new(ByteSize(1 << 20))).unwrap();
    let sets = numbers(&store, &[&[0, 2]]);
    let aggregates = vec![aggregate(AggregateFunction::CountRows, None), aggregate(AggregateFunction::Sum, Some(0))];
    let run = |keys: Vec<usize>, rows: usize| {
        let spec = Arc::new(AggregationSpec { keys, aggregates: aggregates.clone() });
        let mut worker = shared_worker(&spec, &store, ByteSize(1 << 26));
        let values = Arc::new(Vector::integers(vec![5; rows]));
        let sets = Arc::new(set_column(&vec![sets[0]; rows]));
        worker.consume(&mut Batch::of_vectors(rows, [values, sets])).unwrap();
        let columns = Aggregation::of_workers(spec, vec![worker]).unwrap().partition(0).unwrap();
        let row = |row: usize| columns.iter().map(|column| column.value(row)).collect::<Row>();
        let mut found: Vec<Row> = (0..columns[0].len()).map(row).collect();
        found.sort_by_key(|row| form(&row[0]));
        found
    };
    let int = |value: i64| Some(Scalar::Int(value));
    let all = SetNumber::ALL.value();
    assert_eq!(run(vec![], 0), [vec![int(0), None, int(all)]]);
    assert_eq!(run(vec![0], 0), Vec::<Row>::new());
    let rest = numbers(&store, &[&[1]])[0].value();
    let met = sets[0].value();
    assert_eq!(run(vec![], 2), [vec![int(0), None, int(rest)], vec![int(2), int(10), int(met)]]);
    assert_eq!(run(vec![0], 2), [vec![int(5), int(2), int(10), int(met)]]);
}

/// A thousand keys, each with a separate group for each of a hundred queries, need a hundred times the memory of the workers.
#[test]
fn atoms_beyond_the_budget_are_refused() {
    let store = SetStore::new(100, FixedBudget::new(ByteSize(1 << 24))).unwrap();
    let spec = Arc::new(AggregationSpec { keys: vec![0], aggregates: Vec::new() });
    let mut worker = shared_worker(&spec, &store, ByteSize(1 << 20));
    let halves = (0..7).map(|bit| store.number_of(&QueryBitmap::from_fn(100, |q| q.index() >> bit & 1 == 0)).unwrap());
    for set in halves {
        let keys = Arc::new(Vector::integers((0..1000).collect()));
        worker.consume(&mut Batch::of_vectors(1000, [keys, Arc::new(set_column(&[set; 1000]))])).unwrap();
    }
    let error = Aggregation::of_workers(spec, vec![worker]).unwrap().partition(0).unwrap_err().to_string();
    assert!(error.starts_with("aggregation needs "), "{error}");
}
