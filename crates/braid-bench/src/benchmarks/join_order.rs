//! `join-order`: the cost of bad join orders. Runs the 22 TPC-H queries as planned, and in other orders.
//!
//! The other orders are those of `SET braid.join_order`: the costliest tree by the estimates, random trees, and the chosen tree
//! with sides swapped. No order has an avoidable cross product. Outer and semi joins stay at their position in the query; only
//! their sides are swapped. Each plan is measured once. A quarter of the time for a measurement limits the number of orders,
//! and another quarter the number of rounds. Queries with fewer than two joins are skipped.
//!
//! All tables are in the buffer, and times include planning. Each round runs each order once; the median of an order's rounds
//! counts. The worst order is then measured again, alternately with the chosen one, because the slowest of many measurements
//! is partly due to chance. Every order's answer is compared with that of the chosen order. An order that takes [`PATIENCE`]
//! times as long as the chosen one, or exceeds memory or disk space, is given up. Its time counts until then, so that the real
//! ratio is higher than the reported one.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::open_tpch;
use crate::drivers::client::{Client, SessionClient};
use crate::report::summary::{geometric_mean, median};
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::answer::{Answer, RowOrder};
use crate::workloads::tpch::query;
use crate::{BenchError, BenchOptions};

/// Number of random and of swapped orders, each with a different seed.
const SEEDS: u64 = 16;

/// Number of rounds after the warm-up round.
const ROUNDS: usize = 3;

/// Number of alternate measurements of the worst order and the chosen one.
const TURNS: usize = 7;

/// Minimum number of joins of a measured query.
const JOINS_MIN: usize = 2;

/// Goal for the ratio of the worst order to the chosen one.
const WORST_GOAL: f64 = 2.0;

/// Ratio to the chosen order at which an order is given up.
const PATIENCE: f64 = 50.0;

/// Minimum time in milliseconds before an order is given up, because the chosen one may take very little time.
const PATIENCE_MS_MIN: f64 = 1000.0;

/// SQLSTATEs of an order that is given up: timeout, disk full, memory refused, temporary file limit.
const GIVEN_UP: [&str; 4] = ["57014", "53100", "53200", "53400"];

/// The values of the settings for a join order.
#[derive(Clone, Copy)]
struct Order {
    rule: &'static str,
    seed: u64,
}

const CHOSEN: Order = Order { rule: "cheapest", seed: 0 };

impl Order {
    /// The chosen order, the costliest one, and the random ones.
    fn all() -> impl Iterator<Item = Self> {
        let drawn = (1..=SEEDS).flat_map(|seed| ["random", "swapped"].map(|rule| Self { rule, seed }));
        [CHOSEN, Self { rule: "costliest", seed: 0 }].into_iter().chain(drawn)
    }

    fn name(self) -> String {
        if self.seed == 0 { self.rule.to_owned() } else { format!("{} {}", self.rule, self.seed) }
    }
}

/// An order with a distinct plan, and its times.
struct Measured {
    order: Order,
    times_ms: Vec<f64>,
    is_given_up: bool,
}

impl Measured {
    fn median_ms(&self) -> f64 {
        median(self.times_ms.clone())
    }
}

/// The times of a query's orders.
struct Orders {
    joins: usize,
    count: usize,
    chosen_ms: f64,
    median_ms: f64,
    worst_ms: f64,
    worst: Order,
    is_given_up: bool,
}

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let mut client = SessionClient::new(&database);
    let header = [
        "query",
        "joins",
        "others",
        "chosen ms",
        "median ms",
        "worst ms",
        "median ratio",
        "worst ratio",
        "worst order",
    ];
    let mut table = plain_table(&header);
    let (mut figures, mut medians, mut worst) = (Vec::new(), Vec::new(), Vec::new());
    for at in 1..=22 {
        let name = format!("q{at:02}");
        let limit = Duration::from_secs_f64(options.seconds / 4.0);
        let Some(orders) = measure(&mut client, &name, &query(at, options.scale), limit).await? else { continue };
        medians.push(orders.median_ms / orders.chosen_ms);
        worst.push(orders.worst_ms / orders.chosen_ms);
        let (median, worst) = (medians[medians.len() - 1], worst[worst.len() - 1]);
        table.add_row([
            left(&name),
            right(orders.joins.to_string()),
            right(orders.count.to_string()),
            right(number(orders.chosen_ms)),
            right(number(orders.median_ms)),
            right(number(orders.worst_ms)),
            right(number(median)),
            right(number(worst)),
            left(&format!("{}{}", orders.worst.name(), if orders.is_given_up { ", given up" } else { "" })),
        ]);
        figures.extend([
            Figure::new(format!("{name}: worst order / chosen"), worst, "").with_goal(Goal::AtMost(WORST_GOAL)),
            Figure::new(format!("{name}: median order / chosen"), median, ""),
        ]);
    }
    println!("other join orders, hot; ratios of their time to the time of the chosen order\n{table}");
    let most = worst.iter().copied().fold(0.0, f64::max);
    figures.extend([
        Figure::new("median order / chosen, geometric mean", geometric_mean(&medians), ""),
        Figure::new("worst order / chosen, geometric mean", geometric_mean(&worst), ""),
        Figure::new("worst order / chosen, worst query", most, "").with_goal(Goal::AtMost(WORST_GOAL)),
    ]);
    Ok(figures)
}

/// Measures a query's orders; `None` if there is only the chosen order, or too few joins.
async fn measure(
    client: &mut SessionClient,
    name: &str,
    sql: &str,
    limit: Duration,
) -> Result<Option<Orders>, BenchError> {
    let (joins, mut all) = distinct_orders(client, name, sql, limit).await?;
    if joins < JOINS_MIN || all.len() < 2 {
        return Ok(None);
    }
    let start = Instant::now();
    for round in 0..ROUNDS {
        if round > 0 && start.elapsed() > limit {
            break;
        }
        for measured in all.iter_mut().filter(|measured| !measured.is_given_up) {
            take(client, measured.order).await?;
            measured.times_ms.push(time_ms(client, sql).await?);
        }
    }
    let others = &all[1..];
    let worst = others.iter().max_by(|a, b| a.median_ms().total_cmp(&b.median_ms())).expect("there are others");
    let (mut chosen_ms, mut worst_ms) = (Vec::new(), Vec::new());
    let start = Instant::now();
    for turn in 0..TURNS {
        if turn > 0 && start.elapsed() > limit {
            break;
        }
        for (measured, times) in [(&all[0], &mut chosen_ms), (worst, &mut worst_ms)] {
            if measured.is_given_up {
                times.push(measured.median_ms());
                continue;
            }
            take(client, measured.order).await?;
            times.push(time_ms(client, sql).await?);
        }
    }
    take(client, CHOSEN).await?;
    Ok(Some(Orders {
        joins,
        count: others.len(),
        chosen_ms: median(chosen_ms),
        median_ms: median(others.iter().map(Measured::median_ms).collect()),
        worst_ms: median(worst_ms),
        worst: worst.order,
        is_given_up: worst.is_given_up,
    }))
}

/// A query's number of joins, and the orders with distinct plans, the chosen one first. Runs each order once and compares the
/// answers, within `limit`, but always at least one besides the chosen order.
async fn distinct_orders(
    client: &mut SessionClient,
    name: &str,
    sql: &str,
    limit: Duration,
) -> Result<(usize, Vec<Measured>), BenchError> {
    let (mut plans, mut orders) = (HashSet::new(), Vec::new());
    let mut joins = 0;
    let mut expected: Option<Answer> = None;
    let start = Instant::now();
    for order in Order::all() {
        if start.elapsed() > limit && orders.len() > 1 {
            break;
        }
        take(client, order).await?;
        let plan = client.answer(&format!("explain {sql}")).await?.rows.concat().join("\n");
        if orders.is_empty() {
            joins = plan.matches("Join: ").count();
        }
        if joins < JOINS_MIN {
            break;
        }
        if !plans.insert(plan) {
            continue;
        }
        if orders.is_empty() {
            // The time with tables in memory determines the time limit of the other orders.
            client.run(sql).await?;
            let patience_ms = (time_ms(client, sql).await? * PATIENCE).max(PATIENCE_MS_MIN);
            client.run(&format!("set statement_timeout = {patience_ms:.0}")).await?;
        }
        let begun = Instant::now();
        let found = match client.answer(sql).await {
            Err(BenchError::Engine(error)) if !orders.is_empty() && GIVEN_UP.contains(&error.sqlstate()) => {
                let times_ms = vec![begun.elapsed().as_secs_f64() * 1e3];
                orders.push(Measured { order, times_ms, is_given_up: true });
                continue;
            }
            found => found?,
        };
        let expected = expected.get_or_insert_with(|| found.clone());
        expected.compare(&found, RowOrder::Kept).map_err(|difference| BenchError::WrongAnswer {
            query: format!("{name} in the order {}", order.name()),
            difference: difference.to_string(),
        })?;
        orders.push(Measured { order, times_ms: Vec::new(), is_given_up: false });
    }
    take(client, CHOSEN).await?;
    client.run("reset statement_timeout").await?;
    Ok((joins, orders))
}

/// Sets the session's join order.
async fn take(client: &mut SessionClient, order: Order) -> Result<(), BenchError> {
    let Order { rule, seed } = order;
    client.run(&format!("set braid.join_order = {rule}; set braid.join_order_seed = {seed}")).await?;
    Ok(())
}

async fn time_ms(client: &mut SessionClient, sql: &str) -> Result<f64, BenchError> {
    let start = Instant::now();
    client.run(sql).await?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
