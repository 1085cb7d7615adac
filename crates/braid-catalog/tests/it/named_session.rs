//! A session that knows the names and the privileges of a state of the database.

use std::sync::Arc;

use braid_catalog::{CatalogNames, ServerFacts};
use braid_sql::functions::{ObjectNames, SessionFacts};
use braid_sql::input::time_zones::TimeZone;
use braid_sql::testing::FixedSession;
use braid_sql::{Formats, SearchPath};
use braid_storage::Catalog;

use crate::given_server::GivenServer;

/// The session of user `postgres` in database `postgres`.
#[derive(Clone, Debug)]
pub struct NamedSession(Arc<CatalogNames>);

impl NamedSession {
    /// Over a state of the database.
    pub fn of(catalog: Arc<Catalog>) -> Self {
        let (roles, views, path) = (GivenServer.roles(), Arc::new([]), SearchPath::default());
        Self(Arc::new(CatalogNames { catalog, roles, views, path }))
    }
}

impl SessionFacts for NamedSession {
    fn zone(&self) -> TimeZone {
        FixedSession.zone()
    }

    fn formats(&self) -> Formats {
        Formats::default()
    }

    fn zone_name(&self) -> String {
        FixedSession.zone_name()
    }

    fn transaction_us(&self) -> i64 {
        FixedSession.transaction_us()
    }

    fn statement_us(&self) -> i64 {
        FixedSession.statement_us()
    }

    fn clock_us(&self) -> i64 {
        FixedSession.clock_us()
    }

    fn user(&self) -> String {
        "postgres".to_owned()
    }

    fn database(&self) -> String {
        "postgres".to_owned()
    }

    fn session_id(&self) -> i32 {
        FixedSession.session_id()
    }

    fn setting(&self, name: &str) -> Option<String> {
        FixedSession.setting(name)
    }

    fn objects(&self) -> Option<Arc<dyn ObjectNames>> {
        Some(self.0.clone())
    }
}
