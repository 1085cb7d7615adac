//! The locks of the session: of tables and of numbers.
//!
//! A statement finds out which tables it uses while it is planned, and which it defines anew when it does so. If one of them is locked, the
//! statement fails; it then waits for the lock and begins anew ([`Attempts`]), in the state that there is then. What it has changed
//! before is taken back. So it does where it gets a lock at once, but of what others have changed since it began.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use braid_base::TableId;
use braid_sql::SqlError;
use braid_sql::functions::advisory::{AdvisoryKey, AdvisoryLock, AdvisoryLocks};
use braid_storage::{Catalog, TableDef};

use super::StatementContext;
use crate::notices::Notice;
use crate::session_locks::{LockMode, LockTarget, Request, SessionLocks, Used};
use crate::transaction::TransactionMark;
use crate::{EngineError, SqlState, StatementKind};

/// What a statement is to do before it begins anew.
#[derive(Clone, Copy, Debug)]
pub(super) enum Postponed {
    /// To wait for a lock.
    Until(Request),
    /// Nothing: the lock was given back after it had read the state of the database.
    ForNewState,
}

/// The attempt at a statement that may begin anew.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// None of the session has had it before: a planner that is left over from an earlier one is told from its own.
    number: u64,
    /// How many strong locks had been given back when it began.
    strong_given_back: u64,
    /// What was committed when it began, if it may define something anew.
    committed: Option<Arc<Catalog>>,
    postponed: Option<Postponed>,
}

/// The attempts at a statement, which may be part of another one. One is made after the other, as long as they find tables locked.
pub(crate) struct Attempts<'a> {
    context: &'a StatementContext,
    /// Whether an attempt may fail half-way.
    has_steps: bool,
    /// That of the other statement.
    outer: Option<Attempt>,
    /// What the attempt has found: the transaction, if it may fail half-way, and the notices that wait.
    found: (Option<TransactionMark>, usize),
}

impl Attempts<'_> {
    /// Begins an attempt.
    pub fn begin(&mut self) {
        let shared = &self.context.shared;
        let strong_given_back = self.context.database().locks().strong_given_back();
        let committed = self.has_steps.then(|| self.context.database().store().snapshot());
        let mut state = shared.state.lock();
        state.attempt_count += 1;
        let number = state.attempt_count;
        state.attempt = Some(Attempt { number, strong_given_back, committed, postponed: None });
        self.found = (self.has_steps.then(|| state.transaction.mark()), shared.notices.count());
    }

    /// What comes of an attempt: the statement's outcome, or another attempt, after the lock that it waits for was given back.
    pub async fn end<T>(&mut self, outcome: Result<T, EngineError>) -> ControlFlow<Result<T, EngineError>> {
        let postponed = self.context.postponed();
        let (Err(error), Some(postponed)) = (&outcome, postponed) else { return ControlFlow::Break(outcome) };
        if error.state() != SqlState::LockNotAvailable {
            return ControlFlow::Break(outcome);
        }
        let (mark, notice_count) = std::mem::take(&mut self.found);
        if let Some(mark) = mark {
            self.context.shared.state.lock().transaction.return_to(mark);
        }
        self.context.shared.notices.truncate(notice_count);
        match postponed {
            Postponed::ForNewState => ControlFlow::Continue(()),
            Postponed::Until(request) => match self.context.acquire(request).await {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(Err(error)),
            },
        }
    }
}

impl Drop for Attempts<'_> {
    fn drop(&mut self) {
        self.context.shared.state.lock().attempt = self.outer.take();
    }
}

/// Gives back what a statement was prepared with when it is dropped, if no transaction is under way.
pub(crate) struct Preparation<'a>(pub &'a StatementContext);

impl Drop for Preparation<'_> {
    fn drop(&mut self) {
        if self.0.is_between_transactions() {
            self.0.locks().end_transaction();
        }
    }
}

impl StatementContext {
    /// The locks of the session.
    pub fn locks(&self) -> &SessionLocks {
        &self.shared.locks
    }

    /// Takes an advisory lock when no other session excludes it, within the session's `lock_timeout`.
    ///
    /// # Errors
    /// As [`SessionLocks::lock`].
    pub async fn lock(&self, lock: AdvisoryLock) -> Result<(), EngineError> {
        let row_waits = || self.database().store().session_waits();
        self.times().of_lock_wait(self.locks().lock(lock, self.lock_timeout(), row_waits)).await
    }

    /// Locks for the transaction when no other session excludes it, within the session's `lock_timeout`.
    ///
    /// # Errors
    /// As [`SessionLocks::acquire`].
    pub async fn acquire(&self, request: Request) -> Result<(), EngineError> {
        let row_waits = || self.database().store().session_waits();
        self.times().of_lock_wait(self.locks().acquire(request, self.lock_timeout(), row_waits)).await
    }

    fn lock_timeout(&self) -> Option<Duration> {
        self.settings().lock_timeout_ms().map(Duration::from_millis)
    }

    /// The attempts at a statement.
    pub fn attempts(&self, kind: StatementKind) -> Attempts<'_> {
        let outer = self.shared.state.lock().attempt.clone();
        Attempts { context: self, has_steps: kind.defines(), outer, found: (None, 0) }
    }

    /// What the statement that is executed or planned is to wait for.
    pub(super) fn postponed(&self) -> Option<Postponed> {
        self.shared.state.lock().attempt.as_ref().and_then(|attempt| attempt.postponed)
    }

    /// Whether the statement that is executed or planned has found a table locked.
    pub fn is_postponed(&self) -> bool {
        self.postponed().is_some()
    }

    /// The same context for a planner, which may go on when its statement has been given up.
    pub fn of_planner(&self) -> Self {
        Self { planned: self.shared.state.lock().attempt.as_ref().map(|attempt| attempt.number), ..self.clone() }
    }

    /// Locks a table that the statement reads or changes.
    ///
    /// # Errors
    /// When the statement is to begin anew.
    pub fn use_table(&self, table: TableId, mode: LockMode) -> Result<(), EngineError> {
        let reads_one_state = self.has_fixed_snapshot();
        // Under this lock, so that the end of the statement comes before or after.
        let mut state = self.shared.state.lock();
        let attempt = state.attempt.as_mut();
        if self.planned.is_some_and(|planned| attempt.as_ref().is_none_or(|attempt| attempt.number != planned)) {
            return Err(EngineError::new(SqlState::QueryCanceled, "the statement was given up while it was planned"));
        }
        let postponed = match (self.locks().use_table(table, mode)?, &attempt) {
            (Used::Now { strong_given_back }, Some(attempt))
                if attempt.strong_given_back != strong_given_back && !reads_one_state =>
            {
                Postponed::ForNewState
            }
            (Used::Before | Used::Now { .. }, _) => return Ok(()),
            (Used::Excluded, _) => Postponed::Until(Request { target: LockTarget::Relation(table), mode }),
        };
        Err(postpone(attempt, postponed))
    }

    /// As [`Self::use_table`], for a statement that has found what it changes, and then reads the newest state: it waits in its midst.
    ///
    /// # Errors
    /// As [`Self::acquire`].
    pub async fn wait_to_use(&self, table: TableId, mode: LockMode) -> Result<(), EngineError> {
        match self.locks().use_table(table, mode)? {
            Used::Before | Used::Now { .. } => Ok(()),
            Used::Excluded => self.acquire(Request { target: LockTarget::Relation(table), mode }).await,
        }
    }

    /// Locks a table whose rows the statement changes, and those that its rows refer to.
    ///
    /// # Errors
    /// As [`Self::use_table`].
    pub fn use_changed_table(&self, def: &TableDef) -> Result<(), EngineError> {
        self.use_table(def.id, LockMode::RowExclusive)?;
        def.foreign_keys.iter().try_for_each(|key| self.use_table(key.referenced, LockMode::RowShare))
    }

    /// Locks relations that the statement defines anew, before anybody else sees that.
    ///
    /// # Errors
    /// When the statement is to begin anew.
    pub fn define_relations(
        &self,
        relations: impl IntoIterator<Item = TableId>,
        mode: LockMode,
    ) -> Result<(), EngineError> {
        relations.into_iter().try_for_each(|relation| {
            let request = Request { target: LockTarget::Relation(relation), mode };
            self.define_locked(request, relation)?;
            match mode {
                // Others may lock it so, too, but one definition takes the place of another.
                LockMode::Share => {
                    let target = LockTarget::Definition(relation);
                    self.define_locked(Request { target, mode: LockMode::Exclusive }, relation)
                }
                _ => Ok(()),
            }
        })
    }

    fn define_locked(&self, request: Request, relation: TableId) -> Result<(), EngineError> {
        if self.locks().holds(request) {
            return Ok(());
        }
        let postponed = match self.locks().try_acquire(request)? {
            true if self.is_changed_since(relation) => Postponed::ForNewState,
            true => return Ok(()),
            false => Postponed::Until(request),
        };
        Err(postpone(self.shared.state.lock().attempt.as_mut(), postponed))
    }

    /// Whether others have committed changes of a relation since the attempt began.
    fn is_changed_since(&self, relation: TableId) -> bool {
        let newest = self.database().store().snapshot();
        let state = self.shared.state.lock();
        let begun = state.attempt.as_ref().and_then(|attempt| attempt.committed.as_ref());
        begun.is_some_and(|begun| !newest.has_same_relation(begun, relation))
    }
}

/// The error with which planning ends. It is shown where nothing begins anew.
fn postpone(attempt: Option<&mut Attempt>, postponed: Postponed) -> EngineError {
    if let Some(attempt) = attempt {
        attempt.postponed = Some(postponed);
    }
    EngineError::new(SqlState::LockNotAvailable, "a table is locked by another transaction")
}

impl AdvisoryLocks for StatementContext {
    fn try_lock(&self, lock: AdvisoryLock) -> Result<bool, SqlError> {
        self.locks().try_lock(lock).map_err(|error| SqlError::new(error.state(), error.message()))
    }

    fn unlock(&self, key: AdvisoryKey, is_shared: bool) -> bool {
        let is_held = self.locks().unlock(key, is_shared);
        if !is_held {
            let kind = if is_shared { "ShareLock" } else { "ExclusiveLock" };
            self.raise(Notice::warning(SqlState::Warning, format!("you don't own a lock of type {kind}")));
        }
        is_held
    }

    fn unlock_all(&self) {
        self.locks().unlock_all();
    }
}
