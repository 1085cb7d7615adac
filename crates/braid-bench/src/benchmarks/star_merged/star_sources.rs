//! Scans of the star schema's tables, of the versions that were current when the sources were created.

use std::sync::Arc;

use braid_base::ColumnId;
use braid_buffer::BufferManager;
use braid_engine::Database;
use braid_exec::plan::Plan;
use braid_exec::scan::table_source::TableSource;
use braid_scan::ScanSpec;
use braid_storage::{Catalog, TableVersion};

/// Creates the sources of scans.
pub struct StarSources {
    catalog: Arc<Catalog>,
    buffer: Arc<BufferManager>,
}

impl StarSources {
    /// Sources of a database's present tables.
    pub fn new(database: &Database) -> Self {
        Self { catalog: database.store().snapshot(), buffer: database.buffer().clone() }
    }

    fn version(&self, table: &str) -> &Arc<TableVersion> {
        self.catalog.table(table).expect("the workload has made its tables")
    }

    /// Number of rows of a table. Panics unless it exists.
    pub fn row_count(&self, table: &str) -> u64 {
        self.version(table).row_count()
    }

    /// A scan of these columns. Panics unless they exist.
    pub fn scan(&self, table: &str, columns: &[&str]) -> Plan {
        let version = self.version(table);
        let column = |name: &&str| -> ColumnId { version.def.column(name).expect("the table has its columns").0 };
        let spec = ScanSpec::new(columns.iter().map(column).collect());
        let description = format!("table={table}, projection=[{}]", columns.join(", "));
        let source = TableSource::new(version.clone(), self.buffer.clone(), spec, description);
        Plan::Source { source: Arc::new(source), column_count: columns.len() }
    }
}
