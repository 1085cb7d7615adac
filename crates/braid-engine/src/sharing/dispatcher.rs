//! The queries that wait and the passes that run. The scheduler decides; the dispatcher tells it what happens and starts what it
//! says.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use braid_base::{Clock, SystemClock};
use braid_exec::PassMembers;
use braid_share::{
    Arrival, Departure, Outcome, PassNumber, QueryTicket, Refusal, Scheduler, SchedulerOptions, Start, TemplateNumber,
};
use braid_storage::scalar::ScalarKey;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::pass::{Pass, PassQuery};
use super::pass_resources::PassResources;
use super::query_handle::{BoundQuery, QueryAnswer, QueryHandle};
use crate::templates::plan_template::ParameterRow;

/// Decides what runs, and runs it.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    resources: PassResources,
    runtime: Handle,
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
    /// A dispatcher whose passes run on the current runtime.
    pub fn new(resources: PassResources) -> Arc<Self> {
        let scheduler = Scheduler::new(SchedulerOptions::default());
        let (waiting, running) = (HashMap::new(), HashMap::new());
        let state =
            Mutex::new(State { scheduler, figures: SharingFigures::default(), waiting, running, next_ticket: 0 });
        let (runtime, clock) = (Handle::current(), SystemClock::new());
        Arc::new_cyclic(|myself| Self { resources, runtime, clock, state, myself: myself.clone() })
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
        state.scheduler.arrive(self.clock.now_us(), arrival)?;
        let (sender, answer) = oneshot::channel();
        state.waiting.insert(ticket, WaitingQuery { query, answer: sender });
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
            }
        }
        self.start_ready(&mut state);
    }

    /// A pass has ended.
    pub(super) fn finished(&self, pass: PassNumber, outcome: Outcome) {
        let mut state = self.state.lock();
        state.running.remove(&pass);
        state.scheduler.finished(self.clock.now_us(), pass, outcome);
        self.start_ready(&mut state);
    }

    /// A query alone has begun to give rows, and waits for its reader from now on.
    pub(super) fn give_up_lane(&self, pass: PassNumber) {
        let mut state = self.state.lock();
        state.scheduler.give_up_lane(self.clock.now_us(), pass);
        self.start_ready(&mut state);
    }

    fn start_ready(&self, state: &mut State) {
        while let Some(start) = state.scheduler.next_start(self.clock.now_us()) {
            let Start { pass, queries, form, predicted, .. } = start;
            let taken = queries.iter().filter_map(|ticket| Some((*ticket, state.waiting.remove(ticket)?)));
            let queries: Vec<PassQuery> =
                taken.map(|(ticket, WaitingQuery { query, answer })| PassQuery { ticket, query, answer }).collect();
            let (running, queries_count) = (Arc::new(Mutex::new(RunningQueries::default())), queries.len());
            let Some(dispatcher) = self.myself.upgrade() else { return };
            let pass = Pass::new(dispatcher, pass, form, predicted, queries, running.clone());
            match queries_count {
                1 => state.figures.single_passes += 1,
                count => {
                    state.figures.shared_passes += 1;
                    state.figures.shared_queries += count as u64;
                }
            }
            state.running.insert(pass.number(), running);
            self.runtime.spawn(pass.run());
        }
    }
}

/// A number that equal parameters have in common.
fn identity_of(row: &ParameterRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.iter().for_each(|value| ScalarKey::of(value).hash(&mut hasher));
    hasher.finish()
}
