//! Recursions, semi-naive: each step reads the rows of the step before, until a step makes none.
//!
//! A recursion is a stage. It becomes the stages of its start, and a stage that becomes those of the first step when they have run, and so
//! on. Their rows are kept for the next step and go on to what reads the recursion. A limit above therefore ends a recursion that
//! would never end, if one scan reads it. For several scans its rows are made and kept first, as those of a common table.
//!
//! With UNION, rows that were there before go no further. All rows that came so far are in memory then, and cannot spill.
//!
//! Scalar subqueries of a step that do not read the recursion are computed once, before the first step.

use std::sync::Arc;

use super::recursive_rows::{KeptRows, NewRows, SeenRows};
use super::rows::{Rows, Stage, StageSource};
use super::running_table::{CommonTable, Definition, Recursion, RunningRecursion, Scope};
use super::{Executor, Wanted};
use crate::plan::{Plan, RecursionSpec};

use crate::runtime::stop::Stop;
use crate::runtime::turn::Turn;
use crate::spill::Spool;

impl Executor {
    /// A plan that reads a recursion.
    pub(super) async fn with_recursion(
        &self,
        spec: &RecursionSpec,
        (start, step): (&Plan, &Plan),
        body: &Plan,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let scope = self.scope.lock().clone();
        let recursion = Recursion { spec: spec.clone(), start: start.clone(), step: step.clone() };
        let is_streamed = body.scan_count(spec.cte) <= 1;
        let table =
            CommonTable::new(Definition::Recursion { recursion: Arc::new(recursion), is_streamed }, &scope, false);
        let inner = scope.with(spec.cte, Arc::new(table));
        self.in_scope(inner, self.rows(body, wanted.apart())).await
    }

    /// A recursion whose rows, if `kept` is given, go there.
    pub(super) fn start_recursion(
        &self,
        recursion: &Arc<Recursion>,
        scope: &Scope,
        kept: Option<Arc<Spool>>,
    ) -> RunningRecursion {
        let seen = recursion.spec.distinct_by.clone();
        let seen = seen.map(|keys| Arc::new(SeenRows::new(keys, self.budget.clone(), self.tuning.aggregation)));
        let turn = Turn::new(self.cancelled.clone());
        let (recursion, scope) = (recursion.clone(), scope.clone());
        RunningRecursion { recursion, scope, seen, last: None, step: None, kept, turn }
    }

    /// The stages of the start or of the next step, and of what comes after it.
    pub(super) async fn next_step(&self, mut running: Box<RunningRecursion>) -> Result<Vec<Stage>, Stop> {
        running.turn.check()?;
        if running.turn.is_over() {
            tokio::task::yield_now().await;
            running.turn.begin();
        }
        let mut rows = match running.last.take() {
            None => self.rows_in(running.scope.clone(), &running.recursion.start).await?,
            Some(last) => {
                if let Some(kept) = &running.kept {
                    kept.close_step()?;
                }
                let last = last.finish()?;
                if last.is_empty() {
                    return Ok(Vec::new());
                }
                let step = self.step(&mut running).await?;
                let cte = running.recursion.spec.cte;
                let scope = running.scope.with(cte, Arc::new(CommonTable::of_rows(last)));
                self.rows_in(scope, &step).await?
            }
        };
        let column_count = running.recursion.spec.column_count;
        if let Some(seen) = running.seen.clone() {
            rows.push(Arc::new(move || Box::new(NewRows::new(seen.clone()))), rows.column_count);
        }
        rows.relayout((0..column_count).map(Some).collect());
        let made = Arc::new(self.spool("recursion", column_count));
        running.last = Some(made.clone());
        rows.push(Arc::new(move || Box::new(KeptRows::new(made.clone()))), column_count);
        let mut stages = rows.stages;
        stages.push(Stage::new(StageSource::Recursion(running), Vec::new()));
        Ok(stages)
    }

    async fn rows_in(&self, scope: Scope, plan: &Plan) -> Result<Rows, Stop> {
        let wanted = Wanted::columns(vec![true; plan.column_count()]);
        self.in_scope(scope, self.rows(plan, wanted)).await
    }

    /// The plan of a step.
    async fn step(&self, running: &mut RunningRecursion) -> Result<Arc<Plan>, Stop> {
        if let Some(step) = &running.step {
            return Ok(step.clone());
        }
        let Recursion { spec, step, .. } = &*running.recursion;
        let step = match step {
            Plan::WithScalars { subqueries, input } if subqueries.iter().all(|plan| plan.scan_count(spec.cte) == 0) => {
                let values = self.in_scope(running.scope.clone(), self.scalars(subqueries)).await?;
                input.bind_subquery_values(&values)
            }
            other => other.clone(),
        };
        Ok(running.step.insert(Arc::new(step)).clone())
    }
}
