//! What a query is to do, before anything runs.
//!
//! | module | what lives there |
//! |---|---|
//! | `operator_tree` | the plan: a tree of operators |
//! | [`join_order`] | in which order relations are joined |

pub mod join_order;
mod operator_tree;

pub use operator_tree::{JoinCondition, Plan};
