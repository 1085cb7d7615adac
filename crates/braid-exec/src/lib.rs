//! Operators that serve one query or many in one pass.
//!
//! One query: a plan, run as pipelines over vectors.
//!
//! | module | what lives there |
//! |---|---|
//! | [`plan`], [`executor`] | what one query is to do, and its running |
//! | [`pipeline`] | sources, operators that rows are pushed through, sinks, workers |
//! | [`table_source`], `chunk_origin` | a table's chunks as a source, with rows left out by what joins know; their columns |
//! | [`result_rows`] | rows in memory as a source |
//! | [`row_operators`], [`sort`] | filter, projection, limit; ORDER BY |
//! | `join_operator`, `aggregation_source` | the hash join and the aggregation in pipelines |
//! | `key_hashes`, `multiplicative_hasher` | hashes of keys, for joins and groups |
//! | [`join_order`] | in which order relations are joined |
//! | [`vector`], [`byte_strings`] | the values of a column for some rows |
//! | [`batch`] | rows on their way through a pipeline, with columns read as late as they can be |
//! | [`row_numbers`] | which rows of an origin a batch has |
//! | [`expression`] | what is computed on them |
//! | [`hash_aggregation`] | groups, of one query or of many in one pass, and what is aggregated for each |
//! | [`arrow_arrays`] | vectors as Arrow arrays and back |
//! | [`hash_join`] | rows of two sides with equal keys |
//! | [`memory`], [`exec_error`] | what a query may hold, and why it failed |
//! | [`spill`], `spilled_aggregation`, `spilled_join` | what it does not hold: rows in temporary files |
//!
//! Many queries in one pass: the data-query model of SharedDB (VLDB 2012). Rows carry the set of the queries that want
//! them, as one more column; the operators are the same wherever sets do not matter.
//!
//! | module | what lives there |
//! |---|---|
//! | [`shared_plan`] | from a plan with parameters, and those of each query, to one plan for all |
//! | [`shared_operator`] | the operators that look at sets |
//! | `shared_steps` | those that look at one batch at a time: conditions, columns, meeting sets |
//! | [`set_store`], `set_calculator` | the distinct sets of a pass; their intersections, unions, differences |
//! | [`predicate_index`], [`class_sets`] | the predicates of many queries on one column: from a value to its class |
//! | [`indexed_predicates`] | the same, from a value to its set |
//! | [`like_index`] | the patterns of many queries, matched together |
//! | `query_conditions` | conditions with parameters: from a row to the queries for which they are true |
//! | `set_scan`, [`segment_classes`] | the same in a scan, on encoded data |
//! | [`query_set`], [`query_bitmap`] | what a row may carry: lists, bitmaps, interned sets, measured behind one trait |
//! | [`routing`] | from shared rows to each query's own |
//! | `shared_sort`, `shared_limit`, `query_windows` | ORDER BY and LIMIT, counted for each query on its own |
//! | `set_memo` | what a worker found out about sets |
//! | `shared_join` | the hash join in which it depends on the query whether a row has partners |
//!
//! This crate does not know SQL or DataFusion: plans arrive as values of its own types.

mod aggregation_source;
pub mod arrow_arrays;
pub mod batch;
pub mod byte_strings;
mod chunk_origin;
pub mod class_sets;
pub mod exec_error;
pub mod executor;
pub mod expression;
pub mod hash_aggregation;
pub mod hash_join;
pub mod indexed_predicates;
mod join_operator;
pub mod join_order;
mod join_sides;
mod key_hashes;
pub mod like_index;
pub mod memory;
mod multiplicative_hasher;
pub mod pipeline;
pub mod plan;
pub mod predicate_index;
pub mod query_bitmap;
mod query_conditions;
pub mod query_set;
mod query_windows;
pub mod result_rows;
pub mod routing;
pub mod row_numbers;
pub mod row_operators;
pub mod segment_classes;
mod set_calculator;
mod set_memo;
mod set_scan;
pub mod set_store;
mod shared_join;
mod shared_limit;
pub mod shared_operator;
pub mod shared_plan;
mod shared_sort;
mod shared_steps;
pub mod sort;
pub mod spill;
mod spilled_aggregation;
mod spilled_join;
pub mod table_source;
pub mod vector;

pub use batch::{Batch, Origin};
pub use byte_strings::ByteStrings;
pub use class_sets::{ClassSets, RowClass};
pub use exec_error::ExecError;
pub use expression::{Evaluator, Expression};
pub use like_index::{LikeIndex, LikeMatcher};
pub use memory::{FixedBudget, MemoryBudget, Reservation};
pub use predicate_index::PredicateIndex;
pub use query_bitmap::QueryBitmap;
pub use query_conditions::ParameterRow;
pub use query_set::{KeptRows, PASS_QUERIES_MAX, QueryNumber, QuerySets};
pub use routing::Routing;
pub use set_store::{SetNumber, SetStore};
pub use shared_plan::SharedPlan;
pub use spill::{SpillSettings, SpillSpace};
pub use vector::Vector;
