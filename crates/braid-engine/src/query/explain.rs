//! EXPLAIN: the physical plan as text, and with ANALYZE what it did.
//!
//! One column, `QUERY PLAN`, one line a row, as in PostgreSQL; the lines are DataFusion's operators. VERBOSE adds the
//! logical plan and the metrics of each partition. ANALYZE runs the query to its end before it answers, and drops the
//! rows.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::StringArray;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::sql::sqlparser::ast::{self, Expr, UtilityOption, Value};
use futures::StreamExt;

use super::planner::Planner;
use super::rewrite::Parameters;
use super::{PlannedQuery, QuerySource};
use crate::interrupt::Interrupt;
use crate::statement::Command;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, Prepared, SqlState, Statement};

/// What was asked for.
struct Request {
    analyze: bool,
    verbose: bool,
}

/// EXPLAIN.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    params: &[ScalarValue],
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let Request { analyze, verbose } = request(statement)?;
    let planning = Instant::now();
    let (planned, mut lines) = plan(context, statement, params, verbose).await?;
    let planning = planning.elapsed();
    let PlannedQuery { planner, physical, .. } = planned;
    let mut row_count = 0;
    let execution = Instant::now();
    if analyze {
        let mut stream = planner.start(physical.clone())?;
        while let Some(batch) = interrupt.run(async { Ok(stream.next().await) }).await? {
            row_count += batch?.num_rows();
        }
    }
    let execution = execution.elapsed();
    // Deep plans are printed by recursion, too.
    let printed = async move |_| Ok(lines_of(&physical, analyze, verbose));
    lines.extend(context.plan_apart(statement.size(), printed).await?);
    if analyze {
        lines.push(format!("Rows: {row_count}"));
        lines.push(format!("Planning Time: {:.3} ms", planning.as_secs_f64() * 1000.0));
        lines.push(format!("Execution Time: {:.3} ms", execution.as_secs_f64() * 1000.0));
    }
    Outcome::batch(schema(), vec![Arc::new(StringArray::from(lines))], "EXPLAIN")
}

/// The planned query, and with VERBOSE its logical plan as text.
async fn plan(
    context: &StatementContext,
    statement: &Statement,
    params: &[ScalarValue],
    verbose: bool,
) -> Result<(PlannedQuery, Vec<String>), EngineError> {
    let planned = super::plan(context, statement, QuerySource::Statement, params).await?;
    if !verbose {
        return Ok((planned, Vec::new()));
    }
    let (statement, params) = (statement.clone(), params.to_vec());
    let size = statement.size();
    let logical = async move |context: StatementContext| {
        let planner = Planner::of(&context);
        let query = QuerySource::Statement.of(&statement)?;
        let plan = planner.plan(&statement, query, Parameters::Values(&params), &context).await?;
        let optimized = planner.state().optimize(&plan.logical)?;
        let text = optimized.display_indent().to_string();
        Ok(text.lines().chain([""]).map(str::to_owned).collect())
    };
    Ok((planned, context.plan_apart(size, logical).await?))
}

/// The types of the explained query's parameters.
pub(crate) async fn prepare(
    context: &StatementContext,
    statement: &Statement,
    given: &[Option<DataType>],
) -> Result<Prepared, EngineError> {
    request(statement)?;
    let parameter_types = super::parameter_types(context, statement, given).await?;
    Ok(Prepared { parameter_types, schema: Some(schema()) })
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8, false)]))
}

fn lines_of(plan: &Arc<dyn ExecutionPlan>, metrics: bool, verbose: bool) -> Vec<String> {
    let display = match (metrics, verbose) {
        (false, _) => DisplayableExecutionPlan::new(plan.as_ref()),
        (true, false) => DisplayableExecutionPlan::with_metrics(plan.as_ref()),
        (true, true) => DisplayableExecutionPlan::with_full_metrics(plan.as_ref()),
    };
    display.indent(verbose).to_string().lines().map(str::to_owned).collect()
}

fn request(statement: &Statement) -> Result<Request, EngineError> {
    let Command::Sql(ast::Statement::Explain {
        analyze,
        verbose,
        query_plan,
        estimate,
        statement,
        format,
        options,
        ..
    }) = statement.command()
    else {
        return Err(EngineError::unsupported("DESCRIBE is not supported; query information_schema.columns"));
    };
    if *query_plan || *estimate || format.is_some() {
        return Err(EngineError::unsupported("EXPLAIN returns only text; other formats are not supported"));
    }
    let ast::Statement::Query(_) = &**statement else {
        return Err(EngineError::unsupported("EXPLAIN supports only queries; other statements have no plan"));
    };
    let mut request = Request { analyze: *analyze, verbose: *verbose };
    for option in options.iter().flatten() {
        take_option(&mut request, option)?;
    }
    Ok(request)
}

fn take_option(request: &mut Request, option: &UtilityOption) -> Result<(), EngineError> {
    match option.name.value.to_lowercase().as_str() {
        "analyze" => request.analyze = is_on(option)?,
        "verbose" => request.verbose = is_on(option)?,
        // How much is printed, of what is always or never measured here.
        "costs" | "timing" | "summary" | "buffers" => {
            is_on(option)?;
        }
        "format" if option.arg.as_ref().is_some_and(|arg| arg.to_string().eq_ignore_ascii_case("text")) => {}
        other => {
            return Err(EngineError::unsupported(format!("EXPLAIN option {} is not supported", other.to_uppercase())));
        }
    }
    Ok(())
}

fn is_on(option: &UtilityOption) -> Result<bool, EngineError> {
    let word = match &option.arg {
        None => return Ok(true),
        Some(Expr::Value(value)) => match &value.value {
            Value::Boolean(on) => return Ok(*on),
            other => other.to_string(),
        },
        Some(other) => other.to_string(),
    };
    match word.trim_matches('\'').to_lowercase().as_str() {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(EngineError::new(SqlState::SyntaxError, format!("{} requires a Boolean value", option.name))),
    }
}
