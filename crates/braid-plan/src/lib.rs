//! Planning: relations rewritten, and lowered to plans of operators.
//!
//! | module | contents |
//! |---|---|
//! | [`planning`] | a bound query as a plan |
//! | [`lowering`] | relations into plans of operators |
//! | [`rewriting`] | rules: relations into relations of the same rows |
//! | [`values`] | the values of SQL's types in vectors |

pub mod lowering;
pub mod planning;
pub mod rewriting;
pub mod values;
