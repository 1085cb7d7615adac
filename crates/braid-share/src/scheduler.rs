//! The scheduler: decides for all queries of templates when they run, with which others, and in which lane.
//!
//! A synchronous state machine. The engine reports events with their time, then calls [`Scheduler::next_start`] until it
//! returns `None`, and carries out each start:
//!
//! ```text
//! arrive --> queue of its template --> next_start --> [pass runs] --> finished
//!    |              |                                     |
//!    v              v                                     v
//! refusal         leave              attach --> queries   leave
//! ```
//!
//! # Rules
//!
//! 1. *No timer.* A query that finds a lane free starts at once. Otherwise it waits with its like, and the batch grows with
//!    the load. So no call is due because of time alone.
//! 2. *Work conserving.* No lane that a waiting query may take stays free after `next_start` has returned `None`. A query with
//!    sharing off waits only for others of its kind, and only beyond a bound (`unqueued_max`).
//! 3. *Exactly once.* A query that was accepted is in exactly one start, unless it leaves before or was attached to a pass that
//!    ran. A failed pass is not repeated here: the engine lets its queries arrive again, with the mode `Off` to isolate the
//!    one that fails.
//! 4. *What is learned.* Only answered passes teach times: a failed, cancelled or disturbed one (`running.rs`) does not.
//!    Attached queries teach nothing: they equal one of the pass, so that its time is that without them.
//! 5. *Bounded.* Queues, models and waits are (`options.rs`, `template_models.rs`, `choice.rs`).
//! 6. *Time never goes back.* An event with an earlier time than the last one happens at the time of the last one.
//!
//! Costs for n waiting queries in q queues: an event O(log n), a start O(q) and O(log n) for each of its queries.

use std::time::Duration;

use crate::choice::{Candidate, choose, wait_bound_us};
use crate::events::{Arrival, Attachment, Departure, Ending, Outcome, Start};
use crate::ids::{PassNumber, QueryTicket, TemplateNumber};
use crate::lanes::{Lane, Lanes, Weight};
use crate::options::{Form, SchedulerOptions};
use crate::pass_size::PassLimits;
use crate::queues::{PlannedPass, Queue, QueueSums, Queues, WaitingQuery};
use crate::refusal::Refusal;
use crate::response_limit::{Admission, WorkAhead};
use crate::router::route;
use crate::running::{RunningPass, RunningPasses};
use crate::sharing_mode::SharingMode;
use crate::template_models::{Execution, TemplateModels};
use crate::unqueued::Unqueued;
use crate::views::{RunningView, WaitingView};

/// The state machine.
#[derive(Debug)]
pub struct Scheduler {
    options: SchedulerOptions,
    models: TemplateModels,
    queues: Queues,
    /// Queries with sharing off that have arrived and not yet started.
    unqueued: Unqueued,
    lanes: Lanes,
    running: RunningPasses,
    admission: Admission,
    passes_started: u64,
    now_us: u64,
}

impl Scheduler {
    /// A scheduler without queries. Panics if an option is out of its range.
    pub fn new(options: SchedulerOptions) -> Self {
        options.assert_valid();
        Self {
            models: TemplateModels::new(options.models_max, micros(options.prior)),
            queues: Queues::default(),
            unqueued: Unqueued::default(),
            lanes: Lanes::new(&options),
            running: RunningPasses::default(),
            admission: Admission::new(),
            passes_started: 0,
            now_us: 0,
            options,
        }
    }

    /// A query arrives. Panics if its ticket is in use.
    ///
    /// # Errors
    /// [`Refusal`] if too many queries wait, or if the query is predicted to be answered later than its limit. A query
    /// with sharing off is never refused.
    pub fn arrive(&mut self, now_us: u64, arrival: Arrival) -> Result<(), Refusal> {
        self.advance(now_us);
        let ticket = arrival.query;
        self.assert_new(ticket);
        if arrival.mode == SharingMode::Off {
            self.unqueued.add(ticket, arrival.template, arrival.identity);
            return Ok(());
        }
        let (waiting, waiting_max) = (self.queues.len(), self.options.waiting_max);
        if waiting >= waiting_max {
            return Err(Refusal::TooManyWaiting { waiting, waiting_max });
        }
        let before = self.queues.sums();
        self.queue(arrival);
        let (Some(limit), Some(ahead)) = (arrival.response_limit, self.work_ahead(arrival.template, before)) else {
            return Ok(());
        };
        let checked = self.admission.check(ahead, limit);
        if checked.is_err() {
            self.queues.remove(ticket);
            self.plan(arrival.template);
        }
        checked
    }

    /// A query that equals one of a running pass becomes a query of that pass, without having waited, if the pass takes it.
    /// It does not if it has ended or given its lane up, if all its queries have left, if its rest is predicted to take
    /// longer than the query's limit, or if it has as many queries as may wait. The query may then arrive. Panics if its
    /// ticket is in use.
    pub fn attach(&mut self, now_us: u64, attachment: Attachment) -> bool {
        self.advance(now_us);
        self.assert_new(attachment.query);
        self.running.attach(self.now_us, attachment, self.options.waiting_max)
    }

    /// A query leaves: it was cancelled, ran into its timeout, or its client is gone.
    pub fn leave(&mut self, now_us: u64, ticket: QueryTicket) -> Departure {
        self.advance(now_us);
        if let Some(template) = self.queues.remove(ticket) {
            self.plan(template);
            return Departure::Waited;
        }
        if let Some((pass, remaining)) = self.running.leave(ticket) {
            return Departure::Ran { pass, remaining };
        }
        if self.unqueued.remove(ticket) { Departure::Waited } else { Departure::Unknown }
    }

    /// The next pass to start now; `None` if no lane is free for what waits. To be called until then after each event.
    pub fn next_start(&mut self, now_us: u64) -> Option<Start> {
        self.advance(now_us);
        if self.lanes.has_room_beside()
            && let Some((template, tickets)) = self.unqueued.take_equal(self.options.pass_queries_max)
        {
            return Some(self.start(template, Lane::Unqueued, Form::Alone, tickets, 1));
        }
        let template = self.choose_queue()?;
        let planned = *self.queues.get(template)?.planned();
        let lane = self.lanes.free(planned.weight).expect("only queues with a free lane are chosen");
        let queries = match planned.next.form {
            Form::Alone => self.queues.take_equal(template, self.options.pass_queries_max),
            Form::Shared => self.queues.take_pass(template, self.pass_limits(template)),
        };
        let mut identities: Vec<u64> = queries.iter().map(|query| query.identity).collect();
        identities.sort_unstable();
        identities.dedup();
        let oldest = queries[0];
        let is_limited = oldest.due_us < u64::MAX && oldest.arrived_us < self.now_us;
        let tickets = queries.iter().map(|query| query.ticket).collect();
        let start = self.start(template, lane, planned.next.form, tickets, identities.len());
        self.running.get_mut(start.pass).expect("it has just started").due_us = is_limited.then_some(oldest.due_us);
        self.plan(template);
        Some(start)
    }

    /// The pass takes no lane any longer, but still runs: it only waits for its readers. Its execution time ends here.
    /// Panics if it does not run.
    pub fn give_up_lane(&mut self, now_us: u64, pass: PassNumber) {
        self.advance(now_us);
        let running = self.running.get_mut(pass).expect("a pass that gives its lane up runs");
        if let Some(lane) = running.lane.take() {
            running.executed_us = Some(running.elapsed_us(self.now_us));
            self.lanes.release(lane, pass);
        }
    }

    /// A pass has ended. Its queries are gone from the scheduler. Panics if it does not run.
    pub fn finished(&mut self, now_us: u64, pass: PassNumber, outcome: Outcome) {
        self.advance(now_us);
        let ended = self.running.end(pass).expect("a pass that finishes runs");
        if let Some(lane) = ended.lane {
            self.lanes.release(lane, pass);
        }
        self.learn(&ended, outcome);
        self.plan(ended.template);
    }

    /// Forgets what is known of a template: its plan has changed, or it is gone. Queries that wait stay.
    pub fn forget_template(&mut self, template: TemplateNumber) {
        self.models.forget(template);
        self.plan(template);
    }

    /// Sets the memory granted to one pass from the next start on, in bytes; `None` for no limit.
    pub fn set_pass_memory(&mut self, bytes_max: Option<u64>) {
        self.options.pass_memory_bytes_max = bytes_max;
        let templates: Vec<TemplateNumber> = self.queues.iter().map(|(template, _)| template).collect();
        templates.into_iter().for_each(|template| self.plan(template));
    }

    /// The queues, by template.
    pub fn waiting(&self) -> Vec<WaitingView> {
        let view = |(template, queue): (TemplateNumber, &Queue)| WaitingView {
            template,
            queries: queue.load().queries,
            distinct: queue.load().distinct,
            longest_wait: Duration::from_micros(self.now_us.saturating_sub(queue.oldest().arrived_us)),
            form: queue.planned().next.form,
            predicted: duration(queue.planned().next.cost_us),
        };
        self.queues.iter().map(view).collect()
    }

    /// The passes that run, in the order of their starts.
    pub fn running(&self) -> Vec<RunningView> {
        let view = |(pass, running): (PassNumber, &RunningPass)| RunningView {
            pass,
            template: running.template,
            lane: running.lane,
            form: running.form,
            queries: running.queries.iter().copied().collect(),
            predicted: duration(running.predicted_us),
            started_us: running.started_us,
        };
        self.running.iter().map(view).collect()
    }

    /// How many queries wait.
    pub fn waiting_count(&self) -> usize {
        self.queues.len()
    }

    /// How many templates have a model.
    pub fn known_templates(&self) -> usize {
        self.models.len()
    }

    /// The longest that a query waits before its queue goes first, by what waits now (`choice.rs`).
    pub fn wait_bound(&self) -> Duration {
        Duration::from_micros(wait_bound_us(self.queues.sums().round_us))
    }

    // ---- Decisions ----

    /// The queue that is served next, among those with a free lane.
    fn choose_queue(&self) -> Option<TemplateNumber> {
        let is_free = |weight| self.lanes.free(weight).is_some();
        let (light_free, heavy_free) = (is_free(Weight::Light), is_free(Weight::Heavy));
        if !light_free && !heavy_free {
            return None;
        }
        let candidates = self.queues.iter().filter_map(|(template, queue)| {
            let PlannedPass { next, weight } = queue.planned();
            let has_lane = if *weight == Weight::Light { light_free } else { heavy_free };
            has_lane.then(|| Candidate {
                template,
                oldest_us: queue.oldest().arrived_us,
                due_us: queue.oldest().due_us,
                waits_us: queue.waits_us(next.queries, self.now_us),
                cost_us: next.cost_us,
            })
        });
        choose(candidates, self.now_us, self.queues.sums().round_us)
    }

    /// What lies before the answer of a query that was added to its queue after the sums were `before`; `None` if a pass
    /// of the queue starts at once.
    fn work_ahead(&self, template: TemplateNumber, before: QueueSums) -> Option<WorkAhead> {
        let weight = self.queues.get(template)?.planned().weight;
        if self.lanes.free(weight).is_some() {
            return None;
        }
        let backlog_us = before.backlog_us(weight);
        Some(WorkAhead {
            running_us: self.running.remaining_us(self.now_us, |lane| lane.weight() == Some(weight)),
            backlog_us,
            own_us: (self.queues.sums().backlog_us(weight) - backlog_us).max(0.0),
            lanes: self.lanes.count(weight),
        })
    }

    /// Decides what runs next of a queue, after the queue or what is known of its template has changed.
    fn plan(&mut self, template: TemplateNumber) {
        let Some(queue) = self.queues.get(template) else { return };
        let next = route(queue.load(), &self.models.predictions(template), self.pass_limits(template));
        let weight = self.lanes.weight(next.cost_us);
        self.queues.plan(template, PlannedPass { next, weight });
    }

    fn pass_limits(&self, template: TemplateNumber) -> PassLimits {
        let queries_max = self.options.pass_queries_max;
        let bytes_max = self.options.pass_memory_bytes_max.unwrap_or(u64::MAX);
        let distinct_max = self.models.predictions(template).distinct_max(queries_max, bytes_max);
        PassLimits { queries_max, distinct_max }
    }

    // ---- Events ----

    fn assert_new(&self, ticket: QueryTicket) {
        let waits = self.queues.contains(ticket) || self.unqueued.contains(ticket);
        assert!(!waits && !self.running.contains(ticket), "{ticket} is in use");
    }

    fn advance(&mut self, now_us: u64) {
        self.now_us = self.now_us.max(now_us);
    }

    /// Adds a query to the queue of its template.
    fn queue(&mut self, arrival: Arrival) {
        let due_us = arrival.response_limit.map_or(u64::MAX, |limit| self.now_us.saturating_add(micros(limit) as u64));
        let query = WaitingQuery {
            ticket: arrival.query,
            identity: arrival.identity,
            arrived_us: self.now_us,
            due_us,
            is_global: arrival.mode == SharingMode::Global,
        };
        self.queues.add(arrival.template, query);
        self.plan(arrival.template);
    }

    fn start(
        &mut self,
        template: TemplateNumber,
        lane: Lane,
        form: Form,
        queries: Vec<QueryTicket>,
        distinct: usize,
    ) -> Start {
        self.passes_started += 1;
        let pass = PassNumber(self.passes_started);
        let predictions = self.models.predictions(template);
        let (predicted_us, memory_bytes) = match form {
            Form::Alone => (predictions.alone_us(), None),
            Form::Shared => (predictions.shared_us(distinct), predictions.memory_bytes(distinct)),
        };
        self.models.started(template, form, distinct, predicted_us);
        self.lanes.occupy(lane, pass);
        let running = RunningPass {
            template,
            lane: Some(lane),
            form,
            queries: queries.iter().copied().collect(),
            distinct,
            started_us: self.now_us,
            predicted_us,
            due_us: None,
            executed_us: None,
            is_disturbed: false,
        };
        self.running.start(pass, running);
        Start { pass, lane, template, form, queries, distinct, predicted: duration(predicted_us), memory_bytes }
    }

    /// Learns from an outcome (rule 4).
    fn learn(&mut self, ended: &RunningPass, outcome: Outcome) {
        let (template, form, distinct) = (ended.template, ended.form, ended.distinct);
        let elapsed_us = ended.executed_us.unwrap_or_else(|| ended.elapsed_us(self.now_us));
        let executed_us = outcome.executed.map_or(elapsed_us, micros).min(elapsed_us);
        let execution = Execution { form, distinct, predicted_us: ended.predicted_us, executed_us };
        let forgotten = match outcome.ending {
            Ending::Cancelled => None,
            Ending::Answered if ended.is_disturbed => None,
            Ending::Answered => self.models.answered(template, execution),
            Ending::Failed | Ending::OutOfMemory => self.models.failed(template, form, executed_us),
        };
        self.replan_forgotten(forgotten);
        if let (Ending::Answered, Some(due_us)) = (outcome.ending, ended.due_us) {
            self.admission.observe(self.now_us <= due_us);
        }
        if let Some(bytes) = self.observed_memory(form, outcome) {
            let forgotten = self.models.took_memory(template, distinct, bytes);
            self.replan_forgotten(forgotten);
        }
    }

    /// The memory that a pass is taken to need, in bytes. One that ran out of memory is taken to need twice what a pass is
    /// granted, so that the next one has half as many queries. What other failed passes held says nothing.
    fn observed_memory(&self, form: Form, outcome: Outcome) -> Option<u64> {
        match (form, outcome.ending) {
            (Form::Shared, Ending::Answered) => outcome.memory_bytes,
            (Form::Shared, Ending::OutOfMemory) => {
                let granted_twice = self.options.pass_memory_bytes_max.map(|bytes| bytes.saturating_mul(2));
                outcome.memory_bytes.max(granted_twice)
            }
            _ => None,
        }
    }

    fn replan_forgotten(&mut self, forgotten: Option<TemplateNumber>) {
        if let Some(template) = forgotten {
            self.plan(template);
        }
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn duration(us: f64) -> Duration {
    Duration::from_micros(us.round() as u64)
}
