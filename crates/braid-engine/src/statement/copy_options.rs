//! The options of COPY: what each may be, its default, and which do not go together.
//!
//! Unsupported options are refused by name (FORCE_NULL).

use super::copy_statement::{CopyDirection, CopyStatement, OptionValue};
use crate::{EngineError, SqlState};

/// The format of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyFormat {
    /// PostgreSQL's own: tabs, `\N`, backslash escapes.
    Text,
    /// Comma-separated values, as RFC 4180.
    Csv,
    /// PostgreSQL's own: values in their types' binary formats.
    Binary,
    /// Apache Parquet.
    Parquet,
}

/// The treatment of a first line of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// The data has no such line.
    None,
    /// COPY FROM skips the line, COPY TO writes it.
    Present,
    /// The line must name the columns.
    Match,
}

/// The options of a COPY with their defaults filled in, checked against each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyOptions {
    /// FORMAT.
    pub format: CopyFormat,
    /// DELIMITER: one byte.
    pub delimiter: u8,
    /// NULL: the text of a null.
    pub null: String,
    /// HEADER.
    pub header: Header,
    /// QUOTE: one byte.
    pub quote: u8,
    /// ESCAPE: one byte.
    pub escape: u8,
    /// FORCE_QUOTE: `None` for `*`.
    pub force_quote: Option<Vec<String>>,
    /// FREEZE: the rows are of a table that the transaction has made or emptied. It changes nothing else.
    pub freeze: bool,
}

impl CopyOptions {
    /// The options of a statement; errors as PostgreSQL reports them.
    pub fn of(copy: &CopyStatement) -> Result<Self, EngineError> {
        let mut given = GivenOptions::default();
        for (name, value) in &copy.options {
            given.take(name, value)?;
        }
        given.resolve(copy.direction)
    }

    /// Whether records are written as CSV; otherwise they are in PostgreSQL's text format.
    pub fn is_csv(&self) -> bool {
        self.format == CopyFormat::Csv
    }

    fn check(&self) -> Result<(), EngineError> {
        let fail = |message: &str| Err(EngineError::new(SqlState::InvalidParameterValue, message));
        if matches!(self.delimiter, b'\n' | b'\r') {
            return fail("COPY delimiter cannot be newline or carriage return");
        }
        if self.null.contains(['\n', '\r']) {
            return fail("COPY null representation cannot use newline or carriage return");
        }
        if self.is_csv() && self.delimiter == self.quote {
            return fail("COPY delimiter and quote must be different");
        }
        if self.format == CopyFormat::Text
            && (self.delimiter.is_ascii_lowercase()
                || self.delimiter.is_ascii_digit()
                || b"\\.".contains(&self.delimiter))
        {
            return fail("COPY delimiter cannot be a lower-case letter, a digit, a dot or a backslash");
        }
        if self.null.as_bytes().contains(&self.delimiter) && self.format != CopyFormat::Parquet {
            return fail("COPY delimiter must not appear in the NULL specification");
        }
        if self.is_csv() && self.null.as_bytes().contains(&self.quote) {
            return fail("CSV quote character must not appear in the NULL specification");
        }
        Ok(())
    }
}

#[derive(Default)]
struct GivenOptions {
    format: Option<CopyFormat>,
    delimiter: Option<u8>,
    null: Option<String>,
    header: Option<Header>,
    quote: Option<u8>,
    escape: Option<u8>,
    force_quote: Option<Option<Vec<String>>>,
    freeze: Option<bool>,
}

impl GivenOptions {
    fn take(&mut self, name: &str, value: &OptionValue) -> Result<(), EngineError> {
        match name {
            "format" => set_once(&mut self.format, name, format_of(value)?),
            "delimiter" => set_once(&mut self.delimiter, name, one_byte(name, value)?),
            "null" => set_once(&mut self.null, name, text(name, value)?.to_owned()),
            "header" => set_once(&mut self.header, name, header_of(value)?),
            "quote" => set_once(&mut self.quote, name, one_byte(name, value)?),
            "escape" => set_once(&mut self.escape, name, one_byte(name, value)?),
            "force_quote" => set_once(&mut self.force_quote, name, columns_of(name, value)?),
            "encoding" if is_utf8(text(name, value)?) => Ok(()),
            "encoding" => {
                Err(EngineError::unsupported(format!("COPY reads and writes only UTF-8, not {}", text(name, value)?)))
            }
            "freeze" => set_once(&mut self.freeze, name, boolean_of(name, value)?),
            "force_not_null" | "force_null" => {
                Err(EngineError::unsupported(format!("COPY option {} is not supported", name.to_uppercase())))
            }
            _ => Err(EngineError::new(SqlState::SyntaxError, format!("option \"{name}\" not recognized"))),
        }
    }

    fn resolve(self, direction: CopyDirection) -> Result<CopyOptions, EngineError> {
        if self.header == Some(Header::Match) && direction == CopyDirection::To {
            return Err(EngineError::unsupported("cannot use \"match\" with HEADER in COPY TO"));
        }
        let format = self.format.unwrap_or(CopyFormat::Text);
        let needs_csv = |given: bool, what: &str| {
            if given && format != CopyFormat::Csv {
                return Err(EngineError::unsupported(format!("COPY {what} available only in CSV mode")));
            }
            Ok(())
        };
        if format == CopyFormat::Binary {
            let cannot =
                |state, what: &str| Err(EngineError::new(state, format!("cannot specify {what} in BINARY mode")));
            match (&self.delimiter, &self.null, &self.header) {
                (Some(_), _, _) => return cannot(SqlState::SyntaxError, "DELIMITER"),
                (_, Some(_), _) => return cannot(SqlState::SyntaxError, "NULL"),
                (_, _, Some(Header::Present | Header::Match)) => {
                    return cannot(SqlState::FeatureNotSupported, "HEADER");
                }
                _ => {}
            }
        }
        needs_csv(self.quote.is_some(), "quote")?;
        needs_csv(self.escape.is_some(), "escape")?;
        needs_csv(self.force_quote.is_some(), "force quote")?;
        if format == CopyFormat::Parquet {
            let others = self.delimiter.is_some() || self.null.is_some() || self.header.is_some();
            if others {
                return Err(EngineError::new(
                    SqlState::SyntaxError,
                    "COPY FORMAT parquet does not accept DELIMITER, NULL or HEADER",
                ));
            }
            if direction == CopyDirection::To {
                return Err(EngineError::unsupported("COPY TO writes only FORMAT text, csv and binary"));
            }
        }
        if self.force_quote.is_some() && direction == CopyDirection::From {
            return Err(EngineError::unsupported("COPY force quote only available using COPY TO"));
        }
        if self.freeze == Some(true) && direction == CopyDirection::To {
            return Err(EngineError::unsupported("COPY freeze only available using COPY FROM"));
        }
        let csv = format == CopyFormat::Csv;
        let quote = self.quote.unwrap_or(b'"');
        let options = CopyOptions {
            format,
            delimiter: self.delimiter.unwrap_or(if csv { b',' } else { b'\t' }),
            null: self.null.unwrap_or_else(|| if csv { String::new() } else { "\\N".to_owned() }),
            header: self.header.unwrap_or(Header::None),
            quote,
            escape: self.escape.unwrap_or(quote),
            force_quote: self.force_quote.unwrap_or(Some(Vec::new())),
            freeze: self.freeze.unwrap_or(false),
        };
        options.check()?;
        Ok(options)
    }
}

fn set_once<T>(slot: &mut Option<T>, name: &str, value: T) -> Result<(), EngineError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => {
            let message = format!("conflicting or redundant options: {name} is given twice");
            Err(EngineError::new(SqlState::SyntaxError, message))
        }
    }
}

fn text<'a>(name: &str, value: &'a OptionValue) -> Result<&'a str, EngineError> {
    match value {
        OptionValue::Text(text) | OptionValue::Word(text) => Ok(text),
        _ => Err(EngineError::new(SqlState::SyntaxError, format!("COPY option {name} requires a string"))),
    }
}

fn one_byte(name: &str, value: &OptionValue) -> Result<u8, EngineError> {
    match text(name, value)?.as_bytes() {
        [byte] => Ok(*byte),
        _ => {
            let message = format!("COPY {name} must be a single one-byte character");
            Err(EngineError::new(SqlState::FeatureNotSupported, message))
        }
    }
}

fn format_of(value: &OptionValue) -> Result<CopyFormat, EngineError> {
    match text("format", value)? {
        "text" => Ok(CopyFormat::Text),
        "csv" => Ok(CopyFormat::Csv),
        "parquet" => Ok(CopyFormat::Parquet),
        "binary" => Ok(CopyFormat::Binary),
        other => {
            let message = format!("COPY format \"{other}\" not recognized");
            Err(EngineError::new(SqlState::InvalidParameterValue, message))
        }
    }
}

fn boolean_of(name: &str, value: &OptionValue) -> Result<bool, EngineError> {
    let word = match value {
        OptionValue::Absent => return Ok(true),
        OptionValue::Word(word) | OptionValue::Text(word) => word.to_ascii_lowercase(),
        OptionValue::Columns(_) => String::new(),
    };
    match word.as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(EngineError::new(SqlState::SyntaxError, format!("{name} requires a Boolean value"))),
    }
}

fn header_of(value: &OptionValue) -> Result<Header, EngineError> {
    match value {
        OptionValue::Absent => Ok(Header::Present),
        OptionValue::Word(word) | OptionValue::Text(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => Ok(Header::Present),
            "false" | "off" | "0" => Ok(Header::None),
            "match" => Ok(Header::Match),
            _ => Err(EngineError::new(SqlState::SyntaxError, "header requires a Boolean value or \"match\"")),
        },
        OptionValue::Columns(_) => {
            Err(EngineError::new(SqlState::SyntaxError, "header requires a Boolean value or \"match\""))
        }
    }
}

fn columns_of(name: &str, value: &OptionValue) -> Result<Option<Vec<String>>, EngineError> {
    match value {
        OptionValue::Columns(columns) if columns.iter().any(|column| column == "*") => Ok(None),
        OptionValue::Columns(columns) => Ok(Some(columns.clone())),
        _ => Err(EngineError::new(
            SqlState::InvalidParameterValue,
            format!("argument to option \"{name}\" must be a list of column names"),
        )),
    }
}

fn is_utf8(encoding: &str) -> bool {
    matches!(encoding.to_ascii_lowercase().as_str(), "utf8" | "utf-8" | "unicode" | "sql_ascii")
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::keywords::Keyword;
    use sqlparser::parser::Parser;
    use sqlparser::tokenizer::Token;

    use super::super::copy_statement::{CopyPlace, CopySubject};
    use super::*;

    fn parse(sql: &str) -> CopyStatement {
        let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap();
        parser.expect_keyword(Keyword::COPY).unwrap();
        let statement = CopyStatement::parse(&mut parser).unwrap();
        assert_eq!(parser.peek_token().token, Token::EOF, "{sql}");
        statement
    }

    #[test]
    fn both_spellings_mean_the_same() {
        let new = parse("COPY t (a, \"B\") FROM STDIN WITH (FORMAT csv, HEADER, DELIMITER ';', NULL 'x', QUOTE '''')");
        let old = parse("copy t (a, \"B\") from stdin with csv header delimiter as ';' null as 'x' quote ''''");
        assert_eq!(CopyOptions::of(&new).unwrap(), CopyOptions::of(&old).unwrap());
        let options = CopyOptions::of(&new).unwrap();
        assert_eq!((options.format, options.delimiter, options.header), (CopyFormat::Csv, b';', Header::Present));
        assert_eq!((options.null.as_str(), options.quote, options.escape), ("x", b'\'', b'\''));
        assert!(matches!(&new.subject, CopySubject::Table { columns, .. } if columns.len() == 2));
    }

    #[test]
    fn defaults_follow_the_format() {
        let text = CopyOptions::of(&parse("COPY t FROM 'f'")).unwrap();
        assert_eq!((text.format, text.delimiter, text.null.as_str()), (CopyFormat::Text, b'\t', "\\N"));
        let csv = CopyOptions::of(&parse("COPY (select 1) TO STDOUT (FORMAT csv, FORCE_QUOTE *)")).unwrap();
        assert_eq!((csv.delimiter, csv.null.as_str(), csv.force_quote), (b',', "", None));
        assert_eq!(parse("COPY t FROM 'f.parquet' (FORMAT parquet)").place, CopyPlace::File("f.parquet".to_owned()));
        assert_eq!(parse("COPY t FROM PROGRAM 'cat'").place, CopyPlace::Program);
    }

    #[test]
    fn options_that_do_not_fit_are_refused() {
        for (options, sqlstate) in [
            ("(FORMAT xml)", "22023"),
            ("(FORMAT binary, DELIMITER ',')", "42601"),
            ("(FORMAT binary, NULL 'x')", "42601"),
            ("(FORMAT binary, HEADER)", "0A000"),
            ("(FORMAT binary, QUOTE 'x')", "0A000"),
            ("(QUOTE 'x')", "0A000"),
            ("(FORMAT csv, DELIMITER '\"')", "22023"),
            ("(FORMAT csv, DELIMITER ',,')", "0A000"),
            ("(FORMAT csv, FORMAT csv)", "42601"),
            ("(FORMAT csv, COLOUR 'red')", "42601"),
            ("(FORMAT csv, HEADER maybe)", "42601"),
            ("(FORMAT csv, NULL ',')", "22023"),
            ("(DELIMITER 'a')", "22023"),
            ("(FORMAT csv, FREEZE maybe)", "42601"),
            ("(FORMAT csv, FORCE_NULL (a))", "0A000"),
            ("(FORMAT csv, ENCODING 'LATIN1')", "0A000"),
            ("(FORMAT parquet, HEADER)", "42601"),
        ] {
            let error = CopyOptions::of(&parse(&format!("COPY t FROM STDIN {options}"))).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate, "{options}: {error:?}");
        }
    }
}
