//! Plans on Braid's operators: the parts of a logical plan that they cover, and the physical operator that runs these parts.
//!
//! | module | contents |
//! |---|---|
//! | [`braid_planner`] | the query planner, which replaces the covered parts |
//! | [`coverage`] | the translation of logical plans to plans of [`braid_exec`], or the reason of a refusal |
//! | `join_graph` | chains of inner joins, flattened and put into the cheapest order |
//! | `join_translation` | the other joins |
//! | `aggregate_translation` | GROUP BY and its functions |
//! | `expression_translation` | expressions, natively or by DataFusion on Arrow arrays |
//! | [`template_plan`] | plans with parameters, and how these are computed |
//! | [`result_collector`] | the rows of a query until its pass has ended |
//! | [`kept_rows`] | these rows for their readers |
//! | `row_converter` | rows as Arrow's batches |
//! | [`braid_operators_exec`] | the physical operator that runs a plan |
//!
//! Invariant: a covered plan has the columns of the logical plan, of the same types, and the same rows.

mod aggregate_translation;
pub mod braid_operators_exec;
pub mod braid_planner;
pub mod coverage;
mod expression_translation;
mod join_graph;
mod join_translation;
pub mod kept_rows;
pub mod result_collector;
mod row_converter;
pub mod template_plan;

pub use braid_operators_exec::{BraidOperatorsExec, PlanRun, QueryBudget, datafusion_error};
pub use braid_planner::{BraidQueryPlanner, JoinOrderRule, OperatorSettings, optimize_analyzed};
pub use coverage::cover_template;
pub use kept_rows::KeptRows;
pub use result_collector::ResultCollector;
pub use template_plan::{Formula, TemplateParameter, TemplatePlan, is_parameter};
