//! What a query reads: relations with the columns that it names. A view is read with the privileges of the one who reads it, and what its text
//! reads with those of its owner, unless it says `security_invoker`.

use braid_base::{ColumnId, TableId};
use braid_catalog::privileges::{ObjectAccess, Roles};
use braid_catalog::relation;
use braid_sql::SqlError;
use braid_storage::{AccessObject, Catalog, Privileges, RoleId, SourceRelation, ViewDef};

use super::{denied, denied_on, has_on_columns};
use crate::statement_context::StatementContext;
use crate::storage_parameters::is_true;

/// A relation that a query names.
#[derive(Clone, Debug)]
pub(crate) enum ReadRelation {
    /// A table or view, and the columns that are read: in a view by their places.
    Stored(TableId, Vec<ColumnId>),
    /// A sequence.
    Sequence(TableId),
    /// The query of a materialized view, which is refreshed.
    Refreshed(TableId),
    /// A relation of the system, by its object id, and its name.
    System(u32, &'static str),
    /// A view of what the server does, and its name.
    Server(String),
}

/// What the current role of a session may read in one state of the database.
#[derive(Clone, Copy)]
pub(crate) struct ReadCheck<'a> {
    catalog: &'a Catalog,
    objects: ObjectAccess<'a>,
    role: RoleId,
    database: &'a str,
}

impl<'a> ReadCheck<'a> {
    /// The check that queries of the session need; `None` if they may read everything, and so may the owners of all views.
    pub fn of(context: &'a StatementContext, catalog: &'a Catalog) -> Option<Self> {
        let access = catalog.access();
        if access.is_empty() {
            return None;
        }
        let (objects, role) = (ObjectAccess::of(catalog), context.current_role());
        let has_owners = access.owners().next().is_some();
        let is_free = objects.roles().is_superuser(role) && !has_owners;
        (!is_free).then_some(Self { catalog, objects, role, database: context.database_name() })
    }

    /// Checks all relations of a query.
    ///
    /// # Errors
    /// 42501
    pub fn check(&self, relations: &[ReadRelation]) -> Result<(), SqlError> {
        relations.iter().try_for_each(|relation| self.check_as(self.role, relation))
    }

    fn check_as(&self, role: RoleId, relation: &ReadRelation) -> Result<(), SqlError> {
        let object = |id: &TableId| AccessObject::Relation(*id);
        match relation {
            ReadRelation::Stored(id, columns) => self.check_stored(role, *id, columns),
            ReadRelation::Sequence(id) if self.objects.has(role, object(id), Privileges::SELECT) => Ok(()),
            ReadRelation::Sequence(id) => Err(denied_on(self.catalog, self.database, object(id))),
            ReadRelation::Refreshed(id) => match self.catalog.view_by_id(*id) {
                Some(view) => {
                    let role = self.objects.owner(object(id));
                    Self { role, ..*self }.check_sources(role, view)
                }
                None => Ok(()),
            },
            ReadRelation::System(id, _) if self.objects.roles().reads_system_relation(role, *id) => Ok(()),
            ReadRelation::System(_, name) => Err(denied(format!("permission denied for table {name}"))),
            ReadRelation::Server(_) if self.objects.roles().has_privileges_of(role, Roles::READ_ALL_STATS) => Ok(()),
            ReadRelation::Server(name) => Err(denied(format!("permission denied for view {name}"))),
        }
    }

    fn check_stored(&self, role: RoleId, id: TableId, columns: &[ColumnId]) -> Result<(), SqlError> {
        let all: Vec<ColumnId> = match (self.catalog.by_id(id), self.catalog.view_by_id(id)) {
            (Some(table), _) => table.def.columns.iter().map(|column| column.id).collect(),
            (None, Some(view)) => (0..view.columns.len()).map(|at| ColumnId(at as u16)).collect(),
            (None, None) => Vec::new(),
        };
        if !has_on_columns(self.objects, role, (id, &all), columns, Privileges::SELECT) {
            return Err(denied_on(self.catalog, self.database, AccessObject::Relation(id)));
        }
        match self.catalog.view_by_id(id).filter(|view| !view.is_materialized()) {
            // Whoever reads the views around it.
            Some(view) if is_of_invoker(view) => self.check_sources(self.role, view),
            Some(view) => self.check_sources(self.objects.owner(AccessObject::Relation(id)), view),
            None => Ok(()),
        }
    }

    /// Checks what the text of a view reads.
    fn check_sources(&self, role: RoleId, view: &ViewDef) -> Result<(), SqlError> {
        view.sources.iter().try_for_each(|source| match &source.relation {
            SourceRelation::Stored { id, columns } => {
                let used = columns.iter().filter(|column| column.is_used).map(|column| column.id);
                self.check_stored(role, *id, &used.collect::<Vec<_>>())
            }
            SourceRelation::System { schema } => match relation(schema, &source.name) {
                Some(known) => self.check_as(role, &ReadRelation::System(known.id, known.name)),
                None => self.check_as(role, &ReadRelation::Server(source.name.clone())),
            },
        })
    }
}

/// Whether the privileges of the one who reads a view count for what its text reads.
fn is_of_invoker(view: &ViewDef) -> bool {
    view.options
        .iter()
        .any(|option| option.split_once('=').is_some_and(|(name, value)| name == "security_invoker" && is_true(value)))
}
