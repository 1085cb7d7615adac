//! How long the scheduler itself takes for an event, by the number of queues that are not empty.
//!
//! `cargo test --release -p braid-share measurements -- --ignored --nocapture`

use std::time::{Duration, Instant};

use crate::{Arrival, Ending, Outcome, QueryTicket, Scheduler, SchedulerOptions, SharingMode, TemplateNumber};

#[test]
#[ignore = "a measurement"]
fn time_of_an_event_by_queues() {
    println!("| queues | arrival us | start and end us | queries in a start |");
    println!("|---|---|---|---|");
    for queues in [8, 100, 1000, 4000] {
        let mut scheduler = Scheduler::new(SchedulerOptions { light_lanes: 0, ..SchedulerOptions::default() });
        let (mut query, mut now_us) = (0, 0);
        let mut arrive = |scheduler: &mut Scheduler, now_us: u64, template: TemplateNumber| {
            query += 1;
            let (mode, response_limit) = (SharingMode::Auto, Some(Duration::from_secs(1_000_000)));
            let arrival = Arrival { query: QueryTicket(query), template, identity: query, mode, response_limit };
            scheduler.arrive(now_us, arrival).unwrap();
        };
        let (mut arrivals, mut arriving, mut starts, mut starting) = (0_u32, Duration::ZERO, 0_u32, Duration::ZERO);
        let begun = Instant::now();
        for number in 0..16 * queues {
            arrive(&mut scheduler, now_us, TemplateNumber(number % queues));
        }
        arriving += begun.elapsed();
        arrivals += 16 * queues as u32;
        let mut answered = 0;
        for _ in 0..1000 {
            now_us += 30_000;
            let begun = Instant::now();
            let start = scheduler.next_start(now_us).unwrap();
            let outcome = Outcome { ending: Ending::Answered, memory_bytes: None, executed: None };
            scheduler.finished(now_us + 30_000, start.pass, outcome);
            starting += begun.elapsed();
            starts += 1;
            answered += start.queries.len();
            let begun = Instant::now();
            start.queries.iter().for_each(|_| arrive(&mut scheduler, now_us + 30_000, start.template));
            arriving += begun.elapsed();
            arrivals += start.queries.len() as u32;
        }
        let us = |time: Duration, events: u32| time.as_secs_f64() * 1e6 / f64::from(events);
        let size = answered as f64 / f64::from(starts);
        println!("| {queues} | {:.2} | {:.1} | {size:.1} |", us(arriving, arrivals), us(starting, starts));
    }
}
