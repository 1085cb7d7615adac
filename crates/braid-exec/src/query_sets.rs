//! Sets of queries as rows carry them: the data-query model of SharedDB (VLDB 2012, section 3.1).
//!
//! Each distinct set of a pass is stored once, and a row carries its number. What operators do with sets is in
//! [`crate::sharing`].
//!
//! | module | what lives there |
//! |---|---|
//! | [`query_set`] | the number of a query in its pass; representations of sets, measured behind one trait |
//! | [`query_bitmap`] | a set as one bit for each query |
//! | [`set_store`], `set_calculator` | the distinct sets of a pass; their intersections, unions and differences |
//! | `set_memo` | what a worker remembers about sets |
//! | [`index`] | predicate indexes: from a value to the set of the queries that want it |

pub mod index;
pub mod query_bitmap;
pub mod query_set;
pub(crate) mod set_calculator;
pub(crate) mod set_memo;
pub mod set_store;
