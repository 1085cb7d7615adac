//! One EXPLAIN: its lines.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::StringArray;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;

use super::explained_run::{ExplainedQuery, ExplainedRun, Shown};
use super::request::Request;
use crate::bound_parameters::BoundParameters;
use crate::interrupt::Interrupt;
use crate::outcome::ParameterType;
use crate::query::planner::Planner;
use crate::query::rewrite::Parameters;
use crate::query::{QuerySource, parameter_types};
use crate::recall::KnownTemplate;
use crate::statement::Tokens;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, Prepared, Statement, front_end};

/// EXPLAIN.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    params: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let Request { analyze, verbose } = Request::of(statement)?;
    let planning = Instant::now();
    let template = KnownTemplate::of(context, Tokens::of(statement.text())?.explained(), params)?;
    let mut lines = vec![format!("Template: {template}")];
    let query = ExplainedQuery::of(context, statement, params, template).await?;
    let planning = planning.elapsed();
    let logical = if verbose { logical_plan(context, statement, params).await? } else { Vec::new() };
    let execution = Instant::now();
    let run = if analyze { Some(run(context, statement, params, &query, interrupt).await?) } else { None };
    let execution = execution.elapsed();
    let (shown, end) = match run {
        None => (query.shown(), Vec::new()),
        Some(ExplainedRun { course, shown, row_count }) => {
            lines.extend(course);
            let end = vec![
                format!("Rows: {row_count}"),
                format!("Planning Time: {:.3} ms", planning.as_secs_f64() * 1000.0),
                format!("Execution Time: {:.3} ms", execution.as_secs_f64() * 1000.0),
            ];
            (shown, end)
        }
    };
    lines.extend(logical);
    // Deep plans are printed by recursion, too.
    let printed = async move |_| Ok(lines_of(&shown, analyze, verbose));
    lines.extend(context.plan_apart(statement.size(), printed).await?);
    lines.extend(end);
    Outcome::batch(schema(), vec![Arc::new(StringArray::from(lines))], "EXPLAIN")
}

/// Runs the query. If its tables have changed since its template was found, it is planned with its constants.
async fn run(
    context: &StatementContext,
    statement: &Statement,
    params: &BoundParameters,
    query: &ExplainedQuery,
    interrupt: &Interrupt,
) -> Result<ExplainedRun, EngineError> {
    if let Some(run) = query.run(context, interrupt).await? {
        return Ok(run);
    }
    let planned = ExplainedQuery::planned(context, statement, params).await?;
    let run = planned.run(context, interrupt).await?;
    run.ok_or_else(|| EngineError::internal("a planned query that does not run"))
}

/// The logical plan as text, and an empty line.
async fn logical_plan(
    context: &StatementContext,
    statement: &Statement,
    params: &BoundParameters,
) -> Result<Vec<String>, EngineError> {
    let size = statement.size();
    let statement = statement.clone();
    if let Some(text) = front_end::relation_text(context, &statement, params).await? {
        return Ok(text.lines().chain([""]).map(str::to_owned).collect());
    }
    let params = params.scalars()?.to_vec();
    let logical = async move |context: StatementContext| {
        let planner = Planner::of(&context);
        let query = QuerySource::Statement.of(&statement)?;
        let plan = planner.plan(&statement, query, Parameters::Values(&params), &context).await?;
        let optimized = planner.state().optimize(&plan.logical)?;
        let text = optimized.display_indent().to_string();
        Ok(text.lines().chain([""]).map(str::to_owned).collect())
    };
    context.plan_apart(size, logical).await
}

/// The types of the explained query's parameters.
pub(crate) async fn prepare(
    context: &StatementContext,
    statement: &Statement,
    given: &[Option<DataType>],
) -> Result<Prepared, EngineError> {
    Request::of(statement)?;
    let parameter_types = ParameterType::of_arrow(parameter_types(context, statement, given).await?);
    Ok(Prepared { parameter_types, schema: Some(schema()) })
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8, false)]))
}

fn lines_of(shown: &Shown, metrics: bool, verbose: bool) -> Vec<String> {
    let text = match shown {
        Shown::Operators(plan) => operators(plan, metrics, verbose),
        Shown::Text(text) => text.clone(),
    };
    text.lines().map(str::to_owned).collect()
}

fn operators(plan: &Arc<dyn ExecutionPlan>, metrics: bool, verbose: bool) -> String {
    let display = match (metrics, verbose) {
        (false, _) => DisplayableExecutionPlan::new(plan.as_ref()),
        (true, false) => DisplayableExecutionPlan::with_metrics(plan.as_ref()),
        (true, true) => DisplayableExecutionPlan::with_full_metrics(plan.as_ref()),
    };
    display.indent(verbose).to_string()
}
