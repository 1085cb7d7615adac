//! Advisory locks of all sessions: who holds which number, and who waits for it.
//!
//! Rules, as in PostgreSQL:
//! 1. A session may hold a lock several times, for itself and for its transaction, shared and not. Its own locks do not exclude each other.
//! 2. Locks of the session are given back by `pg_advisory_unlock`, as often as they were taken, or when the session ends; those of the
//!    transaction when it ends.
//! 3. A wait that would close a circle of waits, also through locks of rows and keys, is refused (40P01).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use braid_sql::functions::advisory::{AdvisoryKey, AdvisoryLock};
use braid_storage::OtherWaits;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{EngineError, SqlState};

/// Most numbers that are locked at a time.
const KEYS_MAX: usize = 1 << 20;

/// The locks of all sessions.
#[derive(Debug, Default)]
pub(crate) struct AdvisoryLocks {
    state: Mutex<State>,
    released: Notify,
}

#[derive(Debug, Default)]
struct State {
    held: HashMap<AdvisoryKey, BTreeMap<i32, Held>>,
    /// The numbers that each session holds, so that the end of its transaction does not walk those of all sessions.
    keys: HashMap<i32, HashSet<AdvisoryKey>>,
    waits: HashMap<i32, AdvisoryLock>,
}

/// How often a session holds a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    exclusive: u32,
    shared: u32,
    exclusive_of_transaction: u32,
    shared_of_transaction: u32,
}

/// The locks of a session, which are given back when it is dropped.
#[derive(Debug)]
pub(crate) struct SessionLocks {
    session_id: i32,
    locks: Arc<AdvisoryLocks>,
}

impl Held {
    fn count(&mut self, is_shared: bool, is_of_transaction: bool) -> &mut u32 {
        match (is_shared, is_of_transaction) {
            (false, false) => &mut self.exclusive,
            (true, false) => &mut self.shared,
            (false, true) => &mut self.exclusive_of_transaction,
            (true, true) => &mut self.shared_of_transaction,
        }
    }

    fn excludes(&self, lock: AdvisoryLock) -> bool {
        let is_exclusive = self.exclusive > 0 || self.exclusive_of_transaction > 0;
        is_exclusive || !lock.is_shared && *self != Self::default()
    }
}

impl State {
    /// The sessions that exclude a lock of another one.
    fn excluding(&self, session: i32, lock: AdvisoryLock) -> impl Iterator<Item = i32> {
        let held = self.held.get(&lock.key).into_iter().flatten();
        held.filter(move |(other, held)| **other != session && held.excludes(lock)).map(|(other, _)| *other)
    }

    fn try_lock(&mut self, session: i32, lock: AdvisoryLock) -> Result<bool, EngineError> {
        if self.excluding(session, lock).next().is_some() {
            return Ok(false);
        }
        if self.held.len() >= KEYS_MAX && !self.held.contains_key(&lock.key) {
            let message = format!("there are {KEYS_MAX} advisory locks already, which is the limit");
            return Err(EngineError::new(SqlState::OutOfMemory, message));
        }
        let held = self.held.entry(lock.key).or_default().entry(session).or_default();
        let count = held.count(lock.is_shared, lock.is_of_transaction);
        *count = count.saturating_add(1);
        self.keys.entry(session).or_default().insert(lock.key);
        Ok(true)
    }

    /// Whether a session waits for itself, through others. `row_waits` are the sessions that wait for others by locks of rows and keys.
    fn waits_for_itself(&self, session: i32, row_waits: &[(i32, i32)]) -> bool {
        let (mut seen, mut next) = (HashSet::from([session]), vec![session]);
        while let Some(at) = next.pop() {
            let of_lock = self.waits.get(&at).into_iter().flat_map(|lock| self.excluding(at, *lock));
            let of_rows = row_waits.iter().filter(|(waiting, _)| *waiting == at).map(|(_, holder)| *holder);
            for holder in of_lock.chain(of_rows) {
                if holder == session {
                    return true;
                }
                if seen.insert(holder) {
                    next.push(holder);
                }
            }
        }
        false
    }

    /// Gives back one lock of a session; false if it has none.
    fn unlock(&mut self, session: i32, key: AdvisoryKey, is_shared: bool) -> bool {
        self.change(session, key, |held| {
            let count = held.count(is_shared, false);
            *count = count.saturating_sub(1);
        })
    }

    /// Changes what a session holds, of all its numbers; whether something was given back.
    fn give_back(&mut self, session: i32, change: impl Fn(&mut Held)) -> bool {
        let mut is_changed = false;
        for key in self.keys.get(&session).cloned().into_iter().flatten() {
            is_changed |= self.change(session, key, &change);
        }
        is_changed
    }

    /// Changes what a session holds of a number, if it does; whether it is something else then.
    fn change(&mut self, session: i32, key: AdvisoryKey, change: impl Fn(&mut Held)) -> bool {
        let Some(holders) = self.held.get_mut(&key) else { return false };
        let Some(held) = holders.get_mut(&session) else { return false };
        let before = *held;
        change(held);
        let after = *held;
        if after == Held::default() {
            holders.remove(&session);
            if holders.is_empty() {
                self.held.remove(&key);
            }
            if let Some(keys) = self.keys.get_mut(&session) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.keys.remove(&session);
                }
            }
        }
        before != after
    }
}

/// A lock that is held or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownLock {
    /// What is locked.
    pub key: AdvisoryKey,
    /// By which session.
    pub session: i32,
    /// Whether others may share it.
    pub is_shared: bool,
    /// Whether it is held.
    pub is_granted: bool,
}

impl AdvisoryLocks {
    /// All locks that are held or waited for.
    pub fn all(&self) -> Vec<ShownLock> {
        let state = self.state.lock();
        let mut shown = Vec::new();
        for (key, holders) in &state.held {
            for (session, held) in holders {
                let modes = [
                    (true, held.shared + held.shared_of_transaction),
                    (false, held.exclusive + held.exclusive_of_transaction),
                ];
                let held = modes.into_iter().filter(|(_, count)| *count > 0);
                shown.extend(held.map(|(is_shared, _)| ShownLock {
                    key: *key,
                    session: *session,
                    is_shared,
                    is_granted: true,
                }));
            }
        }
        shown.extend(state.waits.iter().map(|(session, lock)| ShownLock {
            key: lock.key,
            session: *session,
            is_shared: lock.is_shared,
            is_granted: false,
        }));
        shown
    }
}

impl OtherWaits for AdvisoryLocks {
    fn blocking(&self, session: i32) -> Vec<i32> {
        let state = self.state.lock();
        state.waits.get(&session).map(|lock| state.excluding(session, *lock).collect()).unwrap_or_default()
    }
}

impl SessionLocks {
    /// A session without locks.
    pub fn new(session_id: i32, locks: Arc<AdvisoryLocks>) -> Self {
        Self { session_id, locks }
    }

    /// Locks, if no other session excludes it; whether it has.
    ///
    /// # Errors
    /// For too many locks (53200).
    pub fn try_lock(&self, lock: AdvisoryLock) -> Result<bool, EngineError> {
        self.locks.state.lock().try_lock(self.session_id, lock)
    }

    /// Locks, when no other session excludes it. `timeout` is the longest wait; `row_waits` tells which sessions wait for which by locks of
    /// rows and keys, as circles may go through both.
    ///
    /// # Errors
    /// For a circle of waits (40P01), a wait that is too long (55P03), and too many locks.
    pub async fn lock(
        &self,
        lock: AdvisoryLock,
        timeout: Option<Duration>,
        row_waits: impl Fn() -> Vec<(i32, i32)>,
    ) -> Result<(), EngineError> {
        let waited = self.wait_for(lock, row_waits);
        match timeout {
            None => waited.await,
            Some(timeout) => tokio::time::timeout(timeout, waited).await.unwrap_or_else(|_| {
                Err(EngineError::new(SqlState::LockNotAvailable, "canceling statement due to lock timeout"))
            }),
        }
    }

    async fn wait_for(&self, lock: AdvisoryLock, row_waits: impl Fn() -> Vec<(i32, i32)>) -> Result<(), EngineError> {
        let mut wait = None;
        loop {
            let released = self.locks.released.notified();
            tokio::pin!(released);
            // From here on it hears of what is given back.
            released.as_mut().enable();
            {
                let mut state = self.locks.state.lock();
                if state.try_lock(self.session_id, lock)? {
                    return Ok(());
                }
                state.waits.insert(self.session_id, lock);
                wait.get_or_insert_with(|| Wait(self));
            }
            // Who begins to wait for rows from here on sees this wait: one of both finds the circle. The locks of rows are asked while
            // this state is free, as they ask it.
            let row_waits = row_waits();
            if self.locks.state.lock().waits_for_itself(self.session_id, &row_waits) {
                return Err(EngineError::new(SqlState::DeadlockDetected, "deadlock detected"));
            }
            released.await;
        }
    }

    /// Gives back a lock of the session; false if it has none.
    pub fn unlock(&self, key: AdvisoryKey, is_shared: bool) -> bool {
        let is_given_back = self.locks.state.lock().unlock(self.session_id, key, is_shared);
        if is_given_back {
            self.locks.released.notify_waiters();
        }
        is_given_back
    }

    /// Gives back all locks but those of the transaction.
    pub fn unlock_all(&self) {
        self.give_back(|held| (held.exclusive, held.shared) = (0, 0));
    }

    /// Gives back the locks of the transaction.
    pub fn end_transaction(&self) {
        self.give_back(|held| (held.exclusive_of_transaction, held.shared_of_transaction) = (0, 0));
    }

    fn give_back(&self, change: impl Fn(&mut Held)) {
        let is_changed = self.locks.state.lock().give_back(self.session_id, change);
        if is_changed {
            self.locks.released.notify_waiters();
        }
    }
}

impl Drop for SessionLocks {
    fn drop(&mut self) {
        self.give_back(|held| *held = Held::default());
    }
}

/// A wait, until it is dropped.
struct Wait<'a>(&'a SessionLocks);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.locks.state.lock().waits.remove(&self.0.session_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(key: i64, is_shared: bool, is_of_transaction: bool) -> AdvisoryLock {
        AdvisoryLock { key: AdvisoryKey::Whole(key), is_shared, is_of_transaction }
    }

    #[test]
    fn locks_are_counted_and_exclude_other_sessions() {
        let all = Arc::new(AdvisoryLocks::default());
        let (one, other) = (SessionLocks::new(1, all.clone()), SessionLocks::new(2, all.clone()));
        for _ in 0..2 {
            assert!(one.try_lock(lock(7, false, false)).unwrap());
        }
        assert!(!other.try_lock(lock(7, true, false)).unwrap());
        assert!(other.try_lock(AdvisoryLock { key: AdvisoryKey::Pair(0, 7), ..lock(0, false, false) }).unwrap());
        assert!(one.unlock(AdvisoryKey::Whole(7), false) && !other.try_lock(lock(7, true, false)).unwrap());
        assert!(one.unlock(AdvisoryKey::Whole(7), false) && !one.unlock(AdvisoryKey::Whole(7), false));
        assert!(other.try_lock(lock(7, true, false)).unwrap() && one.try_lock(lock(7, true, true)).unwrap());
        assert!(!one.try_lock(lock(7, false, true)).unwrap());
        one.unlock_all();
        assert!(!other.try_lock(lock(7, false, false)).unwrap(), "a transaction shares it");
        one.end_transaction();
        assert!(other.try_lock(lock(7, false, false)).unwrap());
        drop(other);
        assert!(one.try_lock(lock(7, false, false)).unwrap());
        one.unlock_all();
        let state = all.state.lock();
        assert!(state.held.is_empty() && state.keys.is_empty() && state.waits.is_empty());
    }

    #[tokio::test]
    async fn a_wait_ends_when_the_lock_is_given_back_and_circles_are_refused() {
        let all = Arc::new(AdvisoryLocks::default());
        let sessions: Vec<SessionLocks> = (0..3).map(|id| SessionLocks::new(id, all.clone())).collect();
        for (id, session) in sessions.iter().enumerate() {
            assert!(session.try_lock(lock(id as i64, false, false)).unwrap());
        }
        let soon = Some(Duration::from_millis(10));
        assert_eq!(sessions[0].lock(lock(1, false, false), soon, Vec::new).await.unwrap_err().sqlstate(), "55P03");
        let first = sessions[0].lock(lock(1, true, false), None, Vec::new);
        let second = sessions[1].lock(lock(2, false, true), None, Vec::new);
        tokio::pin!(first, second);
        assert!(tokio::time::timeout(Duration::from_millis(5), &mut first).await.is_err());
        assert!(tokio::time::timeout(Duration::from_millis(5), &mut second).await.is_err());
        assert_eq!(sessions[2].lock(lock(0, true, false), None, Vec::new).await.unwrap_err().sqlstate(), "40P01");
        sessions[2].unlock_all();
        second.await.unwrap();
        sessions[1].unlock_all();
        first.await.unwrap();
        assert!(all.state.lock().waits.is_empty());
    }
}
