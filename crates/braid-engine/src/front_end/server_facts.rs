//! What the system relations show of the server: one database, the session's user as the only role, settings, and the session.

use std::sync::Arc;

use braid_catalog::object_ids::BOOTSTRAP_ROLE_ID;
use braid_catalog::{CatalogNames, Database, PreparedStatement, Role, ServerFacts, ServerView, Session, Setting};

use super::computed_tables::columns_of;
use crate::named_statements::PreparedBy;
use crate::settings::{DEFINITIONS, Definition, Domain};
use crate::statement_context::StatementContext;
use crate::system_views::SystemView;

/// PostgreSQL's object id of the database that a new cluster has.
const DATABASE_ID: u32 = 5;

/// The server as a statement sees it.
#[derive(Debug)]
pub(super) struct StatementServer(pub StatementContext);

impl ServerFacts for StatementServer {
    fn database(&self) -> Database {
        Database { id: DATABASE_ID, name: self.0.database_name().to_owned() }
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role { id: BOOTSTRAP_ROLE_ID, name: self.0.user().to_owned(), is_superuser: true }]
    }

    fn settings(&self) -> Vec<Setting> {
        DEFINITIONS.iter().map(|definition| self.setting(definition)).collect()
    }

    fn views(&self) -> Vec<ServerView> {
        let view = |view: &Arc<dyn SystemView>| {
            let columns = columns_of(&**view).unwrap_or_default();
            let columns = columns.into_iter().map(|column| (column.name, column.sql_type));
            ServerView { name: view.name().to_owned(), columns: columns.collect() }
        };
        self.0.database().system_views().iter().map(view).collect()
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
        let instants = self.0.instants();
        vec![Session {
            id: self.0.session_id(),
            role_id: BOOTSTRAP_ROLE_ID,
            role_name: self.0.user().to_owned(),
            application_name: self.0.setting("application_name").unwrap_or_default(),
            client_port: None,
            started_us: self.0.session_started_us(),
            transaction_started_us: Some(instants.transaction_us),
            query_started_us: Some(instants.statement_us),
            state_changed_us: Some(instants.statement_us),
            state: "active",
            query: None,
        }]
    }
}

/// The names in the snapshot that a statement reads now.
pub(super) fn names_of(context: &StatementContext) -> CatalogNames {
    let server = StatementServer(context.clone());
    let views = context.database().system_views().iter().map(|view| view.name().to_owned()).collect();
    CatalogNames { catalog: context.snapshot(), roles: server.roles(), views, path: context.search_path() }
}

impl StatementServer {
    fn setting(&self, definition: &Definition) -> Setting {
        let is_set = self.0.settings().get(definition.name).is_some();
        Setting {
            name: definition.name.to_owned(),
            value: self.0.setting(definition.name).unwrap_or_default(),
            unit: None,
            category: if definition.name.starts_with("braid.") { "Customized Options" } else { "Ungrouped" },
            description: definition.description,
            context: if matches!(definition.domain, Domain::Fixed) { "internal" } else { "user" },
            value_type: type_of(definition.domain),
            source: if is_set { "session" } else { "default" },
            boot_value: Some(definition.default.to_owned()),
            reset_value: Some(definition.default.to_owned()),
        }
    }
}

fn type_of(domain: Domain) -> &'static str {
    match domain {
        Domain::Boolean => "bool",
        Domain::OneOf(_) | Domain::ScanPolicy => "enum",
        Domain::Integer(..) => "integer",
        Domain::Fixed
        | Domain::Text
        | Domain::Names
        | Domain::Milliseconds
        | Domain::Bytes
        | Domain::Zone
        | Domain::DateStyle => "string",
    }
}
