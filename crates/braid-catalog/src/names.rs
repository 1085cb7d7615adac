//! The names of relations, types, schemas and roles, by which `regclass` and its like are read and shown.

use std::sync::Arc;

use braid_base::{DomainType, DomainTypeId, SchemaId};
use braid_sql::SearchPath;
use braid_sql::functions::{HeldPrivileges, ObjectNames, PrivilegedObject, RoleRight, RowTypeName};
use braid_sql::pg_catalog::TypeId;
use braid_sql::search_path::{SYSTEM_SCHEMA, TEMPORARY_SCHEMA};
use braid_storage::{Catalog, ChunkMeta, RoleId, TableVersion, ViewDef};

use crate::column_types::{own_type_of_oid, type_in};
use crate::held_privileges::held;
use crate::object_ids::{
    PUBLIC_NAMESPACE_ID, key_index_id, relation_of_row_type, row_array_type_id, schema_object_id, server_view_id,
    table_object_id, table_of_object_id,
};
use crate::privileges::{Roles, predefined_roles};
use crate::relations::{relation, relation_by_id};
use crate::server_facts::Role;
use crate::sources::all_keys;
use crate::sources::sequences::SEQUENCE_COLUMNS;
use crate::stored_rows::{StoredRows, number};
use braid_sql::types::type_numbers::parts_of_numbered;

/// The numbers of `tableoid`, `cmax`, `xmax`, `cmin`, `xmin` and `ctid`.
const SYSTEM_COLUMN_NUMBERS: std::ops::RangeInclusive<i16> = -6..=-1;

/// The names of one of the server's views.
#[derive(Clone, Debug)]
pub struct ServerViewNames {
    /// Its own.
    pub name: String,
    /// Those of its columns.
    pub columns: Vec<String>,
}

/// The names in one state of the database.
#[derive(Clone, Debug)]
pub struct CatalogNames {
    /// The tables of users.
    pub catalog: Arc<Catalog>,
    /// The roles that the server tells of.
    pub roles: Vec<Role>,
    /// The server's views, in the order of their numbers.
    pub views: Arc<[ServerViewNames]>,
    /// The schemas that names without one are looked up in.
    pub path: SearchPath,
}

impl CatalogNames {
    fn system_relation(&self, name: &str) -> Option<u32> {
        let view = || self.views.iter().position(|view| view.name == name).map(server_view_id);
        relation(SYSTEM_SCHEMA, name).map(|relation| relation.id).or_else(view)
    }

    fn user_relation(&self, schema: SchemaId, name: &str) -> Option<u32> {
        let key = || self.keys().find(|(_, of, key)| *of == schema && key == name).map(|(id, _, _)| id);
        let table = self.catalog.table_in(schema, name).map(|table| table.def.id);
        let view = || self.catalog.view_in(schema, name).map(|view| view.id);
        let sequence = || self.catalog.sequence_in(schema, name).map(|known| known.definition.id);
        table.or_else(view).or_else(sequence).map(table_object_id).or_else(key)
    }

    /// A view of users without rows of its own.
    fn view(&self, id: u32) -> Option<&ViewDef> {
        let view = table_of_object_id(id).and_then(|view| self.catalog.view_by_id(view));
        view.map(Arc::as_ref).filter(|view| !view.is_materialized())
    }

    /// The schema of users that a name means.
    fn user_schema(&self, name: &str) -> Option<SchemaId> {
        match name {
            TEMPORARY_SCHEMA => self.catalog.schema_named(self.path.temporary_schema()?),
            name => self.catalog.schema_named(name),
        }
    }

    /// The schemas of each database, with their oids.
    fn stored_schemas(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let is_gone = self.catalog.is_public_dropped();
        let stored = StoredRows::of("pg_namespace").columns(["oid", "nspname"]);
        stored.map(|[id, name]| (number(id), name)).filter(move |(id, _)| !is_gone || *id != PUBLIC_NAMESPACE_ID)
    }

    /// A name with that of its schema.
    fn in_schema(&self, schema: SchemaId, name: &str) -> (String, String) {
        (self.catalog.schema_name(schema).unwrap_or_default().to_owned(), name.to_owned())
    }

    /// A table of users.
    fn table(&self, id: u32) -> Option<&TableVersion> {
        table_of_object_id(id).and_then(|table| self.catalog.by_id(table)).map(Arc::as_ref)
    }

    /// Whether a relation that is no table and no view of users has a column.
    fn has_other_column(&self, id: u32, name: &str) -> bool {
        if let Some(relation) = relation_by_id(id) {
            return relation.column(name).is_some();
        }
        if let Some(at) = (0..self.views.len()).find(|at| server_view_id(*at) == id) {
            return self.views[at].columns.iter().any(|column| column == name);
        }
        if table_of_object_id(id).is_some_and(|sequence| self.catalog.sequence_by_id(sequence).is_some()) {
            return SEQUENCE_COLUMNS.iter().any(|(column, _)| *column == name);
        }
        all_keys(&self.catalog).find(|key| key_index_id(key.id) == id).is_some_and(|key| {
            key.members().iter().any(|member| member.name == name) || key.included().any(|column| column.name == name)
        })
    }

    /// The indexes of keys.
    fn keys(&self) -> impl Iterator<Item = (u32, SchemaId, String)> {
        all_keys(&self.catalog).map(|key| (key_index_id(key.id), key.def.schema, key.name))
    }
}

impl ObjectNames for CatalogNames {
    fn relation_id(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        match schema {
            None => self.path.searched().find_map(|schema| self.relation_id(Some(schema), name)),
            Some(SYSTEM_SCHEMA) => self.system_relation(name),
            Some(schema) => match self.user_schema(schema) {
                Some(schema) => self.user_relation(schema, name),
                None => relation(schema, name).map(|relation| relation.id),
            },
        }
    }

    fn relation(&self, id: u32) -> Option<(String, String)> {
        if let Some(relation) = relation_by_id(id) {
            return Some((relation.schema.to_owned(), relation.name.to_owned()));
        }
        if let Some(at) = (0..self.views.len()).find(|at| server_view_id(*at) == id) {
            return Some((SYSTEM_SCHEMA.to_owned(), self.views[at].name.clone()));
        }
        if let Some(table) = self.table(id) {
            return Some(self.in_schema(table.def.schema, &table.def.name));
        }
        if let Some(sequence) = table_of_object_id(id).and_then(|id| self.catalog.sequence_by_id(id)) {
            return Some(self.in_schema(sequence.definition.schema, &sequence.definition.name));
        }
        if let Some(view) = self.view(id) {
            return Some(self.in_schema(view.schema, &view.name));
        }
        if let Some((_, schema, key)) = self.keys().find(|(key, _, _)| *key == id) {
            return Some(self.in_schema(schema, &key));
        }
        let stored = StoredRows::of("pg_class").columns(["oid", "relname"]);
        stored
            .map(|[stored, name]| (number::<u32>(stored), name))
            .find(|(stored, _)| *stored == id)
            .map(|(_, name)| (SYSTEM_SCHEMA.to_owned(), name.to_owned()))
    }

    fn schema_id(&self, name: &str) -> Option<u32> {
        if let Some(known) = self.user_schema(name) {
            return Some(schema_object_id(known));
        }
        let mut schemas = self.stored_schemas();
        schemas.find(|(_, stored)| *stored == name).map(|(id, _)| id)
    }

    fn schema(&self, id: u32) -> Option<String> {
        if let Some(known) = self.catalog.schemas().find(|known| schema_object_id(known.id) == id) {
            return Some(known.name.clone());
        }
        self.stored_schemas().find(|(stored, _)| *stored == id).map(|(_, name)| name.to_owned())
    }

    fn role_id(&self, name: &str) -> Option<u32> {
        let told = self.roles.iter().find(|role| role.name == name).map(|role| role.id);
        told.or_else(|| predefined_roles().find(|(_, stored)| *stored == name).map(|(id, _)| id))
    }

    fn role(&self, id: u32) -> Option<String> {
        let told = self.roles.iter().find(|role| role.id == id).map(|role| role.name.clone());
        told.or_else(|| predefined_roles().find(|(stored, _)| *stored == id).map(|(_, name)| name.to_owned()))
    }

    fn type_id(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        match schema {
            None => self.path.searched().find_map(|schema| match schema {
                SYSTEM_SCHEMA => None,
                schema => self.type_id(Some(schema), name),
            }),
            Some(SYSTEM_SCHEMA) => own_type_of_oid(&self.catalog, parts_of_numbered(name)?.0),
            Some(schema) => type_in(&self.catalog, self.user_schema(schema)?, name),
        }
    }

    fn schema_of_type(&self, id: TypeId) -> Option<String> {
        self.catalog.schema_of_type(id.oid()).map(|schema| self.in_schema(schema, "").0)
    }

    fn domain(&self, domain: DomainTypeId) -> Arc<DomainType> {
        let definition = domain.definition();
        // Its definition may be another one in a transaction that has altered it.
        self.catalog.domain(definition.oid).map_or(definition, |known| Arc::clone(&known.definition))
    }

    fn type_of_oid(&self, oid: u32) -> Option<TypeId> {
        own_type_of_oid(&self.catalog, oid)
    }

    fn commit_number(&self) -> u64 {
        self.catalog.sequence()
    }

    fn row_type(&self, oid: u32) -> Option<RowTypeName> {
        let id = relation_of_row_type(oid)?;
        let (schema, relation) = match (self.catalog.by_id(id), self.catalog.view_by_id(id)) {
            (Some(table), _) => self.in_schema(table.def.schema, &table.def.name),
            (None, Some(view)) => self.in_schema(view.schema, &view.name),
            (None, None) => return None,
        };
        let is_visible = self.relation_id(None, &relation) == Some(table_object_id(id));
        Some(RowTypeName { schema, relation, is_visible, is_array: oid == row_array_type_id(id) })
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
                None => self.has_other_column(relation, name),
            },
        }
    }

    fn has_other_number(&self, relation: u32, number: i16) -> bool {
        let is_sequence =
            table_of_object_id(relation).is_some_and(|sequence| self.catalog.sequence_by_id(sequence).is_some());
        if SYSTEM_COLUMN_NUMBERS.contains(&number) {
            return is_sequence || self.table(relation).is_some();
        }
        let key = || all_keys(&self.catalog).find(|key| key_index_id(key.id) == relation);
        let count = match (0..self.views.len()).find(|at| server_view_id(*at) == relation) {
            Some(at) => self.views[at].columns.len(),
            None if is_sequence => SEQUENCE_COLUMNS.len(),
            None => key().map_or(0, |key| key.members().len() + key.included().count()),
        };
        usize::try_from(number).is_ok_and(|number| (1..=count).contains(&number))
    }

    fn held(&self, role: u32, object: PrivilegedObject<'_>) -> Option<HeldPrivileges> {
        held(&self.catalog, self, (RoleId(role), object))
    }

    fn has_role(&self, member: u32, role: u32, right: RoleRight) -> bool {
        let (roles, member, role) = (Roles::of(self.catalog.access()), RoleId(member), RoleId(role));
        match right {
            RoleRight::Usage => roles.has_privileges_of(member, role),
            RoleRight::Member => roles.is_member(member, role),
            RoleRight::Admin => roles.is_admin(member, role),
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
