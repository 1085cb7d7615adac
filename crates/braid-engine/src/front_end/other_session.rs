//! Another session than the statement's: what is read alike in both depends on neither.

use std::sync::Arc;

use braid_base::{DomainType, DomainTypeId};
use braid_sql::Formats;
use braid_sql::functions::{ObjectNames, SessionFacts};
use braid_sql::input::time_zones::TimeZone;
use braid_sql::pg_catalog::TypeId;

/// Seconds that its zone is east of UTC: 11:11:11, as no zone of the world is.
const EAST_S: i64 = 40_271;

/// How much later it is, in microseconds: some 401 days, so that the day, the year and the time of day are others.
const LATER_US: i64 = 401 * 86_400_000_000 + 12_345_678_901;

/// A session in another zone, at another time, in which relations have no names.
#[derive(Debug)]
pub(super) struct OtherSession<'a>(&'a dyn SessionFacts);

impl<'a> OtherSession<'a> {
    pub fn than(session: &'a dyn SessionFacts) -> Self {
        Self(session)
    }
}

impl SessionFacts for OtherSession<'_> {
    fn zone(&self) -> TimeZone {
        TimeZone::at_offset(EAST_S).map_or(TimeZone::UTC, |(zone, _)| zone)
    }

    fn zone_name(&self) -> String {
        TimeZone::at_offset(EAST_S).map_or_else(String::new, |(_, name)| name)
    }

    /// Its formats are the same: stored texts are read in others, so that both are compared where one is written.
    fn formats(&self) -> Formats {
        self.0.formats()
    }

    fn transaction_us(&self) -> i64 {
        self.0.transaction_us() + LATER_US
    }

    fn statement_us(&self) -> i64 {
        self.0.statement_us() + LATER_US
    }

    fn clock_us(&self) -> i64 {
        self.0.clock_us() + LATER_US
    }

    fn user(&self) -> String {
        String::new()
    }

    fn database(&self) -> String {
        self.0.database()
    }

    fn session_id(&self) -> i32 {
        self.0.session_id() + 1
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.0.setting(name)
    }

    fn objects(&self) -> Option<Arc<dyn ObjectNames>> {
        Some(Arc::new(OnlyTypes(self.0.objects()?)))
    }
}

/// Names of types alone.
#[derive(Debug)]
struct OnlyTypes(Arc<dyn ObjectNames>);

impl ObjectNames for OnlyTypes {
    fn relation_id(&self, _schema: Option<&str>, _name: &str) -> Option<u32> {
        None
    }

    fn relation(&self, _id: u32) -> Option<(String, String)> {
        None
    }

    fn schema_id(&self, _name: &str) -> Option<u32> {
        None
    }

    fn schema(&self, _id: u32) -> Option<String> {
        None
    }

    fn role_id(&self, _name: &str) -> Option<u32> {
        None
    }

    fn role(&self, _id: u32) -> Option<String> {
        None
    }

    fn type_id(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        self.0.type_id(schema, name)
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

    fn has_column(&self, _relation: u32, _name: &str) -> bool {
        false
    }

    fn relation_bytes(&self, _id: u32) -> Option<u64> {
        None
    }

    fn database_bytes(&self) -> u64 {
        0
    }
}
