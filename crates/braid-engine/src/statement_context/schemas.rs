//! The schemas of a session: where names are looked up, and its temporary schema.
//!
//! Temporary tables are in the store and its log as all others, in a schema that only its session finds by `pg_temp`: so a transaction that
//! changes both kinds has one commit. They go with the last part of their session; the opening of a directory drops those that a crash
//! has left.

use braid_base::{SchemaId, TableId};
use braid_catalog::object_ids::table_of_object_id;
use braid_catalog::privileges::ObjectAccess;
use braid_catalog::sequence_references::references;
use braid_sql::SearchPath;
use braid_sql::search_path::{SessionSchemas, TEMPORARY_SCHEMA, is_built_in};
use braid_storage::{AccessObject, Catalog, ColumnDef, Privileges, WriteSet};
use sqlparser::ast::OnCommit;

use super::{Shared, StatementContext};
use crate::{EngineError, SqlState};

impl StatementContext {
    /// The schemas that names without one are looked up in, as they are now.
    pub fn search_path(&self) -> SearchPath {
        self.search_path_in(&self.snapshot())
    }

    /// The schemas of a snapshot that names without one are looked up in.
    pub fn search_path_in(&self, snapshot: &Catalog) -> SearchPath {
        if snapshot.schemas().len() == 0 && !snapshot.is_public_dropped() && snapshot.access().is_empty() {
            return self.settings().get("search_path").map_or_else(SearchPath::default, SearchPath::of);
        }
        let own = self.temporary_schema_name();
        let temporary = snapshot.schema_named(&own).map(|_| own.as_str());
        let exists = |name: &str| snapshot.schema_named(name).is_some_and(|id| !snapshot.is_temporary(id));
        let is_usable = |name: &str| snapshot.schema_named(name).is_none_or(|id| self.may_use(snapshot, id));
        let schemas = SessionSchemas { user: &self.current_user(), temporary, exists: &exists };
        SearchPath::of_session(&self.setting("search_path").unwrap_or_default(), &schemas).of_usable(is_usable)
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

    /// As [`Self::schema_of_users`], where the name is that of the schema of something that a statement names.
    ///
    /// # Errors
    /// The same, and 42501 for a schema that the current role may not use.
    pub fn usable_schema(&self, snapshot: &Catalog, written: &str) -> Result<Option<SchemaId>, EngineError> {
        let found = self.schema_of_users(snapshot, written)?;
        match found.is_none_or(|id| self.may_use(snapshot, id)) {
            true => Ok(found),
            false => {
                let message = format!("permission denied for schema {written}");
                Err(EngineError::new(SqlState::InsufficientPrivilege, message))
            }
        }
    }

    /// Whether the current role may look names up in a schema.
    fn may_use(&self, snapshot: &Catalog, schema: SchemaId) -> bool {
        snapshot.access().is_empty()
            || self.temporary_schema(snapshot) == Some(schema)
            || ObjectAccess::of(snapshot).has(self.current_role(), AccessObject::Schema(schema), Privileges::USAGE)
    }

    /// Whether there is a schema of this name.
    pub fn is_schema(&self, snapshot: &Catalog, written: &str) -> bool {
        is_built_in(written) || !matches!(self.schema_of_users(snapshot, written), Ok(None))
    }

    /// The session's temporary schema, which is created if it has none.
    ///
    /// # Errors
    /// What commits fail with.
    pub async fn make_temporary_schema(&self) -> Result<SchemaId, EngineError> {
        match self.temporary_schema(&self.snapshot()) {
            Some(known) => Ok(known),
            None => {
                let name = self.temporary_schema_name();
                self.change(|writes, view| writes.create_temporary_schema(view, &name)).await
            }
        }
    }

    /// Drops the temporary schema with all that is in it.
    ///
    /// # Errors
    /// What commits fail with.
    pub async fn drop_temporary(&self) -> Result<(), EngineError> {
        match self.temporary_schema(&self.snapshot()) {
            Some(known) => self.change(|writes, view| writes.drop_schema(view, known)).await,
            None => Ok(()),
        }
    }

    /// Notes what becomes of a temporary table when a transaction commits, the present one first.
    pub fn note_on_commit(&self, table: TableId, action: Option<OnCommit>) {
        let Some(action @ (OnCommit::DeleteRows | OnCommit::Drop)) = action else { return };
        let snapshot = self.snapshot();
        let mut state = self.shared.state.lock();
        state.on_commit.retain(|known, _| snapshot.by_id(*known).is_some());
        state.on_commit.insert(table, action);
    }

    /// Does with the temporary tables of a transaction that commits what ON COMMIT says.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn end_temporary(&self, writes: &mut WriteSet) -> Result<(), EngineError> {
        let actions = self.shared.state.lock().on_commit.clone();
        if actions.is_empty() {
            return Ok(());
        }
        let view = writes.view(&self.database().store().snapshot());
        for (table, action) in &actions {
            let others = view.references_to(*table);
            let mut others = others.iter().filter(|other| actions.get(&other.table.id) != Some(action));
            if let Some(other) = others.next() {
                let referenced = view.by_id(*table).map_or("", |version| version.def.name.as_str());
                return Err(EngineError::unsupported("unsupported ON COMMIT and foreign key combination").with_detail(
                    format!(
                        "Table \"{}\" references \"{referenced}\", but they do not have the same ON COMMIT setting.",
                        other.table.name
                    ),
                ));
            }
        }
        writes.truncate_changed(&view, |table| actions.get(&table) == Some(&OnCommit::DeleteRows))?;
        let dropped = actions.iter().filter(|(_, action)| **action == OnCommit::Drop).map(|(table, _)| *table);
        let dropped: Vec<TableId> = dropped.filter(|table| view.by_id(*table).is_some()).collect();
        writes.drop_views(&view, &view.all_views_of(dropped.iter().copied()))?;
        dropped.into_iter().try_for_each(|table| writes.drop_table(&view, table))?;
        Ok(())
    }

    /// Drops at once what a statement by itself has created for its transaction only.
    ///
    /// # Errors
    /// What commits fail with.
    pub async fn end_statement(&self) -> Result<(), EngineError> {
        let is_waiting = self.shared.state.lock().on_commit.values().any(|action| *action == OnCommit::Drop);
        match is_waiting && !self.is_in_transaction() {
            // Nobody else uses them.
            true => self.keep(self.take_writes()).await,
            false => Ok(()),
        }
    }

    /// Refuses a table that lasts and has defaults with temporary sequences.
    ///
    /// # Errors
    /// 0A000
    pub fn check_lasting(&self, catalog: &Catalog, schema: SchemaId, columns: &[ColumnDef]) -> Result<(), EngineError> {
        let is_temporary = |relation: u32| {
            let known = table_of_object_id(relation).and_then(|id| catalog.sequence_by_id(id));
            known.is_some_and(|known| catalog.is_temporary(known.definition.schema))
        };
        let mut defaults = columns.iter().filter_map(|column| column.default.as_ref());
        match !catalog.is_temporary(schema) && defaults.any(|default| references(default).any(is_temporary)) {
            true => Err(EngineError::unsupported("a temporary sequence in a default of a table that is not temporary")),
            false => Ok(()),
        }
    }

    /// The name of a schema, for messages.
    pub fn schema_name(&self, id: SchemaId) -> String {
        self.snapshot().schema_name(id).unwrap_or_default().to_owned()
    }
}

impl Drop for Shared {
    /// The session has ended: what is temporary goes, in a task of its own.
    fn drop(&mut self) {
        self.database.sessions().leave(self.session_id);
        let (database, name) = (self.database.clone(), format!("pg_temp_{}", self.session_id));
        let snapshot = database.store().snapshot();
        let (Some(schema), Some(runtime)) = (snapshot.schema_named(&name), &self.runtime) else { return };
        drop(snapshot);
        runtime.spawn(async move {
            let (newest, mut writes) = (database.store().snapshot(), database.store().write_set());
            let dropped = match writes.drop_schema(&newest, schema) {
                Ok(()) => writes.commit().await.map(drop),
                Err(error) => Err(error),
            };
            if let Err(error) = dropped {
                // The next opening drops them.
                tracing::warn!(%error, schema = name, "the temporary tables of a session were not dropped");
            }
        });
    }
}
