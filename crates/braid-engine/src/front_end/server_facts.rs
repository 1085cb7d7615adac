//! What the system relations show of the server: one database, the session's user as the only role, settings, all sessions, and locks.

use std::sync::Arc;

use braid_catalog::object_ids::table_object_id;
use braid_catalog::privileges::Roles;
use braid_catalog::{
    CatalogNames, Cursor, Database, Lock, LockTarget, PreparedStatement, Role, ServerFacts, ServerView, Session,
    Setting,
};
use braid_sql::SearchPath;
use braid_sql::functions::DATABASE_ID;
use braid_sql::functions::advisory::AdvisoryKey;
use braid_storage::RoleId;

use super::computed_tables::columns_of;
use crate::named_cursors::NamedCursor;
use crate::named_statements::PreparedBy;
use crate::session_locks::LockTarget as SessionLockTarget;
use crate::settings::{Definition, SettingSource, category, listed_definitions};
use crate::statement_context::StatementContext;
use crate::system_views::SystemView;

/// The server as a statement sees it.
#[derive(Debug)]
pub(super) struct StatementServer(pub StatementContext);

impl ServerFacts for StatementServer {
    fn database(&self) -> Database {
        Database { id: DATABASE_ID, name: self.0.database_name().to_owned() }
    }

    fn search_path(&self) -> SearchPath {
        self.0.search_path()
    }

    fn roles(&self) -> Vec<Role> {
        let snapshot = self.0.snapshot();
        let access = snapshot.access();
        let unnamed = access.role(RoleId::BOOTSTRAP).is_none();
        let bootstrap =
            unnamed.then(|| Role { id: RoleId::BOOTSTRAP.0, name: self.0.login_name().to_owned(), is_superuser: true });
        let known = access.roles().map(|role| Role {
            id: role.id.0,
            name: role.name.clone(),
            is_superuser: role.attributes.is_superuser,
        });
        bootstrap.into_iter().chain(known).collect()
    }

    fn settings(&self) -> Vec<Setting> {
        listed_definitions().map(|definition| self.setting(definition)).collect()
    }

    fn checkpoint_count(&self) -> u64 {
        self.0.database().store().checkpoint_count()
    }

    fn started_us(&self) -> i64 {
        self.0.database().started_us()
    }

    fn views(&self) -> Vec<ServerView> {
        let view = |view: &Arc<dyn SystemView>| {
            let columns = columns_of(&**view).unwrap_or_default();
            let columns = columns.into_iter().map(|column| (column.name, column.sql_type));
            ServerView { name: view.name().to_owned(), columns: columns.collect() }
        };
        self.0.database().system_views().iter().map(view).collect()
    }

    fn cursors(&self) -> Vec<Cursor> {
        let all = self.0.named_cursors().all().into_iter();
        let shown = all.map(|(name, cursor, opened_us)| {
            let NamedCursor { text, is_holdable, is_binary, is_scrollable } = cursor;
            Cursor { name, text, is_holdable, is_binary, is_scrollable, opened_us }
        });
        shown.collect()
    }

    fn prepared_statements(&self) -> Vec<PreparedStatement> {
        let all = self.0.named_statements().all().into_iter();
        let shown = all.map(|(name, statement)| PreparedStatement {
            name,
            text: statement.text().to_owned(),
            prepared_us: statement.prepared_us(),
            parameter_type_oids: statement.parameter_types().iter().map(|parameter| parameter.oid).collect(),
            is_from_sql: statement.prepared_by() == PreparedBy::Statement,
            execution_count: statement.execution_count(),
        });
        shown.collect()
    }

    fn sessions(&self) -> Vec<Session> {
        let locks = self.locks();
        let waits_for = |session: i32| {
            let is_meant = |lock: &&Lock| !lock.is_granted && lock.session == session;
            locks.iter().find(is_meant).map(|lock| match lock.target {
                LockTarget::Advisory { .. } => ("Lock", "advisory"),
                LockTarget::Transaction(_) => ("Lock", "transactionid"),
                LockTarget::Relation(_) => ("Lock", "relation"),
                LockTarget::Definition(_) => ("Lock", "object"),
            })
        };
        let shown = self.0.database().sessions().all().into_iter().map(|session| session.shown());
        let (snapshot, asking) = (self.0.snapshot(), self.0.current_role());
        let roles = Roles::of(snapshot.access());
        let sees_all = roles.has_privileges_of(asking, Roles::READ_ALL_STATS);
        let is_hidden = |role: u32| !sees_all && !roles.has_privileges_of(asking, RoleId(role));
        let session = |session: Session| Session {
            wait: waits_for(session.id).or(session.wait),
            is_hidden: is_hidden(session.role_id),
            ..session
        };
        shown.map(session).collect()
    }

    fn locks(&self) -> Vec<Lock> {
        let transactions = self.0.database().store().locking_transactions();
        // PostgreSQL's numbers of transactions have 32 bits, too, and begin anew.
        let number = |number: u64| LockTarget::Transaction(number as u32);
        let mut locks = Vec::new();
        for transaction in &transactions {
            let Some(session) = transaction.session else { continue };
            let own = (number(transaction.number), "ExclusiveLock", true);
            let awaited = transaction.waits_for.map(|holder| (number(holder), "ShareLock", false));
            let all = [own].into_iter().chain(awaited);
            let lock = |(target, mode, is_granted)| Lock { target, session, mode, is_granted, is_fast: false };
            locks.extend(all.map(lock));
        }
        locks.extend(self.0.database().locks().all().into_iter().map(|lock| Lock {
            target: match lock.request.target {
                SessionLockTarget::Advisory(key) => advisory_target(key),
                SessionLockTarget::Relation(table) => LockTarget::Relation(table_object_id(table)),
                SessionLockTarget::Definition(table) => LockTarget::Definition(table_object_id(table)),
            },
            session: lock.session,
            mode: lock.request.mode.name(),
            is_granted: lock.is_granted,
            is_fast: lock.is_listed,
        }));
        locks
    }
}

/// The names in the snapshot that a statement reads now.
pub(super) fn names_of(context: &StatementContext) -> CatalogNames {
    let server = StatementServer(context.clone());
    let views = context.database().view_names().clone();
    CatalogNames { catalog: context.snapshot(), roles: server.roles(), views, path: context.search_path() }
}

impl StatementServer {
    fn setting(&self, definition: &Definition) -> Setting {
        let (settings, boot) = (self.0.settings(), self.0.default_of(definition));
        let source = match settings.source(definition.name) {
            SettingSource::Default => definition.default_source(),
            source => source.shown(),
        };
        Setting {
            name: definition.name.to_owned(),
            value: definition.in_units(&self.0.setting(definition.name).unwrap_or_default()),
            unit: definition.unit(),
            category: category(definition.name),
            description: definition.description,
            context: definition.context(),
            value_type: definition.value_type(),
            bounds: definition.bounds(),
            enum_values: definition.enum_values(),
            source,
            boot_value: Some(definition.in_units(definition.boot_value().unwrap_or(&boot))),
            reset_value: Some(definition.in_units(settings.reset_value(definition.name).unwrap_or(&boot))),
        }
    }
}

/// The numbers of an advisory lock as PostgreSQL shows them.
fn advisory_target(key: AdvisoryKey) -> LockTarget {
    match key {
        AdvisoryKey::Whole(whole) => {
            let halves = whole.cast_unsigned();
            LockTarget::Advisory { upper: (halves >> 32) as u32, lower: halves as u32, is_pair: false }
        }
        AdvisoryKey::Pair(first, second) => {
            LockTarget::Advisory { upper: first.cast_unsigned(), lower: second.cast_unsigned(), is_pair: true }
        }
    }
}
