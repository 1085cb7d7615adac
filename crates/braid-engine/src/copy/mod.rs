//! COPY: rows in and out as CSV, in PostgreSQL's text and binary formats, or from Parquet files.
//!
//! | module | contents |
//! |---|---|
//! | [`verified_text`] | bytes into text, or an error |
//! | [`record_splitter`] | text into records, with newlines in quotes |
//! | [`record_fields`] | a record into fields, for both text formats |
//! | [`binary_records`] | the same for the binary format |
//! | [`record_load`] | records of any format on their way into the table |
//! | [`record_rows`] | records into batches of a table, with the position of every error |
//! | [`copy_in`] | COPY FROM STDIN |
//! | [`copy_file`] | COPY from a file of the server |
//! | [`parquet_file`], [`decoder_panics`] | Parquet files, columns by name; panics of their decoder as errors |
//! | [`copy_out`], [`binary_writer`] | COPY TO STDOUT |
//!
//! A COPY FROM is atomic: after an error, also in the last line, the table is unchanged.

mod binary_records;
mod binary_writer;
mod copy_file;
mod copy_in;
mod copy_out;
mod decoder_panics;
pub(crate) mod parquet_file;
pub(crate) mod record_fields;
mod record_load;
pub(crate) mod record_rows;
pub(crate) mod record_splitter;
mod verified_text;

pub(crate) use copy_file::cannot_open;

use std::sync::Arc;

use braid_storage::{TableAppender, TableDef};
use sqlparser::ast::Ident;

use crate::dml::assignment::Assignment;
use crate::front_end::RowCondition;
use crate::interrupt::Interrupt;
use crate::names::columns_named;
use crate::statement::{CopyFormat, CopyOptions, CopyPlace, CopyStatement, CopySubject};
use crate::statement_context::StatementContext;
use crate::table_names::named_table;
use crate::{CopyIn, EngineError, Outcome, SqlState, Statement};
use copy_in::StdinLoad;

/// The target of a COPY FROM.
pub(crate) struct CopyTarget {
    /// Writes the rows.
    pub appender: TableAppender,
    /// Converts the rows.
    pub assignment: Assignment,
    /// The table's columns in the data, in the order of the data.
    pub columns: Vec<usize>,
    /// Whether the statement lists the columns.
    pub columns_given: bool,
}

/// Runs a COPY.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    copy: &CopyStatement,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let options = CopyOptions::of(copy)?;
    if !copy.is_from() {
        return match &copy.place {
            CopyPlace::Client => copy_out::start(context, statement, copy, options, interrupt).await,
            _ => Err(EngineError::unsupported("COPY TO a file or program is not supported")
                .with_hint("Use COPY TO STDOUT, or psql's \\copy.")),
        };
    }
    let target = CopyTarget::of(context, statement, copy, &options)?;
    if options.freeze && !context.has_all_rows_of(target.def().id) {
        let message = "cannot perform COPY FREEZE because the table was not created or truncated in the current \
                       subtransaction";
        return Err(EngineError::new(SqlState::ObjectNotInPrerequisiteState, message));
    }
    match &copy.place {
        CopyPlace::Program => Err(EngineError::unsupported("COPY FROM PROGRAM is not supported")),
        CopyPlace::Client if options.format == CopyFormat::Parquet => Err(EngineError::unsupported(
            "COPY FROM STDIN reads only text, csv and binary; COPY FROM a file on the server reads Parquet",
        )),
        CopyPlace::Client => {
            let running = context.database().statements().token();
            let load = StdinLoad::new(context, target, &options, interrupt.clone(), running);
            Ok(Outcome::CopyIn(CopyIn::new(load)))
        }
        CopyPlace::File(_)
            if options.format != CopyFormat::Parquet && !context.settings().client_encoding().is_unconverted() =>
        {
            let encoding = context.settings().client_encoding().name();
            let message = format!("COPY from a file is not supported with client_encoding {encoding}");
            Err(EngineError::unsupported(message).with_hint("SET client_encoding = 'UTF8', if the file is in UTF8."))
        }
        CopyPlace::File(path) => {
            let row_count = copy_file::load(context, target, path, &options).await?;
            Ok(Outcome::done(format!("COPY {row_count}")))
        }
    }
}

/// The places of the columns that are copied: those that are listed, or all but generated ones.
///
/// # Errors
/// For columns that there are not, and generated ones (42P10).
fn copied_columns(def: &TableDef, listed: &[Ident]) -> Result<Vec<usize>, EngineError> {
    let is_generated = |at: &usize| def.columns[*at].generated.is_some();
    if listed.is_empty() {
        return Ok((0..def.columns.len()).filter(|at| !is_generated(at)).collect());
    }
    let given = columns_named(&def.name, &def.columns, listed)?;
    match given.iter().find(|at| is_generated(at)) {
        Some(at) => {
            let message = format!("column \"{}\" is a generated column", def.columns[*at].name);
            Err(EngineError::new(SqlState::InvalidColumnReference, message)
                .with_detail("Generated columns cannot be used in COPY."))
        }
        None => Ok(given),
    }
}

/// Checks the columns of an option like FORCE_NULL.
///
/// # Errors
/// For columns that there are not, that are named twice, or that are not copied (42P10).
fn check_forced(def: &TableDef, copied: &[usize], option: &str, names: &[String]) -> Result<(), EngineError> {
    if names.is_empty() {
        return Ok(());
    }
    let names: Vec<Ident> = names.iter().map(|name| Ident::with_quote('"', name)).collect();
    for at in copied_columns(def, &names)? {
        if !copied.contains(&at) {
            let message = format!("{option} column \"{}\" not referenced by COPY", def.columns[at].name);
            return Err(EngineError::new(SqlState::InvalidColumnReference, message));
        }
    }
    Ok(())
}

impl CopyTarget {
    fn of(
        context: &StatementContext,
        statement: &Statement,
        copy: &CopyStatement,
        options: &CopyOptions,
    ) -> Result<Self, EngineError> {
        let CopySubject::Table { name, columns } = &copy.subject else {
            return Err(EngineError::new(SqlState::SyntaxError, "COPY FROM needs a table, not a query"));
        };
        let table = named_table(context, &context.snapshot(), name)?.into_copied()?;
        context.use_changed_table(&table)?;
        let appender = context.append(&table);
        let given = copied_columns(appender.def(), columns)?;
        check_forced(appender.def(), &given, "FORCE_NOT_NULL", &options.force_not_null)?;
        check_forced(appender.def(), &given, "FORCE_NULL", &options.force_null)?;
        let condition = copy.condition.as_ref();
        let condition =
            condition.map(|syntax| RowCondition::of_copy(context, appender.def(), statement.origin(), syntax));
        let assignment = Assignment::with_defaults(context, appender.def(), &given)?.keeping(condition.transpose()?);
        Ok(Self { appender, assignment, columns: given, columns_given: !columns.is_empty() })
    }

    fn def(&self) -> &Arc<TableDef> {
        self.appender.def()
    }

    /// The names of the data's columns.
    fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|at| self.def().columns[*at].name.clone()).collect()
    }
}
