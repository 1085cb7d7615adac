//! The scan behind the operator: started once by whichever partition is polled first, then a stream per partition.
//!
//! A stream holds the scan and nothing else does once all partitions are executed, so that dropping the streams is
//! cancelling the scan. The counters here are what EXPLAIN ANALYZE shows.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_buffer::BufferManager;
use braid_scan::{CooperativeScan, LivePredicates, ScanConsumer, ScanMetrics, ScanSpec};
use braid_storage::TableVersion;
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_plan::RecordBatchStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use futures::Stream;
use futures::stream::BoxStream;

use crate::dynamic_filter::DynamicFilters;

/// What it takes to start a scan.
#[derive(Clone)]
pub(crate) struct ScanSource {
    pub(crate) version: Arc<TableVersion>,
    pub(crate) buffer: Arc<BufferManager>,
    pub(crate) spec: ScanSpec,
    pub(crate) dynamic_filters: Option<Arc<DynamicFilters>>,
}

/// A scan that starts when it is first wanted.
pub(crate) struct PendingScan {
    source: ScanSource,
    started: OnceLock<Arc<CooperativeScan>>,
    chunks_pruned: Count,
}

impl PendingScan {
    pub(crate) fn new(source: ScanSource, metrics: &ExecutionPlanMetricsSet) -> Self {
        let chunks_pruned = MetricBuilder::new(metrics).global_counter("chunks_pruned");
        Self { source, started: OnceLock::new(), chunks_pruned }
    }

    fn start(&self) -> Arc<CooperativeScan> {
        let start = || {
            let ScanSource { version, buffer, spec, dynamic_filters } = self.source.clone();
            let live = dynamic_filters.map(|filters| filters as Arc<dyn LivePredicates>);
            let scan = CooperativeScan::start_with_live_predicates(&buffer, version, spec, live);
            self.chunks_pruned.add(scan.metrics().chunks_pruned as usize);
            scan
        };
        self.started.get_or_init(start).clone()
    }
}

/// One partition's part of a scan.
enum PartitionState {
    /// Executed, not polled yet.
    Executed(Arc<PendingScan>, PartitionCounters),
    /// Running.
    Consuming(Box<ScanConsumer>, PartitionCounters),
}

impl PartitionState {
    /// The next batch and the state after it.
    async fn next(self) -> Result<Option<(RecordBatch, Self)>> {
        let (mut consumer, mut counters) = match self {
            Self::Executed(scan, counters) => (Box::new(scan.start().consumer()), counters),
            Self::Consuming(consumer, counters) => (consumer, counters),
        };
        let batch = consumer.next_batch().await;
        counters.update(consumer.metrics());
        match batch {
            None => Ok(None),
            Some(Ok(batch)) => Ok(Some((batch, Self::Consuming(consumer, counters)))),
            Some(Err(error)) => Err(DataFusionError::External(Box::new(error))),
        }
    }
}

/// What EXPLAIN ANALYZE shows of one partition, beside the baseline.
struct PartitionCounters {
    shown: ScanMetrics,
    chunks_read: Count,
    chunks_counted: Count,
    chunks_refuted: Count,
    rows_scanned: Count,
    vectors: Count,
    vectors_skipped: Count,
    bytes_scanned: Count,
}

impl PartitionCounters {
    fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            shown: ScanMetrics::default(),
            chunks_read: counter("chunks_read"),
            chunks_counted: counter("chunks_counted"),
            chunks_refuted: counter("chunks_refuted"),
            rows_scanned: counter("rows_scanned"),
            vectors: counter("vectors"),
            vectors_skipped: counter("vectors_skipped"),
            bytes_scanned: counter("bytes_scanned"),
        }
    }

    fn update(&mut self, now: &ScanMetrics) {
        let add = |count: &Count, before: u64, now: u64| count.add((now - before) as usize);
        add(&self.chunks_read, self.shown.chunks_read, now.chunks_read);
        add(&self.chunks_counted, self.shown.chunks_counted, now.chunks_counted);
        add(&self.chunks_refuted, self.shown.chunks_refuted, now.chunks_refuted);
        add(&self.rows_scanned, self.shown.rows_in, now.rows_in);
        add(&self.vectors, self.shown.vectors, now.vectors);
        add(&self.vectors_skipped, self.shown.vectors_skipped, now.vectors_skipped);
        add(&self.bytes_scanned, self.shown.encoded_bytes, now.encoded_bytes);
        self.shown = *now;
    }
}

/// A partition's batches, metered: time in its polls is computing, time between a pending poll and the next is waiting.
pub(crate) struct ScanStream {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch>>,
    baseline: BaselineMetrics,
    waiting: Time,
    waiting_since: Option<Instant>,
}

impl ScanStream {
    /// The stream of `partition`, which joins `scan` when it is first polled.
    pub(crate) fn new(
        scan: Arc<PendingScan>,
        schema: SchemaRef,
        metrics: &ExecutionPlanMetricsSet,
        partition: usize,
    ) -> Self {
        let counters = PartitionCounters::new(metrics, partition);
        let batches = futures::stream::try_unfold(PartitionState::Executed(scan, counters), PartitionState::next);
        Self {
            schema,
            batches: Box::pin(batches),
            baseline: BaselineMetrics::new(metrics, partition),
            waiting: MetricBuilder::new(metrics).subset_time("time_waiting", partition),
            waiting_since: None,
        }
    }
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(since) = self.waiting_since.take() {
            self.waiting.add_elapsed(since);
        }
        let polled_at = Instant::now();
        let poll = self.batches.as_mut().poll_next(context);
        self.baseline.elapsed_compute().add_elapsed(polled_at);
        if poll.is_pending() {
            self.waiting_since = Some(Instant::now());
        }
        self.baseline.record_poll(poll)
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
