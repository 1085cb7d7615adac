//! The hash aggregation in pipelines: the sink that groups rows, and the source of the groups.
//!
//! The source's morsels are partitions of the groups. Reading a partition merges the groups of all workers in it. Merging
//! therefore runs on all cores, in the same pipeline as the operators above.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use braid_base::VECTOR_ROWS;
use futures::future::BoxFuture;

use crate::aggregation::{Aggregation, AggregationWorker, SpilledGroups, SpillingGroups};
use crate::plan::AggregationSpec;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Sink, Source, StartedSource};
use crate::runtime::result_rows::ResultRows;
use crate::runtime::stop::Stop;
use crate::spill::WorkerMemory;
use crate::{Batch, ExecError};

/// Groups one worker's rows.
pub(crate) struct AggregationSink {
    worker: AggregationWorker,
    spilling: Option<Spilling>,
}

/// The spilling of a worker.
pub(crate) struct Spilling {
    groups: Arc<SpilledGroups>,
    memory: WorkerMemory,
    /// Whether the worker must spill.
    is_full: bool,
}

impl AggregationSink {
    /// A sink for a worker.
    pub(crate) fn new(worker: AggregationWorker) -> Self {
        Self { worker, spilling: None }
    }

    /// A sink that can spill.
    pub(crate) fn spilling(mut worker: AggregationWorker, groups: Arc<SpilledGroups>, memory: WorkerMemory) -> Self {
        worker.enable_spilling(memory.part());
        Self { worker, spilling: Some(Spilling { groups, memory, is_full: false }) }
    }

    /// Records the worker's memory after an addition. If memory was refused, spills all groups.
    pub(crate) fn settle(&mut self, taken: Result<(), ExecError>) -> Result<(), ExecError> {
        let Some(spilling) = &mut self.spilling else { return taken };
        spilling.is_full |= spilling.memory.set_held(self.worker.bytes());
        let taken = match taken {
            Err(ExecError::Memory(_)) => {
                spilling.groups.wait_for_writes()?;
                self.worker.reserve()
            }
            taken => taken,
        };
        match taken {
            Err(ExecError::Memory(_)) if spilling.memory.is_worth_writing() => {
                let mut writing = self.start_spilling().expect("there is a file");
                while writing.write_next(&self.spilled())? {}
                Ok(())
            }
            taken => taken,
        }
    }

    fn spilled(&self) -> Arc<SpilledGroups> {
        self.spilling.as_ref().expect("there is a file").groups.clone()
    }

    fn start_spilling(&mut self) -> Option<SpillingGroups> {
        let spilling = self.spilling.as_mut()?;
        let writing = self.worker.take_groups();
        spilling.memory.set_held(0);
        spilling.is_full = false;
        Some(writing)
    }

    /// Spills all groups.
    pub(crate) async fn spill_all(&mut self) -> Result<(), ExecError> {
        if !self.worker.has_groups() {
            return Ok(());
        }
        let Some(mut writing) = self.start_spilling() else { return Ok(()) };
        let spilled = self.spilled();
        while writing.write_next(&spilled)? {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Spills all groups if the worker must spill.
    pub(crate) async fn spill_if_full(&mut self) -> Result<(), ExecError> {
        if Sink::is_ready(self) { Ok(()) } else { self.spill_all().await }
    }

    pub(crate) fn worker_mut(&mut self) -> &mut AggregationWorker {
        &mut self.worker
    }

    /// The worker and its memory.
    pub(crate) fn into_parts(self) -> (AggregationWorker, Option<WorkerMemory>) {
        (self.worker, self.spilling.map(|spilling| spilling.memory))
    }
}

impl Sink for AggregationSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        let taken = self.worker.consume(&mut batch);
        Ok(self.settle(taken)?)
    }

    fn is_ready(&self) -> bool {
        self.spilling.as_ref().is_none_or(|spilling| !spilling.is_full)
    }

    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(self.spill_all())
    }
}

/// The groups of all workers.
pub(crate) struct AggregationSource {
    groups: Arc<Aggregation>,
}

impl AggregationSource {
    pub(crate) fn new(spec: Arc<AggregationSpec>, sinks: Vec<AggregationSink>) -> Result<Self, ExecError> {
        let workers = sinks.into_iter().map(|sink| sink.worker).collect();
        Ok(Self { groups: Arc::new(Aggregation::of_workers(spec, workers)?) })
    }
}

impl fmt::Debug for AggregationSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for AggregationSource {
    fn worker_count_max(&self) -> usize {
        self.groups.partition_count()
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(Arc::new(StartedGroups { groups: self.groups.clone(), next: AtomicUsize::new(0) }))
    }

    fn describe(&self) -> String {
        "groups".to_owned()
    }
}

struct StartedGroups {
    groups: Arc<Aggregation>,
    next: AtomicUsize,
}

impl StartedSource for Arc<StartedGroups> {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(self.clone())
    }
}

impl Feed for Arc<StartedGroups> {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let partition = self.next.fetch_add(1, Ordering::Relaxed);
        let morsel = (partition < self.groups.partition_count())
            .then(|| Box::new(Partition::new(self.groups.clone(), partition)) as Box<dyn Morsel>);
        Box::pin(std::future::ready(Ok(morsel)))
    }
}

/// The groups of a partition.
pub(crate) struct Partition {
    groups: Arc<Aggregation>,
    partition: usize,
    rows: Option<Arc<ResultRows>>,
    next: usize,
}

impl Partition {
    pub(crate) fn new(groups: Arc<Aggregation>, partition: usize) -> Self {
        Self { groups, partition, rows: None, next: 0 }
    }
}

impl Morsel for Partition {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        let rows = match &self.rows {
            Some(rows) => rows.clone(),
            None => {
                let rows = self.groups.partition_rows(self.partition)?;
                self.rows.insert(Arc::new(rows)).clone()
            }
        };
        let end = (self.next + VECTOR_ROWS).min(rows.row_count());
        if self.next == end {
            return Ok(None);
        }
        let numbers: Vec<u32> = (self.next as u32..end as u32).collect();
        self.next = end;
        let mut batch = Batch::new(numbers.len());
        let column_count = rows.columns().len();
        batch.push_deferred(rows, numbers, 0..column_count);
        Ok(Some(batch))
    }
}
