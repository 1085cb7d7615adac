//! Texts, bytes and bits.
//!
//! | module | contents |
//! |---|---|
//! | [`text_types`] | types, casts, lengths |
//! | [`order`] | comparisons |
//! | [`substrings`] | parts of texts |
//! | [`characters`] | characters and their case |
//! | [`patterns`] | LIKE |
//! | [`regular_expressions`] | regular expressions and SIMILAR TO |
//! | [`quoting`] | SQL's quotes |
//! | [`formatting`] | `concat` and `format` |
//! | [`bytes`] | bytea, and digests |
//! | [`bits`] | bit strings |
//! | [`encoding`] | encodings of bytes as text |
//! | [`uuids`] | uuid |
//! | [`results`] | how long texts may be, and values as text |

pub mod bits;
pub mod bytes;
pub mod characters;
pub mod encoding;
pub mod formatting;
pub mod order;
pub mod patterns;
pub mod quoting;
pub mod regular_expressions;
pub mod results;
pub mod substrings;
pub mod text_types;
pub mod uuids;

use crate::functions::Implementations;

/// The tables of this room.
pub const FAMILIES: &[Implementations] = &[
    text_types::FUNCTIONS,
    order::FUNCTIONS,
    substrings::FUNCTIONS,
    characters::FUNCTIONS,
    patterns::FUNCTIONS,
    regular_expressions::FUNCTIONS,
    quoting::FUNCTIONS,
    formatting::FUNCTIONS,
    bits::FUNCTIONS,
    bytes::FUNCTIONS,
    encoding::FUNCTIONS,
    uuids::FUNCTIONS,
];
