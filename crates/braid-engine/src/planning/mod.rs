//! What the queries of all sessions are planned with: threads, functions, types and rules.
//!
//! | module | contents |
//! |---|---|
//! | [`planning_threads`] | the threads that statements are planned on, with stacks for deep trees |
//! | [`planner_base`] | the functions, types and rules of every planner |
//! | [`watched_rules`] | DataFusion's rules, which stop when the session no longer waits |
//! | [`cooperation`] | joins that can be interrupted |

mod cooperation;
mod planner_base;
mod planning_threads;
mod watched_rules;

pub(crate) use planner_base::PlannerBase;
pub(crate) use planning_threads::{Lane, PlanningThreads};
