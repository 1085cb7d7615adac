//! Seeded random schedules: arrivals in all modes, queries attached to passes that run, departures of waiting and running queries, passes that are answered,
//! fail, run out of memory or are cancelled, lanes given up, templates forgotten, limits changed.
//!
//! After every event the scheduler is compared with a model that knows where each query is. In the end everything is left
//! to run out. Checked are: every accepted query is in exactly one start unless it left before; lanes never hold two
//! passes; no lane stays free for a query that waits; passes respect their limits; the queries of a template start in order
//! (those that overtake are equal to one that started); no query waits longer than the bound of `choice.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use braid_base::{Random, SeededRandom};
use braid_testing::{Cases, cases};

use crate::{
    Arrival, Attachment, Departure, Ending, Form, Lane, Outcome, PassNumber, QueryTicket, Refusal, Scheduler,
    SchedulerOptions, SharingMode, Start, TemplateNumber,
};

/// A query that waits, as the model knows it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    template: TemplateNumber,
    identity: u64,
    mode: SharingMode,
    arrived_us: u64,
    /// Passes in heavy lanes that may start before it, once it is overdue; counted down. `None` before.
    passes_before: Option<usize>,
}

/// A pass that runs, as the model knows it.
#[derive(Clone, Debug)]
struct Running {
    start: Start,
    lane: Option<Lane>,
    queries: BTreeSet<QueryTicket>,
}

struct Schedule {
    random: SeededRandom,
    options: SchedulerOptions,
    scheduler: Scheduler,
    waiting: BTreeMap<QueryTicket, Waiting>,
    running: BTreeMap<PassNumber, Running>,
    templates: u64,
    has_response_limits: bool,
    queries: u64,
    now_us: u64,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let options = SchedulerOptions {
            heavy_lanes: 1 + random.below(2) as usize,
            light_lanes: random.below(3) as usize,
            unqueued_max: 1 + random.below(3) as usize,
            pass_queries_max: 1 + random.below(12) as usize,
            pass_memory_bytes_max: random.chance(1, 2).then_some(1000),
            waiting_max: 5 + random.below(60) as usize,
            models_max: 1 + random.below(6) as usize,
            ..SchedulerOptions::default()
        };
        Self {
            templates: 1 + random.below(8),
            has_response_limits: random.chance(1, 2),
            random,
            scheduler: Scheduler::new(options),
            options,
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            queries: 0,
            now_us: 0,
        }
    }

    fn run(&mut self) {
        for _ in 0..400 {
            self.now_us += self.random.below(40_000);
            match self.random.below(20) {
                0..9 => self.arrive(),
                9..11 => self.attach(),
                11..13 => self.leave(),
                13 => self.change_settings(),
                14 => self.give_up_lane(),
                _ => self.finish(),
            }
            self.start_passes();
            self.check_views();
        }
        while !self.running.is_empty() {
            self.now_us += self.random.below(40_000);
            self.finish();
            self.start_passes();
            self.check_views();
        }
        assert!(self.waiting.is_empty(), "queries are left behind: {:?}", self.waiting);
        assert_eq!(self.scheduler.waiting_count(), 0);
        assert!(self.scheduler.known_templates() <= self.options.models_max);
    }

    fn arrive(&mut self) {
        self.queries += 1;
        let mode = match self.random.below(12) {
            0 => SharingMode::Off,
            1 => SharingMode::Global,
            _ => SharingMode::Auto,
        };
        let limited = self.has_response_limits && self.random.chance(1, 3);
        let arrival = Arrival {
            query: QueryTicket(self.queries),
            template: TemplateNumber(self.random.below(self.templates)),
            identity: self.random.below(10),
            mode,
            response_limit: limited.then(|| Duration::from_micros(self.random.below(1_000_000))),
        };
        let queued = self.waiting.values().filter(|query| query.mode != SharingMode::Off).count();
        match self.scheduler.arrive(self.now_us, arrival) {
            Ok(()) => {
                let Arrival { template, identity, .. } = arrival;
                let query = Waiting { template, identity, mode, arrived_us: self.now_us, passes_before: None };
                self.waiting.insert(arrival.query, query);
            }
            Err(Refusal::TooManyWaiting { waiting, waiting_max }) => {
                assert_eq!((waiting, waiting_max), (queued, self.options.waiting_max));
                assert_eq!(waiting, waiting_max);
            }
            Err(Refusal::TooSlow { predicted, limit }) => {
                assert!(predicted > limit && arrival.response_limit == Some(limit));
            }
        }
    }

    /// A query is attached to a pass, which may have ended.
    fn attach(&mut self) {
        self.queries += 1;
        let known = self.some_running();
        let pass = known.filter(|_| self.random.chance(9, 10)).unwrap_or(PassNumber(self.random.below(1000)));
        let limited = self.has_response_limits && self.random.chance(1, 3);
        let response_limit = limited.then(|| Duration::from_micros(self.random.below(100_000)));
        let query = QueryTicket(self.queries);
        let views = self.scheduler.running();
        let is_attached = self.scheduler.attach(self.now_us, Attachment { query, pass, response_limit });
        let view = views.iter().find(|view| view.pass == pass);
        let takes_queries =
            view.is_some_and(|view| view.lane.is_some() && (1..self.options.waiting_max).contains(&view.queries.len()));
        let rest = view.map(|view| view.predicted.saturating_sub(Duration::from_micros(self.now_us - view.started_us)));
        assert!(!is_attached || takes_queries);
        assert!(is_attached || !takes_queries || response_limit.is_some(), "{pass} did not take an equal query");
        if let (true, Some(limit), Some(rest)) = (is_attached, response_limit, rest) {
            assert!(rest <= limit + Duration::from_micros(1), "{rest:?}, {limit:?}");
        }
        if is_attached {
            self.running.get_mut(&pass).unwrap().queries.insert(query);
        }
    }

    fn leave(&mut self) {
        let ticket = QueryTicket(1 + self.random.below(self.queries + 2));
        let departure = self.scheduler.leave(self.now_us, ticket);
        if self.waiting.remove(&ticket).is_some() {
            assert_eq!(departure, Departure::Waited);
            return;
        }
        let pass = self.running.iter_mut().find(|(_, running)| running.queries.contains(&ticket));
        let expected = pass.map(|(&pass, running)| {
            running.queries.remove(&ticket);
            Departure::Ran { pass, remaining: running.queries.len() }
        });
        assert_eq!(departure, expected.unwrap_or(Departure::Unknown));
    }

    fn change_settings(&mut self) {
        if self.random.chance(1, 2) {
            self.options.pass_memory_bytes_max = self.random.chance(1, 2).then(|| self.random.below(4000));
            self.scheduler.set_pass_memory(self.options.pass_memory_bytes_max);
        } else {
            self.scheduler.forget_template(TemplateNumber(self.random.below(self.templates)));
        }
    }

    fn some_running(&mut self) -> Option<PassNumber> {
        let count = self.running.len() as u64;
        (count > 0).then(|| *self.running.keys().nth(self.random.below(count) as usize).unwrap())
    }

    fn give_up_lane(&mut self) {
        if let Some(pass) = self.some_running() {
            self.scheduler.give_up_lane(self.now_us, pass);
            self.running.get_mut(&pass).unwrap().lane = None;
        }
    }

    fn finish(&mut self) {
        let Some(pass) = self.some_running() else { return };
        let ended = self.running.remove(&pass).unwrap();
        let ending = match self.random.below(8) {
            0 => Ending::Failed,
            1 => Ending::OutOfMemory,
            _ if ended.queries.is_empty() => Ending::Cancelled,
            _ => Ending::Answered,
        };
        let memory_bytes = self.random.chance(1, 2).then(|| self.random.below(3000));
        let executed = self.random.chance(1, 4).then(|| Duration::from_micros(self.random.below(100_000)));
        self.scheduler.finished(self.now_us, pass, Outcome { ending, memory_bytes, executed });
        assert_eq!(self.scheduler.leave(self.now_us, ended.start.queries[0]), Departure::Unknown);
    }

    fn start_passes(&mut self) {
        loop {
            self.count_passes_before();
            let Some(start) = self.scheduler.next_start(self.now_us) else { break };
            self.check_start(&start);
            let queries = start.queries.iter().copied().collect();
            self.running.insert(start.pass, Running { lane: Some(start.lane), queries, start });
        }
        self.check_lanes_are_used();
    }

    /// `choice.rs`: from when a query is overdue, at most as many passes start before it as queries wait.
    fn count_passes_before(&mut self) {
        let bound_us = self.scheduler.wait_bound().as_micros() as u64;
        let waiting = self.waiting.len();
        for query in self.waiting.values_mut() {
            let is_overdue = self.now_us > query.arrived_us + bound_us;
            // The bound grows with the queues, so that a query may be overdue and then not.
            query.passes_before = is_overdue.then_some(query.passes_before.unwrap_or(waiting));
        }
    }

    fn check_start(&mut self, start: &Start) {
        assert!(start.queries.iter().collect::<BTreeSet<_>>().len() == start.queries.len(), "a query starts twice");
        let started: Vec<(QueryTicket, Waiting)> =
            start.queries.iter().map(|ticket| (*ticket, self.take(ticket))).collect();
        assert!(started.iter().all(|(_, query)| query.template == start.template));
        let identities: BTreeSet<u64> = started.iter().map(|(_, query)| query.identity).collect();
        assert_eq!(start.distinct, identities.len());
        assert!(!started.is_empty() && started.len() <= self.options.pass_queries_max);
        assert!(start.queries.is_sorted(), "oldest first");
        let modes: BTreeSet<bool> = started.iter().map(|(_, query)| query.mode == SharingMode::Off).collect();
        assert_eq!(modes, BTreeSet::from([start.lane == Lane::Unqueued]));
        if start.lane == Lane::Unqueued {
            assert_eq!((start.distinct, start.form), (1, Form::Alone));
            self.check_order_beside(start, &started);
            return;
        }
        assert!(start.form == Form::Shared || start.distinct == 1);
        assert!(start.form == Form::Shared || started.iter().all(|(_, query)| query.mode == SharingMode::Auto));
        if let (Some(bytes), Some(bytes_max)) = (start.memory_bytes, self.options.pass_memory_bytes_max) {
            assert!(bytes <= bytes_max || start.distinct == 1, "{bytes} bytes of {bytes_max}");
        }
        let taken = |lane: Lane| self.running.values().any(|running| running.lane == Some(lane));
        assert!(!taken(start.lane), "two passes have lane {}", start.lane);
        self.check_order(start, &started);
        if matches!(start.lane, Lane::Heavy(_)) {
            self.count_down();
        }
    }

    fn take(&mut self, ticket: &QueryTicket) -> Waiting {
        self.waiting.remove(ticket).expect("only waiting queries start, each once")
    }

    /// Of the queries with sharing off, none that stays is older than the first that starts.
    fn check_order_beside(&self, start: &Start, started: &[(QueryTicket, Waiting)]) {
        let mut staying = self.waiting.iter().filter(|(_, query)| query.mode == SharingMode::Off);
        assert!(staying.all(|(ticket, _)| *ticket > started[0].0), "{} overtakes", start.pass);
    }

    /// Among the queries of the template that stay, none is older than one that starts, unless that one is equal to the
    /// oldest.
    fn check_order(&self, start: &Start, started: &[(QueryTicket, Waiting)]) {
        let stays = |query: &Waiting| query.template == start.template && query.mode != SharingMode::Off;
        let oldest_staying = self.waiting.iter().find(|(_, query)| stays(query)).map(|(ticket, _)| *ticket);
        let Some(oldest_staying) = oldest_staying else { return };
        assert!(started[0].0 < oldest_staying, "a younger query starts before the oldest");
        if start.form == Form::Shared {
            assert!(
                started.iter().all(|(ticket, _)| *ticket < oldest_staying),
                "a pass is not the oldest of its queue"
            );
        }
    }

    /// Response limits make younger queries overdue, in any number; then only the end of the run shows that none starves.
    fn count_down(&mut self) {
        if self.has_response_limits {
            return;
        }
        for (ticket, query) in self.waiting.iter_mut().filter(|(_, query)| query.mode != SharingMode::Off) {
            if let Some(passes) = &mut query.passes_before {
                *passes = passes.checked_sub(1).unwrap_or_else(|| panic!("{ticket} starves"));
            }
        }
    }

    /// No heavy lane is free while a query waits, and no light lane while a light pass does.
    fn check_lanes_are_used(&self) {
        let lanes = || self.running.values().filter_map(|running| running.lane);
        let heavy = lanes().filter(|lane| matches!(lane, Lane::Heavy(_))).count();
        let light = lanes().filter(|lane| matches!(lane, Lane::Light(_))).count();
        let beside = lanes().filter(|lane| *lane == Lane::Unqueued).count();
        let (unqueued, queued): (Vec<&Waiting>, Vec<&Waiting>) =
            self.waiting.values().partition(|query| query.mode == SharingMode::Off);
        assert!(queued.is_empty() || heavy == self.options.heavy_lanes, "a lane is free and queries wait");
        assert!(beside <= self.options.unqueued_max, "{beside} queries run beside the lanes");
        assert!(
            unqueued.is_empty() || beside == self.options.unqueued_max,
            "queries beside the lanes wait for nothing"
        );
        let is_light = self.scheduler.waiting().iter().any(|view| view.predicted < self.options.light_below);
        assert!(!is_light || light == self.options.light_lanes, "a light lane is free and a light pass waits");
    }

    fn check_views(&self) {
        let views = self.scheduler.waiting();
        let queued = || self.waiting.values().filter(|query| query.mode != SharingMode::Off);
        assert_eq!(views.iter().map(|view| view.queries).sum::<usize>(), queued().count());
        for view in &views {
            let mine = || queued().filter(|query| query.template == view.template);
            let identities: BTreeSet<u64> = mine().map(|query| query.identity).collect();
            let oldest_us = mine().map(|query| query.arrived_us).min().unwrap();
            assert_eq!((view.queries, view.distinct), (mine().count(), identities.len()));
            assert_eq!(view.longest_wait, Duration::from_micros(self.now_us - oldest_us));
        }
        let running = self.scheduler.running();
        assert_eq!(running.len(), self.running.len());
        for view in running {
            let known = &self.running[&view.pass];
            assert_eq!((view.template, view.lane, view.form), (known.start.template, known.lane, known.start.form));
            assert!(view.queries.iter().eq(&known.queries));
        }
    }
}

fn run_cases(cases: Cases) {
    for case in cases {
        Schedule::new(case.seed).run();
    }
}

#[test]
fn nothing_is_lost_twice_or_late_under_random_events() {
    run_cases(cases!(0..400));
}
