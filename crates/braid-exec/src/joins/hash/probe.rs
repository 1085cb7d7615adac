//! The probe side: from a batch to pairs of rows, and after the probe the build rows without a partner.
//!
//! | module | contents |
//! |---|---|
//! | `join_probe`, `candidates` | from a batch to pairs |
//! | `pair_stream` | pairs of row numbers, for callers with tests of their own |
//! | `unmatched_rows` | the build rows that are returned after the probe |

pub(crate) mod candidates;
pub(crate) mod join_probe;
pub(crate) mod pair_stream;
pub(crate) mod unmatched_rows;
