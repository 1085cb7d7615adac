//! The listeners of a server, and the space of what waits for them.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{EngineError, SqlState};

/// Bytes of all notifications that wait.
pub(super) const QUEUE_BYTES_MAX: u64 = 64 << 20;

/// Bytes that a notification takes beside its texts.
const NOTIFICATION_BYTES: u64 = 128;

/// What a session has told on a channel.
#[derive(Debug)]
pub struct Notification {
    /// The number of the session that told it.
    pub session_id: i32,
    /// The channel.
    pub channel: String,
    /// The text.
    pub payload: String,
    /// Its space, given back when no session has to be told any more.
    pub(super) _space: Space,
}

/// Space in the queue, given back when dropped.
#[derive(Debug)]
pub(super) struct Space {
    used_bytes: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for Space {
    fn drop(&mut self) {
        self.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What waits for a session that listens.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// The channels it listens on, in transactions that have committed.
    pub channels: Mutex<BTreeSet<String>>,
    waiting: Mutex<VecDeque<Arc<Notification>>>,
    arrived: Notify,
}

impl Inbox {
    /// Takes what waits, but for channels that the session has ceased to listen on.
    pub fn take(&self) -> Vec<Arc<Notification>> {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        let channels = self.channels.lock();
        waiting.into_iter().filter(|notification| channels.contains(&notification.channel)).collect()
    }

    /// Waits until there is something to take.
    pub async fn arrival(&self) {
        while self.waiting.lock().is_empty() {
            self.arrived.notified().await;
        }
    }
}

/// The listeners of a server.
#[derive(Debug, Default)]
pub(crate) struct NotificationHub {
    used_bytes: Arc<AtomicU64>,
    /// By the number of the session. Held while a transaction's notifications are delivered, which gives them their order.
    listeners: Mutex<HashMap<i32, Arc<Inbox>>>,
}

impl NotificationHub {
    /// Reserves the space of a notification.
    ///
    /// # Errors
    /// 54000 if the queue is full.
    pub(super) fn reserve(&self, channel: &str, payload: &str) -> Result<Space, EngineError> {
        let bytes = NOTIFICATION_BYTES + (channel.len() + payload.len()) as u64;
        let reserved = self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            Some(used + bytes).filter(|used| *used <= QUEUE_BYTES_MAX)
        });
        match reserved {
            Ok(_) => Ok(Space { used_bytes: self.used_bytes.clone(), bytes }),
            Err(_) => {
                let message = "too many notifications in the NOTIFY queue";
                Err(EngineError::new(SqlState::ProgramLimitExceeded, message))
            }
        }
    }

    /// The used part of the queue, from 0 to 1.
    pub(super) fn usage(&self) -> f64 {
        self.used_bytes.load(Ordering::Relaxed) as f64 / QUEUE_BYTES_MAX as f64
    }

    /// Notes that a session listens, or no longer does.
    pub(super) fn set_listening(&self, session_id: i32, inbox: &Arc<Inbox>, listens: bool) {
        let mut listeners = self.listeners.lock();
        if listens {
            listeners.insert(session_id, inbox.clone());
        } else {
            listeners.remove(&session_id);
        }
    }

    /// Delivers the notifications of a transaction.
    pub(super) fn deliver(&self, told: Vec<Notification>) {
        if told.is_empty() {
            return;
        }
        let told: Vec<Arc<Notification>> = told.into_iter().map(Arc::new).collect();
        for inbox in self.listeners.lock().values() {
            let channels = inbox.channels.lock();
            let wanted: Vec<_> = told.iter().filter(|known| channels.contains(&known.channel)).cloned().collect();
            drop(channels);
            if !wanted.is_empty() {
                inbox.waiting.lock().extend(wanted);
                inbox.arrived.notify_one();
            }
        }
    }
}
