//! The sources of a plan, and the versions of tables that they read.
//!
//! A plan template names tables. The versions that it reads are chosen when it starts.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::TableId;
use braid_storage::TableVersion;

use super::Plan;
use crate::runtime::pipeline::Source;

impl Plan {
    /// Replaces each source for which `map` returns another one, also in scalar subqueries. The new source must have the same
    /// columns.
    ///
    /// # Errors
    /// The first error of `map`. Some sources may then be replaced already.
    pub fn map_sources<E>(
        &mut self,
        map: &mut impl FnMut(&Arc<dyn Source>) -> Result<Option<Arc<dyn Source>>, E>,
    ) -> Result<(), E> {
        if let Self::Source { source, .. } = self
            && let Some(other) = map(source)?
        {
            *source = other;
        }
        self.inputs_mut().into_iter().try_for_each(|input| input.map_sources(map))
    }

    /// The same plan, whose scans read the versions that `version_of` returns, with measurements of their own. Other sources
    /// stay. `None` if `version_of` knows no version of a table, or the table's columns are others than those that were planned.
    pub fn at_versions(&self, version_of: impl Fn(TableId) -> Option<Arc<TableVersion>>) -> Option<Self> {
        let mut plan = self.clone();
        let mut at_version = |source: &Arc<dyn Source>| {
            let Some(table) = source.table() else { return Ok(None) };
            version_of(table).and_then(|version| source.at_version(&version)).map(Some).ok_or(())
        };
        plan.map_sources(&mut at_version).ok()?;
        Some(plan)
    }

    /// The tables that it reads.
    pub fn tables(&self) -> BTreeSet<TableId> {
        let mut tables = BTreeSet::new();
        self.add_tables(&mut tables);
        tables
    }

    fn add_tables(&self, tables: &mut BTreeSet<TableId>) {
        if let Self::Source { source, .. } = self {
            tables.extend(source.table());
        }
        self.inputs().into_iter().for_each(|input| input.add_tables(tables));
    }
}
