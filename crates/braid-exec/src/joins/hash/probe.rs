//! The probe side: from a batch to pairs of rows, and afterwards the build rows without partner.
//!
//! | module | what lives there |
//! |---|---|
//! | `join_probe`, `candidates` | from a batch to pairs |
//! | `key_equality` | comparisons of keys, a vector at a time |
//! | `pair_stream` | pairs of row numbers, for callers that decide on them |
//! | `unmatched_rows` | the build rows that come after probing |

pub(crate) mod candidates;
pub(crate) mod join_probe;
pub(crate) mod key_equality;
pub(crate) mod pair_stream;
pub(crate) mod unmatched_rows;
