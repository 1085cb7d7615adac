//! The rows of a running plan: the remaining stages, to which operators are added from the bottom up.

use std::sync::Arc;

use super::running_join::SpilledPartition;
use super::running_table::{CommonTable, RunningRecursion};
use crate::runtime::pipeline::{Branch, OperatorFactory, RowFilter, Source};
use crate::runtime::row_operators::Relayout;
use crate::runtime::stop::StopFlag;

/// The stages that return a plan's rows, one after the other.
pub(super) struct Rows {
    pub(super) stages: Vec<Stage>,
    pub(super) column_count: usize,
    /// Whether the order of the rows matters. There is then one pipeline with one worker.
    pub(super) in_order: bool,
}

/// A stage: a part of a plan's rows.
pub(super) struct Stage {
    pub(super) source: StageSource,
    pub(super) filters: Vec<RowFilter>,
    pub(super) branch: Branch,
    /// Raised when there are too many rows. Unlike limits they change no row that is read.
    pub(super) tallies: Vec<StopFlag>,
}

pub(super) enum StageSource {
    Source(Arc<dyn Source>),
    /// A part that becomes stages after the stages before it have run.
    Partition(Box<SpilledPartition>),
    /// A common table, whose rows are made when the first of its scans is reached.
    CommonTable(Arc<CommonTable>),
    /// The next step of a recursion, and those after it.
    Recursion(Box<RunningRecursion>),
}

impl Rows {
    /// A copy of the stages, if their sources can be started again and they contain no limit.
    pub(super) fn again(&self) -> Option<Self> {
        let stages: Option<Vec<Stage>> = self.stages.iter().map(Stage::again).collect();
        Some(Self { stages: stages?, column_count: self.column_count, in_order: self.in_order })
    }

    /// Adds an operator, whose rows have `column_count` columns.
    pub(super) fn push(&mut self, factory: OperatorFactory, column_count: usize) {
        self.stages.iter_mut().for_each(|stage| stage.branch.operators.push(factory.clone()));
        self.column_count = column_count;
    }

    /// Moves columns to other positions.
    pub(super) fn relayout(&mut self, columns: Vec<Option<usize>>) {
        if self.column_count == columns.len() && columns.iter().copied().eq((0..columns.len()).map(Some)) {
            return;
        }
        let (column_count, columns): (usize, Arc<[Option<usize>]>) = (columns.len(), columns.into());
        self.push(Arc::new(move || Box::new(Relayout::new(columns.clone()))), column_count);
    }
}

impl Stage {
    /// The rows of a source. The source may leave out rows that the filters exclude.
    pub(super) fn new(source: StageSource, filters: Vec<RowFilter>) -> Self {
        Self { source, filters, branch: Branch::default(), tallies: Vec::new() }
    }

    fn again(&self) -> Option<Self> {
        if !self.branch.limits.is_empty() {
            return None;
        }
        let source = match &self.source {
            StageSource::Source(source) if source.row_count_max().is_some() => StageSource::Source(source.clone()),
            StageSource::CommonTable(table) => StageSource::CommonTable(table.clone()),
            StageSource::Source(_) | StageSource::Partition(_) | StageSource::Recursion(_) => return None,
        };
        let (filters, branch, tallies) = (self.filters.clone(), self.branch.clone(), self.tallies.clone());
        Some(Self { source, filters, branch, tallies })
    }

    /// The rows of a partition that is not joined yet.
    pub(super) fn of_partition(partition: SpilledPartition) -> Self {
        let source = StageSource::Partition(Box::new(partition));
        Self::new(source, Vec::new())
    }
}
