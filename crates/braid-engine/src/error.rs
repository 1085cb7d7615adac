//! The error type of the engine: a SQLSTATE for programs, and sentences for people.
//!
//! Like PostgreSQL's `ereport`: a primary message, and optionally a detail, a hint and a position in the statement.
//! It is a report and not an enum of causes, because its readers are a wire protocol and a terminal. Programs branch on
//! [`SqlState`]. `error_mapping` converts the errors of lower crates.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use braid_base::SchemaId;
use braid_sql::{SqlError, ViolatedDomain};

use crate::SqlState;

/// What an error is about, for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorObject {
    /// The schema of the table.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The domain.
    pub data_type: Option<String>,
    /// The constraint.
    pub constraint: Option<String>,
}

/// A failed statement, as PostgreSQL would report it. Cheap to clone and to carry in a `Result`.
#[derive(Clone)]
pub struct EngineError(Box<Report>);

#[derive(Clone)]
struct Report {
    state: SqlState,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    /// The position of a failed load: file, line, column. PostgreSQL's CONTEXT.
    context: Option<String>,
    /// In characters, from 1.
    position: Option<usize>,
    object: ErrorObject,
    /// The schema of the object, whose name is put in where the error leaves the session.
    schema: Option<SchemaId>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl EngineError {
    /// An error with its primary message: one sentence, lower case, no full stop, as PostgreSQL writes them.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        Self(Box::new(Report {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            position: None,
            object: ErrorObject::default(),
            schema: None,
            source: None,
        }))
    }

    /// An error for an unsupported feature, in a sentence.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(SqlState::FeatureNotSupported, message)
    }

    /// An error for a bug of Braid.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(SqlState::InternalError, message)
    }

    /// The statement was cancelled by its client.
    pub fn cancelled() -> Self {
        Self::new(SqlState::QueryCanceled, "canceling statement due to user request")
    }

    /// Adds a detail: a second sentence.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// The same without a detail.
    #[must_use]
    pub(crate) fn without_detail(mut self) -> Self {
        self.0.detail = None;
        self
    }

    /// Adds a hint: what the user can do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the position in the input.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.0.context = Some(context.into());
        self
    }

    /// Adds the position in the statement, in characters from 1.
    #[must_use]
    pub fn with_position(mut self, position: usize) -> Self {
        self.0.position = Some(position);
        self
    }

    /// Says that it is about a column of a table.
    #[must_use]
    pub(crate) fn about_column(mut self, schema: SchemaId, table: &str, column: &str) -> Self {
        let (table, column) = (Some(table.to_owned()), Some(column.to_owned()));
        self.0.object = ErrorObject { table, column, ..ErrorObject::default() };
        self.0.schema = Some(schema);
        self
    }

    /// Says that it is about a constraint of a table.
    #[must_use]
    pub(crate) fn about_constraint(mut self, schema: SchemaId, table: &str, constraint: &str) -> Self {
        let (table, constraint) = (Some(table.to_owned()), Some(constraint.to_owned()));
        self.0.object = ErrorObject { table, constraint, ..ErrorObject::default() };
        self.0.schema = Some(schema);
        self
    }

    /// Says that it is about a table.
    #[must_use]
    pub(crate) fn about_table(mut self, schema: SchemaId, table: &str) -> Self {
        self.0.object = ErrorObject { table: Some(table.to_owned()), ..ErrorObject::default() };
        self.0.schema = Some(schema);
        self
    }

    /// Puts the name of the schema in that the object is in.
    #[must_use]
    pub(crate) fn with_schema_name(mut self, name_of: impl FnOnce(SchemaId) -> Option<String>) -> Self {
        if let Some(schema) = self.0.schema.take() {
            self.0.object.schema = name_of(schema);
        }
        self
    }

    /// The same of a part of a statement that was parsed by itself.
    #[must_use]
    pub(crate) fn without_position(mut self) -> Self {
        self.0.position = None;
        self
    }

    /// The same of a statement that stands within another one: its places are none of the client's text.
    #[must_use]
    pub(crate) fn within(mut self, statement: &str) -> Self {
        self = self.without_position();
        self.0.context.get_or_insert_with(|| format!("SQL statement \"{statement}\""));
        self
    }

    /// The same about a text in which so many characters come first.
    #[must_use]
    pub(crate) fn moved_by(mut self, characters: usize) -> Self {
        self.0.position = self.0.position.map(|position| position + characters);
        self
    }

    /// The same with another message.
    #[must_use]
    pub(crate) fn reworded(mut self, reword: impl FnOnce(&str) -> String) -> Self {
        self.0.message = reword(&self.0.message);
        self
    }

    /// Adds the underlying error, for the log.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The SQLSTATE's five characters.
    pub fn sqlstate(&self) -> &'static str {
        self.0.state.code()
    }

    /// The SQLSTATE.
    pub fn state(&self) -> SqlState {
        self.0.state
    }

    /// The primary message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The detail, if any.
    pub fn detail(&self) -> Option<String> {
        self.0.detail.clone()
    }

    /// What it is about.
    pub fn object(&self) -> &ErrorObject {
        &self.0.object
    }

    /// The schema of what it is about, as long as its name is not put in.
    pub(crate) fn schema(&self) -> Option<SchemaId> {
        self.0.schema
    }

    /// The hint, if any.
    pub fn hint(&self) -> Option<String> {
        self.0.hint.clone()
    }

    /// The position in the input, if known: `COPY t, file x.csv, line 3, column a: "x"`.
    pub fn context(&self) -> Option<String> {
        self.0.context.clone()
    }

    /// The position in the statement's text in characters from 1, if known.
    pub fn position(&self) -> Option<usize> {
        self.0.position
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { state, message, detail, hint, context, position, object: _, schema: _, source } = &*self.0;
        write!(f, "{state}: {message}")?;
        for (label, text) in [("detail", detail), ("hint", hint), ("context", context)] {
            if let Some(text) = text {
                write!(f, "; {label}: {text}")?;
            }
        }
        if let Some(position) = position {
            write!(f, "; position {position}")?;
        }
        match source {
            Some(source) => write!(f, "; source: {source}"),
            None => Ok(()),
        }
    }
}

impl From<SqlError> for EngineError {
    fn from(error: SqlError) -> Self {
        let mut report = Self::new(error.state(), error.message());
        report.0.detail = error.detail().map(str::to_owned);
        report.0.hint = error.hint().map(str::to_owned);
        report.0.context = error.context().map(str::to_owned);
        report.0.position = error.position();
        if let Some(ViolatedDomain { domain, constraint }) = error.violated_domain() {
            let definition = domain.definition();
            let (data_type, constraint) = (Some(definition.name.clone()), constraint.clone());
            report.0.object = ErrorObject { data_type, constraint, ..ErrorObject::default() };
            report.0.schema = Some(definition.schema);
        }
        report
    }
}

impl Error for EngineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_keeps_what_it_was_given() {
        let error = EngineError::new(SqlState::UndefinedTable, "relation \"t\" does not exist")
            .with_detail("d")
            .with_hint("h")
            .with_context("c")
            .with_position(15);
        assert_eq!(error.sqlstate(), "42P01");
        assert_eq!(error.to_string(), "relation \"t\" does not exist");
        assert_eq!((error.detail(), error.hint(), error.position()), (Some("d".into()), Some("h".into()), Some(15)));
        assert_eq!(
            format!("{error:?}"),
            "42P01: relation \"t\" does not exist; detail: d; hint: h; context: c; position 15"
        );
    }
}
