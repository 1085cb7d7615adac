//! What a query is to do, before anything runs.
//!
//! | module | what lives there |
//! |---|---|
//! | `operator_tree` | the plan: a tree of operators |
//! | `join_spec`, `aggregation_spec`, `sort_spec` | what joins, groupings and sorts are to do |
//! | [`shared_operator`] | the operators that look at query sets |
//! | [`join_order`] | in which order relations are joined |
//! | `side_shape` | what is known of one side of a join before it runs |

mod aggregation_spec;
pub mod join_order;
mod join_spec;
mod operator_tree;
pub mod shared_operator;
mod side_shape;
mod sort_spec;

pub use crate::runtime::stop::NodeId;
pub use aggregation_spec::{AggregateCall, AggregateFunction, AggregationSpec, AverageKind};
pub use join_spec::{JoinColumns, JoinCondition, JoinKind};
pub use operator_tree::Plan;
pub use shared_operator::{SetColumn, SharedOperator};
pub(crate) use side_shape::SideShape;
pub use sort_spec::{SortKey, SortSpec};
