//! Counters of rows in pipelines, which stop stages that make too many rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Rows;
use crate::Batch;
use crate::plan::NodeId;
use crate::runtime::pipeline::{Next, Operator, OperatorFactory};
use crate::runtime::stop::{Stop, StopFlag};
use crate::tuning::JoinTuning;

/// Stops all workers after about `max` rows.
#[derive(Clone)]
pub(super) struct Tally {
    all: Arc<AtomicU64>,
    own: u64,
    max: u64,
    /// A worker reports this many rows at a time.
    reported_rows: u64,
    too_many: StopFlag,
}

/// The input rows and pairs of a join, of all workers.
#[derive(Debug)]
struct JoinedRows {
    build_rows: u64,
    probe_rows: AtomicU64,
    pairs: AtomicU64,
    tuning: JoinTuning,
}

/// Counts the probe rows of a join.
#[derive(Clone)]
struct ProbeTally(Arc<JoinedRows>);

/// Stops all workers when a join has made too many pairs.
#[derive(Clone)]
struct PairTally {
    joined: Arc<JoinedRows>,
    own: u64,
    too_many: StopFlag,
    /// The join.
    join: NodeId,
}

impl Tally {
    /// A tally that signals `too_many` beyond `max` rows.
    pub(super) fn new(max: u64, reported_rows: u64, too_many: StopFlag) -> Self {
        Self { all: Arc::default(), own: 0, max, reported_rows, too_many }
    }
}

impl Operator for Tally {
    fn push(&mut self, batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        self.own += batch.row_count() as u64;
        if self.own >= self.reported_rows {
            let told = std::mem::take(&mut self.own);
            if self.all.fetch_add(told, Ordering::Relaxed) + told > self.max {
                self.too_many.raise();
                return Err(Stop::Enough);
            }
        }
        next(batch)
    }
}

impl JoinedRows {
    /// Whether the number of pairs shows that neither side's keys are unique. With unique build keys there are at most as many
    /// pairs as probe rows so far; with unique probe keys at most as many as build rows.
    fn are_too_many(&self, pairs: u64) -> bool {
        let probe_rows = self.probe_rows.load(Ordering::Relaxed);
        pairs > self.tuning.pairs_min && pairs / self.tuning.many_pairs > probe_rows.max(self.build_rows)
    }
}

impl Operator for ProbeTally {
    fn push(&mut self, batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        self.0.probe_rows.fetch_add(batch.row_count() as u64, Ordering::Relaxed);
        next(batch)
    }
}

impl Operator for PairTally {
    fn push(&mut self, batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        self.own += batch.row_count() as u64;
        if self.own >= self.joined.tuning.reported_rows {
            let told = std::mem::take(&mut self.own);
            if self.joined.are_too_many(self.joined.pairs.fetch_add(told, Ordering::Relaxed) + told) {
                self.too_many.raise();
                return Err(Stop::Restart(self.join));
            }
        }
        next(batch)
    }
}

impl Rows {
    /// Adds a counter of rows, which stops all stages when there are too many.
    pub(super) fn count(&mut self, tally: Tally) {
        let too_many = tally.too_many.clone();
        self.push_operator(tally);
        self.stop_with(&too_many);
    }

    /// Adds a join's probe operator. If it makes too many pairs for `build_rows` build rows, the consumer of these rows
    /// restarts.
    pub(super) fn push_watched(
        &mut self,
        probe: OperatorFactory,
        column_count: usize,
        build_rows: u64,
        join: NodeId,
        tuning: JoinTuning,
    ) {
        let joined =
            Arc::new(JoinedRows { build_rows, probe_rows: AtomicU64::new(0), pairs: AtomicU64::new(0), tuning });
        self.push_operator(ProbeTally(joined.clone()));
        self.push(probe, column_count);
        let too_many = StopFlag::default();
        self.push_operator(PairTally { joined, own: 0, too_many: too_many.clone(), join });
        self.stop_with(&too_many);
    }

    /// Adds an operator that does not change columns.
    fn push_operator(&mut self, operator: impl Operator + Clone + Sync + 'static) {
        self.push(Arc::new(move || Box::new(operator.clone())), self.column_count);
    }

    fn stop_with(&mut self, too_many: &StopFlag) {
        self.stages.iter_mut().for_each(|stage| stage.tallies.push(too_many.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_keys_on_either_side_never_make_too_many_pairs() {
        let tuning = JoinTuning::default();
        let joined = JoinedRows { build_rows: 1000, probe_rows: AtomicU64::new(10), pairs: AtomicU64::new(0), tuning };
        assert!(!joined.are_too_many(1000));
        assert!(joined.are_too_many((tuning.many_pairs * 1001).max(tuning.pairs_min + 1)));
        joined.probe_rows.fetch_add(1 << 20, Ordering::Relaxed);
        assert!(!joined.are_too_many(1 << 20));
        assert!(joined.are_too_many((1 + tuning.many_pairs) << 20));
    }
}
