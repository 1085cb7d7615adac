//! COPY TO STDOUT: rows of a query as records of text, as they are produced.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use braid_sql::functions::text_input::ReadingSession;
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_storage::TableDef;
use futures::StreamExt;
use futures::future::BoxFuture;
use sqlparser::ast::Query;
use sqlparser::parser::Parser;

use super::binary_writer::BinaryWriter;
use super::{check_forced, copied_columns};
use crate::front_end;
use crate::interrupt::Interrupt;
use crate::outcome::{CopyOut, CopyRecords, CopySource, RowBatches};
use crate::output::{BooleanStyle, ColumnOutput};
use crate::statement::{CopyFormat, CopyOptions, CopyStatement, CopySubject, Header, SqlDialect};
use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table};
use crate::{EngineError, Outcome, SqlState, Statement};

/// The rows of a query on their way into records.
struct RecordWriter {
    schema: SchemaRef,
    rows: RowBatches,
    options: CopyOptions,
    session: ReadingSession,
    header_pending: bool,
    row_count: u64,
    /// For the binary format.
    binary: Option<BinaryWriter>,
}

/// Which values of a CSV column are quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Always,
    /// Those that would read as something else.
    WhereNeeded,
}

/// Starts the query of a COPY TO.
pub(crate) async fn start(
    context: &StatementContext,
    statement: &Statement,
    copy: &CopyStatement,
    options: CopyOptions,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let mut def = None;
    if let CopySubject::Table { name, .. } = &copy.subject {
        let named = named_table(context, &context.snapshot(), name)?;
        if let Named::Table(table) = &named {
            def = Some(table.clone());
        }
        named.check_read()?;
    }
    let quoted = options.force_quote.as_deref().unwrap_or_default();
    if let (Some(def), CopySubject::Table { columns, .. }) = (&def, &copy.subject) {
        check_forced(def, &copied_columns(def, columns)?, "FORCE_QUOTE", quoted)?;
    }
    let of_table = query_of_table(&copy.subject, def.as_deref())?;
    let outcome = front_end::execute_copied(context, statement, of_table, interrupt).await?;
    let Outcome::Rows { schema, stream, .. } = outcome else {
        return Err(EngineError::internal("a query returned no stream of rows"));
    };
    if def.is_none() {
        check_quoted_of_query(&schema, quoted)?;
    }
    let header_pending = options.header != Header::None;
    let session = context.reading();
    let binary = match options.format {
        CopyFormat::Binary => Some(BinaryWriter::new(&schema)?),
        _ => None,
    };
    let writer = RecordWriter { schema, rows: stream, options, session, header_pending, row_count: 0, binary };
    Ok(Outcome::CopyOut(CopyOut::new(writer)))
}

/// Checks the columns of FORCE_QUOTE against those of a query.
fn check_quoted_of_query(schema: &SchemaRef, quoted: &[String]) -> Result<(), EngineError> {
    for (at, name) in quoted.iter().enumerate() {
        if schema.fields().iter().all(|field| field.name() != name) {
            return Err(EngineError::new(SqlState::UndefinedColumn, format!("column \"{name}\" does not exist")));
        }
        if quoted[..at].contains(name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(EngineError::new(SqlState::DuplicateColumn, message));
        }
    }
    Ok(())
}

/// `COPY t (a, b) TO` is `COPY (SELECT a, b FROM t) TO`: its text, and as a tree. Generated columns are left out. `None` for a query.
fn query_of_table(subject: &CopySubject, def: Option<&TableDef>) -> Result<Option<(String, Box<Query>)>, EngineError> {
    match subject {
        CopySubject::Query(_) => Ok(None),
        CopySubject::Table { name, columns } => {
            let is_generated = def.is_some_and(|def| def.columns.iter().any(|column| column.generated.is_some()));
            let columns: Vec<String> = match def.filter(|_| is_generated || !columns.is_empty()) {
                Some(def) => {
                    let copied = copied_columns(def, columns)?;
                    copied.iter().map(|at| quote_identifier(&def.columns[*at].name)).collect()
                }
                None if columns.is_empty() => vec!["*".to_owned()],
                None => columns.iter().map(ToString::to_string).collect(),
            };
            let columns = columns.join(", ");
            let text = format!("SELECT {columns} FROM {name}");
            Parser::new(&SqlDialect::for_text(&text))
                .try_with_sql(&text)
                .and_then(|mut parser| parser.parse_query())
                .map(|query| Some((text.clone(), query)))
                .map_err(|error| EngineError::internal(format!("a query of our own does not parse: {error}")))
        }
    }
}

impl CopySource for RecordWriter {
    fn column_count(&self) -> usize {
        self.schema.fields().len()
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Result<CopyRecords, EngineError>>> {
        Box::pin(async move {
            if std::mem::take(&mut self.header_pending) {
                return Some(Ok(self.header()));
            }
            match (self.rows.next().await, &mut self.binary) {
                (Some(Ok(batch)), _) => Some(self.encode(&batch)),
                (Some(Err(error)), _) => Some(Err(error)),
                (None, Some(binary)) => binary.end().map(Ok),
                (None, None) => None,
            }
        })
    }

    fn is_binary(&self) -> bool {
        self.binary.is_some()
    }

    fn row_count(&self) -> u64 {
        self.row_count
    }
}

impl RecordWriter {
    fn header(&self) -> CopyRecords {
        let (mut out, mut line) = (CopyRecords::default(), String::new());
        for (at, field) in self.schema.fields().iter().enumerate() {
            if at > 0 {
                line.push(char::from(self.options.delimiter));
            }
            self.write_field(field.name(), Quoting::WhereNeeded, &mut line);
        }
        out.push_line(&line);
        out
    }

    fn encode(&mut self, batch: &RecordBatch) -> Result<CopyRecords, EngineError> {
        if let Some(binary) = &mut self.binary {
            self.row_count += batch.num_rows() as u64;
            return binary.encode(batch);
        }
        let output = |array| ColumnOutput::new(array, self.session, BooleanStyle::Letter);
        let columns = batch.columns().iter().map(output).collect::<Result<Vec<_>, EngineError>>()?;
        let quoting: Vec<Quoting> =
            batch.schema_ref().fields().iter().map(|field| self.quoting_of(field.name())).collect();
        let mut out = CopyRecords::default();
        let (mut text, mut line) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            for (at, column) in columns.iter().enumerate() {
                if at > 0 {
                    line.push(char::from(self.options.delimiter));
                }
                if column.is_null(row) {
                    line.push_str(&self.options.null);
                } else {
                    text.clear();
                    column.write(row, &mut text)?;
                    self.write_field(&text, quoting[at], &mut line);
                }
            }
            out.push_line(&line);
        }
        self.row_count += batch.num_rows() as u64;
        Ok(out)
    }

    /// FORCE_QUOTE.
    fn quoting_of(&self, column: &str) -> Quoting {
        match &self.options.force_quote {
            Some(names) if names.iter().all(|name| name != column) => Quoting::WhereNeeded,
            _ => Quoting::Always,
        }
    }

    fn write_field(&self, text: &str, quoting: Quoting, out: &mut String) {
        if self.options.is_csv() { self.write_csv(text, quoting, out) } else { self.write_text(text, out) }
    }

    /// Quotes a value that could be read as a null, as several fields, or as the end of the data.
    fn write_csv(&self, text: &str, quoting: Quoting, out: &mut String) {
        let (quote, escape) = (char::from(self.options.quote), char::from(self.options.escape));
        let special = [quote, char::from(self.options.delimiter), '\n', '\r'];
        let sole_end_mark = self.column_count() == 1 && text == "\\.";
        if quoting == Quoting::WhereNeeded && text != self.options.null && !text.contains(special) && !sole_end_mark {
            out.push_str(text);
            return;
        }
        out.push(quote);
        for c in text.chars() {
            if c == quote || c == escape {
                out.push(escape);
            }
            out.push(c);
        }
        out.push(quote);
    }

    fn write_text(&self, text: &str, out: &mut String) {
        let delimiter = char::from(self.options.delimiter);
        for c in text.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{b}' => out.push_str("\\v"),
                '\u{c}' => out.push_str("\\f"),
                c => {
                    if c == delimiter {
                        out.push('\\');
                    }
                    out.push(c);
                }
            }
        }
    }
}
