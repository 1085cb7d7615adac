//! The queries that wait and the passes that run. The scheduler decides; the dispatcher tells it what happens and starts what it
//! says.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_base::{Clock, SystemClock};
use braid_exec::PassMembers;
use braid_share::{
    Arrival, Departure, Outcome, PassNumber, QueryTicket, Refusal, Scheduler, SchedulerOptions, Start, TemplateNumber,
};
use braid_storage::scalar::ScalarKey;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::heavy_threads::HeavyThreads;
use super::pass::{Pass, PassQuery};
use super::pass_log::{PassEnd, PassLog, PassRecord, PassSize, QueryRecord, TemplateRef};
use super::pass_resources::PassResources;
use super::query_handle::{BoundQuery, QueryAnswer, QueryHandle};
use crate::templates::plan_template::ParameterRow;

/// Passes that are predicted to take at most this time run on the connections' threads: two turns of each.
const SHORT_PASS_MAX: Duration = Duration::from_millis(2);

/// Decides what runs, and runs it.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    resources: PassResources,
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
}

struct State {
    scheduler: Scheduler,
    figures: SharingFigures,
    waiting: HashMap<QueryTicket, WaitingQuery>,
    running: HashMap<PassNumber, Arc<Mutex<RunningQueries>>>,
    log: PassLog,
    next_ticket: u64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("waiting", &self.waiting.len()).field("running", &self.running.len()).finish()
    }
}

struct WaitingQuery {
    query: BoundQuery,
    answer: oneshot::Sender<QueryAnswer>,
    arrived_us: u64,
}

impl WaitingQuery {
    fn record(&self, ticket: QueryTicket) -> QueryRecord {
        let BoundQuery { template, text_number, mode, .. } = &self.query;
        let template = TemplateRef { text: *text_number, plan: template.number };
        QueryRecord { ticket, template, mode: *mode, arrived_us: self.arrived_us }
    }
}

/// The queries of a pass that have not left.
#[derive(Debug, Default)]
pub(super) struct RunningQueries {
    /// The distinct query of each ticket.
    pub distinct: HashMap<QueryTicket, usize>,
    /// Tickets of each distinct query that have not left.
    pub staying: Vec<usize>,
    /// The pass's own handle, once it has one.
    pub members: Option<PassMembers>,
}

impl RunningQueries {
    /// A query leaves; its distinct query is given up with the last of its tickets.
    fn leave(&mut self, ticket: QueryTicket) {
        let Some(distinct) = self.distinct.remove(&ticket) else { return };
        self.staying[distinct] -= 1;
        if let (0, Some(members)) = (self.staying[distinct], &self.members) {
            members.leave(braid_exec::QueryNumber::at(distinct));
        }
    }

    /// The pass has its handle. Queries that have left meanwhile are given up.
    pub fn set_members(&mut self, members: PassMembers) {
        for distinct in (0..self.staying.len()).filter(|distinct| self.staying[*distinct] == 0) {
            members.leave(braid_exec::QueryNumber::at(distinct));
        }
        self.members = Some(members);
    }
}

impl Dispatcher {
    /// A dispatcher whose short passes run on the current runtime.
    pub fn new(resources: PassResources, heavy_threads: HeavyThreads) -> Arc<Self> {
        let scheduler = Scheduler::new(SchedulerOptions::default());
        let (waiting, running, log) = (HashMap::new(), HashMap::new(), PassLog::default());
        let state = State { scheduler, figures: SharingFigures::default(), waiting, running, log, next_ticket: 0 };
        let (runtime, clock, state) = (Handle::current(), SystemClock::new(), Mutex::new(state));
        Arc::new_cyclic(|myself| Self { resources, runtime, heavy_threads, clock, state, myself: myself.clone() })
    }

    /// Where queries run that compute for long.
    pub fn heavy_threads(&self) -> &HeavyThreads {
        &self.heavy_threads
    }

    /// What passes run with.
    pub fn resources(&self) -> &PassResources {
        &self.resources
    }

    /// What queries do.
    pub fn figures(&self) -> SharingFigures {
        let state = self.state.lock();
        SharingFigures { waiting: state.waiting.len(), running: state.running.len(), ..state.figures }
    }

    /// The time of the dispatcher's clock, and the passes that run or have ended lately.
    pub fn passes(&self) -> (u64, Vec<PassRecord>) {
        (self.clock.now_us(), self.state.lock().log.passes())
    }

    /// The time of the dispatcher's clock, and the queries that wait or run, the latter with their passes.
    pub fn queries(&self) -> (u64, Vec<(QueryRecord, Option<PassRecord>)>) {
        let state = self.state.lock();
        let waiting = state.waiting.iter().map(|(ticket, query)| (query.record(*ticket), None));
        let running = state.log.queries().map(|(query, pass)| (query, Some(pass)));
        (self.clock.now_us(), waiting.chain(running).collect())
    }

    /// A query arrives: it starts or waits.
    ///
    /// # Errors
    /// When too many queries wait, or the answer is predicted to come later than the query's limit.
    pub fn arrive(&self, query: BoundQuery) -> Result<QueryHandle, Refusal> {
        let mut state = self.state.lock();
        let ticket = QueryTicket(state.next_ticket);
        state.next_ticket += 1;
        let arrival = Arrival {
            query: ticket,
            template: TemplateNumber(query.template.number),
            identity: identity_of(&query.row),
            mode: query.mode,
            response_limit: query.response_limit,
        };
        let arrived_us = self.clock.now_us();
        state.scheduler.arrive(arrived_us, arrival)?;
        let (sender, answer) = oneshot::channel();
        state.waiting.insert(ticket, WaitingQuery { query, answer: sender, arrived_us });
        self.start_ready(&mut state);
        Ok(QueryHandle { ticket, dispatcher: self.myself.clone(), answer, is_answered: false })
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
        let (now_us, Outcome { ending, memory_bytes, .. }) = (self.clock.now_us(), outcome);
        state.log.end(now_us, pass, PassEnd { ending, memory_bytes, size });
        state.scheduler.finished(now_us, pass, outcome);
        self.start_ready(&mut state);
    }

    /// A query alone has begun to give rows, and waits for its reader from now on.
    pub(super) fn give_up_lane(&self, pass: PassNumber) {
        let mut state = self.state.lock();
        let now_us = self.clock.now_us();
        state.log.give_up_lane(now_us, pass);
        state.scheduler.give_up_lane(now_us, pass);
        self.start_ready(&mut state);
    }

    fn start_ready(&self, state: &mut State) {
        while let Some(start) = state.scheduler.next_start(self.clock.now_us()) {
            let Some(dispatcher) = self.myself.upgrade() else { return };
            let taken = start.queries.iter().filter_map(|ticket| Some((*ticket, state.waiting.remove(ticket)?)));
            let taken: Vec<(QueryTicket, WaitingQuery)> = taken.collect();
            self.note_start(state, &start, &taken);
            let of_waiting =
                |(ticket, WaitingQuery { query, answer, .. }): (QueryTicket, _)| PassQuery { ticket, query, answer };
            let queries: Vec<PassQuery> = taken.into_iter().map(of_waiting).collect();
            let running = Arc::new(Mutex::new(RunningQueries::default()));
            let Start { pass, form, predicted, .. } = start;
            let pass = Pass::new(dispatcher, pass, form, predicted, queries, running.clone());
            state.running.insert(pass.number(), running);
            match predicted <= SHORT_PASS_MAX {
                true => drop(self.runtime.spawn(pass.run())),
                false => self.heavy_threads.spawn(pass.run()),
            }
        }
    }

    /// Counts a start, and writes it into the log.
    fn note_start(&self, state: &mut State, start: &Start, taken: &[(QueryTicket, WaitingQuery)]) {
        match taken.len() {
            1 => state.figures.single_passes += 1,
            count => {
                state.figures.shared_passes += 1;
                state.figures.shared_queries += count as u64;
            }
        }
        let queries: Vec<QueryRecord> = taken.iter().map(|(ticket, query)| query.record(*ticket)).collect();
        let Some(first) = queries.first() else { return };
        let pass = PassRecord {
            number: start.pass,
            template: first.template,
            form: start.form,
            query_count: queries.len(),
            distinct_count: start.distinct,
            predicted: start.predicted,
            started_us: self.clock.now_us(),
            taken: None,
            end: None,
        };
        state.log.start(pass, queries);
    }
}

/// A number that equal parameters have in common.
fn identity_of(row: &ParameterRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.iter().for_each(|value| ScalarKey::of(value).hash(&mut hasher));
    hasher.finish()
}
