//! The rows of a plan that is being run: stages of what is left to do, to which operators are added on the way up.

use std::sync::Arc;

use super::join::SpilledPartition;
use crate::runtime::pipeline::{Enough, OperatorFactory, RowFilter, Source};
use crate::runtime::row_operators::Relayout;

/// Stages that together give a plan's rows, one after the other.
pub(super) struct Rows {
    pub(super) stages: Vec<Stage>,
    pub(super) column_count: usize,
    /// Whether their order means something; then there is one pipeline, with one worker.
    pub(super) in_order: bool,
}

/// Some of a plan's rows.
pub(super) struct Stage {
    pub(super) source: StageSource,
    pub(super) filters: Vec<RowFilter>,
    pub(super) operators: Vec<OperatorFactory>,
    pub(super) limits: Vec<Enough>,
    /// Say that there are too many rows.
    pub(super) tallies: Vec<Enough>,
}

pub(super) enum StageSource {
    Source(Arc<dyn Source>),
    /// Becomes stages of its own when those before it have run.
    Partition(Box<SpilledPartition>),
}

impl Rows {
    /// The same rows once more, if their sources can be started again and no limit counts them on the way.
    pub(super) fn again(&self) -> Option<Self> {
        let stages: Option<Vec<Stage>> = self.stages.iter().map(Stage::again).collect();
        Some(Self { stages: stages?, column_count: self.column_count, in_order: self.in_order })
    }

    /// Adds an operator, after which rows have so many columns.
    pub(super) fn push(&mut self, factory: OperatorFactory, column_count: usize) {
        self.stages.iter_mut().for_each(|stage| stage.operators.push(factory.clone()));
        self.column_count = column_count;
    }

    /// Puts columns into other places.
    pub(super) fn relayout(&mut self, columns: Vec<Option<usize>>) {
        if self.column_count == columns.len() && columns.iter().copied().eq((0..columns.len()).map(Some)) {
            return;
        }
        let (column_count, columns): (usize, Arc<[Option<usize>]>) = (columns.len(), columns.into());
        self.push(Arc::new(move || Box::new(Relayout::new(columns.clone()))), column_count);
    }
}

impl Stage {
    fn again(&self) -> Option<Self> {
        let StageSource::Source(source) = &self.source else { return None };
        if source.row_count_max().is_none() || !self.limits.is_empty() {
            return None;
        }
        let source = StageSource::Source(source.clone());
        let (filters, operators) = (self.filters.clone(), self.operators.clone());
        Some(Self { source, filters, operators, limits: Vec::new(), tallies: self.tallies.clone() })
    }

    /// Rows of a partition that is still to be joined.
    pub(super) fn of_partition(partition: SpilledPartition) -> Self {
        let source = StageSource::Partition(Box::new(partition));
        Self { source, filters: Vec::new(), operators: Vec::new(), limits: Vec::new(), tallies: Vec::new() }
    }
}
