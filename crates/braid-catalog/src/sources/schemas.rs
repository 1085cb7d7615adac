//! `pg_namespace`: the schemas of users. Those of each database are stored.

use braid_storage::Catalog;

use crate::named_row::{NamedRow, oid, text};
use crate::object_ids::{BOOTSTRAP_ROLE_ID, schema_object_id};

/// The rows of the schemas of users, those of sessions included.
pub(super) fn schemas(catalog: &Catalog) -> Vec<NamedRow> {
    let row = |schema: &braid_storage::SchemaDef| {
        vec![
            ("oid", oid(schema_object_id(schema.id))),
            ("nspname", text(&schema.name)),
            ("nspowner", oid(BOOTSTRAP_ROLE_ID)),
        ]
    };
    catalog.schemas().map(|schema| row(schema)).collect()
}
