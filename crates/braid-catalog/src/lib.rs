//! The system relations: schemas `pg_catalog` and `information_schema` with PostgreSQL 15's columns, types and object ids.
//!
//! What PostgreSQL itself has (types, functions, operators, the relations) is stored in `postgres`, written by
//! `bench/peers/system_catalog.py`. What users have is computed from a catalog of `braid-storage`, and what the server has from
//! [`ServerFacts`]. Views are PostgreSQL's own texts, which the caller binds.
//!
//! | module | contents |
//! |---|---|
//! | [`functions`] | functions over the relations, as queries in place of calls |
//! | [`snapshot`] | the rows of a relation in one state of the database |
//! | [`sources`] | rows about tables of users, and about the server |
//! | [`view_texts`] | the texts of users' views under the present names |
//! | [`names`] | names of relations, schemas and roles |
//! | [`named_row`] | values by the names of their columns into a row |
//! | [`relations`] | the relations: columns, kinds, texts of views |
//! | [`left_out`] | relations of PostgreSQL that Braid does not have |
//! | [`stored_types`] | how values of a type lie in PostgreSQL, for `pg_attribute` |
//! | [`stored_rows`] | the stored files: rows of fields |
//! | [`stored_values`] | fields into values |
//! | [`column_types`] | types of columns as PostgreSQL's |
//! | [`sequence_references`] | sequences within defaults |
//! | [`type_references`] | types of users within stored texts |
//! | `spliced_text` | texts with other names in the places of names |
//! | `shown_defaults` | defaults as PostgreSQL shows them |
//! | [`server_facts`] | what the server tells: database, roles, settings, sessions |
//! | [`privileges`] | what a role may do |
//! | [`held_privileges`] | what functions are told of it |
//! | [`object_ids`] | numbers of tables, indexes, constraints and defaults |
//!
//! It knows neither sessions nor operators.

pub mod column_types;
pub mod functions;
mod held_privileges;
pub mod left_out;
mod named_row;
mod names;
pub mod object_ids;
pub mod privileges;
pub mod relations;
pub mod sequence_references;
pub mod server_facts;
mod shown_defaults;
pub mod snapshot;
mod sources;
mod spliced_text;
mod stored_rows;
mod stored_types;
mod stored_values;
pub mod type_references;
mod view_texts;

pub use names::{CatalogNames, ServerViewNames};
pub use relations::{RelationColumn, RelationKind, SystemRelation, relation, relation_by_id, relations};
pub use server_facts::{
    Cursor, Database, Encryption, Lock, LockTarget, PreparedStatement, Role, ServerFacts, ServerView, Session, Setting,
};
pub use snapshot::Snapshot;
pub use sources::sequences::{SEQUENCE_COLUMNS, sequence_row, type_of_numbers};
