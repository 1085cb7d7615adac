//! A shared join in pipelines.
//!
//! It collects, partitions and probes its sides as a join of one query does (`join`), and spills like it. Key filters are passed
//! down its sides by the same rules. A key filter contains the build rows of all queries, so that it drops only rows without a
//! partner for any query. Its sides are not swapped, and it is not reordered while it runs.

use super::running_join::Join;
use super::{Executor, Rows, Wanted};
use crate::plan::shared_operator::JoinSets;
use crate::plan::{JoinCondition, Plan, SideWidths};
use crate::runtime::stop::Stop;

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
        let join = Join::shared(condition, sets, widths, &wanted, self.tuning.joins);
        let rows = self.rows(build, join.of_build(&wanted)).await?;
        let build = self.collect(rows, join.form.build_columns(), &join, 0).await?;
        self.probe_side(probe, build, join, &wanted).await
    }
}
