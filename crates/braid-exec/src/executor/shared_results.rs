//! The top of a shared plan: order and limits for each query, and the distribution of rows to queries.
//!
//! Plans are executed like those of one query. Operators that use sets read the set column.

use std::sync::Arc;

use super::sort::SortInput;
use super::{Executor, Rows, Wanted, place_among};
use crate::plan::Plan;
use crate::plan::SortSpec;
use crate::plan::shared_operator::SetColumn;
use crate::runtime::pipeline::Sink;
use crate::runtime::stop::{Stop, StopFlag};
use crate::sharing::routing::EqualQueries;
use crate::sharing::shared_limit::{SharedLimit, SharedLimitWindow};
use crate::sharing::shared_sort::SharedSortWorker;
use crate::spill::OperatorMemory;
use crate::{ExecError, PassError, QueryEnd, QueryNumber, Routing, SetStore, SharedPlan};

/// Rows that a shared sort with a limit holds at most before it cuts them, for each of the first rows of all queries
/// (`sorting::cut_rows`).
const ROWS_PER_WANTED_ROW: usize = 4;

/// Approximate bytes of a value that is sorted: a number takes fewer, a string of some words more.
const VALUE_BYTES: usize = 32;

impl Executor {
    /// Runs a shared plan, and fails as a whole when any of its queries does: see [`Self::run_pass`].
    ///
    /// # Errors
    /// The first error of any operator or sink; [`ExecError::Cancelled`] if a query has left.
    pub async fn run_shared<S: Sink>(
        &self,
        plan: &SharedPlan,
        make_sink: impl Fn(QueryNumber) -> S + Send,
    ) -> Result<Vec<Vec<S>>, ExecError> {
        let ends = self.run_pass(plan, make_sink).await.map_err(PassError::into_error)?;
        let rows = |end| match end {
            QueryEnd::Rows(sinks) => Ok(sinks),
            QueryEnd::SinkFailed(error) => Err(error),
            QueryEnd::RunAlone => Err(plan.store.gone().take_first_failure().expect("an expression failed")),
            QueryEnd::Left => Err(ExecError::Cancelled),
        };
        ends.into_iter().map(rows).collect()
    }

    /// Runs a shared plan, and returns what it has for each query, with its rows in the sinks that `make_sink` makes for each
    /// worker. Queries with equal parameters run once, and each gets the rows.
    ///
    /// A query may leave the pass ([`SharedPlan::members`]), and a failing sink ends its own query only. The rows of the other
    /// queries are not affected. The pass ends when no query is left.
    ///
    /// If the plan may fail ([`SharedPlan::may_fail`]), rows are final only at the end: a query that must be run alone may
    /// have been given rows. Sinks must then keep their rows until the pass has ended, or be able to take them back.
    ///
    /// # Errors
    /// An error that ends the pass for all queries that are left. After [`PassError::Evaluation`] each of them is to be run
    /// alone.
    pub async fn run_pass<S: Sink>(
        &self,
        plan: &SharedPlan,
        make_sink: impl Fn(QueryNumber) -> S + Send,
    ) -> Result<Vec<QueryEnd<S>>, PassError> {
        let (members, gone, cancelled) = (plan.members(), plan.store.gone(), self.cancelled.clone());
        gone.stop_with(move || cancelled.raise());
        let queries = (0..plan.query_count()).map(QueryNumber::at);
        let mut by_number: Vec<Vec<QueryNumber>> = vec![Vec::new(); plan.distinct_count()];
        queries.clone().for_each(|query| by_number[plan.distinct[query.index()].index()].push(query));
        let equal = by_number.clone();
        let make = move |number: QueryNumber| {
            EqualQueries::new(equal[number.index()].iter().map(|query| (*query, make_sink(*query))), members)
        };
        let found = match self.run_for_queries(&plan.plan, plan.set, &plan.store, make).await {
            Err(ExecError::Cancelled) if gone.are_all_gone() => Vec::new(),
            found => found.map_err(PassError::of)?,
        };
        let mut by_query: Vec<Vec<S>> = queries.clone().map(|_| Vec::new()).collect();
        for (queries, workers) in by_number.iter().zip(found) {
            for worker in workers {
                queries.iter().zip(worker.into_sinks()).for_each(|(query, sink)| by_query[query.index()].push(sink));
            }
        }
        Ok(queries.zip(by_query).map(|(query, sinks)| members.end_of(query, sinks)).collect())
    }

    /// Runs a plan whose rows have their sets in column `set`; without it, rows belong to all queries. Each query's rows go to
    /// its own sinks, without the sets. Returns the sinks by query, one per worker, or one per query if the rows are ordered.
    ///
    /// A sink that answers [`Stop::Enough`] is given nothing more, and does not end the run for other queries.
    ///
    /// # Errors
    /// The first error of any operator or sink, for all queries.
    pub async fn run_for_queries<S: Sink>(
        &self,
        plan: &Plan,
        set: Option<usize>,
        store: &Arc<SetStore>,
        make_sink: impl Fn(QueryNumber) -> S + Send,
    ) -> Result<Vec<Vec<S>>, ExecError> {
        let query_count = store.query_count();
        let routing = move || {
            let sinks = (0..query_count).map(|query| make_sink(QueryNumber::at(query))).collect();
            Routing::new(store.clone(), set, sinks)
        };
        let workers = self.run(plan, routing).await?;
        let mut by_query: Vec<Vec<S>> = (0..query_count).map(|_| Vec::with_capacity(workers.len())).collect();
        for worker in workers {
            by_query.iter_mut().zip(worker.into_sinks()).for_each(|(sinks, sink)| sinks.push(sink));
        }
        Ok(by_query)
    }

    pub(super) async fn shared_sort(
        &self,
        input: &Plan,
        spec: &SortSpec,
        sets: &SetColumn,
        mut wanted: Wanted,
    ) -> Result<Rows, Stop> {
        wanted.columns[sets.column] = true;
        let sorted = self.sort_input(input, spec, wanted).await?;
        let Some(limit) = sorted.spec.limit else {
            return self.sort_in_runs(sorted, input.column_count()).await;
        };
        if !self.may_keep_first_rows(limit, sets.store.query_count(), sorted.kept.len()) {
            let keys = sorted.spec.keys.clone();
            let all = SortInput { spec: Arc::new(SortSpec { keys, limit: None }), ..sorted };
            let mut rows = self.sort_in_runs(all, input.column_count()).await?;
            self.cut_for_each_query(&mut rows, 0, Some(limit as u64), sets)?;
            return Ok(rows);
        }
        let SortInput { rows, kept, spec } = sorted;
        let column = place_among(&kept, sets.column).expect("sets are read");
        let sets = SetColumn { column, store: sets.store.clone() };
        let make = || SharedSortWorker::new(spec.clone(), sets.clone(), self.budget.clone(), self.tuning.sorting);
        let workers = self.drain(rows, make).await?;
        Ok(self.of_sorted(SharedSortWorker::finish(workers, kept.len())?, &kept, input.column_count()))
    }

    pub(super) async fn shared_limit(
        &self,
        input: &Plan,
        offset: u64,
        limit: Option<u64>,
        sets: &SetColumn,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let mut read = wanted.columns;
        read[sets.column] = true;
        let mut rows = self.rows(input, Wanted::columns(read)).await?;
        self.cut_for_each_query(&mut rows, offset, limit, sets)?;
        Ok(rows)
    }

    /// Whether a sort of so many columns has memory for the first `limit` rows of each query, with rows that are not cut yet.
    /// Otherwise all rows are sorted in runs, which spill, and are cut afterwards.
    fn may_keep_first_rows(&self, limit: usize, query_count: usize, column_count: usize) -> bool {
        let Some(spill) = &self.spill else { return true };
        let rows = limit.saturating_mul(query_count).saturating_mul(ROWS_PER_WANTED_ROW);
        rows.saturating_mul(column_count * VALUE_BYTES) <= OperatorMemory::new(spill, self.worker_count).share()
    }

    /// Cuts the rows of each query to its window.
    fn cut_for_each_query(
        &self,
        rows: &mut Rows,
        offset: u64,
        limit: Option<u64>,
        sets: &SetColumn,
    ) -> Result<(), ExecError> {
        let enough = StopFlag::default();
        let window = SharedLimitWindow::new(sets.clone(), offset, limit, enough.clone(), self.budget.clone())?;
        rows.push(Arc::new(move || Box::new(SharedLimit::new(window.clone()))), rows.column_count);
        rows.stages.iter_mut().for_each(|stage| stage.branch.limits.push(enough.clone()));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
