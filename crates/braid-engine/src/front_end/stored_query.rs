//! Queries whose rows are stored in a table: INSERT … SELECT and CREATE TABLE AS.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use braid_base::DomainTypeId;
use braid_plan::lowering::LoweredQuery;
use braid_sql::binder::{AssignedColumn, Statement as BoundStatement};
use braid_sql::functions::SessionFacts;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{Columns, Output, Query as BoundQuery};
use braid_sql::types::type_names::format_type;
use braid_sql::{SqlError, SqlType};
use braid_storage::{Catalog, CatalogDomain, ColumnDef, ColumnType};
use futures::StreamExt;
use sqlparser::ast::{Ident, Query};

use super::bound_description::BoundDescription;
use super::locked_query::LockedSyntax;
use super::operator_query::{QuerySource, StartedQuery, start};
use super::returned_query::{ReturnedQuery, RowColumns};
use super::returning::ReturningList;
use super::session_facts::{KeptFacts, StatementFacts};
use super::snapshot_tables::SnapshotTables;
use super::statement_tables::StatementTables;
use crate::bound_parameters::{BoundParameters, declared_types};
use crate::deep_stack::on_deep_stack;
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
    tables: StatementTables,
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
        Self {
            columns: assigned.into(),
            types: types.into(),
            rows: None,
            returning: None,
            tables: StatementTables::default(),
        }
    }

    /// The same, for other rows than the statement's.
    pub fn with_rows(self, rows: Query) -> Self {
        Self { rows: Some(Arc::new(rows)), ..self }
    }

    /// The same, for these rows instead of the statement's, if it has no others yet.
    pub fn or_rows(self, rows: &Query) -> Self {
        let rows = self.rows.clone().unwrap_or_else(|| Arc::new(rows.clone()));
        Self { rows: Some(rows), ..self }
    }

    /// The same with RETURNING.
    pub fn with_returning(self, returning: Option<Arc<ReturningList>>) -> Self {
        Self { returning, ..self }
    }

    /// The same for a part of a statement with these tables.
    pub fn with_tables(self, tables: StatementTables) -> Self {
        Self { tables, ..self }
    }

    /// The query whose rows they are.
    pub(super) fn source(&self, statement: &Statement) -> QuerySource {
        let other = self.rows.as_ref().map(|rows| (Arc::from(statement.origin()), rows.clone()));
        let (stored_in, tables) = (Some(self.columns.clone()), self.tables.clone());
        QuerySource { other, stored_in, returning: self.returning.clone(), tables, locking: None }
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
    let declared = declared_types(declared, &StatementFacts::of(context))?;
    let described = describe_source(context, statement, stored_in.source(statement), &declared).await?;
    Ok(described.into_prepared())
}

/// The same of a statement without a query.
pub(crate) async fn describe_returning(
    context: &StatementContext,
    statement: &Statement,
    returning: &Arc<ReturningList>,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    let declared = declared_types(declared, &StatementFacts::of(context))?;
    let source = QuerySource::of_list(statement, returning, StatementTables::default());
    Ok(describe_source(context, statement, source, &declared).await?.into_prepared())
}

/// What is known of a part of a statement before it runs.
pub(crate) struct DescribedPart {
    /// The types of its parameters; `unknown` where it does not tell them.
    pub parameter_types: Vec<SqlType>,
    /// The columns of its rows, and as the client gets them.
    pub rows: Option<(RowColumns, SchemaRef)>,
}

impl DescribedPart {
    /// The same without the last columns of its rows.
    fn without_last(self, count: usize) -> Result<Self, EngineError> {
        let Some((columns, schema)) = self.rows else { return Ok(self) };
        let left: Vec<usize> = (0..schema.fields().len() - count).collect();
        Ok(Self { rows: Some((columns.without_last(count), Arc::new(schema.project(&left)?))), ..self })
    }

    fn into_prepared(self) -> Prepared {
        let parameter_types = self.parameter_types.into_iter().map(ParameterType::of).collect();
        Prepared { parameter_types, schema: self.rows.map(|(_, schema)| schema) }
    }
}

/// What a part of a statement is planned as.
pub(crate) enum PartQuery<'a> {
    /// A query.
    Rows(&'a Query),
    /// A query that locks rows.
    Locked(&'a LockedSyntax),
    /// The query of a statement that writes.
    Stored(&'a StoredIn),
    /// RETURNING of a statement without a query.
    Listed(&'a Arc<ReturningList>),
}

/// What is known of a part of a statement.
pub(crate) async fn describe_part(
    context: &StatementContext,
    statement: &Statement,
    part: PartQuery<'_>,
    tables: &StatementTables,
    declared: &[Option<SqlType>],
) -> Result<DescribedPart, EngineError> {
    let source = match part {
        PartQuery::Rows(query) => QuerySource::of_part(statement, query, tables.clone()),
        PartQuery::Locked(syntax) => {
            let described = describe_source(context, statement, syntax.source(statement, tables), declared).await?;
            return described.without_last(syntax.id_count);
        }
        PartQuery::Stored(stored_in) => QuerySource { tables: tables.clone(), ..stored_in.source(statement) },
        PartQuery::Listed(list) => QuerySource::of_list(statement, list, tables.clone()),
    };
    describe_source(context, statement, source, declared).await
}

async fn describe_source(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    declared: &[Option<SqlType>],
) -> Result<DescribedPart, EngineError> {
    let (size, statement, declared) = (statement.size(), statement.clone(), declared.to_vec());
    let work = async move |context: StatementContext| {
        let described = BoundDescription::of(&context, &statement, &source, &declared)?;
        let BoundDescription { parameter_types, columns, schema, .. } = described;
        let returns_rows = source.stored_in.is_none() || source.returning.is_some();
        Ok(DescribedPart { parameter_types, rows: returns_rows.then_some((columns, schema)) })
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
    let LoweredQuery { columns, domains, .. } = &query.lowered;
    let columns = columns_of(&context.snapshot(), columns.iter().cloned().zip(domains.iter().copied()))?;
    let types = columns.iter().map(|column| column.column_type).collect();
    let facts = StatementFacts::of(context).to_kept();
    Ok(TableOfQuery { columns, rows: StoredRows { query, types, facts, returned: None } })
}

/// The columns of the table that a CREATE TABLE AS makes, whose query is bound and not planned: no constant of it is computed.
///
/// # Errors
/// As [`start_table`].
pub(crate) async fn table_columns(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<Vec<ColumnDef>, EngineError> {
    statement.size().check_for_planning()?;
    let types: Vec<Option<SqlType>> = parameters.types().iter().copied().map(Some).collect();
    let (size, created) = (statement.size(), statement.clone());
    let work = async move |context: StatementContext| {
        let columns = bound_columns(&context, &created, &QuerySource::default(), &types)?;
        columns_of(&context.snapshot(), columns)
    };
    context.plan_apart(size, work).await
}

/// The name and the type of a column, and its domain.
type OutputColumn = ((String, SqlType), Option<DomainTypeId>);

/// Binds the query of an INSERT, which is not planned: no constant of it is computed.
///
/// # Errors
/// Those of the query.
pub(crate) async fn check_insert(
    context: &StatementContext,
    statement: &Statement,
    stored_in: &StoredIn,
    parameters: &BoundParameters,
) -> Result<(), EngineError> {
    statement.size().check_for_planning()?;
    let types: Vec<Option<SqlType>> = parameters.types().iter().copied().map(Some).collect();
    let (size, statement, source) = (statement.size(), statement.clone(), stored_in.source(statement));
    let work = async move |context: StatementContext| {
        bound_columns(&context, &statement, &source, &types)?;
        Ok(())
    };
    context.plan_apart(size, work).await
}

/// The columns of a query.
fn bound_columns(
    context: &StatementContext,
    statement: &Statement,
    source: &QuerySource,
    parameter_types: &[Option<SqlType>],
) -> Result<Vec<OutputColumn>, SqlError> {
    let views = source.views(context, statement)?;
    on_deep_stack(statement.size().expressions + views.expressions, || {
        let (query, columns) =
            bound_query((context, &StatementFacts::of(context)), statement, source, parameter_types)?;
        let column = |output: Output| ((output.name, output.sql_type), columns.domain(output.column));
        Ok(query.outputs.into_iter().map(column).collect())
    })
}

/// A query, bound in a session, and its columns.
pub(super) fn bound_query(
    (context, session): (&StatementContext, &dyn SessionFacts),
    statement: &Statement,
    source: &QuerySource,
    parameter_types: &[Option<SqlType>],
) -> Result<(BoundQuery, Columns), SqlError> {
    let tables = SnapshotTables::of(context).with_own(source.tables.clone());
    let (text, query) = source.of(statement)?;
    let mut binding = BoundStatement::new(text, session, &tables);
    if !parameter_types.is_empty() {
        binding = binding.with_parameters(parameter_types);
    }
    let bound = match &source.stored_in {
        Some(columns) => binding.binder().assigned_query(&query, columns)?,
        None => binding.binder().whole_query(&query)?,
    };
    Ok((bound, binding.into_columns()))
}

fn columns_of(
    catalog: &Catalog,
    columns: impl IntoIterator<Item = OutputColumn>,
) -> Result<Vec<ColumnDef>, EngineError> {
    let columns = columns.into_iter().map(|((name, sql_type), domain)| {
        let column_type = stored_type(&name, sql_type)?;
        let known = domain.and_then(|domain| catalog.domain(domain.definition().oid));
        let domain = known.map(CatalogDomain::of_column);
        Ok(ColumnDef { domain, ..ColumnDef::new(name, column_type) })
    });
    columns.collect()
}

fn stored_type(name: &str, sql_type: SqlType) -> Result<ColumnType, EngineError> {
    if [TypeId::RECORD, TypeId::RECORD_ARRAY, TypeId::VOID].contains(&sql_type.id) {
        let message = format!("column \"{name}\" has pseudo-type {}", format_type(sql_type));
        return Err(EngineError::new(SqlState::InvalidTableDefinition, message));
    }
    column_type_of(sql_type).ok_or_else(|| {
        let message = format!("column \"{name}\": type {} is not supported for columns", format_type(sql_type));
        EngineError::unsupported(message)
    })
}
