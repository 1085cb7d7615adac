//! Loading without SQL: batches of a generator, and files.
//!
//! | module | contents |
//! |---|---|
//! | [`request`] | what a load of files is asked for |
//! | [`input_file`] | the text of a file or of standard input, decompressed |
//! | [`value_kind`], [`column_profile`] | the types that texts may be values of; that of a column, and why |
//! | [`text_form`] | what divides fields; whether the first line has names |
//! | [`file_sample`] | the first lines of a file |
//! | [`parquet_columns`], [`target_table`] | the columns of Parquet files, and of the table that is appended to |
//! | [`plan`], [`planned_column`] | all decisions about a load, about a column |
//! | [`file_load`] | a plan carried out |
//!
//! A load is atomic: it creates or extends the table in one transaction, or does nothing.

mod column_profile;
mod file_load;
mod file_sample;
mod input_file;
mod parquet_columns;
mod plan;
mod planned_column;
mod request;
mod target_table;
mod text_form;
mod value_kind;

pub use plan::LoadPlan;
pub use planned_column::PlannedColumn;
pub use request::LoadRequest;

use std::path::Path;

use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::RecordBatch;
use braid_sql::functions::text_input::ReadingSession;
use braid_storage::{ColumnDef, ColumnType, NewTable};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::clock::read_clock_us;
use crate::copy::parquet_file::ParquetFile;
use crate::dml::assignment::Assignment;
use crate::names::NAME_BYTES_MAX;
use crate::settings::SettingValues;
use crate::sql_types::column_type_of;
use crate::{Database, EngineError, SqlState};

impl Database {
    /// Creates a table with the rows of `batches` in one atomic commit, and returns the number of rows. The batches' columns
    /// are matched by position and converted to the table's types, with the conversions of INSERT.
    pub fn load_batches<'a>(
        &'a self,
        table: NewTable,
        batches: BoxStream<'a, Result<RecordBatch, EngineError>>,
    ) -> BoxFuture<'a, Result<u64, EngineError>> {
        Box::pin(load_batches(self, table, batches))
    }

    /// Creates `table` from a Parquet file in one atomic commit, and returns the number of rows. [`Database::plan_load`] is for all
    /// kinds of files.
    pub fn load_file<'a>(&'a self, path: &'a Path, table: &'a str) -> BoxFuture<'a, Result<u64, EngineError>> {
        Box::pin(load_parquet(self, path, table))
    }
}

/// See [`Database::load_batches`].
async fn load_batches(
    database: &Database,
    table: NewTable,
    mut batches: BoxStream<'_, Result<RecordBatch, EngineError>>,
) -> Result<u64, EngineError> {
    database.check_open()?;
    if let Some(column) = table.columns.iter().find(|column| column.generated.is_some()) {
        let message = format!("batches for the generated column \"{}\" are not supported", column.name);
        return Err(EngineError::unsupported(message));
    }
    let _running = database.statements().token();
    let mut appender = database.store().create_and_append(table)?;
    let assignment = Assignment::new(appender.def(), text_session());
    while let Some(batch) = batches.next().await {
        appender.append(assignment.convert_all(&batch?)?).await?;
    }
    let (_, row_count) = appender.commit().await?;
    Ok(row_count)
}

/// See [`Database::load_file`].
async fn load_parquet(database: &Database, path: &Path, table: &str) -> Result<u64, EngineError> {
    let file = ParquetFile::open(path)?;
    let table = table_of(table, file.schema())?;
    let columns = (0..file.schema().fields().len()).collect();
    load_batches(database, table, file.read(columns)).await
}

/// A table with a file's columns. Names are folded to lower case, as they would be in CREATE TABLE.
fn table_of(name: &str, schema: &Schema) -> Result<NewTable, EngineError> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        let message = format!("\"{name}\" is not a table name: a name has 1 to {NAME_BYTES_MAX} bytes");
        return Err(EngineError::new(SqlState::InvalidParameterValue, message));
    }
    let columns = schema.fields().iter().map(|field| {
        let column_type = match field.data_type() {
            DataType::Null => Some(ColumnType::Text),
            _ => column_type_of(field),
        };
        let column_type = column_type.ok_or_else(|| {
            let message = format!("column \"{}\": type {} is not supported", field.name(), field.data_type());
            EngineError::unsupported(message)
        })?;
        Ok(ColumnDef { nullable: field.is_nullable(), ..ColumnDef::new(field.name().to_lowercase(), column_type) })
    });
    let columns = columns.collect::<Result<Vec<_>, EngineError>>()?;
    Ok(NewTable { name: name.to_owned(), columns, primary_key: Vec::new() })
}

/// The session that reads texts: one with the default settings.
fn text_session() -> ReadingSession {
    let settings = SettingValues::default();
    ReadingSession { zone: settings.zone(), now_us: read_clock_us(), formats: settings.formats() }
}
