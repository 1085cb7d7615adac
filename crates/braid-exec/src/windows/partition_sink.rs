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
    /// Made when a worker has many rows.
    rows: Mutex<Option<Arc<Hashed>>>,
    spill: Option<(Arc<QuerySpill>, Arc<OperatorMemory>)>,
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
    rows: SinkRows,
    few_rows_max: usize,
}

/// A worker's rows so far.
enum SinkRows {
    /// They are few, and together.
    Few(CollectedRows),
    /// They go to the partitions.
    Divided(Arc<Hashed>),
}

impl HashedPartitions {
    /// No rows. With `spill` they go to a file where they exceed the operator's memory.
    pub(crate) fn new(
        column_count: usize,
        spill: Option<(Arc<QuerySpill>, Arc<OperatorMemory>)>,
        budget: Arc<dyn MemoryBudget>,
    ) -> Self {
        Self { rows: Mutex::default(), spill, budget, column_count }
    }

    /// The partitions.
    ///
    /// # Errors
    /// When the file cannot be created.
    fn hashed(&self) -> Result<Arc<Hashed>, ExecError> {
        let mut rows = self.rows.lock();
        if let Some(rows) = &*rows {
            return Ok(rows.clone());
        }
        let made = match &self.spill {
            Some((spill, memory)) => {
                let (spill, memory) = (spill.clone(), memory.clone());
                Hashed::Spilling(PartitionedRows::new(spill, memory, OPERATOR, self.column_count, Some(0))?)
            }
            None => Hashed::InMemory((0..PARTITIONS).map(|_| Mutex::new(self.no_rows())).collect()),
        };
        Ok(rows.insert(Arc::new(made)).clone())
    }

    fn no_rows(&self) -> CollectedRows {
        CollectedRows::new(self.column_count, Reservation::new(self.budget.clone(), OPERATOR))
    }

    /// The parts of all rows, those in memory last. The sinks have taken in all rows.
    ///
    /// # Errors
    /// When memory is refused.
    pub(crate) fn parts(&self, sinks: Vec<PartitionSink>) -> Result<Vec<Part>, ExecError> {
        let few = |sink: &PartitionSink| match &sink.rows {
            SinkRows::Few(few) => Some(few.bytes()),
            SinkRows::Divided(_) => None,
        };
        let bytes: Option<usize> = sinks.iter().map(few).sum();
        if bytes.is_some_and(|bytes| bytes <= FEW_BYTES_MAX) {
            return self.one_part(sinks);
        }
        sinks.into_iter().try_for_each(|mut sink| sink.divide_few())?;
        let mut parts = Vec::new();
        let resident = match &*self.hashed()? {
            Hashed::InMemory(partitions) => {
                let take = |partition: &Mutex<CollectedRows>| std::mem::replace(&mut *partition.lock(), self.no_rows());
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

    /// The rows of sinks that have few, together.
    fn one_part(&self, sinks: Vec<PartitionSink>) -> Result<Vec<Part>, ExecError> {
        let mut all: Option<CollectedRows> = None;
        for sink in sinks {
            match (sink.rows, &mut all) {
                (SinkRows::Few(few), Some(all)) => each_batch(few, |mut batch| all.consume(&mut batch))?,
                (SinkRows::Few(few), none) if few.row_count() > 0 => *none = Some(few),
                _ => {}
            }
        }
        Ok(all.into_iter().map(Part::Collected).collect())
    }
}

impl Hashed {
    fn add(&self, columns: &[Arc<Vector>], rows: &[Vec<u32>]) -> Result<(), ExecError> {
        match self {
            Self::Spilling(partitions) => partitions.add(columns, rows),
            Self::InMemory(partitions) => {
                let mut rows = partitions.iter().zip(rows).filter(|(_, rows)| !rows.is_empty());
                rows.try_for_each(|(partition, rows)| partition.lock().consume_rows(columns, rows))
            }
        }
    }
}

impl PartitionSink {
    /// A worker's sink, which keeps at most so many rows together.
    pub(crate) fn new(to: &Arc<HashedPartitions>, spec: &WindowSpec, few_rows_max: usize) -> Self {
        let divider = Divider::new(spec.partition_by.clone().into(), 0);
        Self { to: to.clone(), divider, rows: SinkRows::Few(to.no_rows()), few_rows_max }
    }

    /// From now on rows go to the partitions, as those so far do.
    fn divide_few(&mut self) -> Result<(), ExecError> {
        if matches!(self.rows, SinkRows::Divided(_)) {
            return Ok(());
        }
        let to = self.to.hashed()?;
        let SinkRows::Few(few) = std::mem::replace(&mut self.rows, SinkRows::Divided(to.clone())) else {
            return Ok(());
        };
        each_batch(few, |batch| divide(&mut self.divider, &to, batch))
    }
}

fn divide(divider: &mut Divider, to: &Hashed, mut batch: Batch) -> Result<(), ExecError> {
    divider.divide(&mut batch);
    to.add(&batch.all_columns(), divider.rows())
}

impl Sink for PartitionSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        let few = match &mut self.rows {
            SinkRows::Divided(to) => return Ok(divide(&mut self.divider, to, batch)?),
            SinkRows::Few(few) => few,
        };
        match few.consume(&mut batch) {
            // The rows are in memory, and go to a file.
            Err(ExecError::Memory(_)) if self.to.spill.is_some() => Ok(self.divide_few()?),
            Ok(()) if few.row_count() > self.few_rows_max || few.bytes() > FEW_BYTES_MAX => Ok(self.divide_few()?),
            taken => Ok(taken?),
        }
    }
}

/// The rows batch by batch.
fn each_batch(rows: CollectedRows, mut each: impl FnMut(Batch) -> Result<(), ExecError>) -> Result<(), ExecError> {
    let mut piece = Piece::of_all(Arc::new(rows.into_result()));
    while let Some(batch) = piece.next_batch()? {
        each(batch)?;
    }
    Ok(())
}
