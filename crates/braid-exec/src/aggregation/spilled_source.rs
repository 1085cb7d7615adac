//! The source of spilled groups.
//!
//! A morsel is a partition, or a part of one. It is read back into groups and merged. A partition that exceeds the memory is
//! spilled again, partitioned further.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::ExecError;
use crate::aggregation::source::{AggregationSink, Partition};
use crate::aggregation::{Aggregation, AggregationWorker, SpilledGroups};
use crate::plan::AggregationSpec;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource, run_all};
use crate::spill::{OperatorMemory, WorkerMemory};

/// Creates a worker without groups.
pub(crate) type MakeWorker = Arc<dyn Fn() -> AggregationWorker + Send + Sync>;

/// An aggregation whose groups are in a file.
pub(crate) struct SpilledAggregation {
    pub(crate) spec: Arc<AggregationSpec>,
    pub(crate) groups: Arc<SpilledGroups>,
    pub(crate) make_worker: MakeWorker,
    /// The memory of the groups that are read back.
    pub(crate) memory: Arc<OperatorMemory>,
    pub(crate) worker_count: usize,
}

impl fmt::Debug for SpilledAggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for Arc<SpilledAggregation> {
    fn worker_count_max(&self) -> usize {
        self.worker_count
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(Started::new(self))
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}

impl SpilledAggregation {
    fn describe(&self) -> String {
        "groups from a temporary file".to_owned()
    }

    /// The only group, whose distinct values are in the file. The states of each partition are computed separately and added.
    ///
    /// # Errors
    /// When a sum goes out of range, memory is refused or the file cannot be read.
    pub(crate) async fn only_group(self: &Arc<Self>) -> Result<AggregationWorker, ExecError> {
        let started = Started::new(self);
        let of_task = |started: Arc<Started>| async move {
            let mut all = started.aggregation.closed_worker()?;
            while let Some((spilled, partition)) = started.next_partition() {
                if let Some((mut worker, _memory)) = started.read(&spilled, partition).await? {
                    worker.close()?;
                    all.add_closed(&worker)?;
                }
            }
            Ok(all)
        };
        let parts = run_all((0..self.worker_count).map(|_| of_task(started.clone()))).await?;
        let mut all = self.closed_worker()?;
        parts.iter().try_for_each(|part| all.add_closed(part))?;
        Ok(all)
    }

    /// A closed worker without states, as the target of additions.
    fn closed_worker(&self) -> Result<AggregationWorker, ExecError> {
        let mut worker = (self.make_worker)();
        worker.close()?;
        Ok(worker)
    }
}

struct Started {
    aggregation: Arc<SpilledAggregation>,
    /// The partitions that are not read yet.
    partitions: Mutex<Vec<(Arc<SpilledGroups>, usize)>>,
}

impl StartedSource for Arc<Started> {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(PartitionFeed { started: self.clone(), read: None })
    }
}

struct PartitionFeed {
    started: Arc<Started>,
    read: Option<ReadPartition>,
}

/// A partition in memory. The sink holds its memory.
struct ReadPartition {
    groups: Arc<Aggregation>,
    next: usize,
    _memory: Option<WorkerMemory>,
}

impl Feed for PartitionFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            loop {
                if let Some(read) = self.read.as_mut().filter(|read| read.next < read.groups.partition_count()) {
                    let part = Partition::new(read.groups.clone(), read.next);
                    read.next += 1;
                    return Ok(Some(Box::new(part) as Box<dyn Morsel>));
                }
                // Frees its memory before the next partition is read.
                self.read = None;
                let Some((spilled, partition)) = self.started.next_partition() else { return Ok(None) };
                if let Some((worker, memory)) = self.started.read(&spilled, partition).await? {
                    let spec = self.started.aggregation.spec.clone();
                    let groups = Arc::new(Aggregation::of_workers(spec, vec![worker])?);
                    self.read = Some(ReadPartition { groups, next: 0, _memory: memory });
                }
            }
        })
    }
}

impl Started {
    fn new(aggregation: &Arc<SpilledAggregation>) -> Arc<Self> {
        let groups = &aggregation.groups;
        let partitions = groups.partitions().map(|partition| (groups.clone(), partition)).collect();
        Arc::new(Self { aggregation: aggregation.clone(), partitions: Mutex::new(partitions) })
    }

    fn next_partition(&self) -> Option<(Arc<SpilledGroups>, usize)> {
        self.partitions.lock().pop()
    }

    /// Reads a partition. Returns its groups and their memory, or `None` if it was spilled again.
    async fn read(
        &self,
        spilled: &SpilledGroups,
        partition: usize,
    ) -> Result<Option<(AggregationWorker, Option<WorkerMemory>)>, ExecError> {
        let SpilledAggregation { make_worker, memory, .. } = &*self.aggregation;
        let divided = spilled.divided().map(Arc::new);
        let mut worker = make_worker();
        worker.expect_scattered_keys();
        let mut sink = match &divided {
            Some(divided) => AggregationSink::spilling(worker, divided.clone(), memory.of_worker()),
            None => AggregationSink::new(worker),
        };
        let mut ahead = spilled.begin_to_read(partition, 0)?;
        let mut at = 0;
        while let Some(block) = ahead.take() {
            let read = block.groups().await?;
            at += 1;
            ahead = spilled.begin_to_read(partition, at)?;
            let taken = sink.worker_mut().take_back(&read);
            drop(read);
            sink.settle(taken)?;
            sink.spill_if_full().await?;
            tokio::task::yield_now().await;
        }
        if let Some(divided) = divided.filter(|divided| divided.has_groups()) {
            sink.spill_all().await?;
            let partitions = divided.partitions().map(|partition| (divided.clone(), partition));
            self.partitions.lock().extend(partitions);
            return Ok(None);
        }
        Ok(Some(sink.into_parts()))
    }
}
