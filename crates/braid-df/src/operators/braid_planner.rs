//! The query planner: replaces the parts of an optimised plan that Braid's operators cover by one operator each.
//!
//! If the whole plan is not covered, the largest covered parts are replaced. A scan with only filters and columns is excluded,
//! because [`crate::BraidScanExec`] implements it already, as a stream; unless it has [guards](crate::guards).

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use braid_exec::plan::Plan;
use braid_exec::plan::join_order::imposed_order::{OrderRule, UnknownRule};
use datafusion::catalog::Session;
use datafusion::common::config::ConfigExtension;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result};
use datafusion::common::{config_field, extensions_options};
use datafusion::execution::context::{QueryPlanner, SessionState};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, InvariantLevel, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use super::braid_operators_exec::BraidOperatorsExec;
use super::coverage::cover;
use crate::bounded::{StatementMemory, values_as_rows, window_arguments_as_columns};
use crate::guards::has_guards;

extensions_options! {
    /// Which operators a session's queries run on.
    pub struct OperatorSettings {
        /// Whether Braid's operators are used where they cover the plan.
        pub braid: bool, default = true
        /// The rule for the order and the build sides of joins.
        pub join_order: JoinOrderRule, default = JoinOrderRule::default()
        /// The seed of random join orders.
        pub join_order_seed: u64, default = 0
    }
}

/// An [`OrderRule`] as an option's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinOrderRule(pub OrderRule);

impl fmt::Display for JoinOrderRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for JoinOrderRule {
    type Err = UnknownRule;

    fn from_str(name: &str) -> Result<Self, UnknownRule> {
        name.parse().map(Self)
    }
}

config_field!(JoinOrderRule);

impl ConfigExtension for OperatorSettings {
    const PREFIX: &'static str = "braid_operators";
}

/// Plans queries on Braid's operators as far as they cover them.
#[derive(Debug, Default)]
pub struct BraidQueryPlanner;

#[async_trait]
impl QueryPlanner for BraidQueryPlanner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let logical_plan = &prepared(logical_plan.clone(), session)?;
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(CoveredPlanner)]);
        let settings = session.config_options().extensions.get::<OperatorSettings>();
        if settings.is_none_or(|settings| settings.braid) {
            let replaced = replace_covered(logical_plan.clone(), session)?;
            return planner.create_physical_plan(&replaced, session).await;
        }
        planner.create_physical_plan(logical_plan, session).await
    }
}

/// An optimised plan, ready to be translated.
fn prepared(logical_plan: LogicalPlan, session: &dyn Session) -> Result<LogicalPlan> {
    StatementMemory::of(session.config_options()).end_folding();
    let logical_plan = values_as_rows(logical_plan)?.data;
    Ok(window_arguments_as_columns(logical_plan)?.data)
}

/// Optimises an analysed plan, which may have placeholders.
///
/// # Errors
/// When a rule fails.
pub fn optimize_analyzed(state: &SessionState, analyzed: LogicalPlan) -> Result<LogicalPlan> {
    prepared(state.optimizer().optimize(analyzed, state, |_, _| {})?, state)
}

/// The plan with its largest covered parts in one node each.
fn replace_covered(plan: LogicalPlan, session: &dyn Session) -> Result<LogicalPlan> {
    let replaced = plan.transform_down(|plan| {
        if !is_worth_it(&plan) {
            return Ok(Transformed::no(plan));
        }
        match cover(session, &plan) {
            Ok(covered) => {
                let node = Arc::new(CoveredPlan { plan: Arc::new(covered), schema: plan.schema().clone() });
                let extension = LogicalPlan::Extension(Extension { node });
                Ok(Transformed::new(extension, true, TreeNodeRecursion::Jump))
            }
            Err(reason) => {
                tracing::debug!(reason = reason.0, "not covered by Braid's operators");
                Ok(Transformed::no(plan))
            }
        }
    })?;
    Ok(replaced.data)
}

/// Whether a plan does more than scan, filter and compute columns, or does it with guards.
fn is_worth_it(plan: &LogicalPlan) -> bool {
    match plan {
        _ if has_guards(plan) => true,
        LogicalPlan::Aggregate(_) | LogicalPlan::Join(_) | LogicalPlan::Sort(_) | LogicalPlan::Distinct(_) => true,
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Union(_) => plan.inputs().into_iter().any(is_worth_it),
        _ => false,
    }
}

/// A covered part in a logical plan.
struct CoveredPlan {
    plan: Arc<Plan>,
    schema: DFSchemaRef,
}

impl fmt::Debug for CoveredPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_for_explain(f)
    }
}

impl UserDefinedLogicalNode for CoveredPlan {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn name(&self) -> &str {
        "BraidOperators"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        Vec::new()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn check_invariants(&self, _: InvariantLevel) -> Result<()> {
        Ok(())
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BraidOperators")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, _: Vec<LogicalPlan>) -> Result<Arc<dyn UserDefinedLogicalNode>> {
        Ok(Arc::new(Self { plan: self.plan.clone(), schema: self.schema.clone() }))
    }

    fn dyn_hash(&self, mut state: &mut dyn Hasher) {
        Arc::as_ptr(&self.plan).hash(&mut state);
    }

    fn dyn_eq(&self, other: &dyn UserDefinedLogicalNode) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| Arc::ptr_eq(&self.plan, &other.plan))
    }

    fn dyn_ord(&self, _: &dyn UserDefinedLogicalNode) -> Option<std::cmp::Ordering> {
        None
    }
}

/// Makes the physical operator of a covered part.
struct CoveredPlanner;

#[async_trait]
impl ExtensionPlanner for CoveredPlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        _: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(covered) = node.as_any().downcast_ref::<CoveredPlan>() else { return Ok(None) };
        let schema = covered.schema.inner().clone();
        let workers = session.config().target_partitions();
        Ok(Some(Arc::new(BraidOperatorsExec::new(covered.plan.clone(), schema, workers))))
    }
}
