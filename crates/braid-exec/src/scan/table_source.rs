//! A table as a pipeline's source: a cooperative scan whose chunks are the morsels.
//!
//! The source filters the rows of a chunk vector by vector, on encoded data. It applies the scan's predicates, then the
//! conditions of the queries that share the scan, then the key filters of later joins, which decode only the key column. Rows that
//! are deleted in the version that is scanned come to none of them. A
//! batch collects the remaining rows of several vectors, so that the operators above a selective scan still get full
//! batches. Its columns are decoded when they are first read ([`ChunkOrigin`]).

use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use braid_base::{ChunkId, ColumnId, TableId, VECTOR_ROWS};
use braid_buffer::BufferManager;
use braid_scan::{ChunkConsumer, CooperativeScan, FilteredChunk, ScanChunk, ScanMetrics, ScanSpec, prune};
use braid_storage::{ColumnDef, ColumnPredicate, PhysicalType, Scalar, TableVersion};
use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::query_sets::set_calculator::set_column;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, SetFilter, Source, StartedSource};
use crate::scan::chunk_origin::{ChunkColumn, ChunkOrigin};
use crate::scan::column_bounds::{column_bounds, is_null_free};
use crate::scan::counted_rows::{CountedRows, IdentifiedRows};
use crate::scan::placed_predicate::{placed, predicate_text};
use crate::scan::set_scan::{ChunkSets, SetScan};
use crate::scan::table_sample::TableSample;
use crate::values::row_numbers::{RowNumbers, VectorSelection};
use crate::{Batch, ExecError, IntegerBounds, SetNumber, Vector};

/// A scan of one table version.
pub struct TableSource {
    version: Arc<TableVersion>,
    buffer: Arc<BufferManager>,
    spec: ScanSpec,
    /// Whether the identities of rows are a further column, behind those of the specification.
    has_row_ids: bool,
    /// Which rows are read, if not all.
    sample: Option<TableSample>,
    description: Arc<str>,
    /// The number of predicates that the description includes.
    described_count: usize,
    /// The metrics of each worker of each run.
    metrics: Arc<Mutex<Vec<ScanMetrics>>>,
    /// The conditions of the queries that share the scan.
    set_filters: Arc<[SetFilter]>,
    /// The maximum number of rows, computed from all zone maps at the first use.
    row_count_max: OnceLock<u64>,
}

impl TableSource {
    /// A source of the columns that `spec` projects. `description` is for EXPLAIN. Panics when `spec` has a limit, because
    /// operators count rows themselves.
    pub fn new(version: Arc<TableVersion>, buffer: Arc<BufferManager>, spec: ScanSpec, description: String) -> Self {
        assert!(spec.limit.is_none(), "a source of a pipeline has no limit");
        Self {
            version,
            buffer,
            described_count: spec.predicates.len(),
            spec,
            has_row_ids: false,
            sample: None,
            description: description.into(),
            metrics: Arc::default(),
            set_filters: Arc::default(),
            row_count_max: OnceLock::new(),
        }
    }

    /// A source of a sample of these rows. Panics when `spec` projects no column: rows without columns are counted, not looked at.
    pub fn with_sample(self, sample: TableSample) -> Self {
        assert!(!self.spec.projection.is_empty(), "a sample of rows without columns");
        Self { sample: Some(sample), ..self }
    }

    /// The source with the identities of the rows as a further column, behind the others: [`braid_storage::RowId`]s as numbers.
    pub fn with_row_ids(self) -> Self {
        Self { has_row_ids: true, ..self }
    }

    /// The metrics of each worker, complete when the runs have ended.
    pub fn metrics(&self) -> Vec<ScanMetrics> {
        self.metrics.lock().clone()
    }

    /// The scan restricted to the values that some query needs, so that zone maps prune chunks.
    fn within_hulls(&self, filters: &[SetFilter]) -> ScanSpec {
        let mut spec = self.spec.clone();
        for SetFilter { column, predicates } in filters {
            let hull = predicates.hull().and_then(|hull| placed(hull, self.physical(*column)));
            spec.predicates.extend(hull.map(|hull| (spec.projection[*column], hull)));
        }
        spec
    }

    /// The scan with the bounds of the key filters as further predicates.
    fn narrowed(&self, filters: &[RowFilter]) -> ScanSpec {
        let mut spec = self.spec.clone();
        for filter in filters {
            for (key, column) in filter.columns.iter().enumerate() {
                let Some(of_table) = self.spec.projection.get(*column) else { continue };
                let bounds = filter.keys.bounds(key).and_then(|bounds| range_within(bounds, self.physical(*column)));
                spec.predicates.extend(bounds.map(|range| (*of_table, range)));
            }
        }
        spec
    }

    /// The same source with another specification.
    fn with_spec(&self, spec: ScanSpec) -> Self {
        Self {
            spec,
            has_row_ids: self.has_row_ids,
            sample: self.sample,
            version: self.version.clone(),
            buffer: self.buffer.clone(),
            description: self.description.clone(),
            described_count: self.described_count,
            metrics: self.metrics.clone(),
            set_filters: self.set_filters.clone(),
            row_count_max: OnceLock::new(),
        }
    }

    /// Whether these conditions are on stored columns.
    fn are_stored(&self, filters: &[SetFilter]) -> bool {
        filters.iter().all(|filter| filter.column < self.spec.projection.len())
    }

    fn physical(&self, column: usize) -> PhysicalType {
        self.version.physical(self.spec.projection[column])
    }

    fn column(&self, column: ColumnId) -> &ColumnDef {
        self.version.def.column_by_id(column).expect("a scan's columns are those of its version")
    }

    /// The description without measurements.
    fn plan_text(&self) -> String {
        let mut text = String::from(&*self.description);
        if let Some(sample) = &self.sample {
            text.push_str(&format!(", {}", sample.text()));
        }
        let text_of =
            |(column, predicate): &(ColumnId, ColumnPredicate)| predicate_text(&self.column(*column).name, predicate);
        let added: Vec<String> = self.spec.predicates[self.described_count..].iter().map(text_of).collect();
        if !added.is_empty() {
            text.push_str(&format!(", filters=[{}]", added.join(", ")));
        }
        text
    }
}

impl fmt::Debug for TableSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableSource").field("table", &self.version.def.name).finish_non_exhaustive()
    }
}

impl Source for TableSource {
    fn worker_count_max(&self) -> usize {
        if self.spec.in_order { 1 } else { prune(&self.version, &self.spec.predicates).len() }
    }

    fn start(&self, filters: &[RowFilter]) -> Arc<dyn StartedSource> {
        let scan = CooperativeScan::start(&self.buffer, self.version.clone(), self.narrowed(filters));
        let (metrics, set_filters, sample) = (self.metrics.clone(), self.set_filters.clone(), self.sample);
        let has_row_ids = self.has_row_ids;
        Arc::new(StartedScan { scan, filters: filters.into(), has_row_ids, set_filters, sample, metrics })
    }

    fn table(&self) -> Option<TableId> {
        Some(self.version.def.id)
    }

    fn scan(&self) -> Option<(&Arc<TableVersion>, &ScanSpec)> {
        Some((&self.version, &self.spec))
    }

    fn integer_bounds(&self, column: usize) -> Option<IntegerBounds> {
        column_bounds(&self.version, *self.spec.projection.get(column)?)
    }

    fn is_null_free(&self, column: usize) -> bool {
        match self.spec.projection.get(column) {
            Some(column) => is_null_free(&self.version, *column),
            None => self.has_row_ids,
        }
    }

    fn of_whole_table(&self, columns: &[usize]) -> Option<Arc<dyn Source>> {
        if self.sample.is_some() {
            return None;
        }
        let columns: Option<Vec<ColumnId>> =
            columns.iter().map(|column| self.spec.projection.get(*column).copied()).collect();
        let spec = ScanSpec::new(columns?);
        let (version, buffer) = (self.version.clone(), self.buffer.clone());
        Some(Arc::new(Self::new(version, buffer, spec, self.version.def.name.clone())))
    }

    fn at_version(&self, version: &Arc<TableVersion>) -> Option<Arc<dyn Source>> {
        let (known, new) = (&self.version.def, &version.def);
        let is_same = Arc::ptr_eq(known, new) || known.id == new.id && known.columns == new.columns;
        let is_scaled_alike = |column: &ColumnId| self.version.common_scale(*column) == version.common_scale(*column);
        (is_same && self.spec.projection.iter().all(is_scaled_alike)).then(|| {
            let same = self.with_spec(self.spec.clone());
            Arc::new(Self { version: version.clone(), metrics: Arc::default(), ..same }) as Arc<dyn Source>
        })
    }

    fn with_predicate(&self, column: usize, predicate: ColumnPredicate) -> Option<Arc<dyn Source>> {
        let of_table = *self.spec.projection.get(column)?;
        let predicate = (of_table, placed(predicate, self.physical(column))?);
        let mut spec = self.spec.clone();
        if !spec.predicates.contains(&predicate) {
            spec.predicates.push(predicate);
        }
        Some(Arc::new(self.with_spec(spec)))
    }

    fn with_sets(&self, filters: Vec<SetFilter>) -> Option<Arc<dyn Source>> {
        if !self.are_stored(&filters) {
            return None;
        }
        let columns: Vec<usize> = filters.iter().map(|filter| filter.column).collect();
        let spec = self.within_hulls(&filters);
        Some(Arc::new(Self {
            described_count: spec.predicates.len(),
            description: format!("{}, sets_by={columns:?}", self.plan_text()).into(),
            set_filters: filters.into(),
            ..self.with_spec(spec)
        }))
    }

    fn without_unwanted(&self, filters: &[SetFilter]) -> Option<Arc<dyn Source>> {
        if !self.are_stored(filters) {
            return None;
        }
        let spec = self.within_hulls(filters);
        let (described_count, description) = (spec.predicates.len(), self.plan_text().into());
        Some(Arc::new(Self { described_count, description, ..self.with_spec(spec) }))
    }

    fn row_count_max(&self) -> Option<u64> {
        let rows_of = |chunk: usize| u64::from(self.version.chunks[chunk].live_row_count());
        let count = || prune(&self.version, &self.spec.predicates).into_iter().map(rows_of).sum();
        Some(*self.row_count_max.get_or_init(count))
    }

    fn is_narrowed(&self) -> bool {
        !self.spec.predicates.is_empty() || self.sample.is_some()
    }

    fn describe(&self) -> String {
        let metrics = self.metrics();
        if metrics.is_empty() {
            return self.plan_text();
        }
        let sum = |count: fn(&ScanMetrics) -> u64| metrics.iter().map(count).sum::<u64>();
        format!(
            "{}, chunks_read={}, rows_scanned={}, rows_selected={}, bytes_scanned={}",
            self.plan_text(),
            sum(|m| m.chunks_read),
            sum(|m| m.rows_in),
            sum(|m| m.rows_out),
            sum(|m| m.encoded_bytes)
        )
    }
}

/// The integers from the lowest to the highest key, as a predicate on a column; `None` if it is one of other values.
fn range_within((low, high): (i64, i64), physical: PhysicalType) -> Option<ColumnPredicate> {
    let (low, high) = (Bound::Included(Scalar::Int(low)), Bound::Included(Scalar::Int(high)));
    let is_integer = matches!(physical, PhysicalType::Int | PhysicalType::Int128);
    is_integer.then(|| placed(ColumnPredicate::Range { low, high }, physical)).flatten()
}

struct StartedScan {
    scan: Arc<CooperativeScan>,
    filters: Arc<[RowFilter]>,
    has_row_ids: bool,
    set_filters: Arc<[SetFilter]>,
    sample: Option<TableSample>,
    metrics: Arc<Mutex<Vec<ScanMetrics>>>,
}

impl StartedSource for StartedScan {
    fn feed(&self) -> Box<dyn Feed> {
        let consumer = self.scan.chunk_consumer();
        let filters = self.filters.iter().map(ActiveFilter::new).collect();
        let sets = (!self.set_filters.is_empty()).then(|| SetScan::new(&self.set_filters));
        let (scan, sample, metrics) = (self.scan.clone(), self.sample, self.metrics.clone());
        Box::new(ScanFeed { scan, consumer, filters, has_row_ids: self.has_row_ids, sets, sample, metrics })
    }
}

struct ScanFeed {
    scan: Arc<CooperativeScan>,
    consumer: ChunkConsumer,
    filters: Vec<ActiveFilter>,
    has_row_ids: bool,
    sets: Option<SetScan>,
    sample: Option<TableSample>,
    metrics: Arc<Mutex<Vec<ScanMetrics>>>,
}

impl Drop for ScanFeed {
    fn drop(&mut self) {
        self.metrics.lock().push(*self.consumer.metrics());
    }
}

/// A key filter in one worker, with the number of rows that it has dropped so far.
struct ActiveFilter {
    filter: RowFilter,
    rows_seen: usize,
    rows_dropped: usize,
}

impl ActiveFilter {
    /// Number of rows after which the worth of a filter is known.
    const ROWS_ENOUGH: usize = 16 * VECTOR_ROWS;

    fn new(filter: &RowFilter) -> Self {
        Self { filter: filter.clone(), rows_seen: 0, rows_dropped: 0 }
    }

    /// Whether filtering a row here costs less than passing it to the join that would drop it.
    fn is_worth_it(&self) -> bool {
        self.rows_seen < Self::ROWS_ENOUGH || self.rows_dropped * 8 >= self.rows_seen
    }

    /// Removes the rows that have no partners, and their sets.
    fn narrow(&mut self, origin: &ChunkOrigin, VectorRows { selection, sets }: &mut VectorRows) {
        let key = |column: &usize| Arc::new(origin.read_vector(*column, selection));
        let keys: Vec<Arc<Vector>> = self.filter.columns.iter().map(key).collect();
        let row_count = selection.rows.count();
        let mut keep = vec![true; row_count];
        self.filter.keys.retain(&keys, &mut keep);
        selection.rows.retain_where(&keep);
        if let Some(sets) = sets {
            let mut keep = keep.iter();
            sets.retain(|_| *keep.next().expect("a set for each row"));
        }
        self.rows_seen += row_count;
        self.rows_dropped += row_count - selection.rows.count();
    }
}

impl Feed for ScanFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            Ok(match self.consumer.next_chunk().await {
                None => None,
                Some(Err(error)) => return Err(ExecError::Foreign(Box::new(error))),
                Some(Ok(ScanChunk::Counted { chunk, .. })) if self.has_row_ids => {
                    let chunk = self.scan.version().chunks[chunk].clone();
                    Some(Box::new(IdentifiedRows::of(chunk)) as Box<dyn Morsel>)
                }
                Some(Ok(ScanChunk::Counted { rows, .. })) => Some(Box::new(CountedRows(rows)) as Box<dyn Morsel>),
                Some(Ok(ScanChunk::Filtered(chunk))) => {
                    let columns = self.scan.spec().projection.iter();
                    let value_type = |column: &ColumnId| self.scan.version().value_type(*column);
                    let segments =
                        columns.map(|column| ChunkColumn::new(chunk.segment(&self.scan, *column), value_type(column)));
                    let id = self.scan.version().chunks[chunk.pin().chunk].id;
                    let row_ids = self.has_row_ids.then_some(id);
                    let origin = Arc::new(ChunkOrigin { columns: segments.collect(), row_ids, _pin: chunk.pin() });
                    let (consumer, filters) = (&mut self.consumer, &mut *self.filters);
                    let segment = |column: usize| origin.columns[column].segment.clone();
                    let sets = self.sets.as_mut().map(|scan| (scan.open(segment), scan));
                    let sample = self.sample.map(|sample| (sample, id));
                    let morsel = ChunkMorsel { consumer, chunk, origin, filters, sets, sample, left: None };
                    Some(Box::new(morsel) as Box<dyn Morsel>)
                }
            })
        })
    }
}

/// A chunk whose vectors become batches.
struct ChunkMorsel<'a> {
    consumer: &'a mut ChunkConsumer,
    chunk: FilteredChunk,
    origin: Arc<ChunkOrigin>,
    filters: &'a mut [ActiveFilter],
    /// Computes the sets of rows, in a pass.
    sets: Option<(ChunkSets, &'a mut SetScan)>,
    /// The sample that is read, with the id of the chunk.
    sample: Option<(TableSample, ChunkId)>,
    /// Rows of the chunk that did not fit into the previous batch.
    left: Option<VectorRows>,
}

/// Selected rows of a vector, with their sets in a pass.
struct VectorRows {
    selection: VectorSelection,
    sets: Option<Vec<SetNumber>>,
}

impl ChunkMorsel<'_> {
    /// The selected rows of the next vector with any.
    fn next_rows(&mut self) -> Result<Option<VectorRows>, ExecError> {
        while let Some((vector, mut rows)) = self.consumer.next_vector(&mut self.chunk) {
            if let Some((sample, chunk)) = &self.sample {
                sample.retain(*chunk, vector, &mut rows);
                if rows.is_empty() {
                    continue;
                }
            }
            let sets = match &mut self.sets {
                None => None,
                Some((chunk, scan)) => Some(scan.narrow(chunk, vector, &mut rows)?),
            };
            let mut rows = VectorRows { selection: VectorSelection { vector, rows }, sets };
            for filter in self.filters.iter_mut().filter(|filter| filter.is_worth_it()) {
                if rows.selection.rows.is_empty() {
                    break;
                }
                filter.narrow(&self.origin, &mut rows);
            }
            if !rows.selection.rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

impl Morsel for ChunkMorsel<'_> {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        let mut parts: Vec<VectorRows> = self.left.take().into_iter().collect();
        let mut row_count: usize = parts.iter().map(|part| part.selection.rows.count()).sum();
        while row_count < VECTOR_ROWS {
            let Some(more) = self.next_rows()? else { break };
            row_count += more.selection.rows.count();
            if row_count > VECTOR_ROWS && !parts.is_empty() {
                // The rows of a vector stay in one batch, because they are decoded together.
                self.left = Some(more);
                break;
            }
            parts.push(more);
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let (selections, sets): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.selection, part.sets)).unzip();
        let rows = RowNumbers::of_selections(selections);
        let mut batch = Batch::new(rows.len());
        batch.push_deferred(self.origin.clone(), rows, 0..self.origin.column_count());
        if self.sets.is_some() {
            let sets: Vec<SetNumber> = sets.into_iter().flatten().flatten().collect();
            batch.push(Arc::new(set_column(&sets)));
        }
        Ok(Some(batch))
    }
}
