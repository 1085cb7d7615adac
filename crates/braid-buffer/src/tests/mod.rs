//! Tests of the state machine as a whole.
//!
//! | module | what is tested |
//! |---|---|
//! | [`consistency`] | recomputes the books from nothing and compares |
//! | [`rig`] | a buffer, tables and scans that a test moves by hand |
//! | [`rules`] | each numbered rule of the Active Buffer Manager |
//! | [`policies`] | what tells the four policies apart, step by step |
//! | [`relevance_functions`] | figures 3 and 11, function by function |
//! | [`random_schedules`] | seeded random schedules under all policies |
//! | [`paper`] | formula (1), tables 2 and 3 |

mod consistency;
mod paper;
mod policies;
mod random_schedules;
mod relevance_functions;
mod rig;
mod rules;
