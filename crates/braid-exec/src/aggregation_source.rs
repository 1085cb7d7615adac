//! The hash aggregation in pipelines: the sink that groups rows, the source of the groups.
//!
//! The source's morsels are partitions of the groups. Merging what the workers have found in one is part of reading it,
//! so it happens on all cores, and on the way to the operators behind.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use braid_base::VECTOR_ROWS;
use futures::future::BoxFuture;

use crate::hash_aggregation::{Aggregation, AggregationSpec, AggregationWorker};
use crate::pipeline::{Feed, Morsel, RowFilter, Sink, Source, StartedSource};
use crate::result_rows::ResultRows;
use crate::shared_operator::SetColumn;
use crate::{Batch, ExecError, MemoryBudget};

/// Groups one worker's rows.
pub(crate) struct AggregationSink {
    worker: AggregationWorker,
}

impl AggregationSink {
    pub(crate) fn new(spec: Arc<AggregationSpec>, budget: Arc<dyn MemoryBudget>) -> Self {
        Self { worker: AggregationWorker::new(spec, budget) }
    }

    /// For many queries: each row counts for those of its set.
    pub(crate) fn shared(spec: Arc<AggregationSpec>, sets: SetColumn, budget: Arc<dyn MemoryBudget>) -> Self {
        Self { worker: AggregationWorker::shared(spec, sets, budget) }
    }
}

impl Sink for AggregationSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), ExecError> {
        self.worker.consume(&mut batch)
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
        let morsel = (partition < self.groups.partition_count()).then(|| {
            Box::new(Partition { groups: self.groups.clone(), partition, rows: None, next: 0 }) as Box<dyn Morsel>
        });
        Box::pin(std::future::ready(Ok(morsel)))
    }
}

struct Partition {
    groups: Arc<Aggregation>,
    partition: usize,
    rows: Option<Arc<ResultRows>>,
    next: usize,
}

impl Morsel for Partition {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        let rows = match &self.rows {
            Some(rows) => rows.clone(),
            None => {
                let columns = self.groups.partition(self.partition)?;
                let row_count = columns.first().map_or(0, crate::Vector::len);
                self.rows.insert(Arc::new(ResultRows::new(row_count, columns))).clone()
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
