//! TPC-DS: tables, generator, the 99 queries.
//!
//! | module | contents |
//! |---|---|
//! | `columns` | names and types of all columns |
//! | [`queries`] | the 99 queries, as 103 statements |
//! | [`tables`] | names, keys, sizes and rows |

mod columns;
pub mod queries;
pub mod tables;

pub use queries::QUERIES;
pub use tables::TpcdsTable;
