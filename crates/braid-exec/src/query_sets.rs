//! The query sets of rows: the data-query model of SharedDB (VLDB 2012, section 3.1).
//!
//! Each distinct set of a pass is stored once, and a row carries the number of its set. The operators on sets are in
//! [`crate::sharing`].
//!
//! | module | contents |
//! |---|---|
//! | [`query_number`] | the number of a query in its pass |
//! | [`query_bitmap`] | a set as one bit for each query |
//! | [`set_store`], `set_calculator` | the distinct sets of a pass; their intersections, unions and differences |
//! | `set_memo` | a worker's cache of results about sets |
//! | `set_refinement` | overlapping sets split into disjoint ones |
//! | `gone_queries` | the queries of a running pass that need no more rows |
//! | [`index`] | predicate indexes: from a value to its query set |

pub(crate) mod gone_queries;
pub mod index;
pub mod query_bitmap;
pub mod query_number;
pub mod set_calculator;
pub(crate) mod set_memo;
pub(crate) mod set_refinement;
pub mod set_store;
