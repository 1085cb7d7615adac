//! What the scheduler shows of its state, for system views and EXPLAIN.

use std::time::Duration;

use crate::ids::{PassNumber, QueryTicket, TemplateNumber};
use crate::lanes::Lane;
use crate::options::Form;

/// The queue of one template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingView {
    /// The template.
    pub template: TemplateNumber,
    /// Queries that wait, at least 1.
    pub queries: usize,
    /// Distinct ones among them.
    pub distinct: usize,
    /// Waiting time of the oldest query.
    pub longest_wait: Duration,
    /// The form of its next pass.
    pub form: Form,
    /// Predicted time of its next pass.
    pub predicted: Duration,
}

/// A pass that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningView {
    /// The pass.
    pub pass: PassNumber,
    /// Its template.
    pub template: TemplateNumber,
    /// Its lane; `None` after it gave its lane up.
    pub lane: Option<Lane>,
    /// Its form.
    pub form: Form,
    /// The queries that it still answers, by ticket.
    pub queries: Vec<QueryTicket>,
    /// Its predicted time, from its start.
    pub predicted: Duration,
    /// When it started, in microseconds of the engine's clock.
    pub started_us: u64,
}
