//! The prepared statements of a session, by name. Those of PREPARE and those that its client names through the protocol share one name
//! space, as in PostgreSQL. They belong to no transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;

use crate::clock::read_clock_us;
use crate::{EngineError, ParameterType, SqlState, Statement, ToldColumns};

/// Prepared statements that a session may hold at a time: a bound against a client that never closes any.
const STATEMENTS_MAX: usize = 10_000;

/// How a statement was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparedBy {
    /// By PREPARE.
    Statement,
    /// By a message of the client.
    Protocol,
}

/// What the client of a prepared statement was told.
#[derive(Clone, Debug)]
pub struct Description {
    /// The types of its parameters.
    pub parameter_types: Vec<ParameterType>,
    /// The columns of its rows; `None` if it returns no rows.
    pub columns: Option<Arc<ToldColumns>>,
}

/// A statement that was prepared under a name.
#[derive(Debug)]
pub struct NamedStatement {
    text: String,
    statement: Option<Statement>,
    parameter_types: Vec<ParameterType>,
    columns: Option<Arc<ToldColumns>>,
    prepared_us: i64,
    prepared_by: PreparedBy,
    execution_count: AtomicI64,
}

impl NamedStatement {
    /// A statement with its description, prepared now. `text` is what the client has sent; `statement` is `None` for what the engine does
    /// not execute.
    pub fn new(text: &str, statement: Option<Statement>, described: Description, prepared_by: PreparedBy) -> Self {
        let Description { parameter_types, columns } = described;
        let (text, prepared_us, execution_count) = (text.to_owned(), read_clock_us(), AtomicI64::new(0));
        Self { text, statement, parameter_types, columns, prepared_us, prepared_by, execution_count }
    }

    /// What was sent to prepare it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What it executes; `None` if the engine does not execute it.
    pub fn statement(&self) -> Option<&Statement> {
        self.statement.as_ref()
    }

    /// The types of its parameters.
    pub fn parameter_types(&self) -> &[ParameterType] {
        &self.parameter_types
    }

    /// The columns of its rows; `None` if it returns no rows.
    pub fn columns(&self) -> Option<&Arc<ToldColumns>> {
        self.columns.as_ref()
    }

    /// When it was prepared, in microseconds since 1970-01-01 UTC.
    pub(crate) fn prepared_us(&self) -> i64 {
        self.prepared_us
    }

    /// How it was prepared.
    pub(crate) fn prepared_by(&self) -> PreparedBy {
        self.prepared_by
    }

    /// Notes that it is executed.
    pub fn count_execution(&self) {
        self.execution_count.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it was executed.
    pub(crate) fn execution_count(&self) -> i64 {
        self.execution_count.load(Ordering::Relaxed)
    }
}

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub(crate) struct NamedStatements {
    by_name: Mutex<BTreeMap<String, Arc<NamedStatement>>>,
}

impl NamedStatements {
    /// Enters a statement.
    ///
    /// # Errors
    /// 42P05 if there is one of this name, and 54000 if there are too many.
    pub fn keep(&self, name: &str, statement: NamedStatement) -> Result<Arc<NamedStatement>, EngineError> {
        let mut by_name = self.by_name.lock();
        if by_name.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(EngineError::new(SqlState::DuplicatePreparedStatement, message));
        }
        if by_name.len() >= STATEMENTS_MAX {
            let message = format!("too many prepared statements in one session (at most {STATEMENTS_MAX})");
            return Err(EngineError::new(SqlState::ProgramLimitExceeded, message));
        }
        let statement = Arc::new(statement);
        by_name.insert(name.to_owned(), statement.clone());
        Ok(statement)
    }

    /// The statement of this name.
    ///
    /// # Errors
    /// 26000 if there is none.
    pub fn find(&self, name: &str) -> Result<Arc<NamedStatement>, EngineError> {
        self.by_name.lock().get(name).cloned().ok_or_else(|| unknown(name))
    }

    /// Removes the statement of this name.
    ///
    /// # Errors
    /// 26000 if there is none.
    pub fn remove(&self, name: &str) -> Result<(), EngineError> {
        self.by_name.lock().remove(name).map(drop).ok_or_else(|| unknown(name))
    }

    /// Removes all.
    pub fn clear(&self) {
        self.by_name.lock().clear();
    }

    /// All, by name.
    pub fn all(&self) -> Vec<(String, Arc<NamedStatement>)> {
        self.by_name.lock().iter().map(|(name, statement)| (name.clone(), statement.clone())).collect()
    }
}

fn unknown(name: &str) -> EngineError {
    let message = format!("prepared statement \"{name}\" does not exist");
    EngineError::new(SqlState::InvalidStatementName, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> NamedStatement {
        let described = Description { parameter_types: Vec::new(), columns: None };
        NamedStatement::new("select 1", None, described, PreparedBy::Protocol)
    }

    #[test]
    fn a_name_is_of_one_statement() {
        let statements = NamedStatements::default();
        statements.keep("a", statement()).unwrap();
        assert_eq!(statements.keep("a", statement()).unwrap_err().sqlstate(), "42P05");
        assert!(statements.find("a").is_ok());
        statements.remove("a").unwrap();
        assert_eq!(statements.remove("a").unwrap_err().sqlstate(), "26000");
        assert_eq!(statements.find("a").unwrap_err().sqlstate(), "26000");
    }

    #[test]
    fn a_session_has_a_bounded_number_of_statements() {
        let statements = NamedStatements::default();
        (0..STATEMENTS_MAX).for_each(|n| drop(statements.keep(&n.to_string(), statement()).unwrap()));
        assert_eq!(statements.keep("more", statement()).unwrap_err().sqlstate(), "54000");
        statements.clear();
        assert!(statements.all().is_empty());
    }
}
