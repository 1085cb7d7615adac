//! The catalog as DataFusion sees it: tables of one snapshot, and PostgreSQL's system tables.
//!
//! | module | what lives there |
//! |---|---|
//! | [`snapshot_catalog`] | database `braid`, schema `public`: the tables of one snapshot |
//! | [`system_queries`] | queries on the system tables, made fit |
//! | [`template`] | functions, types and rules: what every statement is planned with |

pub(crate) mod snapshot_catalog;
pub(crate) mod system_queries;
pub(crate) mod template;
