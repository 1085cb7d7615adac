//! Rows divided by the hash of their partitions' keys, so that workers sort and evaluate different partitions.
//!
//! A worker keeps its first rows together. Few rows are one part, whose sort costs less than many parts do.

use std::sync::Arc;

use parking_lot::Mutex;

use super::OPERATOR;
use super::part::Part;
use crate::plan::WindowSpec;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::pipeline::{Morsel, Sink};
use crate::runtime::result_rows::Piece;
use crate::runtime::stop::Stop;
use crate::spill::{Divider, OperatorMemory, PARTITIONS, PartitionedRows, QuerySpill};
use crate::{Batch, ExecError, MemoryBudget, Reservation, Vector};

/// Bytes of rows that a worker keeps together at most, and of those that are one part.
const FEW_BYTES_MAX: usize = 1 << 20;

/// Rows of all workers by the hash of their keys.
pub(crate) struct HashedPartitions {
    rows: Hashed,
    budget: Arc<dyn MemoryBudget>,
    column_count: usize,
}

enum Hashed {
    InMemory(Vec<Mutex<CollectedRows>>),
    Spilling(PartitionedRows),
}

/// One worker's rows on their way to the partitions.
pub(crate) struct PartitionSink {
    to: Arc<HashedPartitions>,
    divider: Divider,
    /// The rows so far, while they are few.
    few: Option<CollectedRows>,
    few_rows_max: usize,
}

impl HashedPartitions {
    /// No rows. With `spill` they go to a file where they exceed the operator's memory.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(crate) fn new(
        column_count: usize,
        spill: Option<(&Arc<QuerySpill>, &Arc<OperatorMemory>)>,
        budget: Arc<dyn MemoryBudget>,
    ) -> Result<Self, ExecError> {
        let rows = match spill {
            Some((spill, memory)) => {
                let (spill, memory) = (spill.clone(), memory.clone());
                Hashed::Spilling(PartitionedRows::new(spill, memory, OPERATOR, column_count, Some(0))?)
            }
            None => {
                let partition = |_| Mutex::new(collected(column_count, &budget));
                Hashed::InMemory((0..PARTITIONS).map(partition).collect())
            }
        };
        Ok(Self { rows, budget, column_count })
    }

    fn add(&self, columns: &[Arc<Vector>], rows: &[Vec<u32>]) -> Result<(), ExecError> {
        match &self.rows {
            Hashed::Spilling(partitions) => partitions.add(columns, rows),
            Hashed::InMemory(partitions) => {
                let rows = partitions.iter().zip(rows).filter(|(_, rows)| !rows.is_empty());
                rows.into_iter().try_for_each(|(partition, rows)| partition.lock().consume_rows(columns, rows))
            }
        }
    }

    /// The parts of all rows, those in memory last. The sinks have taken in all rows.
    ///
    /// # Errors
    /// When memory is refused.
    pub(crate) fn parts(&self, sinks: Vec<PartitionSink>) -> Result<Vec<Part>, ExecError> {
        let bytes: usize = sinks.iter().filter_map(|sink| sink.few.as_ref()).map(CollectedRows::bytes).sum();
        if sinks.iter().all(|sink| sink.few.is_some()) && bytes <= FEW_BYTES_MAX {
            let mut few = sinks.into_iter().filter_map(|sink| sink.few).filter(|few| few.row_count() > 0);
            let Some(mut all) = few.next() else { return Ok(Vec::new()) };
            few.try_for_each(|few| each_batch(few, |mut batch| all.consume(&mut batch)))?;
            return Ok(vec![Part::Collected(all)]);
        }
        sinks.into_iter().try_for_each(|mut sink| sink.divide_few())?;
        let mut parts = Vec::new();
        let resident = match &self.rows {
            Hashed::InMemory(partitions) => {
                let take = |partition: &Mutex<CollectedRows>| {
                    std::mem::replace(&mut *partition.lock(), collected(self.column_count, &self.budget))
                };
                partitions.iter().map(take).collect()
            }
            Hashed::Spilling(partitions) => {
                let divided = partitions.divided();
                parts.extend(divided.spilled.into_iter().flatten().map(Part::Spilled));
                divided.resident
            }
        };
        parts.extend(resident.into_iter().filter(|rows| rows.row_count() > 0).map(Part::Collected));
        Ok(parts)
    }
}

impl PartitionSink {
    /// A worker's sink, which keeps at most so many rows together.
    pub(crate) fn new(to: &Arc<HashedPartitions>, spec: &WindowSpec, few_rows_max: usize) -> Self {
        let few = Some(collected(to.column_count, &to.budget));
        let divider = Divider::new(spec.partition_by.clone().into(), 0);
        Self { to: to.clone(), divider, few, few_rows_max }
    }

    fn divide(&mut self, mut batch: Batch) -> Result<(), ExecError> {
        self.divider.divide(&mut batch);
        self.to.add(&batch.all_columns(), self.divider.rows())
    }

    fn divide_few(&mut self) -> Result<(), ExecError> {
        match self.few.take() {
            Some(few) if few.row_count() > 0 => each_batch(few, |batch| self.divide(batch)),
            _ => Ok(()),
        }
    }
}

impl Sink for PartitionSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        let Some(few) = &mut self.few else { return Ok(self.divide(batch)?) };
        let taken = few.consume(&mut batch);
        let can_spill = matches!(self.to.rows, Hashed::Spilling(_));
        match taken {
            // The rows are in memory, and go to a file.
            Err(ExecError::Memory(_)) if can_spill => Ok(self.divide_few()?),
            Ok(()) if few.row_count() > self.few_rows_max || few.bytes() > FEW_BYTES_MAX => Ok(self.divide_few()?),
            taken => Ok(taken?),
        }
    }
}

fn collected(column_count: usize, budget: &Arc<dyn MemoryBudget>) -> CollectedRows {
    CollectedRows::new(column_count, Reservation::new(budget.clone(), OPERATOR))
}

/// The rows batch by batch.
pub(super) fn each_batch(
    rows: CollectedRows,
    mut each: impl FnMut(Batch) -> Result<(), ExecError>,
) -> Result<(), ExecError> {
    let mut piece = Piece::of_all(Arc::new(rows.into_result()));
    while let Some(batch) = piece.next_batch()? {
        each(batch)?;
    }
    Ok(())
}
