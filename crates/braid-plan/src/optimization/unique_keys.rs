//! Columns of tables that are unique, as observed in each version of a table.
//!
//! The primary keys of tables are declared, not checked. A plan that needs a unique key names it as a candidate; the candidate is
//! observed by grouping the table by its columns, nulls as equals, and looking for a group of two rows. The observation holds for
//! one version, which never changes. A version with more rows is observed anew: an append may have brought a duplicate.
//!
//! The observation reads the key's columns of the whole table once. It is made only for plans that would read and group as many
//! rows in each run without it, and only where the sketches of distinct values do not speak against it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use braid_base::{ColumnId, TableId};
use braid_exec::executor::Executor;
use braid_exec::expression::Comparison;
use braid_exec::plan::{AggregateCall, AggregateFunction, AggregationSpec, Plan};
use braid_exec::runtime::pipeline::{Sink, Source};
use braid_exec::runtime::stop::Stop;
use braid_exec::{Batch, ExecError, Expression};
use braid_storage::{ColumnType, Scalar, TableVersion};
use parking_lot::Mutex;

/// Most keys that are remembered. When there are more, those of tables that are gone are forgotten, or else all.
const KEYS_MAX: usize = 1024;

/// Share of a table's rows that its distinct values are at least, in a sketch, where each row has its own: the sketch's standard
/// error is 3.3 %, of which this leaves room for four.
const DISTINCT_SHARE_MIN: f64 = 0.85;

/// Observed keys.
#[derive(Debug, Default)]
pub struct UniqueKeys {
    known: Mutex<HashMap<TableKey, Observation>>,
}

/// Some columns of a table, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TableKey {
    table: TableId,
    columns: Vec<ColumnId>,
}

#[derive(Debug)]
struct Observation {
    version: Weak<TableVersion>,
    is_unique: bool,
}

impl UniqueKeys {
    /// Whether the columns of a candidate are unique in its version; `None` if that was not observed.
    pub(super) fn known(&self, candidate: &KeyCandidate) -> Option<bool> {
        let known = self.known.lock();
        let observation = known.get(&candidate.key)?;
        std::ptr::eq(observation.version.as_ptr(), &*candidate.version).then_some(observation.is_unique)
    }

    fn note(&self, candidate: &KeyCandidate, is_unique: bool) {
        let mut known = self.known.lock();
        if known.len() >= KEYS_MAX && !known.contains_key(&candidate.key) {
            known.retain(|_, observation| observation.version.strong_count() > 0);
            if known.len() >= KEYS_MAX {
                known.clear();
            }
        }
        let version = Arc::downgrade(&candidate.version);
        known.insert(candidate.key.clone(), Observation { version, is_unique });
    }

    /// Observes a candidate. What cannot be observed, because the memory is full or a read fails, counts as not unique.
    pub(super) async fn observe(&self, candidate: &KeyCandidate, executor: &Executor) {
        let is_unique = match candidate.is_unique(executor).await {
            Ok(is_unique) => is_unique,
            Err(error) => {
                tracing::debug!(%error, "a key was not observed");
                false
            }
        };
        self.note(candidate, is_unique);
    }
}

/// Columns of a version of a table that a plan needs to be unique.
#[derive(Clone, Debug)]
pub struct KeyCandidate {
    key: TableKey,
    version: Arc<TableVersion>,
    /// All rows of the table, with these columns.
    rows: Arc<dyn Source>,
}

impl KeyCandidate {
    /// Some columns of a source; `None` if it is no table, or a column's values can be equal and different, as 0 and -0 are.
    pub(super) fn of(source: &dyn Source, columns: &[usize]) -> Option<Self> {
        let (version, spec) = source.scan()?;
        let mut of_table: Vec<ColumnId> = Vec::with_capacity(columns.len());
        for column in columns {
            of_table.push(*spec.projection.get(*column)?);
        }
        of_table.sort_unstable();
        let is_exact = |column: &ColumnId| {
            let column_type = version.value_type(*column);
            column_type.is_compared_as_stored() && column_type != ColumnType::Boolean
        };
        if !of_table.iter().all(is_exact) {
            return None;
        }
        let key = TableKey { table: version.def.id, columns: of_table };
        Some(Self { key, version: version.clone(), rows: source.of_whole_table(columns)? })
    }

    /// Number of rows of the table.
    pub(super) fn row_count(&self) -> u64 {
        self.version.row_count()
    }

    /// Whether the sketches of distinct values allow that it is unique.
    pub(super) fn is_plausible(&self) -> bool {
        let counts: Option<Vec<f64>> =
            self.key.columns.iter().map(|column| self.version.distinct_count(*column)).collect();
        counts.is_none_or(|counts| counts.into_iter().product::<f64>() >= DISTINCT_SHARE_MIN * self.row_count() as f64)
    }

    async fn is_unique(&self, executor: &Executor) -> Result<bool, ExecError> {
        let sinks = executor.run(&self.duplicates(), AnyRow::default).await?;
        Ok(sinks.iter().all(|sink| !sink.has_come))
    }

    /// A key that several rows have, if there is one.
    fn duplicates(&self) -> Plan {
        let column_count = self.key.columns.len();
        let rows = Plan::Source { source: self.rows.clone(), column_count };
        let count =
            AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
        let spec = AggregationSpec { keys: (0..column_count).collect(), aggregates: vec![count] };
        let groups = Plan::Aggregate { input: rows.into(), spec: spec.into() };
        let (left, right) = (Expression::Column(column_count), Expression::Constant(Some(Scalar::Int(1))));
        let comparison = Comparison::Greater;
        let condition = Expression::Compare { comparison, left: left.into(), right: right.into() };
        let several = Plan::Filter { input: groups.into(), condition };
        Plan::Limit { input: several.into(), offset: 0, limit: Some(1) }
    }
}

/// Whether a row has come.
#[derive(Debug, Default)]
struct AnyRow {
    has_come: bool,
}

impl Sink for AnyRow {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        self.has_come |= batch.row_count() > 0;
        Ok(())
    }
}
