//! What the sessions of a database do, and how one stops another: `pg_stat_activity`, `pg_cancel_backend`, `pg_terminate_backend`.
//!
//! A session is *active* from the beginning of a statement until its client is told that the next one may come. Between these it is idle,
//! in a transaction block or not.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use braid_catalog::{Encryption, Session};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::clock::read_clock_us;

/// Bytes of a statement that others are shown, as in PostgreSQL.
const QUERY_BYTES_MAX: usize = 1024;

/// A session that others know of.
pub(crate) trait ActiveSession: Send + Sync {
    /// What it does.
    fn activity(&self) -> &Activity;
    /// What others are shown of it, but for what it waits for.
    fn shown(&self) -> Session;
}

/// The sessions of a database, by their numbers.
#[derive(Default)]
pub(crate) struct ActiveSessions {
    by_id: Mutex<BTreeMap<i32, Weak<dyn ActiveSession>>>,
}

impl ActiveSessions {
    /// A session begins.
    pub fn enter(&self, id: i32, session: Weak<dyn ActiveSession>) {
        self.by_id.lock().insert(id, session);
    }

    /// A session has ended.
    pub fn leave(&self, id: i32) {
        self.by_id.lock().remove(&id);
    }

    /// The session of this number.
    pub fn find(&self, id: i32) -> Option<Arc<dyn ActiveSession>> {
        self.by_id.lock().get(&id).and_then(Weak::upgrade)
    }

    /// All sessions.
    pub fn all(&self) -> Vec<Arc<dyn ActiveSession>> {
        // The last owner of a session may be who looks at it. Its end takes the lock, which is given back by then.
        self.by_id.lock().values().filter_map(Weak::upgrade).collect()
    }
}

impl fmt::Debug for ActiveSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveSessions").field("count", &self.by_id.lock().len()).finish()
    }
}

/// What a session does.
#[derive(Debug)]
pub(crate) struct Activity {
    now: Mutex<Now>,
    terminated: CancellationToken,
    client_port: OnceLock<i32>,
    /// How its connection is encrypted, if it is.
    encryption: OnceLock<Encryption>,
}

#[derive(Clone, Debug)]
struct Now {
    query: Option<Arc<str>>,
    query_started_us: Option<i64>,
    changed_us: i64,
    is_active: bool,
    /// What cancels the work that is under way; `None` between two parts of it, as between two FETCHes.
    running: Option<CancellationToken>,
}

/// What a session does, at a moment.
#[derive(Clone, Debug)]
pub(crate) struct ActivityNow {
    /// The text of its statement, or of the last one.
    pub query: Option<String>,
    /// When that began.
    pub query_started_us: Option<i64>,
    /// When the session became active or idle.
    pub changed_us: i64,
    /// Whether a statement runs.
    pub is_active: bool,
}

impl Default for Activity {
    fn default() -> Self {
        let changed_us = read_clock_us();
        let now = Now { query: None, query_started_us: None, changed_us, is_active: false, running: None };
        Self {
            now: Mutex::new(now),
            terminated: CancellationToken::new(),
            client_port: OnceLock::new(),
            encryption: OnceLock::new(),
        }
    }
}

impl Activity {
    /// A statement begins, which `cancel` stops.
    pub fn begin(&self, text: &Arc<str>, cancel: &CancellationToken) {
        let query = match text.len() <= QUERY_BYTES_MAX {
            true => Arc::clone(text),
            false => Arc::from(&text[..text.floor_char_boundary(QUERY_BYTES_MAX)]),
        };
        let started_us = read_clock_us();
        let mut now = self.now.lock();
        if !now.is_active {
            (now.is_active, now.changed_us) = (true, started_us);
        }
        (now.query, now.query_started_us, now.running) = (Some(query), Some(started_us), Some(cancel.clone()));
    }

    /// A statement goes on, which `cancel` stops.
    pub fn go_on(&self, cancel: &CancellationToken) {
        let mut now = self.now.lock();
        if !now.is_active {
            (now.is_active, now.changed_us) = (true, read_clock_us());
        }
        now.running = Some(cancel.clone());
    }

    /// A part of a statement is done: what stops the statement now would stop a later part.
    pub fn pause(&self) {
        self.now.lock().running = None;
    }

    /// The next statement may come.
    pub fn end(&self) {
        let mut now = self.now.lock();
        now.running = None;
        if now.is_active {
            (now.is_active, now.changed_us) = (false, read_clock_us());
        }
    }

    /// What it does now.
    pub fn now(&self) -> ActivityNow {
        let Now { query, query_started_us, changed_us, is_active, .. } = self.now.lock().clone();
        let query = query.map(|query| query.to_string());
        ActivityNow { query, query_started_us, changed_us, is_active }
    }

    /// Cancels the statement that runs, if there is one.
    pub fn cancel(&self) {
        // Under the lock: the token may be that of the next statement a moment later.
        self.now.lock().running.iter().for_each(CancellationToken::cancel);
    }

    /// Ends the session.
    pub fn terminate(&self) {
        self.terminated.cancel();
        self.cancel();
    }

    /// Cancelled when another session ends this one.
    pub fn terminated(&self) -> &CancellationToken {
        &self.terminated
    }

    /// Notes the port of its client; -1 for a local socket.
    pub fn set_client_port(&self, port: i32) {
        let _ = self.client_port.set(port);
    }

    /// Notes how its connection is encrypted.
    pub fn set_encryption(&self, encryption: Encryption) {
        let _ = self.encryption.set(encryption);
    }

    /// How its connection is encrypted, if it is.
    pub fn encryption(&self) -> Option<&Encryption> {
        self.encryption.get()
    }

    /// The port of its client; `None` for one in the same process.
    pub fn client_port(&self) -> Option<i32> {
        self.client_port.get().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_meets_only_what_runs() {
        let (activity, token) = (Activity::default(), CancellationToken::new());
        activity.begin(&"select 1".into(), &token);
        assert!(activity.now().is_active);
        activity.end();
        activity.cancel();
        assert!(!token.is_cancelled(), "the statement is over");
        assert_eq!(activity.now().query.as_deref(), Some("select 1"), "the last one is still shown");
        activity.go_on(&token);
        activity.pause();
        activity.cancel();
        assert!(!token.is_cancelled() && activity.now().is_active, "nothing is under way between two parts");
        activity.go_on(&token);
        activity.terminate();
        assert!(token.is_cancelled() && activity.terminated().is_cancelled());
    }

    #[test]
    fn long_statements_are_cut_between_characters() {
        let activity = Activity::default();
        activity.begin(&format!("x{}", "é".repeat(600)).into(), &CancellationToken::new());
        assert_eq!(activity.now().query.unwrap().len(), 1023);
    }
}
