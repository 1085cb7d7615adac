//! Relations as text, for EXPLAIN and for tests of rules.
//!
//! | module | contents |
//! |---|---|
//! | [`operators`] | operators, one a line |
//! | [`expressions`] | expressions as SQL writes them |

pub mod expressions;
pub mod operators;
