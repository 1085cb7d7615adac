//! Regular expressions: PostgreSQL's operators `~` and its functions.
//!
//! | module | contents |
//! |---|---|
//! | [`syntax`] | reads an expression |
//! | [`character_sets`] | sets of characters |
//! | [`expression`] | which texts the parts of an expression find |
//! | [`simulation`] | expressions that look ahead or behind |
//! | [`references`] | expressions with back references |
//! | [`pattern`] | an expression that searches, and those kept for the next call |
//! | [`matches`] | the matches of a pattern in a text |
//! | [`calls`] | the functions |
//! | [`search`] | what other functions ask of a text |
//! | [`similar_to`] | patterns of `SIMILAR TO` |

mod calls;
mod character_sets;
mod expression;
mod matches;
mod pattern;
mod references;
mod search;
mod similar_to;
mod simulation;
mod syntax;

pub use calls::FUNCTIONS;
pub(in crate::functions) use calls::{regexp_matches, regexp_split_to_table};
pub use search::{RegularExpression, check, is_found};
