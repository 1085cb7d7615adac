//! Arrays.
//!
//! | module | contents |
//! |---|---|
//! | [`making`] | arrays made, measured and joined |
//! | [`comparisons`] | arrays compared with each other |
//! | [`searches`] | elements found, removed and replaced |
//! | [`texts`] | arrays as text |
//! | [`vectors`] | int2vector, oidvector |
//! | [`elements`] | what functions need of their elements' type |

pub mod comparisons;
pub mod elements;
pub mod making;
pub mod searches;
pub mod texts;
pub mod vectors;

use crate::functions::Implementations;

/// The tables of this room.
pub const FAMILIES: &[Implementations] =
    &[making::FUNCTIONS, comparisons::FUNCTIONS, searches::FUNCTIONS, texts::FUNCTIONS, vectors::FUNCTIONS];
