//! A join in pipelines, whose build side is in memory or partly spilled.
//!
//! If the build side exceeds the memory, the first pass over the probe side joins the partitions in memory and writes the other
//! rows. The written partitions are joined one after the other, with all workers on each. A partition is a join of its own,
//! with rows from files, and its build side may be partitioned again.
//!
//! Rows of one key cannot be partitioned. If the result of each build row is independent of the others, they are joined in
//! pieces that fit into memory, and the probe side is read for each piece. Other joins need all of them in memory.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::running_join::{
    Build, DividedBuild, Join, JoinForm, ProbeRows, Sides, SpilledPartition, spilled_partitions,
};
use super::{Executor, Rows, Stage, Wanted, place_among};
use crate::joins::hash::JoinTable;
use crate::joins::operator::{BuildSink, ProbeOperator, UnmatchedSource};
use crate::joins::spilled::{
    DividedRows, SpillableBuild, SpillableLayout, SpilledProbe, SpillingBuildSink, SpillingProbe,
};
use crate::memory::Reservation;
use crate::plan::Plan;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::pipeline::{Operator, OperatorFactory, RowFilter, Source, run_all};
use crate::runtime::stop::{Stop, StopFlag};
use crate::sharing::shared_join::{SharedProbe, SharedTable, SharedUnmatched};
use crate::spill::{
    Divided, LEVELS_MAX, OperatorMemory, PARTITIONS, PartitionedRows, QuerySpill, SpilledRows, StoredRowsSource,
};

/// The probe of a build side's rows in memory.
struct Probing {
    operator: OperatorFactory,
    /// The build rows that are returned after the probe, if the kind returns any.
    unmatched: Option<Arc<dyn Source>>,
}

impl Executor {
    /// A join with the planned build side.
    pub(super) async fn planned_join(&self, sides: Sides<'_>, wanted: &Wanted) -> Result<Rows, Stop> {
        let join = sides.join(wanted, self.tuning.joins);
        let rows = self.rows(sides.build, join.of_build(wanted)).await?;
        let build = self.collect(rows, join.form.build_columns(), &join, 0).await?;
        self.probe_side(sides.probe, build, join, wanted).await
    }

    /// Probes a build side, whose key filter is passed down the probe side.
    pub(super) async fn probe_side(
        &self,
        probe: &Plan,
        build: Build,
        join: Arc<Join>,
        wanted: &Wanted,
    ) -> Result<Rows, Stop> {
        let mut of_probe = join.of_probe(wanted);
        // The table of a shared join always has a filter, but its kind may not allow one.
        if join.kind.drops_probe_rows()
            && let Some(keys) = build.key_filter()
        {
            of_probe.filters.push(RowFilter { columns: join.spec.probe_keys.clone(), keys });
        }
        let rows = self.rows(probe, of_probe).await?;
        self.probe(rows, build, join, 0).await
    }

    /// Collects these columns of rows, separately in each worker.
    async fn parts(&self, rows: Rows, columns: &[usize]) -> Result<Vec<CollectedRows>, Stop> {
        let part = || CollectedRows::new(columns.len(), Reservation::new(self.budget.clone(), "hash join"));
        let sinks = self.drain(rows, || BuildSink::new(part(), columns.to_vec())).await?;
        Ok(sinks.into_iter().map(BuildSink::into_rows).collect())
    }

    async fn join_table(&self, join: &Join, parts: Vec<CollectedRows>) -> Result<Arc<JoinTable>, Stop> {
        let table = JoinTable::build(join.spec.clone(), parts, self.worker_count, &self.cancelled).await?;
        Ok(Arc::new(table.beside(join.elsewhere)))
    }

    /// Collects the build side of a join, and partitions it at `level` if it exceeds the memory.
    pub(super) async fn collect(
        &self,
        rows: Rows,
        columns: &[usize],
        join: &Arc<Join>,
        level: u32,
    ) -> Result<Build, Stop> {
        let collected = self.collect_unless(&StopFlag::default(), rows, columns, join, level).await?;
        Ok(collected.expect("the flag for too many rows is never raised"))
    }

    /// As [`Self::collect`]; `None` if `too_many` was signalled.
    pub(super) async fn collect_unless(
        &self,
        too_much: &StopFlag,
        rows: Rows,
        columns: &[usize],
        join: &Arc<Join>,
        level: u32,
    ) -> Result<Option<Build>, Stop> {
        let spec = &join.spec;
        let Some(spill) = self.spill.as_ref().filter(|_| join.can_be_divided()) else {
            let parts = self.parts(rows, columns).await?;
            if too_much.is_raised() {
                return Ok(None);
            }
            return Ok(Some(Build::Table(self.join_table(join, parts).await?)));
        };
        let layout = SpillableLayout {
            column_count: columns.len(),
            keys: spec.build_keys.as_slice().into(),
            level,
            piece_rows: self.tuning.joins.piece_rows,
            // Rows from temporary files have already passed the key filter.
            notes_keys: level == 0 && join.kind.drops_probe_rows(),
            not_in: join.not_in(),
        };
        let build = SpillableBuild::new(spill.clone(), self.worker_count, layout);
        let sinks = self.drain(rows, || SpillingBuildSink::new(build.clone(), columns)).await?;
        if too_much.is_raised() {
            return Ok(None);
        }
        if !build.is_divided() {
            let pieces = sinks.into_iter().flat_map(SpillingBuildSink::into_rows).collect();
            return Ok(Some(Build::Table(self.join_table(join, pieces).await?)));
        }
        run_all(sinks.into_iter().map(|mut sink| async move { sink.spill_all().await })).await?;
        let build = Arc::into_inner(build).expect("the workers have ended");
        let DividedRows { partitions: Divided { resident, spilled }, keys, whole } = build.into_divided(spec.null_keys);
        // A partition has the properties of the whole build side.
        let elsewhere = if join.elsewhere.has_rows { join.elsewhere } else { whole };
        let join = Arc::new(Join { elsewhere, ..(**join).clone() });
        let table = self.join_table(&join, resident).await?;
        let is_all_here = spilled.iter().all(Option::is_none);
        Ok(Some(match is_all_here {
            true => Build::Table(table),
            false => Build::Divided(DividedBuild { table, spilled, keys, join }),
        }))
    }

    /// Probes a build side with these rows.
    pub(super) async fn probe(&self, mut rows: Rows, build: Build, join: Arc<Join>, level: u32) -> Result<Rows, Stop> {
        let column_count = join.form.column_count();
        let (table, spilled) = match build {
            Build::Table(table) => (table, None),
            Build::Divided(DividedBuild { table, spilled, join, .. }) => (table, Some((spilled, join))),
        };
        let Probing { operator: probe, unmatched } = self.probing(&table, &join).await?;
        let mut partitions = Vec::new();
        let operator: OperatorFactory = match spilled {
            None => probe,
            Some((spilled, of_partition)) => {
                let waiting = Arc::new(self.spilled_probe(&join, &spilled, level)?);
                partitions = spilled_partitions(&of_partition, spilled, &waiting, level + 1);
                Arc::new(move || Box::new(SpillingProbe::new(probe(), waiting.clone())) as Box<dyn Operator>)
            }
        };
        match join.watched.filter(|_| partitions.is_empty()) {
            Some(node) => rows.push_watched(operator, column_count, table.row_count() as u64, node, self.tuning.joins),
            None => rows.push(operator, column_count),
        }
        rows.in_order &= join.kind.columns().probe && partitions.is_empty();
        if let Some(unmatched) = unmatched {
            let nothing = Wanted::columns(Vec::new());
            rows.stages.extend(self.of_source(unmatched, column_count, &nothing).stages);
            rows.in_order = false;
        }
        rows.stages.extend(partitions.into_iter().map(Stage::of_partition));
        Ok(rows)
    }

    /// The probe of a table, and the source of the rows that are returned after it.
    async fn probing(&self, table: &Arc<JoinTable>, join: &Join) -> Result<Probing, Stop> {
        let (cancelled, returns_build_rows) = (self.cancelled.clone(), join.kind.marks_build_rows());
        match &join.form {
            JoinForm::OfOneQuery(layout) => {
                let unmatched = || Arc::new(UnmatchedSource::new(table.clone(), layout.clone())) as Arc<dyn Source>;
                let unmatched = returns_build_rows.then(unmatched);
                let (table, layout) = (table.clone(), layout.clone());
                let budget = self.budget.clone();
                let probe = move || ProbeOperator::new(table.clone(), layout.clone(), cancelled.clone(), &budget);
                Ok(Probing { operator: Arc::new(move || Box::new(probe())), unmatched })
            }
            JoinForm::Shared(layout, store) => {
                let reservation = Reservation::new(self.budget.clone(), "shared hash join");
                let (table, layout, store) = (table.clone(), layout.clone(), store.clone());
                let shared = Arc::new(SharedTable::build(table, layout, store, reservation, &self.cancelled).await?);
                let unmatched = || Arc::new(SharedUnmatched::new(shared.clone())) as Arc<dyn Source>;
                let unmatched = returns_build_rows.then(unmatched);
                let probe = move || SharedProbe::new(shared.clone(), cancelled.clone());
                Ok(Probing { operator: Arc::new(move || Box::new(probe())), unmatched })
            }
        }
    }

    fn spilled_probe(&self, join: &Join, spilled: &[Option<SpilledRows>], level: u32) -> Result<SpilledProbe, Stop> {
        let spill = self.query_spill();
        let columns = join.probe_columns();
        let memory = OperatorMemory::new(spill, self.worker_count);
        let rows = PartitionedRows::new(spill.clone(), memory, "hash join", columns.len(), None)?;
        let mut is_spilled = [false; PARTITIONS];
        is_spilled.iter_mut().zip(spilled).for_each(|(is_spilled, rows)| *is_spilled = rows.is_some());
        let (keys, null_keys) = (join.spec.probe_keys.clone(), join.spec.null_keys);
        Ok(SpilledProbe { keys, columns, null_keys, level, is_spilled, rows })
    }

    fn query_spill(&self) -> &Arc<QuerySpill> {
        self.spill.as_ref().expect("only joins with temporary files are divided")
    }

    /// Joins a partition.
    pub(super) fn partition(&self, partition: SpilledPartition) -> BoxFuture<'_, Result<Rows, Stop>> {
        Box::pin(self.join_partition(partition))
    }

    async fn join_partition(&self, partition: SpilledPartition) -> Result<Rows, Stop> {
        let SpilledPartition { join, build, probe, level, is_whole } = partition;
        let spill = self.query_spill();
        let probe = match probe {
            ProbeRows::Known(rows) => rows,
            ProbeRows::OfPartition(waiting, at) => Arc::new(waiting.rows.spilled(at)),
        };
        let column_count = join.form.column_count();
        let nothing = Rows { stages: Vec::new(), column_count, in_order: false };
        if probe.row_count == 0 && !join.kind.marks_build_rows() {
            return Ok(nothing);
        }
        let column_count = join.form.build_columns().len();
        let columns: Vec<usize> = (0..column_count).collect();
        let source = |rows: &Arc<SpilledRows>| Arc::new(StoredRowsSource::new(spill.clone(), rows.clone()));
        let all = Wanted::columns(Vec::new());
        let build = if is_whole {
            let rows = self.of_source(source(&build), column_count, &all);
            Build::Table(self.join_table(&join, self.parts(rows, &columns).await?).await?)
        } else if level == LEVELS_MAX {
            return Ok(Rows { stages: pieces(&join, &build, &probe, spill), ..nothing });
        } else {
            let rows = self.of_source(source(&build), column_count, &all);
            self.collect(rows, &columns, &join, level).await?
        };
        let kept = join.probe_columns();
        let mut rows = self.of_source(source(&probe), kept.len(), &all);
        rows.relayout((0..join.probe_width()).map(|column| place_among(&kept, column)).collect());
        self.probe(rows, build, join, level).await
    }
}

/// A partition in pieces that fit into memory, if the pieces can be joined separately.
fn pieces(join: &Arc<Join>, build: &Arc<SpilledRows>, probe: &Arc<SpilledRows>, spill: &Arc<QuerySpill>) -> Vec<Stage> {
    let share = OperatorMemory::new(spill, 1).share();
    let parts = if join.takes_pieces() { build.in_parts(share / 2) } else { Vec::new() };
    let parts: Vec<Arc<SpilledRows>> =
        if parts.is_empty() { vec![build.clone()] } else { parts.into_iter().map(Arc::new).collect() };
    let partition = |build| {
        let probe = ProbeRows::Known(probe.clone());
        SpilledPartition { join: join.clone(), build, probe, level: LEVELS_MAX, is_whole: true }
    };
    parts.into_iter().map(partition).map(Stage::of_partition).collect()
}
