//! Operators of one query, or of many queries in one pass.
//!
//! A plan runs as pipelines over vectors. The rooms below are in the order in which they may import: each imports only
//! those above it (`crates/braid-base/tests/modules` checks that).
//!
//! | room | contents |
//! |---|---|
//! | [`exec_error`], [`memory`], [`tuning`] | why a query failed; the memory that it may hold; the thresholds of operators |
//! | [`values`] | columns as vectors, and batches of them |
//! | [`keys`] | keys of joins and groups: hashes, addresses, filters |
//! | [`expression`] | expressions over columns |
//! | [`query_sets`] | query sets of rows, and the indexes that compute them |
//! | [`runtime`] | pipelines: sources, operators, sinks, workers |
//! | [`spill`] | spilling to temporary files |
//! | [`plan`] | plans: trees of operators, and the order of joins |
//! | [`scan`] | tables as sources |
//! | [`sorting`] | ORDER BY |
//! | [`windows`] | window functions |
//! | [`aggregation`] | GROUP BY and aggregates, of one query or of a pass |
//! | [`joins`] | hash joins |
//! | [`sharing`] | passes: one plan for many queries, and its operators |
//! | [`executor`] | the execution of a plan |
//!
//! This crate does not know SQL: plans arrive as values of its own types.

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
pub mod windows;

pub use exec_error::{ExecError, PassError};
pub use expression::{Evaluator, Expression};
pub use memory::{FixedBudget, MemoryBudget, Reservation};
pub use query_sets::index::class_sets::{ClassSets, RowClass};
pub use query_sets::index::like_index::{LikeIndex, LikeMatcher};
pub use query_sets::index::predicate_index::PredicateIndex;
pub use query_sets::query_bitmap::QueryBitmap;
pub use query_sets::query_number::{PASS_QUERIES_MAX, QueryNumber};
pub use query_sets::set_store::{SetNumber, SetStore};
pub use sharing::pass_members::{PassMembers, QueryEnd};
pub use sharing::query_conditions::ParameterRow;
pub use sharing::routing::Routing;
pub use sharing::shared_plan::SharedPlan;
pub use spill::{RowBlock, RowFile, RowReader, RowWriter, SpillSettings, SpillSpace};
pub use values::batch::{Batch, Origin};
pub use values::byte_strings::ByteStrings;
pub use values::integer_bounds::IntegerBounds;
pub use values::vector::Vector;
