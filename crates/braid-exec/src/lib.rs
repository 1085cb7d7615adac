//! Operators that serve one query or many in one pass.
//!
//! A plan runs as pipelines over vectors. The rooms below are in the order in which they may import: each imports only
//! those above it (`crates/braid-base/tests/modules` checks that).
//!
//! | room | what lives there |
//! |---|---|
//! | [`exec_error`], [`memory`], [`tuning`] | why a query failed; the memory that it may hold; the thresholds of operators |
//! | [`values`] | columns as vectors, and batches of them |
//! | [`keys`] | keys of joins and groups: hashes, addresses, filters |
//! | [`expression`] | what is computed on rows |
//! | [`query_sets`] | the sets of queries that rows carry, and the indexes that find them |
//! | [`runtime`] | pipelines: sources, operators, sinks, workers |
//! | [`spill`] | rows in temporary files |
//! | [`plan`] | what a query is to do: a tree of operators, and in which order relations are joined |
//! | [`scan`] | tables as sources |
//! | [`sorting`] | ORDER BY |
//! | [`aggregation`] | groups, of one query or of many in one pass |
//! | [`joins`] | rows of two sides with equal keys |
//! | [`sharing`] | many queries in one pass: from plans with parameters to one plan for all, and its operators |
//! | [`executor`] | the running of a plan |
//!
//! This crate does not know SQL or DataFusion: plans arrive as values of its own types.

pub mod aggregation;
pub mod exec_error;
pub mod executor;
pub mod expression;
pub mod joins;
pub mod keys;
pub mod memory;
pub mod plan;
pub mod query_sets;
pub mod runtime;
pub mod scan;
pub mod sharing;
pub mod sorting;
pub mod spill;
pub mod tuning;
pub mod values;

pub use exec_error::ExecError;
pub use expression::{Evaluator, Expression};
pub use memory::{FixedBudget, MemoryBudget, Reservation};
pub use query_sets::index::class_sets::{ClassSets, RowClass};
pub use query_sets::index::like_index::{LikeIndex, LikeMatcher};
pub use query_sets::index::predicate_index::PredicateIndex;
pub use query_sets::query_bitmap::QueryBitmap;
pub use query_sets::query_set::{KeptRows, PASS_QUERIES_MAX, QueryNumber, QuerySets};
pub use query_sets::set_store::{SetNumber, SetStore};
pub use sharing::query_conditions::ParameterRow;
pub use sharing::routing::Routing;
pub use sharing::shared_plan::SharedPlan;
pub use spill::{SpillSettings, SpillSpace};
pub use values::batch::{Batch, Origin};
pub use values::byte_strings::ByteStrings;
pub use values::vector::Vector;
