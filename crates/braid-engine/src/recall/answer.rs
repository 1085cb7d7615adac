//! The answer of a statement with a plan: from a pass, or alone.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use braid_exec::ExecError;
use braid_plan::lowering::is_too_narrow;
use braid_plan::optimization::order_joins;
use braid_share::{Refusal, SharingMode};
use futures::{StreamExt, stream};

use crate::rows::Rows;
use crate::settings::SettingValues;
use crate::sharing::{
    AlonePlan, AloneRows, BoundQuery, PassReport, PassStart, QueryAnswer, Reads, ResultKey, TableVersions, Wanted,
};
use crate::statement_context::StatementContext;
use crate::templates::plan_template::BoundTemplate;
use crate::{EngineError, SqlState};

/// Most of a response limit that is left for sending the first rows, and for timers, which fire up to a millisecond late.
const SENDING_MAX: Duration = Duration::from_millis(5);

const LIMIT_HINT: &str = "Try again later, or raise braid.response_limit.";

/// The rows of a query, and how they are made.
pub(crate) struct Answer {
    /// The rows, with the columns of the plan.
    pub rows: Rows,
    /// How they are made.
    pub course: Course,
}

/// How a query runs.
pub(crate) enum Course {
    /// It ran in a pass, which has ended.
    Pass(Arc<PassReport>),
    /// Its result was kept from an equal query.
    Kept,
    /// It runs alone.
    Alone(AlonePlan, Place),
}

/// Where a query runs alone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// In a lane, or beside the lanes after a pass could not answer it, for so many queries that equal it.
    Lane { start: PassStart, queries: usize },
    /// At once, because it reads few rows.
    AtOnce,
    /// Outside of the lanes, because the session does not share.
    NotSharing,
    /// Outside of the lanes, because it reads older versions than passes do.
    OfOlderVersions,
}

/// The answer of a query; `None` if its plan does not fit the tables any more.
pub(crate) async fn answer(
    context: &StatementContext,
    bound: &BoundTemplate,
    settings: &SettingValues,
    wanted: Wanted,
) -> Result<Option<Answer>, EngineError> {
    if bound.template.is_tiny()
        && let Some(answer) = answer_in_place(context, bound, settings).await?
    {
        return Ok(Some(answer));
    }
    let mode = sharing_mode(settings);
    if mode == SharingMode::Off {
        return Ok(answer_alone(context, bound, settings, Place::NotSharing));
    }
    // Its statement sees what was committed before now, or the snapshot of its block.
    let Some(versions) = TableVersions::of(&bound.template, &context.snapshot()) else { return Ok(None) };
    let kept_key = settings.keeps_results().then(|| ResultKey::new(bound, versions.clone()));
    let results = context.database().dispatcher().results();
    if let Some(kept) = kept_key.as_ref().and_then(|key| results.find(key)) {
        return Ok(Some(Answer { rows: kept.stream(bound.template.physical_schema.clone()), course: Course::Kept }));
    }
    let keep = |versions: &Option<TableVersions>, batches: &[RecordBatch]| {
        if let (Some(_), Some(versions)) = (&kept_key, versions) {
            results.keep(ResultKey::new(bound, versions.clone()), batches);
        }
    };
    let reads = if context.has_fixed_snapshot() { Reads::Only(versions) } else { Reads::AtLeast(versions) };
    let response_limit = settings.response_limit_ms().map(Duration::from_millis);
    let query = BoundQuery {
        template: bound.template.clone(),
        text_number: bound.text_number,
        row: bound.row.clone(),
        reads,
        mode,
        response_limit,
        wanted,
    };
    let handle = context.database().dispatcher().arrive(query).map_err(refused)?;
    let answer = async {
        match handle.answer().await {
            Some(QueryAnswer::Rows(rows, report)) => {
                if let Some(batches) = kept_key.as_ref().and_then(|_| rows.in_memory()) {
                    keep(&report.versions, &batches);
                }
                Ok(Some(Answer { rows: rows.into_stream(), course: Course::Pass(report) }))
            }
            Some(QueryAnswer::RowsAlone(AloneRows { rows, query_count, versions }, plan, start)) => {
                keep(&versions, rows.batches());
                let rows = rows.stream(bound.template.physical_schema.clone());
                Ok(Some(Answer { rows, course: Course::Alone(plan, Place::Lane { start, queries: query_count }) }))
            }
            Some(QueryAnswer::Stream(rows, plan, start)) => {
                Ok(Some(Answer { rows, course: Course::Alone(plan, Place::Lane { start, queries: 1 }) }))
            }
            Some(QueryAnswer::Failed(error)) if bound.template.is_optimistic && is_too_narrow(&error) => Ok(None),
            Some(QueryAnswer::Failed(error)) => Err(EngineError::from(&*error)),
            Some(QueryAnswer::RunAlone) => Ok(answer_alone(context, bound, settings, Place::OfOlderVersions)),
            Some(QueryAnswer::PlanAnew) => Ok(None),
            None => Err(EngineError::internal("the query's pass has failed")),
        }
    };
    match response_limit {
        Some(limit) => first_rows_within(limit, answer).await,
        None => answer.await,
    }
}

/// An answer whose first rows have come early enough to be sent within the limit. A query that is late leaves: what was predicted
/// at its arrival was wrong.
async fn first_rows_within(
    limit: Duration,
    answer: impl Future<Output = Result<Option<Answer>, EngineError>>,
) -> Result<Option<Answer>, EngineError> {
    let started = async {
        let Some(Answer { mut rows, course }) = answer.await? else { return Ok(None) };
        let first = rows.next().await;
        let rows = Rows::new(rows.schema(), stream::iter(first).chain(rows));
        Ok(Some(Answer { rows, course }))
    };
    let sending = (limit / 10).min(SENDING_MAX);
    tokio::time::timeout(limit - sending, started).await.unwrap_or_else(|_| {
        let message = format!("the query was not answered within the limit of {:.3} s", limit.as_secs_f64());
        Err(EngineError::new(SqlState::InsufficientResources, message).with_hint(LIMIT_HINT))
    })
}

/// The plan that a query runs on alone; `None` if it does not fit the tables any more.
pub(crate) fn plan_alone(
    context: &StatementContext,
    bound: &BoundTemplate,
    settings: &SettingValues,
) -> Option<AlonePlan> {
    let workers = if bound.template.is_tiny() { 1 } else { context.database().worker_count(settings) };
    plan_for(context, bound, workers)
}

fn plan_for(context: &StatementContext, bound: &BoundTemplate, workers: usize) -> Option<AlonePlan> {
    let plan = bound.template.on(&context.snapshot())?;
    let keys = &context.database().dispatcher().resources().unique_keys;
    let plan = order_joins(&plan, std::slice::from_ref(&bound.row), keys).plan;
    Some(AlonePlan::new(&plan, &bound.row, bound.template.physical_schema.clone(), workers))
}

/// The answer of a query that is done at once; `None` if its result is too large to be kept, or its plan does not fit the tables
/// any more.
async fn answer_in_place(
    context: &StatementContext,
    bound: &BoundTemplate,
    settings: &SettingValues,
) -> Result<Option<Answer>, EngineError> {
    let database = context.database();
    let Some(plan) = plan_for(context, bound, 1) else { return Ok(None) };
    match plan.run_in_place(database.query_memory(settings), database.spill_space().clone()).await {
        Ok(batches) => Ok(Some(Answer { rows: collected(bound, batches), course: Course::Alone(plan, Place::AtOnce) })),
        Err(ExecError::Cancelled) => Ok(None),
        Err(error) if bound.template.is_optimistic && is_too_narrow(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn collected(bound: &BoundTemplate, batches: Vec<RecordBatch>) -> Rows {
    let batches = stream::iter(batches.into_iter().map(Ok));
    Rows::new(bound.template.physical_schema.clone(), batches)
}

/// The answer of a query outside of the lanes.
fn answer_alone(
    context: &StatementContext,
    bound: &BoundTemplate,
    settings: &SettingValues,
    place: Place,
) -> Option<Answer> {
    let database = context.database();
    let plan = plan_for(context, bound, database.worker_count(settings))?;
    let _threads = database.dispatcher().heavy_threads().enter();
    let rows = plan.start(database.query_memory(settings), database.spill_space().clone());
    Some(Answer { rows, course: Course::Alone(plan, place) })
}

/// Whether a session's queries share. Those with workers or memory of their own do not.
fn sharing_mode(settings: &SettingValues) -> SharingMode {
    if ["braid.target_partitions", "braid.query_memory"].iter().any(|name| settings.get(name).is_some()) {
        return SharingMode::Off;
    }
    settings.get("braid.sharing").and_then(|mode| mode.parse().ok()).unwrap_or(SharingMode::Auto)
}

fn refused(refusal: Refusal) -> EngineError {
    let error = EngineError::new(SqlState::InsufficientResources, refusal.to_string());
    match refusal {
        Refusal::TooSlow { .. } => error.with_hint(LIMIT_HINT),
        Refusal::TooManyWaiting { .. } => error.with_hint("Try again later."),
    }
}
