//! `pg_description` and `pg_shdescription`: comments on objects of users. Those on PostgreSQL's own are stored.

use braid_sql::Value;
use braid_storage::{Catalog, CommentSubject};

use crate::named_row::{NamedRow, oid, text};
use crate::object_ids::{
    CLASS_CATALOG_ID, CONSTRAINT_CATALOG_ID, DATABASE_CATALOG_ID, NAMESPACE_CATALOG_ID, ROLE_CATALOG_ID,
    TYPE_CATALOG_ID, check_constraint_id, key_constraint_id, key_index_id, schema_object_id, table_object_id,
};
use crate::server_facts::ServerFacts;

/// The comments on what is in the database.
pub(super) fn descriptions(catalog: &Catalog) -> Vec<NamedRow> {
    let stored = catalog.comments().filter(|(_, comment)| !comment.is_empty());
    let stored = stored.filter_map(|(subject, comment)| {
        let (class, id, column) = place_of(subject)?;
        Some(description(class, id, column, comment))
    });
    let of_checks = catalog.tables().flat_map(|table| {
        let checks = table.def.checks.iter().enumerate();
        checks.filter_map(|(at, check)| {
            let id = check_constraint_id(table.def.id, at);
            Some(description(CONSTRAINT_CATALOG_ID, id, 0, check.comment.as_deref()?))
        })
    });
    stored.chain(of_checks).collect()
}

/// The comments on the database and on roles.
pub(super) fn shared_descriptions(catalog: &Catalog, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let place_of = |subject: &CommentSubject| match subject {
        CommentSubject::Database => Some((DATABASE_CATALOG_ID, facts.database().id)),
        CommentSubject::Role(name) => {
            let role = facts.roles().into_iter().find(|role| role.name == *name)?;
            Some((ROLE_CATALOG_ID, role.id))
        }
        _ => None,
    };
    let rows = catalog.comments().filter_map(|(subject, comment)| {
        let (class, id) = place_of(subject)?;
        Some(vec![("objoid", oid(id)), ("classoid", oid(class)), ("description", text(comment))])
    });
    rows.collect()
}

/// The catalog, the id and the column of what a comment is on; `None` for what is not in the database.
fn place_of(subject: &CommentSubject) -> Option<(u32, u32, i32)> {
    Some(match subject {
        CommentSubject::Relation(id) => (CLASS_CATALOG_ID, table_object_id(*id), 0),
        CommentSubject::Column(id, column) => (CLASS_CATALOG_ID, table_object_id(*id), i32::from(column.0) + 1),
        CommentSubject::Index(id) => (CLASS_CATALOG_ID, key_index_id(*id), 0),
        CommentSubject::Key(id) => (CONSTRAINT_CATALOG_ID, key_constraint_id(*id), 0),
        CommentSubject::Schema(id) => (NAMESPACE_CATALOG_ID, schema_object_id(*id), 0),
        CommentSubject::Type(oid) => (TYPE_CATALOG_ID, *oid, 0),
        CommentSubject::Database | CommentSubject::Role(_) => return None,
    })
}

fn description(class: u32, id: u32, column: i32, comment: &str) -> NamedRow {
    vec![
        ("objoid", oid(id)),
        ("classoid", oid(class)),
        ("objsubid", Value::Int4(column)),
        ("description", text(comment)),
    ]
}
