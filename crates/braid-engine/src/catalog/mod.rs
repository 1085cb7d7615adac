//! The catalog: the tables of one snapshot, and PostgreSQL's system tables.
//!
//! | module | what lives there |
//! |---|---|
//! | [`snapshot_catalog`] | database `braid`, schema `public`: the tables of one snapshot |
//! | [`system_tables`] | schema `pg_catalog` |
//! | [`system_views`] | Braid's own views in that schema |
//! | [`object_ids`] | object ids of tables and schemas |
//! | [`system_functions`] | functions that clients call on the system tables |
//! | [`quote_functions`] | `quote_ident`, `quote_literal` and `quote_nullable` |
//! | [`system_queries`] | the rewriting of queries on system tables |

mod object_ids;
mod quote_functions;
pub(crate) mod snapshot_catalog;
pub(crate) mod system_functions;
pub(crate) mod system_queries;
pub(crate) mod system_tables;
pub(crate) mod system_views;
