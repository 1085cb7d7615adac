//! The tables of `overload`, and its figures with their goals.

use std::time::Duration;

use super::{Baseline, Contestant, Measured, Rounds};
use crate::drivers::open_loop::{Ending, OpenLoopFigures, Response};
use crate::report::summary::median;
use crate::report::{Figure, Goal, left, number, plain_table, right};

/// Goal for the 95th percentile with sharing on / off, at this load: the best published figure.
const P95_GOAL: (f64, f64) = (1.5, 0.17);

const HEADER: [&str; 15] = [
    "load",
    "contestant",
    "arrivals\nper s",
    "answers\nper s",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "answered",
    "refused",
    "un-\nfinished",
    "failed",
    "distinct",
    "driver's wait\np99 ms",
    "server\nCPU %",
    "driver\nCPU %",
];

const LIMIT_HEADER: [&str; 7] =
    ["load", "refused %", "refusal\np50 ms", "refusal\np99 ms", "late", "late since\nsent", "longest\nms"];

/// Prints the tables and the first failures, and returns the figures.
pub(super) fn report(rows: &[Rounds], baseline: Baseline) -> Vec<Figure> {
    let limit = baseline.response_limit;
    let (mut table, mut limits) = (plain_table(&HEADER), plain_table(&LIMIT_HEADER));
    for row in rows {
        table.add_row(row.cells());
        if row.contestant == Contestant::Limited {
            limits.add_row(row.limit_cells(limit));
        }
    }
    println!("{table}");
    println!(
        "Response times from the arrival. Medians of the rounds; sums of queries. ≥: with unfinished queries, which count with the \
         time that they have waited. Driver's wait: from the arrival to sending, for a connection or a processor. CPU: of all cores."
    );
    println!("{limits}");
    println!(
        "With a response limit of {limit:?}. Refusal: time from sending. Late: answers that took longer than the limit. Longest: of \
         all answers."
    );
    for row in rows {
        if let Some(error) = row.rounds.iter().find_map(|measured| measured.figures.failures().1) {
            println!("{}, load {}: {} queries failed, first: {error}", row.contestant.name(), row.load, row.failed());
        }
    }
    let mut figures = vec![
        Figure::new("capacity, sharing off", baseline.capacity_per_s, "1/s"),
        Figure::new("latency p95, sharing off, 1 client", baseline.p95_alone_ms, "ms"),
        Figure::new("response limit", 1e3 * limit.as_secs_f64(), "ms"),
    ];
    for row in rows {
        figures.extend(row.figures());
        match row.contestant {
            Contestant::Off => {}
            Contestant::Auto => figures.push(ratio_to_off(row, rows)),
            Contestant::Limited => figures.extend(row.limit_figures(limit)),
        }
    }
    figures
}

/// The median of the rounds' ratios.
fn ratio_to_off(auto: &Rounds, rows: &[Rounds]) -> Figure {
    let is_off = |row: &&Rounds| row.load == auto.load && row.contestant == Contestant::Off;
    let off = rows.iter().find(is_off).expect("it is always measured");
    let ratios = auto.rounds.iter().zip(&off.rounds).map(|(auto, off)| {
        let (auto_ms, off_ms) = (auto.figures.response_ms(0.95), off.figures.response_ms(0.95));
        // Without an answer there is no ratio; a figure must be a number.
        if off_ms == 0.0 { 0.0 } else { auto_ms / off_ms }
    });
    let figure = Figure::new(format!("response p95, auto / off, load {}", auto.load), median(ratios.collect()), "");
    if auto.load == P95_GOAL.0 { figure.with_goal(Goal::AtMost(P95_GOAL.1)) } else { figure }
}

impl Rounds {
    fn named(&self, what: &str) -> String {
        format!("{what}, {}, load {}", self.contestant.name(), self.load)
    }

    fn median(&self, of: impl Fn(&OpenLoopFigures) -> f64) -> f64 {
        median(self.rounds.iter().map(|measured| of(&measured.figures)).collect())
    }

    fn sum(&self, of: impl Fn(&OpenLoopFigures) -> u64) -> u64 {
        self.rounds.iter().map(|measured| of(&measured.figures)).sum()
    }

    fn count(&self, ending: &Ending) -> u64 {
        self.sum(|figures| figures.count(|found| found == ending))
    }

    fn failed(&self) -> u64 {
        self.sum(|figures| figures.failures().0)
    }

    fn refused_percent(&self) -> f64 {
        let arrived = self.sum(|figures| figures.responses.len() as u64) as f64;
        100.0 * self.count(&Ending::Refused) as f64 / arrived.max(1.0)
    }

    fn longest_ms(&self) -> f64 {
        self.rounds.iter().map(|measured| measured.figures.answer_ms_max()).fold(0.0, f64::max)
    }

    /// Late from the arrival, and from sending.
    fn late(&self, limit: Duration) -> [u64; 2] {
        let late = |time: fn(&Response) -> Duration| self.sum(|figures| figures.late(limit, time));
        [late(Response::time), late(Response::time_since_sent)]
    }

    /// Share of all cores in per cent.
    fn processor_percent(&self, of: impl Fn(&Measured) -> Duration) -> f64 {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let elapsed_s: f64 = self.rounds.iter().map(|measured| measured.figures.elapsed.as_secs_f64()).sum();
        100.0 * self.rounds.iter().map(|measured| of(measured).as_secs_f64()).sum::<f64>() / elapsed_s / cores
    }

    fn cells(&self) -> Vec<comfy_table::Cell> {
        let unfinished = self.count(&Ending::Unfinished);
        let bound = if unfinished > 0 { "≥ " } else { "" };
        let response = |share| right(format!("{bound}{}", number(self.median(|figures| figures.response_ms(share)))));
        let arrivals_per_s =
            |figures: &OpenLoopFigures| figures.responses.len() as f64 / figures.duration.as_secs_f64();
        vec![
            right(number(self.load)),
            left(self.contestant.name()),
            right(number(self.median(arrivals_per_s))),
            right(number(self.median(OpenLoopFigures::throughput))),
            response(0.50),
            response(0.95),
            response(0.99),
            right(self.count(&Ending::Answered).to_string()),
            right(self.count(&Ending::Refused).to_string()),
            right(unfinished.to_string()),
            right(self.failed().to_string()),
            right(self.sum(|figures| figures.distinct as u64).to_string()),
            right(number(self.median(|figures| figures.driver_wait_ms(0.99)))),
            right(number(self.processor_percent(|measured| measured.taken.server))),
            right(number(self.processor_percent(|measured| measured.taken.driver))),
        ]
    }

    fn limit_cells(&self, limit: Duration) -> Vec<comfy_table::Cell> {
        let refusal = |share| right(number(self.median(|figures| figures.refusal_ms(share))));
        let [late, late_since_sent] = self.late(limit);
        vec![
            right(number(self.load)),
            right(number(self.refused_percent())),
            refusal(0.50),
            refusal(0.99),
            right(late.to_string()),
            right(late_since_sent.to_string()),
            right(number(self.longest_ms())),
        ]
    }

    fn figures(&self) -> Vec<Figure> {
        let response =
            |name: &str, share| Figure::new(self.named(name), self.median(|figures| figures.response_ms(share)), "ms");
        let count = |name: &str, count: u64| Figure::new(self.named(name), count as f64, "");
        vec![
            Figure::new(self.named("throughput"), self.median(OpenLoopFigures::throughput), "1/s"),
            response("response p50", 0.50),
            response("response p95", 0.95),
            response("response p99", 0.99),
            count("answered queries", self.count(&Ending::Answered)),
            count("refused queries", self.count(&Ending::Refused)),
            count("unfinished queries", self.count(&Ending::Unfinished)),
            count("failed queries", self.failed()).with_goal(Goal::AtMost(0.0)),
        ]
    }

    fn limit_figures(&self, limit: Duration) -> Vec<Figure> {
        let named = |what: &str| format!("{what}, load {}", self.load);
        let [late, late_since_sent] = self.late(limit);
        vec![
            Figure::new(named("answers later than the limit"), late as f64, "").with_goal(Goal::AtMost(0.0)),
            Figure::new(named("answers later than the limit since they were sent"), late_since_sent as f64, ""),
            Figure::new(named("longest response with a limit"), self.longest_ms(), "ms"),
            Figure::new(named("refused with a limit"), self.refused_percent(), "%"),
            Figure::new(named("time of a refusal, p99"), self.median(|figures| figures.refusal_ms(0.99)), "ms"),
        ]
    }
}
