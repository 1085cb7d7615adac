//! Routing: distributes the rows of a pass to its queries, at the end of the pass (the Γ operator of SharedDB, VLDB 2012,
//! section 3.3).
//!
//! Routing is one worker's sink, which has a sink for each query. It reads each batch once, and gives each query its rows in
//! order, without their sets. If all rows have the same set, its queries get the same batch; otherwise each query gets
//! positions in the batch. The queries share the vectors, so that a column is read once for all of them.
//!
//! A query that has enough rows gets no more. When all queries have enough, the worker stops. Positions are not counted
//! against a budget, because they are at most one vector per query, less than any sink collects.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::query_sets::query_bitmap::queries_of;
use crate::query_sets::set_calculator::sets_of;
use crate::query_sets::set_memo::{SetMemo, SetWords};
use crate::runtime::pipeline::Sink;
use crate::runtime::stop::Stop;
use crate::sharing::pass_members::PassMembers;
use crate::{Batch, ExecError, QueryBitmap, QueryNumber, SetNumber, SetStore};

/// Distributes rows to the queries.
pub struct Routing<S> {
    store: Arc<SetStore>,
    /// The column of the rows' sets; without one, each row belongs to every query.
    set: Option<usize>,
    /// The sink of each query.
    sinks: Vec<S>,
    /// The queries that need more rows.
    wanting: QueryBitmap,
    words: SetWords,
    /// The rows of each query in the current batch; empty between batches.
    positions: Vec<Vec<u32>>,
}

impl<S> fmt::Debug for Routing<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routing").field("set", &self.set).field("wanting", &self.wanting.len()).finish_non_exhaustive()
    }
}

impl<S: Sink> Routing<S> {
    /// Routing to one sink per query, for rows whose sets are in column `set`. Panics unless there is one sink per query.
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

    /// Gives each query the rows whose sets contain it.
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
            None => self.give_all(SetNumber::ALL, batch)?,
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

    /// Waits for every query, including those with enough rows, because they may hold rows that are not delivered yet.
    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        all_ready(&mut self.sinks)
    }

    fn is_ready(&self) -> bool {
        self.sinks.iter().all(Sink::is_ready)
    }
}

/// The sinks of queries with equal rows. A query that is gone gets no more rows, and its sink is not waited for.
#[derive(Debug)]
pub(crate) struct EqualQueries<S> {
    sinks: Vec<MemberSink<S>>,
}

/// The sink of a query of a pass.
#[derive(Debug)]
struct MemberSink<S> {
    query: QueryNumber,
    sink: S,
    /// Whether the sink needs more rows.
    is_wanting: bool,
    members: PassMembers,
}

impl<S: Sink> EqualQueries<S> {
    pub(crate) fn new(sinks: impl Iterator<Item = (QueryNumber, S)>, members: &PassMembers) -> Self {
        let sink = |(query, sink)| MemberSink { query, sink, is_wanting: true, members: members.clone() };
        Self { sinks: sinks.map(sink).collect() }
    }

    /// The sinks, in their order.
    pub(crate) fn into_sinks(self) -> Vec<S> {
        self.sinks.into_iter().map(|member| member.sink).collect()
    }
}

impl<S: Sink> Sink for EqualQueries<S> {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        if self.sinks.len() > 1 {
            read_columns(&mut batch);
        }
        let mut is_any_wanting = false;
        for sink in &mut self.sinks {
            sink.is_wanting = sink.is_wanting && sink.takes_rows() && sink.consume(&batch)?;
            is_any_wanting |= sink.is_wanting;
        }
        if is_any_wanting { Ok(()) } else { Err(Stop::Enough) }
    }

    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(async {
            for sink in &mut self.sinks {
                sink.ready().await;
            }
            Ok(())
        })
    }

    fn is_ready(&self) -> bool {
        self.sinks.iter().all(|sink| sink.sink.is_ready() || !sink.takes_rows())
    }
}

impl<S: Sink> MemberSink<S> {
    fn takes_rows(&self) -> bool {
        self.members.takes_rows(self.query)
    }

    /// Whether it needs more rows after these. Its error is its query's own.
    fn consume(&mut self, batch: &Batch) -> Result<bool, Stop> {
        match self.sink.consume(batch.clone()) {
            Ok(()) => Ok(true),
            Err(Stop::Enough) => Ok(false),
            Err(Stop::Failed(error)) => {
                self.members.fail_sink(self.query, error);
                Ok(false)
            }
            Err(restart @ Stop::Restart(_)) => Err(restart),
        }
    }

    /// Waits until the sink is ready, or its query leaves.
    async fn ready(&mut self) {
        if self.sink.is_ready() || !self.takes_rows() {
            return;
        }
        tokio::select! {
            ready = self.sink.ready() => if let Err(error) = ready {
                self.members.fail_sink(self.query, error);
            },
            () = self.members.until_left(self.query) => {}
        }
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

/// Reads all unread columns, so that each is read once for all queries. No column of the final rows is released.
fn read_columns(batch: &mut Batch) {
    for column in 0..batch.column_count() {
        batch.column(column);
    }
}
