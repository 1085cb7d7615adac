//! The queries that wait and the passes that run. The scheduler decides; the dispatcher tells it what happens and starts what it
//! says.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_base::{Clock, SystemClock};
use braid_share::{
    Arrival, Attachment, Departure, Lane, Outcome, PassNumber, QueryTicket, Refusal, Scheduler, SchedulerOptions,
    SharingMode, Start, TemplateNumber,
};
use braid_storage::scalar::ScalarKey;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::equal_queries::{EqualQueries, Place};
use super::heavy_threads::HeavyThreads;
use super::kept_results::KeptResults;
use super::lane_hold::LaneHold;
use super::pass::Pass;
use super::pass_log::{PassEnd, PassLog, PassRecord, PassSize, PassTotals, QueryRecord, TemplateRef};
use super::pass_resources::PassResources;
use super::query_handle::{BoundQuery, QueryAnswer, QueryHandle};
use super::running_queries::{PendingQuery, RunningQueries};
use super::table_versions::TableVersions;
use crate::templates::plan_template::ParameterRow;

/// Passes that are predicted to take at most this time run on the connections' threads: each of their workers computes for about two
/// turns of a millisecond, which another task of the thread can wait for.
const SHORT_PASS_MAX: Duration = Duration::from_millis(2);

/// Decides what runs, and runs it.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    resources: PassResources,
    results: KeptResults,
    /// Where short passes run.
    runtime: Handle,
    heavy_threads: HeavyThreads,
    clock: SystemClock,
    state: Mutex<State>,
    myself: Weak<Self>,
}

/// What queries do at the moment, and what they did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharingFigures {
    /// Queries that wait.
    pub waiting: usize,
    /// Passes that run, of one query or more.
    pub running: usize,
    /// Passes that started with one query.
    pub single_passes: u64,
    /// Passes that started with several queries.
    pub shared_passes: u64,
    /// Queries of these.
    pub shared_queries: u64,
    /// Queries that were attached to an equal one of a pass that ran.
    pub attached_queries: u64,
}

struct State {
    scheduler: Scheduler,
    figures: SharingFigures,
    waiting: HashMap<QueryTicket, PendingQuery>,
    running: HashMap<PassNumber, Arc<Mutex<RunningQueries>>>,
    /// The distinct queries of passes that take more.
    equal: EqualQueries,
    log: PassLog,
    next_ticket: u64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("waiting", &self.waiting.len()).field("running", &self.running.len()).finish()
    }
}

impl PendingQuery {
    fn record(&self) -> QueryRecord {
        let BoundQuery { template, text_number, mode, .. } = &self.query;
        let template = TemplateRef { text: *text_number, plan: template.number };
        QueryRecord { ticket: self.ticket, template, mode: *mode, arrived_us: self.arrived_us }
    }
}

impl Dispatcher {
    /// A dispatcher whose short passes run on the current runtime.
    pub fn new(resources: PassResources, heavy_threads: HeavyThreads) -> Arc<Self> {
        // Sharing is off for the queries that a pass could not answer. Each uses all workers, so that more at a time than there
        // are workers would only need more memory.
        let unqueued_max = resources.worker_count.max(1);
        let scheduler = Scheduler::new(SchedulerOptions { unqueued_max, ..SchedulerOptions::default() });
        let (waiting, running, equal) = (HashMap::new(), HashMap::new(), EqualQueries::default());
        let (figures, log) = (SharingFigures::default(), PassLog::default());
        let state = State { scheduler, figures, waiting, running, equal, log, next_ticket: 0 };
        let (runtime, clock, state) = (Handle::current(), SystemClock::new(), Mutex::new(state));
        let results = KeptResults::new(resources.memory.clone());
        Arc::new_cyclic(|myself| Self {
            resources,
            results,
            runtime,
            heavy_threads,
            clock,
            state,
            myself: myself.clone(),
        })
    }

    /// Where queries run that compute for long.
    pub fn heavy_threads(&self) -> &HeavyThreads {
        &self.heavy_threads
    }

    /// What passes run with.
    pub fn resources(&self) -> &PassResources {
        &self.resources
    }

    /// The results that are kept.
    pub fn results(&self) -> &KeptResults {
        &self.results
    }

    /// What queries do.
    pub fn figures(&self) -> SharingFigures {
        let state = self.state.lock();
        SharingFigures { waiting: state.waiting.len(), running: state.running.len(), ..state.figures }
    }

    /// Totals of the passes that have answered their queries.
    pub fn pass_totals(&self) -> PassTotals {
        self.state.lock().log.totals()
    }

    /// The time of the dispatcher's clock, and the passes that run or have ended lately.
    pub fn passes(&self) -> (u64, Vec<PassRecord>) {
        (self.clock.now_us(), self.state.lock().log.passes())
    }

    /// The time of the dispatcher's clock, and the queries that wait or run, the latter with their passes.
    pub fn queries(&self) -> (u64, Vec<(QueryRecord, Option<PassRecord>)>) {
        let state = self.state.lock();
        let waiting = state.waiting.values().map(|query| (query.record(), None));
        let running = state.log.queries().map(|(query, pass)| (query, Some(pass)));
        (self.clock.now_us(), waiting.chain(running).collect())
    }

    /// A query arrives: it is attached to an equal one that runs, starts, or waits.
    ///
    /// # Errors
    /// When too many queries wait, or the answer is predicted to come later than the query's limit.
    pub fn arrive(&self, query: BoundQuery) -> Result<QueryHandle, Refusal> {
        let identity = identity_of(&query.row);
        let (sender, answer) = oneshot::channel();
        let mut state = self.state.lock();
        let ticket = QueryTicket(state.next_ticket);
        state.next_ticket += 1;
        let arrived_us = self.clock.now_us();
        self.enter(&mut state, PendingQuery { ticket, query, identity, arrived_us, answer: sender })?;
        Ok(QueryHandle { ticket, dispatcher: self.myself.clone(), answer, is_answered: false })
    }

    /// Queries that their pass could not answer run alone, beside the lanes, equal ones once. Beyond a bound they wait for each
    /// other: a pass that fails as a whole may have had hundreds of them.
    pub(super) fn run_apart(&self, queries: Vec<PendingQuery>) {
        let mut state = self.state.lock();
        for mut query in queries {
            // Its statement may have ended.
            if query.answer.is_closed() {
                continue;
            }
            (query.query.mode, query.query.response_limit) = (SharingMode::Off, None);
            let ticket = query.ticket;
            if let Err(refusal) = self.enter(&mut state, query) {
                tracing::error!(%ticket, %refusal, "a query that does not wait was refused");
            }
        }
    }

    /// The distinct queries of a pass whose joins are predicted to explode leave it before it reads a row, and run alone, where joins
    /// can be reordered. A pass cannot begin anew. True if no query is left.
    pub(super) fn run_explosions_apart(&self, pass: PassNumber, explode: &[bool]) -> bool {
        let (queries, is_empty) = {
            let mut state = self.state.lock();
            let now_us = self.clock.now_us();
            let Some(running) = state.running.get(&pass).cloned() else { return true };
            let mut running = running.lock();
            let queries = running.take_distinct(explode);
            for query in &queries {
                state.scheduler.leave(now_us, query.ticket);
                state.log.leave(pass, query.ticket);
            }
            (queries, running.is_empty())
        };
        if !queries.is_empty() {
            tracing::debug!(%pass, count = queries.len(), "joins are predicted to explode");
        }
        self.run_apart(queries);
        is_empty
    }

    fn enter(&self, state: &mut State, query: PendingQuery) -> Result<(), Refusal> {
        let now_us = self.clock.now_us();
        let Some(query) = attach(state, now_us, query) else { return Ok(()) };
        wait(state, now_us, query)?;
        self.start_ready(state);
        Ok(())
    }

    /// A query leaves, wherever it is.
    pub(super) fn leave(&self, ticket: QueryTicket) {
        let mut state = self.state.lock();
        match state.scheduler.leave(self.clock.now_us(), ticket) {
            Departure::Unknown => {}
            Departure::Waited => drop(state.waiting.remove(&ticket)),
            Departure::Ran { pass, .. } => {
                if let Some(running) = state.running.get(&pass) {
                    running.lock().leave(ticket);
                }
                state.log.leave(pass, ticket);
            }
        }
        self.start_ready(&mut state);
    }

    /// A pass has ended.
    pub(super) fn finished(&self, pass: PassNumber, outcome: Outcome, size: PassSize) {
        let mut state = self.state.lock();
        state.running.remove(&pass);
        state.equal.end(pass);
        let (now_us, Outcome { ending, memory_bytes, .. }) = (self.clock.now_us(), outcome);
        state.log.end(now_us, pass, PassEnd { ending, memory_bytes, size });
        state.scheduler.finished(now_us, pass, outcome);
        self.start_ready(&mut state);
    }

    /// A query alone has so many rows that it waits for its reader from now on. It gives its lane up, and takes no more queries.
    /// Returns its queries, in the order of their arrival: the first is still that of the pass, the others are not.
    pub(super) fn stream_to_first(&self, pass: PassNumber) -> Vec<PendingQuery> {
        let mut state = self.state.lock();
        let now_us = self.clock.now_us();
        state.equal.end(pass);
        let queries = state.running.get(&pass).map(|running| running.lock().take_all()).unwrap_or_default();
        for other in queries.iter().skip(1) {
            state.scheduler.leave(now_us, other.ticket);
            state.log.leave(pass, other.ticket);
        }
        state.log.give_up_lane(now_us, pass);
        state.scheduler.give_up_lane(now_us, pass);
        self.start_ready(&mut state);
        queries
    }

    fn start_ready(&self, state: &mut State) {
        while let Some(start) = state.scheduler.next_start(self.clock.now_us()) {
            let Some(dispatcher) = self.myself.upgrade() else { return };
            let queries: Vec<PendingQuery> =
                start.queries.iter().filter_map(|ticket| state.waiting.remove(ticket)).collect();
            let template = queries.first().expect("a start has a query, which waited").query.template.clone();
            // The pass is known with its snapshot before a query can be attached to it.
            let snapshot = self.resources.store.snapshot();
            let versions = TableVersions::of(&template, &snapshot);
            let reads_them = |query: &PendingQuery| versions.as_ref().is_none_or(|own| query.query.reads.allow(own));
            let (queries, others): (Vec<PendingQuery>, Vec<PendingQuery>) = queries.into_iter().partition(reads_them);
            for other in others {
                state.scheduler.leave(self.clock.now_us(), other.ticket);
                other.answer(QueryAnswer::RunAlone);
            }
            let queries = self.equal_to_first(state, start.lane, queries);
            let Start { pass, form, predicted, .. } = start;
            self.note_start(state, &start, &queries);
            let running = RunningQueries::new(form, queries, versions);
            state.equal.start(pass, running.keys());
            let running = Arc::new(Mutex::new(running));
            state.running.insert(pass, running.clone());
            let lane = LaneHold::new(dispatcher, pass);
            let pass = Pass { lane, form, predicted, template, snapshot, running };
            match predicted <= SHORT_PASS_MAX {
                true => drop(self.runtime.spawn(pass.run())),
                false => self.heavy_threads.spawn(pass.run()),
            }
        }
    }

    /// Beside the lanes only equal queries run together. The others, whose parameters have the same hash, wait anew.
    fn equal_to_first(&self, state: &mut State, lane: Lane, queries: Vec<PendingQuery>) -> Vec<PendingQuery> {
        if lane != Lane::Unqueued {
            return queries;
        }
        let mut queries = queries.into_iter();
        let Some(first) = queries.next() else { return Vec::new() };
        let (mut equal, others): (Vec<PendingQuery>, Vec<PendingQuery>) =
            queries.partition(|query| query.equals(&first));
        for other in others {
            let (now_us, ticket) = (self.clock.now_us(), other.ticket);
            state.scheduler.leave(now_us, ticket);
            if let Err(refusal) = wait(state, now_us, other) {
                tracing::error!(%ticket, %refusal, "a query that was accepted was refused");
            }
        }
        equal.insert(0, first);
        equal
    }

    /// Counts a start, and writes it into the log.
    fn note_start(&self, state: &mut State, start: &Start, queries: &[PendingQuery]) {
        let Some(first) = queries.first() else { return };
        match queries.len() {
            1 => state.figures.single_passes += 1,
            count => {
                state.figures.shared_passes += 1;
                state.figures.shared_queries += count as u64;
            }
        }
        let pass = PassRecord {
            number: start.pass,
            template: first.record().template,
            form: start.form,
            query_count: queries.len(),
            distinct_count: start.distinct,
            predicted: start.predicted,
            started_us: self.clock.now_us(),
            taken: None,
            end: None,
        };
        state.log.start(pass, queries.iter().map(PendingQuery::record).collect());
    }
}

/// Attaches a query to an equal one of a pass that runs; gives it back if there is none.
fn attach(state: &mut State, now_us: u64, query: PendingQuery) -> Option<PendingQuery> {
    let State { scheduler, figures, running, equal, log, .. } = state;
    for Place { pass, distinct } in equal.places(query.key()) {
        let Some(mut running) = running.get(pass).map(|running| running.lock()) else { continue };
        let response_limit = query.query.response_limit;
        if running.takes(*distinct, &query)
            && scheduler.attach(now_us, Attachment { query: query.ticket, pass: *pass, response_limit })
        {
            figures.attached_queries += 1;
            log.attach(*pass, query.record());
            running.attach(*distinct, query);
            return None;
        }
    }
    Some(query)
}

/// A query waits until the scheduler starts it.
fn wait(state: &mut State, now_us: u64, query: PendingQuery) -> Result<(), Refusal> {
    let arrival = Arrival {
        query: query.ticket,
        template: TemplateNumber(query.query.template.number),
        identity: query.identity,
        mode: query.query.mode,
        response_limit: query.query.response_limit,
    };
    state.scheduler.arrive(now_us, arrival)?;
    state.waiting.insert(query.ticket, query);
    Ok(())
}

/// A number that equal parameters have in common.
fn identity_of(row: &ParameterRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.iter().for_each(|value| ScalarKey::of(value).hash(&mut hasher));
    hasher.finish()
}
