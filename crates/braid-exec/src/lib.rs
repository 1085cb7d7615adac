//! Operators that serve one query or many in one pass.
//!
//! One query: a plan, run as pipelines over vectors.
//!
//! | module | what lives there |
//! |---|---|
//! | [`plan`], [`executor`] | what one query is to do, and its running |
//! | [`pipeline`] | sources, operators that rows are pushed through, sinks, workers |
//! | [`table_source`] | a table's chunks as a source, with rows left out by what joins know |
//! | [`result_rows`] | rows in memory as a source |
//! | [`row_operators`], [`sort`] | filter, projection, limit; ORDER BY |
//! | `join_operator`, `aggregation_source` | the hash join and the aggregation in pipelines |
//! | `key_hashes` | hashes of keys, for joins and groups |
//! | [`join_order`] | in which order relations are joined |
//! | [`vector`], [`byte_strings`] | the values of a column for some rows |
//! | [`batch`] | rows on their way through a pipeline, with columns read as late as they can be |
//! | [`row_numbers`] | which rows of an origin a batch has |
//! | [`expression`] | what is computed on them |
//! | [`hash_aggregation`] | groups of one query and what is aggregated for each |
//! | [`arrow_arrays`] | vectors as Arrow arrays and back |
//! | [`hash_join`] | rows of two sides with equal keys |
//! | [`memory`], [`exec_error`] | what a query may hold, and why it failed |
//!
//! Many queries in one pass, so far over one table: the data-query model of SharedDB (VLDB 2012). Rows carry the set of
//! the queries that want them.
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
mod aggregation_source;
pub mod arrow_arrays;
pub mod batch;
pub mod byte_strings;
pub mod class_sets;
pub mod exec_error;
pub mod executor;
pub mod expression;
mod group_keys;
pub mod hash_aggregation;
pub mod hash_join;
pub mod integer_expression;
mod join_operator;
pub mod join_order;
mod key_hashes;
pub mod memory;
mod multiplicative_hasher;
pub mod pipeline;
pub mod plan;
pub mod predicate_index;
pub mod query_bitmap;
pub mod query_set;
pub mod result_rows;
pub mod row_numbers;
pub mod row_operators;
pub mod segment_classes;
pub mod shared_aggregation;
pub mod shared_filter;
pub mod sort;
pub mod table_source;
pub mod vector;

pub use accumulators::Aggregate;
pub use batch::{Batch, Origin};
pub use byte_strings::ByteStrings;
pub use class_sets::{ClassSets, RowClass};
pub use exec_error::ExecError;
pub use expression::{Evaluator, Expression};
pub use group_keys::KeyValue;
pub use integer_expression::{IntegerExpression, IntegerOperation};
pub use memory::{FixedBudget, MemoryBudget, Reservation};
pub use predicate_index::PredicateIndex;
pub use query_bitmap::QueryBitmap;
pub use query_set::{KeptRows, PASS_QUERIES_MAX, QueryNumber, QuerySets};
pub use shared_aggregation::{AggregationPlan, GroupRow, PassError, QueryGroups, SharedAggregation};
pub use vector::Vector;
