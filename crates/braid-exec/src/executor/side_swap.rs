//! Swapping the sides of joins at run time, when the planned build side turns out large ([`SideChoice`] decides).
//!
//! The join stops reading a side that turns out too large, and drops its rows. It builds the other side, and then reads the
//! first side again as the probe side. The hash tables of joins below are kept. The key filter reaches a scan only if the side
//! consists of a table's rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::running_join::{Build, Join, Sides};
use super::tally::Tally;
use super::{Executor, Rows, Wanted};
use crate::joins::side_choice::{SideChoice, SwappedJoin};
use crate::plan::{SideShape, SideWidths};
use crate::runtime::pipeline::RowFilter;
use crate::runtime::stop::{Stop, StopFlag};

/// Number of failed trials of a run, in which neither side was small, after which there are no more trials. Each trial repeats
/// the work of the joins below.
const FAILED_TRIALS_MAX: u32 = 2;

/// The swaps and failed trials of a run.
#[derive(Debug, Default)]
pub(super) struct Swaps {
    swapped: AtomicU64,
    failed_trials: AtomicU32,
}

/// The limits of rows up to which sides are collected.
#[derive(Clone, Copy)]
struct Trial {
    build_rows_max: u64,
    probe_rows_max: u64,
}

impl Executor {
    /// Number of joins with swapped sides so far.
    pub fn swapped_join_count(&self) -> u64 {
        self.swaps.swapped.load(Ordering::Relaxed)
    }

    /// A join with the better build side.
    pub(super) async fn join(&self, sides: Sides<'_>, wanted: Wanted) -> Result<Rows, Stop> {
        let Sides { build, probe, condition, .. } = sides;
        let widths = SideWidths { probe: probe.column_count(), build: build.column_count() };
        let Some(swapped) = SwappedJoin::of(condition, widths) else {
            return self.planned_join(sides, &wanted).await;
        };
        let probe_columns = if condition.kind.columns().probe { 0..probe.column_count() } else { 0..0 };
        let is_filtered = |filter: &RowFilter| filter.columns.iter().all(|column| probe_columns.contains(column));
        let mut shape = SideShape::of(probe);
        shape.is_narrowed |= wanted.filters.iter().any(is_filtered);
        match SideChoice::of(SideShape::of(build), shape, &self.tuning.joins) {
            SideChoice::Swapped => {
                let rows = self.planned_join(sides.swapped(&swapped), &swapped.wanted(&wanted)).await?;
                Ok(self.swapped_rows(rows, &swapped))
            }
            SideChoice::Tried { build_rows_max, probe_rows_max: None } => {
                self.tried_join(sides, &swapped, &wanted, Trial { build_rows_max, probe_rows_max: u64::MAX }).await
            }
            SideChoice::Tried { build_rows_max, probe_rows_max: Some(probe_rows_max) } if !self.has_failed_often() => {
                self.tried_join(sides, &swapped, &wanted, Trial { build_rows_max, probe_rows_max }).await
            }
            SideChoice::SwappedIfSmall { probe_rows_max } if !self.has_failed_often() => {
                let small = self.if_small(sides, &swapped, &wanted, probe_rows_max).await?;
                match small {
                    Some((build, join)) => self.probe_other_side(sides, &swapped, &wanted, build, join).await,
                    None => self.planned_join(sides, &wanted).await,
                }
            }
            _ => self.planned_join(sides, &wanted).await,
        }
    }

    /// A join whose build side is collected up to a number of rows.
    async fn tried_join(
        &self,
        sides: Sides<'_>,
        swapped: &SwappedJoin,
        wanted: &Wanted,
        trial: Trial,
    ) -> Result<Rows, Stop> {
        let join = sides.join(wanted, self.tuning.joins);
        // These rows may become a probe side, which passes them on. Only their consumer then knows whether it can restart.
        let of_build = Wanted { may_restart: wanted.may_restart, ..join.of_build(wanted) };
        let rows = self.rows(sides.build, of_build).await?;
        let Some(again) = rows.again() else {
            let build = self.collect(rows, join.form.build_columns(), &join, 0).await?;
            return self.probe_side(sides.probe, build, join, wanted).await;
        };
        if let Some(build) = self.collect_up_to(rows, trial.build_rows_max, &join).await? {
            return self.probe_side(sides.probe, build, join, wanted).await;
        }
        match self.if_small(sides, swapped, wanted, trial.probe_rows_max).await? {
            Some((build, join)) if SideShape::of(sides.build).is_chain => {
                self.probe_other_side(sides, swapped, wanted, build, join).await
            }
            Some((build, join)) => Ok(self.swapped_rows(self.probe(again, build, join, 0).await?, swapped)),
            None => {
                let build = self.collect(again, join.form.build_columns(), &join, 0).await?;
                self.probe_side(sides.probe, build, join, wanted).await
            }
        }
    }

    /// Collects the planned probe side; `None` if it has more than `rows_max` rows.
    async fn if_small(
        &self,
        sides: Sides<'_>,
        swapped: &SwappedJoin,
        wanted: &Wanted,
        rows_max: u64,
    ) -> Result<Option<(Build, Arc<Join>)>, Stop> {
        let wanted = swapped.wanted(wanted);
        let join = sides.swapped(swapped).join(&wanted, self.tuning.joins);
        let rows = self.rows(sides.probe, join.of_build(&wanted)).await?;
        let build = self.collect_up_to(rows, rows_max, &join).await?;
        if build.is_none() {
            self.swaps.failed_trials.fetch_add(1, Ordering::Relaxed);
        }
        Ok(build.map(|build| (build, join)))
    }

    /// Probes the collected side with the planned build side.
    async fn probe_other_side(
        &self,
        sides: Sides<'_>,
        swapped: &SwappedJoin,
        wanted: &Wanted,
        build: Build,
        join: Arc<Join>,
    ) -> Result<Rows, Stop> {
        let rows = self.probe_side(sides.build, build, join, &swapped.wanted(wanted)).await?;
        Ok(self.swapped_rows(rows, swapped))
    }

    /// The rows of a swapped join with the columns of the planned one.
    fn swapped_rows(&self, mut rows: Rows, swapped: &SwappedJoin) -> Rows {
        self.swaps.swapped.fetch_add(1, Ordering::Relaxed);
        rows.relayout(swapped.columns.iter().copied().map(Some).collect());
        rows
    }

    /// Whether the limit of failed trials is reached.
    fn has_failed_often(&self) -> bool {
        self.swaps.failed_trials.load(Ordering::Relaxed) >= FAILED_TRIALS_MAX
    }

    /// Collects rows as a build side; `None` if there are more than `max`.
    async fn collect_up_to(&self, mut rows: Rows, max: u64, join: &Arc<Join>) -> Result<Option<Build>, Stop> {
        let too_many = StopFlag::default();
        rows.count(Tally::new(max, self.tuning.joins.reported_rows, too_many.clone()));
        self.collect_unless(&too_many, rows, join.form.build_columns(), join, 0).await
    }
}

impl<'a> Sides<'a> {
    fn swapped(self, swapped: &'a SwappedJoin) -> Self {
        Self { build: self.probe, probe: self.build, condition: &swapped.condition, ..self }
    }
}

impl SwappedJoin {
    /// The requirements on the swapped join.
    fn wanted(&self, wanted: &Wanted) -> Wanted {
        let mut columns = vec![false; wanted.columns.len()];
        self.columns.iter().zip(&wanted.columns).for_each(|(place, wanted)| columns[*place] = *wanted);
        wanted.of_input(columns, |column| Some(self.columns[column]))
    }
}
