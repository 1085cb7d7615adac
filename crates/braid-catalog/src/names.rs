//! The names of relations, types, schemas and roles, by which `regclass` and its like are read and shown.

use std::sync::Arc;

use braid_sql::SearchPath;
use braid_sql::functions::ObjectNames;
use braid_sql::pg_catalog::TypeId;
use braid_sql::search_path::SYSTEM_SCHEMA;
use braid_storage::{Catalog, ChunkMeta, TableVersion, ViewDef};

use crate::column_types::own_type_of_oid;
use crate::object_ids::{BOOTSTRAP_ROLE_ID, key_index_id, server_view_id, table_object_id, table_of_object_id};
use crate::relations::{relation, relation_by_id};
use crate::server_facts::Role;
use crate::sources::all_keys;
use crate::stored_rows::{StoredRows, number};

/// Schema of the tables of users.
const USER_SCHEMA: &str = "public";

/// The names in one state of the database.
#[derive(Clone, Debug)]
pub struct CatalogNames {
    /// The tables of users.
    pub catalog: Arc<Catalog>,
    /// The roles that the server tells of.
    pub roles: Vec<Role>,
    /// The server's views, in the order of their numbers.
    pub views: Vec<String>,
    /// The schemas that names without one are looked up in.
    pub path: SearchPath,
}

impl CatalogNames {
    fn system_relation(&self, name: &str) -> Option<u32> {
        let view = || self.views.iter().position(|view| view == name).map(server_view_id);
        relation(SYSTEM_SCHEMA, name).map(|relation| relation.id).or_else(view)
    }

    fn user_relation(&self, name: &str) -> Option<u32> {
        let key = || self.keys().find(|(_, key)| key == name).map(|(id, _)| id);
        let table = self.catalog.table(name).map(|table| table.def.id);
        let view = || self.catalog.view(name).map(|view| view.id);
        let sequence = || self.catalog.sequence_named(name).map(|known| known.definition.id);
        table.or_else(view).or_else(sequence).map(table_object_id).or_else(key)
    }

    /// A view of users without rows of its own.
    fn view(&self, id: u32) -> Option<&ViewDef> {
        let view = table_of_object_id(id).and_then(|view| self.catalog.view_by_id(view));
        view.map(Arc::as_ref).filter(|view| !view.is_materialized())
    }

    /// A table of users.
    fn table(&self, id: u32) -> Option<&TableVersion> {
        table_of_object_id(id).and_then(|table| self.catalog.by_id(table)).map(Arc::as_ref)
    }

    /// The indexes of keys.
    fn keys(&self) -> impl Iterator<Item = (u32, String)> {
        all_keys(&self.catalog).map(|key| (key_index_id(key.id), key.name))
    }
}

impl ObjectNames for CatalogNames {
    fn relation_id(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        match schema {
            None => self.path.searched().find_map(|schema| self.relation_id(Some(schema), name)),
            Some(SYSTEM_SCHEMA) => self.system_relation(name),
            Some(USER_SCHEMA) => self.user_relation(name),
            Some(schema) => relation(schema, name).map(|relation| relation.id),
        }
    }

    fn relation(&self, id: u32) -> Option<(String, String)> {
        if let Some(relation) = relation_by_id(id) {
            return Some((relation.schema.to_owned(), relation.name.to_owned()));
        }
        if let Some(at) = (0..self.views.len()).find(|at| server_view_id(*at) == id) {
            return Some((SYSTEM_SCHEMA.to_owned(), self.views[at].clone()));
        }
        if let Some(table) = self.table(id) {
            return Some((USER_SCHEMA.to_owned(), table.def.name.clone()));
        }
        if let Some(sequence) = table_of_object_id(id).and_then(|id| self.catalog.sequence_by_id(id)) {
            return Some((USER_SCHEMA.to_owned(), sequence.definition.name.clone()));
        }
        if let Some(view) = self.view(id) {
            return Some((USER_SCHEMA.to_owned(), view.name.clone()));
        }
        if let Some((_, key)) = self.keys().find(|(key, _)| *key == id) {
            return Some((USER_SCHEMA.to_owned(), key));
        }
        let stored = StoredRows::of("pg_class").columns(["oid", "relname"]);
        stored
            .map(|[stored, name]| (number::<u32>(stored), name))
            .find(|(stored, _)| *stored == id)
            .map(|(_, name)| (SYSTEM_SCHEMA.to_owned(), name.to_owned()))
    }

    fn schema_id(&self, name: &str) -> Option<u32> {
        let mut schemas = StoredRows::of("pg_namespace").columns(["oid", "nspname"]);
        schemas.find(|[_, stored]| *stored == name).map(|[id, _]| number(id))
    }

    fn schema(&self, id: u32) -> Option<String> {
        let mut schemas = StoredRows::of("pg_namespace").columns(["oid", "nspname"]);
        schemas.find(|[stored, _]| number::<u32>(stored) == id).map(|[_, name]| name.to_owned())
    }

    fn role_id(&self, name: &str) -> Option<u32> {
        let told = self.roles.iter().find(|role| role.name == name).map(|role| role.id);
        told.or_else(|| stored_roles().find(|(_, stored)| *stored == name).map(|(id, _)| id))
    }

    fn role(&self, id: u32) -> Option<String> {
        let told = self.roles.iter().find(|role| role.id == id).map(|role| role.name.clone());
        told.or_else(|| stored_roles().find(|(stored, _)| *stored == id).map(|(_, name)| name.to_owned()))
    }

    fn type_id(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        match schema {
            None => self.path.searched().find_map(|schema| self.type_id(Some(schema), name)),
            Some(USER_SCHEMA) => self.catalog.enum_types().find_map(|known| match name {
                name if known.definition.name == name => Some(TypeId::of_enum(known.id)),
                name if known.definition.array_name == name => Some(TypeId::of_enum_array(known.id)),
                _ => None,
            }),
            Some(_) => None,
        }
    }

    fn type_of_oid(&self, oid: u32) -> Option<TypeId> {
        own_type_of_oid(&self.catalog, oid)
    }

    fn sequence_of_column(&self, relation: u32, column: &str) -> Option<u32> {
        let table = &self.table(relation)?.def;
        let (column, _) = table.column(column)?;
        self.catalog.sequences_of(table.id, column).next().map(|known| table_object_id(known.definition.id))
    }

    fn has_column(&self, relation: u32, name: &str) -> bool {
        match self.table(relation) {
            Some(table) => table.def.columns.iter().any(|column| column.name == name),
            None => match self.view(relation) {
                Some(view) => view.columns.iter().any(|column| column.name == name),
                None => relation_by_id(relation).is_some_and(|relation| relation.column(name).is_some()),
            },
        }
    }

    fn relation_bytes(&self, id: u32) -> Option<u64> {
        match self.table(id) {
            Some(table) => Some(stored_bytes(table)),
            None => self.relation(id).map(|_| 0),
        }
    }

    fn database_bytes(&self) -> u64 {
        self.catalog.tables().map(|table| stored_bytes(table)).sum()
    }
}

/// Bytes on disk; of rows in memory, those that they take there.
fn stored_bytes(table: &TableVersion) -> u64 {
    let of_chunk = |chunk: &Arc<ChunkMeta>| {
        let segments = chunk.segments.iter();
        match chunk.file {
            Some(_) => segments.map(|segment| u64::from(segment.stored_bytes())).sum::<u64>(),
            None => segments.map(|segment| u64::from(segment.segment_bytes)).sum(),
        }
    };
    table.chunks.iter().map(of_chunk).sum()
}

/// The roles that every cluster of PostgreSQL has but the one that the server tells of.
fn stored_roles() -> impl Iterator<Item = (u32, &'static str)> {
    let roles = StoredRows::of("pg_authid").columns(["oid", "rolname"]);
    roles.map(|[id, name]| (number(id), name)).filter(|(id, _)| *id != BOOTSTRAP_ROLE_ID)
}
