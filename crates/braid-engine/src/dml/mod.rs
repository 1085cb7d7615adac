//! INSERT, UPDATE, DELETE, MERGE, and SELECT … FOR UPDATE.
//!
//! | module | contents |
//! |---|---|
//! | [`insert`] | INSERT: rows from values or a query into a table |
//! | [`on_conflict`], [`inferred_indexes`] | INSERT … ON CONFLICT; the indexes that its target means |
//! | [`update`], [`delete`] | UPDATE and DELETE |
//! | [`merge`], [`merge_expressions`] | MERGE |
//! | [`part_types`] | the types of parameters that several parts of a statement tell |
//! | [`parts`] | statements whose WITH changes rows, or is read by RETURNING |
//! | [`changed_rows`] | the rows that UPDATE and DELETE change: found, deleted, added again |
//! | [`changes`] | what a statement changes, until it is kept |
//! | [`referential_actions`], [`replaced_rows`] | FOREIGN KEY: what follows from changed rows |
//! | [`locking_query`], [`locked_relations`] | SELECT … FOR UPDATE |
//! | [`found_rows`] | the rows of a table that a statement has found |
//! | [`new_values`] | SET: the new values of rows |
//! | [`values`] | `VALUES (…), (…)` of literals and parameters, without a plan |
//! | [`assignment`] | conversion of rows to the columns of a table |
//! | [`row_checks`] | NOT NULL and CHECK |
//! | [`generated_columns`] | GENERATED ALWAYS AS: the values of columns that are computed of others |
//! | [`identities`] | which values may be stored in identity columns and generated ones |
//! | [`defaults`] | DEFAULT: the values of missing columns |
//! | [`sequence_calls`] | values and defaults that see each other's numbers of sequences |

pub(crate) mod assignment;
mod changed_rows;
mod changes;
pub(crate) mod defaults;
mod delete;
pub(crate) mod domain_checks;
mod found_rows;
pub(crate) mod generated_columns;
mod identities;
mod inferred_indexes;
mod insert;
mod locked_relations;
mod locking_query;
mod merge;
mod merge_expressions;
mod new_values;
mod on_conflict;
mod part_types;
mod parts;
mod referential_actions;
mod replaced_rows;
pub(crate) mod row_checks;
mod sequence_calls;
mod update;
mod values;

pub(crate) use changed_rows::without_only;
pub(crate) use changes::add_rows;
pub(crate) use delete::{delete, prepare_delete};
pub(crate) use insert::{execute, prepare};
pub(crate) use merge::{merge, prepare_merge};
pub(crate) use parts::{execute as execute_parts, prepare as prepare_parts};
pub(crate) use update::{prepare_update, update};
