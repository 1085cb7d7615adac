//! Views: queries that have a name. A materialized view is also a table, which holds the rows of its query.
//!
//! What a view means is fixed when it is created. Its query is kept as it was written, and beside it what its names meant: which
//! relation, and which columns in which order. So `*` stays what it was, and a relation or column with another name is still
//! found, because it is known by its id; nothing is rewritten. What was read from texts then (a time without a zone, `'today'`) is read
//! with the zone and the time of that moment.

use std::collections::HashSet;
use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};

/// Longest text of a view's query, in bytes.
pub const VIEW_TEXT_BYTES_MAX: usize = 1 << 20;

/// A view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewDef {
    /// Its identity among views and tables; that of its table if it is materialized.
    pub id: TableId,
    /// Its schema; that of its table if it is materialized.
    pub schema: SchemaId,
    /// Its name, unique among the relations of its schema, and in `public` among types.
    pub name: String,
    /// What its `WITH (…)` says: `name=value` each, as `pg_class.reloptions` has them.
    pub options: Vec<String>,
    /// Whether it has rows of its own.
    pub kind: ViewKind,
    /// Its columns. A materialized view has the columns of its table; they are listed here as well.
    pub columns: Vec<ViewColumn>,
    /// The text of its query.
    pub text: Arc<str>,
    /// What the names of relations in the text mean.
    pub sources: Vec<ViewSource>,
    /// The oids of enumerated types that the text or a column has.
    pub type_oids: Vec<u32>,
    /// The `TimeZone` in which its literals are read.
    pub time_zone: String,
    /// The time at which its literals are read, in microseconds since 1970-01-01 UTC.
    pub read_at_us: i64,
    /// How much its own text adds to a query that has it.
    pub size: ViewSize,
}

/// Whether a view has rows of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKind {
    /// It has none.
    Plain,
    /// It has those of its query when it was filled.
    Materialized {
        /// Whether it was filled.
        is_populated: bool,
    },
}

/// A column of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewColumn {
    /// Its name.
    pub name: String,
    /// Its name in the query.
    pub query_name: String,
    /// The oid of its type.
    pub type_oid: u32,
    /// Its type's modifier, -1 for none.
    pub modifier: i32,
}

/// What a name in a view's text means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewSource {
    /// The schema, if the text has it.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
    /// How often the text has it.
    pub uses: u32,
    /// What it means.
    pub relation: SourceRelation,
}

/// A relation of a view's query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceRelation {
    /// A table or a view.
    Stored {
        /// Its identity.
        id: TableId,
        /// Its columns, in order, under the names that they have in the text.
        columns: Vec<SourceColumn>,
    },
    /// A relation of the system, of the same name.
    System {
        /// Its schema.
        schema: String,
    },
}

/// A column of a relation of a view's query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// Its identity in a table; in a view its place, from 0.
    pub id: ColumnId,
    /// Its name in the text.
    pub name: String,
    /// Whether the query reads it. Others may be dropped.
    pub is_used: bool,
}

/// How much a view's text adds to a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewSize {
    /// Levels of expressions, queries and tables.
    pub levels: u32,
    /// Expressions.
    pub expressions: u32,
}

impl ViewDef {
    /// The tables and views of the query.
    pub fn stored_sources(&self) -> impl Iterator<Item = (TableId, &[SourceColumn])> {
        self.sources.iter().filter_map(|source| match &source.relation {
            SourceRelation::Stored { id, columns } => Some((*id, columns.as_slice())),
            SourceRelation::System { .. } => None,
        })
    }

    /// Whether its query reads a table or view.
    pub fn reads(&self, relation: TableId) -> bool {
        self.stored_sources().any(|(id, _)| id == relation)
    }

    /// Whether its query reads a column of a table.
    pub fn reads_column(&self, table: TableId, column: ColumnId) -> bool {
        let mut sources = self.stored_sources().filter(|(id, _)| *id == table);
        sources.any(|(_, columns)| columns.iter().any(|source| source.id == column && source.is_used))
    }

    /// Whether it has rows of its own.
    pub fn is_materialized(&self) -> bool {
        matches!(self.kind, ViewKind::Materialized { .. })
    }
}

/// A view that reads itself, directly or through others; `None` if there is none. In linear time where views are listed behind those
/// that they read.
pub(crate) fn cyclic<'a>(views: impl Iterator<Item = &'a ViewDef> + Clone) -> Option<&'a ViewDef> {
    let mut open: HashSet<TableId> = views.clone().map(|view| view.id).collect();
    loop {
        let before = open.len();
        for view in views.clone() {
            if !view.stored_sources().any(|(id, _)| open.contains(&id)) {
                open.remove(&view.id);
            }
        }
        if open.is_empty() || open.len() == before {
            return views.clone().find(|view| open.contains(&view.id));
        }
    }
}
