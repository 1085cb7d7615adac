//! Plans on Braid's operators: the parts of a logical plan that they cover, and the physical operator that runs these parts.
//!
//! | module | contents |
//! |---|---|
//! | [`braid_planner`] | the query planner, which replaces the covered parts |
//! | [`coverage`] | the translation of logical plans to plans of [`braid_exec`], or the reason of a refusal |
//! | `join_graph` | chains of inner joins, flattened and put into the cheapest order |
//! | [`join_ordering`] | the order of a template's joins, for the constants of the queries that run |
//! | `eager_groups` | which groups are made below a join |
//! | `split_groups` | which groups of a pass are made in two steps |
//! | `build_side_patterns` | which patterns of a pass are searched for below a join |
//! | [`unique_keys`] | the columns of tables that are unique, as observed |
//! | `join_translation` | the other joins |
//! | `aggregate_translation` | GROUP BY and its functions |
//! | `expression_translation` | expressions, natively or by DataFusion on Arrow arrays |
//! | [`template_plan`] | plans with parameters, and how these are computed |
//! | `estimate` | row counts and distinct values, as far as the catalog knows |
//! | [`result_collector`] | the rows of a query until its pass has ended |
//! | [`kept_rows`] | these rows for their readers |
//! | `row_converter` | rows as Arrow's batches |
//! | [`braid_operators_exec`] | the physical operator that runs a plan |
//!
//! Invariant: a covered plan has the columns of the logical plan, of the same types, and the same rows.

mod aggregate_translation;
pub mod braid_operators_exec;
pub mod braid_planner;
mod build_side_patterns;
pub mod coverage;
mod eager_groups;
mod estimate;
mod expression_translation;
mod join_graph;
pub mod join_ordering;
mod join_translation;
pub mod kept_rows;
pub mod result_collector;
mod row_converter;
mod split_groups;
pub mod template_plan;
pub mod unique_keys;

pub use braid_operators_exec::{BraidOperatorsExec, PlanRun, QueryBudget, datafusion_error};
pub use braid_planner::{BraidQueryPlanner, JoinOrderRule, OperatorSettings, optimize_analyzed};
pub use coverage::cover_template;
pub use join_ordering::{OrderedPlan, observe_and_order_joins, order_joins};
pub use kept_rows::KeptRows;
pub use result_collector::ResultCollector;
pub use template_plan::{Formula, TemplateParameter, TemplatePlan, is_parameter};
pub use unique_keys::{KeyCandidate, UniqueKeys};
