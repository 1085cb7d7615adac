//! `pg_authid` and `pg_database`: the roles and the database of the server.

use braid_sql::Value;

use crate::named_row::{NamedRow, letter, oid, text, yes};
use crate::object_ids::{BOOTSTRAP_ROLE_ID, DEFAULT_TABLESPACE_ID};
use crate::server_facts::{Role, ServerFacts};

/// PostgreSQL's number of UTF-8.
const UTF8: i32 = 6;
/// The locale of all comparisons.
const LOCALE: &str = "C";

/// The roles that are not PostgreSQL's own. Passwords are not shown.
pub(super) fn roles(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let row = |role: Role| {
        vec![
            ("oid", oid(role.id)),
            ("rolname", text(&role.name)),
            ("rolsuper", Value::Bool(role.is_superuser)),
            ("rolinherit", yes()),
            ("rolcreaterole", Value::Bool(role.is_superuser)),
            ("rolcreatedb", Value::Bool(role.is_superuser)),
            ("rolcanlogin", yes()),
            ("rolreplication", Value::Bool(role.is_superuser)),
            ("rolbypassrls", Value::Bool(role.is_superuser)),
            ("rolconnlimit", Value::Int4(-1)),
        ]
    };
    facts.roles().into_iter().map(row).collect()
}

/// The database.
pub(super) fn databases(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let database = facts.database();
    vec![vec![
        ("oid", oid(database.id)),
        ("datname", text(&database.name)),
        ("datdba", oid(BOOTSTRAP_ROLE_ID)),
        ("encoding", Value::Int4(UTF8)),
        ("datlocprovider", letter(b'c')),
        ("datallowconn", yes()),
        ("datconnlimit", Value::Int4(-1)),
        ("dattablespace", oid(DEFAULT_TABLESPACE_ID)),
        ("datcollate", text(LOCALE)),
        ("datctype", text(LOCALE)),
    ]]
}
