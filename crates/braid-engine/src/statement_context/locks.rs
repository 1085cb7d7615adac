//! The advisory locks of the session.

use std::time::Duration;

use braid_sql::SqlError;
use braid_sql::functions::advisory::{AdvisoryKey, AdvisoryLock, AdvisoryLocks};

use super::StatementContext;
use crate::advisory_locks::SessionLocks;
use crate::notices::Notice;
use crate::{EngineError, SqlState};

impl StatementContext {
    /// The advisory locks of the session.
    pub fn locks(&self) -> &SessionLocks {
        &self.shared.locks
    }

    /// Locks, when no other session excludes it, within the session's `lock_timeout`.
    ///
    /// # Errors
    /// As [`SessionLocks::lock`].
    pub async fn lock(&self, lock: AdvisoryLock) -> Result<(), EngineError> {
        let timeout = self.settings().lock_timeout_ms().map(Duration::from_millis);
        self.times().of_lock_wait(self.locks().lock(lock, timeout, || self.database().store().session_waits())).await
    }
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
