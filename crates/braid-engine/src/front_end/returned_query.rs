//! RETURNING of a statement that runs.
//!
//! The changed rows are collected while they are found, and the list is computed over them before the statement's changes are kept: an
//! error of the list is the statement's. Its rows wait for the client, in memory within a bound and then in a temporary file, so that the
//! statement is complete whether the client takes them or not.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use braid_plan::lowering::LoweredQuery;
use braid_plan::values::Form;
use braid_sql::pg_catalog::TypeId;
use braid_sql::tables::TableColumn;
use braid_sql::{SqlState, SqlType};
use futures::StreamExt;
use sqlparser::ast::Query;

use super::operator_query::{QuerySource, StartedQuery, alone, outcome, plan_returning, start, start_alone};
use super::returning::{ReturnedPlan, ReturningList};
use super::statement_tables::StatementTables;
use crate::bound_parameters::BoundParameters;
use crate::interrupt::Interrupt;
use crate::rows::{KeptRows, KeptTable, RowKeeper, Rows};
use crate::sent_columns::ShownColumns;
use crate::sharing::AlonePlan;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, Statement};

/// RETURNING, while the changed rows are collected.
pub(crate) struct ReturnedQuery {
    plan: AlonePlan,
    shown: ShownColumns,
    columns: RowColumns,
    table: Arc<KeptTable>,
    changed: RowKeeper,
}

/// The rows of RETURNING, or of a query, which are kept until the statement has ended.
pub(crate) struct ReturnedRows {
    rows: KeptRows,
    shown: ShownColumns,
    columns: RowColumns,
}

/// The columns of rows that are kept.
#[derive(Clone, Debug)]
pub(crate) struct RowColumns {
    columns: Vec<(String, SqlType)>,
    forms: Vec<Form>,
}

impl RowColumns {
    pub(super) fn new(columns: Vec<(String, SqlType)>, forms: Vec<Form>) -> Self {
        Self { columns, forms }
    }

    pub(super) fn of(query: &LoweredQuery) -> Self {
        Self { columns: query.columns.clone(), forms: query.forms.clone() }
    }

    /// The same without its last columns.
    pub(super) fn without_last(mut self, count: usize) -> Self {
        let left = self.columns.len() - count;
        self.columns.truncate(left);
        self.forms.truncate(left);
        self
    }

    /// A table of such rows, whose first columns have these names.
    ///
    /// # Errors
    /// For more names than columns (42P10), and for records, which no such table has (0A000).
    pub fn table(&self, name: &str, names: &[String]) -> Result<(Vec<TableColumn>, Arc<KeptTable>), EngineError> {
        if names.len() > self.columns.len() {
            let (there, given) = (self.columns.len(), names.len());
            let message = format!("WITH query \"{name}\" has {there} columns available but {given} columns specified");
            return Err(EngineError::new(SqlState::InvalidColumnReference, message));
        }
        if self.columns.iter().any(|(_, sql_type)| [TypeId::RECORD, TypeId::RECORD_ARRAY].contains(&sql_type.id)) {
            let message = format!("records in WITH query \"{name}\" beside statements that write are not supported");
            return Err(EngineError::unsupported(message));
        }
        let names = names.iter().map(Some).chain(std::iter::repeat(None));
        let column = |((own, sql_type), name): (&(String, SqlType), Option<&String>)| {
            TableColumn::new(name.unwrap_or(own), *sql_type)
        };
        Ok((self.columns.iter().zip(names).map(column).collect(), KeptTable::new(self.forms.clone())))
    }
}

impl ReturnedQuery {
    /// RETURNING of a statement that was planned.
    pub(super) fn new(context: &StatementContext, planned: ReturnedPlan) -> Self {
        let ReturnedPlan { query, table } = planned;
        let (plan, shown) = alone(context, &query);
        let changed = keeper(context, table.schema());
        Self { plan, shown, columns: RowColumns::of(&query), table, changed }
    }

    /// RETURNING of a statement whose rows are found without a plan.
    pub async fn planned(
        context: &StatementContext,
        statement: &Statement,
        list: &Arc<ReturningList>,
        (tables, parameters): (&StatementTables, &BoundParameters),
    ) -> Result<Self, EngineError> {
        let source = QuerySource::of_list(statement, list, tables.clone());
        let planned = plan_returning(context, statement, source, parameters).await?;
        planned
            .map(|planned| Self::new(context, planned))
            .ok_or_else(|| EngineError::internal("RETURNING is not planned"))
    }

    /// Adds rows as the table stores them, with the columns of other relations that the list reads.
    pub async fn add(&mut self, stored: &RecordBatch, others: &[ArrayRef]) -> Result<(), EngineError> {
        let columns: Vec<ArrayRef> = stored.columns().iter().chain(others).cloned().collect();
        Ok(self.changed.add(&columns, stored.num_rows()).await?)
    }

    /// Computes the list for all rows.
    pub async fn run(self, context: &StatementContext) -> Result<ReturnedRows, EngineError> {
        let Self { plan, shown, columns, table, changed } = self;
        table.fill(changed.finish().await?);
        let rows = kept(context, start_alone(context, &plan), &shown).await?;
        Ok(ReturnedRows { rows, shown, columns })
    }
}

impl ReturnedRows {
    pub(super) fn new(rows: KeptRows, shown: ShownColumns, columns: RowColumns) -> Self {
        Self { rows, shown, columns }
    }

    /// The rows as operators make them; `None` if they are too many for memory.
    pub fn in_memory(&self) -> Option<Vec<RecordBatch>> {
        self.rows.in_memory()
    }

    /// Runs a query that is a part of a statement.
    pub async fn of_query(
        context: &StatementContext,
        statement: &Statement,
        query: &Query,
        (tables, parameters): (&StatementTables, &BoundParameters),
    ) -> Result<Self, EngineError> {
        let source = QuerySource::of_part(statement, query, tables.clone());
        let StartedQuery { rows, shown, lowered, .. } = start(context, statement, source, parameters).await?;
        let rows = kept(context, rows, &shown).await?;
        Ok(Self { rows, shown, columns: RowColumns::of(&lowered) })
    }

    /// The rows as those of the statement, whose tag is `tag` with their number.
    pub fn outcome(self, context: &StatementContext, interrupt: &Interrupt, tag: &'static str) -> Outcome {
        outcome(context, self.rows.into_stream(), self.shown, interrupt, tag)
    }

    /// The rows as a table, as [`RowColumns::table`].
    pub fn into_table(self, name: &str, names: &[String]) -> Result<(Vec<TableColumn>, Arc<KeptTable>), EngineError> {
        let (columns, table) = self.columns.table(name, names)?;
        table.fill(self.rows);
        Ok((columns, table))
    }
}

/// All rows of a query.
async fn kept(context: &StatementContext, mut rows: Rows, shown: &ShownColumns) -> Result<KeptRows, EngineError> {
    let mut keeper = keeper(context, shown.made.clone());
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        keeper.add(batch.columns(), batch.num_rows()).await?;
    }
    Ok(keeper.finish().await?)
}

pub(super) fn keeper(context: &StatementContext, schema: SchemaRef) -> RowKeeper {
    let database = context.database();
    RowKeeper::new(schema, database.query_memory(&context.settings()), database.spill_space().clone())
}
