//! What the queries of all sessions are planned with: threads, functions, types and rules.
//!
//! | module | contents |
//! |---|---|
//! | [`planning_threads`] | the threads that statements are planned on, with stacks for deep trees |
//! | [`template`] | the functions, types and rules of every planner |
//! | [`watched_rules`] | DataFusion's rules, which stop when the session no longer waits |
//! | [`cooperation`] | joins that can be interrupted |

mod cooperation;
mod planning_threads;
mod template;
mod watched_rules;

pub(crate) use planning_threads::{Lane, PlanningThreads};
pub(crate) use template::Template;
