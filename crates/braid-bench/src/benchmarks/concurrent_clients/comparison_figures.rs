//! The table of a comparison, and its figures with their goals.

use std::collections::HashSet;

use super::Goals;
use super::measurement::{Contestant, Measured, Rounds, Row};
use crate::BenchOptions;
use crate::benchmarks::measured_server::PeakMemory;
use crate::drivers::client::Sharing;
use crate::drivers::closed_loop::LoopFigures;
use crate::report::plot::{Curve, Plot, Stroke};
use crate::report::summary::median;
use crate::report::{Figure, Goal, left, number, plain_table, right};

/// Goal for the mean latency of one client with sharing on / with sharing off.
const ALONE_TO_OFF_MAX: f64 = 1.03;

const HEADER: [&str; 14] = [
    "clients",
    "engine",
    "queries/s",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "queries",
    "distinct",
    "failed",
    "server\nCPU %",
    "driver\nCPU %",
    "CPU ms\nper query",
    "peak MB",
    "beyond\nbuffer",
];

/// Prints the table and the first failures, and returns the figures.
pub(super) fn report(rows: &[Row], duckdb_version: Option<&str>, goals: &Goals) -> Vec<Figure> {
    let mut table = plain_table(&HEADER);
    for row in rows {
        for rounds in &row.contestants {
            table.add_row(cells(row.client_count, rounds));
        }
    }
    println!("{table}");
    println!(
        "Medians of the rounds; sums of queries. Distinct: different texts. CPU: of all cores; per query, server + driver. \
         Braid's driver is a process with all clients. Peak: the server's resident memory, the largest of the rounds; beyond its \
         buffer, of which at most what it read from the disk is taken off."
    );
    if let Some(version) = duckdb_version {
        println!(
            "DuckDB {version} is embedded, with tables in memory and a thread for each client; its driver is the loop around its \
             calls."
        );
    }
    for (client_count, rounds) in rows.iter().flat_map(|row| row.contestants.iter().map(|r| (row.client_count, r))) {
        if let Some(error) = rounds.rounds.iter().find_map(|measured| measured.figures.errors.1.as_ref()) {
            let (failed, name) = (rounds.failed(), rounds.name());
            println!("{}, {name}: {failed} queries failed, first: {error}", clients(client_count));
        }
    }
    rows.iter().flat_map(|row| row.figures(goals)).collect()
}

/// Throughput against the number of clients, a curve for each contestant; `None` if nobody answered.
pub(super) fn throughput_plot(rows: &[Row], options: &BenchOptions) -> Option<Plot> {
    let contestants = [
        (Contestant::Braid(Sharing::Auto), "Braid", Stroke::Thick),
        (Contestant::Braid(Sharing::Off), "Braid, sharing off", Stroke::Dashed),
        (Contestant::DuckDb, "DuckDB", Stroke::Dashed),
    ];
    let curve = |(contestant, name, stroke): (Contestant, &str, Stroke)| {
        // The axes are logarithmic, so a contestant that answered nothing has no point.
        let points = rows.iter().filter_map(|row| {
            let throughput = row.of(contestant)?.median(|m| m.figures.throughput());
            (throughput > 0.0).then_some((row.client_count as f64, throughput))
        });
        Curve { name: name.to_owned(), points: points.collect(), stroke }
    };
    let curves: Vec<Curve> = contestants.into_iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (!curves.is_empty()).then(|| Plot {
        title: format!("Throughput by number of clients, TPC-H data at scale {}, {cores} cores", options.scale),
        x_label: "clients".to_owned(),
        y_label: "queries per second".to_owned(),
        curves,
    })
}

fn cells(client_count: usize, rounds: &Rounds) -> Vec<comfy_table::Cell> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let percent = |processor_s: f64| 100.0 * processor_s / rounds.sum(|m| m.figures.elapsed.as_secs_f64()) / cores;
    let (server_s, driver_s) = (rounds.server_s(), rounds.driver_s());
    let queries = rounds.queries();
    let per_query = |processor_s: f64| number(1e3 * processor_s / queries.max(1.0));
    vec![
        right(client_count.to_string()),
        left(rounds.name()),
        right(number(rounds.median(|m| m.figures.throughput()))),
        right(number(rounds.latency_ms(0.50))),
        right(number(rounds.latency_ms(0.95))),
        right(number(rounds.latency_ms(0.99))),
        right(queries.to_string()),
        right(rounds.distinct().to_string()),
        right(rounds.failed().to_string()),
        right(number(percent(server_s))),
        right(number(percent(driver_s))),
        right(format!("{} + {}", per_query(server_s), per_query(driver_s))),
        right(rounds.peak_mb().map_or_else(|| "–".to_owned(), number)),
        right(rounds.beyond_buffer_mb().map_or_else(|| "–".to_owned(), number)),
    ]
}

impl Rounds {
    fn name(&self) -> &'static str {
        match self.contestant {
            Contestant::Braid(Sharing::Off) => "sharing off",
            Contestant::Braid(Sharing::Auto) => "sharing auto",
            Contestant::DuckDb => "DuckDB",
        }
    }

    fn median(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        median(self.rounds.iter().map(of).collect())
    }

    fn sum(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        self.rounds.iter().map(of).sum()
    }

    fn latency_ms(&self, quantile: f64) -> f64 {
        self.median(|m| m.figures.latency_ms(quantile))
    }

    fn queries(&self) -> f64 {
        self.sum(|m| m.figures.queries as f64)
    }

    fn server_s(&self) -> f64 {
        self.sum(|m| m.server.as_secs_f64())
    }

    fn driver_s(&self) -> f64 {
        self.sum(|m| m.driver.as_secs_f64())
    }

    /// The largest of the rounds; `None` unless each tells it.
    fn largest_mb(&self, bytes: impl Fn(PeakMemory) -> u64) -> Option<f64> {
        let of_rounds: Option<Vec<u64>> = self.rounds.iter().map(|measured| measured.peak.map(&bytes)).collect();
        of_rounds?.into_iter().max().map(|bytes| bytes as f64 / 1e6)
    }

    /// The server's memory at its peak.
    fn peak_mb(&self) -> Option<f64> {
        self.largest_mb(|memory| memory.peak_bytes)
    }

    /// What of it is not cached table data.
    fn beyond_buffer_mb(&self) -> Option<f64> {
        self.largest_mb(|memory| memory.peak_bytes.saturating_sub(memory.buffer_bytes))
    }

    fn distinct(&self) -> usize {
        let texts = self.rounds.iter().flat_map(|measured| measured.figures.distinct_texts());
        texts.collect::<HashSet<_>>().len()
    }

    fn failed(&self) -> u64 {
        self.rounds.iter().map(|measured| measured.figures.errors.0).sum()
    }

    /// The median of the rounds' ratios to another contestant in the same round.
    fn ratio_to(&self, other: &Self, of: impl Fn(&LoopFigures) -> f64) -> f64 {
        // Without an answer there is no ratio; a figure must be a number.
        let ratio = |(own, other): (&Measured, &Measured)| match (of(&own.figures), of(&other.figures)) {
            (_, 0.0) => 0.0,
            (own, other) => own / other,
        };
        median(self.rounds.iter().zip(&other.rounds).map(ratio).collect())
    }
}

impl Row {
    fn of(&self, contestant: Contestant) -> Option<&Rounds> {
        self.contestants.iter().find(|rounds| rounds.contestant == contestant)
    }

    fn figures(&self, goals: &Goals) -> Vec<Figure> {
        let mut figures: Vec<Figure> =
            self.contestants.iter().flat_map(|rounds| self.figures_of(rounds, goals)).collect();
        let named = |what: &str| format!("{what}, {}", clients(self.client_count));
        let goal = |goals: &[(usize, f64)]| self.goal(goals);
        let auto = self.of(Contestant::Braid(Sharing::Auto)).expect("it is always measured");
        let off = self.of(Contestant::Braid(Sharing::Off)).expect("it is always measured");
        let to_off = Figure::new(named("throughput, auto / off"), auto.ratio_to(off, LoopFigures::throughput), "");
        figures.push(with_goal(to_off, goal(goals.to_off_min).map(Goal::AtLeast)));
        if self.client_count == 1 {
            let ratio = auto.ratio_to(off, LoopFigures::latency_mean_ms);
            let alone = Figure::new(named("mean latency, auto / off"), ratio, "");
            figures.push(alone.with_goal(Goal::AtMost(ALONE_TO_OFF_MAX)));
        }
        if let Some(duckdb) = self.of(Contestant::DuckDb) {
            let ratio = auto.ratio_to(duckdb, LoopFigures::throughput);
            let throughput = Figure::new(named("throughput, auto / DuckDB"), ratio, "");
            figures.push(with_goal(throughput, goal(goals.to_duckdb_min).map(Goal::AtLeast)));
            let ratio = auto.ratio_to(duckdb, |figures| figures.latency_ms(0.95));
            let p95 = Figure::new(named("latency p95, auto / DuckDB"), ratio, "");
            figures.push(with_goal(p95, goal(goals.p95_to_duckdb_max).map(Goal::AtMost)));
        }
        figures
    }

    /// The goal for this number of clients.
    fn goal(&self, goals: &[(usize, f64)]) -> Option<f64> {
        goals.iter().find(|(client_count, _)| *client_count == self.client_count).map(|(_, limit)| *limit)
    }

    /// The figures of a contestant.
    fn figures_of(&self, rounds: &Rounds, goals: &Goals) -> Vec<Figure> {
        let named = |what: &str| format!("{what}, {}, {}", rounds.name(), clients(self.client_count));
        let per_query_ms = |processor_s: f64| 1e3 * processor_s / rounds.queries().max(1.0);
        let mut figures = vec![
            Figure::new(named("throughput"), rounds.median(|m| m.figures.throughput()), "1/s"),
            Figure::new(named("latency p50"), rounds.latency_ms(0.50), "ms"),
            Figure::new(named("latency p95"), rounds.latency_ms(0.95), "ms"),
            Figure::new(named("latency p99"), rounds.latency_ms(0.99), "ms"),
            Figure::new(named("server's processor time per query"), per_query_ms(rounds.server_s()), "ms"),
            Figure::new(named("driver's processor time per query"), per_query_ms(rounds.driver_s()), "ms"),
            Figure::new(named("failed queries"), rounds.failed() as f64, "").with_goal(Goal::AtMost(0.0)),
        ];
        let peaks = rounds.peak_mb().zip(rounds.beyond_buffer_mb());
        figures.extend(peaks.into_iter().flat_map(|(peak_mb, beyond_mb)| {
            let is_auto = rounds.contestant == Contestant::Braid(Sharing::Auto);
            let limit = self.goal(goals.beyond_buffer_mb_max).filter(|_| is_auto).map(Goal::AtMost);
            let beyond = Figure::new(named("server's peak memory beyond the buffer"), beyond_mb, "MB");
            [Figure::new(named("server's peak memory"), peak_mb, "MB"), with_goal(beyond, limit)]
        }));
        figures
    }
}

fn clients(count: usize) -> String {
    format!("{count} {}", if count == 1 { "client" } else { "clients" })
}

fn with_goal(figure: Figure, goal: Option<Goal>) -> Figure {
    match goal {
        Some(goal) => figure.with_goal(goal),
        None => figure,
    }
}
