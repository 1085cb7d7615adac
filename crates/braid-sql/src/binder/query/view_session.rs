//! The session in which the text of a user's view is bound.
//!
//! Literals have the values that they had when the view was created: times without a zone are of that moment's zone, `'today'` is that
//! day. What is computed when a query runs, as `now()` and casts of columns, is of the session that runs it.

use std::sync::Arc;

use braid_base::{DomainType, DomainTypeId};

use crate::formats::Formats;
use crate::functions::advisory::AdvisoryLocks;
use crate::functions::backends::Backends;
use crate::functions::numbers::random::SessionRandom;
use crate::functions::{Notifications, ObjectNames, RowTypeName, Sequences, SessionFacts, SettingChanges};
use crate::input::time_zones::TimeZone;
use crate::pg_catalog::TypeId;
use crate::search_path::PUBLIC_SCHEMA;
use crate::tables::ViewOrigin;

/// A session with the zone and the time of a view.
#[derive(Debug)]
pub(super) struct ViewSession<'a> {
    session: &'a dyn SessionFacts,
    origin: &'a ViewOrigin,
}

impl<'a> ViewSession<'a> {
    pub fn new(session: &'a dyn SessionFacts, origin: &'a ViewOrigin) -> Self {
        Self { session, origin }
    }
}

impl SessionFacts for ViewSession<'_> {
    fn zone(&self) -> TimeZone {
        self.origin.zone
    }

    fn zone_name(&self) -> String {
        self.origin.zone_name.clone()
    }

    /// The text of a view is kept so that it reads in these.
    fn formats(&self) -> Formats {
        Formats::default()
    }

    fn transaction_us(&self) -> i64 {
        self.origin.read_at_us
    }

    fn statement_us(&self) -> i64 {
        self.origin.read_at_us
    }

    fn clock_us(&self) -> i64 {
        self.origin.read_at_us
    }

    fn user(&self) -> String {
        self.session.user()
    }

    fn session_user(&self) -> String {
        self.session.session_user()
    }

    fn database(&self) -> String {
        self.session.database()
    }

    fn session_id(&self) -> i32 {
        self.session.session_id()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.session.setting(name)
    }

    fn objects(&self) -> Option<Arc<dyn ObjectNames>> {
        Some(Arc::new(ViewNames(self.session.objects()?)))
    }

    fn random(&self) -> Option<&SessionRandom> {
        self.session.random()
    }

    fn notifications(&self) -> Option<Arc<dyn Notifications>> {
        self.session.notifications()
    }

    fn sequences(&self) -> Option<Arc<dyn Sequences>> {
        self.session.sequences()
    }

    fn backends(&self) -> Option<Arc<dyn Backends>> {
        self.session.backends()
    }

    fn advisory_locks(&self) -> Option<Arc<dyn AdvisoryLocks>> {
        self.session.advisory_locks()
    }

    fn setting_changes(&self) -> Option<Arc<dyn SettingChanges>> {
        self.session.setting_changes()
    }
}

/// Names whose types are found whatever the search path.
#[derive(Debug)]
struct ViewNames(Arc<dyn ObjectNames>);

impl ObjectNames for ViewNames {
    fn relation_id(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        self.0.relation_id(schema, name)
    }

    fn relation(&self, id: u32) -> Option<(String, String)> {
        self.0.relation(id)
    }

    fn commit_number(&self) -> u64 {
        self.0.commit_number()
    }

    fn schema_id(&self, name: &str) -> Option<u32> {
        self.0.schema_id(name)
    }

    fn schema(&self, id: u32) -> Option<String> {
        self.0.schema(id)
    }

    fn role_id(&self, name: &str) -> Option<u32> {
        self.0.role_id(name)
    }

    fn role(&self, id: u32) -> Option<String> {
        self.0.role(id)
    }

    fn type_id(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        // Texts of earlier versions name types of users, which were there; others name them by their numbers.
        self.0.type_id_within_view(Some(schema.unwrap_or(PUBLIC_SCHEMA)), name)
    }

    fn type_id_within_view(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        self.type_id(schema, name)
    }

    fn schema_of_type(&self, id: TypeId) -> Option<String> {
        self.0.schema_of_type(id)
    }

    fn type_of_oid(&self, oid: u32) -> Option<TypeId> {
        self.0.type_of_oid(oid)
    }

    fn domain(&self, domain: DomainTypeId) -> Arc<DomainType> {
        self.0.domain(domain)
    }

    fn row_type(&self, oid: u32) -> Option<RowTypeName> {
        self.0.row_type(oid)
    }

    fn sequence_of_column(&self, relation: u32, column: &str) -> Option<u32> {
        self.0.sequence_of_column(relation, column)
    }

    fn has_column(&self, relation: u32, name: &str) -> bool {
        self.0.has_column(relation, name)
    }

    fn relation_bytes(&self, id: u32) -> Option<u64> {
        self.0.relation_bytes(id)
    }

    fn database_bytes(&self) -> u64 {
        self.0.database_bytes()
    }
}
