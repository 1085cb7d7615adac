//! Rows of each query by themselves: a row comes once for every query of its set, with the set of that query alone.
//!
//! An operator that treats the set as one more key then does for each query what it does for one. What lies below is shared; the operator
//! itself costs as much as all queries together. It serves operators that have no cheaper shared form.

use std::fmt;
use std::sync::Arc;

use braid_base::VECTOR_ROWS;

use crate::plan::shared_operator::SharedStep;
use crate::query_sets::query_bitmap::queries_of;
use crate::query_sets::set_calculator::{SetCalculator, set_column, sets_of};
use crate::query_sets::set_memo::{SetMemo, SetWords};
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::Stop;
use crate::sharing::remaining_queries::RemainingQueries;
use crate::{Batch, ExecError, QueryBitmap, QueryNumber, SetNumber, SetStore};

/// The step. The set is the last column of its input and of its rows.
pub(crate) struct ApartStep {
    store: Arc<SetStore>,
    /// The set of each query alone.
    of_queries: Arc<[SetNumber]>,
    column_count: usize,
}

struct ApartOperator {
    store: Arc<SetStore>,
    of_queries: Arc<[SetNumber]>,
    set: usize,
    needed: Arc<[bool]>,
    remaining: RemainingQueries,
    calculator: SetCalculator,
    words: SetWords,
}

impl ApartStep {
    /// The step for rows of so many columns, the last of which is the set.
    ///
    /// # Errors
    /// When memory for the sets is refused.
    pub(crate) fn new(store: &Arc<SetStore>, column_count: usize) -> Result<Self, ExecError> {
        let count = store.query_count();
        let alone = |query: usize| {
            let mut only = QueryBitmap::none(count);
            only.insert(QueryNumber::at(query));
            store.number_of(&only)
        };
        let of_queries = (0..count).map(alone).collect::<Result<_, _>>()?;
        Ok(Self { store: store.clone(), of_queries, column_count })
    }
}

impl SharedStep for ApartStep {
    fn column_count(&self, _: usize) -> usize {
        self.column_count
    }

    fn mark_read(&self, wanted: &[bool], read: &mut [bool]) {
        read.copy_from_slice(wanted);
        read[self.column_count - 1] = true;
    }

    fn origin(&self, column: usize) -> Option<usize> {
        (column + 1 < self.column_count).then_some(column)
    }

    fn operator(&self, wanted: &[bool]) -> Box<dyn Operator> {
        Box::new(ApartOperator {
            store: self.store.clone(),
            of_queries: self.of_queries.clone(),
            set: self.column_count - 1,
            needed: wanted.into(),
            remaining: RemainingQueries::new(self.store.clone()),
            calculator: SetCalculator::new(self.store.clone()),
            words: SetMemo::new(),
        })
    }
}

impl Operator for ApartOperator {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let mut sets = sets_of(&batch.column(self.set));
        self.remaining.narrow(&mut batch, &mut sets, &mut self.calculator)?;
        // Columns are read once for all queries.
        (0..self.set).filter(|column| self.needed[*column]).for_each(|column| drop(batch.column(column)));
        let (mut rows, mut apart) = (Vec::new(), Vec::new());
        for (row, set) in (0..).zip(&sets) {
            for query in queries_of(self.words.of(*set, &self.store)) {
                rows.push(row);
                apart.push(self.of_queries[query.index()]);
                if rows.len() == VECTOR_ROWS {
                    next(taken(&batch, self.set, &rows, &apart))?;
                    rows.clear();
                    apart.clear();
                }
            }
        }
        if rows.is_empty() { Ok(()) } else { next(taken(&batch, self.set, &rows, &apart)) }
    }
}

/// These rows of a batch with these sets.
fn taken(batch: &Batch, set: usize, rows: &[u32], sets: &[SetNumber]) -> Batch {
    let mut taken = batch.clone();
    taken.take(rows);
    taken.replace(set, Arc::new(set_column(sets)));
    taken
}

impl fmt::Display for ApartStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EachQueryApart")
    }
}

impl fmt::Debug for ApartStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
