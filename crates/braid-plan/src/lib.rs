//! Planning: relations rewritten, lowered to plans of operators, and optimized by cost.
//!
//! | module | contents |
//! |---|---|
//! | [`planning`] | a bound query as a plan |
//! | [`lowering`] | relations into plans of operators |
//! | [`optimization`] | decisions by cost: the order of joins, where groups are made |
//! | [`statistics`] | what the catalog knows of the rows of a scan |
//! | [`rewriting`] | rules: relations into relations of the same rows |
//! | [`values`] | the values of SQL's types in vectors |

pub mod lowering;
pub mod optimization;
pub mod planning;
pub mod rewriting;
pub mod statistics;
pub mod values;
