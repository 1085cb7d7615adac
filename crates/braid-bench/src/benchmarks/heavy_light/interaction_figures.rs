//! The table of the interaction of light and heavy queries, and its figures with their goals.

use std::time::Duration;

use super::heavy_clients;
use super::interaction::{Measured, Point};
use crate::drivers::client::Sharing;
use crate::drivers::closed_loop::LoopFigures;
use crate::drivers::open_loop::{Ending, OpenLoopFigures};
use crate::report::summary::median;
use crate::report::{Figure, Goal, left, number, plain_table, right};

/// Goal for the 99th percentile of light queries with sharing on / the same without heavy queries.
const P99_TO_UNLOADED_MAX: f64 = 1.5;

const HEADER: [&str; 15] = [
    "heavy\nclients",
    "sharing",
    "light\nper s",
    "heavy\nper s",
    "both\nper s",
    "heavy %",
    "light\np50 ms",
    "light\np95 ms",
    "light\np99 ms",
    "p99 /\nunloaded",
    "heavy\np95 ms",
    "un-\nfinished",
    "failed",
    "driver's wait\np99 ms",
    "CPU %\nserver + driver",
];

/// Prints the table and the first failures, and returns the figures. The first two points have no heavy clients.
pub(super) fn report(points: &[Point], light_per_s: f64) -> Vec<Figure> {
    let unloaded = |point: &Point| {
        let of_sharing = points.iter().find(|other| other.heavy_clients == 0 && other.sharing == point.sharing);
        of_sharing.expect("it is always measured")
    };
    let mut table = plain_table(&HEADER);
    for point in points {
        table.add_row(point.cells(unloaded(point)));
    }
    println!("{table}");
    println!(
        "Light queries arrive at {light_per_s:.1} per s (SharedDB, figure 11); their response times are from the arrival. Medians of the \
         rounds; sums of queries. ≥: with unfinished queries, which count with the time that they have waited. Driver's wait: of light \
         queries from the arrival to sending. CPU: of all cores."
    );
    for point in points {
        if let Some(error) = point.first_error() {
            println!("{}: {} queries failed, first: {error}", point.named("failed"), point.failed());
        }
    }
    let mut figures = vec![Figure::new("arrivals of light queries", light_per_s, "1/s")];
    figures.extend(points.iter().flat_map(|point| point.figures(unloaded(point))));
    figures
}

impl Measured {
    fn first_error(&self) -> Option<&str> {
        let heavy = self.heavy.as_ref().and_then(|heavy| heavy.errors.1.as_deref());
        self.light.failures().1.or(heavy)
    }
}

impl Point {
    fn named(&self, what: &str) -> String {
        format!("{what}, sharing {}, {}", self.sharing.name(), heavy_clients(self.heavy_clients))
    }

    fn median(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        median(self.rounds.iter().map(of).collect())
    }

    fn light_ms(&self, share: f64) -> f64 {
        self.median(|measured| measured.light.response_ms(share))
    }

    /// 0 without heavy clients.
    fn of_heavy(&self, of: impl Fn(&LoopFigures) -> f64) -> f64 {
        self.median(|measured| measured.heavy.as_ref().map_or(0.0, &of))
    }

    fn light_per_s(&self) -> f64 {
        self.median(|measured| measured.light.throughput())
    }

    fn unfinished(&self) -> u64 {
        self.rounds.iter().map(|measured| measured.light.count(|ending| *ending == Ending::Unfinished)).sum()
    }

    fn failed(&self) -> u64 {
        let refused = |light: &OpenLoopFigures| light.count(|ending| *ending == Ending::Refused);
        let heavy = |measured: &Measured| measured.heavy.as_ref().map_or(0, |heavy| heavy.errors.0);
        self.rounds.iter().map(|m| m.light.failures().0 + refused(&m.light) + heavy(m)).sum()
    }

    fn first_error(&self) -> Option<&str> {
        self.rounds.iter().find_map(Measured::first_error)
    }

    /// The median of the rounds' ratios of the light queries' 99th percentiles.
    fn p99_to(&self, unloaded: &Self) -> f64 {
        let ratios = self.rounds.iter().zip(&unloaded.rounds).map(|(loaded, unloaded)| {
            let (loaded_ms, unloaded_ms) = (loaded.light.response_ms(0.99), unloaded.light.response_ms(0.99));
            // Without an answer there is no ratio; a figure must be a number.
            if unloaded_ms == 0.0 { 0.0 } else { loaded_ms / unloaded_ms }
        });
        median(ratios.collect())
    }

    /// Share of all cores in per cent.
    fn processor_percent(&self, of: impl Fn(&Measured) -> Duration) -> f64 {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let elapsed =
            |m: &Measured| m.heavy.as_ref().map_or(m.light.elapsed, |heavy| heavy.elapsed.max(m.light.elapsed));
        let elapsed_s: f64 = self.rounds.iter().map(|measured| elapsed(measured).as_secs_f64()).sum();
        100.0 * self.rounds.iter().map(|measured| of(measured).as_secs_f64()).sum::<f64>() / elapsed_s / cores
    }

    fn cells(&self, unloaded: &Self) -> Vec<comfy_table::Cell> {
        let bound = if self.unfinished() > 0 { "≥ " } else { "" };
        let light = |share| right(format!("{bound}{}", number(self.light_ms(share))));
        let (light_per_s, heavy_per_s) = (self.light_per_s(), self.of_heavy(LoopFigures::throughput));
        let both_per_s = light_per_s + heavy_per_s;
        let server = self.processor_percent(|measured| measured.taken.server);
        let driver = self.processor_percent(|measured| measured.taken.driver);
        vec![
            right(self.heavy_clients.to_string()),
            left(self.sharing.name()),
            right(number(light_per_s)),
            right(number(heavy_per_s)),
            right(number(both_per_s)),
            right(number(if both_per_s == 0.0 { 0.0 } else { 100.0 * heavy_per_s / both_per_s })),
            light(0.50),
            light(0.95),
            light(0.99),
            right(format!("{bound}{}", number(self.p99_to(unloaded)))),
            right(number(self.of_heavy(|heavy| heavy.latency_ms(0.95)))),
            right(self.unfinished().to_string()),
            right(self.failed().to_string()),
            right(number(self.median(|measured| measured.light.driver_wait_ms(0.99)))),
            right(format!("{} + {}", number(server), number(driver))),
        ]
    }

    fn figures(&self, unloaded: &Self) -> Vec<Figure> {
        let mut figures = vec![
            Figure::new(self.named("light throughput"), self.light_per_s(), "1/s"),
            Figure::new(self.named("light p50"), self.light_ms(0.50), "ms"),
            Figure::new(self.named("light p95"), self.light_ms(0.95), "ms"),
            Figure::new(self.named("light p99"), self.light_ms(0.99), "ms"),
            Figure::new(self.named("unfinished light queries"), self.unfinished() as f64, ""),
            Figure::new(self.named("failed queries"), self.failed() as f64, "").with_goal(Goal::AtMost(0.0)),
        ];
        if self.heavy_clients > 0 {
            let heavy_ms = |share| self.of_heavy(|heavy| heavy.latency_ms(share));
            let ratio = Figure::new(self.named("light p99 / unloaded"), self.p99_to(unloaded), "");
            figures.extend([
                Figure::new(self.named("heavy throughput"), self.of_heavy(LoopFigures::throughput), "1/s"),
                Figure::new(self.named("heavy p50"), heavy_ms(0.50), "ms"),
                Figure::new(self.named("heavy p95"), heavy_ms(0.95), "ms"),
                match self.sharing {
                    Sharing::Off => ratio,
                    Sharing::Auto => ratio.with_goal(Goal::AtMost(P99_TO_UNLOADED_MAX)),
                },
            ]);
        }
        figures
    }
}
