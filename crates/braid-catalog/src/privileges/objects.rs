//! The privileges that a role has on an object (PostgreSQL's `aclchk.c`).

use std::borrow::Cow;

use braid_base::{SchemaId, TableId};
use braid_storage::{AccessObject, Acl, AclItem, Catalog, DefaultsKind, DefaultsSubject, Privileges, RoleId};

use super::kinds::ObjectKind;
use super::lists::{Grantable, best_grantor, default_list_of, privileges_in};
use super::roles::Roles;
use super::system::public_schema_list;

/// What a role has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Its privileges.
    pub privileges: Privileges,
    /// Those that it may grant.
    pub grantable: Privileges,
}

impl Granted {
    pub(super) fn add(&mut self, item: &AclItem) {
        self.privileges = self.privileges | item.privileges;
        self.grantable = self.grantable | item.grantable;
    }

    /// Only these of them.
    fn of(self, all: Privileges) -> Self {
        Self { privileges: self.privileges & all, grantable: self.grantable & all }
    }
}

/// Who may do what with the objects of one state of the database.
#[derive(Clone, Copy, Debug)]
pub struct ObjectAccess<'a> {
    catalog: &'a Catalog,
}

impl<'a> ObjectAccess<'a> {
    /// Of a state.
    pub fn of(catalog: &'a Catalog) -> Self {
        Self { catalog }
    }

    /// The roles.
    pub fn roles(self) -> Roles<'a> {
        Roles::of(self.catalog.access())
    }

    /// The kind of an object.
    pub fn kind(self, object: AccessObject) -> ObjectKind {
        match object {
            AccessObject::Relation(id) if self.catalog.sequence_by_id(id).is_some() => ObjectKind::Sequence,
            AccessObject::Relation(_) => ObjectKind::Relation,
            AccessObject::Column(..) => ObjectKind::Column,
            AccessObject::Schema(_) => ObjectKind::Schema,
            AccessObject::Type(_) => ObjectKind::Type,
            AccessObject::Database => ObjectKind::Database,
        }
    }

    /// Who owns an object. A column is its relation's owner's.
    pub fn owner(self, object: AccessObject) -> RoleId {
        let access = self.catalog.access();
        match object {
            AccessObject::Column(relation, _) => self.owner(AccessObject::Relation(relation)),
            // A sequence that belongs to a column goes with its table.
            AccessObject::Relation(id) => match self.owning_table(id) {
                Some(table) => self.owner(AccessObject::Relation(table)),
                None => access.owner(object),
            },
            AccessObject::Schema(_) | AccessObject::Type(_) | AccessObject::Database => access.owner(object),
        }
    }

    fn owning_table(self, sequence: TableId) -> Option<TableId> {
        self.catalog.sequence_by_id(sequence)?.definition.owner.map(|owner| owner.table)
    }

    /// The list of an object, or that which its kind has.
    pub fn list(self, object: AccessObject) -> Cow<'a, [AclItem]> {
        match self.own_list(object) {
            Some(list) => list,
            None => Cow::Owned(self.kind(object).default_list(self.owner(object))),
        }
    }

    /// The list of an object; `None` if it has that of its kind.
    pub fn own_list(self, object: AccessObject) -> Option<Cow<'a, [AclItem]>> {
        match (self.catalog.access().acl(object), object) {
            (Some(acl), _) => Some(Cow::Borrowed(acl.as_slice())),
            (None, AccessObject::Schema(SchemaId::PUBLIC)) => Some(Cow::Owned(public_schema_list(self.owner(object)))),
            (None, _) => None,
        }
    }

    /// What a role has on an object. On a column that is what it has on the column itself: what it has on the relation counts beside it.
    pub fn granted(self, role: RoleId, object: AccessObject) -> Granted {
        let (kind, roles) = (self.kind(object), self.roles());
        let all = kind.all();
        if roles.is_superuser(role) {
            return Granted { privileges: all, grantable: all };
        }
        let mut granted = privileges_in(&self.list(object), roles, (role, self.owner(object))).of(all);
        let reads_all = roles.has_privileges_of(role, Roles::READ_ALL_DATA);
        let writes_all = roles.has_privileges_of(role, Roles::WRITE_ALL_DATA);
        let implied = match kind {
            ObjectKind::Relation | ObjectKind::Sequence => {
                let read = if reads_all { Privileges::SELECT } else { Privileges::NONE };
                let changed = Privileges::INSERT | Privileges::UPDATE | Privileges::DELETE;
                read | if writes_all { changed } else { Privileges::NONE }
            }
            ObjectKind::Schema if reads_all || writes_all => Privileges::USAGE,
            _ => Privileges::NONE,
        };
        granted.privileges = granted.privileges | implied & all;
        granted
    }

    /// Whether a role has all of these privileges on an object.
    pub fn has(self, role: RoleId, object: AccessObject, privileges: Privileges) -> bool {
        self.roles().is_superuser(role) || self.granted(role, object).privileges.contains(privileges)
    }

    /// Whether a role may do what an owner may: it has the privileges of the owner.
    pub fn is_owner(self, role: RoleId, object: AccessObject) -> bool {
        self.roles().has_privileges_of(role, self.owner(object))
    }

    /// In whose name a role grants privileges on an object, and which of them.
    pub fn grantable(self, role: RoleId, object: AccessObject, wanted: Privileges) -> Grantable {
        best_grantor(&self.list(object), self.roles(), (role, self.owner(object)), wanted)
    }

    /// The list that a new object of an owner has, in a schema if it is in one; `None` for that of its kind.
    pub fn list_of_new(self, owner: RoleId, kind: DefaultsKind, schema: Option<SchemaId>) -> Option<Acl> {
        let access = self.catalog.access();
        let subject = |schema| DefaultsSubject { creator: owner, schema, kind };
        let of_schema = schema.and_then(|schema| access.default_acl(subject(Some(schema))));
        let lists = (access.default_acl(subject(None)), of_schema);
        default_list_of(ObjectKind::of_defaults(kind), self.roles(), owner, lists)
    }
}
