//! The probe side: from a batch to pairs of rows, and after the probe the build rows without a partner.
//!
//! | module | contents |
//! |---|---|
//! | `join_probe`, `candidates` | from a batch to pairs |
//! | `pair_stream` | pairs of row numbers, for callers with tests of their own |
//! | `truth_values` | the value of a condition over all partners |
//! | `unmatched_rows` | the build rows that are returned after the probe |

pub(crate) mod candidates;
pub(crate) mod join_probe;
pub(crate) mod pair_stream;
mod truth_values;
pub(crate) mod unmatched_rows;
