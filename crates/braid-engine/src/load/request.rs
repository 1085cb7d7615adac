//! What a load of files is asked for, and the files that its patterns name.

use std::path::Path;

use sqlparser::parser::Parser;

use crate::statement::SqlDialect;
use crate::{EngineError, SqlState};

/// The name that means standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// What messages call a file.
pub(super) fn shown_name(name: &str) -> &str {
    if name == STANDARD_INPUT { "standard input" } else { name }
}

/// A load of files into one table.
#[derive(Clone, Debug, Default)]
pub struct LoadRequest {
    /// Files, patterns of files (`*`, `?`, `[…]`), or `-` for standard input.
    pub files: Vec<String>,
    /// The table, as in a statement: folded to lower case unless quoted, perhaps with its schema.
    pub table: String,
    /// Whether the table is to exist; otherwise it is created.
    pub append: bool,
    /// What divides the fields of a line; `None` to find out.
    pub delimiter: Option<char>,
    /// Whether the first line has the columns' names; `None` to find out.
    pub header: Option<bool>,
    /// Types of columns, by name.
    pub types: Vec<(String, String)>,
    /// Texts of nulls besides the empty field.
    pub nulls: Vec<String>,
}

impl LoadRequest {
    /// Adds types of columns, written `a=int,b=numeric(10,2)`.
    ///
    /// # Errors
    /// For what is written otherwise, and for what is no type (42601).
    pub fn add_types(&mut self, list: &str) -> Result<(), EngineError> {
        for part in split_outside_parentheses(list) {
            let Some((name, written)) = part.split_once('=') else {
                let message = format!("\"{part}\" is no type of a column: write --types COLUMN=TYPE,COLUMN=TYPE");
                return Err(EngineError::new(SqlState::InvalidParameterValue, message));
            };
            let (name, written) = (name.trim(), written.trim());
            check_type(name, written)?;
            self.types.push((name.to_owned(), written.to_owned()));
        }
        Ok(())
    }

    /// The type asked for a column.
    pub(super) fn type_of(&self, column: &str) -> Option<&str> {
        let given = self.types.iter().rev().find(|(name, _)| name == column || name.to_lowercase() == column);
        given.map(|(_, written)| written.as_str())
    }

    /// The delimiter as a byte.
    pub(super) fn delimiter_byte(&self) -> Result<Option<u8>, EngineError> {
        let byte = self.delimiter.map(|delimiter| {
            u8::try_from(delimiter).ok().filter(|byte| byte.is_ascii() && !b"\"\r\n".contains(byte)).ok_or_else(|| {
                let message =
                    format!("delimiter \"{delimiter}\" is not supported: it is one ASCII character and no quote");
                EngineError::new(SqlState::InvalidParameterValue, message)
            })
        });
        byte.transpose()
    }

    /// The files in the order of their loading: those of a pattern by name.
    pub(super) fn file_names(&self) -> Result<Vec<String>, EngineError> {
        let mut names = Vec::new();
        for file in &self.files {
            if file == STANDARD_INPUT || !file.contains(['*', '?', '[']) || Path::new(file).exists() {
                names.push(file.clone());
            } else {
                names.extend(matching(file)?);
            }
        }
        if names.iter().filter(|name| *name == STANDARD_INPUT).count() > 1 {
            let message = "standard input (\"-\") can be loaded once only";
            return Err(EngineError::new(SqlState::InvalidParameterValue, message));
        }
        match names.is_empty() {
            true => Err(EngineError::new(SqlState::InvalidParameterValue, "no file to load is named")),
            false => Ok(names),
        }
    }
}

/// The files that a pattern names.
fn matching(pattern: &str) -> Result<Vec<String>, EngineError> {
    let paths = glob::glob(pattern).map_err(|error| {
        EngineError::new(
            SqlState::InvalidParameterValue,
            format!("pattern \"{pattern}\" of files is malformed: {error}"),
        )
    })?;
    let mut names = Vec::new();
    for path in paths {
        let path =
            path.map_err(|error| EngineError::new(SqlState::IoError, format!("pattern \"{pattern}\": {error}")))?;
        if !path.is_dir() {
            names.push(path.display().to_string());
        }
    }
    if names.is_empty() {
        return Err(EngineError::new(SqlState::UndefinedFile, format!("no file matches the pattern \"{pattern}\"")));
    }
    Ok(names)
}

fn check_type(column: &str, written: &str) -> Result<(), EngineError> {
    let parsed = Parser::new(&SqlDialect::for_text(written)).try_with_sql(written).and_then(|mut parser| {
        parser.parse_data_type()?;
        parser.expect_token(&sqlparser::tokenizer::Token::EOF)
    });
    parsed.map(drop).map_err(|_| {
        let message = format!("\"{written}\" is no type, in --types {column}={written}");
        EngineError::new(SqlState::SyntaxError, message)
    })
}

fn split_outside_parentheses(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_listed_with_commas_outside_of_parentheses() {
        let mut request = LoadRequest::default();
        request.add_types("a=int, B = numeric(10,2)").unwrap();
        request.add_types("c=timestamp with time zone").unwrap();
        assert_eq!(request.type_of("a"), Some("int"));
        assert_eq!(request.type_of("b"), Some("numeric(10,2)"));
        assert_eq!(request.type_of("c"), Some("timestamp with time zone"));
        assert_eq!(request.type_of("d"), None);
        for (list, state) in
            [("a", "22023"), ("a=int; drop table t", "42601"), ("a=int not null", "42601"), ("a=", "42601")]
        {
            assert_eq!(request.add_types(list).unwrap_err().sqlstate(), state, "{list}");
        }
    }

    #[test]
    fn patterns_name_files_in_order() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv", "c.txt"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let path = |name: &str| directory.path().join(name).display().to_string();
        let names = |files: &[&str]| {
            let files = files.iter().map(|file| if *file == "-" { (*file).to_owned() } else { path(file) }).collect();
            LoadRequest { files, ..LoadRequest::default() }.file_names()
        };
        assert_eq!(names(&["c.txt", "*.csv"]).unwrap(), ["c.txt", "a.csv", "b.csv"].map(path));
        assert_eq!(names(&["missing.csv", "-"]).unwrap(), [path("missing.csv"), "-".to_owned()]);
        assert_eq!(names(&["*.json"]).unwrap_err().sqlstate(), "58P01");
        assert_eq!(names(&["-", "-"]).unwrap_err().sqlstate(), "22023");
        assert_eq!(names(&[]).unwrap_err().sqlstate(), "22023");
    }
}
