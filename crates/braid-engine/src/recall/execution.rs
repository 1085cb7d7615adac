//! A statement by its template: recalled, or learned; bound; run.

use std::sync::Arc;

use braid_df::operators::{PlanRun, QueryBudget};
use datafusion::common::ScalarValue;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;

use super::constants::constants_of;
use super::template_planner::{NoTemplate, plan_template};
use crate::interrupt::Interrupt;
use crate::query::result_stream::ResultStream;
use crate::settings::SettingValues;
use crate::statement::ScannedText;
use crate::statement_context::StatementContext;
use crate::templates::generalization::Generalization;
use crate::templates::plan_template::{ParameterRow, PlanTemplate};
use crate::templates::template_cache::{Learning, Recall, TextEntry};
use crate::{EngineError, Outcome, Statement};

/// Number of rows of a result's batch, as DataFusion's plans have them.
const BATCH_ROWS: usize = 8192;

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
    let template = match entry.recall(&constants, snapshot.sequence(), learning) {
        Recall::Plan(template) => template,
        Recall::Nothing => return Ok(None),
        Recall::Make(general) => match learn(context, statement, params, &entry, general).await? {
            Some(template) if template.includes(&constants) => template,
            _ => return Ok(None),
        },
    };
    let Some(row) = template.bind(&constants) else { return Ok(None) };
    Ok(Some(run(context, &template, &row, &settings, interrupt)))
}

/// The key of a text's entry: its template, and the settings that plans depend on. `None` if the session's statements have
/// none.
fn key(scanned: &ScannedText, settings: &SettingValues) -> Option<String> {
    if settings.get("braid.operators") == Some("datafusion") || settings.get("braid.templates") == Some("off") {
        return None;
    }
    let of = |name: &str| settings.get(name).unwrap_or_default();
    let (zone, rule, seed) = (of("TimeZone"), of("braid.join_order"), of("braid.join_order_seed"));
    Some(format!("{}\0{zone}\0{rule}\0{seed}", scanned.template))
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

/// Starts the plan of one statement.
fn run(
    context: &StatementContext,
    template: &PlanTemplate,
    row: &ParameterRow,
    settings: &SettingValues,
    interrupt: &Interrupt,
) -> Outcome {
    let database = context.database();
    let pool: Arc<dyn MemoryPool> = database.query_memory(settings);
    let run = PlanRun {
        worker_count: database.worker_count(settings),
        batch_rows: BATCH_ROWS,
        budget: QueryBudget::new(&pool),
        spill: Some(database.spill_space().clone()),
    };
    let plan = Arc::new(template.plan.plan.bind(row));
    let rows = run.start(plan, template.physical_schema.clone(), &ExecutionPlanMetricsSet::new(), 0);
    let (schema, lengths) = (template.schema.clone(), template.lengths.clone());
    let running = database.statements().token();
    let stream = ResultStream::guard(rows, schema.clone(), lengths, interrupt, context.on_failure(), running);
    Outcome::Rows { schema, stream, tag: "SELECT" }
}
