//! What PostgreSQL 15 has: its types, casts, operators, functions, aggregates, orders and key words, whether Braid computes them or not.
//!
//! Which operator or function an expression means depends on all candidates, so a list of those that Braid has would choose
//! otherwise than PostgreSQL. The tables are PostgreSQL's own, written by `postgres/read_catalog.sh` and read once.
//!
//! | module | contents |
//! |---|---|
//! | [`type_id`] | the number of a type |
//! | `user_entries` | the rows of enumerated types, which databases have |
//! | [`entries`] | the rows of the tables |
//! | [`aggregates`] | the rows of the table of aggregates |
//! | [`orders`] | the rows of the table of orders |
//! | [`catalog_map`] | maps of the catalog's numbers and names |
//! | [`tables`] | the tables, and look-ups in them |
//! | [`key_words`] | the words of the grammar |
//! | `tsv` | reading the files |

pub mod aggregates;
pub mod catalog_map;
pub mod entries;
pub mod key_words;
pub mod orders;
pub mod tables;
mod tsv;
pub mod type_id;
mod user_entries;

pub use aggregates::{AggregateEntry, AggregateKind};
pub use catalog_map::{CatalogMap, CatalogSet};
pub use entries::{
    CastContext, CastEntry, CastMethod, FunctionEntry, FunctionId, FunctionKind, OperatorEntry, TypeCategory,
    TypeEntry, TypeKind, Volatility,
};
pub use orders::{OrderEntry, OrderFunctions};
pub use tables::{PgCatalog, pg_catalog};
pub use type_id::TypeId;
