//! Rows on standard output: a table for people, CSV and JSON for programs.
//!
//! CSV and JSON are written row by row, without a limit on length. A table needs the widths of all its values first. JSON
//! has numbers and booleans as such, and every other value as a string. CSV has an empty field for null and `""` for an
//! empty text, as PostgreSQL's COPY does.

use std::fmt::Write as _;
use std::io::{self, Write};

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};
use tokio_postgres::types::Type;

/// Output format of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// Columns in a frame.
    Table,
    /// Comma-separated values with a header line.
    Csv,
    /// An array of objects.
    Json,
}

/// Prints one result.
pub(crate) struct ResultWriter<W> {
    out: W,
    format: OutputFormat,
    types: Vec<Type>,
    names: Vec<String>,
    table: Option<Table>,
    begun: bool,
    rows: u64,
}

impl<W: Write> ResultWriter<W> {
    /// For JSON `types` are the columns' types; the other formats need none.
    pub(crate) fn new(out: W, format: OutputFormat, types: Vec<Type>) -> Self {
        Self { out, format, types, names: Vec::new(), table: None, begun: false, rows: 0 }
    }

    /// The columns' names: a result begins.
    pub(crate) fn begin(&mut self, names: Vec<String>) -> io::Result<()> {
        self.begun = true;
        match self.format {
            OutputFormat::Table => {
                let mut table = Table::new();
                table.load_preset(UTF8_FULL_CONDENSED).set_header(&names);
                self.table = Some(table);
            }
            OutputFormat::Csv => self.csv_line(names.iter().map(|name| Some(name.as_str())))?,
            OutputFormat::Json => self.out.write_all(b"[")?,
        }
        self.names = names;
        Ok(())
    }

    /// One row, as the wire's text.
    pub(crate) fn row<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) -> io::Result<()> {
        self.rows += 1;
        match self.format {
            OutputFormat::Table => {
                if let Some(table) = &mut self.table {
                    table.add_row(values.map(cell));
                }
                Ok(())
            }
            OutputFormat::Csv => self.csv_line(values),
            OutputFormat::Json => self.json_object(values),
        }
    }

    /// The end of the result.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some(table) = self.table.take() {
            let plural = if self.rows == 1 { "" } else { "s" };
            writeln!(self.out, "{table}\n({} row{plural})", self.rows)?;
        }
        if self.format == OutputFormat::Json && self.begun {
            writeln!(self.out, "{}]", if self.rows == 0 { "" } else { "\n" })?;
        }
        self.out.flush()
    }

    fn csv_line<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) -> io::Result<()> {
        let mut line = String::new();
        for (at, value) in values.enumerate() {
            if at > 0 {
                line.push(',');
            }
            match value {
                Some(text) if text.is_empty() || text.contains(['"', ',', '\n', '\r']) => {
                    line.push('"');
                    line.push_str(&text.replace('"', "\"\""));
                    line.push('"');
                }
                Some(text) => line.push_str(text),
                None => {}
            }
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }

    fn json_object<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) -> io::Result<()> {
        let mut line = String::from(if self.rows == 1 { "\n{" } else { ",\n{" });
        for (at, value) in values.enumerate() {
            if at > 0 {
                line.push(',');
            }
            append_json_text(&mut line, self.names.get(at).map_or("", String::as_str));
            line.push(':');
            match value {
                None => line.push_str("null"),
                Some(text) => append_json_value(&mut line, text, self.types.get(at)),
            }
        }
        line.push('}');
        self.out.write_all(line.as_bytes())
    }
}

/// A value in a table: numbers to the right.
fn cell(value: Option<&str>) -> Cell {
    let text = value.unwrap_or_default();
    let number = !text.is_empty() && text.parse::<f64>().is_ok();
    Cell::new(text).set_alignment(if number { CellAlignment::Right } else { CellAlignment::Left })
}

fn append_json_value(line: &mut String, text: &str, pg_type: Option<&Type>) {
    let numeric = [Type::INT2, Type::INT4, Type::INT8, Type::FLOAT4, Type::FLOAT8, Type::NUMERIC];
    match (pg_type, text) {
        (Some(&Type::BOOL), "t") => line.push_str("true"),
        (Some(&Type::BOOL), "f") => line.push_str("false"),
        // JSON has no NaN and no infinities.
        (Some(number), _) if numeric.contains(number) && !text.ends_with(['N', 'y']) => line.push_str(text),
        _ => append_json_text(line, text),
    }
}

fn append_json_text(line: &mut String, text: &str) {
    line.push('"');
    for c in text.chars() {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            '\r' => line.push_str("\\r"),
            c if c < ' ' => write!(line, "\\u{:04x}", c as u32).expect("a String takes all"),
            c => line.push(c),
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: OutputFormat, types: Vec<Type>, rows: &[&[Option<&str>]]) -> String {
        let mut out = Vec::new();
        let mut writer = ResultWriter::new(&mut out, format, types);
        writer.begin(vec!["a".to_owned(), "b \"x\"".to_owned()]).unwrap();
        for row in rows {
            writer.row(row.iter().copied()).unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        let csv = written(OutputFormat::Csv, vec![], &[&[Some("1,5"), Some("")], &[None, Some("say \"hi\"")]]);
        assert_eq!(csv, "a,\"b \"\"x\"\"\"\n\"1,5\",\"\"\n,\"say \"\"hi\"\"\"\n");
    }

    #[test]
    fn json_keeps_numbers_and_escapes_texts() {
        let types = vec![Type::FLOAT8, Type::TEXT];
        let rows: &[&[Option<&str>]] =
            &[&[Some("1.5"), Some("x\n\u{1}\"")], &[Some("NaN"), None], &[Some("-Infinity"), None]];
        let json = written(OutputFormat::Json, types, rows);
        let expected = "[\n{\"a\":1.5,\"b \\\"x\\\"\":\"x\\n\\u0001\\\"\"},\n{\"a\":\"NaN\",\"b \\\"x\\\"\":null},\n\
                        {\"a\":\"-Infinity\",\"b \\\"x\\\"\":null}\n]\n";
        assert_eq!(json, expected);
        assert_eq!(written(OutputFormat::Json, vec![Type::BOOL, Type::TEXT], &[]), "[]\n");
    }

    #[test]
    fn tables_end_with_their_number_of_rows() {
        let table = written(OutputFormat::Table, vec![], &[&[Some("1"), None]]);
        assert!(table.ends_with("(1 row)\n") && table.contains("b \"x\""), "{table}");
    }
}
