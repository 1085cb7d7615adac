//! ORDER BY, with or without a limit.
//!
//! Each worker collects its rows. With a small limit, it sorts its rows and drops those beyond the limit whenever they have
//! grown to several times the limit. It therefore never holds many more rows than it returns. After the first such cut, a
//! row that does not precede the last kept row is dropped by its keys, before its other columns are read. At the end the
//! rows of all workers are sorted together. Without a small limit, workers make sorted runs, in memory or in a file, which
//! are merged (`runs`, `merge`, `sorted_source`).
//!
//! Most comparisons use only the prefix of the first key, a number (`key_prefixes`). Where prefixes are equal, keys are compared
//! column by column on vectors of one kind, with one `match` per column.

mod key_prefixes;
mod merge;
mod runs;
mod sorted_source;

use std::cmp::Ordering;
use std::sync::Arc;

use braid_base::ByteSize;
use braid_storage::scalar::compare_floats;

use crate::exec_error::MemoryExceeded;
use crate::memory::Reservation;
use crate::plan::{SortKey, SortSpec};
use crate::runtime::pipeline::Sink;
use crate::runtime::result_rows::ResultRows;
use crate::runtime::stop::Stop;
use crate::tuning::SortTuning;
use crate::values::vector::Values;
use crate::{Batch, ExecError, MemoryBudget, Vector};
use key_prefixes::prefixes;

pub(crate) use runs::{RunSink, Spilling};
pub(crate) use sorted_source::{MergeFeed, SortedRuns, SortedSource};

/// One worker's rows.
pub struct SortWorker {
    spec: Arc<SortSpec>,
    rows: SortRows,
    /// The last of the first rows so far, if there are as many as the limit. Later rows must precede it.
    last_wanted: Option<usize>,
    tuning: SortTuning,
}

/// Rows collected for sorting, with their memory.
pub(crate) struct SortRows {
    row_count: usize,
    columns: Vec<Vector>,
    reservation: Reservation,
}

impl SortWorker {
    /// A worker without rows.
    pub fn new(spec: Arc<SortSpec>, budget: Arc<dyn MemoryBudget>) -> Self {
        Self::with_tuning(spec, budget, SortTuning::default())
    }

    pub(crate) fn with_tuning(spec: Arc<SortSpec>, budget: Arc<dyn MemoryBudget>, tuning: SortTuning) -> Self {
        Self { spec, rows: SortRows::new(budget), last_wanted: None, tuning }
    }

    /// The rows of all workers in order, up to the limit. The result has `column_count` columns, also without rows, and holds
    /// its memory until it is dropped.
    ///
    /// # Errors
    /// When memory is refused.
    pub fn finish(workers: Vec<Self>, column_count: usize) -> Result<ResultRows, ExecError> {
        let mut workers = workers.into_iter().filter(|worker| worker.rows.row_count > 0);
        let Some(mut all) = workers.next() else {
            return Ok(ResultRows::new(0, vec![Vector::repeat(None, 0); column_count]));
        };
        for worker in workers {
            all.rows.append(worker.rows.row_count, worker.rows.columns.iter())?;
        }
        all.sort()?;
        Ok(all.rows.into_result())
    }

    /// Sorts the rows and drops those beyond the limit.
    fn sort(&mut self) -> Result<(), ExecError> {
        let SortSpec { keys, limit } = &*self.spec;
        self.rows.arrange(0, |columns, row_count| sorted_rows(columns, row_count, keys, *limit))?;
        self.last_wanted = limit.filter(|limit| *limit == self.rows.row_count).and_then(|limit| limit.checked_sub(1));
        Ok(())
    }
}

impl Sink for SortWorker {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        if let Some(last) = self.last_wanted {
            self.rows.drop_from(last, &self.spec.keys, &mut batch);
        }
        self.rows.collect(batch)?;
        match self.spec.limit {
            Some(limit) if self.rows.row_count >= cut_rows(limit, self.tuning) => Ok(self.sort()?),
            _ => Ok(()),
        }
    }
}

/// Number of rows at which the rows beyond the first `wanted` are dropped.
pub(crate) fn cut_rows(wanted: usize, tuning: SortTuning) -> usize {
    wanted.saturating_mul(4).max(tuning.cut_rows_min)
}

impl SortRows {
    /// No rows.
    pub(crate) fn new(budget: Arc<dyn MemoryBudget>) -> Self {
        Self { row_count: 0, columns: Vec::new(), reservation: Reservation::new(budget, "sort") }
    }

    /// Number of rows.
    pub(crate) fn row_count(&self) -> usize {
        self.row_count
    }

    /// The columns; none before the first rows.
    pub(crate) fn columns(&self) -> &[Vector] {
        &self.columns
    }

    /// Replaces a column. Panics unless the new column has as many rows and takes no more memory.
    pub(crate) fn replace(&mut self, at: usize, column: Vector) {
        assert_eq!(column.len(), self.row_count, "a column has as many rows as its table");
        assert!(column.bytes() <= self.columns[at].bytes(), "memory was asked for");
        self.columns[at] = column;
    }

    /// Adds rows.
    pub(crate) fn collect(&mut self, mut batch: Batch) -> Result<(), ExecError> {
        if batch.row_count() == 0 {
            return Ok(());
        }
        let columns: Vec<Arc<Vector>> = (0..batch.column_count()).map(|column| batch.column(column)).collect();
        self.append(batch.row_count(), columns.iter().map(AsRef::as_ref))
    }

    /// Adds the rows of these columns.
    pub(crate) fn append<'a>(
        &mut self,
        row_count: usize,
        columns: impl Iterator<Item = &'a Vector>,
    ) -> Result<(), ExecError> {
        if self.columns.is_empty() {
            self.columns = columns.cloned().collect();
        } else {
            self.columns.iter_mut().zip(columns).for_each(|(to, from)| to.append(from));
        }
        self.row_count += row_count;
        if u32::try_from(self.row_count).is_err() {
            return Err(ExecError::Memory(MemoryExceeded {
                operator: "sort",
                asked: ByteSize(0),
                reason: format!("it has {} rows; a sort has at most 2^32 rows in memory", self.row_count),
            }));
        }
        self.reserve()
    }

    /// Reserves the memory of the rows.
    pub(crate) fn reserve(&mut self) -> Result<(), ExecError> {
        self.reservation.resize(self.bytes())
    }

    /// Bytes that the rows take.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Vector::bytes).sum()
    }

    /// Keeps the rows whose numbers `choose` returns, in that order. `choose` gets the columns and the number of rows, and takes
    /// at most `row_bytes` per row in addition to the numbers.
    pub(crate) fn arrange(
        &mut self,
        row_bytes: usize,
        choose: impl FnOnce(&[Vector], usize) -> Vec<u32>,
    ) -> Result<(), ExecError> {
        // The rows take twice their memory while they are copied.
        self.reservation.resize(2 * self.bytes() + (SORTED_ROW_BYTES + row_bytes) * self.row_count)?;
        let order = choose(&self.columns, self.row_count);
        self.columns = self.columns.iter().map(|column| column.take(&order)).collect();
        self.row_count = order.len();
        self.reserve()
    }

    /// Drops the rows of a batch that do not precede row `last`. An equal row is later, and is dropped, too.
    pub(crate) fn drop_from(&self, last: usize, keys: &[SortKey], batch: &mut Batch) {
        let mut orders = vec![Ordering::Equal; batch.row_count()];
        for key in keys {
            compare_with(&batch.column(key.column), &self.columns[key.column], last, *key, &mut orders);
            if !orders.contains(&Ordering::Equal) {
                break;
            }
        }
        let keep: Vec<bool> = orders.into_iter().map(Ordering::is_lt).collect();
        batch.retain(&keep);
    }

    /// The rows, which hold their memory until they are dropped.
    pub(crate) fn into_result(self) -> ResultRows {
        ResultRows::holding(self.row_count, self.columns, self.reservation)
    }
}

/// Bytes per row during a sort: a prefix and a number, and both again as a pair.
const SORTED_ROW_BYTES: usize = 8 + 4 + 16;

/// The numbers of the first rows in order; all rows without a limit.
pub(crate) fn sorted_rows(columns: &[Vector], row_count: usize, keys: &[SortKey], limit: Option<usize>) -> Vec<u32> {
    let prefixes = keys.first().map(|key| prefixes(&columns[key.column], *key));
    let prefixes = prefixes.unwrap_or_else(|| vec![0; row_count]);
    let mut rows: Vec<(u64, u32)> = prefixes.into_iter().zip(0..).collect();
    let keys: Vec<KeyColumn<'_>> = keys.iter().map(|key| KeyColumn::new(&columns[key.column], *key)).collect();
    // Equal rows keep their order, so that the result of one worker is deterministic.
    let compare = |(a_prefix, a): &(u64, u32), (b_prefix, b): &(u64, u32)| {
        a_prefix.cmp(b_prefix).then_with(|| {
            let mut orders = keys.iter().map(|key| key.compare(*a as usize, *b as usize));
            orders.find(|order| order.is_ne()).unwrap_or_else(|| a.cmp(b))
        })
    };
    if let Some(limit) = limit
        && limit < rows.len()
    {
        if limit > 0 {
            rows.select_nth_unstable_by(limit - 1, compare);
        }
        rows.truncate(limit);
    }
    rows.sort_unstable_by(compare);
    rows.into_iter().map(|(_, row)| row).collect()
}

struct KeyColumn<'a> {
    vector: &'a Vector,
    /// The rank of each code in the order of the dictionary, so that coded strings are compared as numbers.
    ranks: Option<Vec<u32>>,
    key: SortKey,
}

impl<'a> KeyColumn<'a> {
    fn new(vector: &'a Vector, key: SortKey) -> Self {
        let ranks = match vector.values() {
            Values::Coded(coded) if coded.dictionary.len() <= coded.codes.len() => {
                let mut codes: Vec<u32> = (0..coded.dictionary.len() as u32).collect();
                codes.sort_by(|a, b| coded.dictionary.get(*a as usize).cmp(coded.dictionary.get(*b as usize)));
                let mut ranks = vec![0; codes.len()];
                codes.iter().enumerate().for_each(|(rank, code)| ranks[*code as usize] = rank as u32);
                Some(ranks)
            }
            _ => None,
        };
        Self { vector, ranks, key }
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        if let (Some(ranks), Values::Coded(coded)) = (&self.ranks, self.vector.values())
            && self.vector.is_valid(a)
            && self.vector.is_valid(b)
        {
            let order = ranks[coded.codes[a] as usize].cmp(&ranks[coded.codes[b] as usize]);
            return if self.key.descending { order.reverse() } else { order };
        }
        compare_rows(self.vector, a, self.vector, b, self.key)
    }
}

/// The order of two rows of vectors of one kind by one key.
pub(crate) fn compare_rows(left: &Vector, a: usize, right: &Vector, b: usize, key: SortKey) -> Ordering {
    let nulls_first = if key.nulls_first { Ordering::Less } else { Ordering::Greater };
    match (left.is_valid(a), right.is_valid(b)) {
        (true, true) => {}
        (false, false) => return Ordering::Equal,
        (false, true) => return nulls_first,
        (true, false) => return nulls_first.reverse(),
    }
    let order = match (left.values(), right.values()) {
        (Values::Bool(left), Values::Bool(right)) => left[a].cmp(&right[b]),
        (Values::Int(left), Values::Int(right)) => left[a].cmp(&right[b]),
        (Values::Int128(left), Values::Int128(right)) => left[a].cmp(&right[b]),
        (Values::Int(left), Values::Int128(right)) => i128::from(left[a]).cmp(&right[b]),
        (Values::Int128(left), Values::Int(right)) => left[a].cmp(&i128::from(right[b])),
        (Values::Float(left), Values::Float(right)) => compare_floats(left[a], right[b]),
        (left, right) => left.string(a).cmp(right.string(b)),
    };
    if key.descending { order.reverse() } else { order }
}

/// Refines the orders of rows that are equal so far by comparing each with row `other_row` of `other`.
fn compare_with(vector: &Vector, other: &Vector, other_row: usize, key: SortKey, orders: &mut [Ordering]) {
    let is_plain = vector.valid().is_none() && other.is_valid(other_row);
    if let (Values::Int(values), Values::Int(others), true) = (vector.values(), other.values(), is_plain) {
        let other = others[other_row];
        for (order, value) in orders.iter_mut().zip(values) {
            let by_key = if key.descending { other.cmp(value) } else { value.cmp(&other) };
            *order = order.then(by_key);
        }
        return;
    }
    for (row, order) in orders.iter_mut().enumerate().filter(|(_, order)| order.is_eq()) {
        *order = compare_rows(vector, row, other, other_row, key);
    }
}

#[cfg(test)]
mod tests {
    use braid_storage::Scalar;
    use braid_testing::properties;
    use braid_testing::proptest::prelude::*;

    use super::*;
    use crate::FixedBudget;

    properties! {
        256 cases;

        #[test]
        fn workers_together_give_the_first_rows_of_all(
            rows in prop::collection::vec((prop::option::of(-3i64..3), "[ab]{0,2}"), 0..200),
            descending: (bool, bool), nulls_first: bool, limit in prop::option::of(0usize..50), worker_count in 1usize..4,
        ) {
            let keys = vec![
                SortKey { column: 0, descending: descending.0, nulls_first },
                SortKey { column: 1, descending: descending.1, nulls_first },
            ];
            let spec = Arc::new(SortSpec { keys, limit });
            let budget = FixedBudget::new(ByteSize(1 << 20));
            let mut workers: Vec<SortWorker> =
                (0..worker_count).map(|_| SortWorker::new(spec.clone(), budget.clone())).collect();
            for (at, rows) in rows.chunks(7).enumerate() {
                let integers = Vector::new(
                    Values::Int(rows.iter().map(|row| row.0.unwrap_or(9)).collect()),
                    Some(rows.iter().map(|row| row.0.is_some()).collect()),
                );
                let strings =
                    Vector::new(Values::Bytes(crate::ByteStrings::from_strings(rows.iter().map(|row| row.1.as_bytes()))), None);
                let batch = Batch::of_vectors(rows.len(), [Arc::new(integers), Arc::new(strings)]);
                workers[at % worker_count].consume(batch).unwrap();
            }
            let sorted = SortWorker::finish(workers, 2).unwrap();
            prop_assert_eq!(budget.used(), sorted.columns().iter().map(Vector::bytes).sum::<usize>());
            let mut expected = rows.clone();
            expected.sort_by(|a, b| {
                let null = |row: &(Option<i64>, String)| row.0.is_none() != nulls_first;
                let first = null(a).cmp(&null(b)).then(match descending.0 {
                    false => a.0.cmp(&b.0),
                    true => b.0.cmp(&a.0),
                });
                first.then(if descending.1 { b.1.cmp(&a.1) } else { a.1.cmp(&b.1) })
            });
            expected.truncate(limit.unwrap_or(usize::MAX));
            let found: Vec<(Option<i64>, String)> = (0..sorted.row_count())
                .map(|row| {
                    let integer = sorted.columns()[0].value(row).map(|value| match value {
                        Scalar::Int(value) => value,
                        other => panic!("{other:?}"),
                    });
                    let Some(Scalar::Bytes(text)) = sorted.columns()[1].value(row) else { panic!("no text") };
                    (integer, String::from_utf8(text).unwrap())
                })
                .collect();
            prop_assert_eq!(found, expected);
            drop(sorted);
            prop_assert_eq!(budget.used(), 0);
        }
    }
}
