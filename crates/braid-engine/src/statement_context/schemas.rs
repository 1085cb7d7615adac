//! The schemas of a session: where names are looked up.

use braid_base::SchemaId;
use braid_sql::SearchPath;
use braid_sql::search_path::{SessionSchemas, TEMPORARY_SCHEMA, is_built_in};
use braid_storage::Catalog;

use super::StatementContext;
use crate::EngineError;

impl StatementContext {
    /// The schemas that names without one are looked up in, as they are now.
    pub fn search_path(&self) -> SearchPath {
        self.search_path_in(&self.snapshot())
    }

    /// The schemas of a snapshot that names without one are looked up in.
    pub fn search_path_in(&self, snapshot: &Catalog) -> SearchPath {
        if snapshot.schemas().len() == 0 {
            return self.settings().get("search_path").map_or_else(SearchPath::default, SearchPath::of);
        }
        let own = self.temporary_schema_name();
        let temporary = snapshot.schema_named(&own).map(|_| own.as_str());
        let exists = |name: &str| snapshot.schema_named(name).is_some_and(|id| !snapshot.is_temporary(id));
        let schemas = SessionSchemas { user: self.user(), temporary, exists: &exists };
        SearchPath::of_session(&self.setting("search_path").unwrap_or_default(), &schemas)
    }

    /// The name of the session's temporary schema, if it has one.
    pub fn temporary_schema_name(&self) -> String {
        format!("pg_temp_{}", self.session_id())
    }

    /// The session's temporary schema in a snapshot.
    pub fn temporary_schema(&self, snapshot: &Catalog) -> Option<SchemaId> {
        (snapshot.schemas().len() > 0).then(|| snapshot.schema_named(&self.temporary_schema_name())).flatten()
    }

    /// The schema of users that a written name means; `None` for one of the system, or none.
    ///
    /// # Errors
    /// For temporary schemas of other sessions (0A000).
    pub fn schema_of_users(&self, snapshot: &Catalog, written: &str) -> Result<Option<SchemaId>, EngineError> {
        if written == TEMPORARY_SCHEMA {
            return Ok(self.temporary_schema(snapshot));
        }
        let Some(id) = snapshot.schema_named(written) else { return Ok(None) };
        match snapshot.is_temporary(id) && self.temporary_schema(snapshot) != Some(id) {
            true => Err(EngineError::unsupported("cannot access temporary tables of other sessions")),
            false => Ok(Some(id)),
        }
    }

    /// Whether there is a schema of this name.
    pub fn is_schema(&self, snapshot: &Catalog, written: &str) -> bool {
        is_built_in(written) || !matches!(self.schema_of_users(snapshot, written), Ok(None))
    }

    /// The name of a schema, for messages.
    pub fn schema_name(&self, id: SchemaId) -> String {
        self.snapshot().schema_name(id).unwrap_or_default().to_owned()
    }
}
