//! Which operator, function, cast and common type an expression means, by PostgreSQL's rules ("Type Conversion" in its manual).
//!
//! Everything here is a pure function over [`pg_catalog`](crate::pg_catalog): names and types in, a choice out. A literal without a
//! type has the type `unknown`. Errors have PostgreSQL's words; the binder adds the place in the statement.
//!
//! | module | contents |
//! |---|---|
//! | [`functions`] | the function that a call means |
//! | [`operators`] | the operator that two operands mean |
//! | [`candidates`] | the best of several functions or operators |
//! | [`polymorphic`] | what `anyelement`, `anycompatible` and their like stand for |
//! | [`common_type`](mod@common_type) | the type that several expressions share: UNION, CASE, ARRAY |
//! | [`coercion`] | how a value of one type becomes one of another |
//!
//! PostgreSQL's domains, enumerations, composite types and inheritance are absent: the catalog has none of them.

pub mod candidates;
pub mod coercion;
pub mod common_type;
pub mod functions;
pub mod operators;
pub mod polymorphic;

pub use coercion::{Pathway, can_coerce, coercion_pathway, length_coercion};
pub use common_type::{common_type, is_reached_by_all};
pub use functions::{FunctionResolution, ResolvedFunction, no_function, resolve_function};
pub use operators::{ResolvedOperator, resolve_operator};

#[cfg(test)]
mod tests;
