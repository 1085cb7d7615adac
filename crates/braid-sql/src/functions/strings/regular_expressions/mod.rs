//! Regular expressions: PostgreSQL's operators `~` and its functions.
//!
//! | module | contents |
//! |---|---|
//! | [`syntax`] | reads an expression |
//! | [`character_sets`] | sets of characters |
//! | [`expression`] | which texts the parts of an expression find |
//! | [`pattern`] | an expression that searches, and those kept for the next call |
//! | [`calls`] | the functions |
//! | [`similar_to`] | patterns of `SIMILAR TO` |

mod calls;
mod character_sets;
mod expression;
mod pattern;
mod similar_to;
mod syntax;

pub use calls::FUNCTIONS;
