//! Notices and warnings: what a statement tells its client without failing.
//!
//! A statement raises them while it runs, and whoever runs it takes them before it answers. What `client_min_messages` keeps from
//! the client is not kept at all. A client that never takes any loses all beyond [`WAITING_MAX`].

use parking_lot::Mutex;

use crate::SqlState;

/// Notices that wait to be taken: a bound for programs that embed a session and take none.
const WAITING_MAX: usize = 10_000;

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeSeverity {
    /// The statement did nothing, or something else, as it was asked to.
    Notice,
    /// The statement may not have done what was meant.
    Warning,
}

/// One notice, as PostgreSQL would report it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub severity: NoticeSeverity,
    /// What it is about, for programs.
    pub state: SqlState,
    /// One sentence, lower case, no full stop.
    pub message: String,
    /// More about it, in sentences.
    pub detail: Option<String>,
}

impl Notice {
    /// That something does not exist, or exists already, and is therefore passed over.
    pub(crate) fn skipping(state: SqlState, what: &str) -> Self {
        Self { severity: NoticeSeverity::Notice, state, message: format!("{what}, skipping"), detail: None }
    }

    /// A notice of what does no harm.
    pub(crate) fn harmless(state: SqlState, message: impl Into<String>) -> Self {
        Self { severity: NoticeSeverity::Notice, state, message: message.into(), detail: None }
    }

    /// The same with more about it.
    #[must_use]
    pub(crate) fn with_detail(self, detail: String) -> Self {
        Self { detail: Some(detail), ..self }
    }

    /// A warning.
    pub(crate) fn warning(state: SqlState, message: impl Into<String>) -> Self {
        Self { severity: NoticeSeverity::Warning, state, message: message.into(), detail: None }
    }
}

/// The notices of a session that wait for its client.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    waiting: Mutex<Vec<Notice>>,
}

impl Notices {
    /// Adds a notice, unless it matters less than `client_min_messages` says.
    pub fn raise(&self, notice: Notice, client_min_messages: Option<&str>) {
        let mut waiting = self.waiting.lock();
        if is_sent(notice.severity, client_min_messages) && waiting.len() < WAITING_MAX {
            waiting.push(notice);
        }
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Forgets those behind the first ones.
    pub fn truncate(&self, count: usize) {
        self.waiting.lock().truncate(count);
    }

    /// Takes those that wait.
    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut self.waiting.lock())
    }
}

/// Whether a client with this setting is sent notices of this severity. Without the setting it is sent all.
fn is_sent(severity: NoticeSeverity, client_min_messages: Option<&str>) -> bool {
    match client_min_messages {
        Some("error") => false,
        Some("warning") => severity >= NoticeSeverity::Warning,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_keeps_what_matters_less_from_the_client() {
        use NoticeSeverity::{Notice, Warning};
        for (setting, notices, warnings) in [
            (None, true, true),
            (Some("debug5"), true, true),
            (Some("log"), true, true),
            (Some("notice"), true, true),
            (Some("warning"), false, true),
            (Some("error"), false, false),
        ] {
            assert_eq!((is_sent(Notice, setting), is_sent(Warning, setting)), (notices, warnings), "{setting:?}");
        }
    }

    #[test]
    fn notices_that_nobody_takes_are_bounded() {
        let notices = Notices::default();
        for _ in 0..WAITING_MAX + 5 {
            notices.raise(Notice::warning(SqlState::ActiveTransaction, "w"), None);
        }
        assert_eq!(notices.take().len(), WAITING_MAX);
        assert!(notices.take().is_empty());
    }
}
