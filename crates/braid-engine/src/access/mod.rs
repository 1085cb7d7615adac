//! Access checks: whether the roles of a session may do what a statement asks for.
//!
//! A statement is checked before it changes or reads anything, in the state that it reads: a query when it is planned ([`reads`]), what changes
//! rows and definitions where it looks its relations up ([`AccessCheck`]). A plan that is kept for others was checked for the role that is
//! part of its key, in a state of the privileges that is, too. Superusers may do everything: for them there is no [`AccessCheck`].

mod error_details;
mod reads;

use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};
use braid_catalog::privileges::{ObjectAccess, Roles};
use braid_sql::{SqlError, SqlState};
use braid_storage::{AccessObject, Catalog, Privileges, RoleId, TableDef};

use crate::statement_context::StatementContext;
pub(crate) use error_details::told;
pub(crate) use reads::{ReadCheck, ReadRelation};

/// What the current role of a session may do, which is no superuser, in one state of the database.
#[derive(Clone, Debug)]
pub(crate) struct AccessCheck {
    snapshot: Arc<Catalog>,
    role: RoleId,
    temporary_schema: Option<SchemaId>,
    database: String,
}

impl AccessCheck {
    /// What the current role may do in a state; `None` if it may do everything.
    pub fn of(context: &StatementContext, snapshot: &Arc<Catalog>) -> Option<Self> {
        // Without roles every session is the bootstrap superuser's.
        if snapshot.access().is_empty() {
            return None;
        }
        let role = context.current_role();
        (!Roles::of(snapshot.access()).is_superuser(role)).then(|| Self {
            snapshot: snapshot.clone(),
            role,
            temporary_schema: context.temporary_schema(snapshot),
            database: context.database_name().to_owned(),
        })
    }

    /// As [`Self::of`], in the state that the next statement reads.
    pub fn now(context: &StatementContext) -> Option<Self> {
        Self::of(context, &context.snapshot())
    }

    /// The role.
    pub fn role(&self) -> RoleId {
        self.role
    }

    /// Who may do what with the objects of the state.
    pub fn objects(&self) -> ObjectAccess<'_> {
        ObjectAccess::of(&self.snapshot)
    }

    /// Whether the role has a privilege on an object; it may do anything with what is in its session's temporary schema.
    pub fn has(&self, object: AccessObject, privileges: Privileges) -> bool {
        self.objects().has(self.role, object, privileges)
    }

    /// Checks a privilege on an object.
    ///
    /// # Errors
    /// 42501
    pub fn check(&self, object: AccessObject, privileges: Privileges) -> Result<(), SqlError> {
        if self.has(object, privileges) { Ok(()) } else { Err(self.denied(object)) }
    }

    /// Checks that a role has a privilege on a relation or on all of these columns of it; on any column, if these are none.
    ///
    /// # Errors
    /// 42501
    pub fn check_columns(&self, table: &TableDef, columns: &[ColumnId], privilege: Privileges) -> Result<(), SqlError> {
        let all: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
        match has_on_columns(self.objects(), self.role, (table.id, &all), columns, privilege) {
            true => Ok(()),
            false => Err(self.denied(AccessObject::Relation(table.id))),
        }
    }

    /// Checks that the role has the privileges of the owner of an object.
    ///
    /// # Errors
    /// 42501
    pub fn check_owner(&self, object: AccessObject) -> Result<(), SqlError> {
        if self.objects().is_owner(self.role, object) {
            return Ok(());
        }
        let (kind, name) = named_object(&self.snapshot, &self.database, object);
        Err(denied(format!("must be owner of {kind} {name}")))
    }

    /// Checks that the role may use an enumerated type or a domain, or its array type, for columns.
    ///
    /// # Errors
    /// 42501
    pub fn check_type(&self, oid: u32) -> Result<(), SqlError> {
        match self.snapshot.type_of_oid(oid) {
            Some((own, _)) => self.check(AccessObject::Type(own), Privileges::USAGE),
            None => Ok(()),
        }
    }

    /// Checks that the role may create something in a schema.
    ///
    /// # Errors
    /// 42501
    pub fn check_create_in(&self, schema: SchemaId) -> Result<(), SqlError> {
        match self.temporary_schema == Some(schema) {
            true => self.check_temporary(),
            false => self.check(AccessObject::Schema(schema), Privileges::CREATE),
        }
    }

    /// Checks that the role may create temporary tables.
    ///
    /// # Errors
    /// 42501
    pub fn check_temporary(&self) -> Result<(), SqlError> {
        match self.has(AccessObject::Database, Privileges::TEMPORARY) {
            true => Ok(()),
            false => {
                let message = format!("permission denied to create temporary tables in database \"{}\"", self.database);
                Err(denied(message))
            }
        }
    }

    /// The refusal of what needs a privilege on an object.
    fn denied(&self, object: AccessObject) -> SqlError {
        denied_on(&self.snapshot, &self.database, object)
    }
}

/// Whether a role has a privilege on a relation, or on all of some of its columns; on any of them if these are none.
fn has_on_columns(
    objects: ObjectAccess<'_>,
    role: RoleId,
    (relation, all): (TableId, &[ColumnId]),
    columns: &[ColumnId],
    privilege: Privileges,
) -> bool {
    let on_column = |column: &ColumnId| objects.has(role, AccessObject::Column(relation, *column), privilege);
    objects.has(role, AccessObject::Relation(relation), privilege)
        || match columns {
            [] => all.iter().any(on_column),
            columns => columns.iter().all(on_column),
        }
}

fn denied(message: String) -> SqlError {
    SqlError::new(SqlState::InsufficientPrivilege, message)
}

fn denied_on(catalog: &Catalog, database: &str, object: AccessObject) -> SqlError {
    let (kind, name) = named_object(catalog, database, object);
    denied(format!("permission denied for {kind} {name}"))
}

/// What an object is called in messages: its kind, and its name without schema.
pub(crate) fn named_object<'a>(
    catalog: &'a Catalog,
    database: &'a str,
    object: AccessObject,
) -> (&'static str, &'a str) {
    match object {
        AccessObject::Relation(id) => {
            if let Some(view) = catalog.view_by_id(id) {
                return (if view.is_materialized() { "materialized view" } else { "view" }, &view.name);
            }
            match (catalog.by_id(id), catalog.sequence_by_id(id)) {
                (Some(table), _) => ("table", &table.def.name),
                (None, Some(known)) => ("sequence", &known.definition.name),
                (None, None) => ("table", ""),
            }
        }
        AccessObject::Column(id, column) => {
            let of_table = || catalog.by_id(id)?.def.column_by_id(column).map(|column| &*column.name);
            let of_view = || catalog.view_by_id(id)?.columns.get(usize::from(column.0)).map(|column| &*column.name);
            ("column", of_table().or_else(of_view).unwrap_or_default())
        }
        AccessObject::Schema(id) => ("schema", catalog.schema_name(id).unwrap_or_default()),
        AccessObject::Type(oid) => ("type", catalog.type_of_oid(oid).map_or("", |(_, name)| name)),
        AccessObject::Database => ("database", database),
    }
}
