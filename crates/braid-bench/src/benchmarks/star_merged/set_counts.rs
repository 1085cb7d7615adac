//! The distinct query sets that rows would carry if their numbers were interned across all templates.
//!
//! A pass over the fact table computes the words of each row like a merged pass, and collects the distinct combinations of all
//! words after each step. It is not measured.

use std::collections::HashSet;
use std::sync::Arc;

use braid_exec::Batch;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::stop::Stop;

use super::fact_steps::{FactPlan, FactSteps};
use super::merged_pass::{FACT_TABLE, MergedPass};
use super::query_layout::Placement;
use super::star_sources::StarSources;
use crate::BenchError;
use crate::workloads::star::StarQuery;

/// Numbers of distinct sets, without the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SetCounts {
    /// Rows of the fact table.
    pub fact_rows: u64,
    /// Rows that belong to any query after all joins.
    pub wanted_rows: u64,
    /// Sets after all joins.
    pub at_fork: usize,
    /// Sets after any step: those that a memo of intersections has to make.
    pub at_any_step: usize,
}

impl SetCounts {
    /// Counts the sets of a pass of distinct queries, which ascend by type.
    ///
    /// # Errors
    /// As a pass.
    pub async fn of(sources: &StarSources, queries: &[StarQuery]) -> Result<Self, BenchError> {
        let pass = MergedPass::build(sources, queries, Placement::SharedWords).await?;
        let sink = || CountingSink {
            fact: pass.fact.clone(),
            steps: FactSteps::new(pass.fact.clone()),
            at_fork: HashSet::new(),
            before: HashSet::new(),
            wanted_rows: 0,
            scratch: Vec::new(),
        };
        let workers = pass.scan_into(sources, sink).await?;
        let wanted_rows = workers.iter().map(|worker| worker.wanted_rows).sum();
        let (mut at_fork, mut at_any_step) = (HashSet::new(), HashSet::new());
        for worker in workers {
            at_any_step.extend(worker.before);
            at_fork.extend(worker.at_fork);
        }
        let at_fork_count = at_fork.len();
        at_any_step.extend(at_fork);
        let fact_rows = sources.row_count(FACT_TABLE);
        Ok(Self { fact_rows, wanted_rows, at_fork: at_fork_count, at_any_step: at_any_step.len() })
    }

    /// Sets at the fork for each thousand rows of the fact table.
    pub fn per_thousand_rows(&self) -> f64 {
        self.at_fork as f64 * 1e3 / self.fact_rows.max(1) as f64
    }
}

/// One worker.
struct CountingSink {
    fact: Arc<FactPlan>,
    steps: FactSteps,
    at_fork: HashSet<Box<[u64]>>,
    /// The sets after all steps but the last.
    before: HashSet<Box<[u64]>>,
    wanted_rows: u64,
    scratch: Vec<u64>,
}

impl Sink for CountingSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        self.steps.begin(&mut batch)?;
        for at in 0..self.fact.dimensions.len() {
            self.steps.words().collect_into(&mut self.before, &mut self.scratch);
            self.steps.join(at, &mut batch)?;
        }
        self.wanted_rows += self.steps.words().collect_into(&mut self.at_fork, &mut self.scratch);
        Ok(())
    }
}
