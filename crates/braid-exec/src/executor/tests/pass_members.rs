//! Queries that leave a pass while it runs. The others get what they get alone.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::cancellation::endless_join;
use super::shared_plans::SharedCase;
use super::*;
use crate::expression::Comparison;
use crate::{ParameterRow, PassMembers, QueryEnd, QueryNumber, SharedPlan};

/// Who leaves, and after how many batches of all sinks together.
struct Departures {
    members: PassMembers,
    batch_count: AtomicUsize,
    schedule: Vec<(usize, QueryNumber)>,
}

impl Departures {
    fn note_batch(&self) {
        let batch = self.batch_count.fetch_add(1, Ordering::Relaxed);
        self.schedule.iter().filter(|(at, _)| *at == batch).for_each(|(_, query)| self.members.leave(*query));
    }
}

/// Collects a query's rows.
struct MemberSink {
    rows: Collected,
    query: QueryNumber,
    departures: Arc<Departures>,
    /// Whether no other worker can be passing on a batch.
    is_only: bool,
}

impl Sink for MemberSink {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        assert!(!self.is_only || !self.departures.members.has_left(self.query), "{:?} has left", self.query);
        self.rows.consume(batch)?;
        self.departures.note_batch();
        Ok(())
    }
}

/// Runs a case, some of whose queries leave. Returns the numbers of queries that left and that stayed to the end.
pub async fn check(mut case: SharedCase) -> (usize, usize) {
    let Some(expected) = case.expected() else { return (0, 0) };
    if expected.iter().any(Result::is_err) {
        return (0, 0);
    }
    let worker_count = 1 + case.case.random.below(3) as usize;
    let budget = FixedBudget::new(PLENTY);
    let shared = SharedPlan::new(&case.case.plan, &case.parameters, budget.clone()).unwrap();
    let share = 1 + case.case.random.below(4);
    let query_count = case.parameters.len();
    let mut schedule = Vec::new();
    for query in (0..query_count).map(QueryNumber::at) {
        match case.case.random.chance(share, 4) {
            true if case.case.random.chance(1, 6) => shared.members().leave(query),
            true => schedule.push((case.case.random.below(2 * query_count as u64) as usize, query)),
            false => {}
        }
    }
    let (members, batch_count) = (shared.members().clone(), AtomicUsize::new(0));
    let departures = Arc::new(Departures { members, batch_count, schedule });
    let executor = Executor::new(worker_count, budget.clone()).with_tuning(Tuning::small());
    let make_sink = |query| MemberSink {
        rows: Collected::default(),
        query,
        departures: departures.clone(),
        is_only: worker_count == 1,
    };
    let run = tokio::time::timeout(PATIENCE, executor.run_pass(&shared, make_sink));
    let ends = run.await.expect("it ends").unwrap();
    assert_eq!(ends.len(), query_count);
    let mut counts = (0, 0);
    for (query, (end, expected)) in ends.into_iter().zip(&expected).enumerate() {
        match end {
            QueryEnd::Left => {
                assert!(shared.members().has_left(QueryNumber::at(query)));
                counts.0 += 1;
            }
            QueryEnd::Rows(sinks) => {
                let rows = sinks.into_iter().flat_map(|sink| sink.rows.0).collect();
                assert_answers(rows, expected.as_ref().expect("it has an answer"));
                counts.1 += 1;
            }
            QueryEnd::SinkFailed(_) | QueryEnd::RunAlone => panic!("nothing fails"),
        }
    }
    drop(shared);
    assert_given_back(&budget).await;
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_that_stay_get_what_they_get_alone() {
    let cases = cases!(0..1_000);
    let is_replay = cases.is_replay();
    let (mut left, mut stayed) = (0, 0);
    for case in cases {
        let counts = check(SharedCase::new(case.seed)).await;
        left += counts.0;
        stayed += counts.1;
    }
    println!("{left} queries left, {stayed} stayed");
    assert!(is_replay || left > 1000 && stayed > 1000, "{left} queries left, {stayed} stayed");
}

/// Column 0 = parameter 0.
fn with_condition(input: Plan) -> Plan {
    let (left, right) = (Expression::Column(0).into(), Expression::Parameter(0).into());
    let condition = Expression::Compare { comparison: Comparison::Equal, left, right };
    Plan::Filter { input: input.into(), condition }
}

fn shared(plan: &Plan, constants: &[i64], budget: &Arc<FixedBudget>) -> SharedPlan {
    let rows: Vec<ParameterRow> = constants.iter().map(|constant| vec![Some(Scalar::Int(*constant))]).collect();
    SharedPlan::new(plan, &rows, budget.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_ends_when_all_have_left() {
    // The first column of all rows is 0.
    let endless = || endless_join(5);
    for (plan, constants) in [(endless(), [1, 2, 1]), (with_condition(endless()), [0, 1, 0])] {
        for worker_count in [1, 3] {
            let budget = FixedBudget::new(PLENTY);
            let shared = shared(&plan, &constants, &budget);
            let members = shared.members().clone();
            let leaving = tokio::spawn(async move {
                for query in (0..3).map(QueryNumber::at) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    members.leave(query);
                }
            });
            let executor = Executor::new(worker_count, budget.clone());
            let ends =
                tokio::time::timeout(PATIENCE, executor.run_pass(&shared, |_| Discarded)).await.expect("it ends");
            assert!(ends.unwrap().iter().all(|end| matches!(end, QueryEnd::Left)));
            leaving.await.unwrap();
            assert!(matches!(executor.run_shared(&shared, |_| Discarded).await, Err(ExecError::Cancelled)));
        }
    }
}

/// Counts nothing and keeps nothing.
struct Discarded;

impl Sink for Discarded {
    fn consume(&mut self, _: Batch) -> Result<(), Stop> {
        Ok(())
    }
}

/// Takes all rows, fails at once, or is never ready again.
enum Client {
    Reading(Collected),
    Broken,
    Stuck,
}

impl Sink for Client {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        match self {
            Self::Reading(rows) => rows.consume(batch),
            Self::Broken => Err(ExecError::DivisionByZero.into()),
            Self::Stuck => Ok(()),
        }
    }

    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(futures::future::pending())
    }

    fn is_ready(&self) -> bool {
        !matches!(self, Self::Stuck)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_s_trouble_is_its_own() {
    let rows: Vec<Vec<Option<i64>>> = (0..3000).map(|at| vec![Some(at % 2), Some(at)]).collect();
    let rows: Vec<&[Option<i64>]> = rows.iter().map(Vec::as_slice).collect();
    let table = Plan::Source { source: Table::of_integers(1, 2, &rows), column_count: 2 };
    let budget = FixedBudget::new(PLENTY);
    // Queries 0 to 2 are equal.
    let shared = shared(&with_condition(table), &[1, 1, 1, 0], &budget);
    let members = shared.members().clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        members.leave(QueryNumber(2));
    });
    let client = |query: QueryNumber| match query.index() {
        1 => Client::Broken,
        2 => Client::Stuck,
        _ => Client::Reading(Collected::default()),
    };
    let executor = Executor::new(2, budget.clone());
    let ends = tokio::time::timeout(PATIENCE, executor.run_pass(&shared, client)).await.expect("it ends").unwrap();
    let count = |end: &QueryEnd<Client>| match end {
        QueryEnd::Rows(clients) => {
            clients.iter().map(|client| if let Client::Reading(rows) = client { rows.0.len() } else { 0 }).sum()
        }
        QueryEnd::Left => 10_000,
        QueryEnd::SinkFailed(error) => {
            assert!(matches!(error, ExecError::DivisionByZero), "{error}");
            20_000
        }
        QueryEnd::RunAlone => panic!("no expression failed"),
    };
    assert_eq!(ends.iter().map(count).collect::<Vec<usize>>(), [1500, 20_000, 10_000, 1500]);
}
