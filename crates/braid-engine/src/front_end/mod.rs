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
//! | [`snapshot_tables`] | the tables of a statement's snapshot |
//! | [`column_types`] | the types of stored columns |
//! | [`assigned_expression`] | expressions of INSERT and DEFAULT |
//! | [`session_facts`] | what expressions ask of the session |

mod assigned_expression;
mod column_types;
mod constant_query;
mod operator_query;
mod session_facts;
mod snapshot_tables;

use braid_sql::{SqlError, SqlState};

use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
pub(crate) use assigned_expression::{Assigned, AssignedExpression};
pub(crate) use operator_query::{
    Constants, PlannedQuery, is_too_narrow, outcome, plan_alone, plan_query, relation_text, start_alone,
    unless_too_narrow,
};
pub(crate) use session_facts::StatementFacts;

use crate::interrupt::Interrupt;
use crate::{EngineError, Outcome, Prepared, Statement};

/// Longest text that is bound here. Queries of one row are bound on the session's thread, and all queries when they are described; longer
/// texts are planned on threads of their own.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Whether what stands in `text` is planned by the other planner: because the session wants it so, or because binding it would take long.
pub(crate) fn is_left_to_the_other_planner(context: &StatementContext, text: &str, size: StatementSize) -> bool {
    context.settings().get("braid.planner") == Some("datafusion")
        || text.len() > TEXT_BYTES_MAX
        || size.is_large()
        || size.check_for_planning().is_err()
}

/// Runs a query of one row; `None` if it is none, or has something that the front end lacks.
pub(crate) async fn execute_row(
    context: &StatementContext,
    statement: &Statement,
) -> Result<Option<Outcome>, EngineError> {
    constant_query::execute(context, statement).await
}

/// Runs a query, planned with its constants; `None` if it has something that the front end lacks.
pub(crate) async fn execute_query(
    context: &StatementContext,
    statement: &Statement,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>, EngineError> {
    operator_query::execute(context, statement, interrupt).await
}

/// The columns of a query; `None` if it has something that the front end lacks.
pub(crate) fn describe(context: &StatementContext, statement: &Statement) -> Result<Option<Prepared>, EngineError> {
    match constant_query::describe(context, statement)? {
        Some(prepared) => Ok(Some(prepared)),
        None => operator_query::describe(context, statement),
    }
}

/// Counts a query that is executed, and leaves what is unsupported to the other planner.
fn counted<T>(context: &StatementContext, result: Result<T, SqlError>) -> Result<Option<T>, EngineError> {
    context.database().front_end().note(&result);
    unless_unsupported(result)
}

/// `None` for what is left to the other planner.
fn unless_unsupported<T>(result: Result<T, SqlError>) -> Result<Option<T>, EngineError> {
    match result {
        Ok(outcome) => Ok(Some(outcome)),
        Err(error) if error.state() == SqlState::FeatureNotSupported => {
            tracing::debug!(reason = error.message(), "not answered by the front end");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
