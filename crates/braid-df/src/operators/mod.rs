//! Plans on Braid's own operators: which parts of a logical plan they cover, and the operator that runs those parts.
//!
//! | module | what lives there |
//! |---|---|
//! | [`braid_planner`] | the query planner: replaces what is covered, leaves the rest to DataFusion |
//! | [`coverage`] | logical plans as plans of [`braid_exec`], or the reason why not |
//! | `join_graph` | chains of inner joins, flattened and put into the cheapest order |
//! | `join_translation` | the other joins |
//! | `aggregate_translation` | GROUP BY and its functions |
//! | `expression_translation` | expressions, natively or by DataFusion on Arrow arrays |
//! | `estimate` | row counts and distinct values, as far as the catalog knows |
//! | [`braid_operators_exec`] | the physical operator that runs a plan |
//!
//! Invariant: a covered plan has the columns of the logical plan, of the same types, and the same rows.

mod aggregate_translation;
pub mod braid_operators_exec;
pub mod braid_planner;
pub mod coverage;
mod estimate;
mod expression_translation;
mod join_graph;
mod join_translation;

pub use braid_operators_exec::BraidOperatorsExec;
pub use braid_planner::{BraidQueryPlanner, JoinOrderRule, OperatorSettings};
