//! A query as its statement sees it: what it asks, what is answered, and its departure when the statement ends early.

use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_exec::ExecError;
use braid_exec::plan::PlanText;
use braid_share::{PassNumber, QueryTicket, SharingMode};
use tokio::sync::oneshot;

use super::alone_run::AlonePlan;
use super::dispatcher::Dispatcher;
use super::rows_in_memory::RowsInMemory;
use super::table_versions::{Reads, TableVersions};
use crate::rows::{KeptRows, Rows};
use crate::templates::plan_template::{ParameterRow, PlanTemplate};

/// A query that is ready to run.
#[derive(Clone, Debug)]
pub(crate) struct BoundQuery {
    /// Its plan.
    pub template: Arc<PlanTemplate>,
    /// The number of its text template.
    pub text_number: u64,
    /// Its parameters.
    pub row: ParameterRow,
    /// What it may read.
    pub reads: Reads,
    /// Whether it may wait for others.
    pub mode: SharingMode,
    /// Most time until its answer.
    pub response_limit: Option<Duration>,
    /// What its statement wants to know.
    pub wanted: Wanted,
}

/// What a statement wants to know of its query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Its rows.
    Rows,
    /// Its rows, and the plan of its pass as text.
    RowsAndPlan,
}

/// What became of a query.
pub(crate) enum QueryAnswer {
    /// All its rows, and how its pass went.
    Rows(KeptRows, Arc<PassReport>),
    /// All its rows, which a plan alone has made for it and the queries that equal it.
    RowsAlone(AloneRows, AlonePlan, PassStart),
    /// Its rows as they are made by a plan that runs for it alone.
    Stream(Rows, AlonePlan, PassStart),
    /// It has failed alone, for itself and the queries that equal it.
    Failed(Arc<ExecError>),
    /// It is to be run alone, outside of the lanes: it reads older versions than passes do.
    RunAlone,
    /// Its plan does not fit the tables any more.
    PlanAnew,
}

/// The rows that a plan alone has made.
#[derive(Clone)]
pub(crate) struct AloneRows {
    /// The rows.
    pub rows: Arc<RowsInMemory>,
    /// For so many equal queries.
    pub query_count: usize,
    /// What it has read.
    pub versions: Option<TableVersions>,
}

/// A pass that has started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassStart {
    /// Its number.
    pub number: PassNumber,
    /// The time that is predicted.
    pub predicted: Duration,
}

/// How a pass went.
#[derive(Clone, Debug)]
pub(crate) struct PassReport {
    /// Its number, and the time that was predicted.
    pub start: PassStart,
    /// Number of queries, with those that were attached and without those that have left.
    pub query_count: usize,
    /// Number of distinct queries.
    pub distinct_count: usize,
    /// Number of distinct query sets, with the empty one and that of all queries, which every pass has.
    pub set_count: usize,
    /// The time that it took.
    pub took: Duration,
    /// What it has read.
    pub versions: Option<TableVersions>,
    /// Its plan, if one of its queries wanted to know.
    pub plan: Option<PlanText>,
}

/// A query that waits or runs. Dropping it leaves.
pub(crate) struct QueryHandle {
    pub(super) ticket: QueryTicket,
    pub(super) dispatcher: Weak<Dispatcher>,
    pub(super) answer: oneshot::Receiver<QueryAnswer>,
    pub(super) is_answered: bool,
}

impl QueryHandle {
    /// Waits for the answer; `None` if the pass failed by a bug.
    pub async fn answer(mut self) -> Option<QueryAnswer> {
        let answer = (&mut self.answer).await.ok();
        self.is_answered = true;
        answer
    }
}

impl Drop for QueryHandle {
    fn drop(&mut self) {
        if !self.is_answered
            && let Some(dispatcher) = self.dispatcher.upgrade()
        {
            // Closed before it leaves, so that it is not run again between two passes.
            self.answer.close();
            dispatcher.leave(self.ticket);
        }
    }
}
