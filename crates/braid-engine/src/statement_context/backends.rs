//! The session among all others: what they are shown of it, and what it does to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::Session;
use braid_catalog::object_ids::table_of_object_id;
use braid_catalog::privileges::Roles;
use braid_sql::SqlError;
use braid_sql::functions::backends::{Backends, RowCounts, Upkeep};
use braid_storage::{OtherWaits, RoleId};

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

    fn stop(&self, session: i32, how: &Stop) -> Result<bool, SqlError> {
        match self.database().sessions().find(session) {
            Some(found) => {
                self.check_may_stop(RoleId(found.shown().role_id), how)?;
                (how.stop)(found.activity());
                Ok(true)
            }
            None => {
                let message = format!("PID {session} is not a PostgreSQL backend process");
                self.raise(Notice::warning(SqlState::Warning, message));
                Ok(false)
            }
        }
    }

    /// Sessions of superusers are stopped by superusers, others also by members of their roles and of `pg_signal_backend`.
    fn check_may_stop(&self, role: RoleId, how: &Stop) -> Result<(), SqlError> {
        let (snapshot, current) = (self.snapshot(), self.current_role());
        let roles = Roles::of(snapshot.access());
        let denied = |message: &str| Err(SqlError::new(SqlState::InsufficientPrivilege, message));
        if roles.is_superuser(role) && !roles.is_superuser(current) {
            return denied(how.of_superuser);
        }
        match roles.has_privileges_of(current, role) || roles.has_privileges_of(current, Roles::SIGNAL_BACKEND) {
            true => Ok(()),
            false => denied(how.of_other),
        }
    }
}

/// How a session is stopped, and the refusals of those who may not.
struct Stop {
    stop: fn(&Activity),
    of_superuser: &'static str,
    of_other: &'static str,
}

const CANCEL: Stop = Stop {
    stop: Activity::cancel,
    of_superuser: "must be a superuser to cancel superuser query",
    of_other: "must be a member of the role whose query is being canceled or member of pg_signal_backend",
};

const TERMINATE: Stop = Stop {
    stop: Activity::terminate,
    of_superuser: "must be a superuser to terminate superuser process",
    of_other: "must be a member of the role whose process is being terminated or member of pg_signal_backend",
};

impl Backends for StatementContext {
    fn cancel(&self, session: i32) -> Result<bool, SqlError> {
        self.stop(session, &CANCEL)
    }

    fn terminate(&self, session: i32) -> Result<bool, SqlError> {
        self.stop(session, &TERMINATE)
    }

    fn blocking(&self, session: i32) -> Vec<i32> {
        let transactions = self.database().store().locking_transactions();
        let waiting = transactions.iter().filter(|transaction| transaction.session == Some(session));
        let holders: BTreeSet<u64> = waiting.filter_map(|transaction| transaction.waits_for).collect();
        let of_rows = transactions.iter().filter(|transaction| holders.contains(&transaction.number));
        let of_rows = of_rows.filter_map(|transaction| transaction.session);
        let all: BTreeSet<i32> = of_rows.chain(self.database().locks().blocking(session)).collect();
        all.into_iter().collect()
    }

    fn transaction_counts(&self) -> (i64, i64) {
        self.database().transaction_counts()
    }

    fn session_count(&self) -> i64 {
        self.database().session_count()
    }

    fn row_counts(&self) -> RowCounts {
        self.database().row_counts().now()
    }

    fn upkeep(&self, relation: u32) -> Upkeep {
        table_of_object_id(relation).map(|table| self.database().upkeep_traces().of(table)).unwrap_or_default()
    }

    fn started_us(&self) -> i64 {
        self.database().started_us()
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
            role_id: self.login.role.map_or(0, |role| role.0),
            role_name: self.login.name.clone(),
            application_name,
            client_port: self.activity.client_port(),
            encryption: self.activity.encryption().cloned(),
            started_us: self.started_us,
            transaction_started_us: transaction_us,
            query_started_us,
            state_changed_us: Some(changed_us),
            wait: (!is_active).then_some(("Client", "ClientRead")),
            state,
            query,
            is_hidden: false,
        }
    }
}
