//! Braid's tables and operators in DataFusion's plans: table providers, scan operators, planning.
//!
//! Only this crate implements DataFusion's interfaces for tables of column segments, and translates DataFusion's expressions to
//! predicates on encoded data. `braid-engine` uses DataFusion, too: it builds statements, sessions and PostgreSQL's semantics
//! on its parser, planner and types.
//!
//! | module | contents |
//! |---|---|
//! | [`braid_table`] | a table version as a table provider |
//! | [`scan_exec`] | the leaf operator over one cooperative scan |
//! | `scan_stream` | that scan as one stream per partition |
//! | [`filter_translation`] | SQL conditions on one column as predicates on encoded data |
//! | [`comparison`] | a column's type against a literal of any type, exactly |
//! | [`dynamic_filter`] | filters that joins and top-k compute at run time, as predicates |
//! | [`operators`] | the parts of a plan that run on Braid's operators, and the operator that runs them |
//! | [`bounded`] | bounds on the results of functions, per batch and per value, and their memory |
//! | [`table_statistics`] | the catalog's statistics as DataFusion's |
//! | [`scalar_value`] | physical values as DataFusion's scalars |
//! | `corrected_rules` | DataFusion's rules, restricted to plans that they do not break |
//! | `guards` | conditions that keep others from failing |
//! | [`expression_types`] | the types of expressions, in linear time |
//! | [`numeric_coercion`] | comparison of a numeric with a float, as floats |
//! | [`session`] | session state with the settings that suit Braid |
//!
//! Invariant: a filter is pushed down only if its translation selects exactly the rows for which the filter is true.

pub mod bounded;
pub mod braid_table;
pub mod comparison;
mod corrected_rules;
pub mod dynamic_filter;
pub mod expression_types;
pub mod filter_translation;
mod guards;
pub mod numeric_coercion;
pub mod operators;
pub mod scalar_value;
pub mod scan_exec;
mod scan_stream;
pub mod session;
pub mod table_statistics;

pub use bounded::{BoundedFunctions, StatementMemory, ValueTooLong};
pub use braid_table::{BraidTable, ScanSettings};
pub use expression_types::type_of;
pub use filter_translation::translate_filter;
pub use scan_exec::BraidScanExec;
pub use session::{SessionSettings, session_config, session_state, session_state_builder};
