//! The values of SQL's types in vectors.
//!
//! | module | contents |
//! |---|---|
//! | [`form`] | which vectors hold the values of a type |
//! | [`arrays`] | values as arrays of Arrow, which vectors are made of |
//! | [`codec`] | values of types that no vector holds, as bytes |
//! | [`comparison_key`] | bytes that are equal, and ordered, as the values are |
//! | [`counted_values`] | long values, counted under a query's budget |

pub mod arrays;
pub mod codec;
pub mod comparison_key;
pub mod counted_values;
pub mod form;

pub use counted_values::RowValues;
pub use form::Form;
