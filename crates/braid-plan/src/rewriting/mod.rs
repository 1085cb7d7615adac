//! Rules that rewrite relations. Each is a pure function in a file of its own, and says which property of its input it needs.
//!
//! | module | contents |
//! |---|---|
//! | [`unnesting`] | subqueries and lateral joins as ordinary joins |
//! | [`expressions`] | expressions made and taken apart |
//! | [`failing`] | which expressions may fail |
//! | [`renumbering`] | copies of relations |

mod expressions;
mod failing;
mod renumbering;
#[cfg(test)]
mod tests;
mod unnesting;

pub use unnesting::unnest;
