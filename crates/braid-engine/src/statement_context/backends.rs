//! The session among all others: what they are shown of it, and what it does to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::Session;
use braid_catalog::object_ids::BOOTSTRAP_ROLE_ID;
use braid_sql::functions::backends::Backends;
use braid_storage::OtherWaits;

use super::{Shared, StatementContext};
use crate::activity::{ActiveSession, Activity, ActivityNow};
use crate::notices::Notice;
use crate::{EngineError, SqlState, TransactionStatus};

impl StatementContext {
    /// From now on other sessions know of this one.
    pub fn enter_sessions(&self) {
        let session: Arc<dyn ActiveSession> = self.shared.clone();
        self.database().sessions().enter(self.session_id(), Arc::downgrade(&session));
    }

    /// Refuses statements of a session that another one has ended.
    ///
    /// # Errors
    /// 57P01
    pub fn check_not_terminated(&self) -> Result<(), EngineError> {
        match self.activity().terminated().is_cancelled() {
            true => {
                Err(EngineError::new(SqlState::AdminShutdown, "terminating connection due to administrator command"))
            }
            false => Ok(()),
        }
    }

    /// The next statement may come, unless it belongs to a message that is being executed.
    pub fn end_activity(&self) {
        if self.shared.state.lock().message.is_none() {
            self.activity().end();
        }
    }

    fn stop(&self, session: i32, stop: fn(&Activity)) -> bool {
        match self.database().sessions().find(session) {
            Some(found) => {
                stop(found.activity());
                true
            }
            None => {
                let message = format!("PID {session} is not a PostgreSQL backend process");
                self.raise(Notice::warning(SqlState::Warning, message));
                false
            }
        }
    }
}

impl Backends for StatementContext {
    fn cancel(&self, session: i32) -> bool {
        self.stop(session, Activity::cancel)
    }

    fn terminate(&self, session: i32) -> bool {
        self.stop(session, Activity::terminate)
    }

    fn blocking(&self, session: i32) -> Vec<i32> {
        let transactions = self.database().store().locking_transactions();
        let waiting = transactions.iter().filter(|transaction| transaction.session == Some(session));
        let holders: BTreeSet<u64> = waiting.filter_map(|transaction| transaction.waits_for).collect();
        let of_rows = transactions.iter().filter(|transaction| holders.contains(&transaction.number));
        let of_rows = of_rows.filter_map(|transaction| transaction.session);
        let all: BTreeSet<i32> = of_rows.chain(self.database().advisory_locks().blocking(session)).collect();
        all.into_iter().collect()
    }
}

impl ActiveSession for Shared {
    fn activity(&self) -> &Activity {
        &self.activity
    }

    fn shown(&self) -> Session {
        let ActivityNow { query, query_started_us, changed_us, is_active } = self.activity.now();
        let (status, application_name, transaction_us) = {
            let state = self.state.lock();
            let application_name = state.settings.get("application_name").unwrap_or_default().to_owned();
            let status = state.transaction.status();
            let began_us = state.instants.transaction_us;
            let transaction_us = match (status, &state.message) {
                (TransactionStatus::Idle, Some(message)) => message.transaction_us,
                (TransactionStatus::Idle, None) => is_active.then_some(began_us),
                _ => Some(began_us),
            };
            (status, application_name, transaction_us)
        };
        let state = match (is_active, status) {
            (true, _) => "active",
            (false, TransactionStatus::Idle) => "idle",
            (false, TransactionStatus::InBlock) => "idle in transaction",
            (false, TransactionStatus::Failed) => "idle in transaction (aborted)",
        };
        Session {
            id: self.session_id,
            role_id: BOOTSTRAP_ROLE_ID,
            role_name: self.user.clone(),
            application_name,
            client_port: self.activity.client_port(),
            started_us: self.started_us,
            transaction_started_us: transaction_us,
            query_started_us,
            state_changed_us: Some(changed_us),
            wait: (!is_active).then_some(("Client", "ClientRead")),
            state,
            query,
        }
    }
}
