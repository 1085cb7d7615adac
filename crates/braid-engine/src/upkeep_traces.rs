//! When VACUUM and ANALYZE were last run on tables, and how often since the server started, for `pg_stat_all_tables`.

use std::collections::HashMap;

use braid_base::TableId;
use braid_sql::functions::backends::Upkeep;
use braid_storage::Catalog;
use parking_lot::Mutex;

/// What was done to the tables that there are.
#[derive(Debug, Default)]
pub(crate) struct UpkeepTraces(Mutex<HashMap<TableId, Upkeep>>);

impl UpkeepTraces {
    /// Notes what was done to a table now, and forgets tables that a state does not have.
    pub fn note(&self, catalog: &Catalog, table: TableId, note: impl FnOnce(&mut Upkeep)) {
        let mut traces = self.0.lock();
        traces.retain(|table, _| catalog.by_id(*table).is_some());
        note(traces.entry(table).or_default());
    }

    /// What was done to a table.
    pub fn of(&self, table: TableId) -> Upkeep {
        self.0.lock().get(&table).copied().unwrap_or_default()
    }
}
