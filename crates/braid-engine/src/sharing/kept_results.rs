//! Results that are kept after their queries have ended, for sessions with `braid.result_cache`.
//!
//! The key of a result is all that it depends on: the plan, the parameters by their values, and the versions of the tables. A query
//! looks for the versions that its statement must see, so that it never sees an older state. Versions are named, not held, and
//! rows are copied, so that a result keeps no table, segment or page: when a table changes, its results are never found again and
//! give way to others.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use braid_base::ByteSize;
use braid_share::ResultCache;
use braid_storage::Scalar;
use braid_storage::scalar::ScalarKey;
use parking_lot::Mutex;

use super::rows_in_memory::RowsInMemory;
use super::table_versions::TableVersions;
use crate::memory::{QueryMemory, TotalMemory};
use crate::rows::batch_bytes;
use crate::templates::plan_template::{BoundTemplate, ParameterRow};

/// Bytes of all results: a small part of the total budget, from which they are reserved.
const RESULTS_BYTES_MAX: ByteSize = ByteSize::mib(16);

/// Bytes of an entry beside its key and its rows: two nodes of maps, and the lists of batches and columns.
const ENTRY_BYTES: usize = 512;

/// What a result depends on.
#[derive(Clone, Debug)]
pub(crate) struct ResultKey {
    plan: u64,
    row: ParameterRow,
    versions: TableVersions,
}

impl ResultKey {
    /// The key of a query on these versions of its tables.
    pub fn new(query: &BoundTemplate, versions: TableVersions) -> Self {
        Self { plan: query.template.number, row: query.row.clone(), versions }
    }

    /// Bytes that an entry takes without its rows, estimated: the key twice, with its values, and the entry itself.
    fn bytes(&self) -> u64 {
        let value = |value: &Option<Scalar>| match value {
            Some(Scalar::Bytes(text)) => size_of::<Option<Scalar>>() + text.len(),
            _ => size_of::<Option<Scalar>>(),
        };
        let of_key = size_of::<Self>() + self.row.iter().map(value).sum::<usize>() + self.versions.bytes();
        (2 * of_key + ENTRY_BYTES) as u64
    }

    fn parts(&self) -> (u64, &TableVersions, impl Iterator<Item = ScalarKey<'_>>) {
        (self.plan, &self.versions, self.row.iter().map(ScalarKey::of))
    }
}

impl PartialEq for ResultKey {
    fn eq(&self, other: &Self) -> bool {
        let ((plan, versions, row), (other_plan, other_versions, other_row)) = (self.parts(), other.parts());
        plan == other_plan && versions == other_versions && row.eq(other_row)
    }
}

impl Eq for ResultKey {}

impl Hash for ResultKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (plan, versions, row) = self.parts();
        (plan, versions).hash(state);
        row.for_each(|value| value.hash(state));
    }
}

/// The results.
pub(crate) struct KeptResults {
    results: Mutex<ResultCache<ResultKey, Arc<RowsInMemory>>>,
    memory: Arc<QueryMemory>,
}

impl fmt::Debug for KeptResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptResults").field("count", &self.results.lock().len()).finish_non_exhaustive()
    }
}

impl KeptResults {
    /// No results yet. Their memory is reserved from `memory`.
    pub fn new(memory: Arc<TotalMemory>) -> Self {
        let results = Mutex::new(ResultCache::new(RESULTS_BYTES_MAX.0));
        Self { results, memory: QueryMemory::new(RESULTS_BYTES_MAX, memory) }
    }

    /// The rows of a query that equals one that has ended.
    pub fn find(&self, key: &ResultKey) -> Option<Arc<RowsInMemory>> {
        self.results.lock().get(key).cloned()
    }

    /// Keeps the rows of a query, unless they are too many or memory is short.
    pub fn keep(&self, key: ResultKey, batches: &[RecordBatch]) {
        let bytes = key.bytes() + batches.iter().map(batch_bytes).sum::<usize>() as u64;
        {
            let results = self.results.lock();
            if bytes > results.result_bytes_max() || results.contains(&key) {
                return;
            }
        }
        let Some(batches) = batches.iter().map(copied).collect::<Option<Vec<RecordBatch>>>() else { return };
        let mut results = self.results.lock();
        let Some(gone) = results.make_room(bytes) else { return };
        drop(gone);
        let mut rows = RowsInMemory::new(&self.memory);
        if batches.into_iter().all(|batch| rows.add(batch).is_ok()) {
            results.insert(key, Arc::new(rows), bytes);
        }
    }
}

/// The batch with buffers of its own; `None` if a column has a type whose buffers may stay shared.
fn copied(batch: &RecordBatch) -> Option<RecordBatch> {
    let all = UInt64Array::from_iter_values(0..batch.num_rows() as u64);
    let copied = |column: &ArrayRef| -> Option<ArrayRef> {
        if column.data_type().is_nested() || matches!(column.data_type(), DataType::Dictionary(..)) {
            return None;
        }
        let column = take(column, &all, None).ok()?;
        Some(match column.data_type() {
            DataType::Utf8View => Arc::new(column.as_string_view().gc()),
            DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
            _ => column,
        })
    };
    let columns: Option<Vec<ArrayRef>> = batch.columns().iter().map(copied).collect();
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns?, &options).ok()
}
