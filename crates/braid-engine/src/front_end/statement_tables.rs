//! The tables that one statement has for itself: the rows of the queries of a WITH with changes, which run before the parts that read them.

use std::sync::Arc;

use braid_sql::SqlError;
use braid_sql::tables::{COMMON_ROWS_END, TableColumn, TableEntry, common_rows};
use braid_storage::Catalog;

use crate::rows::KeptTable;

/// The tables of a statement, and the snapshot that all its parts read.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatementTables {
    snapshot: Option<Arc<Catalog>>,
    named: Vec<NamedRows>,
}

#[derive(Clone, Debug)]
struct NamedRows {
    name: String,
    /// The columns with their rows, or why they cannot be read.
    rows: Result<(Vec<TableColumn>, Arc<KeptTable>), SqlError>,
}

impl StatementTables {
    /// No tables yet, for parts that read this snapshot.
    pub fn of(snapshot: Arc<Catalog>) -> Self {
        Self { snapshot: Some(snapshot), named: Vec::new() }
    }

    /// The snapshot that all parts read; `None` for a statement of one part, which reads the newest.
    pub fn snapshot(&self) -> Option<Arc<Catalog>> {
        self.snapshot.clone()
    }

    /// Whether a statement has several parts, of which each may use some of its parameters.
    pub fn are_of_parts(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Whether a name is that of one of them.
    pub fn has(&self, name: &str) -> bool {
        self.named.iter().any(|named| named.name == name)
    }

    /// Adds rows under a name.
    pub fn add(&mut self, name: String, columns: Vec<TableColumn>, rows: Arc<KeptTable>) {
        self.named.push(NamedRows { name, rows: Ok((columns, rows)) });
    }

    /// Adds a name that cannot be read.
    pub fn refuse(&mut self, name: String, why: SqlError) {
        self.named.push(NamedRows { name, rows: Err(why) });
    }

    /// The rows of a name; `None` if it is none of these.
    pub(super) fn entry(&self, name: &str) -> Option<Result<TableEntry, SqlError>> {
        let at = self.named.iter().rposition(|named| named.name == name)?;
        Some(self.named[at].rows.clone().map(|(columns, _)| TableEntry {
            id: common_rows(at),
            schema: String::new(),
            name: name.to_owned(),
            columns,
            primary_key: Vec::new(),
        }))
    }

    /// The rows of a table with this number.
    pub(super) fn rows(&self, table: u64) -> Option<&Arc<KeptTable>> {
        let at = usize::try_from(COMMON_ROWS_END.checked_sub(table)?.checked_sub(1)?).ok()?;
        self.named.get(at)?.rows.as_ref().ok().map(|(_, rows)| rows)
    }
}
