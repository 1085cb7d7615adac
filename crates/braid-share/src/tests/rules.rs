//! One rule of `scheduler.rs` at a time, step by step.

use std::time::Duration;

use crate::{
    Arrival, Attachment, Departure, Ending, Form, Lane, Outcome, PassNumber, QueryTicket, Refusal, Scheduler,
    SchedulerOptions, SharingMode, Start, TemplateNumber,
};

const A: TemplateNumber = TemplateNumber(1);
const B: TemplateNumber = TemplateNumber(2);

/// A scheduler with the steps of these tests. Each query is distinct.
struct Steps {
    scheduler: Scheduler,
    now_us: u64,
}

impl Steps {
    fn new(options: SchedulerOptions) -> Self {
        Self { scheduler: Scheduler::new(options), now_us: 0 }
    }

    /// Templates `A` and `B` are known: 20 ms alone, passes of 4 queries 30 ms.
    fn with_known_templates(options: SchedulerOptions) -> Self {
        let mut steps = Self::new(options);
        for template in [A, B] {
            steps.arrive(template, &[1000]);
            steps.finish_next(20_000);
            steps.arrive(template, &[1001, 1002, 1003, 1004]);
            steps.finish_next(30_000);
        }
        steps
    }

    fn arrive_as(&mut self, mode: SharingMode, template: TemplateNumber, query: u64) -> Result<(), Refusal> {
        self.arrive_with(mode, template, query, None)
    }

    fn arrive_with(
        &mut self,
        mode: SharingMode,
        template: TemplateNumber,
        query: u64,
        response_limit: Option<Duration>,
    ) -> Result<(), Refusal> {
        let arrival = Arrival { query: QueryTicket(query), template, identity: query, mode, response_limit };
        self.scheduler.arrive(self.now_us, arrival)
    }

    fn arrive(&mut self, template: TemplateNumber, queries: &[u64]) {
        queries.iter().for_each(|&query| self.arrive_as(SharingMode::Auto, template, query).unwrap());
    }

    fn next(&mut self) -> Option<Start> {
        self.scheduler.next_start(self.now_us)
    }

    fn finish(&mut self, pass: PassNumber, after_us: u64, ending: Ending, memory_bytes: Option<u64>) {
        self.now_us += after_us;
        self.scheduler.finished(self.now_us, pass, Outcome { ending, memory_bytes, executed: None });
    }

    /// Starts the next pass and answers it `after_us`.
    fn finish_next(&mut self, after_us: u64) -> Start {
        let start = self.next().unwrap();
        self.finish(start.pass, after_us, Ending::Answered, None);
        start
    }

    fn predicted_ms(&self, template: TemplateNumber) -> u128 {
        let views = self.scheduler.waiting();
        views.iter().find(|view| view.template == template).unwrap().predicted.as_millis()
    }
}

fn tickets(queries: &[u64]) -> Vec<QueryTicket> {
    queries.iter().map(|&query| QueryTicket(query)).collect()
}

#[test]
fn an_idle_machine_starts_a_query_at_once_alone_and_a_busy_one_lets_it_wait_with_its_like() {
    let mut steps = Steps::with_known_templates(SchedulerOptions::default());
    steps.arrive(A, &[1]);
    let first = steps.next().unwrap();
    assert_eq!((first.form, first.lane, first.predicted.as_millis()), (Form::Alone, Lane::Heavy(0), 20));
    steps.arrive(A, &[2, 3]);
    steps.arrive(B, &[4]);
    assert_eq!(steps.next(), None);
    assert_eq!(steps.scheduler.waiting_count(), 3);
    steps.finish(first.pass, 20_000, Ending::Answered, None);
    let second = steps.next().unwrap();
    assert_eq!((second.template, second.form, second.queries), (A, Form::Shared, tickets(&[2, 3])));
    assert_eq!(steps.next(), None);
    steps.finish(second.pass, 25_000, Ending::Answered, None);
    assert_eq!(steps.next().unwrap().queries, tickets(&[4]));
}

#[test]
fn off_is_never_queued_and_global_is_always_a_pass() {
    let mut steps = Steps::with_known_templates(SchedulerOptions::default());
    steps.arrive(A, &[1]);
    steps.next().unwrap();
    steps.arrive_as(SharingMode::Off, A, 2).unwrap();
    steps.arrive_as(SharingMode::Off, A, 3).unwrap();
    for query in [2, 3] {
        let start = steps.next().unwrap();
        assert_eq!((start.lane, start.form, start.queries), (Lane::Unqueued, Form::Alone, tickets(&[query])));
    }
    let mut steps = Steps::with_known_templates(SchedulerOptions::default());
    steps.arrive_as(SharingMode::Global, A, 1).unwrap();
    let start = steps.next().unwrap();
    assert_eq!((start.form, start.queries), (Form::Shared, tickets(&[1])));
}

#[test]
fn queries_beside_the_lanes_wait_for_each_other_beyond_their_bound_and_equal_ones_run_once() {
    let mut steps = Steps::with_known_templates(SchedulerOptions { unqueued_max: 2, ..SchedulerOptions::default() });
    for (query, identity) in [(1, 1), (2, 2), (3, 3), (4, 1), (5, 3), (6, 4)] {
        let (mode, response_limit) = (SharingMode::Off, None);
        let arrival = Arrival { query: QueryTicket(query), template: A, identity, mode, response_limit };
        steps.scheduler.arrive(0, arrival).unwrap();
    }
    let first = steps.next().unwrap();
    assert_eq!((first.lane, first.form, first.queries), (Lane::Unqueued, Form::Alone, tickets(&[1, 4])));
    let second = steps.next().unwrap();
    assert_eq!(second.queries, tickets(&[2]));
    // The lanes are free for others.
    steps.arrive(B, &[7]);
    assert_eq!(steps.next().unwrap().queries, tickets(&[7]));
    assert_eq!(steps.next(), None);
    assert_eq!(steps.scheduler.leave(0, QueryTicket(3)), Departure::Waited);
    // One that waits for its reader lets the next one start, one that ends as well.
    steps.scheduler.give_up_lane(0, first.pass);
    assert_eq!(steps.next().unwrap().queries, tickets(&[5]));
    assert_eq!(steps.next(), None);
    steps.finish(second.pass, 10, Ending::Failed, None);
    assert_eq!(steps.next().unwrap().queries, tickets(&[6]));
}

#[test]
fn light_passes_do_not_wait_for_heavy_ones() {
    let mut steps = Steps::new(SchedulerOptions::default());
    steps.arrive(A, &[1000]);
    steps.finish_next(3000);
    steps.arrive(B, &[1]);
    assert_eq!(steps.next().unwrap().lane, Lane::Heavy(0));
    steps.arrive(A, &[2]);
    let light = steps.next().unwrap();
    assert_eq!((light.lane, light.predicted.as_millis()), (Lane::Light(0), 3));
    steps.arrive(A, &[3]);
    assert_eq!(steps.next(), None);
    // It turns out long: it just finishes, and the next one is heavy.
    steps.finish(light.pass, 60_000, Ending::Answered, None);
    assert_eq!(steps.predicted_ms(A), 6);
    assert_eq!(steps.next(), None);
}

#[test]
fn queries_leave_wherever_they_are() {
    let mut steps = Steps::with_known_templates(SchedulerOptions::default());
    steps.arrive(A, &[1]);
    let first = steps.next().unwrap();
    steps.arrive(A, &[2, 3, 4]);
    let leave = |steps: &mut Steps, query| steps.scheduler.leave(steps.now_us, QueryTicket(query));
    assert_eq!(leave(&mut steps, 3), Departure::Waited);
    assert_eq!(leave(&mut steps, 3), Departure::Unknown);
    assert_eq!(leave(&mut steps, 1), Departure::Ran { pass: first.pass, remaining: 0 });
    assert_eq!(steps.next(), None, "a pass has its lane until it ends");
    steps.finish(first.pass, 1, Ending::Cancelled, None);
    let second = steps.next().unwrap();
    assert_eq!(second.queries, tickets(&[2, 4]));
    assert_eq!(leave(&mut steps, 4), Departure::Ran { pass: second.pass, remaining: 1 });
    assert_eq!(steps.scheduler.running()[0].queries, tickets(&[2]));
    steps.arrive_as(SharingMode::Off, A, 5).unwrap();
    assert_eq!(leave(&mut steps, 5), Departure::Waited);
    assert_eq!(steps.next(), None);
}

#[test]
fn only_answered_passes_teach_times() {
    for (ending, expected_ms) in
        [(Ending::Answered, 28), (Ending::Failed, 20), (Ending::OutOfMemory, 20), (Ending::Cancelled, 20)]
    {
        let mut steps = Steps::with_known_templates(SchedulerOptions::default());
        steps.arrive(A, &[1]);
        let start = steps.next().unwrap();
        steps.finish(start.pass, 40_000, ending, None);
        steps.arrive(A, &[2]);
        assert_eq!(steps.predicted_ms(A), expected_ms, "{ending:?}");
    }
}

#[test]
fn an_unqueued_query_teaches_only_if_it_has_the_machine_to_itself() {
    for (others, expected_ms) in [(0, 28), (1, 20)] {
        let mut steps = Steps::with_known_templates(SchedulerOptions::default());
        steps.arrive_as(SharingMode::Off, A, 1).unwrap();
        let start = steps.next().unwrap();
        for other in 0..others {
            steps.arrive(B, &[10 + other]);
            steps.next().unwrap();
        }
        steps.finish(start.pass, 40_000, Ending::Answered, None);
        steps.arrive(A, &[2]);
        assert_eq!(steps.predicted_ms(A), expected_ms, "{others} others");
    }
}

#[test]
fn a_pass_is_divided_by_memory_and_more_so_after_it_ran_out() {
    let options = SchedulerOptions { pass_memory_bytes_max: Some(1000), ..SchedulerOptions::default() };
    let mut steps = Steps::with_known_templates(options);
    // A pass of 4 took 500 bytes, so 8 queries fit.
    steps.arrive(A, &[1, 2, 3, 4]);
    let start = steps.next().unwrap();
    steps.finish(start.pass, 30_000, Ending::Answered, Some(500));
    steps.arrive(A, &(11..=30).collect::<Vec<_>>());
    let start = steps.next().unwrap();
    assert_eq!((start.queries, start.memory_bytes), (tickets(&[11, 12, 13, 14, 15, 16, 17, 18]), Some(1000)));
    // They did not fit after all: the next pass takes half as many or fewer.
    steps.finish(start.pass, 30_000, Ending::OutOfMemory, None);
    let start = steps.next().unwrap();
    assert!(start.queries.len() <= 5 && start.queries[0] == QueryTicket(19), "{start:?}");
    // With more memory the rest is one pass.
    steps.scheduler.set_pass_memory(None);
    steps.finish(start.pass, 30_000, Ending::Answered, None);
    let rest = 12 - start.queries.len();
    assert_eq!(steps.next().unwrap().queries.len(), rest);
}

#[test]
fn a_full_queue_and_a_late_answer_are_refused_and_leave_nothing_behind() {
    let options = SchedulerOptions { waiting_max: 4, ..SchedulerOptions::default() };
    let mut steps = Steps::with_known_templates(options);
    steps.arrive(A, &[1]);
    steps.next().unwrap();
    let limit = Duration::from_millis(1);
    let refusal = steps.arrive_with(SharingMode::Auto, B, 2, Some(limit)).unwrap_err();
    // The rest of the first query, 20 ms, and its own 20 ms.
    assert_eq!(refusal, Refusal::TooSlow { predicted: Duration::from_millis(40), limit });
    assert_eq!(steps.scheduler.waiting(), []);
    steps.arrive(B, &[2, 3, 5, 6]);
    let refusal = steps.arrive_as(SharingMode::Auto, A, 4).unwrap_err();
    assert_eq!(refusal, Refusal::TooManyWaiting { waiting: 4, waiting_max: 4 });
    assert_eq!(refusal.to_string(), "4 queries wait, the limit is 4 queries");
    // Sharing off is not queued, so it is not refused.
    steps.arrive_as(SharingMode::Off, A, 4).unwrap();
}

#[test]
fn a_query_that_starts_at_once_is_never_refused() {
    let mut steps = Steps::with_known_templates(SchedulerOptions::default());
    steps.arrive_with(SharingMode::Auto, A, 1, Some(Duration::ZERO)).unwrap();
    assert!(steps.next().is_some());
}

#[test]
fn a_pass_that_gives_its_lane_up_lets_the_next_one_start_and_runs_on() {
    let mut steps = Steps::with_known_templates(SchedulerOptions::default());
    steps.arrive(A, &[1]);
    let first = steps.next().unwrap();
    steps.arrive(B, &[2]);
    assert_eq!(steps.next(), None);
    steps.now_us += 20_000;
    steps.scheduler.give_up_lane(steps.now_us, first.pass);
    steps.scheduler.give_up_lane(steps.now_us, first.pass);
    assert_eq!(steps.next().unwrap().lane, Lane::Heavy(0));
    assert_eq!(steps.scheduler.running()[0].lane, None);
    // Its reader takes an hour; it executed for 20 ms.
    steps.finish(first.pass, 3_600_000_000, Ending::Answered, None);
    assert_eq!(steps.scheduler.running().len(), 1);
    steps.arrive(A, &[3]);
    assert_eq!(steps.predicted_ms(A), 20);
}

#[test]
fn a_forgotten_template_is_unknown_again_and_its_queries_stay() {
    let mut steps = Steps::with_known_templates(SchedulerOptions::default());
    steps.arrive(B, &[9]);
    steps.next().unwrap();
    steps.arrive(A, &[1, 2]);
    let known = steps.scheduler.known_templates();
    steps.scheduler.forget_template(A);
    assert_eq!(steps.scheduler.known_templates(), known - 1);
    assert_eq!(steps.scheduler.waiting_count(), 2);
}

#[test]
fn time_never_goes_back() {
    let mut steps = Steps::with_known_templates(SchedulerOptions::default());
    steps.arrive(A, &[1]);
    let start = steps.next().unwrap();
    steps.now_us = 0;
    steps.finish(start.pass, 0, Ending::Answered, None);
    steps.arrive(A, &[2]);
    assert!(steps.next().is_some());
}

#[test]
fn a_query_is_attached_to_a_pass_that_runs_and_teaches_nothing() {
    let mut steps = Steps::with_known_templates(SchedulerOptions { waiting_max: 4, ..SchedulerOptions::default() });
    steps.arrive(A, &[1]);
    let start = steps.next().unwrap();
    let attach = |steps: &mut Steps, pass, query, limit_ms: Option<u64>| {
        let response_limit = limit_ms.map(Duration::from_millis);
        steps.scheduler.attach(steps.now_us, Attachment { query: QueryTicket(query), pass, response_limit })
    };
    // 20 ms are predicted.
    assert!(!attach(&mut steps, start.pass, 2, Some(19)));
    assert!(attach(&mut steps, start.pass, 2, Some(20)));
    assert!(attach(&mut steps, start.pass, 3, None));
    assert!(!attach(&mut steps, PassNumber(start.pass.0 + 1), 4, None), "it does not run");
    assert_eq!(steps.scheduler.leave(steps.now_us, QueryTicket(1)), Departure::Ran { pass: start.pass, remaining: 2 });
    assert!(attach(&mut steps, start.pass, 4, None) && attach(&mut steps, start.pass, 5, None));
    assert!(!attach(&mut steps, start.pass, 6, None), "it has as many queries as may wait");
    // Five queries took as long as one does alone: the prediction for one stays.
    steps.finish(start.pass, 20_000, Ending::Answered, None);
    assert_eq!(steps.scheduler.leave(steps.now_us, QueryTicket(3)), Departure::Unknown);
    assert!(!attach(&mut steps, start.pass, 6, None), "it has ended");
    // What was not attached, or not answered, may arrive.
    steps.arrive(B, &[6]);
    let other = steps.next().unwrap();
    steps.arrive(A, &[5]);
    assert_eq!((steps.predicted_ms(A), steps.next()), (20, None));
    // All queries of the other pass leave, or it gives its lane up: it takes no more.
    steps.scheduler.give_up_lane(steps.now_us, other.pass);
    assert!(!attach(&mut steps, other.pass, 7, None));
    let last = steps.next().unwrap();
    steps.scheduler.leave(steps.now_us, QueryTicket(5));
    assert!(!attach(&mut steps, last.pass, 7, None));
}
