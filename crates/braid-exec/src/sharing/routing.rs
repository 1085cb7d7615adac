//! From the rows that many queries share to each query's own: the routing by query that ends every pass (the Γ operator of
//! SharedDB, VLDB 2012, section 3.3).
//!
//! One worker's sink, which has a sink for each query. A batch is gone through once, and each query is given its rows of
//! it, in order, without their sets. Where all rows have the same set, its queries get the very same batch; otherwise each
//! gets positions in it. What several queries are given shares its vectors: a column is read once for all of them.
//!
//! A query that wants no more rows is left out from then on; when none does, the worker is told to stop. Positions are
//! not counted against a budget: they are at most a vector's for each query, less than any sink collects.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::query_sets::query_bitmap::queries_of;
use crate::query_sets::set_calculator::sets_of;
use crate::query_sets::set_memo::{SetMemo, SetWords};
use crate::runtime::pipeline::Sink;
use crate::runtime::stop::Stop;
use crate::{Batch, ExecError, QueryBitmap, QueryNumber, SetNumber, SetStore};

/// Hands each query its own rows.
pub struct Routing<S> {
    store: Arc<SetStore>,
    /// Position of the rows' sets; without one, each row is for every query.
    set: Option<usize>,
    /// By query.
    sinks: Vec<S>,
    /// Queries that want more rows.
    wanting: QueryBitmap,
    words: SetWords,
    /// By query, its rows of a batch; empty between batches.
    positions: Vec<Vec<u32>>,
}

impl<S> fmt::Debug for Routing<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routing").field("set", &self.set).field("wanting", &self.wanting.len()).finish_non_exhaustive()
    }
}

impl<S: Sink> Routing<S> {
    /// To one sink for each query, of rows whose sets are in column `set`. Panics unless there are as many sinks as
    /// queries.
    pub fn new(store: Arc<SetStore>, set: Option<usize>, sinks: Vec<S>) -> Self {
        let query_count = store.query_count();
        assert_eq!(sinks.len(), query_count, "one sink for each query");
        Self {
            store,
            set,
            sinks,
            wanting: QueryBitmap::from_fn(query_count, |_| true),
            words: SetMemo::new(),
            positions: vec![Vec::new(); query_count],
        }
    }

    /// The sinks, by query.
    pub fn into_sinks(self) -> Vec<S> {
        self.sinks
    }

    /// Gives all rows to each query of a set.
    fn give_all(&mut self, set: SetNumber, mut batch: Batch) -> Result<(), Stop> {
        let queries = queries_of(self.words.of(set, &self.store));
        let receivers: Vec<QueryNumber> = queries.filter(|query| self.wanting.contains(*query)).collect();
        let Some((last, others)) = receivers.split_last() else { return Ok(()) };
        if !others.is_empty() {
            read_columns(&mut batch);
        }
        others.iter().try_for_each(|query| self.give(*query, batch.clone()))?;
        self.give(*last, batch)
    }

    /// Gives each query the rows in whose sets it is.
    fn give_each(&mut self, sets: &[SetNumber], mut batch: Batch) -> Result<(), Stop> {
        let mut receivers = Vec::new();
        for (row, set) in (0u32..).zip(sets) {
            for query in queries_of(self.words.of(*set, &self.store)).filter(|query| self.wanting.contains(*query)) {
                let positions = &mut self.positions[query.index()];
                if positions.is_empty() {
                    receivers.push(query);
                }
                positions.push(row);
            }
        }
        if receivers.len() > 1 {
            read_columns(&mut batch);
        }
        for query in receivers {
            let mut own = batch.clone();
            let positions = &mut self.positions[query.index()];
            if positions.len() < batch.row_count() {
                own.take(positions);
            }
            positions.clear();
            self.give(query, own)?;
        }
        Ok(())
    }

    fn give(&mut self, query: QueryNumber, batch: Batch) -> Result<(), Stop> {
        match self.sinks[query.index()].consume(batch) {
            Err(Stop::Enough) => {
                self.wanting.remove(query);
                Ok(())
            }
            outcome => outcome,
        }
    }
}

impl<S: Sink> Sink for Routing<S> {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        if self.wanting.is_empty() {
            return Err(Stop::Enough);
        }
        match self.set {
            None => self.give_all(SetNumber::EVERYBODY, batch)?,
            Some(column) => {
                let sets = sets_of(&batch.column(column));
                let others = (0..batch.column_count()).filter(|other| *other != column).map(Some);
                batch.project(&others.collect::<Vec<_>>());
                match sets.first() {
                    None => {}
                    Some(first) if sets.iter().all(|set| set == first) => self.give_all(*first, batch)?,
                    Some(_) => self.give_each(&sets, batch)?,
                }
            }
        }
        if self.wanting.is_empty() { Err(Stop::Enough) } else { Ok(()) }
    }

    /// Waits for every query, also for one that wants no more: it may hold rows that are on their way.
    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        all_ready(&mut self.sinks)
    }

    fn is_ready(&self) -> bool {
        self.sinks.iter().all(Sink::is_ready)
    }
}

/// The sinks of queries that have the same rows.
#[derive(Debug)]
pub(crate) struct EqualQueries<S> {
    sinks: Vec<S>,
    /// Whether each wants more rows.
    wanting: Vec<bool>,
}

impl<S: Sink> EqualQueries<S> {
    pub(crate) fn new(sinks: impl Iterator<Item = S>) -> Self {
        let sinks: Vec<S> = sinks.collect();
        Self { wanting: vec![true; sinks.len()], sinks }
    }

    /// The sinks, in their order.
    pub(crate) fn into_sinks(self) -> Vec<S> {
        self.sinks
    }
}

impl<S: Sink> Sink for EqualQueries<S> {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        if self.sinks.len() > 1 {
            read_columns(&mut batch);
        }
        for (sink, wants) in self.sinks.iter_mut().zip(&mut self.wanting).filter(|(_, wants)| **wants) {
            match sink.consume(batch.clone()) {
                Err(Stop::Enough) => *wants = false,
                outcome => outcome?,
            }
        }
        if self.wanting.contains(&true) { Ok(()) } else { Err(Stop::Enough) }
    }

    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        all_ready(&mut self.sinks)
    }

    fn is_ready(&self) -> bool {
        self.sinks.iter().all(Sink::is_ready)
    }
}

/// Waits for each of the sinks.
fn all_ready<S: Sink>(sinks: &mut [S]) -> BoxFuture<'_, Result<(), ExecError>> {
    Box::pin(async {
        for sink in sinks.iter_mut().filter(|sink| !sink.is_ready()) {
            sink.ready().await?;
        }
        Ok(())
    })
}

/// Reads what is still to be read, so that it is not read for each query again. Nobody reads columns that the rows of a
/// plan do not have, so none is released.
fn read_columns(batch: &mut Batch) {
    for column in 0..batch.column_count() {
        batch.column(column);
    }
}
