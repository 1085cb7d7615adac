//! Scans of a database's TPC-H tables, as leaves of plans.
//!
//! All scans read the version of each table that was current when the sources were created.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use braid_base::{ByteSize, ColumnId, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, ScanPolicy};
use braid_engine::Database;
use braid_exec::plan::Plan;
use braid_exec::scan::table_source::TableSource;
use braid_scan::ScanSpec;
use braid_storage::{ColumnPredicate, TableVersion};

use crate::workloads::generated::GeneratedTable;
use crate::workloads::tpch::TpchTable;

/// Creates the sources of scans.
pub struct TpchSources {
    buffer: Arc<BufferManager>,
    versions: BTreeMap<TpchTable, Arc<TableVersion>>,
}

impl TpchSources {
    /// Sources of a database's present tables, read through a buffer of their own that holds all of them. Panics unless
    /// the database has the tables of TPC-H.
    pub fn hot(database: &Database) -> Self {
        let catalog = database.store().snapshot();
        let versions = TpchTable::ALL.iter().filter_map(|table| catalog.table(table.name()));
        let segments = versions.flat_map(|version| version.chunks.iter()).flat_map(|chunk| chunk.segments.iter());
        let stored: u64 = segments.map(|segment| u64::from(segment.stored_bytes())).sum();
        let options = BufferOptions {
            // A quarter more: chunks of different tables do not fill the buffer without gaps.
            capacity: ByteSize(stored * 5 / 4),
            policy: ScanPolicy::Relevance,
            loads_in_flight_max: database.config().loads_in_flight_max,
        };
        let clock = Arc::new(SystemClock::new());
        Self::with_buffer(database, BufferManager::new(database.device().clone(), clock, options))
    }

    /// The version of a table that is read.
    pub fn version(&self, table: TpchTable) -> &Arc<TableVersion> {
        &self.versions[&table]
    }

    /// The buffer through which they read.
    pub fn buffer(&self) -> &Arc<BufferManager> {
        &self.buffer
    }

    /// Sources of a database's present tables, read through another buffer. Panics unless it has those of TPC-H.
    pub fn with_buffer(database: &Database, buffer: Arc<BufferManager>) -> Self {
        let catalog = database.store().snapshot();
        let version = |&table: &TpchTable| {
            let version = catalog.table(table.name()).expect("the database has the tables of TPC-H");
            (table, version.clone())
        };
        Self { buffer, versions: TpchTable::ALL.iter().map(version).collect() }
    }

    /// A scan of these columns, of the rows for which all predicates are true. Panics unless the table has the columns.
    pub fn source(&self, table: TpchTable, columns: &[&str], predicates: Vec<(&str, ColumnPredicate)>) -> Plan {
        let version = self.versions[&table].clone();
        let column = |name: &str| -> ColumnId { version.def.column(name).expect("the table has its columns").0 };
        let description = describe(table, columns, &predicates);
        let spec = ScanSpec {
            predicates: predicates.into_iter().map(|(name, predicate)| (column(name), predicate)).collect(),
            ..ScanSpec::new(columns.iter().map(|name| column(name)).collect())
        };
        let source = TableSource::new(version.clone(), self.buffer.clone(), spec, description);
        Plan::Source { source: Arc::new(source), column_count: columns.len() }
    }
}

impl fmt::Debug for TpchSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TpchSources").finish_non_exhaustive()
    }
}

fn describe(table: TpchTable, columns: &[&str], predicates: &[(&str, ColumnPredicate)]) -> String {
    let mut text = format!("table={table}, projection=[{}]", columns.join(", "));
    if !predicates.is_empty() {
        let names: Vec<&str> = predicates.iter().map(|(name, _)| *name).collect();
        text.push_str(&format!(", predicates on [{}]", names.join(", ")));
    }
    text
}
