//! A query that locks the rows which it reads: its last columns are their identities, which the client does not get.

use arrow::array::{AsArray, BooleanArray, Int64Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use braid_sql::syntax::LockStrength;
use futures::StreamExt;
use sqlparser::ast::Query;

use super::operator_query::{QuerySource, StartedQuery, start};
use super::returned_query::{ReturnedRows, RowColumns, keeper};
use super::statement_tables::StatementTables;
use crate::bound_parameters::BoundParameters;
use crate::rows::{RowKeeper, Rows};
use crate::sent_columns::ShownColumns;
use crate::statement_context::StatementContext;
use crate::{EngineError, Statement};

/// A query with identities behind its columns.
#[derive(Clone, Debug)]
pub(crate) struct LockedSyntax {
    /// The query.
    pub query: Query,
    /// The strength of its strongest locks.
    pub strength: LockStrength,
    /// The number of identities.
    pub id_count: usize,
}

/// A query whose rows are to be locked, while they are found.
pub(crate) struct LockedQuery {
    rows: Rows,
    id_count: usize,
    shown: ShownColumns,
    columns: RowColumns,
    kept: RowKeeper,
}

impl LockedSyntax {
    pub(super) fn source(&self, statement: &Statement, tables: &StatementTables) -> QuerySource {
        let part = QuerySource::of_part(statement, &self.query, tables.clone());
        QuerySource { locking: Some(self.strength), ..part }
    }
}

impl LockedQuery {
    /// Starts it.
    pub async fn start(
        context: &StatementContext,
        statement: &Statement,
        syntax: &LockedSyntax,
        (tables, parameters): (&StatementTables, &BoundParameters),
    ) -> Result<Self, EngineError> {
        let source = syntax.source(statement, tables);
        let StartedQuery { rows, shown, lowered, .. } = start(context, statement, source, parameters).await?;
        let id_count = syntax.id_count;
        let shown = shown.without_last(id_count);
        let kept = keeper(context, shown.made.clone());
        Ok(Self { rows, id_count, shown, columns: RowColumns::of(&lowered).without_last(id_count), kept })
    }

    /// The next rows, with their identities.
    pub async fn next(&mut self) -> Option<Result<RecordBatch, EngineError>> {
        Some(self.rows.next().await?.map_err(EngineError::from))
    }

    /// The identities in rows.
    pub fn ids<'b>(&self, rows: &'b RecordBatch) -> impl Iterator<Item = &'b Int64Array> {
        let first = rows.num_columns() - self.id_count;
        rows.columns()[first..].iter().map(|ids| ids.as_primitive::<Int64Type>())
    }

    /// Keeps rows for the client.
    pub async fn keep(&mut self, rows: &RecordBatch) -> Result<(), EngineError> {
        let columns = &rows.columns()[..rows.num_columns() - self.id_count];
        Ok(self.kept.add(columns, rows.num_rows()).await?)
    }

    /// Keeps some of these rows.
    pub async fn keep_some(&mut self, rows: &RecordBatch, are_kept: Vec<bool>) -> Result<(), EngineError> {
        self.keep(&filter_record_batch(rows, &BooleanArray::from(are_kept))?).await
    }

    /// The rows that were kept.
    pub async fn finish(self) -> Result<ReturnedRows, EngineError> {
        Ok(ReturnedRows::new(self.kept.finish().await?, self.shown, self.columns))
    }
}
