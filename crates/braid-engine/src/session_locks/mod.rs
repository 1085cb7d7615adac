//! The locks of sessions: of tables, views and sequences, and of the numbers of advisory locks. As PostgreSQL's lock manager has them.
//!
//! | module | contents |
//! |---|---|
//! | [`lock_mode`] | the modes, and what is asked for |
//! | [`lock_table`] | who holds what and who waits for whom |
//!
//! Rules:
//! 1. Statements lock the tables that they read and change until the end of their transaction. They do so in a list of their session, which
//!    nobody else looks at while no strong lock is held or waited for ([`Request::is_strong`]).
//! 2. Who wants a strong lock first enters the queue, which all see from then on, and then moves what sessions hold of its table from their
//!    lists into the lock table. So either finds the other.
//! 3. What is locked after a savepoint is given back by a rollback to it, and by a failure, which goes back to the last one.
//! 4. Advisory locks of the session are given back by `pg_advisory_unlock`, as often as they were taken, or when the session ends.
//! 5. A wait that would close a circle of waits, also through locks of rows and keys, is refused (40P01).
//!
//! Locks: the list of a session before the lock table.

mod lock_mode;
mod lock_table;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use braid_base::TableId;
use braid_sql::functions::advisory::{AdvisoryKey, AdvisoryLock};
use braid_storage::OtherWaits;
use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::Notify;

pub(crate) use lock_mode::{LockMode, LockTarget, Request};
use lock_table::{Answer, Circle, LockTable, TARGETS_MAX};

use crate::{EngineError, SqlState};

/// Most locks in the list of a session; further ones are in the lock table.
const LISTED_MAX: usize = 64;

/// The locks of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    table: Mutex<LockTable>,
    /// Of the table: strong locks that are held or waited for, and how many were given back.
    strong: AtomicUsize,
    strong_given_back: AtomicU64,
    sessions: RwLock<HashMap<i32, Arc<Mutex<OwnLocks>>>>,
    released: Notify,
}

/// The locks of a session, which are given back when it is dropped.
#[derive(Debug)]
pub(crate) struct SessionLocks {
    session_id: i32,
    own: Arc<Mutex<OwnLocks>>,
    locks: Arc<Locks>,
}

/// What the transaction of a session has locked, in this order.
#[derive(Debug, Default)]
struct OwnLocks {
    acquired: Vec<Acquired>,
    requests: HashSet<Request>,
    listed_count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Acquired {
    request: Request,
    /// Whether the lock table knows nothing of it.
    is_listed: bool,
}

/// A lock that is held or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownLock {
    /// What is locked, and how.
    pub request: Request,
    /// By which session.
    pub session: i32,
    /// Whether it is held.
    pub is_granted: bool,
    /// Whether it is in the list of its session.
    pub is_listed: bool,
}

/// What becomes of a statement that uses a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Used {
    /// Its transaction has used it so before.
    Before,
    /// It may from now on. So many strong locks had been given back then: what it has read before may be older than what those kept.
    Now { strong_given_back: u64 },
    /// Others exclude it.
    Excluded,
}

impl Locks {
    /// All locks that are held or waited for.
    pub fn all(&self) -> Vec<ShownLock> {
        let sessions: Vec<_> = self.sessions.read().iter().map(|(id, own)| (*id, own.clone())).collect();
        let mut shown = Vec::new();
        for (session, own) in sessions {
            let own = own.lock();
            let listed = own.acquired.iter().filter(|acquired| acquired.is_listed);
            let listed = listed.map(|acquired| (acquired.request, session));
            shown.extend(listed.map(|(request, session)| ShownLock {
                request,
                session,
                is_granted: true,
                is_listed: true,
            }));
        }
        let of_table = self.table.lock().all().into_iter();
        shown.extend(of_table.map(|(session, request, is_granted)| ShownLock {
            request,
            session,
            is_granted,
            is_listed: false,
        }));
        // One may be moved from a list to the table meanwhile.
        let mut seen = HashSet::new();
        shown.retain(|lock| seen.insert((lock.session, lock.request, lock.is_granted)));
        shown
    }

    /// How many strong locks were given back since the beginning.
    pub fn strong_given_back(&self) -> u64 {
        self.strong_given_back.load(Ordering::SeqCst)
    }

    /// Whether a strong lock is held or waited for.
    pub fn has_strong(&self) -> bool {
        self.strong.load(Ordering::SeqCst) > 0
    }

    /// Changes the table. What it is then is seen by all that use tables.
    fn change<T>(&self, change: impl FnOnce(&mut LockTable) -> T) -> T {
        let mut table = self.table.lock();
        let changed = change(&mut table);
        self.publish(&table);
        changed
    }

    fn publish(&self, table: &MutexGuard<'_, LockTable>) {
        let strong = table.strong();
        // Who finds none also finds that they were given back.
        self.strong_given_back.store(strong.given_back, Ordering::SeqCst);
        self.strong.store(strong.count(), Ordering::SeqCst);
    }

    /// Moves what sessions have locked of a target from their lists into the table.
    fn move_listed(&self, target: LockTarget) {
        let sessions: Vec<_> = self.sessions.read().iter().map(|(id, own)| (*id, own.clone())).collect();
        for (session, own) in sessions {
            let mut own = own.lock();
            let OwnLocks { acquired, listed_count, .. } = &mut *own;
            for acquired in acquired.iter_mut().filter(|own| own.is_listed && own.request.target == target) {
                acquired.is_listed = false;
                *listed_count -= 1;
                self.table.lock().insert_held(session, acquired.request);
            }
        }
    }
}

impl OtherWaits for Locks {
    fn blocking(&self, session: i32) -> Vec<i32> {
        let table = self.table.lock();
        table.awaited(session).map(|request| table.blocking(session, request).collect()).unwrap_or_default()
    }

    fn let_through(&self, session: i32) -> bool {
        let is_let_through = self.change(|table| table.go_first(session));
        if is_let_through {
            self.released.notify_waiters();
        }
        is_let_through
    }
}

impl SessionLocks {
    /// A session without locks.
    pub fn new(session_id: i32, locks: Arc<Locks>) -> Self {
        let own = Arc::<Mutex<OwnLocks>>::default();
        locks.sessions.write().insert(session_id, own.clone());
        Self { session_id, own, locks }
    }

    /// Locks a table that a statement reads or changes, if no other session excludes it.
    ///
    /// # Errors
    /// For too many locks (53200).
    pub fn use_table(&self, table: TableId, mode: LockMode) -> Result<Used, EngineError> {
        let request = Request { target: LockTarget::Relation(table), mode };
        let mut own = self.own.lock();
        if own.has(request) {
            return Ok(Used::Before);
        }
        let is_listed = own.listed_count < LISTED_MAX && self.locks.strong.load(Ordering::SeqCst) == 0;
        if !is_listed {
            match self.locks.change(|table| table.request(self.session_id, request)) {
                Answer::Granted => {}
                Answer::Excluded => return Ok(Used::Excluded),
                Answer::Full => return Err(full()),
            }
        }
        own.add(Acquired { request, is_listed });
        Ok(Used::Now { strong_given_back: self.locks.strong_given_back() })
    }

    /// Whether the transaction has locked this already.
    pub fn holds(&self, request: Request) -> bool {
        self.own.lock().has(request)
    }

    /// Locks for the transaction, if no other session excludes it; whether it has.
    ///
    /// # Errors
    /// For too many locks (53200).
    pub fn try_acquire(&self, request: Request) -> Result<bool, EngineError> {
        if request.is_strong() {
            // What sessions begin to use meanwhile is seen, as the request stands in the queue.
            self.locks.change(|table| table.begin_wait(self.session_id, request));
            let _wait = Wait(self);
            self.locks.move_listed(request.target);
            return self.try_acquire_in_table(request);
        }
        self.try_acquire_in_table(request)
    }

    fn try_acquire_in_table(&self, request: Request) -> Result<bool, EngineError> {
        let mut own = self.own.lock();
        if own.has(request) {
            return Ok(true);
        }
        match self.locks.change(|table| table.request(self.session_id, request)) {
            Answer::Granted => own.add(Acquired { request, is_listed: false }),
            Answer::Excluded => return Ok(false),
            Answer::Full => return Err(full()),
        }
        Ok(true)
    }

    /// Locks for the transaction, when no other session excludes it. `timeout` is the longest wait; `row_waits` tells which sessions wait for
    /// which by locks of rows and keys, as circles may go through both.
    ///
    /// # Errors
    /// For a circle of waits (40P01), a wait that is too long (55P03), and too many locks.
    pub async fn acquire(
        &self,
        request: Request,
        timeout: Option<Duration>,
        row_waits: impl Fn() -> Vec<(i32, i32)>,
    ) -> Result<(), EngineError> {
        within(timeout, self.wait_for(request, row_waits, || self.try_acquire_in_table(request))).await
    }

    /// Takes an advisory lock, if no other session excludes it; whether it has.
    ///
    /// # Errors
    /// For too many locks (53200).
    pub fn try_lock(&self, lock: AdvisoryLock) -> Result<bool, EngineError> {
        let request = request_of(lock);
        if lock.is_of_transaction {
            return self.try_acquire_in_table(request);
        }
        match self.locks.change(|table| table.request_for_session(self.session_id, request)) {
            Answer::Granted => Ok(true),
            Answer::Excluded => Ok(false),
            Answer::Full => Err(full()),
        }
    }

    /// As [`Self::try_lock`], when no other session excludes it; otherwise as [`Self::acquire`].
    ///
    /// # Errors
    /// As [`Self::acquire`].
    pub async fn lock(
        &self,
        lock: AdvisoryLock,
        timeout: Option<Duration>,
        row_waits: impl Fn() -> Vec<(i32, i32)>,
    ) -> Result<(), EngineError> {
        within(timeout, self.wait_for(request_of(lock), row_waits, || self.try_lock(lock))).await
    }

    /// Waits until `attempt` succeeds, in the queue of a request.
    async fn wait_for(
        &self,
        request: Request,
        row_waits: impl Fn() -> Vec<(i32, i32)>,
        attempt: impl Fn() -> Result<bool, EngineError>,
    ) -> Result<(), EngineError> {
        self.locks.change(|table| table.begin_wait(self.session_id, request));
        let _wait = Wait(self);
        if request.is_strong() {
            self.locks.move_listed(request.target);
        }
        loop {
            let released = self.locks.released.notified();
            tokio::pin!(released);
            // From here on it hears of what is given back.
            released.as_mut().enable();
            if attempt()? {
                return Ok(());
            }
            // Who begins to wait for rows from here on sees this wait: one of both finds the circle. The locks of rows are asked while
            // the table is free, as they ask it.
            let row_waits = row_waits();
            match self.locks.change(|table| table.open_circle(self.session_id, &row_waits)) {
                Circle::None => released.await,
                // One that waits in it may go on now.
                Circle::Opened => self.locks.released.notify_waiters(),
                Circle::Deadlock => return Err(EngineError::new(SqlState::DeadlockDetected, "deadlock detected")),
            }
        }
    }

    /// Gives back an advisory lock of the session; false if it has none.
    pub fn unlock(&self, key: AdvisoryKey, is_shared: bool) -> bool {
        let mode = if is_shared { LockMode::Share } else { LockMode::Exclusive };
        let target = LockTarget::Advisory(key);
        self.give_back(|table| table.release_of_session(self.session_id, target, mode))
    }

    /// Gives back all advisory locks of the session but those of its transaction.
    pub fn unlock_all(&self) {
        self.give_back(|table| table.release_all_of_session(self.session_id));
    }

    /// What the transaction has locked so far, for [`Self::roll_back_to`].
    pub fn mark(&self) -> usize {
        self.own.lock().acquired.len()
    }

    /// Gives back what the transaction has locked since a mark.
    pub fn roll_back_to(&self, mark: usize) {
        let given_back: Vec<Request> = {
            let mut own = self.own.lock();
            let since = mark.min(own.acquired.len());
            let given_back: Vec<Acquired> = own.acquired.drain(since..).collect();
            for acquired in &given_back {
                own.requests.remove(&acquired.request);
            }
            own.listed_count -= given_back.iter().filter(|acquired| acquired.is_listed).count();
            given_back.iter().filter(|acquired| !acquired.is_listed).map(|acquired| acquired.request).collect()
        };
        if !given_back.is_empty() {
            self.give_back(|table| {
                given_back.iter().for_each(|request| table.release(self.session_id, *request));
                true
            });
        }
    }

    /// Gives back the locks of the transaction.
    pub fn end_transaction(&self) {
        self.roll_back_to(0);
    }

    /// Gives back what `release` does, and tells those that wait, if it was something.
    fn give_back(&self, release: impl FnOnce(&mut LockTable) -> bool) -> bool {
        let is_given_back = self.locks.change(release);
        if is_given_back {
            self.locks.released.notify_waiters();
        }
        is_given_back
    }
}

impl OwnLocks {
    fn has(&self, request: Request) -> bool {
        self.requests.contains(&request)
    }

    fn add(&mut self, acquired: Acquired) {
        self.acquired.push(acquired);
        self.requests.insert(acquired.request);
        self.listed_count += usize::from(acquired.is_listed);
    }
}

impl Drop for SessionLocks {
    fn drop(&mut self) {
        self.locks.sessions.write().remove(&self.session_id);
        // Who looks through the lists may be about to look at this one.
        *self.own.lock() = OwnLocks::default();
        self.give_back(|table| table.release_all(self.session_id));
    }
}

/// A wait, until it is dropped.
struct Wait<'a>(&'a SessionLocks);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        // Others may have waited behind it.
        self.0.give_back(|table| {
            table.end_wait(self.0.session_id);
            true
        });
    }
}

async fn within(
    timeout: Option<Duration>,
    wait: impl Future<Output = Result<(), EngineError>>,
) -> Result<(), EngineError> {
    match timeout {
        None => wait.await,
        Some(timeout) => tokio::time::timeout(timeout, wait).await.unwrap_or_else(|_| {
            Err(EngineError::new(SqlState::LockNotAvailable, "canceling statement due to lock timeout"))
        }),
    }
}

fn request_of(lock: AdvisoryLock) -> Request {
    let mode = if lock.is_shared { LockMode::Share } else { LockMode::Exclusive };
    Request { target: LockTarget::Advisory(lock.key), mode }
}

fn full() -> EngineError {
    let message = format!("there are {TARGETS_MAX} locks already, which is the limit");
    EngineError::new(SqlState::OutOfMemory, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(key: i64, is_shared: bool, is_of_transaction: bool) -> AdvisoryLock {
        AdvisoryLock { key: AdvisoryKey::Whole(key), is_shared, is_of_transaction }
    }

    #[test]
    fn locks_are_counted_and_exclude_other_sessions() {
        let all = Arc::new(Locks::default());
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
        assert!(all.all().is_empty());
    }

    #[tokio::test]
    async fn a_wait_ends_when_the_lock_is_given_back_and_circles_are_refused() {
        let all = Arc::new(Locks::default());
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
        assert!(all.all().iter().all(|lock| lock.is_granted));
    }
}
