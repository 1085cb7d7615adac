//! Sharing is never much worse than off, whatever passes cost, and it follows when costs change.
//!
//! Clients keep every template's queue full; one pass runs at a time. The time to answer all queries is compared with that
//! of the same queries alone, one after another, which is what sharing off would take.

use std::collections::BTreeMap;

use crate::{
    Arrival, Ending, Form, Outcome, QueryTicket, Scheduler, SchedulerOptions, SharingMode, Start, TemplateNumber,
};

/// Microseconds of one query alone.
const ALONE_US: f64 = 20_000.0;

/// What passes do: for the share of the queries that are answered, and a start, its microseconds and how it ends.
type World = dyn Fn(f64, &Start) -> (f64, Ending);

/// What a run measured.
struct Measured {
    /// Time relative to that of all queries alone, one after another.
    relative_time: f64,
    /// Share of the queries answered by passes, by tenths of the run.
    shared: [f64; 10],
}

fn run(world: &World, templates: u64, clients: u64, queries: u64) -> Measured {
    let options = SchedulerOptions { light_lanes: 0, ..SchedulerOptions::default() };
    let mut scheduler = Scheduler::new(options);
    let (mut now_us, mut answered, mut arrived) = (0.0_f64, 0, 0);
    let mut tenths: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut arrive = |scheduler: &mut Scheduler, now_us: f64, template: TemplateNumber| {
        arrived += 1;
        let (query, mode) = (QueryTicket(arrived), SharingMode::Auto);
        let arrival = Arrival { query, template, identity: arrived, mode, response_limit: None };
        scheduler.arrive(now_us as u64, arrival).unwrap();
    };
    for client in 0..clients * templates {
        arrive(&mut scheduler, now_us, TemplateNumber(client % templates));
    }
    while answered < queries {
        let start = scheduler.next_start(now_us as u64).unwrap();
        assert!(scheduler.next_start(now_us as u64).is_none());
        let (us, ending) = world(answered as f64 / queries as f64, &start);
        now_us += us;
        let outcome = Outcome { ending, memory_bytes: None, executed: None };
        scheduler.finished(now_us as u64, start.pass, outcome);
        let count = start.queries.len() as u64;
        if ending == Ending::Answered {
            let tenth = tenths.entry((10 * answered / queries).min(9)).or_default();
            tenth.0 += if start.form == Form::Shared { count } else { 0 };
            tenth.1 += count;
            answered += count;
        }
        (0..count).for_each(|_| arrive(&mut scheduler, now_us, start.template));
    }
    let share = |tenth| tenths.get(&tenth).map_or(0.0, |(shared, all)| *shared as f64 / *all as f64);
    Measured {
        relative_time: now_us / (answered as f64 * ALONE_US),
        shared: std::array::from_fn(|at| share(at as u64)),
    }
}

/// A pass takes `factor` times as long as its queries alone.
fn proportional(factor: f64, start: &Start) -> (f64, Ending) {
    let factor = if start.form == Form::Alone { 1.0 } else { factor };
    (ALONE_US * start.distinct as f64 * factor, Ending::Answered)
}

#[test]
fn passes_that_never_pay_cost_a_few_percent() {
    for templates in [1, 8] {
        for clients in [2, 32] {
            for factor in [1.1, 20.0] {
                let queries = 10_000 * templates;
                let measured = run(&move |_, start: &Start| proportional(factor, start), templates, clients, queries);
                let found = measured.relative_time;
                // The first pass of each size is a discovery; after it, trials are one percent.
                let first_pass = factor * clients as f64 * 2.0 / 10_000.0;
                assert!(found < 1.02 + first_pass, "{templates} templates, {clients} clients, {factor}: {found}");
            }
        }
    }
}

#[test]
fn passes_that_always_fail_cost_a_few_percent() {
    let world = |_, start: &Start| {
        let ending = if start.form == Form::Shared { Ending::Failed } else { Ending::Answered };
        (ALONE_US * if start.form == Form::Shared { 3.0 } else { 1.0 }, ending)
    };
    let found = run(&world, 4, 16, 10_000).relative_time;
    assert!(found < 1.03, "{found}");
}

#[test]
fn the_choice_follows_when_costs_change() {
    // Passes pay, then they do not, then they do again.
    let world = |at: f64, start: &Start| proportional(if (0.3..0.6).contains(&at) { 2.0 } else { 0.1 }, start);
    let measured = run(&world, 1, 8, 100_000);
    let shared = measured.shared;
    assert!([0, 1, 2, 8, 9].iter().all(|&tenth| shared[tenth] > 0.9), "{shared:?}");
    assert!([4, 5].iter().all(|&tenth| shared[tenth] < 0.05), "{shared:?}");
}

#[test]
fn the_choice_follows_when_one_query_alone_becomes_cheap() {
    // Passes pay until queries alone become 10 times cheaper, for example by a better plan.
    let world = |at: f64, start: &Start| match start.form {
        Form::Shared => (ALONE_US * 3.0, Ending::Answered),
        Form::Alone => (if at < 0.5 { ALONE_US } else { ALONE_US / 10.0 }, Ending::Answered),
    };
    let shared = run(&world, 1, 8, 100_000).shared;
    assert!(shared[..4].iter().all(|share| *share > 0.9), "{shared:?}");
    assert!(shared[8..].iter().all(|share| *share < 0.1), "{shared:?}");
}

#[test]
fn equal_queries_are_one_query() {
    let mut scheduler = Scheduler::new(SchedulerOptions::default());
    let template = TemplateNumber(1);
    for ticket in 1..=9 {
        let (query, mode) = (QueryTicket(ticket), SharingMode::Auto);
        let arrival = Arrival { query, template, identity: ticket % 3, mode, response_limit: None };
        scheduler.arrive(0, arrival).unwrap();
    }
    // The first query of a template runs alone, and answers its equals; then two distinct queries are left.
    let first = scheduler.next_start(0).unwrap();
    assert_eq!((first.form, first.distinct, first.queries), (Form::Alone, 1, [1, 4, 7].map(QueryTicket).to_vec()));
    let outcome = Outcome { ending: Ending::Answered, memory_bytes: None, executed: None };
    scheduler.finished(20_000, first.pass, outcome);
    let second = scheduler.next_start(20_000).unwrap();
    let rest = [2, 3, 5, 6, 8, 9].map(QueryTicket).to_vec();
    assert_eq!((second.form, second.distinct, second.queries), (Form::Shared, 2, rest));
}
