//! What `has_table_privilege` and its like are told: the privileges of a role on an object of a number.

use braid_base::{ColumnId, SchemaId};
use braid_sql::functions::{ColumnOf, HeldPrivileges, ObjectNames, PrivilegedObject};
use braid_storage::{AccessObject, Catalog, Privileges, RoleId};

use crate::object_ids::{index_of_object_id, schema_object_id, table_of_object_id};
use crate::privileges::{Granted, ObjectAccess, ObjectKind, Roles, word_of_privilege};
use crate::relations::relation_by_id;
use crate::sources::all_keys;
use crate::stored_rows::{StoredRows, number};

/// The privileges of a role on an object; `None` if there is no such object.
pub(crate) fn held(
    catalog: &Catalog,
    names: &dyn ObjectNames,
    (role, object): (RoleId, PrivilegedObject<'_>),
) -> Option<HeldPrivileges> {
    let held = Held { catalog, names, objects: ObjectAccess::of(catalog), role };
    let granted = match object {
        PrivilegedObject::Relation(id) => held.on_relation(id)?,
        PrivilegedObject::AnyColumn(id) => {
            let columns = held.columns(id).into_iter().map(|column| held.on_column(id, column));
            columns.fold(held.on_relation(id)?, united)
        }
        PrivilegedObject::Column(id, column) => {
            let on_relation = held.on_relation(id)?;
            let is_other = match column {
                ColumnOf::Name(name) => names.has_column(id, name),
                ColumnOf::Number(number) => names.has_other_number(id, number),
            };
            match held.column(id, column) {
                Some(column) => united(on_relation, held.on_column(id, column)),
                None if is_other => on_relation,
                None => return None,
            }
        }
        PrivilegedObject::Schema(id) => held.on_schema(id)?,
        PrivilegedObject::Database => held.objects.granted(role, AccessObject::Database),
        PrivilegedObject::Type(id) => held.on_type(id)?,
        PrivilegedObject::Function(id) => held.on_function(id)?,
        PrivilegedObject::Parameter => {
            let is_superuser = held.roles().is_superuser(role);
            let all = if is_superuser { vec!["SET", "ALTER SYSTEM"] } else { Vec::new() };
            return Some(HeldPrivileges { privileges: all.clone(), grantable: all });
        }
    };
    let words = |privileges: Privileges| privileges.each().map(word_of_privilege).collect();
    Some(HeldPrivileges { privileges: words(granted.privileges), grantable: words(granted.grantable) })
}

fn united(one: Granted, other: Granted) -> Granted {
    Granted { privileges: one.privileges | other.privileges, grantable: one.grantable | other.grantable }
}

struct Held<'a> {
    catalog: &'a Catalog,
    names: &'a dyn ObjectNames,
    objects: ObjectAccess<'a>,
    role: RoleId,
}

impl Held<'_> {
    fn roles(&self) -> Roles<'_> {
        self.objects.roles()
    }

    /// What the bootstrap superuser has on its own, and others only if they are superusers.
    fn of_superuser(&self, kind: ObjectKind, of_others: Privileges) -> Granted {
        match self.roles().is_superuser(self.role) {
            true => Granted { privileges: kind.all(), grantable: kind.all() },
            false => Granted { privileges: of_others, grantable: Privileges::NONE },
        }
    }

    fn on_relation(&self, id: u32) -> Option<Granted> {
        let catalog = self.catalog;
        if let Some(relation) = table_of_object_id(id).filter(|_| self.names.relation(id).is_some()) {
            return Some(self.objects.granted(self.role, AccessObject::Relation(relation)));
        }
        // An index has no list: it is its owner's, who is its table's.
        if let Some(key) = index_of_object_id(id).and_then(|key| all_keys(catalog).find(|known| known.id == key)) {
            let owner = self.objects.owner(AccessObject::Relation(key.def.id));
            let is_owner = self.roles().has_privileges_of(self.role, owner);
            let all = if is_owner { ObjectKind::Relation.all() } else { Privileges::NONE };
            return Some(Granted { privileges: all, grantable: all });
        }
        self.names.relation(id)?;
        let reads = match relation_by_id(id) {
            Some(_) => self.roles().reads_system_relation(self.role, id),
            None => self.roles().has_privileges_of(self.role, Roles::READ_ALL_STATS),
        };
        Some(self.of_superuser(ObjectKind::Relation, if reads { Privileges::SELECT } else { Privileges::NONE }))
    }

    fn columns(&self, id: u32) -> Vec<ColumnId> {
        let Some(relation) = table_of_object_id(id) else { return Vec::new() };
        let catalog = self.catalog;
        match (catalog.by_id(relation), catalog.view_by_id(relation)) {
            (Some(table), _) => table.def.columns.iter().map(|column| column.id).collect(),
            (None, Some(view)) => (0..).map(ColumnId).take(view.columns.len()).collect(),
            (None, None) => Vec::new(),
        }
    }

    /// A column of a relation; one of the system's has no list.
    fn column(&self, id: u32, column: ColumnOf<'_>) -> Option<ColumnId> {
        let by_number = |number: i16| u16::try_from(number - 1).ok().map(ColumnId);
        let Some(relation) = table_of_object_id(id) else {
            let known = relation_by_id(id)?;
            return match column {
                ColumnOf::Name(name) => known.column(name).map(|_| ColumnId(0)),
                ColumnOf::Number(number) => by_number(number).filter(|at| usize::from(at.0) < known.columns.len()),
            };
        };
        let catalog = self.catalog;
        let all = self.columns(id);
        match column {
            ColumnOf::Number(number) => by_number(number).filter(|column| all.contains(column)),
            ColumnOf::Name(name) => {
                let of_table = || catalog.by_id(relation)?.def.column(name).map(|(id, _)| id);
                let of_view = || {
                    let at = catalog.view_by_id(relation)?.columns.iter().position(|column| column.name == name)?;
                    all.get(at).copied()
                };
                of_table().or_else(of_view)
            }
        }
    }

    fn on_column(&self, id: u32, column: ColumnId) -> Granted {
        let object = table_of_object_id(id).map(|relation| AccessObject::Column(relation, column));
        object.map_or_else(Granted::default, |object| self.objects.granted(self.role, object))
    }

    fn on_schema(&self, id: u32) -> Option<Granted> {
        if let Some(known) = self.catalog.schemas().find(|known| schema_object_id(known.id) == id) {
            return Some(self.objects.granted(self.role, AccessObject::Schema(known.id)));
        }
        self.names.schema(id)?;
        let public = SchemaId::PUBLIC;
        match schema_object_id(public) == id {
            true => Some(self.objects.granted(self.role, AccessObject::Schema(public))),
            false => Some(self.of_superuser(ObjectKind::Schema, Privileges::USAGE)),
        }
    }

    fn on_type(&self, id: u32) -> Option<Granted> {
        if let Some((own, _)) = self.catalog.type_of_oid(id) {
            return Some(self.objects.granted(self.role, AccessObject::Type(own)));
        }
        let mut stored = StoredRows::of("pg_type").columns(["oid"]);
        stored.find(|[known]| number::<u32>(known) == id)?;
        Some(self.of_superuser(ObjectKind::Type, Privileges::USAGE))
    }

    fn on_function(&self, id: u32) -> Option<Granted> {
        let mut stored = StoredRows::of("pg_proc").columns(["oid"]);
        stored.find(|[known]| number::<u32>(known) == id)?;
        let is_permitted = self.roles().executes_function(self.role, id);
        Some(self.of_superuser(ObjectKind::Function, if is_permitted { Privileges::EXECUTE } else { Privileges::NONE }))
    }
}
