//! `pg_namespace`: the schemas of users. Those of each database are stored.

use braid_base::SchemaId;
use braid_storage::{AccessObject, Catalog};

use super::access::put_owner;
use crate::named_row::{NamedRow, oid, text};
use crate::object_ids::schema_object_id;
use crate::server_facts::ServerFacts;

/// The rows of the schemas of users, those of sessions included, and that of `public` if it is there with another owner or other privileges
/// than from the beginning.
pub(super) fn schemas(catalog: &Catalog, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let row = |id: SchemaId, name: &str| {
        let mut row = vec![("oid", oid(schema_object_id(id))), ("nspname", text(name))];
        put_owner(&mut row, (catalog, facts), AccessObject::Schema(id), ("nspowner", "nspacl"));
        row
    };
    let public = (has_changed_public(catalog) && !catalog.is_public_dropped()).then(|| row(SchemaId::PUBLIC, "public"));
    public.into_iter().chain(catalog.schemas().map(|schema| row(schema.id, &schema.name))).collect()
}

/// Whether the stored row of schema `public` is not shown.
pub(crate) fn has_changed_public(catalog: &Catalog) -> bool {
    let (access, public) = (catalog.access(), AccessObject::Schema(SchemaId::PUBLIC));
    catalog.is_public_dropped() || access.owner(public) != public.initial_owner() || access.acl(public).is_some()
}
