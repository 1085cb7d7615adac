//! Cost-based optimization of plans: the order of joins, and where groups are made.
//!
//! The decisions are pure functions of a plan, its parameters and what is known of the tables. They change no answer, and do not
//! depend on the planner that made the plan. What is known of unique keys is observed by running plans.
//!
//! | module | contents |
//! |---|---|
//! | [`join_ordering`] | the order of a plan's joins, for the constants of the queries that run |
//! | `common_tables` | joins in common tables, and the rows of their scans |
//! | `eager_groups` | which groups are made below a join |
//! | `split_groups` | which groups of a pass are made in two steps |
//! | `build_side_patterns` | which patterns of a pass are searched for below a join |
//! | [`unique_keys`] | the columns of tables that are unique, as observed |
//! | `operator_rules`, `row_rules` | the rows of an operator, of those of its inputs |
//! | `plan_estimates` | a plan as EXPLAIN shows it, with its estimates |
//! | `plan_costs`, `row_widths` | what operators cost, and the bytes of their rows, for EXPLAIN |
//! | [`estimate`] | row counts and distinct values, as far as the catalog knows |

mod build_side_patterns;
mod common_tables;
mod eager_groups;
pub mod estimate;
pub mod join_ordering;
mod operator_rules;
mod plan_costs;
mod plan_estimates;
mod row_rules;
mod row_widths;
mod split_groups;
pub mod unique_keys;

pub use estimate::Estimate;
pub use join_ordering::{ImposedOrder, OrderedPlan, impose_join_order, observe_and_order_joins, order_joins};
pub use plan_estimates::estimated_text;
pub use unique_keys::{KeyCandidate, UniqueKeys};
