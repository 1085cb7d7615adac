//! Why a path finds nothing: errors that the standard lets a caller suppress, and others.

use crate::{SqlError, SqlState};

/// An error of a path.
#[derive(Debug)]
pub enum Failure {
    /// An error of the value: within a predicate it makes the predicate unknown.
    OfValue(SqlError),
    /// An error of the path, of a variable, or of a limit.
    Fatal(SqlError),
}

impl Failure {
    /// An error of the value.
    pub fn of_value(state: SqlState, message: impl Into<String>) -> Self {
        Self::OfValue(SqlError::new(state, message))
    }

    /// The error.
    pub fn into_error(self) -> SqlError {
        match self {
            Self::OfValue(error) | Self::Fatal(error) => error,
        }
    }
}

/// Gives `Err` only for errors that cannot be suppressed, and `None` for the others.
pub fn suppressed<T>(result: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Failure::OfValue(_)) => Ok(None),
        Err(fatal) => Err(fatal),
    }
}
