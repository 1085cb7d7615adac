//! Tables: CREATE TABLE, CREATE TABLE AS, ALTER TABLE, DROP TABLE, TRUNCATE.
//!
//! | module | what lives there |
//! |---|---|
//! | [`definition`] | CREATE TABLE's syntax into a definition, and what is refused in it |
//! | [`check_constraints`] | CHECK: names, and texts that follow their columns |
//! | [`generated_columns`] | GENERATED ALWAYS AS: texts that follow their columns |
//! | [`keys`] | PRIMARY KEY and UNIQUE |
//! | [`foreign_keys`] | FOREIGN KEY: names, what they refer to, and what is dropped with that |
//! | [`constraint_times`] | SET CONSTRAINTS, ALTER CONSTRAINT |
//! | [`index_form`] | what an index is of |
//! | [`index_keys`] | the keys of indexes of expressions, computed of rows |
//! | [`indexes`] | CREATE, ALTER and DROP INDEX |
//! | [`constraint_names`] | the names of constraints that are written without one |
//! | [`likes`] | LIKE among the columns of CREATE TABLE |
//! | [`create`] | CREATE TABLE and CREATE TABLE AS |
//! | [`alter`] | ALTER TABLE |
//! | [`drop`] | DROP TABLE |
//! | [`truncate`] | TRUNCATE |

mod alter;
pub(crate) mod check_constraints;
mod constraint_names;
mod constraint_times;
mod create;
pub(crate) mod definition;
mod drop;
pub(crate) mod foreign_keys;
pub(crate) mod generated_columns;
mod index_form;
pub(crate) mod index_keys;
mod indexes;
pub(crate) mod keys;
mod likes;
mod truncate;

pub(crate) use crate::table_names::{Missing, Persistence};
pub(crate) use alter::{alter_table, definition_with_renamed_column, first_in_columns};
pub(crate) use constraint_names::shortened;
pub(crate) use constraint_times::change_constraint_times;
pub(crate) use create::{Rows, create_table, create_table_as};
pub(crate) use definition::{condition_text, default_text};
pub(crate) use drop::{drop_tables, references_to};
pub(crate) use indexes::{create_index, drop_indexes, named_index, rename_index};
pub(crate) use truncate::truncate;
