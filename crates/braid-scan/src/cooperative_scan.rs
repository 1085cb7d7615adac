//! A registered scan, shared by its consumers (Cooperative Scans, section 3: a CScan states all it will need up front
//! and takes what comes).
//!
//! Life: [`CooperativeScan::start`] prunes by zone map and registers the remaining chunks and the needed columns as one
//! set. Consumers take chunks until none is left, the limit is used up, or they are dropped. The registration ends with
//! whichever comes first: the last chunk was handed out, the limit is used up, or the last reference to the scan goes.
//! Consumers hold the scan and nothing else, so dropping them is cancelling it.
//!
//! Chunks without a needed column (`count(*)` where the zone maps answer the predicates) are not registered: they
//! are counted from the catalog, deleted rows aside.
//!
//! The scan deliberately does not know how a chunk is decoded (that is the [`crate::chunk_cursor`]), and it has no task
//! of its own: all work happens in its consumers' polls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::datatypes::SchemaRef;
use braid_base::ColumnId;
use braid_buffer::{BufferManager, CooperativeScanHandle, PinnedChunk, ScanRequest};
use braid_storage::{ColumnPredicate, TableVersion, Verdict};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::metrics::SharedMetrics;
use crate::prune::{prune, refuted, satisfied, verdict};
use crate::row_limit::RowLimit;
use crate::{LivePredicates, ScanError, ScanMetrics, ScanSpec};

/// One scan of one table version. Cheap to share; see the module for its life.
pub struct CooperativeScan {
    version: Arc<TableVersion>,
    spec: ScanSpec,
    schema: SchemaRef,
    /// The columns of the registered segments: a pinned chunk's i-th segment is of the i-th of these.
    columns: Vec<ColumnId>,
    live: Option<Arc<dyn LivePredicates>>,
    chunks_pruned: usize,
    /// Chunks that the catalog answers, and how many of them have been handed out.
    counted: Vec<usize>,
    counted_next: AtomicUsize,
    /// The registration; `None` once nothing more is wanted from it.
    handle: Mutex<Option<CooperativeScanHandle>>,
    /// Wakes consumers that wait for a chunk when the scan ends early.
    ended: Notify,
    pub(crate) limit: RowLimit,
    pub(crate) totals: SharedMetrics,
}

/// What a consumer is given to work on.
pub(crate) enum TakenChunk {
    /// Rows without a needed column, counted from the catalog, of the chunk with this index.
    Counted { chunk: usize, rows: u64 },
    /// A chunk in memory.
    Pinned(PinnedChunk),
}

impl CooperativeScan {
    /// Starts a scan of `version`. Panics if `spec` names a column that the table does not have.
    pub fn start(buffer: &Arc<BufferManager>, version: Arc<TableVersion>, spec: ScanSpec) -> Arc<Self> {
        Self::start_with_live_predicates(buffer, version, spec, None)
    }

    /// As [`CooperativeScan::start`], narrowed further by what `live` knows now, and whenever a chunk is taken.
    pub fn start_with_live_predicates(
        buffer: &Arc<BufferManager>,
        version: Arc<TableVersion>,
        spec: ScanSpec,
        live: Option<Arc<dyn LivePredicates>>,
    ) -> Arc<Self> {
        assert!(spec.batch_rows > 0, "a batch has at least one row");
        let schema = spec.schema(&version.def);
        let mut kept = prune(&version, &spec.predicates);
        if let Some(live) = &live {
            let known = live.current();
            kept.retain(|index| !refuted(&version.chunks[*index], &known));
        }
        let chunks_pruned = version.chunks.len() - kept.len();
        let live_columns = live.as_ref().map_or(&[][..], |live| live.columns());
        let catalog_suffices = |index: &usize| {
            spec.projection.is_empty()
                && live_columns.is_empty()
                && satisfied(&version.chunks[*index], &spec.predicates)
        };
        let (counted, chunks): (Vec<usize>, Vec<usize>) = kept.into_iter().partition(catalog_suffices);
        let columns = needed_columns(&version, &spec, live_columns, &chunks);
        let handle = (!chunks.is_empty() && spec.limit != Some(0)).then(|| {
            let (version, columns) = (version.clone(), columns.clone());
            buffer.register(ScanRequest { version, chunks, columns, in_order: spec.in_order })
        });
        let limit = RowLimit::new(spec.limit);
        Arc::new(Self {
            version,
            spec,
            schema,
            columns,
            live,
            chunks_pruned,
            counted,
            counted_next: AtomicUsize::new(0),
            handle: Mutex::new(handle),
            ended: Notify::new(),
            limit,
            totals: SharedMetrics::default(),
        })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What was asked for.
    pub fn spec(&self) -> &ScanSpec {
        &self.spec
    }

    /// The version that is scanned.
    pub fn version(&self) -> &Arc<TableVersion> {
        &self.version
    }

    /// What all consumers did so far.
    pub fn metrics(&self) -> ScanMetrics {
        self.totals.snapshot(self.version.chunks.len() as u64, self.chunks_pruned as u64)
    }

    /// Whether segments may still be loaded for this scan.
    pub fn is_registered(&self) -> bool {
        self.handle.lock().is_some()
    }

    /// Ends the scan early: nothing more is loaded for it, and consumers that wait for a chunk wake up to none.
    pub(crate) fn end(&self) {
        drop(self.handle.lock().take());
        self.counted_next.store(self.counted.len(), Ordering::Relaxed);
        self.ended.notify_waiters();
    }

    /// The next chunk for a consumer; `None` after the last one, or when the scan has ended. Cancel-safe.
    pub(crate) async fn next_chunk(&self) -> Option<Result<TakenChunk, ScanError>> {
        if self.limit.is_used_up() {
            self.end();
            return None;
        }
        if let Some(counted) = self.next_counted() {
            return Some(Ok(counted));
        }
        let ended = self.ended.notified();
        tokio::pin!(ended);
        // From here on an `end` is noticed, so one that came before has taken the handle away.
        ended.as_mut().enable();
        let handle = self.handle.lock().clone()?;
        let next = tokio::select! {
            biased;
            () = ended => return None,
            next = handle.next() => next,
        };
        if next.is_none() {
            // Every chunk was handed out. Not the end for consumers whose chunk is on its way: they have their clones.
            drop(self.handle.lock().take());
        }
        next.map(|chunk| chunk.map(TakenChunk::Pinned).map_err(ScanError::from))
    }

    fn next_counted(&self) -> Option<TakenChunk> {
        if self.counted_next.load(Ordering::Relaxed) >= self.counted.len() {
            return None;
        }
        let chunk = *self.counted.get(self.counted_next.fetch_add(1, Ordering::Relaxed))?;
        Some(TakenChunk::Counted { chunk, rows: self.version.chunks[chunk].live_row_count().into() })
    }

    /// The position of `column` among a pinned chunk's segments. Panics if it was not registered.
    pub(crate) fn segment_index(&self, column: ColumnId) -> usize {
        self.columns.iter().position(|c| *c == column).expect("every column that is decoded was registered")
    }

    /// The conditions of the live predicates as of now.
    pub(crate) fn live_predicates(&self) -> Vec<(ColumnId, ColumnPredicate)> {
        self.live.as_ref().map_or_else(Vec::new, |live| live.current())
    }
}

/// The projected columns, those of predicates that must be evaluated in some of `chunks`, and those of live predicates;
/// each once, ascending.
fn needed_columns(version: &TableVersion, spec: &ScanSpec, live: &[ColumnId], chunks: &[usize]) -> Vec<ColumnId> {
    let undecided = |(column, predicate): &(ColumnId, ColumnPredicate)| {
        let decided = |index: &usize| verdict(&version.chunks[*index], *column, predicate) == Verdict::All;
        (!chunks.iter().all(decided)).then_some(*column)
    };
    let mut columns: Vec<ColumnId> = spec.projection.clone();
    columns.extend(spec.predicates.iter().filter_map(undecided));
    columns.extend_from_slice(live);
    columns.sort_unstable();
    columns.dedup();
    columns
}
