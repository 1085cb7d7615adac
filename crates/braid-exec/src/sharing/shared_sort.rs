//! ORDER BY for many queries at once: rows are sorted once, and a limit applies to each query's own rows (the sorts of
//! SharedDB, VLDB 2012).
//!
//! Each worker collects its rows. With a limit, it sorts them whenever they have grown to several times the rows it kept at
//! the previous cut, and drops the rows that are not among the first rows of any query. It therefore never holds many more
//! rows than the first rows of all queries. It drops a later row on arrival if each of its queries already has its first
//! rows, and the row does not precede the last of them. At the end the rows of all workers are sorted together, and each
//! row's set is narrowed to the queries whose first rows contain it.
//!
//! Without a limit, and where the first rows of all queries may not fit into memory, the executor sorts all rows in runs instead,
//! which spill, and cuts them afterwards (`executor/shared_results`).
//!
//! Sets are narrowed only at the end, because the store keeps every narrowed set.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::memory::Reservation;
use crate::plan::SortSpec;
use crate::plan::shared_operator::SetColumn;
use crate::query_sets::query_bitmap::queries_of;
use crate::query_sets::set_calculator::{SetCalculator, set_column, sets_of};
use crate::query_sets::set_memo::{SetMemo, SetWords};
use crate::runtime::pipeline::Sink;
use crate::runtime::result_rows::ResultRows;
use crate::runtime::stop::Stop;
use crate::sharing::query_windows::QueryWindows;
use crate::sorting::{SortRows, compare_rows, cut_rows, sorted_rows};
use crate::tuning::SortTuning;
use crate::{Batch, ExecError, MemoryBudget, SetNumber, Vector};

/// The last row of a query that does not have all its rows yet. It is beyond every row.
const NOT_FULL: u32 = u32::MAX;

/// One worker's rows.
pub(crate) struct SharedSortWorker {
    spec: Arc<SortSpec>,
    sets: SetColumn,
    rows: SortRows,
    /// Number of rows at which the next cut is made.
    cut_at: usize,
    tuning: SortTuning,
    /// The last of the first rows of each query, or [`NOT_FULL`]; empty before the first cut.
    last_wanted: Vec<u32>,
    /// A cache by set: the last of these rows of its queries.
    last_of_sets: SetMemo<u32>,
    words: SetWords,
    /// The reservation for the memory per query.
    query_reservation: Reservation,
}

impl SharedSortWorker {
    /// No rows yet.
    pub(crate) fn new(spec: Arc<SortSpec>, sets: SetColumn, budget: Arc<dyn MemoryBudget>, tuning: SortTuning) -> Self {
        Self {
            cut_at: spec.limit.map_or(usize::MAX, |limit| cut_rows(limit, tuning)),
            tuning,
            spec,
            sets,
            rows: SortRows::new(budget.clone()),
            last_wanted: Vec::new(),
            last_of_sets: SetMemo::new(),
            words: SetMemo::new(),
            query_reservation: Reservation::new(budget, "sort"),
        }
    }

    /// The rows of all workers in order, with at most the limit of rows for each query. The result has `column_count` columns,
    /// also without rows, and holds its memory until it is dropped.
    ///
    /// # Errors
    /// When memory for the rows or their sets is refused.
    pub(crate) fn finish(workers: Vec<Self>, column_count: usize) -> Result<ResultRows, ExecError> {
        let mut workers = workers.into_iter().filter(|worker| worker.rows.row_count() > 0);
        let Some(mut all) = workers.next() else {
            return Ok(ResultRows::new(0, vec![Vector::repeat(None, 0); column_count]));
        };
        for worker in workers {
            all.rows.append(worker.rows.row_count(), worker.rows.columns().iter())?;
        }
        match all.spec.limit {
            None => all.rows.arrange(0, |columns, count| sorted_rows(columns, count, &all.spec.keys, None))?,
            Some(limit) => {
                all.cut(limit)?;
                all.narrow(limit)?;
            }
        }
        Ok(all.rows.into_result())
    }

    /// Sorts the rows and drops those that are beyond the limit for all of their queries.
    fn cut(&mut self, limit: usize) -> Result<(), ExecError> {
        let mut windows = self.windows(limit, 0)?;
        let Self { spec, sets, rows, words, last_wanted, .. } = self;
        last_wanted.clear();
        last_wanted.resize(sets.store.query_count(), NOT_FULL);
        rows.arrange(size_of::<SetNumber>(), |columns, row_count| {
            let of_rows = sets_of(&columns[sets.column]);
            let mut kept = 0;
            let mut are_over = windows.are_over();
            let mut order = sorted_rows(columns, row_count, &spec.keys, None);
            order.retain(|row| {
                let queries = words.of(of_rows[*row as usize], &sets.store);
                if are_over || !windows.are_open_to(queries) {
                    return false;
                }
                if windows.count(queries, |query| last_wanted[query.index()] = kept) {
                    are_over = windows.are_over();
                }
                kept += 1;
                true
            });
            order
        })?;
        self.last_of_sets.clear();
        self.cut_at = cut_rows(limit.max(self.rows.row_count()), self.tuning);
        Ok(())
    }

    /// Narrows the sets of sorted rows to the queries whose first rows contain them.
    fn narrow(&mut self, limit: usize) -> Result<(), ExecError> {
        // The bytes of the old sets, the new sets, and the new column.
        let row_bytes = 2 * size_of::<SetNumber>() + size_of::<i64>();
        let mut windows = self.windows(limit, row_bytes * self.rows.row_count())?;
        let mut calculator = SetCalculator::new(self.sets.store.clone());
        let sets = sets_of(&self.rows.columns()[self.sets.column]);
        let narrowed = windows.narrow(&sets, &mut calculator, &mut self.words)?;
        self.rows.replace(self.sets.column, set_column(&narrowed));
        Ok(())
    }

    /// Windows for the first rows of each query. Reserves their memory and `bytes` more.
    fn windows(&mut self, limit: usize, bytes: usize) -> Result<QueryWindows, ExecError> {
        let query_count = self.sets.store.query_count();
        let of_queries = QueryWindows::bytes(query_count) + query_count * size_of::<u32>();
        self.query_reservation.resize(of_queries + bytes)?;
        Ok(QueryWindows::new(query_count, 0, Some(limit as u64)))
    }

    /// The last of the first rows of a set's queries, or [`NOT_FULL`] if a query needs more rows.
    fn last_of(&mut self, set: SetNumber) -> u32 {
        let (words, last_wanted, store) = (&mut self.words, &self.last_wanted, &self.sets.store);
        *self.last_of_sets.get(set, || {
            let of_queries = queries_of(words.of(set, store)).map(|query| last_wanted[query.index()]);
            of_queries.max().expect("sets of rows are not empty")
        })
    }

    /// Drops rows that cannot be among the first rows of any query.
    fn drop_hopeless(&mut self, batch: &mut Batch) {
        if self.last_wanted.iter().all(|last| *last == NOT_FULL) {
            return;
        }
        let last_of_all = self.last_of(SetNumber::ALL);
        if last_of_all != NOT_FULL {
            // This test uses only the keys, before the set is read.
            self.rows.drop_from(last_of_all as usize, &self.spec.keys, batch);
        }
        if batch.row_count() > 0 {
            self.drop_hopeless_by_set(batch);
        }
    }

    fn drop_hopeless_by_set(&mut self, batch: &mut Batch) {
        let sets = sets_of(&batch.column(self.sets.column));
        let last_rows: Vec<u32> = sets.iter().map(|set| self.last_of(*set)).collect();
        if last_rows.iter().all(|last| *last == NOT_FULL) {
            return;
        }
        let kept = self.rows.columns();
        let keys = self.spec.keys.iter();
        let keys: Vec<_> = keys.map(|key| (batch.column(key.column), &kept[key.column], *key)).collect();
        let comes_before = |row: usize, last: u32| {
            let mut orders = keys.iter().map(|(new, kept, key)| compare_rows(new, row, kept, last as usize, *key));
            orders.find(|order| order.is_ne()).is_some_and(Ordering::is_lt)
        };
        let is_wanted = |(row, last): (usize, &u32)| *last == NOT_FULL || comes_before(row, *last);
        let keep: Vec<bool> = last_rows.iter().enumerate().map(is_wanted).collect();
        batch.retain(&keep);
    }
}

impl Sink for SharedSortWorker {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        self.drop_hopeless(&mut batch);
        self.rows.collect(batch)?;
        match self.spec.limit {
            Some(limit) if self.rows.row_count() >= self.cut_at => Ok(self.cut(limit)?),
            _ => Ok(()),
        }
    }
}
