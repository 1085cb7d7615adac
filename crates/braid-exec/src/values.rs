//! The values of rows: columns as vectors, and batches of them.
//!
//! | module | contents |
//! |---|---|
//! | [`vector`] | the values of one column for up to a vector of rows |
//! | [`byte_strings`], [`coded_strings`] | strings as views of buffers, and as codes of a dictionary |
//! | [`batch`] | rows in a pipeline, whose columns are read as late as possible |
//! | [`row_numbers`] | the rows of an origin that a batch has |
//! | [`intervals`] | intervals as strings of 16 bytes |
//! | [`integer_bounds`] | integers between two bounds |
//! | `distinct_bytes` | the bytes of vectors that share buffers |
//! | `narrow_integers` | integers of 128 bits in 64 bits |
//! | [`numeric_quotient`] | division of numerics |
//! | [`arrow_arrays`] | vectors as Arrow arrays and back |

pub mod arrow_arrays;
pub mod batch;
pub mod byte_strings;
pub mod coded_strings;
pub(crate) mod distinct_bytes;
pub mod integer_bounds;
pub mod intervals;
pub(crate) mod narrow_integers;
pub mod numeric_quotient;
pub mod row_numbers;
pub mod vector;
