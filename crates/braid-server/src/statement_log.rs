//! What the server's log tells of statements: each that fails, with its SQLSTATE, and each that takes long, with where its time went.
//!
//! | setting | tells |
//! |---|---|
//! | `log_min_duration_statement` | statements that take at least so long; -1 none, 0 all |
//! | `log_min_error_statement` | the texts of statements that fail, unless it is `log`, `fatal` or `panic` |
//!
//! Passwords are hidden, in texts and in messages that quote them. A text is on one line, with its line ends escaped, so that no statement can write lines of its own into the log.

use std::time::{Duration, Instant};

use braid_engine::{Session, StatementTimes};

use crate::error_report::{ErrorReport, Severity};
use crate::hidden_passwords::HiddenPasswords;

/// Bytes of a text that the log tells.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// Where the time of a message goes, as far as the server measures it.
#[derive(Debug)]
pub(crate) struct MessageClock {
    begun: Instant,
    /// Reading texts into statements.
    pub parsing: Duration,
    /// Making what the message has changed durable.
    pub committing: Duration,
}

impl Default for MessageClock {
    fn default() -> Self {
        Self { begun: Instant::now(), parsing: Duration::ZERO, committing: Duration::ZERO }
    }
}

/// Where the time of a slow message went. What is left over was spent running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    total: Duration,
    parsing: Duration,
    planning: Duration,
    locks: Duration,
    committing: Duration,
    /// Sending to a client that did not read.
    client: Duration,
}

impl Parts {
    fn running(&self) -> Duration {
        let known = self.parsing + self.planning + self.locks + self.committing + self.client;
        self.total.saturating_sub(known)
    }
}

impl MessageClock {
    /// Tells a message that took long. `client_wait` is the time in which its client did not read.
    pub fn tell_slow(&self, session: &Session, text: Option<&str>, client_wait: Duration) {
        let StatementTimes { planning, locks } = session.take_times();
        let total = self.begun.elapsed();
        let (Some(text), Some(limit)) = (text, session.slow_statement()) else { return };
        if total < limit {
            return;
        }
        let Self { parsing, committing, .. } = *self;
        let parts = Parts { total, parsing, planning, locks, committing, client: client_wait };
        tracing::info!(
            pid = session.id(),
            user = session.user(),
            parsing_ms = ms(parsing),
            planning_ms = ms(planning),
            locks_ms = ms(locks),
            running_ms = ms(parts.running()),
            committing_ms = ms(committing),
            client_ms = ms(client_wait),
            statement = ?shortened(&HiddenPasswords::of(text).text()),
            "a statement took {} ms",
            ms(total),
        );
    }
}

/// Tells an error that a client gets, and the statement that it comes from, if its text is wanted.
pub(crate) fn tell_failed(session: &Session, report: &ErrorReport, text: Option<&str>) {
    if report.severity < Severity::Error {
        return;
    }
    let (pid, user, sqlstate) = (session.id(), session.user(), report.code);
    let hidden = HiddenPasswords::of(text.unwrap_or_default());
    let message = escaped(&shortened(&hidden.message(&report.message)));
    match text.filter(|_| session.logs_failed_texts()).map(|_| shortened(&hidden.text())) {
        Some(statement) => tracing::info!(pid, user, sqlstate, ?statement, "{message}"),
        None => tracing::info!(pid, user, sqlstate, "{message}"),
    }
}

fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// The text, or its beginning and how long it is.
fn shortened(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    format!("{} … ({} bytes)", &text[..text.floor_char_boundary(TEXT_BYTES_MAX)], text.len())
}

/// A message, which may quote its statement, on one line.
fn escaped(message: &str) -> String {
    let mut escaped = String::with_capacity(message.len());
    for c in message.chars() {
        match c.is_control() {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_one_measures_is_running() {
        let of = Duration::from_millis;
        let mut parts =
            Parts { total: of(100), parsing: of(1), planning: of(2), locks: of(30), committing: of(4), client: of(50) };
        assert_eq!(parts.running(), of(13));
        parts.locks = of(90);
        assert_eq!(parts.running(), Duration::ZERO, "parts that overlap are more than the whole");
        assert_eq!(ms(Duration::from_nanos(1_234_567)), 1.235);
    }

    #[test]
    fn texts_stay_on_one_line_and_are_cut_between_characters() {
        assert_eq!(escaped("a\nb\u{7f}c é"), "a\\nb\\u{7f}c é");
        let long = "é".repeat(TEXT_BYTES_MAX);
        let cut = shortened(&format!("x{long}"));
        assert!(cut.ends_with(&format!("… ({} bytes)", 2 * TEXT_BYTES_MAX + 1)), "{}", &cut[TEXT_BYTES_MAX - 10..]);
        assert!(cut.len() < TEXT_BYTES_MAX + 40);
        assert_eq!(shortened("select 1"), "select 1");
    }
}
