//! The plan of a query.
//!
//! | module | contents |
//! |---|---|
//! | `operator_tree` | the plan: a tree of operators |
//! | `plan_text` | a plan as EXPLAIN shows it |
//! | `join_spec`, `aggregation_spec`, `sort_spec` | specifications of joins, groupings and sorts |
//! | `common_table` | rows that are made once and read any number of times |
//! | `foreign_aggregate` | aggregates that another crate computes |
//! | `window_spec` | specifications of window functions, and those that another crate computes |
//! | [`shared_operator`] | the shared forms of operators, which use query sets |
//! | `scan_filters` | filters that move into scans |
//! | `fallibility` | whether rows can make a plan fail |
//! | `sources` | the sources of a plan, and the versions that they read |
//! | `integer_bounds` | bounds of a plan's integers, and columns without nulls |
//! | `decided_cases` | branches of CASE that bounds decide |
//! | [`eager_aggregation`] | groups below joins on unique keys |
//! | `lifted_parameters` | expressions with parameters above those without |
//! | [`parameters_above_groups`] | conditions with parameters above groups |
//! | [`patterns_below_joins`] | patterns on a build side below the join |
//! | [`join_order`] | the order of joins |
//! | `table_scans` | the scans of common tables |
//! | `side_shape` | the known properties of a join's side before it runs |

mod aggregation_spec;
mod common_table;
mod decided_cases;
pub mod eager_aggregation;
mod fallibility;
mod foreign_aggregate;
mod integer_bounds;
pub mod join_order;
mod join_spec;
mod lifted_parameters;
mod operator_tree;
pub mod parameters_above_groups;
pub mod patterns_below_joins;
mod plan_text;
mod scan_filters;
pub mod shared_operator;
mod side_shape;
mod sort_spec;
mod sources;
mod table_scans;
mod window_spec;

pub use crate::keys::null_keys::NullKeys;
pub use crate::runtime::stop::NodeId;
pub use aggregation_spec::{AggregateCall, AggregateFunction, AggregationSpec, AverageKind};
pub use common_table::{CteId, RecursionSpec};
pub use foreign_aggregate::{ForeignAggregate, ForeignCall, ForeignError, ForeignStates};
pub use join_spec::{JoinColumns, JoinCondition, JoinKind, SideWidths};
pub use operator_tree::Plan;
pub use plan_text::{OperatorEstimate, PlanText};
pub use shared_operator::{SetColumn, SharedOperator};
pub(crate) use side_shape::SideShape;
pub use sort_spec::{SortKey, SortSpec};
pub use window_spec::{
    ForeignWindow, ForeignWindowCall, FrameAggregate, FrameBound, FrameMode, FramePlace, Watch, WindowCall,
    WindowFrame, WindowFunction, WindowRows, WindowSpec,
};
