//! A plan carried out: the table created, all files loaded, in one transaction. After an error nothing of it is there.
//!
//! Each file is a COPY of a session of the bootstrap superuser, so that defaults, constraints and keys hold as in any COPY.

use std::sync::Arc;

use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_storage::RoleId;
use futures::future::BoxFuture;
use sqlparser::ast::ObjectName;
use sqlparser::parser::Parser;
use tokio_util::sync::CancellationToken;

use super::input_file::InputFile;
use super::plan::{LoadPlan, PlannedFile, PlannedForm};
use super::planned_column::PlannedColumn;
use super::request::LoadRequest;
use super::target_table::TargetTable;
use crate::outcome::{CopiedFile, ExpectedValues};
use crate::statement::SqlDialect;
use crate::table_names::named_table;
use crate::{Database, EngineError, Outcome, Session, SqlState};

impl Database {
    /// Decides how the files of a request are loaded, by looking at their first lines. Nothing is written.
    ///
    /// # Errors
    /// For files that cannot be read or do not fit together, and for a table to append to that is not there.
    pub fn plan_load<'a>(self: &'a Arc<Self>, request: LoadRequest) -> BoxFuture<'a, Result<LoadPlan, EngineError>> {
        Box::pin(plan_load(self, request))
    }

    /// Loads the files of a plan in one transaction, and returns the number of rows.
    ///
    /// # Errors
    /// For values that do not fit, with the file, the line and the column, and those of COPY. Nothing is loaded then.
    pub fn load<'a>(self: &'a Arc<Self>, plan: LoadPlan) -> BoxFuture<'a, Result<u64, EngineError>> {
        Box::pin(load(self, plan))
    }
}

async fn plan_load(database: &Arc<Database>, request: LoadRequest) -> Result<LoadPlan, EngineError> {
    database.check_open()?;
    let name = table_name(&request.table)?;
    let target = match request.append {
        false => None,
        true => {
            let session = session_of(database);
            let table = named_table(&session.context, &session.context.snapshot(), &name)?.into_copied()?;
            Some(TargetTable::of(&table))
        }
    };
    // Looking at files blocks.
    let planned = tokio::task::spawn_blocking(move || LoadPlan::of(&request, target.as_ref())).await;
    planned.map_err(|error| EngineError::internal(format!("looking at the files failed: {error}")))?
}

async fn load(database: &Arc<Database>, plan: LoadPlan) -> Result<u64, EngineError> {
    let session = session_of(database);
    execute(&session, "BEGIN").await?;
    let loaded = async {
        let row_count = load_files(&session, plan).await?;
        execute(&session, "COMMIT").await?;
        Ok(row_count)
    };
    let loaded: Result<u64, EngineError> = loaded.await;
    if loaded.is_err() {
        // The load's error says what has happened.
        let _ = execute(&session, "ROLLBACK").await;
    }
    loaded
}

/// A session of the bootstrap superuser: who has the data directory may do all.
fn session_of(database: &Arc<Database>) -> Session {
    let snapshot = database.store().snapshot();
    let name = snapshot.access().role(RoleId::BOOTSTRAP).map_or_else(|| "braid".to_owned(), |role| role.name.clone());
    database.session(&name)
}

/// The table's name as it stands in statements.
fn table_name(written: &str) -> Result<ObjectName, EngineError> {
    let parsed = Parser::new(&SqlDialect::for_text(written)).try_with_sql(written).and_then(|mut parser| {
        let name = parser.parse_object_name(false)?;
        parser.expect_token(&sqlparser::tokenizer::Token::EOF).map(|_| name)
    });
    parsed.map_err(|_| {
        let message = format!("\"{written}\" is no name of a table");
        EngineError::new(SqlState::InvalidParameterValue, message).with_hint(
            "Quote a name with other characters than letters, digits and underscores: --table '\"my table\"'.",
        )
    })
}

async fn load_files(session: &Session, plan: LoadPlan) -> Result<u64, EngineError> {
    let LoadPlan { table, append, files, form, nulls, columns, bytes_read, .. } = plan;
    if !append {
        let created = execute(session, &create_table(&table, &columns)).await;
        created.map_err(|error| match error.state() {
            SqlState::DuplicateTable => error.with_hint("--append adds the rows to it."),
            _ => error,
        })?;
    }
    let expected_values: Vec<Option<ExpectedValues>> = columns.iter().map(expected_values).collect();
    let mut row_count = 0;
    for file in files {
        row_count += match (file, &form) {
            (PlannedFile::Text(file), Some(form)) => {
                let (name, nulls, expected_values) = (file.name.clone(), nulls.clone(), expected_values.clone());
                let copied = CopiedFile { name, expected_values, nulls };
                let blocks = file.read(bytes_read.clone())?;
                copy_text(session, &copy_statement(&table, &columns, form), copied, blocks).await?
            }
            (PlannedFile::Parquet(path), _) => {
                let copy = copy_of_parquet(&table, &columns, &path);
                let tag = execute(session, &copy).await?;
                tag.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or_default()
            }
            (PlannedFile::Text(InputFile { name, .. }), None) => {
                return Err(EngineError::internal(format!("file \"{name}\" has no planned form")));
            }
        };
    }
    Ok(row_count)
}

/// What the values of a column are to be, if its type was chosen for those of a part of the file.
fn expected_values(column: &PlannedColumn) -> Option<ExpectedValues> {
    let (kind, hint) = column.expected.clone()?;
    Some(ExpectedValues { holds: kind.check(), hint })
}

fn create_table(table: &str, columns: &[PlannedColumn]) -> String {
    let column = |column: &PlannedColumn| {
        let null = if column.is_nullable { "" } else { " NOT NULL" };
        format!("{} {}{null}", quote_identifier(&column.name), column.sql_type)
    };
    let columns: Vec<String> = columns.iter().map(column).collect();
    format!("CREATE TABLE {table} ({})", columns.join(", "))
}

fn listed<'a>(columns: impl Iterator<Item = &'a PlannedColumn>) -> String {
    columns.map(|column| quote_identifier(&column.name)).collect::<Vec<_>>().join(", ")
}

fn copy_statement(table: &str, columns: &[PlannedColumn], form: &PlannedForm) -> String {
    let mut options = format!("FORMAT csv, DELIMITER {}", literal(&char::from(form.delimiter).to_string()));
    if form.has_header {
        options.push_str(", HEADER");
    }
    let untexts = listed(columns.iter().filter(|column| !column.is_text));
    if !untexts.is_empty() {
        options.push_str(&format!(", FORCE_NULL ({untexts})"));
    }
    format!("COPY {table} ({}) FROM STDIN ({options})", listed(columns.iter()))
}

fn copy_of_parquet(table: &str, columns: &[PlannedColumn], path: &str) -> String {
    format!("COPY {table} ({}) FROM {} (FORMAT parquet)", listed(columns.iter()), literal(path))
}

/// A text as a literal, whatever is in it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

async fn copy_text(
    session: &Session,
    sql: &str,
    file: CopiedFile,
    mut blocks: tokio::sync::mpsc::Receiver<Result<bytes::Bytes, EngineError>>,
) -> Result<u64, EngineError> {
    let statement = only(session.parse(sql)?)?;
    let outcome = session.execute(&statement, Vec::new(), CancellationToken::new()).await?;
    let Outcome::CopyIn(mut copy) = outcome else {
        return Err(EngineError::internal("COPY FROM STDIN asked for no data"));
    };
    copy.describe(file);
    while let Some(block) = blocks.recv().await {
        copy.data(block?).await?;
    }
    copy.finish().await
}

/// Runs a statement of the load's own; answers its tag.
async fn execute(session: &Session, sql: &str) -> Result<String, EngineError> {
    let statement = only(session.parse(sql)?)?;
    match session.execute(&statement, Vec::new(), CancellationToken::new()).await? {
        Outcome::Done { tag } => Ok(tag),
        other => Err(EngineError::internal(format!("{sql} returned {other:?}"))),
    }
}

fn only(mut statements: Vec<crate::Statement>) -> Result<crate::Statement, EngineError> {
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(EngineError::internal("a statement of the load is not one")),
    }
}
