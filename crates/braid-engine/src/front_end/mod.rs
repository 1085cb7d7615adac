//! Statements that Braid's front end (`braid-sql`, `braid-plan`) binds and plans, and how they start.
//!
//! A statement is described and executed by the same rooms, because both ask with the same text and settings.
//!
//! | module | contents |
//! |---|---|
//! | [`bound_description`] | the parameters and columns of queries, without a plan |
//! | [`constant_query`] | queries of one row, computed in place: recognised, described, executed |
//! | [`operator_query`] | queries on Braid's operators, with their constants |
//! | [`stored_query`] | queries whose rows are stored in a table |
//! | [`index_expression`] | members and conditions of indexes |
//! | [`locked_query`] | queries that lock the rows which they read |
//! | [`returning`], [`returned_query`] | RETURNING, planned and run |
//! | [`computed_tables`] | tables that are computed when they are read |
//! | [`snapshot_tables`] | the tables of a statement's snapshot |
//! | [`statement_tables`] | the tables that a statement has for itself |
//! | [`view_tables`] | what the names in a view's text mean |
//! | [`view_query`] | the query of a CREATE VIEW |
//! | [`view_keys`] | whether the query of a view needs a primary key |
//! | [`view_sizes`] | how much views add to a query |
//! | [`assigned_expression`] | expressions of INSERT and DEFAULT |
//! | [`row_condition`] | conditions of CHECK |
//! | [`row_value`] | values of generated columns |
//! | [`pair_values`] | new values of DO UPDATE, of a few rows |
//! | [`other_session`] | what tells what depends on the session |
//! | [`stored_formats`] | the formats in which stored texts are read |
//! | [`stored_rows`] | rows of a table as a table of one statement |
//! | [`executed_arguments`] | arguments of EXECUTE |
//! | [`server_facts`] | what the system relations show of the server |
//! | [`session_facts`] | what expressions ask of the session |

mod assigned_expression;
mod bound_description;
mod computed_tables;
mod constant_query;
mod executed_arguments;
mod index_expression;
mod locked_query;
mod operator_query;
mod other_session;
mod pair_values;
mod returned_query;
mod returning;
mod row_condition;
mod row_value;
mod server_facts;
mod session_facts;
mod snapshot_tables;
mod statement_tables;
mod stored_formats;
mod stored_query;
mod stored_rows;
mod view_keys;
mod view_query;
mod view_sizes;
mod view_tables;

use std::sync::Arc;

use braid_sql::{SqlError, SqlState};
use braid_storage::TableDef;
use sqlparser::ast::Query;

use crate::bound_parameters::{BoundParameters, declared_types};
use crate::interrupt::Interrupt;
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement};
pub(crate) use assigned_expression::{Assigned, AssignedExpression};
pub(crate) use executed_arguments::ExecutedArguments;
pub(crate) use index_expression::{IndexExpression, IndexRole, comparable_expressions, index_syntax};
pub(crate) use locked_query::{LockedQuery, LockedSyntax};
use operator_query::QuerySource;
pub(crate) use operator_query::{
    Constants, Literals, PlannedQuery, outcome, plan_alone, plan_query, relation_text, start_alone, unless_too_narrow,
};
pub(crate) use pair_values::{Pairs, RowsOfPairs, bind_pairs};
pub(crate) use returned_query::{ReturnedQuery, ReturnedRows};
pub(crate) use returning::ReturningList;
pub(crate) use row_condition::{RejectedRow, RowCondition};
pub(crate) use row_value::{RowValue, RowsOfValues};
pub(crate) use session_facts::StatementFacts;
pub(crate) use statement_tables::StatementTables;
pub(crate) use stored_query::{
    DescribedPart, PartQuery, StoredIn, StoredRows, TableOfQuery, check_insert, describe_part, describe_returning,
    describe_stored, start_insert, start_table, table_columns,
};
pub(crate) use stored_rows::stored_rows;
pub(crate) use view_keys::needs_primary_key;
pub(crate) use view_query::ViewQuery;
pub(crate) use view_tables::query_of_view;

/// Longest text that is bound on the session's thread; longer ones are bound on a planning thread.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Longest text of a statement that is planned on the session's thread: its literals are read.
const BRIEF_TEXT_BYTES_MAX: usize = 8 << 10;

/// Whether planning it takes no longer than a turn of the session's thread, and so less than to wait for a planning thread.
fn is_brief(text: &str, size: StatementSize) -> bool {
    text.len() <= BRIEF_TEXT_BYTES_MAX && size.is_brief()
}

/// Whether binding it may take too long for the session's thread.
fn takes_long(text: &str, size: StatementSize) -> bool {
    text.len() > TEXT_BYTES_MAX || size.is_large()
}

/// Runs a query of one row; `None` if it is none, or is one for the operators.
pub(crate) async fn execute_row(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<Option<Outcome>, EngineError> {
    constant_query::execute(context, statement, parameters).await
}

/// Runs a query, planned with its constants.
pub(crate) async fn execute_query(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    operator_query::execute(context, statement, parameters, interrupt).await
}

/// Runs the query of a COPY: `other`, with its text, or else the statement's own.
pub(crate) async fn execute_copied(
    context: &StatementContext,
    statement: &Statement,
    other: Option<(String, Box<Query>)>,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let other = other.map(|(text, query)| (text.into(), query.into()));
    let source = QuerySource { other, ..QuerySource::default() };
    let query = operator_query::start(context, statement, source, &BoundParameters::none()).await?;
    Ok(outcome(context, query.rows, query.shown, interrupt, "SELECT"))
}

/// A query that is prepared.
pub(crate) struct Described {
    /// Its description.
    pub prepared: Prepared,
    /// The tables that it reads, on which the description depends.
    pub tables: Vec<Arc<TableDef>>,
}

/// The parameters and columns of a query.
pub(crate) async fn describe(
    context: &StatementContext,
    statement: &Statement,
    declared: &[Option<ParameterType>],
) -> Result<Described, EngineError> {
    let declared = declared_types(declared, &StatementFacts::of(context))?;
    match constant_query::describe(context, statement, &declared)? {
        Some(prepared) => Ok(Described { prepared, tables: Vec::new() }),
        None if takes_long(statement.origin(), statement.size()) => {
            let described = statement.clone();
            let work =
                async move |context: StatementContext| bound_description::describe(&context, &described, &declared);
            context.plan_apart(statement.size(), work).await
        }
        None => bound_description::describe(context, statement, &declared),
    }
}

/// `None` for what is unsupported.
fn unless_unsupported<T>(result: Result<T, SqlError>) -> Result<Option<T>, EngineError> {
    match result {
        Ok(outcome) => Ok(Some(outcome)),
        Err(error) if error.state() == SqlState::FeatureNotSupported => Ok(None),
        Err(error) => Err(error.into()),
    }
}
