//! The tables of a statement's snapshot, as the binder looks them up and as operators read them.

use std::fmt;
use std::sync::Arc;

use braid_base::{ColumnId, TableId};
use braid_buffer::BufferManager;
use braid_catalog::Snapshot;
use braid_catalog::left_out::reason;
use braid_exec::runtime::pipeline::Source;
use braid_exec::scan::table_sample::TableSample;
use braid_exec::scan::table_source::TableSource;
use braid_plan::lowering::StoredTables;
use braid_scan::ScanSpec;
use braid_sql::tables::{TableColumn, TableEntry, Tables};
use braid_sql::{SqlError, Value};
use braid_storage::{Catalog, ColumnType, TableDef};
use parking_lot::Mutex;

use super::computed_tables;
use super::server_facts::StatementServer;
use crate::names::SCHEMA_NAME;
use crate::statement_context::StatementContext;
use crate::table_names::search_path;
use braid_catalog::column_types::sql_type_of;

/// The computed tables, and those of schema `public` in one snapshot.
pub(super) struct SnapshotTables {
    snapshot: Arc<Catalog>,
    buffer: Arc<BufferManager>,
    context: StatementContext,
    found: Mutex<Vec<Arc<TableDef>>>,
}

impl SnapshotTables {
    pub fn of(context: &StatementContext) -> Self {
        Self {
            snapshot: context.snapshot(),
            buffer: context.database().buffer().clone(),
            context: context.clone(),
            found: Mutex::default(),
        }
    }
}

impl SnapshotTables {
    /// The table of a name in a schema.
    fn table_in(&self, schema: &str, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        if schema == SCHEMA_NAME {
            let Some(version) = self.snapshot.table(name) else { return Ok(None) };
            self.found.lock().push(version.def.clone());
            return Ok(Some(Arc::new(entry_of(&version.def))));
        }
        if let Some(entry) = computed_tables::entry(self.context.database().system_views(), schema, name)? {
            return Ok(Some(Arc::new(entry)));
        }
        match reason(schema, name) {
            Some(reason) => {
                Err(SqlError::unsupported(format!("the system relation {name} is not supported: {reason}")))
            }
            None => Ok(None),
        }
    }

    /// The tables that were found so far.
    pub fn into_found(self) -> Vec<Arc<TableDef>> {
        self.found.into_inner()
    }
}

impl fmt::Debug for SnapshotTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotTables").field("sequence", &self.snapshot.sequence()).finish_non_exhaustive()
    }
}

impl Tables for SnapshotTables {
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        let found = match schema {
            Some(schema) => self.table_in(schema, name).transpose(),
            None => search_path(&self.context).searched().find_map(|schema| self.table_in(schema, name).transpose()),
        };
        found.transpose()
    }

    fn view(&self, table: u64) -> Option<Arc<str>> {
        computed_tables::view_text(table)
    }
}

impl StoredTables for SnapshotTables {
    fn computed(&self, table: u64, columns: &[usize]) -> Result<Option<Vec<Vec<Value>>>, SqlError> {
        let facts = StatementServer(self.context.clone());
        let snapshot = Snapshot { catalog: &self.snapshot, facts: &facts };
        computed_tables::rows(self.context.database().system_views(), snapshot, table, columns)
    }

    fn source(
        &self,
        table: u64,
        columns: &[usize],
        sample: Option<TableSample>,
    ) -> Result<(Arc<dyn Source>, Vec<ColumnType>), SqlError> {
        let id = u32::try_from(table).ok().map(TableId);
        let version = id.and_then(|id| self.snapshot.by_id(id));
        let version = version.ok_or_else(|| SqlError::unsupported(format!("table {table} is gone")))?;
        let projection: Vec<ColumnId> = columns.iter().map(|at| version.def.columns[*at].id).collect();
        let types = projection.iter().map(|column| version.value_type(*column)).collect();
        let spec = ScanSpec::new(projection);
        let description = description(&version.def, columns);
        let source = TableSource::new(version.clone(), self.buffer.clone(), spec, description);
        let source = match sample {
            Some(sample) => source.with_sample(sample),
            None => source,
        };
        Ok((Arc::new(source), types))
    }
}

fn entry_of(def: &TableDef) -> TableEntry {
    let column = |column: &braid_storage::ColumnDef| TableColumn {
        name: column.name.clone(),
        sql_type: sql_type_of(column.column_type),
    };
    TableEntry {
        id: u64::from(def.id.0),
        schema: SCHEMA_NAME.to_owned(),
        name: def.name.clone(),
        columns: def.columns.iter().map(column).collect(),
        primary_key: def.primary_key.iter().filter_map(|column| def.position(*column)).collect(),
    }
}

/// What EXPLAIN shows of a scan.
fn description(def: &TableDef, columns: &[usize]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| def.columns[*column].name.as_str()).collect();
    format!("table={}, columns=[{}]", def.name, names.join(", "))
}
