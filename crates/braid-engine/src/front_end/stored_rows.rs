//! Rows of a table, as it stores them, as a table of one statement.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use braid_catalog::column_types::sql_type_of;
use braid_plan::values::Form;
use braid_sql::tables::TableColumn;
use braid_storage::ColumnType;

use super::returned_query::keeper;
use crate::EngineError;
use crate::rows::KeptTable;
use crate::statement_context::StatementContext;

/// A table with these columns, and with these rows if they are known.
///
/// # Errors
/// What keeping rows fails with.
pub(crate) async fn stored_rows(
    context: &StatementContext,
    columns: &[(String, ColumnType)],
    rows: Option<&RecordBatch>,
) -> Result<(Vec<TableColumn>, Arc<KeptTable>), EngineError> {
    let table = KeptTable::new(columns.iter().map(|(_, column_type)| Form::of_column(*column_type)).collect());
    if let Some(rows) = rows {
        let mut keeper = keeper(context, table.schema());
        keeper.add(rows.columns(), rows.num_rows()).await?;
        table.fill(keeper.finish().await?);
    }
    let column = |(name, column_type): &(String, ColumnType)| TableColumn::new(name, sql_type_of(*column_type));
    Ok((columns.iter().map(column).collect(), table))
}
