//! The catalog as DataFusion sees it: tables of one snapshot, and PostgreSQL's system tables.
//!
//! | module | what lives there |
//! |---|---|
//! | [`snapshot_catalog`] | database `braid`, schema `public`: the tables of one snapshot |
//! | [`system_tables`] | schema `pg_catalog` |
//! | [`object_ids`] | numbers for tables and schemas |
//! | [`system_functions`] | functions that clients call on the system tables |
//! | [`system_queries`] | queries on the system tables, made fit |
//! | [`template`] | functions, types and rules: what every statement is planned with |

mod object_ids;
pub(crate) mod snapshot_catalog;
mod system_functions;
pub(crate) mod system_queries;
mod system_tables;
pub(crate) mod template;
