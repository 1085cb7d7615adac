//! A shared join in pipelines.
//!
//! Key filters are passed down its sides by the same rules as for a join of one query. A key filter contains the build rows of
//! all queries, so that it drops only rows without a partner for any query.

use std::sync::Arc;

use super::{Executor, Rows, Wanted};
use crate::memory::Reservation;
use crate::plan::shared_operator::JoinSets;
use crate::plan::{JoinCondition, Plan, SideWidths};
use crate::runtime::pipeline::{Operator, RowFilter};
use crate::runtime::stop::Stop;
use crate::sharing::shared_join::{SharedJoinLayout, SharedProbe, SharedTable, SharedUnmatched};

impl Executor {
    pub(super) async fn shared_join(
        &self,
        build: &Plan,
        probe: &Plan,
        condition: &JoinCondition,
        sets: &JoinSets,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let widths = SideWidths { probe: probe.column_count(), build: build.column_count() };
        let layout = Arc::new(SharedJoinLayout::new(condition, sets, widths, &wanted.columns));
        let mut of_build = wanted.of_input(layout.build_read.clone(), |column| layout.filtered_build_column(column));
        if layout.kind.keeps_probe_rows() {
            of_build = of_build.where_missing_is_null();
        }
        let table = self.build(build, &layout.build_columns, layout.table_spec(self.tuning.joins), of_build).await?;
        let reservation = Reservation::new(self.budget.clone(), "shared hash join");
        let store = sets.store.clone();
        let shared = SharedTable::build(table.clone(), layout.clone(), store, reservation, &self.cancelled).await?;
        let shared = Arc::new(shared);
        let mut of_probe = wanted.of_input(layout.probe_read.clone(), |column| layout.filtered_probe_column(column));
        // The table of an inner join always has a filter, but the kind of this join may not allow one.
        if layout.kind.drops_probe_rows()
            && let Some(keys) = table.key_filter()
        {
            of_probe.filters.push(RowFilter { columns: layout.probe_keys.clone(), keys });
        }
        let mut rows = self.rows(probe, of_probe).await?;
        let (probed, cancelled) = (shared.clone(), self.cancelled.clone());
        let operator = move || Box::new(SharedProbe::new(probed.clone(), cancelled.clone())) as Box<dyn Operator>;
        rows.push(Arc::new(operator), layout.column_count());
        if layout.kind.marks_build_rows() {
            let unmatched = Arc::new(SharedUnmatched::new(shared));
            let nothing = Wanted::columns(Vec::new());
            rows.stages.extend(self.of_source(unmatched, layout.column_count(), &nothing).stages);
            rows.in_order = false;
        }
        Ok(rows)
    }
}
