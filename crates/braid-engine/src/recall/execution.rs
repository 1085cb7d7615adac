//! A statement by its template: recalled, or learned; bound; run.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_df::operators::{datafusion_error, order_joins};
use braid_exec::ExecError;
use braid_exec::plan::Plan;
use braid_share::{Refusal, SharingMode};
use datafusion::common::ScalarValue;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;

use super::constants::constants_of;
use super::template_planner::{NoTemplate, plan_template};
use crate::interrupt::Interrupt;
use crate::query::result_stream::ResultStream;
use crate::settings::SettingValues;
use crate::sharing::{AloneRun, BoundQuery, QueryAnswer, run_in_place, start_alone};
use crate::statement::{ScannedText, Tokens};
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use crate::templates::generalization::Generalization;
use crate::templates::plan_template::{ParameterRow, PlanTemplate};
use crate::templates::template_cache::{Learning, Recall, TextEntry};
use crate::{EngineError, Outcome, SqlState, Statement};

/// Whether a text has a plan already, so that it need not be parsed.
pub(crate) fn is_known(context: &StatementContext, scanned: &ScannedText) -> bool {
    let key = key(scanned, &context.settings());
    key.and_then(|key| context.database().templates().known(&key)).is_some_and(|entry| entry.plan_count() > 0)
}

/// Runs a statement by its template; `None` if it has none, and is to be planned with its constants.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    params: &[ScalarValue],
    interrupt: &Interrupt,
) -> Result<Option<Outcome>, EngineError> {
    let Some(scanned) = statement.scanned() else { return Ok(None) };
    let settings = context.settings();
    let Some(key) = key(scanned, &settings) else { return Ok(None) };
    let Some(constants) = constants_of(scanned, params)? else { return Ok(None) };
    let entry = context.database().templates().entry(&key);
    let snapshot = context.snapshot();
    let is_eager = settings.get("braid.templates") == Some("eager");
    let learning = if is_eager { Learning::Eager } else { Learning::FromStatements };
    let template = match entry.recall(&constants, &snapshot, learning) {
        Recall::Plan(template) => template,
        Recall::Nothing => return Ok(None),
        Recall::Make(general) => match learn(context, statement, params, &entry, general).await? {
            Some(template) if template.includes(&constants) => template,
            _ => return Ok(None),
        },
    };
    let Some(row) = template.bind(&constants) else { return Ok(None) };
    let Some(rows) = rows(context, &template, row, &settings).await? else { return Ok(None) };
    let (schema, lengths) = (template.schema.clone(), template.lengths.clone());
    let running = context.database().statements().token();
    let stream = ResultStream::guard(rows, schema.clone(), lengths, interrupt, context.on_failure(), running);
    Ok(Some(Outcome::Rows { schema, stream, tag: "SELECT" }))
}

/// The plan that statements share, and the parameters of each.
#[derive(Clone, Debug)]
pub struct SharedForm {
    /// The plan, with its joins ordered for these statements.
    pub plan: Plan,
    /// The parameters of each statement.
    pub parameters: Vec<ParameterRow>,
    /// The types of the plan's columns.
    pub schema: SchemaRef,
}

/// The form that statements of one template share, learned from all of them at once.
///
/// # Errors
/// When they have no template in common.
pub(crate) async fn shared_form(context: &StatementContext, texts: &[String]) -> Result<SharedForm, EngineError> {
    let none = |reason: &str| EngineError::unsupported(format!("the statements have no template in common: {reason}"));
    let mut constants = Vec::with_capacity(texts.len());
    for text in texts {
        let scanned = Tokens::of(text)?.scanned().ok_or_else(|| none("one of them is no query"))?;
        constants.push(constants_of(&scanned, &[])?.ok_or_else(|| none("one of them has parameters"))?);
    }
    let (Some(first), Some(last)) = (constants.first(), texts.last()) else { return Err(none("there are none")) };
    let mut general = Generalization::of(first.clone());
    for constants in &constants {
        if constants.len() != first.len() {
            return Err(none("their constants differ in number"));
        }
        general.widen(constants.clone());
    }
    let statement = Statement::parse(last)?.pop().ok_or_else(|| none("one of them is empty"))?;
    let work = async move |context: StatementContext| {
        let scanned = statement.scanned().ok_or_else(|| EngineError::internal("a template without its text"))?;
        let planned = plan_template(&context, &statement, &[], scanned, &mut general).await;
        planned.map_err(|NoTemplate(reason)| EngineError::unsupported(reason))
    };
    let template = context.plan_apart(StatementSize::default(), work).await?;
    let bind = |constants: &Vec<_>| template.includes(constants).then(|| template.bind(constants)).flatten();
    let parameters: Option<Vec<ParameterRow>> = constants.iter().map(bind).collect();
    let parameters = parameters.ok_or_else(|| none("a constant of one of them is another statement's plan"))?;
    let plan = order_joins(&template.plan.plan, &parameters);
    Ok(SharedForm { plan, parameters, schema: template.physical_schema })
}

/// The key of a text's entry: its template, and the settings that plans depend on. `None` if the session's statements have
/// none.
fn key(scanned: &ScannedText, settings: &SettingValues) -> Option<String> {
    let is = |name: &str, value: &str| settings.get(name) == Some(value);
    // Other join orders serve to be measured, and templates put joins in the cheapest order.
    let has_own_order = settings.get("braid.join_order").is_some_and(|rule| rule != "cheapest");
    if is("braid.operators", "datafusion") || is("braid.templates", "off") || has_own_order {
        return None;
    }
    let zone = settings.get("TimeZone").unwrap_or_default();
    Some(format!("{}\0{zone}", scanned.template))
}

/// Makes a plan on a planning thread, and keeps it.
async fn learn(
    context: &StatementContext,
    statement: &Statement,
    params: &[ScalarValue],
    entry: &Arc<TextEntry>,
    mut general: Generalization,
) -> Result<Option<Arc<PlanTemplate>>, EngineError> {
    let (statement, params, entry) = (statement.parsed()?, params.to_vec(), entry.clone());
    let size = statement.size();
    let work = async move |context: StatementContext| {
        let scanned = statement.scanned().ok_or_else(|| EngineError::internal("a template without its text"))?;
        let made = plan_template(&context, &statement, &params, scanned, &mut general).await;
        let made = match made {
            Ok(template) => {
                let template = Arc::new(template);
                entry.keep(template.clone(), &general);
                Some(template)
            }
            Err(NoTemplate(reason)) => {
                tracing::debug!(reason, "no template");
                entry.refuse(reason, &general);
                None
            }
        };
        context.database().templates().recount(&entry);
        Ok(made)
    };
    context.plan_apart(size, work).await
}

/// The rows of a query; `None` if its plan does not fit the tables any more.
async fn rows(
    context: &StatementContext,
    template: &Arc<PlanTemplate>,
    row: ParameterRow,
    settings: &SettingValues,
) -> Result<Option<SendableRecordBatchStream>, EngineError> {
    if template.is_tiny()
        && let Some(rows) = rows_in_place(context, template, &row, settings).await?
    {
        return Ok(Some(rows));
    }
    let mode = sharing_mode(settings);
    if mode == SharingMode::Off {
        return Ok(rows_alone(context, template, &row, settings));
    }
    let query = BoundQuery {
        template: template.clone(),
        row: row.clone(),
        snapshot: context.fixed_snapshot(),
        mode,
        response_limit: settings.response_limit_ms().map(Duration::from_millis),
    };
    let handle = context.database().dispatcher().arrive(query).map_err(refused)?;
    match handle.answer().await {
        Some(QueryAnswer::Rows(batches, _)) => Ok(Some(collected(template, batches))),
        Some(QueryAnswer::Stream(rows)) => Ok(Some(rows)),
        Some(QueryAnswer::RunAlone) => Ok(rows_alone(context, template, &row, settings)),
        Some(QueryAnswer::PlanAnew) => Ok(None),
        None => Err(EngineError::internal("the query's pass has failed")),
    }
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
        Refusal::TooSlow { .. } => error.with_hint("Try again later, or raise braid.response_limit."),
        Refusal::TooManyWaiting { .. } => error.with_hint("Try again later."),
    }
}

/// The rows of a query that is done at once; `None` if its result is too large to be kept, or its plan does not fit the
/// tables any more.
async fn rows_in_place(
    context: &StatementContext,
    template: &PlanTemplate,
    row: &ParameterRow,
    settings: &SettingValues,
) -> Result<Option<SendableRecordBatchStream>, EngineError> {
    let database = context.database();
    let Some(plan) = template.on(&context.snapshot()) else { return Ok(None) };
    let (memory, spill) = (database.query_memory(settings), database.spill_space().clone());
    let schema = template.physical_schema.clone();
    match run_in_place(&plan, row, schema, AloneRun { workers: 1, memory, spill }).await {
        Ok(batches) => Ok(Some(collected(template, batches))),
        Err(ExecError::Cancelled) => Ok(None),
        Err(error) => Err(datafusion_error(error).into()),
    }
}

fn collected(template: &PlanTemplate, batches: Vec<RecordBatch>) -> SendableRecordBatchStream {
    let batches = stream::iter(batches.into_iter().map(Ok));
    Box::pin(RecordBatchStreamAdapter::new(template.physical_schema.clone(), batches))
}

/// The rows of a query outside of the lanes.
fn rows_alone(
    context: &StatementContext,
    template: &PlanTemplate,
    row: &ParameterRow,
    settings: &SettingValues,
) -> Option<SendableRecordBatchStream> {
    let database = context.database();
    let plan = template.on(&context.snapshot())?;
    let (workers, memory) = (database.worker_count(settings), database.query_memory(settings));
    let spill = database.spill_space().clone();
    Some(start_alone(&plan, row, template.physical_schema.clone(), AloneRun { workers, memory, spill }))
}
