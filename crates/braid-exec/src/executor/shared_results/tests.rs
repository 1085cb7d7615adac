//! Random shared sorts and limits, and the routing of rows by query, compared with a definition of each query's rows.

mod cases;
mod sinks;

use braid_base::{ByteSize, Random};
use braid_testing::cases;

use super::*;
use crate::plan::SortKey;
use crate::plan::shared_operator::SharedOperator;
use crate::query_sets::set_calculator::set_column;
use crate::tuning::Tuning;
use crate::{Batch, Expression, FixedBudget, QueryBitmap, SetNumber, Vector};
use cases::{Case, Sample, assert_given_back};
use sinks::{Failing, Numbers, Satisfied, Slow};

/// The numbers of a query's rows.
type Answer = Vec<usize>;

/// The operator of a case.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Routing,
    Sort,
    Limit,
    /// A limit above a plain sort.
    LimitOfSorted,
    /// A limit above a shared sort that keeps only the first rows.
    LimitOfFirst,
}

const OPERATIONS: [Operation; 5] =
    [Operation::Routing, Operation::Sort, Operation::Limit, Operation::LimitOfSorted, Operation::LimitOfFirst];

/// A plan with the specification of each query's rows.
struct Question {
    operation: Operation,
    plan: Plan,
    spec: SortSpec,
    offset: usize,
    limit: Option<usize>,
    worker_count: usize,
}

/// The positions of the compared columns in a plan's rows.
#[derive(Clone, Copy)]
struct Places {
    number: usize,
    set: usize,
}

impl Question {
    fn random(case: &mut Case) -> Self {
        let operation = OPERATIONS[case.random.below(5) as usize];
        let keys = case.sort_keys();
        let offset = if case.random.chance(1, 2) { 0 } else { case.random.below(60) as usize };
        let limit_max = [1, 3, 12, 100][case.random.below(4) as usize];
        let limit = case.random.chance(4, 5).then(|| case.random.below(limit_max + 1) as usize);
        let worker_count = 1 + case.random.below(3) as usize;
        let set = case.sample.set_column();
        let sets = SetColumn { store: case.sample.store.clone(), column: set };
        let input = case.sample.plan();
        let spec = match operation {
            Operation::LimitOfSorted => SortSpec { keys, limit: None },
            Operation::LimitOfFirst => SortSpec { keys, limit: limit.map(|limit| offset + limit) },
            _ => SortSpec { keys, limit },
        };
        let shared = |operator| Plan::Shared(Box::new(operator));
        let sort = |input| {
            let (spec, sets) = (Arc::new(spec.clone()), sets.clone());
            shared(SharedOperator::Sort { input, spec, sets })
        };
        let cut = |input| {
            let (limit, sets) = (limit.map(|limit| limit as u64), sets.clone());
            shared(SharedOperator::Limit { input, offset: offset as u64, limit, sets })
        };
        let plan = match operation {
            Operation::Routing => input,
            Operation::Sort => sort(input),
            Operation::Limit => cut(input),
            Operation::LimitOfSorted => cut(Plan::Sort { input: input.into(), spec: Arc::new(spec.clone()) }),
            Operation::LimitOfFirst => cut(sort(input)),
        };
        Self { operation, plan, spec, offset, limit, worker_count }
    }

    /// All rows in the order of the sort.
    fn ordered(&self, sample: &Sample) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..sample.rows.len()).collect();
        if !matches!(self.operation, Operation::Routing | Operation::Limit) {
            rows.sort_by(|a, b| sample.compare(*a, *b, &self.spec.keys));
        }
        rows
    }

    /// The rows of one query by itself, with one worker.
    fn answer_of(&self, sample: &Sample, query: QueryNumber, ordered: &[usize]) -> Answer {
        let offset = if let Operation::Routing | Operation::Sort = self.operation { 0 } else { self.offset };
        let limit = self.limit.filter(|_| !matches!(self.operation, Operation::Routing));
        let rows = ordered.iter().copied().filter(|row| sample.is_for(*row, query));
        rows.skip(offset).take(limit.unwrap_or(usize::MAX)).collect()
    }

    /// Panics unless `found` is a correct answer of the query.
    fn assert_answers(&self, sample: &Sample, query: QueryNumber, ordered: &[usize], found: &[usize]) {
        let wanted = self.answer_of(sample, query, ordered);
        let mut distinct = found.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), found.len(), "{query:?} has rows twice: {found:?}");
        assert!(found.iter().all(|row| sample.is_for(*row, query)), "{query:?} has others' rows: {found:?}");
        assert_eq!(found.len(), wanted.len(), "{query:?} has {found:?}, wanted {wanted:?}");
        match self.operation {
            Operation::Routing | Operation::Limit if self.worker_count == 1 => assert_eq!(found, wanted, "{query:?}"),
            // As many, or all.
            Operation::Routing | Operation::Limit => {}
            // Of rows that are equal any may be there.
            _ => {
                let is_same = |(a, b): (&usize, &usize)| sample.compare(*a, *b, &self.spec.keys).is_eq();
                assert!(found.iter().zip(&wanted).all(is_same), "{query:?} has {found:?}, wanted {wanted:?}");
            }
        }
    }

    /// May add a projection to the number and the set, in either order.
    fn project(&mut self, sample: &Sample, random: &mut impl Random) -> Places {
        let (number, set) = (sample.number_column(), sample.set_column());
        let columns = match random.below(3) {
            0 => return Places { number, set },
            1 => [number, set],
            _ => [set, number],
        };
        let input = Box::new(self.plan.clone());
        self.plan = Plan::Project { input, expressions: columns.map(Expression::Column).into() };
        let place = |column| usize::from(columns[1] == column);
        Places { number: place(number), set: place(set) }
    }
}

/// The answer of each query, from the routing or from the sets of the rows.
async fn run(
    question: &Question,
    sample: &Sample,
    Places { number, set }: Places,
    is_routed: bool,
    budget: &Arc<FixedBudget>,
) -> Result<Vec<Answer>, ExecError> {
    let executor = Executor::new(question.worker_count, budget.clone()).with_tuning(Tuning::small());
    if is_routed {
        // Without the set, columns after it are one further to the left.
        let number = number - usize::from(set < number);
        let sinks = executor.run_for_queries(&question.plan, Some(set), &sample.store, |_| Numbers::new(number, None));
        let of_query = |sinks: Vec<Numbers>| sinks.into_iter().flat_map(|sink| sink.numbers).collect();
        return Ok(sinks.await?.into_iter().map(of_query).collect());
    }
    let mut answers = vec![Answer::new(); sample.store.query_count()];
    for sink in executor.run(&question.plan, || Numbers::new(number, Some(set))).await? {
        for (number, set) in sink.numbers.into_iter().zip(sink.sets) {
            assert_ne!(set, SetNumber::EMPTY, "every row belongs to a query");
            sample.store.queries(set).into_iter().for_each(|query| answers[query.index()].push(number));
        }
    }
    Ok(answers)
}

/// Runs and compares a random case. Returns whether any query had rows to compare.
async fn check(seed: u64) -> bool {
    let mut case = Case::new(seed);
    let mut question = Question::random(&mut case);
    let Case { sample, random, .. } = &mut case;
    let places = question.project(sample, random);
    let is_routed = random.chance(1, 2);
    let limit = if random.chance(1, 4) { 1 << random.below(18) } else { 1 << 30 };
    let budget = FixedBudget::new(ByteSize(limit));
    let mut is_compared = false;
    match run(&question, sample, places, is_routed, &budget).await {
        Ok(answers) => {
            let ordered = question.ordered(sample);
            for (query, found) in answers.iter().enumerate() {
                question.assert_answers(sample, QueryNumber::at(query), &ordered, found);
                is_compared |= !found.is_empty();
            }
        }
        Err(ExecError::Memory(_)) if limit < 1 << 30 => {}
        Err(error) => panic!("{error} with {limit} bytes"),
    }
    assert_given_back(&budget).await;
    is_compared
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_has_the_rows_that_it_has_alone() {
    let cases = cases!(0..2_500);
    let (is_replay, repeats, count) = (cases.is_replay(), cases.repeats(), cases.size_hint().0);
    let mut compared = 0;
    for case in cases {
        for _ in 0..repeats {
            compared += usize::from(check(case.seed).await);
        }
    }
    println!("{compared} of {count} cases were compared");
    assert!(is_replay || compared * 2 > count, "only {compared} of {count} cases have rows");
}

/// Each sink stops after a number of rows of its own, and is not ready after each batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_with_enough_rows_gets_no_more_rows() {
    for drawn in cases!(0..500) {
        let mut case = Case::new(drawn.seed);
        let sample = &case.sample;
        let capacity = [1, 10, 200][case.random.below(3) as usize];
        let capacity_of = move |query: QueryNumber| 1 + query.index() % capacity;
        let executor = Executor::new(1, FixedBudget::new(ByteSize(1 << 20))).with_tuning(Tuning::small());
        let number = sample.number_column();
        let make = |query| Slow::new(Satisfied::new(Numbers::new(number, None), capacity_of(query)));
        let set = Some(sample.set_column());
        let sinks = executor.run_for_queries(&sample.plan(), set, &sample.store, make).await.unwrap();
        for (query, mut sinks) in sinks.into_iter().enumerate() {
            let query = QueryNumber::at(query);
            let found = sinks.pop().expect("one worker").inner.inner.numbers;
            let mut wanted: Answer = (0..sample.rows.len()).filter(|row| sample.is_for(*row, query)).collect();
            assert!(found.len() >= wanted.len().min(capacity_of(query)), "{query:?} has {} rows", found.len());
            wanted.truncate(found.len());
            assert_eq!(found, wanted, "{query:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_source_ends_when_all_queries_have_enough_rows() {
    let store = SetStore::new(130, FixedBudget::new(ByteSize(1 << 20))).unwrap();
    let sample = Sample::endless(&store);
    for worker_count in [1, 3] {
        let executor = Executor::new(worker_count, FixedBudget::new(ByteSize(1 << 20))).with_tuning(Tuning::small());
        let make = |_| Satisfied::new(Numbers::new(0, None), 3000);
        let sinks = executor.run_for_queries(&sample.plan(), Some(1), &store, make).await.unwrap();
        assert!(sinks.iter().flatten().all(|sink| sink.inner.numbers.len() >= 3000));
        let sets = SetColumn { store: store.clone(), column: 1 };
        let limit = SharedOperator::Limit { input: sample.plan(), offset: 1000, limit: Some(1500), sets };
        let plan = Plan::Shared(Box::new(limit));
        let sinks = executor.run_for_queries(&plan, Some(1), &store, |_| Numbers::new(0, None)).await.unwrap();
        assert_eq!(sinks.len(), 130);
        for sinks in sinks {
            assert_eq!(sinks.iter().map(|sink| sink.numbers.len()).sum::<usize>(), 1500);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_query_s_error_ends_the_pass() {
    let store = SetStore::new(3, FixedBudget::new(ByteSize(1 << 20))).unwrap();
    let sample = Sample::endless(&store);
    for worker_count in [1, 3] {
        let executor = Executor::new(worker_count, FixedBudget::new(ByteSize(1 << 20))).with_tuning(Tuning::small());
        let make = |query: QueryNumber| Failing { is_failing: query.index() == 1 };
        let error = executor.run_for_queries(&sample.plan(), Some(1), &store, make).await.err().expect("one fails");
        assert!(matches!(error, ExecError::DivisionByZero), "{error}");
    }
}

/// Without sets, all queries get the same vectors.
#[tokio::test]
async fn rows_without_sets_belong_to_all_queries() {
    let store = SetStore::new(70, FixedBudget::new(ByteSize(1 << 20))).unwrap();
    let case = Case::new(11);
    let executor = Executor::new(1, FixedBudget::new(ByteSize(1 << 20))).with_tuning(Tuning::small());
    let number = case.sample.number_column();
    let sinks =
        executor.run_for_queries(&case.sample.plan(), None, &store, |_| Numbers::new(number, None)).await.unwrap();
    assert_eq!(sinks.len(), 70);
    let all: Answer = (0..case.sample.rows.len()).collect();
    assert!(sinks.iter().all(|sinks| sinks.len() == 1 && sinks[0].numbers == all));
    let vectors: Vec<_> = sinks.iter().map(|sinks| sinks[0].last_vector.clone().expect("there are rows")).collect();
    assert!(vectors.iter().all(|vector| Arc::ptr_eq(vector, &vectors[0])));
}

/// A shared sort with a limit of five rows for each query. Rows have two integers, number and set, and each belongs to one of
/// the first queries. They arrive in descending order, or in ascending order, in which all rows after the first five of a query
/// are too late. `idle_count` further queries have no rows.
fn check_held(query_count: usize, idle_count: usize, is_descending: bool) {
    let store = SetStore::new(query_count + idle_count, FixedBudget::new(ByteSize(1 << 24))).unwrap();
    let single = |query| QueryBitmap::from_fn(store.query_count(), |other| other.index() == query);
    let singles: Vec<SetNumber> = (0..query_count).map(|query| store.number_of(&single(query)).unwrap()).collect();
    let set_count = store.set_count();
    let sets = SetColumn { store: store.clone(), column: 1 };
    let keys = vec![SortKey { column: 0, descending: false, nulls_first: false }];
    let budget = FixedBudget::new(ByteSize(1 << 20));
    let mut worker = SharedSortWorker::new(
        Arc::new(SortSpec { keys, limit: Some(5) }),
        sets,
        budget.clone(),
        Tuning::small().sorting,
    );
    let mut used_max = 0;
    for batch in 0..200i64 {
        let number = |row: i64| if is_descending { -(batch * 100 + row) } else { batch * 100 + row };
        let of_rows: Vec<SetNumber> = (0..100).map(|row| singles[row % query_count]).collect();
        let columns = [Vector::integers((0..100).map(number).collect()), set_column(&of_rows)];
        worker.consume(Batch::of_vectors(100, columns.map(Arc::new))).unwrap();
        used_max = used_max.max(budget.used());
    }
    let (wanted_rows, of_queries) = (5 * query_count, 13 * store.query_count());
    // Four times as many rows as are wanted, and a batch before they are cut; twice while they move.
    let rows_max = 4 * wanted_rows + 100;
    assert!(used_max <= 2 * rows_max * 16 + 8 * rows_max + of_queries, "{used_max} bytes for {query_count} queries");
    if !is_descending {
        assert_eq!(budget.used(), wanted_rows * 16 + of_queries, "rows that are too late are not collected");
    }
    assert_eq!(store.set_count(), set_count, "no sets are made on the way");
    let sorted = SharedSortWorker::finish(vec![worker], 2).unwrap();
    assert_eq!(sorted.row_count(), wanted_rows);
    drop(sorted);
    assert_eq!(budget.used(), 0);
}

#[test]
fn what_a_sort_holds_does_not_grow_with_its_input() {
    for (query_count, idle_count) in [(1, 0), (100, 0), (1, 1), (100, 7)] {
        check_held(query_count, idle_count, false);
        check_held(query_count, idle_count, true);
    }
}
