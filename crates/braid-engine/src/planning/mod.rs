//! The threads that statements are planned on ([`planning_threads`]), with stacks for deep trees.

mod planning_threads;

pub(crate) use planning_threads::{Lane, PlanningThreads, plan_here};
