//! The closed loop: N clients, each with one query at a time of a random type, no think time.
//!
//! Three choices of the next queue are compared: to take all types that wait and run their passes one after another
//! (SharedDB, section 3.2: "the queues are emptied in order to form the next batch"), round robin over the types, and the
//! scheduler. The first two need no costs, the scheduler learns them. All queries are distinct.

use std::collections::{BTreeMap, VecDeque};

use braid_base::{Random, SeededRandom};
use braid_testing::cases;

use super::machine::Machine;
use super::pass_costs::{TYPE_COUNT, alone_us, shared_us};
use crate::{
    Arrival, Ending, Form, Outcome, PassNumber, QueryTicket, Scheduler, SchedulerOptions, SharingMode, TemplateNumber,
};

/// A pass that a server starts, with the clients that it answers.
struct Started {
    pass: u64,
    kind: usize,
    form: Form,
    clients: Vec<usize>,
}

/// What answers the clients.
trait Server {
    fn arrive(&mut self, now_us: u64, client: usize, kind: usize);
    fn next_start(&mut self, now_us: u64) -> Option<Started>;
    fn finished(&mut self, now_us: u64, pass: u64);
}

/// The scheduler of this crate.
struct Scheduled {
    scheduler: Scheduler,
    queries: u64,
    client_of: BTreeMap<QueryTicket, usize>,
}

impl Scheduled {
    fn new(options: SchedulerOptions) -> Self {
        Self { scheduler: Scheduler::new(options), queries: 0, client_of: BTreeMap::new() }
    }
}

impl Server for Scheduled {
    fn arrive(&mut self, now_us: u64, client: usize, kind: usize) {
        self.queries += 1;
        let arrival = Arrival {
            query: QueryTicket(self.queries),
            template: TemplateNumber(kind as u64),
            identity: self.queries,
            mode: SharingMode::Auto,
            response_limit: None,
        };
        self.client_of.insert(arrival.query, client);
        self.scheduler.arrive(now_us, arrival).unwrap();
    }

    fn next_start(&mut self, now_us: u64) -> Option<Started> {
        let start = self.scheduler.next_start(now_us)?;
        let clients = start.queries.iter().map(|ticket| self.client_of.remove(ticket).unwrap()).collect();
        Some(Started { pass: start.pass.0, kind: start.template.0 as usize, form: start.form, clients })
    }

    fn finished(&mut self, now_us: u64, pass: u64) {
        let outcome = Outcome { ending: Ending::Answered, memory_bytes: None, executed: None };
        self.scheduler.finished(now_us, PassNumber(pass), outcome);
    }
}

/// A choice that needs no costs: one pass at a time.
struct Simple {
    waiting: [Vec<usize>; TYPE_COUNT],
    /// Takes all types at once; otherwise one after another.
    takes_all: bool,
    taken: VecDeque<(usize, Vec<usize>)>,
    next: usize,
    is_busy: bool,
}

impl Simple {
    fn new(takes_all: bool) -> Self {
        Self { waiting: Default::default(), takes_all, taken: VecDeque::new(), next: 0, is_busy: false }
    }

    fn take(&mut self, kind: usize) -> Option<(usize, Vec<usize>)> {
        let clients = std::mem::take(&mut self.waiting[kind]);
        (!clients.is_empty()).then_some((kind, clients))
    }
}

impl Server for Simple {
    fn arrive(&mut self, _now_us: u64, client: usize, kind: usize) {
        self.waiting[kind].push(client);
    }

    fn next_start(&mut self, _now_us: u64) -> Option<Started> {
        if self.is_busy {
            return None;
        }
        if self.taken.is_empty() {
            let count = if self.takes_all { TYPE_COUNT } else { 1 };
            let kinds = (self.next..self.next + TYPE_COUNT).map(|kind| kind % TYPE_COUNT);
            self.taken = kinds.filter_map(|kind| self.take(kind).map(|taken| (kind, taken.1))).take(count).collect();
        }
        let (kind, clients) = self.taken.pop_front()?;
        self.is_busy = true;
        self.next = kind + 1;
        let form = if clients.len() == 1 { Form::Alone } else { Form::Shared };
        Some(Started { pass: 0, kind, form, clients })
    }

    fn finished(&mut self, _now_us: u64, _pass: u64) {
        self.is_busy = false;
    }
}

/// What a run measured.
struct Measured {
    queries_per_s: f64,
    response_s_max: f64,
}

/// Virtual time of a run; the first sixth of it, in which the scheduler learns, is not counted.
const RUN_US: f64 = 60e6;

/// Runs a server with this many clients. Times vary by 10 % around the table's.
fn run(server: &mut dyn Server, clients: usize, seed: u64) -> Measured {
    let mut random = SeededRandom::new(seed);
    let mut machine = Machine::new();
    let mut arrived_us = vec![0.0; clients];
    let mut idle: Vec<usize> = (0..clients).collect();
    let (mut now_us, mut answered, mut response_us_max) = (0.0_f64, 0_u64, 0.0_f64);
    let mut running: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    while now_us < RUN_US {
        for client in idle.drain(..) {
            arrived_us[client] = now_us;
            server.arrive(now_us as u64, client, random.below(TYPE_COUNT as u64) as usize);
        }
        while let Some(start) = server.next_start(now_us as u64) {
            let work_us = match start.form {
                Form::Alone => alone_us(start.kind),
                Form::Shared => shared_us(start.kind, start.clients.len()),
            };
            machine.start(start.pass, work_us * (0.9 + 0.2 * random.below(1000) as f64 / 1000.0));
            running.insert(start.pass, start.clients);
        }
        now_us = machine.next_end_us().unwrap();
        let Some(pass) = machine.advance(now_us) else { continue };
        server.finished(now_us as u64, pass);
        idle = running.remove(&pass).unwrap();
        if now_us >= RUN_US / 6.0 {
            answered += idle.len() as u64;
            response_us_max = idle.iter().map(|&client| now_us - arrived_us[client]).fold(response_us_max, f64::max);
        }
    }
    Measured { queries_per_s: answered as f64 / (RUN_US * 5.0 / 6.0 / 1e6), response_s_max: response_us_max / 1e6 }
}

/// The servers that are compared: take all, round robin, waits over cost in one lane, the same with a light lane.
fn servers() -> [Box<dyn Server>; 4] {
    let one_lane = SchedulerOptions { light_lanes: 0, ..SchedulerOptions::default() };
    [
        Box::new(Simple::new(true)),
        Box::new(Simple::new(false)),
        Box::new(Scheduled::new(one_lane)),
        Box::new(Scheduled::new(SchedulerOptions::default())),
    ]
}

#[test]
fn waits_over_cost_answers_the_most_queries() {
    println!("queries/s (longest response in s)");
    println!("| clients | take all | round robin | waits / cost | waits / cost, light lane |");
    println!("|---|---|---|---|---|");
    for case in cases!(1..2) {
        for clients in [1, 4, 12, 64, 256, 1024] {
            let measured = servers().map(|mut server| run(server.as_mut(), clients, case.seed));
            print(clients, &measured);
            check(clients, measured.map(|measured| measured.queries_per_s));
        }
    }
}

fn print(clients: usize, measured: &[Measured]) {
    let cell = |measured: &Measured| format!("{:.0} ({:.2})", measured.queries_per_s, measured.response_s_max);
    let cells: Vec<String> = measured.iter().map(cell).collect();
    println!("| {clients} | {} |", cells.join(" | "));
}

/// Queries per second are in the order of [`servers`].
fn check(clients: usize, [take_all, round_robin, one_lane, light_lane]: [f64; 4]) {
    let best = take_all.max(round_robin);
    for (name, found) in [("one lane", one_lane), ("light lane", light_lane)] {
        assert!(found >= 0.97 * best, "{name}, {clients} clients: {found} queries/s of {best}");
        assert!(clients != 64 || found >= 1.5 * take_all, "{name}, 64 clients: {found}, take all {take_all}");
    }
}
