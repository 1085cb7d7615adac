//! What a load will do: the files, the table's columns with their types, and why they have them. Nothing is written yet.
//!
//! 1. The first [`SAMPLE_RECORDS`] lines of all files together decide the types. A file with fewer lines is read whole.
//! 2. A value behind them that does not fit stops the load, with the file, the line, the column and what to do: no column becomes
//!    text without a word.
//! 3. All files have the same columns, in the same order.
//! 4. The columns of an existing table have its types; they are found by their names, or by their order in files without a header.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::column_profile::{ColumnProfile, Inferred};
use super::file_sample::{FileSample, KnownForm, sample};
use super::input_file::{InputFile, is_parquet};
use super::parquet_columns::{FileColumn, check_same, parquet_columns};
use super::planned_column::PlannedColumn;
use super::request::{LoadRequest, STANDARD_INPUT};
use super::target_table::TargetTable;
use super::text_form::{Decision, shown};
use super::value_kind::Kind;
use crate::{EngineError, SqlState};

/// Lines that decide the types of columns.
const SAMPLE_RECORDS: usize = 100_000;

/// Lines of each of many files.
const SAMPLE_RECORDS_OF_FILE_MIN: usize = 1000;

/// A load that is ready to run.
pub struct LoadPlan {
    pub(super) table: String,
    pub(super) append: bool,
    pub(super) files: Vec<PlannedFile>,
    pub(super) form: Option<PlannedForm>,
    pub(super) nulls: Vec<String>,
    pub(super) columns: Vec<PlannedColumn>,
    pub(super) bytes_read: Arc<AtomicU64>,
    byte_count: Option<u64>,
    notes: Vec<String>,
}

pub(super) enum PlannedFile {
    Text(InputFile),
    Parquet(String),
}

/// How files of text are written.
pub(super) struct PlannedForm {
    pub delimiter: u8,
    pub has_header: bool,
}

impl LoadPlan {
    /// The columns in the order of the files.
    pub fn columns(&self) -> &[PlannedColumn] {
        &self.columns
    }

    /// What else was decided, and why, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Bytes of the files of text; `None` if it is not known.
    pub fn byte_count(&self) -> Option<u64> {
        self.byte_count
    }

    /// A counter of the bytes that are read.
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        self.bytes_read.clone()
    }

    /// Looks at the files of a request. `target` is the table, if it is to exist. Blocks on the files.
    pub(super) fn of(request: &LoadRequest, target: Option<&TargetTable>) -> Result<Self, EngineError> {
        let names = request.file_names()?;
        if target.is_some() && !request.types.is_empty() {
            let message = "--types cannot be used with --append: the table has its types";
            return Err(EngineError::new(SqlState::InvalidParameterValue, message));
        }
        let parquet = names.iter().map(|name| is_parquet(name)).collect::<Result<Vec<_>, _>>()?;
        match parquet.iter().filter(|is_parquet| **is_parquet).count() {
            0 => Self::of_text(request, &names, target),
            count if count == names.len() => Self::of_parquet(request, names, target),
            _ => Err(EngineError::new(
                SqlState::InvalidParameterValue,
                "files of Parquet and of text cannot be loaded together: load them one after the other with --append",
            )),
        }
    }

    fn of_text(request: &LoadRequest, names: &[String], target: Option<&TargetTable>) -> Result<Self, EngineError> {
        let given = || "given".to_owned();
        let mut known = KnownForm {
            delimiter: request.delimiter_byte()?.map(|choice| Decision { choice, why: given() }),
            header: request.header.map(|choice| Decision { choice, why: given() }),
            nulls: request.nulls.clone(),
            records_max: (SAMPLE_RECORDS / names.len()).max(SAMPLE_RECORDS_OF_FILE_MIN),
        };
        let bytes_read = Arc::new(AtomicU64::new(0));
        let mut samples: Vec<FileSample> = Vec::with_capacity(names.len());
        for name in names {
            let found = sample(name, &known, &bytes_read)?;
            match samples.first() {
                Some(first) => check_columns(first, &found)?,
                None if found.columns.is_empty() => {
                    let message = format!("file \"{}\" is empty: it has no column", found.input.name);
                    return Err(EngineError::new(SqlState::BadCopyFileFormat, message));
                }
                None => (known.delimiter, known.header) = (Some(found.delimiter.clone()), Some(found.header.clone())),
            }
            samples.push(found);
        }
        let first = &samples[0];
        let columns = match target {
            Some(target) => target.columns_of(&first.names, first.header.choice, &first.input.name)?,
            None => inferred_columns(request, &samples)?,
        };
        let form = PlannedForm { delimiter: first.delimiter.choice, has_header: first.header.choice };
        let notes = notes_of(&samples, target.is_some());
        let sizes = names.iter().map(|name| match name.as_str() {
            STANDARD_INPUT => None,
            name => std::fs::metadata(name).ok().filter(std::fs::Metadata::is_file).map(|data| data.len()),
        });
        let byte_count = sizes.sum();
        Ok(Self {
            table: request.table.clone(),
            append: request.append,
            files: samples.into_iter().map(|sample| PlannedFile::Text(sample.input)).collect(),
            form: Some(form),
            nulls: request.nulls.clone(),
            columns,
            bytes_read,
            byte_count,
            notes,
        })
    }

    fn of_parquet(
        request: &LoadRequest,
        names: Vec<String>,
        target: Option<&TargetTable>,
    ) -> Result<Self, EngineError> {
        let text_options = [
            (request.delimiter.is_some(), "--delimiter"),
            (request.header.is_some(), "--header"),
            (!request.nulls.is_empty(), "--null"),
            (!request.types.is_empty(), "--types"),
        ];
        if let Some((_, option)) = text_options.into_iter().find(|(is_given, _)| *is_given) {
            let message = format!("{option} is for files of text; Parquet files say it themselves");
            return Err(EngineError::new(SqlState::InvalidParameterValue, message));
        }
        let mut first: Option<(String, Vec<FileColumn>)> = None;
        for name in &names {
            let columns = parquet_columns(name)?;
            match &first {
                Some((first_name, first_columns)) => check_same(first_name, first_columns, name, &columns)?,
                None => first = Some((name.clone(), columns)),
            }
        }
        let (first_name, file_columns) = first.unwrap_or_default();
        let columns = match target {
            Some(target) => target.columns_of_parquet(&file_columns, &first_name)?,
            None => file_columns.into_iter().map(FileColumn::planned).collect(),
        };
        Ok(Self {
            table: request.table.clone(),
            append: request.append,
            files: names.into_iter().map(PlannedFile::Parquet).collect(),
            form: None,
            nulls: Vec::new(),
            columns,
            bytes_read: Arc::default(),
            byte_count: None,
            notes: Vec::new(),
        })
    }
}

/// Checks that a further file has the columns of the first one.
fn check_columns(first: &FileSample, other: &FileSample) -> Result<(), EngineError> {
    if other.columns.is_empty() || other.names == first.names {
        return Ok(());
    }
    let message =
        format!("the columns of file \"{}\" are not those of file \"{}\"", other.input.name, first.input.name);
    let detail = format!("They are ({}), not ({}).", other.names.join(", "), first.names.join(", "));
    Err(EngineError::new(SqlState::DatatypeMismatch, message).with_detail(detail))
}

/// The columns of a new table.
fn inferred_columns(request: &LoadRequest, samples: &[FileSample]) -> Result<Vec<PlannedColumn>, EngineError> {
    let first = &samples[0];
    if let Some((name, _)) = request
        .types
        .iter()
        .find(|(name, _)| first.names.iter().all(|column| column != name && *column != name.to_lowercase()))
    {
        let message = format!("--types names the column \"{name}\", which file \"{}\" has not", first.input.name);
        return Err(EngineError::new(SqlState::UndefinedColumn, message)
            .with_detail(format!("Its columns are: {}.", first.names.join(", "))));
    }
    let is_whole = samples.iter().all(|sample| sample.is_whole);
    let columns = first.names.iter().enumerate().map(|(at, name)| {
        if let Some(written) = request.type_of(name) {
            let lower = written.to_lowercase();
            return PlannedColumn {
                name: name.clone(),
                sql_type: written.to_owned(),
                why: "given".to_owned(),
                is_nullable: true,
                is_text: ["text", "varchar", "char", "bpchar"].iter().any(|text| lower.starts_with(text)),
                expected: None,
            };
        }
        let mut values = ColumnProfile::default();
        samples.iter().filter_map(|sample| sample.columns.get(at)).for_each(|column| values.add_all(column));
        let Inferred { kind, why } = values.inferred();
        let sql_type = kind.map_or("text", Kind::sql);
        let expected = kind.filter(|_| !is_whole).map(|kind| (kind, hint_of(name, sql_type)));
        PlannedColumn {
            name: name.clone(),
            sql_type: sql_type.to_owned(),
            why,
            is_nullable: true,
            is_text: kind.is_none(),
            expected,
        }
    });
    Ok(columns.collect())
}

/// What to do about a value behind the sample that is none of the column's type.
fn hint_of(column: &str, sql_type: &str) -> String {
    format!(
        "The column is {sql_type} after the lines looked at first. --types {column}=text takes all values as they are, --null TEXT \
         reads a text as null."
    )
}

fn notes_of(samples: &[FileSample], is_append: bool) -> Vec<String> {
    let (first, record_count) = (&samples[0], samples.iter().map(|sample| sample.record_count).sum::<usize>());
    let mut notes = vec![format!("delimiter \"{}\": {}", shown(first.delimiter.choice), first.delimiter.why)];
    notes.push(match first.header.choice {
        true => format!("the first line is a header: {}", first.header.why),
        false => format!("no header: {}", first.header.why),
    });
    if !is_append {
        notes.push(match samples.iter().all(|sample| sample.is_whole) {
            true => format!("types from all {record_count} lines"),
            false => {
                format!("types from the first {record_count} lines; a later value that does not fit stops the load")
            }
        });
    }
    notes
}
