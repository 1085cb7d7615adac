//! Operators that serve one query or many in one pass.
//!
//! Here so far is the data-query model of SharedDB (VLDB 2012): rows that carry the set of the queries that want them,
//! and the indexes that find that set.
//!
//! | module | what lives there |
//! |---|---|
//! | [`query_set`] | what a row carries: lists, bitmaps, interned classes, behind one trait |
//! | [`query_bitmap`] | a set of queries before it is represented for rows |
//! | [`predicate_index`] | the predicates of many queries on one column: from a value to its class |
//! | [`class_sets`] | the queries of each class |
//!
//! This crate does not know SQL or DataFusion: plans arrive as values of its own types.

pub mod class_sets;
pub mod predicate_index;
pub mod query_bitmap;
pub mod query_set;

pub use class_sets::{ClassSets, RowClass};
pub use predicate_index::PredicateIndex;
pub use query_bitmap::QueryBitmap;
pub use query_set::{KeptRows, PASS_QUERIES_MAX, QueryNumber, QuerySets};
