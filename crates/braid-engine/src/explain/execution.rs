//! One EXPLAIN, from the query to its columns.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::StringArray;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use braid_exec::plan::PlanText;
use braid_sql::SqlType;
use braid_sql::pg_catalog::TypeId;

use super::explained_run::{ExplainedQuery, ExplainedRun, Shown};
use super::explanation::Explanation;
use super::request::{Format, Request, TreeFormat};
use crate::bound_parameters::BoundParameters;
use crate::deep_stack::on_deep_stack;
use crate::interrupt::Interrupt;
use crate::outcome::described_as;
use crate::recall::KnownTemplate;
use crate::statement::{ScannedText, Unscanned};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement, front_end};

/// What is explained.
pub(crate) struct Explained<'a> {
    /// The EXPLAIN, or the query that it names by EXECUTE.
    statement: &'a Statement,
    /// The query as template and constants, or why it can have no template.
    scanned: Arc<Result<ScannedText, Unscanned>>,
}

impl<'a> Explained<'a> {
    /// The query in an EXPLAIN.
    pub fn within(statement: &'a Statement) -> Result<Self, EngineError> {
        Ok(Self { statement, scanned: statement.explained()? })
    }

    /// A query that was prepared.
    pub fn prepared(query: &'a Statement) -> Self {
        let scanned = query.scanned().cloned().ok_or(Unscanned::OtherStatement);
        Self { statement: query, scanned: Arc::new(scanned) }
    }
}

/// EXPLAIN.
pub(crate) async fn execute(
    context: &StatementContext,
    request: &Request,
    explained: Explained<'_>,
    params: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let Explained { statement, scanned } = explained;
    let began = Instant::now();
    let template = KnownTemplate::of(context, &scanned, params)?;
    let mut facts = vec![("Template", template.to_string())];
    let query = ExplainedQuery::of(context, statement, params, template).await?;
    let planning = began.elapsed();
    let relation = match request.verbose {
        true => Some(front_end::relation_text(context, statement, params).await?),
        false => None,
    };
    let began = Instant::now();
    let (mut shown, mut row_count) = (query.shown(), None);
    if request.analyze {
        let run = run(context, statement, params, &query, interrupt).await?;
        facts.extend(run.course);
        (shown, row_count) = (run.shown, Some(run.row_count));
    }
    let execution = began.elapsed();
    let is_summary_wanted = request.summary.unwrap_or(request.analyze);
    let explanation = Explanation {
        facts,
        relation,
        course: shown.course(request.analyze),
        plan: PlanText::default(),
        row_count,
        planning: is_summary_wanted.then_some(planning),
        execution: (is_summary_wanted && request.analyze).then_some(execution),
    };
    let lines = printed(context, statement, explanation, shown, request).await?;
    Outcome::batch(schema(request.format), vec![Arc::new(StringArray::from(lines))], "EXPLAIN")
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

/// The types of the explained query's parameters.
pub(crate) async fn prepare(
    context: &StatementContext,
    statement: &Statement,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    let request = Request::of(statement)?;
    let described = front_end::describe(context, statement, declared).await?;
    Ok(Prepared { schema: Some(schema(request.format)), ..described.prepared })
}

/// The only column of an EXPLAIN.
pub(crate) fn schema(format: Format) -> SchemaRef {
    let field = Field::new("QUERY PLAN", DataType::Utf8, false);
    let field = match format {
        Format::Text | Format::Tree(TreeFormat::Xml | TreeFormat::Yaml) => field,
        Format::Tree(TreeFormat::Json) => field.with_metadata([described_as(SqlType::of(TypeId::JSON))].into()),
    };
    Arc::new(Schema::new(vec![field]))
}

/// The rows. Deep plans are printed by recursion, too, and apart, because they are long.
async fn printed(
    context: &StatementContext,
    statement: &Statement,
    mut explanation: Explanation,
    shown: Shown,
    request: &Request,
) -> Result<Vec<String>, EngineError> {
    let (size, format, costs) = (statement.size(), request.format, request.costs);
    let print = move || {
        let plan = shown.into_text();
        explanation.plan = if costs { plan } else { plan.without_estimates() };
        match format {
            Format::Text => explanation.lines(),
            Format::Tree(format) => vec![explanation.tree_in(format)],
        }
    };
    match size.is_large() {
        true => context.plan_apart(size, async move |_| Ok(print())).await,
        false => Ok(on_deep_stack(size.expressions, print)),
    }
}
