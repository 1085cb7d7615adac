//! The source of groups that went to a file.
//!
//! A morsel is a partition, or a part of one: it is read back into groups like rows, and merged as they are. One that does
//! not fit into memory leaves it again, divided further.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::ExecError;
use crate::aggregation_source::{AggregationSink, Partition};
use crate::hash_aggregation::{Aggregation, AggregationSpec, AggregationWorker, SpilledGroups};
use crate::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::spill::{OperatorMemory, WorkerMemory};

/// Makes a worker without groups.
pub(crate) type MakeWorker = Arc<dyn Fn() -> AggregationWorker + Send + Sync>;

/// Groups in a file.
pub(crate) struct SpilledAggregation {
    pub(crate) spec: Arc<AggregationSpec>,
    pub(crate) groups: Arc<SpilledGroups>,
    pub(crate) make_worker: MakeWorker,
    /// For what is read back.
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
        let partitions = self.groups.partitions().map(|partition| (self.groups.clone(), partition)).collect();
        Arc::new(Arc::new(Started { aggregation: self.clone(), partitions: Mutex::new(partitions) }))
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}

impl SpilledAggregation {
    fn describe(&self) -> String {
        "groups from a temporary file".to_owned()
    }
}

struct Started {
    aggregation: Arc<SpilledAggregation>,
    /// Still to be read.
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

/// A partition in memory, which stays there as long as the sink.
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
                // Its memory, before the next needs some.
                self.read = None;
                let next = self.started.partitions.lock().pop();
                let Some((spilled, partition)) = next else { return Ok(None) };
                self.read = self.started.read(&spilled, partition).await?;
            }
        })
    }
}

impl Started {
    /// Reads a partition; nothing when it had to leave again.
    async fn read(&self, spilled: &SpilledGroups, partition: usize) -> Result<Option<ReadPartition>, ExecError> {
        let SpilledAggregation { spec, make_worker, memory, .. } = &*self.aggregation;
        let divided = spilled.divided().map(Arc::new);
        let mut sink = match &divided {
            Some(divided) => AggregationSink::spilling(make_worker(), divided.clone(), memory.of_worker()),
            None => AggregationSink::new(make_worker()),
        };
        let mut at = 0;
        while let Some(read) = spilled.read(partition, at).await? {
            let taken = sink.worker_mut().take_back(&read);
            drop(read);
            sink.settle(taken)?;
            sink.leave_if_full().await?;
            at += 1;
            tokio::task::yield_now().await;
        }
        if let Some(divided) = divided.filter(|divided| divided.has_groups()) {
            sink.leave().await?;
            let partitions = divided.partitions().map(|partition| (divided.clone(), partition));
            self.partitions.lock().extend(partitions);
            return Ok(None);
        }
        let (worker, memory) = sink.into_parts();
        let groups = Arc::new(Aggregation::of_workers(spec.clone(), vec![worker])?);
        Ok(Some(ReadPartition { groups, next: 0, _memory: memory }))
    }
}
