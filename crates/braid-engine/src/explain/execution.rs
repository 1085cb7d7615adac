//! One EXPLAIN: its lines.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::StringArray;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::explained_run::{ExplainedQuery, ExplainedRun, Shown};
use super::request::Request;
use crate::bound_parameters::BoundParameters;
use crate::deep_stack::on_deep_stack;
use crate::interrupt::Interrupt;
use crate::recall::KnownTemplate;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement, front_end};

/// EXPLAIN.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    params: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let Request { analyze, verbose } = Request::of(statement)?;
    let planning = Instant::now();
    let scanned = statement.explained()?;
    let template = KnownTemplate::of(context, &scanned, params)?;
    let mut lines = vec![format!("Template: {template}")];
    let query = ExplainedQuery::of(context, statement, params, template).await?;
    let planning = planning.elapsed();
    let relation = if verbose { relation_lines(context, statement, params).await? } else { Vec::new() };
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
    lines.extend(relation);
    lines.extend(printed(context, statement, shown, analyze).await?);
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

/// The rewritten query as text, and an empty line.
async fn relation_lines(
    context: &StatementContext,
    statement: &Statement,
    params: &BoundParameters,
) -> Result<Vec<String>, EngineError> {
    let text = front_end::relation_text(context, statement, params).await?;
    Ok(text.lines().chain([""]).map(str::to_owned).collect())
}

/// The types of the explained query's parameters.
pub(crate) async fn prepare(
    context: &StatementContext,
    statement: &Statement,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    Request::of(statement)?;
    let described = front_end::describe(context, statement, declared).await?;
    Ok(Prepared { schema: Some(schema()), ..described.prepared })
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8, false)]))
}

/// The lines of a plan. Deep ones are printed by recursion, too, and apart, because they are long.
async fn printed(
    context: &StatementContext,
    statement: &Statement,
    shown: Shown,
    with_figures: bool,
) -> Result<Vec<String>, EngineError> {
    let size = statement.size();
    match size.is_large() {
        true => context.plan_apart(size, async move |_| Ok(lines_of(&shown, with_figures))).await,
        false => Ok(on_deep_stack(size.expressions, || lines_of(&shown, with_figures))),
    }
}

fn lines_of(shown: &Shown, with_figures: bool) -> Vec<String> {
    let text = match shown {
        Shown::Alone(plan) => plan.describe(with_figures),
        Shown::Pass(text) => text.clone(),
    };
    text.lines().map(str::to_owned).collect()
}
