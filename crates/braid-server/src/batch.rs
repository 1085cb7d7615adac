//! What is executed up to a Sync: one transaction in PostgreSQL, in which Braid lets only the last statement write.
//!
//! Braid has no transactions of several statements yet: half of a batch that fails would stay. So
//! 1. a statement that writes waits until the client's next message tells that it is the last: Sync, or Flush;
//! 2. Close may come in between, it cannot fail; it is answered behind the statement;
//! 3. anything else refuses the statement (0A000) before it has written;
//! 4. what cannot wait (COPY needs the client's data, Flush asks for an answer) is committed, and a second write before
//!    Sync is refused.
//!
//! A client that leaves before Sync has not executed what waits, as in PostgreSQL.

use braid_engine::StatementKind;

use crate::error_report::ErrorReport;
use crate::frontend_message::FrontendMessage;

/// Messages that may wait behind a statement: far more than a driver closes at a time.
const CLOSES_MAX: usize = 1000;

/// The statements since the last Sync, as far as they matter to the next.
#[derive(Debug, Default)]
pub(crate) enum Batch {
    /// None of them writes.
    #[default]
    Reads,
    /// The last one writes, and waits.
    Waiting(WaitingWrite),
    /// One of them has written.
    Written(StatementKind),
}

/// A statement that writes, until it is known to be the last.
#[derive(Debug)]
pub(crate) struct WaitingWrite {
    pub kind: StatementKind,
    pub portal: String,
    /// Messages that are answered behind it.
    pub closes: Vec<FrontendMessage>,
}

/// What the next message means to a statement that waits.
#[derive(Debug)]
pub(crate) enum Next {
    /// There is no next message.
    Nothing,
    /// The message waits, too.
    Wait,
    /// It is executed.
    Execute(WaitingWrite),
    /// It is not the last one.
    Refuse(ErrorReport),
}

impl Batch {
    /// Decides on a statement that waits, given the message behind it.
    pub fn next(&mut self, message: &FrontendMessage) -> Next {
        let Self::Waiting(waiting) = self else { return Next::Nothing };
        match message {
            FrontendMessage::Close(_) if waiting.closes.len() < CLOSES_MAX => {
                waiting.closes.push(message.clone());
                Next::Wait
            }
            FrontendMessage::Sync | FrontendMessage::Flush => {
                let written = Self::Written(waiting.kind);
                match std::mem::replace(self, written) {
                    Self::Waiting(waiting) => Next::Execute(waiting),
                    _ => unreachable!("it was waiting"),
                }
            }
            _ => Next::Refuse(refusal(waiting.kind, "followed by another statement before Sync")),
        }
    }

    /// Whether a statement of this kind may write now.
    pub fn check_may_write(&self, kind: StatementKind) -> Result<(), ErrorReport> {
        match self {
            Self::Written(first) => {
                let after = format!("after {} before Sync", name(*first));
                let detail = format!("The {} is committed.", name(*first));
                Err(refusal(kind, &after).with_detail(detail))
            }
            Self::Reads | Self::Waiting(_) => Ok(()),
        }
    }
}

fn refusal(kind: StatementKind, place: &str) -> ErrorReport {
    let message = format!("{} {place} is not supported: together they would be one transaction", name(kind));
    ErrorReport::error("0A000", message).with_hint(
        "Batches and pipelines of drivers (executemany, executeBatch) send statements together. Execute them one by one, \
         or send the rows by COPY or in one INSERT.",
    )
}

fn name(kind: StatementKind) -> &'static str {
    match kind {
        StatementKind::Insert => "INSERT",
        StatementKind::CopyFrom => "COPY FROM",
        StatementKind::CreateTable => "CREATE TABLE",
        StatementKind::CreateType => "CREATE TYPE",
        StatementKind::AlterType => "ALTER TYPE",
        StatementKind::DropType => "DROP TYPE",
        _ => "DROP TABLE",
    }
}
