//! Common tables: rows that are made once, when the first scan is reached, and kept for all scans.
//!
//! A scan is a stage that becomes stages when all stages before it have run, as a spilled partition does. A table that no stage reaches,
//! because a limit is reached before, is never made.
//!
//! The rows of a [recursion](super::recursion) that several scans read are kept as those of a common table.
//!
//! The translation of a plan knows the common tables around each operator ([`Scope`]). A table keeps the scope of its definition, which is
//! translated later than the operators around it.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::rows::{Rows, Stage, StageSource};
use super::running_table::{CommonTable, Definition, Recursion, Scope};
use super::{Executor, Wanted};
use crate::plan::{CteId, Plan};
use crate::runtime::stop::Stop;
use crate::spill::{Spool, SpoolSink, SpooledRows};

/// The scope that is put back when a translation ends, or is dropped.
struct Around<'a> {
    executor: &'a Executor,
    scope: Scope,
}

impl Drop for Around<'_> {
    fn drop(&mut self) {
        std::mem::swap(&mut *self.executor.scope.lock(), &mut self.scope);
    }
}

impl Executor {
    pub(super) async fn with_table(
        &self,
        cte: CteId,
        definition: &Plan,
        body: &Plan,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let scope = self.scope.lock().clone();
        let in_order = definition.is_in_order(&|other| scope.table(other).in_order);
        let table = CommonTable::new(Definition::Plan(definition.clone()), &scope, in_order);
        let inner = scope.with(cte, Arc::new(table));
        self.in_scope(inner, self.rows(body, wanted.apart())).await
    }

    pub(super) fn table_scan(&self, cte: CteId, column_count: usize) -> Rows {
        let table = self.scope.lock().table(cte).clone();
        let in_order = table.in_order;
        let source = match &table.definition {
            Definition::Recursion { recursion, is_streamed: true } => {
                StageSource::Recursion(Box::new(self.start_recursion(recursion, &table.scope, None)))
            }
            _ => StageSource::CommonTable(table),
        };
        Rows { stages: vec![Stage::new(source, Vec::new())], column_count, in_order }
    }

    /// The stages of a source that is known when all stages before it have run.
    pub(super) fn later_stages(&self, source: StageSource) -> BoxFuture<'_, Result<Vec<Stage>, Stop>> {
        Box::pin(async move {
            match source {
                StageSource::Source(_) => Ok(vec![Stage::new(source, Vec::new())]),
                StageSource::Partition(partition) => Ok(self.partition(*partition).await?.stages),
                StageSource::CommonTable(table) => {
                    let rows = self.rows_of_table(&table).await?;
                    let stage = |source| Stage::new(StageSource::Source(source), Vec::new());
                    Ok(rows.sources(table.in_order).into_iter().map(stage).collect())
                }
                StageSource::Recursion(running) => self.next_step(running).await,
            }
        })
    }

    /// The rows of a common table, which are made if this is the first call.
    async fn rows_of_table(&self, table: &CommonTable) -> Result<Arc<SpooledRows>, Stop> {
        let made = table.rows.lock().clone();
        if let Some(rows) = made {
            return Ok(rows);
        }
        let rows = match &table.definition {
            Definition::Plan(plan) => self.in_scope(table.scope.clone(), self.spooled(plan)).await?,
            Definition::Recursion { recursion, .. } => self.spooled_recursion(recursion, &table.scope).await?,
            Definition::LastStep => unreachable!("the rows of the last step are there"),
        };
        Ok(table.rows.lock().insert(Arc::new(rows)).clone())
    }

    /// All rows of a plan, kept.
    async fn spooled(&self, plan: &Plan) -> Result<SpooledRows, Stop> {
        let mut wanted = Wanted::columns(vec![true; plan.column_count()]);
        wanted.may_restart = true;
        loop {
            let spool = Arc::new(self.spool("common table", plan.column_count()));
            let made = async {
                let rows = self.rows(plan, wanted.clone()).await?;
                self.drain(rows, || SpoolSink(spool.clone())).await
            };
            match made.await {
                Err(Stop::Restart(join)) => self.avoid(join),
                made => {
                    made?;
                    return Ok(spool.finish()?);
                }
            }
        }
    }

    /// All rows of a recursion, kept in the order of its steps.
    async fn spooled_recursion(&self, recursion: &Arc<Recursion>, scope: &Scope) -> Result<SpooledRows, Stop> {
        let spool = Arc::new(self.spool("recursion", recursion.column_count()));
        let running = self.start_recursion(recursion, scope, Some(spool.clone()));
        let stages = vec![Stage::new(StageSource::Recursion(Box::new(running)), Vec::new())];
        let rows = Rows { stages, column_count: recursion.column_count(), in_order: false };
        self.drain(rows, || SpoolSink(spool.clone())).await?;
        Ok(spool.finish()?)
    }

    /// A spool without rows.
    pub(super) fn spool(&self, operator: &'static str, column_count: usize) -> Spool {
        let spill = self.spill.as_ref().map(|spill| (spill, self.worker_count));
        Spool::new(operator, column_count, self.budget.clone(), spill, self.tuning.spools)
    }

    /// Translates something with these common tables around it.
    pub(super) async fn in_scope<T>(&self, scope: Scope, translation: impl Future<Output = T>) -> T {
        let around = std::mem::replace(&mut *self.scope.lock(), scope);
        let _around = Around { executor: self, scope: around };
        translation.await
    }
}
