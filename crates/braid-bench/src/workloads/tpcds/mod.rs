//! TPC-DS: tables and generator.
//!
//! | module | contents |
//! |---|---|
//! | `columns` | names and types of all columns |
//! | [`tables`] | names, keys, sizes and rows |

mod columns;
pub mod tables;

pub use tables::TpcdsTable;
