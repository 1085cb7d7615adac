//! TPC-H: tables, generator, the 22 queries, the eight-query mix of QPipe's figure 12.
//!
//! | module | contents |
//! |---|---|
//! | [`tables`] | names, columns, keys, sizes and rows |
//! | [`queries`] | the 22 queries with validation parameters |
//! | [`mix`] | the eight-query mix with random parameters |
//! | `shared_templates` | its types as plans with parameters, which many queries share |

pub mod mix;
pub mod queries;
pub(crate) mod shared_templates;
pub mod tables;

pub use mix::{MIX_NUMBERS, MixParameters, MixQuery, QueryMix, TpchMix};
pub use queries::{QUERIES, query};
pub(crate) use shared_templates::{SharedQueries, TpchSources};
pub use tables::TpchTable;
