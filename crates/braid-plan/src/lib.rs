//! Planning: relations rewritten, lowered to plans of operators, and optimized by cost.
//!
//! | module | contents |
//! |---|---|
//! | [`planning`] | a bound query as a plan |
//! | [`planning_memory`] | memory for values that are computed while a query is planned |
//! | [`lowering`] | relations into plans of operators |
//! | [`optimization`] | decisions by cost: the order of joins, where groups are made |
//! | [`statistics`] | what the catalog knows of the rows of a scan |
//! | [`rewriting`] | rules: relations into relations of the same rows |
//! | [`setting_calls`] | queries that change settings and read them |
//! | [`values`] | the values of SQL's types in vectors |

pub mod lowering;
pub mod optimization;
pub mod planning;
pub mod planning_memory;
pub mod rewriting;
pub mod setting_calls;
pub mod statistics;
pub mod values;
