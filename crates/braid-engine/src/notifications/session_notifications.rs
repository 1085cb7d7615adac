//! What a session listens on, what its transaction tells, and what waits for it.

use std::collections::HashSet;
use std::sync::Arc;

use braid_sql::functions::Notifications;
use braid_sql::{SqlError, SqlState};
use parking_lot::Mutex;

use super::hub::{Inbox, Notification, NotificationHub};
use crate::EngineError;
use crate::names::NAME_BYTES_MAX;

/// Longest payload in bytes, which must be below 8000: a page of PostgreSQL without what stands beside it.
const PAYLOAD_BYTES_MAX: usize = 7999;

/// What a transaction changes of the channels that its session listens on.
#[derive(Debug)]
pub(crate) enum ChannelChange {
    /// LISTEN.
    Listen(String),
    /// UNLISTEN.
    Unlisten(String),
    /// UNLISTEN *.
    UnlistenAll,
}

/// What takes effect when the transaction commits.
#[derive(Debug, Default)]
struct Pending {
    changes: Vec<ChannelChange>,
    told: Vec<Notification>,
    /// Channels and payloads of `told`, each of which is told once.
    known: HashSet<(String, String)>,
}

/// A moment within a transaction, by what was pending then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PendingMark {
    changes: usize,
    told: usize,
}

/// The part of a session in LISTEN and NOTIFY. The session listens until this is dropped.
#[derive(Debug)]
pub(crate) struct SessionNotifications {
    session_id: i32,
    hub: Arc<NotificationHub>,
    inbox: Arc<Inbox>,
    pending: Mutex<Pending>,
}

impl SessionNotifications {
    /// A session that listens on nothing.
    pub fn new(session_id: i32, hub: Arc<NotificationHub>) -> Self {
        let (inbox, pending) = Default::default();
        Self { session_id, hub, inbox, pending }
    }

    /// Changes the channels when the transaction commits.
    pub fn change(&self, change: ChannelChange) {
        self.pending.lock().changes.push(change);
    }

    /// Tells a channel something when the transaction commits.
    ///
    /// # Errors
    /// 22023 for a channel or a payload that is too long, and 54000 if the queue is full.
    pub fn tell(&self, channel: &str, payload: &str) -> Result<(), EngineError> {
        let invalid = |message: &str| Err(EngineError::new(SqlState::InvalidParameterValue, message));
        match (channel.len(), payload.len()) {
            (0, _) => return invalid("channel name cannot be empty"),
            (length, _) if length > NAME_BYTES_MAX => return invalid("channel name too long"),
            (_, length) if length > PAYLOAD_BYTES_MAX => return invalid("payload string too long"),
            _ => {}
        }
        let mut pending = self.pending.lock();
        let key = (channel.to_owned(), payload.to_owned());
        if pending.known.contains(&key) {
            return Ok(());
        }
        let space = self.hub.reserve(channel, payload)?;
        let (channel, payload) = key.clone();
        pending.told.push(Notification { session_id: self.session_id, channel, payload, _space: space });
        pending.known.insert(key);
        Ok(())
    }

    /// The transaction has committed: first its channels change, then it tells.
    pub fn commit(&self) {
        let Pending { changes, told, .. } = std::mem::take(&mut *self.pending.lock());
        if !changes.is_empty() {
            self.apply(changes);
        }
        self.hub.deliver(told);
    }

    /// The transaction has been undone.
    pub fn roll_back(&self) {
        drop(std::mem::take(&mut *self.pending.lock()));
    }

    /// What is pending now.
    pub fn mark(&self) -> PendingMark {
        let pending = self.pending.lock();
        PendingMark { changes: pending.changes.len(), told: pending.told.len() }
    }

    /// What has come after a mark has been undone.
    pub fn roll_back_to(&self, mark: PendingMark) {
        let mut pending = self.pending.lock();
        pending.changes.truncate(mark.changes);
        let kept = mark.told.min(pending.told.len());
        for undone in pending.told.split_off(kept) {
            pending.known.remove(&(undone.channel.clone(), undone.payload.clone()));
        }
    }

    fn apply(&self, changes: Vec<ChannelChange>) {
        let mut channels = self.inbox.channels.lock();
        for change in changes {
            match change {
                ChannelChange::Listen(channel) => drop(channels.insert(channel)),
                ChannelChange::Unlisten(channel) => drop(channels.remove(&channel)),
                ChannelChange::UnlistenAll => channels.clear(),
            }
        }
        let listens = !channels.is_empty();
        drop(channels);
        self.hub.set_listening(self.session_id, &self.inbox, listens);
    }

    /// Takes what waits for the session.
    pub fn take(&self) -> Vec<Arc<Notification>> {
        self.inbox.take()
    }

    /// Waits until there is something to take.
    pub async fn arrival(&self) {
        self.inbox.arrival().await;
    }
}

impl Drop for SessionNotifications {
    fn drop(&mut self) {
        self.hub.set_listening(self.session_id, &self.inbox, false);
    }
}

impl Notifications for SessionNotifications {
    fn notify(&self, channel: &str, payload: &str) -> Result<(), SqlError> {
        self.tell(channel, payload).map_err(|error| SqlError::new(error.state(), error.message()))
    }

    fn channels(&self) -> Vec<String> {
        self.inbox.channels.lock().iter().cloned().collect()
    }

    fn queue_usage(&self) -> f64 {
        self.hub.usage()
    }
}

#[cfg(test)]
mod tests {
    use super::super::hub::QUEUE_BYTES_MAX;
    use super::*;

    fn sessions() -> (SessionNotifications, SessionNotifications) {
        let hub = Arc::new(NotificationHub::default());
        let listener = SessionNotifications::new(2, hub.clone());
        listener.change(ChannelChange::Listen("a".to_owned()));
        listener.commit();
        (SessionNotifications::new(1, hub), listener)
    }

    fn taken(session: &SessionNotifications) -> Vec<String> {
        session.take().iter().map(|told| format!("{} {} {}", told.session_id, told.channel, told.payload)).collect()
    }

    #[test]
    fn what_a_transaction_tells_is_told_when_it_commits_and_once() {
        let (teller, listener) = sessions();
        for payload in ["x", "y", "x", ""] {
            teller.tell("a", payload).unwrap();
        }
        teller.tell("b", "x").unwrap();
        assert!(taken(&listener).is_empty());
        teller.commit();
        assert_eq!(taken(&listener), ["1 a x", "1 a y", "1 a "]);
        teller.tell("a", "undone").unwrap();
        teller.roll_back();
        teller.commit();
        assert!(taken(&listener).is_empty());
        assert_eq!(teller.queue_usage(), 0.0);
    }

    #[test]
    fn channels_change_when_the_transaction_commits() {
        let (teller, listener) = sessions();
        listener.change(ChannelChange::Listen("b".to_owned()));
        assert_eq!(listener.channels(), ["a"]);
        listener.roll_back();
        listener.commit();
        assert_eq!(listener.channels(), ["a"]);
        teller.tell("a", "x").unwrap();
        teller.commit();
        listener.change(ChannelChange::UnlistenAll);
        listener.commit();
        assert!(taken(&listener).is_empty(), "it has ceased to listen before it took the notification");
        listener.change(ChannelChange::Listen("a".to_owned()));
        listener.tell("a", "itself").unwrap();
        listener.commit();
        assert_eq!(taken(&listener), ["2 a itself"]);
    }

    #[test]
    fn a_full_queue_refuses_and_is_emptied_by_its_listeners() {
        let (teller, listener) = sessions();
        let told = (0..).map_while(|n| teller.tell("a", &format!("{n:>7000}")).ok()).count() as u64;
        assert_eq!(told, QUEUE_BYTES_MAX / (7000 + 1 + 128));
        assert_eq!(teller.tell("a", "more").err().map(|error| error.sqlstate()), None, "a short one still fits");
        assert_eq!(teller.tell("a", &" ".repeat(7000)).unwrap_err().sqlstate(), "54000");
        teller.commit();
        assert_eq!(teller.tell("a", &"x".repeat(7000)).unwrap_err().sqlstate(), "54000");
        assert_eq!(listener.take().len() as u64, told + 1);
        assert_eq!(teller.queue_usage(), 0.0);
        teller.tell("a", "again").unwrap();
    }

    #[test]
    fn a_session_that_ends_is_told_nothing() {
        let (teller, listener) = sessions();
        drop(listener);
        teller.tell("a", "x").unwrap();
        teller.commit();
        assert_eq!(teller.queue_usage(), 0.0);
    }

    #[test]
    fn names_and_payloads_are_bounded() {
        let (teller, _) = sessions();
        for (channel, payload, message) in [
            (String::new(), 0, "channel name cannot be empty"),
            ("c".repeat(64), 0, "channel name too long"),
            ("c".repeat(63), 8000, "payload string too long"),
        ] {
            let error = teller.tell(&channel, &"p".repeat(payload)).unwrap_err();
            assert_eq!((error.sqlstate(), error.message()), ("22023", message));
        }
        teller.tell(&"c".repeat(63), &"p".repeat(7999)).unwrap();
    }
}
