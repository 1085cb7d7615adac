//! Statements that Braid's own front end (`braid-sql`) binds, and that are computed here without a plan.
//!
//! So far these are queries, and expressions in VALUES of an INSERT and after DEFAULT. What it refuses as unsupported is planned as before
//! (`query`); `SET braid.planner = datafusion` has everything planned so. A statement is described and executed by the same front end,
//! because both ask here first, with the same text and settings.
//!
//! | module | contents |
//! |---|---|
//! | [`constant_query`] | queries of one row: recognised, described, executed |
//! | [`operator_query`] | queries on Braid's operators, with their constants |
//! | [`stored_query`] | queries whose rows are stored in a table |
//! | [`computed_tables`] | tables that are computed when they are read |
//! | [`snapshot_tables`] | the tables of a statement's snapshot |
//! | [`assigned_expression`] | expressions of INSERT and DEFAULT |
//! | [`server_facts`] | what the system relations show of the server |
//! | [`session_facts`] | what expressions ask of the session |

mod assigned_expression;
mod computed_tables;
mod constant_query;
mod operator_query;
mod server_facts;
mod session_facts;
mod snapshot_tables;
mod stored_query;

use std::sync::Arc;

use braid_sql::{SqlError, SqlState};
use braid_storage::TableDef;
use datafusion::sql::sqlparser::ast::Query;

use crate::bound_parameters::{BoundParameters, declared_types};
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
pub(crate) use assigned_expression::{Assigned, AssignedExpression};
use operator_query::QuerySource;
pub(crate) use operator_query::{
    Constants, Literals, NotPlanned, PlannedQuery, is_too_narrow, outcome, plan_alone, plan_query, relation_text,
    start_alone, unless_too_narrow,
};
pub(crate) use session_facts::StatementFacts;
pub(crate) use stored_query::{StoredIn, TableOfQuery, insert_parameters, start_insert, start_table, table_columns};

use crate::interrupt::Interrupt;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement};

/// Longest text that is bound on the session's thread; longer ones are bound on a planning thread.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Whether a statement of this size is planned by the other planner: because the session wants it so, or because it is too large for both.
pub(crate) fn is_left_to_the_other_planner(context: &StatementContext, size: StatementSize) -> bool {
    context.settings().get("braid.planner") == Some("datafusion") || size.check_for_planning().is_err()
}

/// Whether binding it may take too long for the session's thread.
fn takes_long(text: &str, size: StatementSize) -> bool {
    text.len() > TEXT_BYTES_MAX || size.is_large()
}

/// Runs a query of one row; `None` if it is none, or has something that the front end lacks.
pub(crate) async fn execute_row(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<Option<Outcome>, EngineError> {
    constant_query::execute(context, statement, parameters).await
}

/// Runs a query, planned with its constants; `None` if it has something that the front end lacks.
pub(crate) async fn execute_query(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>, EngineError> {
    operator_query::execute(context, statement, parameters, interrupt).await
}

/// Runs the query of a COPY: `other`, with its text, or else the statement's own. `None` if it has something that the front end lacks.
pub(crate) async fn execute_copied(
    context: &StatementContext,
    statement: &Statement,
    other: Option<(String, Box<Query>)>,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>, EngineError> {
    if is_left_to_the_other_planner(context, statement.size()) {
        return Ok(None);
    }
    let other = other.map(|(text, query)| (text.into(), query.into()));
    let source = QuerySource { other, stored_in: None };
    let started = operator_query::start(context, statement, source, &BoundParameters::none()).await?;
    Ok(started.map(|query| outcome(context, query.rows, query.shown, interrupt)))
}

/// A query that is prepared.
pub(crate) struct Described {
    /// Its description.
    pub prepared: Prepared,
    /// The tables that it reads, on which the description depends.
    pub tables: Vec<Arc<TableDef>>,
}

/// The parameters and columns of a query; `None` if it has something that the front end lacks.
pub(crate) async fn describe(
    context: &StatementContext,
    statement: &Statement,
    declared: &[Option<ParameterType>],
) -> Result<Option<Described>, EngineError> {
    let Some(declared) = declared_types(declared) else { return Ok(None) };
    match constant_query::describe(context, statement, &declared)? {
        Some(prepared) => Ok(Some(Described { prepared, tables: Vec::new() })),
        None if takes_long(statement.origin(), statement.size()) => {
            let described = statement.clone();
            let work = async move |context: StatementContext| operator_query::describe(&context, &described, &declared);
            context.plan_apart(statement.size(), work).await
        }
        None => operator_query::describe(context, statement, &declared),
    }
}

/// Counts a query that is executed, and leaves what is unsupported to the other planner.
fn counted<T>(context: &StatementContext, result: Result<T, SqlError>) -> Result<Option<T>, EngineError> {
    context.database().front_end().note(&result);
    unless_unsupported(result)
}

fn is_unsupported(error: &SqlError) -> bool {
    error.state() == SqlState::FeatureNotSupported
}

/// `None` for what is left to the other planner.
fn unless_unsupported<T>(result: Result<T, SqlError>) -> Result<Option<T>, EngineError> {
    match result {
        Ok(outcome) => Ok(Some(outcome)),
        Err(error) if is_unsupported(&error) => {
            tracing::debug!(reason = error.message(), "not answered by the front end");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
