//! The first lines of a file of text: its form, its columns' names, and the kinds of their values.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::column_profile::ColumnProfile;
use super::input_file::{InputFile, Look};
use super::request::shown_name;
use super::text_form::{Decision, find_delimiter, find_header};
use crate::EngineError;
use crate::copy::record_fields::RecordFields;
use crate::copy::record_splitter::{DataSource, RecordSplitter};
use crate::names::NAME_BYTES_MAX;
use crate::statement::{CopyFormat, CopyOptions};

/// Lines that the delimiter is looked for in.
const HEAD_RECORDS: usize = 1000;

/// What is known of the files before one is looked at.
#[derive(Clone)]
pub(super) struct KnownForm {
    pub delimiter: Option<Decision<u8>>,
    pub header: Option<Decision<bool>>,
    pub nulls: Vec<String>,
    /// Lines to look at.
    pub records_max: usize,
}

/// What the first lines say.
pub(super) struct FileSample {
    pub input: InputFile,
    pub delimiter: Decision<u8>,
    pub header: Decision<bool>,
    /// The names in the header, or `column1` and so on.
    pub names: Vec<String>,
    pub columns: Vec<ColumnProfile>,
    /// Records looked at.
    pub record_count: usize,
    /// Whether these are all.
    pub is_whole: bool,
}

/// Looks at the first lines of a file.
pub(super) fn sample(name: &str, known: &KnownForm, bytes_read: &Arc<AtomicU64>) -> Result<FileSample, EngineError> {
    let mut sampler = Sampler::new(shown_name(name), known);
    let input = InputFile::look_into(name, bytes_read, |block| sampler.take(block))?;
    sampler.finish(input)
}

struct Sampler<'a> {
    name: &'a str,
    known: &'a KnownForm,
    options: CopyOptions,
    splitter: RecordSplitter,
    /// The first records and their lines, until the delimiter is known.
    head: Vec<(String, u64)>,
    delimiter: Option<Decision<u8>>,
    fields: RecordFields,
    /// The first record.
    first: Option<Vec<Option<String>>>,
    columns: Vec<ColumnProfile>,
    record_count: usize,
    is_whole: bool,
}

impl<'a> Sampler<'a> {
    fn new(name: &'a str, known: &'a KnownForm) -> Self {
        let options = CopyOptions { other_nulls: known.nulls.clone(), ..CopyOptions::defaults(CopyFormat::Csv) };
        Self {
            name,
            known,
            splitter: RecordSplitter::new(&options, DataSource::WholeFile),
            options,
            head: Vec::new(),
            delimiter: None,
            fields: RecordFields::default(),
            first: None,
            columns: Vec::new(),
            record_count: 0,
            is_whole: false,
        }
    }

    /// Takes the next bytes; none at the end.
    fn take(&mut self, block: &[u8]) -> Result<Look, EngineError> {
        match block {
            [] => self.splitter.end(),
            _ => self.splitter.push(block),
        }
        while self.record_count < self.known.records_max {
            let (name, line) = (self.name, self.splitter.line());
            let in_file = |error: EngineError| error.with_context(format!("file {name}, line {line}"));
            let Some(record) = self.splitter.next_record().map_err(in_file)? else { break };
            // Records are checked to be text when they are split.
            let record = (String::from_utf8_lossy(record.bytes).into_owned(), record.line);
            self.record_count += 1;
            match &self.delimiter {
                Some(_) => self.add(&record)?,
                None => {
                    self.head.push(record);
                    if self.head.len() == HEAD_RECORDS {
                        self.read_head()?;
                    }
                }
            }
        }
        self.is_whole = (block.is_empty() || self.splitter.has_ended()) && self.record_count < self.known.records_max;
        let is_enough = self.record_count == self.known.records_max || self.splitter.has_ended();
        Ok(if is_enough { Look::Enough } else { Look::On })
    }

    /// Finds the delimiter, and reads the records that waited for it.
    fn read_head(&mut self) -> Result<(), EngineError> {
        let head = std::mem::take(&mut self.head);
        let delimiter = match &self.known.delimiter {
            Some(known) => known.clone(),
            None => {
                let records: Vec<String> = head.iter().map(|(record, _)| record.clone()).collect();
                find_delimiter(&records, self.name)?
            }
        };
        self.options.delimiter = delimiter.choice;
        self.delimiter = Some(delimiter);
        head.iter().try_for_each(|record| self.add(record))
    }

    fn add(&mut self, (record, line): &(String, u64)) -> Result<(), EngineError> {
        let (name, line) = (self.name, *line);
        let in_file = |error: EngineError| error.with_context(format!("file {name}, line {line}"));
        self.fields.read(record.as_bytes(), &self.options).map_err(in_file)?;
        let texts = (0..self.fields.len()).map(|at| self.fields.get(at));
        if self.first.is_none() {
            let texts = texts.map(|text| Ok(text?.map(str::to_owned))).collect::<Result<Vec<_>, EngineError>>()?;
            self.columns = texts.iter().map(|_| ColumnProfile::default()).collect();
            self.first = Some(texts);
            return Ok(());
        }
        for (text, column) in texts.zip(&mut self.columns) {
            column.add(null_in_quotes(text?, &self.options), || format!("{name}, line {line}"));
        }
        Ok(())
    }

    fn finish(mut self, input: InputFile) -> Result<FileSample, EngineError> {
        if self.delimiter.is_none() {
            self.read_head()?;
        }
        let first = self.first.unwrap_or_default();
        let header = self.known.header.clone().unwrap_or_else(|| find_header(&first, &self.columns));
        if !header.choice {
            for (text, column) in first.iter().zip(&mut self.columns) {
                column.add(null_in_quotes(text.as_deref(), &self.options), || format!("{}, line 1", self.name));
            }
        }
        let names = if header.choice { names_of(&first) } else { names_of(&vec![None; first.len()]) };
        let delimiter = self.delimiter.unwrap_or(Decision { choice: b',', why: String::new() });
        Ok(FileSample {
            input,
            delimiter,
            header,
            names,
            columns: self.columns,
            record_count: self.record_count,
            is_whole: self.is_whole,
        })
    }
}

/// The text of a null is one also in quotes, for the types of columns.
fn null_in_quotes<'a>(text: Option<&'a str>, options: &CopyOptions) -> Option<&'a str> {
    text.filter(|text| !options.is_null(text.as_bytes()))
}

/// Names of columns: folded to lower case, as they would be in CREATE TABLE, and told apart by a number.
fn names_of(header: &[Option<String>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(header.len());
    for (at, field) in header.iter().enumerate() {
        let written = field.as_deref().unwrap_or_default().trim().to_lowercase();
        let name = if written.is_empty() { format!("column{}", at + 1) } else { cut(&written, NAME_BYTES_MAX) };
        let mut candidate = name.clone();
        let mut number = 1_usize;
        while names.contains(&candidate) {
            number += 1;
            let suffix = format!("_{number}");
            candidate = cut(&name, NAME_BYTES_MAX - suffix.len()) + &suffix;
        }
        names.push(candidate);
    }
    names
}

fn cut(name: &str, bytes_max: usize) -> String {
    let end = (0..=bytes_max.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_and_told_apart() {
        let header = |names: &[&str]| names.iter().map(|name| Some((*name).to_owned())).collect::<Vec<_>>();
        assert_eq!(names_of(&header(&[" Id", "", "a", "A", "a_2"])), ["id", "column2", "a", "a_2", "a_2_2"]);
        let long = "ä".repeat(40);
        let names = names_of(&header(&[&long, &long]));
        assert_eq!((names[0].len(), names[1].len()), (62, 62));
        assert_ne!(names[0], names[1]);
    }
}
