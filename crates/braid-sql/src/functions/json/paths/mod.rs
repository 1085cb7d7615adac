//! Paths: the type `jsonpath`, and what it finds in values of jsonb.
//!
//! `.keyvalue()` is read, and refused when it is run.
//!
//! | module | contents |
//! |---|---|
//! | [`calls`] | input, output, `@?`, `@@`, `jsonb_path_exists` and its like |
//! | [`execution`] | what a path finds |
//! | [`members`] | elements and descendants |
//! | [`predicates`] | whether a predicate is true |
//! | [`arithmetic`] | operators and methods of numbers |
//! | [`datetimes`] | `.datetime()`, and what compares dates and times |
//! | [`failure`] | errors that can be suppressed, and others |

pub mod arithmetic;
pub mod calls;
pub mod datetimes;
pub mod execution;
pub mod failure;
pub mod members;
pub mod predicates;
