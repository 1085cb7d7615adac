//! What the names in a view's text mean: what they meant when it was created.

use std::sync::Arc;

use braid_base::TableId;
use braid_catalog::column_types::type_of_oid;
use braid_catalog::functions::expand_calls;
use braid_sql::input::time_zones::TimeZone;
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::tables::{NamedColumn, TableColumn, TableEntry, Tables, View, ViewOrigin};
use braid_sql::{SqlError, SqlState, SqlType};
use braid_storage::{Catalog, SourceColumn, SourceRelation, ViewDef, ViewKind, ViewSource};
use sqlparser::ast::Query;

use super::snapshot_tables::SnapshotTables;
use crate::EngineError;

/// A schema that no text can name: in it the id of a view means its query, also of a materialized one.
pub(super) const REFRESHED_SCHEMA: &str = "\0refreshed";

/// The number of a view that means its query is this and its own.
const FIRST_REFRESHED: u64 = 4 << 32;

/// The relations of a view's query.
#[derive(Debug)]
struct ViewTables {
    tables: SnapshotTables,
    view: Arc<ViewDef>,
}

impl SnapshotTables {
    /// The query of a view with this number; `None` if it is none, or has rows of its own.
    pub(super) fn user_view(&self, table: u64) -> Option<View> {
        let refreshed = table.checked_sub(FIRST_REFRESHED);
        let id = u32::try_from(refreshed.unwrap_or(table)).ok().map(TableId)?;
        let view = self.snapshot().view_by_id(id);
        let view = view.filter(|view| refreshed.is_some() || !view.is_materialized())?.clone();
        let zone = view.time_zone.parse().unwrap_or(TimeZone::UTC);
        let (text, zone_name, read_at_us) = (view.text.clone(), view.time_zone.clone(), view.read_at_us);
        let tables = Arc::new(ViewTables { tables: self.clone(), view });
        Some(View { text, origin: Some(ViewOrigin { tables, zone, zone_name, read_at_us, prepare: expand_calls }) })
    }
}

impl ViewTables {
    fn source(&self, schema: Option<&str>, name: &str) -> Option<&ViewSource> {
        self.view.sources.iter().find(|source| source.schema.as_deref() == schema && source.name == name)
    }

    fn relation(&self, source: &ViewSource) -> Result<Option<Arc<TableEntry>>, SqlError> {
        match &source.relation {
            SourceRelation::System { schema } => self.tables.table(Some(schema), &source.name),
            SourceRelation::Stored { id, .. } => {
                let found = self.tables.entry_by_id(*id)?;
                // The text knows it by its former name, and its schema too.
                Ok(found.map(|entry| {
                    let schema = source.schema.clone().unwrap_or_else(|| entry.schema.clone());
                    Arc::new(TableEntry { name: source.name.clone(), schema, ..entry })
                }))
            }
        }
    }
}

impl Tables for ViewTables {
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        self.source(schema, name).map_or(Ok(None), |source| self.relation(source))
    }

    fn view(&self, table: u64) -> Option<View> {
        self.tables.view(table)
    }

    fn columns_of_name(&self, schema: Option<&str>, name: &str) -> Option<Vec<NamedColumn>> {
        let SourceRelation::Stored { id, columns } = &self.source(schema, name)?.relation else { return None };
        let def = self.tables.snapshot().by_id(*id).map(|version| &version.def);
        let position = |column: &SourceColumn| match def {
            Some(def) => def.columns.iter().position(|stored| stored.id == column.id),
            None => Some(usize::from(column.id.0)),
        };
        let named = |column: &SourceColumn| NamedColumn { name: column.name.clone(), position: position(column) };
        Some(columns.iter().map(named).collect())
    }
}

impl SnapshotTables {
    /// A table or view.
    fn entry_by_id(&self, id: TableId) -> Result<Option<TableEntry>, SqlError> {
        if let Some(version) = self.snapshot().by_id(id).cloned() {
            self.note_found(&version.def)?;
            return Ok(Some(self.entry(&version.def)));
        }
        Ok(self.snapshot().view_by_id(id).map(|view| entry_of_view(self.snapshot(), view)))
    }
}

/// A view as the binder knows tables.
pub(super) fn entry_of_view(catalog: &Catalog, view: &ViewDef) -> TableEntry {
    let columns = view.columns.iter().map(|column| {
        let sql_type = SqlType { id: type_of_oid(catalog, column.type_oid), modifier: column.modifier };
        TableColumn::new(&column.name, sql_type)
    });
    TableEntry {
        id: u64::from(view.id.0),
        schema: catalog.schema_name(view.schema).unwrap_or_default().to_owned(),
        name: view.name.clone(),
        columns: columns.collect(),
        primary_key: Vec::new(),
    }
}

/// A view as its query.
pub(super) fn entry_of_refreshed(catalog: &Catalog, view: &ViewDef) -> TableEntry {
    let entry = entry_of_view(catalog, view);
    TableEntry { id: FIRST_REFRESHED + entry.id, ..entry }
}

/// The view whose query a number means.
pub(super) fn refreshed_view(table: u64) -> Option<TableId> {
    table.checked_sub(FIRST_REFRESHED).and_then(|id| u32::try_from(id).ok()).map(TableId)
}

/// Fails for the table of a materialized view that has no rows yet.
pub(super) fn check_populated(catalog: &Catalog, table: TableId) -> Result<(), SqlError> {
    match catalog.view_by_id(table) {
        Some(view) if view.kind == (ViewKind::Materialized { is_populated: false }) => {
            let message = format!("materialized view \"{}\" has not been populated", view.name);
            Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
                .with_hint("Use the REFRESH MATERIALIZED VIEW command."))
        }
        _ => Ok(()),
    }
}

/// `SELECT *` from the query of a view, and its text.
pub(crate) fn query_of_view(view: &ViewDef) -> Result<(String, Query), EngineError> {
    let text = format!("SELECT * FROM \"{REFRESHED_SCHEMA}\".\"{}\"", view.id.0);
    let dialect = SqlDialect::for_text(&text);
    let query = parser_of(&dialect, &text).and_then(|mut parser| parser.parse_query());
    let query = query.map_err(|error| EngineError::internal(format!("a query of our own does not parse: {error}")))?;
    Ok((text, *query))
}
