//! The options of COPY: what each may be, its default, and which do not go together.

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
    /// Further texts of a null in data that is read, of which a statement has none.
    pub other_nulls: Vec<String>,
    /// HEADER.
    pub header: Header,
    /// QUOTE: one byte.
    pub quote: u8,
    /// ESCAPE: one byte.
    pub escape: u8,
    /// FORCE_QUOTE: `None` for `*`.
    pub force_quote: Option<Vec<String>>,
    /// FORCE_NOT_NULL: the columns in which the text of a null is a text.
    pub force_not_null: Vec<String>,
    /// FORCE_NULL: the columns in which the text of a null is a null also in quotes.
    pub force_null: Vec<String>,
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

    /// What a statement without options has in a format.
    pub fn defaults(format: CopyFormat) -> Self {
        let csv = format == CopyFormat::Csv;
        Self {
            format,
            delimiter: if csv { b',' } else { b'\t' },
            null: if csv { String::new() } else { "\\N".to_owned() },
            other_nulls: Vec::new(),
            header: Header::None,
            quote: b'"',
            escape: b'"',
            force_quote: Some(Vec::new()),
            force_not_null: Vec::new(),
            force_null: Vec::new(),
            freeze: false,
        }
    }

    /// Whether the text of a field is that of a null.
    pub fn is_null(&self, text: &[u8]) -> bool {
        text == self.null.as_bytes() || self.other_nulls.iter().any(|null| text == null.as_bytes())
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
            return Err(EngineError::unsupported("COPY delimiter must not appear in the NULL specification"));
        }
        if self.is_csv() && self.null.as_bytes().contains(&self.quote) {
            return Err(EngineError::unsupported("CSV quote character must not appear in the NULL specification"));
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
    force_not_null: Option<Vec<String>>,
    force_null: Option<Vec<String>>,
    freeze: Option<bool>,
    encoding: Option<()>,
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
            "encoding" => set_once(&mut self.encoding, name, utf8_of(value)?),
            "freeze" => set_once(&mut self.freeze, name, boolean_of(name, value)?),
            "force_not_null" => set_once(&mut self.force_not_null, name, listed_columns_of(name, value)?),
            "force_null" => set_once(&mut self.force_null, name, listed_columns_of(name, value)?),
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
        needs_csv(self.force_not_null.is_some(), "force not null")?;
        needs_csv(self.force_null.is_some(), "force null")?;
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
        for (given, what) in
            [(self.force_not_null.is_some(), "force not null"), (self.force_null.is_some(), "force null")]
        {
            if given && direction == CopyDirection::To {
                return Err(EngineError::unsupported(format!("COPY {what} only available using COPY FROM")));
            }
        }
        if self.freeze == Some(true) && direction == CopyDirection::To {
            return Err(EngineError::unsupported("COPY freeze only available using COPY FROM"));
        }
        let defaults = CopyOptions::defaults(format);
        let quote = self.quote.unwrap_or(defaults.quote);
        let options = CopyOptions {
            delimiter: self.delimiter.unwrap_or(defaults.delimiter),
            null: self.null.unwrap_or(defaults.null),
            header: self.header.unwrap_or(defaults.header),
            quote,
            escape: self.escape.unwrap_or(quote),
            force_quote: self.force_quote.unwrap_or(defaults.force_quote),
            force_not_null: self.force_not_null.unwrap_or_default(),
            force_null: self.force_null.unwrap_or_default(),
            freeze: self.freeze.unwrap_or(false),
            ..CopyOptions::defaults(format)
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
        _ => Err(not_columns(name)),
    }
}

/// Columns of an option that takes no `*`.
fn listed_columns_of(name: &str, value: &OptionValue) -> Result<Vec<String>, EngineError> {
    columns_of(name, value)?.ok_or_else(|| not_columns(name))
}

fn not_columns(name: &str) -> EngineError {
    let message = format!("argument to option \"{name}\" must be a list of column names");
    EngineError::new(SqlState::InvalidParameterValue, message)
}

/// The encodings that PostgreSQL knows besides UTF8 and SQL_ASCII, without their signs.
const OTHER_ENCODINGS: &str = "abc alt big5 euccn eucjis2004 eucjp euckr euctw gb18030 gbk iso88591 iso885910 iso885913 iso885914 iso885915 \
    iso885916 iso88592 iso88593 iso88594 iso88595 iso88596 iso88597 iso88598 iso88599 johab koi8 koi8r koi8u latin1 \
    latin10 latin2 latin3 latin4 latin5 latin6 latin7 latin8 latin9 mskanji muleinternal shiftjis shiftjis2004 sjis \
    tcvn tcvn5712 uhc vscii win win1250 win1251 win1252 win1253 win1254 win1255 win1256 win1257 win1258 win866 \
    win874 win932 win936 win949 win950 windows1250 windows1251 windows1252 windows1253 windows1254 windows1255 \
    windows1256 windows1257 windows1258 windows866 windows874 windows932 windows936 windows949 windows950";

/// Checks that an encoding is that of the data, UTF-8.
fn utf8_of(value: &OptionValue) -> Result<(), EngineError> {
    let unknown = || {
        let message = "argument to option \"encoding\" must be a valid encoding name";
        EngineError::new(SqlState::InvalidParameterValue, message)
    };
    let (OptionValue::Text(written) | OptionValue::Word(written)) = value else { return Err(unknown()) };
    let name: String = written.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    match name.as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(()),
        other if OTHER_ENCODINGS.split(' ').any(|known| known == other) => Err(EngineError::unsupported(format!(
            "COPY reads and writes only UTF-8, not {written}"
        ))
        .with_hint("Convert the data on the way: iconv -f ENCODING -t UTF-8 FILE | psql -c \"\\copy t from stdin\".")),
        _ => Err(unknown()),
    }
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
        let new = parse("COPY t FROM STDIN (FORMAT csv, FORCE_NULL (a, \"B\"), FORCE_NOT_NULL (c), FREEZE)");
        let old = parse("COPY t FROM STDIN CSV FORCE NULL a, \"B\" FORCE NOT NULL c FREEZE");
        assert_eq!(CopyOptions::of(&new).unwrap(), CopyOptions::of(&old).unwrap());
        assert_eq!(CopyOptions::of(&new).unwrap().force_null, ["a", "B"]);
        for (new, old) in [
            ("(FORMAT csv, FORCE_QUOTE (a))", "csv force quote a"),
            ("(FORMAT csv, FORCE_QUOTE *)", "csv force quote *"),
        ] {
            let options = |options: &str| CopyOptions::of(&parse(&format!("copy t to stdout {options}"))).unwrap();
            assert_eq!(options(new), options(old));
        }
        let new = parse("COPY t (a, \"B\") FROM STDIN (FORMAT csv)");
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
            ("(FORMAT csv, NULL ',')", "0A000"),
            ("(FORMAT csv, NULL '\"')", "0A000"),
            ("(DELIMITER 'a')", "22023"),
            ("(FORMAT csv, FREEZE maybe)", "42601"),
            ("(FORCE_NULL (a))", "0A000"),
            ("(FORMAT text, FORCE_NOT_NULL (a))", "0A000"),
            ("(FORMAT binary, FORCE_NULL (a))", "0A000"),
            ("(FORMAT csv, FORCE_QUOTE (a))", "0A000"),
            ("(FORMAT csv, FORCE_NULL *)", "22023"),
            ("(FORMAT csv, FORCE_NOT_NULL *)", "22023"),
            ("(FORMAT csv, FORCE_NULL a)", "22023"),
            ("(FORMAT csv, FORCE_NULL)", "22023"),
            ("(FORMAT csv, FORCE_NULL (a), FORCE_NULL (b))", "42601"),
            ("(FORMAT csv, ENCODING 'LATIN1')", "0A000"),
            ("(FORMAT csv, ENCODING 'iso-8859-15')", "0A000"),
            ("(FORMAT csv, ENCODING 'foo')", "22023"),
            ("(FORMAT csv, ENCODING 5)", "22023"),
            ("(FORMAT csv, ENCODING 'UTF-8', ENCODING 'utf8')", "42601"),
            ("(FORMAT parquet, HEADER)", "42601"),
        ] {
            let error = CopyOptions::of(&parse(&format!("COPY t FROM STDIN {options}"))).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate, "{options}: {error:?}");
        }
    }
}
