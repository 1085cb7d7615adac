//! Operators that serve one query or many in one pass.
//!
//! Here so far is the data-query model of SharedDB (VLDB 2012) for one table: rows that carry the set of the queries that
//! want them, the indexes that find that set, and the filter and aggregation of many queries in one pass.
//!
//! | module | what lives there |
//! |---|---|
//! | [`query_set`] | what a row carries: lists, bitmaps, interned classes, behind one trait |
//! | [`query_bitmap`] | a set of queries before it is represented for rows |
//! | [`predicate_index`] | the predicates of many queries on one column: from a value to its class |
//! | [`class_sets`] | the queries of each class |
//! | [`segment_classes`] | the classes of a segment's rows, found on encoded data |
//! | [`shared_filter`] | from the rows of a vector to those that anybody wants, with their sets |
//! | [`shared_aggregation`] | filter and aggregation of many queries of one form in one pass |
//! | `group_keys`, `accumulators` | its groups, and what is added up for each |
//! | [`integer_expression`] | arithmetic on 64-bit integers that never overflows unnoticed |
//! | `multiplicative_hasher` | a hash for the engine's own numbers |
//!
//! This crate does not know SQL or DataFusion: plans arrive as values of its own types.

mod accumulators;
pub mod class_sets;
mod group_keys;
pub mod integer_expression;
mod multiplicative_hasher;
pub mod predicate_index;
pub mod query_bitmap;
pub mod query_set;
pub mod segment_classes;
pub mod shared_aggregation;
pub mod shared_filter;

pub use accumulators::Aggregate;
pub use class_sets::{ClassSets, RowClass};
pub use group_keys::KeyValue;
pub use integer_expression::{IntegerExpression, IntegerOperation};
pub use predicate_index::PredicateIndex;
pub use query_bitmap::QueryBitmap;
pub use query_set::{KeptRows, PASS_QUERIES_MAX, QueryNumber, QuerySets};
pub use shared_aggregation::{AggregationPlan, GroupRow, PassError, QueryGroups, SharedAggregation};
