//! What the engine reports to the scheduler, and what it gets.

use std::time::Duration;

use crate::ids::{PassNumber, QueryTicket, TemplateNumber};
use crate::lanes::Lane;
use crate::options::Form;
use crate::sharing_mode::SharingMode;

/// A query that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The query. A ticket is used for one query at a time: one that its pass could not answer arrives with it again.
    pub query: QueryTicket,
    /// Its template.
    pub template: TemplateNumber,
    /// Identity of its constants: queries of one template with equal identities have equal answers on one snapshot.
    pub identity: u64,
    /// Whether it may wait for others.
    pub mode: SharingMode,
    /// Most time from its arrival to its answer; predicted to take longer, it is refused. `Off` ignores it.
    pub response_limit: Option<Duration>,
}

/// A query that equals one of a pass that runs.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// The query. A ticket is used for one query at a time.
    pub query: QueryTicket,
    /// The pass.
    pub pass: PassNumber,
    /// Most time until its answer.
    pub response_limit: Option<Duration>,
}

/// A pass to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its number, to be named when it finishes.
    pub pass: PassNumber,
    /// Where it runs.
    pub lane: Lane,
    /// Its template.
    pub template: TemplateNumber,
    /// Its form. In `Form::Alone` all queries are equal: one execution answers them.
    pub form: Form,
    /// Its queries, oldest first, at least 1.
    pub queries: Vec<QueryTicket>,
    /// Distinct queries among them.
    pub distinct: usize,
    /// Its predicted time.
    pub predicted: Duration,
    /// Its predicted memory in bytes; `None` for a query alone, and if no pass of the template has been observed.
    pub memory_bytes: Option<u64>,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It answered its queries.
    Answered,
    /// It failed.
    Failed,
    /// It failed because it needed more memory than it was granted.
    OutOfMemory,
    /// It was stopped because all its queries had left.
    Cancelled,
}

/// What became of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// The most memory that it held, in bytes, if known.
    pub memory_bytes: Option<u64>,
    /// How long it executed, if this is less than the time since its start: without waiting for slow readers.
    pub executed: Option<Duration>,
}

/// Where a query was that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It had not arrived, or was answered before.
    Unknown,
    /// It waited. It is in no start.
    Waited,
    /// It ran.
    Ran {
        /// Its pass.
        pass: PassNumber,
        /// The queries that the pass still answers. At 0 the engine may stop the pass; it still reports its end.
        remaining: usize,
    },
}
