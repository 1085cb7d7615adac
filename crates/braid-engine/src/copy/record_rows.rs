//! Records into batches of a table, with the position of every error: file, line, column, value.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use braid_storage::TableDef;

use super::record_fields::RecordFields;
use super::record_splitter::Record;
use crate::dml::assignment::Assignment;
use crate::front_end::RejectedRow;
use crate::input::ColumnInput;
use crate::outcome::{CopiedFile, ExpectedValues};
use crate::statement::{CopyOptions, Header};
use crate::{EngineError, SqlState};

/// Rows per batch.
const BATCH_ROWS: usize = 8192;

/// Bytes of records at which a batch is full though it has fewer rows: 1 KiB a row.
const BATCH_BYTES: usize = BATCH_ROWS * 1024;

/// Maximum number of characters of an invalid value in an error.
const SHOWN_CHARACTERS_MAX: usize = 100;

/// What the text of a null is in a column.
#[derive(Clone, Copy)]
enum NullText {
    /// A null, unless it is in quotes.
    Unquoted,
    /// A null, also in quotes: FORCE_NULL.
    Always,
    /// A text: FORCE_NOT_NULL.
    Never,
    /// A null in quotes alone: both of them.
    Quoted,
}

/// Collects rows for a table.
pub(crate) struct RecordRows {
    def: Arc<TableDef>,
    columns: Vec<usize>,
    options: CopyOptions,
    /// The name of the data in errors: `COPY t` or `COPY t, file x.csv`.
    source: String,
    inputs: Vec<ColumnInput>,
    null_texts: Vec<NullText>,
    /// For each column, what its values are to be besides values of its type.
    expected_values: Vec<Option<ExpectedValues>>,
    fields: RecordFields,
    row_count: usize,
    byte_count: usize,
    /// The line of each row.
    lines: Vec<u64>,
    header_pending: bool,
}

impl RecordRows {
    /// A collector for records with `columns` of the table of `assignment`.
    pub fn new(assignment: &Assignment, columns: &[usize], options: &CopyOptions, file: Option<&str>) -> Self {
        let def = assignment.def().clone();
        let inputs = columns.iter().map(|at| ColumnInput::new(def.columns[*at].column_type, assignment.session()));
        let source = match file {
            Some(file) => format!("COPY {}, file {file}", def.name),
            None => format!("COPY {}", def.name),
        };
        Self {
            inputs: inputs.collect(),
            null_texts: columns.iter().map(|at| null_text(&def.columns[*at].name, options)).collect(),
            expected_values: vec![None; columns.len()],
            columns: columns.to_vec(),
            options: options.clone(),
            source,
            fields: RecordFields::default(),
            row_count: 0,
            byte_count: 0,
            lines: Vec::new(),
            header_pending: options.header != Header::None,
            def,
        }
    }

    /// Says which file the records come from, and what errors call it.
    pub fn describe(&mut self, source: &str, file: CopiedFile) {
        source.clone_into(&mut self.source);
        self.expected_values = file.expected_values;
        self.options.other_nulls = file.nulls;
    }

    /// Adds one record. If it is none of the table, an earlier row that cannot be stored comes first.
    ///
    /// # Errors
    /// For what is no row of the table, with the place.
    pub fn push(&mut self, record: Record<'_>, assignment: &Assignment) -> Result<(), EngineError> {
        self.take(record).or_else(|error| self.finish(assignment).and(Err(error)))
    }

    fn take(&mut self, record: Record<'_>) -> Result<(), EngineError> {
        let at_line = |error: EngineError| error.with_context(format!("{}, line {}", self.source, record.line));
        let is_header = std::mem::take(&mut self.header_pending);
        if is_header && self.options.header != Header::Match {
            return Ok(());
        }
        self.fields.read(record.bytes, &self.options).map_err(at_line)?;
        if is_header {
            return self.check_header().map_err(at_line);
        }
        self.check_width().map_err(at_line)?;
        let (line, byte_count) = (record.line, record.bytes.len());
        for at in 0..self.inputs.len() {
            let expected = self.expected_values.get(at).and_then(Option::as_ref);
            let appended = self.fields.get(at).and_then(|text| {
                let text = forced(text, self.null_texts[at], &self.options);
                append(&mut self.inputs[at], text)?;
                check_expected(text, expected)
            });
            if let Err(error) = appended {
                let shown = self.fields.get(at).ok().flatten();
                let error = match expected {
                    Some(expected) if error.hint().is_none() => error.with_hint(&expected.hint),
                    _ => error,
                };
                return Err(error.with_context(self.place_of_value(line, at, shown)));
            }
        }
        self.note_row(line, byte_count);
        Ok(())
    }

    /// The end of the data: checks what is missing.
    ///
    /// # Errors
    /// For a header that must name the columns, and is not there.
    pub fn end(&mut self, line: u64) -> Result<(), EngineError> {
        if !self.header_pending || self.options.header != Header::Match {
            return Ok(());
        }
        let checked = self.fields.read(b"", &self.options).and_then(|()| self.check_header());
        checked.map_err(|error| error.with_context(format!("{}, line {line}", self.source)))
    }

    /// Adds a record of these values, with its number and its bytes, as [`Self::push`].
    ///
    /// # Errors
    /// The same.
    pub fn push_texts(
        &mut self,
        (line, byte_count): (u64, usize),
        texts: &[Option<String>],
        assignment: &Assignment,
    ) -> Result<(), EngineError> {
        for (at, text) in texts.iter().enumerate() {
            if let Err(error) = append(&mut self.inputs[at], text.as_deref()) {
                let error = error.with_context(self.place_of_value(line, at, text.as_deref()));
                return self.finish(assignment).and(Err(error));
            }
        }
        self.note_row(line, byte_count);
        Ok(())
    }

    fn note_row(&mut self, line: u64, byte_count: usize) {
        self.lines.push(line);
        self.row_count += 1;
        self.byte_count += byte_count;
    }

    fn place_of_value(&self, line: u64, at: usize, text: Option<&str>) -> String {
        let column = &self.def.columns[self.columns[at]].name;
        let shown = text.map_or_else(String::new, |text| format!(": \"{}\"", shorten(text)));
        format!("{}, line {line}, column {column}{shown}", self.source)
    }

    /// Whether the batch is full.
    pub fn is_full(&self) -> bool {
        self.row_count >= BATCH_ROWS || self.byte_count >= BATCH_BYTES
    }

    /// The rows so far as a batch of the table; `None` without rows.
    pub fn finish(&mut self, assignment: &Assignment) -> Result<Option<RecordBatch>, EngineError> {
        if self.row_count == 0 {
            return Ok(None);
        }
        let row_count = std::mem::take(&mut self.row_count);
        self.byte_count = 0;
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.def.columns.len()];
        for (at, input) in self.columns.iter().zip(&mut self.inputs) {
            // A record that fails half-way leaves values behind the rows.
            arrays[*at] = Some(input.finish().slice(0, row_count));
        }
        let lines = std::mem::take(&mut self.lines);
        let at_line = |RejectedRow { row, error }| error.with_context(format!("{}, line {}", self.source, lines[row]));
        assignment.assemble_or_reject(arrays, row_count)?.map(Some).map_err(at_line)
    }

    fn check_width(&self) -> Result<(), EngineError> {
        let (found, wanted) = (self.fields.len(), self.columns.len());
        if found < wanted {
            let column = &self.def.columns[self.columns[found]].name;
            let message = format!("missing data for column \"{column}\"");
            return Err(EngineError::new(SqlState::BadCopyFileFormat, message));
        }
        if found > wanted {
            return Err(EngineError::new(SqlState::BadCopyFileFormat, "extra data after last expected column"));
        }
        Ok(())
    }

    fn check_header(&self) -> Result<(), EngineError> {
        let wrong = |message: String| Err(EngineError::new(SqlState::BadCopyFileFormat, message));
        let (found, wanted) = (self.fields.len(), self.columns.len());
        if found != wanted {
            return wrong(format!("wrong number of fields in header line: got {found}, expected {wanted}"));
        }
        for (at, column) in self.columns.iter().enumerate() {
            let (found, wanted) = (self.fields.get(at)?, &self.def.columns[*column].name);
            if found != Some(wanted.as_str()) {
                let null = || format!("null value (\"{}\")", self.options.null);
                let found = found.map_or_else(null, |found| format!("\"{found}\""));
                let place = format!("column name mismatch in header line field {}", at + 1);
                return wrong(format!("{place}: got {found}, expected \"{wanted}\""));
            }
        }
        Ok(())
    }
}

fn null_text(column: &str, options: &CopyOptions) -> NullText {
    let is_in = |names: &[String]| names.iter().any(|name| name == column);
    match (is_in(&options.force_null), is_in(&options.force_not_null)) {
        (false, false) => NullText::Unquoted,
        (true, false) => NullText::Always,
        (false, true) => NullText::Never,
        (true, true) => NullText::Quoted,
    }
}

/// A field's text with FORCE_NULL and FORCE_NOT_NULL of its column.
fn forced<'a>(text: Option<&'a str>, null_text: NullText, options: &'a CopyOptions) -> Option<&'a str> {
    match (text, null_text) {
        (None, NullText::Never | NullText::Quoted) => Some(&options.null),
        (Some(text), NullText::Always | NullText::Quoted) if options.is_null(text.as_bytes()) => None,
        (text, _) => text,
    }
}

/// Checks that a value of the column's type comes back as it is written.
fn check_expected(text: Option<&str>, expected: Option<&ExpectedValues>) -> Result<(), EngineError> {
    match (text, expected) {
        (Some(text), Some(expected)) if !(expected.holds)(text) => {
            let message = format!("the column's type does not keep \"{}\" as it is written", shorten(text));
            Err(EngineError::new(SqlState::InvalidTextRepresentation, message))
        }
        _ => Ok(()),
    }
}

fn append(input: &mut ColumnInput, text: Option<&str>) -> Result<(), EngineError> {
    match text {
        Some(text) => input.append(text),
        None => {
            input.append_null();
            Ok(())
        }
    }
}

/// A value, shortened for errors.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
