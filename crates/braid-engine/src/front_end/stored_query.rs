//! Queries whose rows are stored in a table: INSERT … SELECT and CREATE TABLE AS.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use braid_plan::lowering::{LoweredQuery, NoPlan, Numerics};
use braid_sql::SqlType;
use braid_sql::binder::AssignedColumn;
use braid_sql::pg_catalog::TypeId;
use braid_sql::types::type_names::format_type;
use braid_storage::{ColumnDef, ColumnType};
use futures::StreamExt;
use sqlparser::ast::{Ident, Query};

use super::operator_query::{QuerySource, StartedQuery, lowered, plan_source, start};
use super::returned_query::ReturnedQuery;
use super::returning::ReturningList;
use super::session_facts::{KeptFacts, StatementFacts};
use super::{Constants, Literals};
use crate::bound_parameters::{BoundParameters, declared_types};
use crate::sent_columns::ShownColumns;
use crate::statement_context::StatementContext;
use crate::{EngineError, ParameterType, Prepared, SqlState, Statement};
use braid_catalog::column_types::{column_type_of, sql_type_of};

/// The columns that the rows of an INSERT are stored in.
#[derive(Clone, Debug)]
pub(crate) struct StoredIn {
    columns: Arc<[AssignedColumn]>,
    types: Arc<[ColumnType]>,
    /// The rows with defaults spelled out, if the statement has the word DEFAULT.
    rows: Option<Arc<Query>>,
    returning: Option<Arc<ReturningList>>,
}

impl StoredIn {
    /// Columns in the order of the rows, with the names in the statement's list if it has one.
    pub fn new<'a>(columns: impl IntoIterator<Item = &'a ColumnDef>, listed: Vec<&Ident>) -> Self {
        let mut listed = listed.into_iter();
        let (mut assigned, mut types) = (Vec::new(), Vec::new());
        for column in columns {
            let sql_type = sql_type_of(column.column_type);
            assigned.push(AssignedColumn { name: column.name.clone(), sql_type, listed: listed.next().cloned() });
            types.push(column.column_type);
        }
        Self { columns: assigned.into(), types: types.into(), rows: None, returning: None }
    }

    /// The same, for other rows than the statement's.
    pub fn with_rows(self, rows: Query) -> Self {
        Self { rows: Some(Arc::new(rows)), ..self }
    }

    /// The same with RETURNING.
    pub fn with_returning(self, returning: Option<Arc<ReturningList>>) -> Self {
        Self { returning, ..self }
    }

    fn source(&self, statement: &Statement) -> QuerySource {
        let other = self.rows.as_ref().map(|rows| (Arc::from(statement.origin()), rows.clone()));
        QuerySource { other, stored_in: Some(self.columns.clone()), returning: self.returning.clone() }
    }
}

/// Rows on their way into a table.
pub(crate) struct StoredRows {
    query: StartedQuery,
    types: Arc<[ColumnType]>,
    facts: KeptFacts,
    /// RETURNING of the statement.
    pub returned: Option<ReturnedQuery>,
}

impl StoredRows {
    /// The number of columns of the rows; those of the table begin with them.
    pub fn width(&self) -> usize {
        self.query.lowered.columns.len()
    }

    /// The next rows, as the table stores them but for limits and nulls of its columns. The columns that RETURNING reads of other relations
    /// follow.
    pub async fn next(&mut self) -> Option<Result<RecordBatch, EngineError>> {
        let batch = match self.query.rows.next().await? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(error.into())),
        };
        Some(self.query.shown.stored_batch(&batch, &self.types, &self.facts))
    }
}

/// Starts the query of an INSERT.
pub(crate) async fn start_insert(
    context: &StatementContext,
    statement: &Statement,
    stored_in: &StoredIn,
    parameters: &BoundParameters,
) -> Result<StoredRows, EngineError> {
    let mut query = start(context, statement, stored_in.source(statement), parameters).await?;
    let facts = StatementFacts::of(context).to_kept();
    let returned = query.returned.take().map(|planned| ReturnedQuery::new(context, planned));
    Ok(StoredRows { query, types: stored_in.types.clone(), facts, returned })
}

/// The types of the parameters of a statement that writes, and the columns of RETURNING.
pub(crate) async fn describe_stored(
    context: &StatementContext,
    statement: &Statement,
    stored_in: &StoredIn,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    describe_source(context, statement, stored_in.source(statement), declared).await
}

/// The same of a statement without a query.
pub(crate) async fn describe_returning(
    context: &StatementContext,
    statement: &Statement,
    returning: &Arc<ReturningList>,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    describe_source(context, statement, QuerySource::of_list(statement, returning), declared).await
}

async fn describe_source(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    statement.size().check_for_planning()?;
    let declared = declared_types(declared, &StatementFacts::of(context))?;
    let (size, statement) = (statement.size(), statement.clone());
    let work = async move |context: StatementContext| {
        let literals = Literals::InPlace(Numerics::Optimistic);
        let constants = Constants { parameter_types: Some(&declared), parameter_values: &[], literals };
        let planned = plan_source(&context, &statement, &source, constants).map_err(NoPlan::into_error)?;
        let facts = StatementFacts::of(&context);
        let schema = planned.returned.map(|returned| ShownColumns::of(&returned.query, &facts).sent);
        let parameter_types = planned.parameter_types.into_iter().map(ParameterType::of).collect();
        Ok(Prepared { parameter_types, schema })
    };
    context.plan_apart(size, work).await
}

/// A table that is made of a query, and its rows.
pub(crate) struct TableOfQuery {
    /// The columns of the table.
    pub columns: Vec<ColumnDef>,
    /// Its rows.
    pub rows: StoredRows,
}

/// Starts the query of a CREATE TABLE AS.
///
/// # Errors
/// Also for a column of a type that no table stores (0A000).
pub(crate) async fn start_table(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<TableOfQuery, EngineError> {
    let query = start(context, statement, QuerySource::default(), parameters).await?;
    let columns = columns_of(&query.lowered)?;
    let types = columns.iter().map(|column| column.column_type).collect();
    let facts = StatementFacts::of(context).to_kept();
    Ok(TableOfQuery { columns, rows: StoredRows { query, types, facts, returned: None } })
}

/// The columns of the table that a CREATE TABLE AS makes, whose query does not run; as [`start_table`].
pub(crate) async fn table_columns(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<Vec<ColumnDef>, EngineError> {
    columns_of(&lowered(context, statement, parameters).await?)
}

fn columns_of(query: &LoweredQuery) -> Result<Vec<ColumnDef>, EngineError> {
    let columns = query.columns.iter().map(|(name, sql_type)| {
        let column_type = stored_type(name, *sql_type)?;
        Ok(ColumnDef::new(name.clone(), column_type))
    });
    columns.collect()
}

fn stored_type(name: &str, sql_type: SqlType) -> Result<ColumnType, EngineError> {
    if [TypeId::RECORD, TypeId::RECORD_ARRAY].contains(&sql_type.id) {
        let message = format!("column \"{name}\" has pseudo-type {}", format_type(sql_type));
        return Err(EngineError::new(SqlState::InvalidTableDefinition, message));
    }
    column_type_of(sql_type).ok_or_else(|| {
        let message = format!("column \"{name}\": type {} is not supported for columns", format_type(sql_type));
        EngineError::unsupported(message)
    })
}
