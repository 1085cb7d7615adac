//! Queries without tables, on Braid's operators: VALUES, series, subqueries, joins and groups of these.
//!
//! Tables are left to the other planner, which knows templates and statistics.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use braid_df::operators::BraidOperatorsExec;
use braid_plan::lowering::{LoweredQuery, Session};
use braid_plan::planning::plan as build;
use braid_plan::values::arrays::value_at;
use braid_sql::binder::Statement as BoundStatement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::expression::Node;
use braid_sql::relation::Relation;
use braid_sql::tables::{TableEntry, Tables};
use braid_sql::{Evaluation, Expression, SqlError, SqlType};
use datafusion::common::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;

use super::result_columns::{sent_column, sent_field};
use super::session_facts::StatementFacts;
use super::{counted, is_left_to_the_other_planner, unless_unsupported};
use crate::deep_stack::on_deep_stack;
use crate::interrupt::Interrupt;
use crate::query::planner::Planner;
use crate::query::result_stream::ResultStream;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, Prepared, Statement, StatementKind};

/// Runs a query; `None` if it reads a table, or has something that the front end lacks.
pub(super) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>, EngineError> {
    if !is_asked(context, statement) {
        return Ok(None);
    }
    let (size, bound) = (statement.size(), statement.clone());
    let lowered = context.plan_apart(size, async move |context: StatementContext| Ok(plan(&context, &bound))).await?;
    let Some(query) = counted(context, lowered)? else { return Ok(None) };
    let facts = StatementFacts::of(context).to_owned();
    let schema = schema_of(&query.columns, &facts);
    let workers = context.database().dispatcher().resources().worker_count;
    let operators = BraidOperatorsExec::new(Arc::new(query.plan), query.schema, workers);
    let rows = Planner::of(context).start(Arc::new(operators))?;
    let (columns, sent) = (query.columns, schema.clone());
    let rows = rows.map(move |batch| {
        let sent = sent_batch(&batch?, &columns, sent.clone(), &facts);
        sent.map_err(|error| DataFusionError::External(Box::new(error)))
    });
    let rows = Box::pin(RecordBatchStreamAdapter::new(schema.clone(), rows));
    let running = context.database().statements().token();
    let stream = ResultStream::guard(rows, schema.clone(), Vec::new(), interrupt, context.on_failure(), running);
    Ok(Some(Outcome::Rows { schema, stream, tag: "SELECT" }))
}

/// The columns of a query; `None` as in [`execute`].
pub(super) fn describe(context: &StatementContext, statement: &Statement) -> Result<Option<Prepared>, EngineError> {
    if !is_asked(context, statement) {
        return Ok(None);
    }
    let Some(query) = unless_unsupported(plan(context, statement))? else { return Ok(None) };
    let schema = schema_of(&query.columns, &StatementFacts::of(context));
    Ok(Some(Prepared { parameter_types: Vec::new(), schema: Some(schema) }))
}

/// Whether a statement is a query that may be planned here.
fn is_asked(context: &StatementContext, statement: &Statement) -> bool {
    statement.kind() == StatementKind::Query
        && statement.query().is_some()
        && !is_left_to_the_other_planner(context, statement.origin(), statement.size())
}

/// The plan of a statement's query.
fn plan(context: &StatementContext, statement: &Statement) -> Result<LoweredQuery, SqlError> {
    let query = statement.query().ok_or_else(|| SqlError::unsupported("a statement without a query"))?;
    let facts = StatementFacts::of(context);
    on_deep_stack(statement.size().expressions, || {
        let mut query = query.clone();
        rebind_all(&mut query);
        let binding = BoundStatement::new(statement.origin(), &facts, &TablesElsewhere);
        let bound = binding.binder().whole_query(&query)?;
        check_growth(&bound.relation)?;
        let session: Arc<dyn Session> = Arc::new(facts.to_owned());
        build(bound, binding.into_columns(), &session)
    })
}

/// Leaves functions with long results to the other planner, which counts them under the query budget.
fn check_growth(relation: &Relation) -> Result<(), SqlError> {
    for expression in relation.expressions() {
        if expression.may_grow() {
            return Err(SqlError::unsupported("functions with long results are not supported"));
        }
        check_growth_of_subqueries(expression)?;
    }
    relation.inputs().into_iter().try_for_each(check_growth)
}

fn check_growth_of_subqueries(expression: &Expression) -> Result<(), SqlError> {
    if let Node::Subquery(subquery) = &expression.node {
        check_growth(&subquery.relation)?;
    }
    expression.operands().into_iter().try_for_each(check_growth_of_subqueries)
}

/// The columns that the client gets.
fn schema_of(columns: &[(String, SqlType)], facts: &StatementFacts<'_>) -> SchemaRef {
    let fields = columns.iter().map(|(name, sql_type)| sent_field(name, *sql_type, facts));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// Rows of the operators as the client gets them.
fn sent_batch(
    batch: &RecordBatch,
    columns: &[(String, SqlType)],
    schema: SchemaRef,
    facts: &StatementFacts<'_>,
) -> Result<RecordBatch, SqlError> {
    let evaluation = Evaluation::new(facts, &[]);
    let arrays = batch.columns().iter().zip(columns).map(|(array, (_, sql_type))| {
        let values = (0..batch.num_rows()).map(|row| value_at(array, row, sql_type.id));
        sent_column(&values.collect::<Result<Vec<_>, _>>()?, *sql_type, &evaluation)
    });
    let arrays = arrays.collect::<Result<Vec<ArrayRef>, SqlError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, arrays, &options)
        .map_err(|error| SqlError::unsupported(format!("a result has no form as a column: {error}")))
}

/// Leaves every table to the other planner.
#[derive(Debug)]
struct TablesElsewhere;

impl Tables for TablesElsewhere {
    fn table(&self, _schema: Option<&str>, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        Err(SqlError::unsupported(format!("table {name} is read by the other planner")))
    }
}
