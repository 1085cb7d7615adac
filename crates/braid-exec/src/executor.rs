//! The translation of a plan into pipelines, and their execution one after the other.
//!
//! A pipeline ends at an operator that needs all its input before it returns a row: the build side of a join, groups, a sort.
//!
//! A join's build side is complete before its probe side starts. Its key filter is then passed down the probe side as far as
//! columns can be traced: through filters, projections and groupings, through other joins, and across equal keys into their
//! build sides, to the scans. A scan therefore drops every row that a join would drop, for any order of the joins (predicate
//! transfer: Yang, Zhao, Yu, Koutris, CIDR 2024). Sides that turn out large are swapped (`side_swap`), and orders that make too
//! many pairs are given up (`reordering`).
//!
//! The columns that are read above an operator are passed down the plan, so that no other columns are carried.

mod accumulate;
mod common_tables;
mod expand;
mod few_rows;
mod groups;
mod join;
mod peers;
mod project_set;
mod recursion;
mod recursive_rows;
mod reordering;
mod rows;
mod running_join;
mod running_table;
mod scalars;
mod shared_join;
mod shared_results;
mod shared_scalars;
mod side_swap;
mod sort;
mod tally;
mod wanted;
mod window;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use parking_lot::Mutex;

use crate::aggregation::AggregationWorker;
use crate::plan::shared_operator::SharedStep;
use crate::plan::{AggregationSpec, Plan, SetColumn, SharedOperator};
use crate::runtime::backpressure::Backpressure;
use crate::runtime::pipeline::{Operator, Pipeline, Sink, Source};
use crate::runtime::row_operators::{Filter, Limit, LimitWindow, Projection};
use crate::runtime::stop::{Stop, StopFlag};
use crate::spill::{QuerySpill, SpillSpace};
use crate::tuning::Tuning;
use crate::{ExecError, Expression, MemoryBudget};
use few_rows::is_of_few_rows;
use reordering::Reorderings;
use rows::{Rows, Stage, StageSource};
use running_table::Scope;
use side_swap::Swaps;
use wanted::Wanted;

/// One run of a plan. Dropping it, or one of its futures, stops the run. [`Executor::cancellation`] stops it from another task.
pub struct Executor {
    worker_count: usize,
    budget: Arc<dyn MemoryBudget>,
    spill: Option<Arc<QuerySpill>>,
    cancelled: StopFlag,
    swaps: Swaps,
    reorderings: Reorderings,
    tuning: Tuning,
    /// The common tables of the operator that is being translated.
    scope: Mutex<Scope>,
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("worker_count", &self.worker_count).finish_non_exhaustive()
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // Computing workers check this before their next batch.
        self.cancelled.raise();
    }
}

/// The position of a column among the kept ones.
fn place_among(kept: &[usize], column: usize) -> Option<usize> {
    kept.iter().position(|kept| *kept == column)
}

impl Executor {
    /// A run with `worker_count` workers, at least one, within a budget.
    pub fn new(worker_count: usize, budget: Arc<dyn MemoryBudget>) -> Self {
        Self {
            worker_count: worker_count.max(1),
            budget,
            spill: None,
            cancelled: StopFlag::default(),
            swaps: Swaps::default(),
            reorderings: Reorderings::default(),
            tuning: Tuning::default(),
            scope: Mutex::default(),
        }
    }

    /// Enables spilling to temporary files. Without it, exceeding the budget is an error.
    #[must_use]
    pub fn with_spill_space(mut self, space: Arc<SpillSpace>) -> Self {
        self.spill = Some(QuerySpill::new(space, self.budget.clone()));
        self
    }

    /// The same with other thresholds.
    #[must_use]
    pub fn with_tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Another run with the same workers and budget, in the same space for temporary files.
    #[must_use]
    pub fn another_run(&self) -> Self {
        let run = Self::new(self.worker_count, self.budget.clone()).with_tuning(self.tuning);
        match &self.spill {
            Some(spill) => run.with_spill_space(spill.space().clone()),
            None => run,
        }
    }

    /// Stops the run at the next batch of each worker once it is [reached](StopFlag::raise).
    pub fn cancellation(&self) -> StopFlag {
        self.cancelled.clone()
    }

    /// Runs a plan with one sink per worker, and returns the sinks. Ordered rows go to the first sink.
    ///
    /// # Errors
    /// The first error of any operator.
    pub async fn run<S: Sink>(&self, plan: &Plan, make_sink: impl Fn() -> S + Send) -> Result<Vec<S>, ExecError> {
        if is_of_few_rows(plan) {
            return self.run_few_rows(plan, make_sink()).await.map_err(Stop::into_error);
        }
        let plan = plan.numbered();
        let run = async {
            let rows = self.rows(&plan, Wanted::columns(vec![true; plan.column_count()])).await?;
            self.drain(rows, make_sink).await
        };
        run.await.map_err(Stop::into_error)
    }

    async fn drain<S: Sink>(&self, rows: Rows, make_sink: impl Fn() -> S) -> Result<Vec<S>, Stop> {
        let sink_count = if rows.in_order { 1 } else { self.worker_count };
        let mut sinks: Vec<S> = (0..sink_count).map(|_| make_sink()).collect();
        let mut stages: VecDeque<Stage> = rows.stages.into();
        while let Some(stage) = stages.pop_front() {
            let Stage { source, filters, mut branch, tallies } = stage;
            branch.limits.extend(tallies);
            if branch.is_over() {
                continue;
            }
            match source {
                StageSource::Source(source) => {
                    let cancelled = self.cancelled.clone();
                    let writes = self.spill.clone().map(|spill| spill as Arc<dyn Backpressure>);
                    let pipeline = Pipeline { source, filters, branch, cancelled, writes };
                    sinks = pipeline.run(sinks).await?;
                }
                later => {
                    for mut stage in self.later_stages(later).await?.into_iter().rev() {
                        stage.branch.operators.extend(branch.operators.iter().cloned());
                        stage.branch.limits.extend(branch.limits.iter().cloned());
                        stages.push_front(stage);
                    }
                }
            }
        }
        Ok(sinks)
    }

    /// The rows of a plan. Each operator's future is boxed by itself, so that a deep plan does not need the largest one's stack at each level.
    fn rows<'a>(&'a self, plan: &'a Plan, wanted: Wanted) -> BoxFuture<'a, Result<Rows, Stop>> {
        match plan {
            Plan::Source { source, column_count } => {
                Box::pin(ready(Ok(self.of_source(source.clone(), *column_count, &wanted))))
            }
            Plan::Filter { input, condition } => Box::pin(self.filter(input, condition, wanted)),
            Plan::Project { input, expressions } => Box::pin(self.project(input, expressions, wanted)),
            Plan::Join { node, build, probe, condition } => {
                Box::pin(self.reorderable_join(build, probe, condition, *node, wanted))
            }
            Plan::Aggregate { input, spec } => Box::pin(self.aggregate(input, spec, wanted)),
            Plan::Accumulate { input, spec, foreign } => Box::pin(self.accumulate(input, spec, foreign, wanted)),
            Plan::Expand { input, lists } => Box::pin(self.expand(input, lists, wanted)),
            Plan::Window { input, spec } => Box::pin(self.window(input, spec, None, wanted)),
            Plan::Peers { input, keys, kept } => Box::pin(self.peers(input, keys, *kept, wanted)),
            Plan::ProjectSet { input, call } => Box::pin(self.project_set(input, call, wanted)),
            Plan::Sort { input, spec } => Box::pin(self.sort(input, spec, wanted)),
            Plan::Limit { input, offset, limit } => Box::pin(self.limit(input, *offset, *limit, wanted)),
            Plan::Union(plans) => Box::pin(self.union(plans, wanted.apart())),
            Plan::WithScalars { subqueries, input } => Box::pin(self.with_scalars(subqueries, input, wanted.apart())),
            Plan::With { cte, definition, body } => Box::pin(self.with_table(*cte, definition, body, wanted)),
            Plan::Recursion { spec, start, step, body } => {
                Box::pin(self.with_recursion(spec, (start, step), body, wanted))
            }
            // The table is looked up where the scan is translated.
            Plan::CteScan { cte, column_count } => Box::pin(async { Ok(self.table_scan(*cte, *column_count)) }),
            Plan::Shared(operator) => Box::pin(self.shared(operator, wanted)),
        }
    }

    fn of_source(&self, source: Arc<dyn Source>, column_count: usize, wanted: &Wanted) -> Rows {
        let stage = Stage::new(StageSource::Source(source), wanted.filters.clone());
        Rows { stages: vec![stage], column_count, in_order: false }
    }

    async fn filter(&self, input: &Plan, condition: &Expression, wanted: Wanted) -> Result<Rows, Stop> {
        let mut read = wanted.columns.clone();
        mark_columns(condition, &mut read);
        let mut rows = self.rows(input, wanted.of_input(read, Some)).await?;
        let (condition, needed): (_, Arc<[bool]>) = (condition.clone(), wanted.columns.into());
        let budget = self.budget.clone();
        let filter = move || Box::new(Filter::new(condition.clone(), needed.clone(), &budget)) as Box<dyn Operator>;
        rows.push(Arc::new(filter), rows.column_count);
        Ok(rows)
    }

    async fn project(&self, input: &Plan, expressions: &[Expression], wanted: Wanted) -> Result<Rows, Stop> {
        let mut read = vec![false; input.column_count()];
        for (expression, _) in expressions.iter().zip(&wanted.columns).filter(|(_, needed)| **needed) {
            mark_columns(expression, &mut read);
        }
        let below = wanted.of_input(read, |column| expressions[column].as_column());
        let mut rows = self.rows(input, below).await?;
        let (columns, needed): (Arc<[Expression]>, Arc<[bool]>) = (expressions.into(), wanted.columns.into());
        let budget = self.budget.clone();
        let projection = move || Box::new(Projection::new(&columns, &needed, &budget)) as Box<dyn Operator>;
        rows.push(Arc::new(projection), expressions.len());
        Ok(rows)
    }

    async fn aggregate(&self, input: &Plan, spec: &Arc<AggregationSpec>, wanted: Wanted) -> Result<Rows, Stop> {
        let mut read = vec![false; input.column_count()];
        spec.columns().for_each(|column| read[column] = true);
        // A filter on the keys drops all rows of a group, so that it also applies to the input.
        let mut below = wanted.of_input(read, |column| spec.keys.get(column).copied());
        below.may_restart = true;
        let (of_worker, budget, tuning) = (spec.clone(), self.budget.clone(), self.tuning.aggregation);
        let make_worker = Arc::new(move || AggregationWorker::with_tuning(&of_worker, None, budget.clone(), tuning));
        let groups = loop {
            let made = async { self.groups(self.rows(input, below.clone()).await?, spec, make_worker.clone()).await };
            match made.await {
                Err(Stop::Restart(join)) => self.avoid(join),
                groups => break groups?,
            }
        };
        Ok(self.of_source(groups, spec.keys.len() + spec.aggregates.len(), &wanted))
    }

    async fn limit(&self, input: &Plan, offset: u64, limit: Option<u64>, wanted: Wanted) -> Result<Rows, Stop> {
        let mut rows = self.rows(input, Wanted::columns(wanted.columns)).await?;
        let enough = StopFlag::default();
        let window = LimitWindow::new(offset, limit, enough.clone());
        rows.push(Arc::new(move || Box::new(Limit::new(window.clone()))), rows.column_count);
        rows.stages.iter_mut().for_each(|stage| stage.branch.limits.push(enough.clone()));
        Ok(rows)
    }

    async fn union(&self, plans: &[Plan], wanted: Wanted) -> Result<Rows, Stop> {
        let mut all = Rows { stages: Vec::new(), column_count: wanted.columns.len(), in_order: false };
        for plan in plans {
            all.stages.extend(self.rows(plan, wanted.clone()).await?.stages);
        }
        Ok(all)
    }

    async fn shared(&self, operator: &SharedOperator, wanted: Wanted) -> Result<Rows, Stop> {
        match operator {
            SharedOperator::Step { input, step } => self.shared_step(input, step, wanted).await,
            SharedOperator::Join { build, probe, condition, sets } => {
                self.shared_join(build, probe, condition, sets, wanted).await
            }
            SharedOperator::Aggregate { input, spec, sets } => self.shared_aggregate(input, spec, sets, wanted).await,
            SharedOperator::Accumulate { input, spec, foreign, sets } => {
                self.shared_accumulate(input, (spec, foreign), sets, wanted).await
            }
            SharedOperator::Window { input, spec, sets } => self.window(input, spec, Some(sets), wanted).await,
            SharedOperator::Peers { input, keys, kept, sets } => {
                self.shared_peers(input, (keys, *kept), sets, wanted).await
            }
            SharedOperator::Scalars { subqueries, input, sharing } => {
                self.shared_scalars(subqueries, input, sharing, wanted).await
            }
            SharedOperator::Sort { input, spec, sets } => self.shared_sort(input, spec, sets, wanted).await,
            SharedOperator::Limit { input, offset, limit, sets } => {
                self.shared_limit(input, *offset, *limit, sets, wanted).await
            }
        }
    }

    async fn shared_step(&self, input: &Plan, step: &Arc<dyn SharedStep>, wanted: Wanted) -> Result<Rows, Stop> {
        let mut read = vec![false; input.column_count()];
        step.mark_read(&wanted.columns, &mut read);
        let below = wanted.of_input(read, |column| step.origin(column));
        let mut rows = self.rows(input, below).await?;
        let column_count = step.column_count(input.column_count());
        let step = step.clone();
        rows.push(Arc::new(move || step.operator(&wanted.columns)), column_count);
        Ok(rows)
    }

    async fn shared_aggregate(
        &self,
        input: &Plan,
        spec: &Arc<AggregationSpec>,
        sets: &SetColumn,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let mut read = vec![false; input.column_count()];
        spec.columns().for_each(|column| read[column] = true);
        read[sets.column] = true;
        let below = wanted.of_input(read, |column| spec.keys.get(column).copied());
        let rows = self.rows(input, below).await?;
        let (of_worker, sets, budget) = (spec.clone(), sets.clone(), self.budget.clone());
        let tuning = self.tuning.aggregation;
        let make_worker =
            move || AggregationWorker::with_tuning(&of_worker, Some(sets.clone()), budget.clone(), tuning);
        let make_worker = Arc::new(make_worker);
        let groups = self.groups(rows, spec, make_worker).await?;
        Ok(self.of_source(groups, spec.keys.len() + spec.aggregates.len() + 1, &wanted))
    }
}

fn mark_columns(expression: &Expression, read: &mut [bool]) {
    let mut columns = Vec::new();
    expression.columns(&mut columns);
    columns.into_iter().for_each(|column| read[column] = true);
}

#[cfg(test)]
mod tests;
