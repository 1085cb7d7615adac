//! TPC-H: tables, generator, the 22 queries, the eight-query mix of QPipe's figure 12.
//!
//! | module | what lives there |
//! |---|---|
//! | [`tables`] | names, columns, keys and sizes |
//! | [`generator`] | the rows, generated in parallel and in order |
//! | [`load`](mod@load) | from the generator into a database |
//! | [`queries`] | the 22 queries with validation parameters |
//! | [`answers`] | what two independent engines agreed they answer |
//! | [`pass_templates`] | the types of the mix that one pass over a table answers, as shared plans |
//! | [`mix`] | the eight-query mix with random parameters |

pub mod answers;
pub mod generator;
pub mod load;
pub mod mix;
pub mod pass_templates;
pub mod queries;
pub mod tables;

pub use answers::{STORED_SCALES, check_query};
pub use load::{LoadReport, Progress, check_scale, ensure, load};
pub use mix::{MixQuery, QueryMix};
pub use pass_templates::{PassQueries, PassTemplate};
pub use queries::{QUERIES, query};
pub use tables::TpchTable;
