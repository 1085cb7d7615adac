//! The error of a statement's text and of its values, as PostgreSQL reports it: a SQLSTATE for programs, sentences for people, and
//! the place in the text.

use std::error::Error;
use std::fmt;

use braid_base::DomainTypeId;

use crate::SqlState;

/// A statement that cannot be bound, or a value that cannot be computed. Small, so that a `Result` with it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError(Box<Report>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Report {
    state: SqlState,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
    position: Option<usize>,
    violated_domain: Option<ViolatedDomain>,
}

/// A domain whose values one is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolatedDomain {
    /// The domain.
    pub domain: DomainTypeId,
    /// The constraint that excludes the value; `None` for NOT NULL.
    pub constraint: Option<String>,
}

impl SqlError {
    /// An error with its primary message: one sentence, lower case, no full stop, as PostgreSQL writes them.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        Self(Box::new(Report {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            position: None,
            violated_domain: None,
        }))
    }

    /// An error for what PostgreSQL has and Braid has not, in a sentence (SQLSTATE 0A000).
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(SqlState::FeatureNotSupported, message)
    }

    /// Adds a detail: a second sentence.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds a hint: what the user can do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the context: where in a value the error is.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.0.context = Some(context.into());
        self
    }

    /// Adds the place in the statement, in characters from 1. A place that is there stays: it is the more exact one.
    #[must_use]
    pub fn at(mut self, position: Option<usize>) -> Self {
        self.0.position = self.0.position.or(position);
        self
    }

    /// Says that it is about a domain.
    #[must_use]
    pub fn about_domain(mut self, violated: ViolatedDomain) -> Self {
        self.0.violated_domain = Some(violated);
        self
    }

    /// The same without a place.
    pub fn without_position(mut self) -> Self {
        self.0.position = None;
        self
    }

    /// The SQLSTATE.
    pub fn state(&self) -> SqlState {
        self.0.state
    }

    /// The SQLSTATE's five characters.
    pub fn sqlstate(&self) -> &'static str {
        self.0.state.code()
    }

    /// The primary message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The detail, if any.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// The hint, if any.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The context, if any.
    pub fn context(&self) -> Option<&str> {
        self.0.context.as_deref()
    }

    /// The domain that it is about, if any.
    pub fn violated_domain(&self) -> Option<&ViolatedDomain> {
        self.0.violated_domain.as_ref()
    }

    /// The place in the statement's text in characters from 1, if known.
    pub fn position(&self) -> Option<usize> {
        self.0.position
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for SqlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_what_it_was_given() {
        let error =
            SqlError::new(SqlState::UndefinedFunction, "m").with_detail("d").with_hint("h").at(Some(4)).at(Some(1));
        assert_eq!((error.sqlstate(), error.to_string()), ("42883", "m".to_owned()));
        assert_eq!((error.detail(), error.hint(), error.position()), (Some("d"), Some("h"), Some(4)));
    }
}
