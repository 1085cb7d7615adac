//! `pg_authid` and `pg_database`: the roles and the database of the server.

use braid_sql::Value;
use braid_storage::{AccessObject, Catalog, RoleAttributes, RoleId};

use super::access::put_owner;
use crate::named_row::{NamedRow, letter, oid, optional_text, text, yes};
use crate::object_ids::DEFAULT_TABLESPACE_ID;
use crate::server_facts::{Role, ServerFacts};

/// PostgreSQL's number of UTF-8.
const UTF8: i32 = 6;
/// The locale of all comparisons.
const LOCALE: &str = "C";

/// The roles that are not PostgreSQL's own. Those that are beside the bootstrap superuser are stored.
pub(super) fn roles(catalog: &Catalog, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let row = |role: Role| {
        let known = catalog.access().role(RoleId(role.id));
        let attributes = known.map_or(RoleAttributes::ALL, |known| known.attributes);
        let password = known.and_then(|known| known.password.as_deref());
        let valid_until = known.and_then(|known| known.valid_until_us);
        vec![
            ("oid", oid(role.id)),
            ("rolname", text(&role.name)),
            ("rolsuper", Value::Bool(attributes.is_superuser)),
            ("rolinherit", Value::Bool(attributes.inherits)),
            ("rolcreaterole", Value::Bool(attributes.creates_roles)),
            ("rolcreatedb", Value::Bool(attributes.creates_databases)),
            ("rolcanlogin", Value::Bool(attributes.can_log_in)),
            ("rolreplication", Value::Bool(attributes.replicates)),
            ("rolbypassrls", Value::Bool(attributes.bypasses_row_security)),
            ("rolconnlimit", Value::Int4(known.map_or(-1, |known| known.connection_limit))),
            ("rolpassword", optional_text(password)),
            ("rolvaliduntil", valid_until.map_or(Value::Null, Value::TimestampTz)),
        ]
    };
    facts.roles().into_iter().map(row).collect()
}

/// The database.
pub(super) fn databases(catalog: &Catalog, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let database = facts.database();
    let mut row = vec![
        ("oid", oid(database.id)),
        ("datname", text(&database.name)),
        ("encoding", Value::Int4(UTF8)),
        ("datlocprovider", letter(b'c')),
        ("datallowconn", yes()),
        ("datconnlimit", Value::Int4(-1)),
        ("dattablespace", oid(DEFAULT_TABLESPACE_ID)),
        ("datcollate", text(LOCALE)),
        ("datctype", text(LOCALE)),
    ];
    put_owner(&mut row, (catalog, facts), AccessObject::Database, ("datdba", "datacl"));
    vec![row]
}
