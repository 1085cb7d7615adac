//! DataFusion's rules, between which a planner looks whether its session still waits.
//!
//! A rule always runs to its end. After a cancellation, a planner finishes at most the running rule.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{AnalyzerRule, OptimizerConfig, OptimizerRule};

use super::planning_threads::is_abandoned;
use crate::EngineError;

type Analysis = Arc<dyn AnalyzerRule + Send + Sync>;
type Optimization = Arc<dyn OptimizerRule + Send + Sync>;

/// The rules, each with a look before it.
pub(crate) fn watched_analysis(rules: Vec<Analysis>) -> Vec<Analysis> {
    rules.into_iter().map(|rule| Arc::new(Watched(rule)) as Analysis).collect()
}

/// The same for rules of the optimiser, which look before each node of a plan.
pub(crate) fn watched_optimization(rules: &[Optimization]) -> Vec<Optimization> {
    rules.iter().map(|rule| Arc::new(Watched(Arc::clone(rule))) as Optimization).collect()
}

#[derive(Debug)]
struct Watched<R>(R);

fn check_wanted() -> Result<()> {
    if is_abandoned() { Err(EngineError::cancelled().into()) } else { Ok(()) }
}

impl AnalyzerRule for Watched<Analysis> {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        check_wanted()?;
        self.0.analyze(plan, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

impl OptimizerRule for Watched<Optimization> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        check_wanted()?;
        self.0.rewrite(plan, config)
    }
}
