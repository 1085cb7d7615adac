//! What a statement may ask about its session.

use datafusion::sql::sqlparser::tokenizer::Location;

/// What a statement may ask about its session. It is a hidden parameter of the statement's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionFact {
    /// Who is connected.
    User,
    /// The session's number.
    SessionId,
    /// When the statement began.
    StatementTime,
    /// When its transaction began.
    TransactionTime,
    /// The value of this setting.
    Setting(String),
}

/// A place where a statement asks for a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedFact {
    /// What it asks.
    pub fact: SessionFact,
    /// Where, in its text.
    pub location: Location,
}
