//! The contents of an ErrorResponse: severity, SQLSTATE, message, detail, hint and context.
//!
//! This module converts errors of the engine and of values to reports, and creates the reports of protocol errors. A
//! report with severity FATAL ends the connection after it is sent.

use std::borrow::Cow;
use std::io;

use braid_engine::{EncodingError, EngineError, ErrorObject, Notice, NoticeSeverity};
use pgwire::error::ErrorInfo;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{ErrorResponse, NoticeResponse};

use crate::value::ValueError;

/// The severity of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// The statement goes on.
    Notice,
    /// The statement goes on; it may not do what was meant.
    Warning,
    /// The statement failed; the connection goes on.
    Error,
    /// The connection ends.
    Fatal,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }
}

/// One report. It is boxed, to keep the `Result`s that carry it small.
#[derive(Debug, Clone)]
pub(crate) struct ErrorReport(Box<Report>);

/// The contents of a report.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub severity: Severity,
    pub code: &'static str,
    pub message: Cow<'static, str>,
    pub detail: Option<String>,
    pub hint: Option<String>,
    pub context: Option<String>,
    /// In characters of the statement, from 1.
    pub position: Option<usize>,
    pub object: ErrorObject,
}

impl ErrorReport {
    /// A statement that failed.
    pub fn error(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        let (severity, detail, hint, context, position) = (Severity::Error, None, None, None, None);
        let object = ErrorObject::default();
        Self(Box::new(Report { severity, code, message, detail, hint, context, position, object }))
    }

    /// The end of the connection.
    pub fn fatal(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::error(code, message).with_severity(Severity::Fatal)
    }

    /// A message that breaks the protocol's rules.
    pub fn protocol_violation(message: impl Into<Cow<'static, str>>) -> Self {
        Self::error("08P01", message)
    }

    /// A statement that its client cancelled.
    pub fn cancelled() -> Self {
        Self::error("57014", "canceling statement due to user request")
    }

    /// The server stops.
    pub fn shutdown() -> Self {
        Self::fatal("57P01", "terminating connection due to administrator command")
    }

    /// The client exceeded the idle limit in a transaction block.
    pub fn idle_in_transaction() -> Self {
        Self::fatal("25P03", "terminating connection due to idle-in-transaction timeout")
    }

    /// The client exceeded the idle limit outside of transaction blocks.
    pub fn idle_session() -> Self {
        Self::fatal("57P05", "terminating connection due to idle-session timeout")
    }

    /// The same report with another severity.
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.0.severity = severity;
        self
    }

    /// The same report with another message.
    pub fn with_message(mut self, message: String) -> Self {
        self.0.message = message.into();
        self
    }

    /// Adds the context.
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.0.context = Some(context.into());
        self
    }

    /// Adds a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The message that carries it.
    pub fn message(&self) -> PgWireBackendMessage {
        let severity = self.severity.name().to_owned();
        let mut info = ErrorInfo::new(severity.clone(), self.code.to_owned(), self.message.clone().into_owned());
        info.severity_nonlocalized = Some(severity);
        info.detail.clone_from(&self.detail);
        info.hint.clone_from(&self.hint);
        info.where_context.clone_from(&self.context);
        info.position = self.position.map(|p| p.to_string());
        let mut response = ErrorResponse::from(info);
        let ErrorObject { schema, table, column, data_type, constraint } = &self.object;
        let fields = [(b's', schema), (b't', table), (b'c', column), (b'd', data_type), (b'n', constraint)];
        for (field, name) in fields {
            response.fields.extend(name.clone().map(|name| (field, name)));
        }
        match self.severity {
            Severity::Notice | Severity::Warning => {
                PgWireBackendMessage::NoticeResponse(NoticeResponse::new(response.fields))
            }
            Severity::Error | Severity::Fatal => PgWireBackendMessage::ErrorResponse(response),
        }
    }
}

impl std::ops::Deref for ErrorReport {
    type Target = Report;

    fn deref(&self) -> &Report {
        &self.0
    }
}

impl From<EngineError> for ErrorReport {
    fn from(error: EngineError) -> Self {
        Self(Box::new(Report {
            severity: Severity::Error,
            code: error.sqlstate(),
            message: error.message().to_owned().into(),
            detail: error.detail(),
            hint: error.hint(),
            context: error.context(),
            position: error.position(),
            object: error.object().clone(),
        }))
    }
}

impl From<EncodingError> for ErrorReport {
    fn from(error: EncodingError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<Notice> for ErrorReport {
    fn from(notice: Notice) -> Self {
        let severity = match notice.severity {
            NoticeSeverity::Notice => Severity::Notice,
            NoticeSeverity::Warning => Severity::Warning,
        };
        let report = Self::error(notice.state.code(), notice.message).with_severity(severity);
        Self(Box::new(Report { detail: notice.detail, ..*report.0 }))
    }
}

impl From<ValueError> for ErrorReport {
    fn from(error: ValueError) -> Self {
        Self::error(error.sqlstate(), error.to_string())
    }
}

/// The failure of a message.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The client gets this report.
    Report(ErrorReport),
    /// The client is gone.
    Gone,
}

impl<T: Into<ErrorReport>> From<T> for Failure {
    fn from(report: T) -> Self {
        Self::Report(report.into())
    }
}

impl Failure {
    /// A broken socket, over which no report can be sent.
    pub fn from_io(_: io::Error) -> Self {
        Self::Gone
    }
}

#[cfg(test)]
mod tests {
    use braid_engine::SqlState;
    use bytes::BytesMut;

    use super::*;

    #[test]
    fn all_particulars_of_an_engine_error_reach_the_message() {
        let error =
            EngineError::new(SqlState::UndefinedColumn, "no x").with_detail("d").with_hint("h").with_position(3);
        let mut bytes = BytesMut::new();
        let mut report = ErrorReport::from(error).with_context("c");
        let name = |name: &str| Some(name.to_owned());
        let (schema, table, column, constraint) = (name("s"), name("t"), name("c"), name("n"));
        report.0.object = ErrorObject { schema, table, column, data_type: name("y"), constraint };
        report.message().encode(&mut bytes).unwrap();
        let fields: Vec<&[u8]> = bytes[5..].split(|b| *b == 0).filter(|f| !f.is_empty()).collect();
        let expected: [&[u8]; 13] =
            [b"SERROR", b"VERROR", b"C42703", b"Mno x", b"Dd", b"Hh", b"P3", b"Wc", b"ss", b"tt", b"cc", b"dy", b"nn"];
        assert_eq!(fields, expected);
        assert_eq!(bytes[0], b'E');
    }

    #[test]
    fn a_warning_is_a_notice() {
        let mut bytes = BytesMut::new();
        let report = ErrorReport::cancelled().with_severity(Severity::Warning);
        report.message().encode(&mut bytes).unwrap();
        assert_eq!(bytes[0], b'N');
    }
}
