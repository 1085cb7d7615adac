//! Row counts, bounds, distinct counts and selectivities from the catalog, without reading a segment.
//!
//! | module | contents |
//! |---|---|
//! | [`scan_statistics`] | statistics of the rows that a scan returns |
//! | [`column_statistics`] | statistics of a column in some chunks |
//! | `selectivity` | the share of a chunk's rows that satisfy predicates |
//!
//! The order of joins depends on these numbers. Answers may depend on the exact ones only.

pub mod column_statistics;
pub mod scan_statistics;
mod selectivity;

pub use column_statistics::{Bounds, ColumnStatistics, Count};
pub use scan_statistics::ScanStatistics;
pub use selectivity::ConditionOn;
