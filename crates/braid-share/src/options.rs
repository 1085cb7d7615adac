//! The options of a scheduler, with the reason of each default, and the form of an execution.

use std::time::Duration;

/// Most queries of one pass, unless the options say otherwise. docs/one-pass.md measures passes up to this size: at 1024
/// queries a pass answers 400 to 2900 times as much as one query at a time, so that larger ones gain little.
pub const PASS_QUERIES_MAX: usize = 1024;

/// The form of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// One distinct query on the plan without sets.
    Alone,
    /// A pass: the plan with sets, for one distinct query or more.
    Shared,
}

/// The options of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerOptions {
    /// Lanes for passes of any cost, at least 1. One: a pass uses all cores (docs/one-pass.md: one core alone takes 1.9
    /// to 2.4 times as long as two), so that two at a time would each take twice as long.
    pub heavy_lanes: usize,
    /// Lanes for light passes only. One: short queries do not wait for long ones.
    pub light_lanes: usize,
    /// Predicted time below which a pass is light. 5 ms: two passes at a time each take twice as long, and while one runs, queries
    /// gather for the next. With 10 ms, `braid bench panels`, whose passes take 3 to 10 ms, answers a fifth less from 256 clients. With
    /// 3 ms, `braid bench unlike`, whose queries gain nothing from waiting, answers half as many.
    pub light_below: Duration,
    /// Queries with sharing off, equal ones counted once, that run at a time beside the lanes, at least 1; the others wait for
    /// these. Unbounded, because a query with sharing off starts at once. A bound suits an engine where only the queries of
    /// failed passes, up to `pass_queries_max` at once, have sharing off.
    pub unqueued_max: usize,
    /// Most queries of one pass, at least 1.
    pub pass_queries_max: usize,
    /// Memory granted to one pass, in bytes; `None` if it is not limited.
    pub pass_memory_bytes_max: Option<u64>,
    /// Most queries that wait, all templates together. 65 536 are 64 full passes; the scheduler holds about 200 bytes for
    /// each, 13 MB together.
    pub waiting_max: usize,
    /// Most templates whose times are known. A model is below 3 kB, so 4096 are below 12 MB.
    pub models_max: usize,
    /// Time of a query of which nothing is known, before any query has run: the mean of the eight types of
    /// docs/one-pass.md at scale 1.
    pub prior: Duration,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self {
            heavy_lanes: 1,
            light_lanes: 1,
            light_below: Duration::from_millis(5),
            unqueued_max: usize::MAX,
            pass_queries_max: PASS_QUERIES_MAX,
            pass_memory_bytes_max: None,
            waiting_max: 65_536,
            models_max: 4096,
            prior: Duration::from_millis(30),
        }
    }
}

impl SchedulerOptions {
    /// Panics if an option has a value that nothing could run with.
    pub(crate) fn assert_valid(&self) {
        assert!(self.heavy_lanes > 0, "heavy passes need a lane");
        assert!(self.unqueued_max > 0, "a query with sharing off runs some time");
        assert!(self.pass_queries_max > 0, "a pass has at least one query");
        assert!(self.models_max > 0, "the running template needs a model");
    }
}
