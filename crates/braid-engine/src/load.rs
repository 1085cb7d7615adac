//! Loading without SQL: batches of a generator, and files without declared columns.
//!
//! A load creates the table with its rows in one atomic commit.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use arrow::csv::reader::Format;
use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::RecordBatch;
use braid_sql::functions::text_input::ReadingSession;
use braid_storage::{ColumnDef, ColumnType, NewTable};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::clock::read_clock_us;
use crate::copy::parquet_file::ParquetFile;
use crate::copy::{CopyTarget, TextSource, cannot_open, load_records};
use crate::dml::assignment::Assignment;
use crate::interrupt::to_the_end;
use crate::names::NAME_BYTES_MAX;
use crate::settings::SettingValues;
use crate::sql_types::column_type_of;
use crate::statement::{CopyFormat, CopyOptions, Header};
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

    /// Creates `table` from a Parquet or CSV file in one atomic commit, and returns the number of rows. The extension selects
    /// the format. A CSV file has a header line; the types are inferred from all its lines.
    pub fn load_file<'a>(&'a self, path: &'a Path, table: &'a str) -> BoxFuture<'a, Result<u64, EngineError>> {
        Box::pin(load_file(self, path, table))
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
async fn load_file(database: &Database, path: &Path, table: &str) -> Result<u64, EngineError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "parquet" => load_parquet(database, path, table).await,
        "csv" => load_csv(database, path, table).await,
        _ => Err(EngineError::new(
            SqlState::InvalidParameterValue,
            format!("\"{}\" is neither a .parquet nor a .csv file", path.display()),
        )),
    }
}

async fn load_parquet(database: &Database, path: &Path, table: &str) -> Result<u64, EngineError> {
    let file = ParquetFile::open(path)?;
    let table = table_of(table, file.schema())?;
    let columns = (0..file.schema().fields().len()).collect();
    load_batches(database, table, file.read(columns)).await
}

/// Loads a CSV file in two passes: the first infers the types, the second loads.
async fn load_csv(database: &Database, path: &Path, table: &str) -> Result<u64, EngineError> {
    database.check_open()?;
    let _running = database.statements().token();
    let schema = {
        let path = path.to_owned();
        let inferred = tokio::task::spawn_blocking(move || infer_csv(&path)).await;
        inferred
            .map_err(|error| EngineError::internal(format!("reading the columns of the file failed: {error}")))??
    };
    let appender = database.store().create_and_append(table_of(table, &schema)?)?;
    let assignment = Assignment::new(appender.def(), text_session());
    let columns = (0..appender.def().columns.len()).collect();
    let target = CopyTarget { appender, assignment, columns, columns_given: false };
    let appender = load_records(target, &TextSource { path, options: &csv_options() }).await?;
    let (_, row_count) = to_the_end(appender.commit()).await?;
    Ok(row_count)
}

/// The columns of a CSV file: names from the first line, types from all other lines.
fn infer_csv(path: &Path) -> Result<Schema, EngineError> {
    let unreadable = |error: &dyn std::fmt::Display| {
        EngineError::new(SqlState::BadCopyFileFormat, format!("file \"{}\" is not valid CSV: {error}", path.display()))
    };
    let file = File::open(path).map_err(|error| cannot_open(path, &error))?;
    let format = Format::default().with_header(true);
    let (schema, _) = format.infer_schema(BufReader::new(file), None).map_err(|error| unreadable(&error))?;
    Ok(schema)
}

fn csv_options() -> CopyOptions {
    CopyOptions {
        format: CopyFormat::Csv,
        delimiter: b',',
        null: String::new(),
        header: Header::Present,
        quote: b'"',
        escape: b'"',
        force_quote: Some(Vec::new()),
        freeze: false,
    }
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
