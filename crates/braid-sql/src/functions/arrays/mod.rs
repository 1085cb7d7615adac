//! Arrays.
//!
//! | module | contents |
//! |---|---|
//! | [`making`] | arrays made, measured and joined |
//! | [`comparisons`] | arrays compared with each other |
//! | [`searches`] | elements found, removed and replaced |
//! | [`texts`] | arrays as text |
//! | [`elements`] | what functions need of their elements' type |

pub mod comparisons;
pub mod elements;
pub mod making;
pub mod searches;
pub mod texts;

use crate::functions::Implementations;

/// The tables of this room.
pub const FAMILIES: &[Implementations] =
    &[making::FUNCTIONS, comparisons::FUNCTIONS, searches::FUNCTIONS, texts::FUNCTIONS];
