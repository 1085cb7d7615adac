//! Numbers and booleans.
//!
//! | module | contents |
//! |---|---|
//! | [`booleans`] | boolean |
//! | [`integers`] | smallint, integer, bigint |
//! | [`oids`] | oid |
//! | [`random`] | random numbers and uuids |
//! | [`floats`] | real, double precision |
//! | [`trigonometry`] | trigonometric and hyperbolic functions |
//! | [`numerics`] | numeric |
//! | [`casts`] | casts among numbers |
//! | [`formatting`] | `to_char` of numbers, `to_number` |
//! | [`comparisons`] | comparisons, three-way comparisons, extremes |

pub mod booleans;
pub mod casts;
pub mod comparisons;
pub mod floats;
pub mod formatting;
pub mod integers;
pub mod numerics;
pub mod oids;
pub mod random;
pub mod trigonometry;

use crate::functions::Implementations;

/// The tables of this room.
pub const FAMILIES: &[Implementations] = &[
    booleans::FUNCTIONS,
    integers::ARITHMETIC,
    integers::FUNCTIONS,
    integers::DIVISORS,
    oids::FUNCTIONS,
    random::FUNCTIONS,
    floats::ARITHMETIC,
    floats::FUNCTIONS,
    trigonometry::FUNCTIONS,
    numerics::FUNCTIONS,
    casts::FUNCTIONS,
    formatting::to_char::FUNCTIONS,
    formatting::to_number::FUNCTIONS,
    comparisons::FUNCTIONS,
    comparisons::THREE_WAY,
    comparisons::DIFFERENCES,
    comparisons::EXTREMES,
    comparisons::OF_TRANSACTIONS,
];
