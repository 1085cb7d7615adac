//! What is kept of access control, by what it is about.

use braid_base::{ColumnId, SchemaId, TableId};

use super::{Acl, RoleDef, RoleId};

/// What has an owner and privileges. A column has no owner of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessObject {
    /// A table, view or sequence.
    Relation(TableId),
    /// A column of a table, or of a view that has no table: by its place, from 0.
    Column(TableId, ColumnId),
    /// A schema.
    Schema(SchemaId),
    /// An enumerated type or a domain, by its oid. Its array type goes with it.
    Type(u32),
    /// The database.
    Database,
}

impl AccessObject {
    /// Who owns it from the beginning.
    pub fn initial_owner(self) -> RoleId {
        match self {
            Self::Schema(SchemaId::PUBLIC) => RoleId::DATABASE_OWNER,
            _ => RoleId::BOOTSTRAP,
        }
    }
}

/// That a role is a member of another one, and so has its privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The role that has members.
    pub role: RoleId,
    /// The member.
    pub member: RoleId,
    /// Who has granted it.
    pub grantor: RoleId,
    /// ADMIN OPTION: whether the member may make others members.
    pub is_admin: bool,
}

/// The objects that ALTER DEFAULT PRIVILEGES is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefaultsSubject {
    /// Who creates them.
    pub creator: RoleId,
    /// The schema that they are created in; `None` for all.
    pub schema: Option<SchemaId>,
    /// What they are.
    pub kind: DefaultsKind,
}

/// Kinds of objects with default privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DefaultsKind {
    /// Tables and views, `r`.
    Relation,
    /// Sequences, `S`.
    Sequence,
    /// Functions, `f`.
    Function,
    /// Types, `T`.
    Type,
    /// Schemas, `n`.
    Schema,
}

impl DefaultsKind {
    /// PostgreSQL's letters of all kinds (`pg_default_acl.defaclobjtype`).
    pub const LETTERS: [(u8, Self); 5] = [
        (b'r', Self::Relation),
        (b'S', Self::Sequence),
        (b'f', Self::Function),
        (b'T', Self::Type),
        (b'n', Self::Schema),
    ];

    /// Its letter.
    pub fn letter(self) -> u8 {
        let known = Self::LETTERS.iter().find(|(_, kind)| *kind == self);
        known.map(|(letter, _)| *letter).expect("each kind has a letter")
    }
}

/// The sessions that begin with settings, beside those of a role in all databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SettingsSubject {
    /// Their role; `None` for all.
    pub role: Option<RoleId>,
    /// Whether they are those of the database, or of all databases.
    pub is_of_database: bool,
}

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessKey {
    /// A role.
    Role(RoleId),
    /// A member of a role.
    Membership {
        /// The role.
        role: RoleId,
        /// The member.
        member: RoleId,
    },
    /// The owner of an object.
    Owner(AccessObject),
    /// The privileges of an object.
    Privileges(AccessObject),
    /// The privileges of new objects.
    Defaults(DefaultsSubject),
    /// The settings that sessions begin with.
    Settings(SettingsSubject),
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessEntry {
    /// A role.
    Role(RoleDef),
    /// A member of a role.
    Membership(Membership),
    /// The owner of an object, if it is not its initial one.
    Owner {
        /// The object.
        object: AccessObject,
        /// Its owner.
        owner: RoleId,
    },
    /// The access control list of an object.
    Privileges {
        /// The object.
        object: AccessObject,
        /// The list, which may be empty: then only superusers have privileges.
        acl: Acl,
    },
    /// The access control list of new objects, or of those of a schema what is added to it.
    Defaults {
        /// The objects.
        subject: DefaultsSubject,
        /// The list.
        acl: Acl,
    },
    /// The settings that sessions begin with, by name.
    Settings {
        /// The sessions.
        subject: SettingsSubject,
        /// The names and the values.
        settings: Vec<(String, String)>,
    },
}

impl AccessEntry {
    /// What it is about.
    pub fn key(&self) -> AccessKey {
        match self {
            Self::Role(role) => AccessKey::Role(role.id),
            Self::Membership(Membership { role, member, .. }) => AccessKey::Membership { role: *role, member: *member },
            Self::Owner { object, .. } => AccessKey::Owner(*object),
            Self::Privileges { object, .. } => AccessKey::Privileges(*object),
            Self::Defaults { subject, .. } => AccessKey::Defaults(*subject),
            Self::Settings { subject, .. } => AccessKey::Settings(*subject),
        }
    }

    pub(super) fn as_role(&self) -> Option<&RoleDef> {
        match self {
            Self::Role(role) => Some(role),
            _ => None,
        }
    }

    /// The roles that it is about or names.
    pub fn mentioned_roles(&self) -> impl Iterator<Item = RoleId> {
        let (own, acl): (Vec<RoleId>, &[_]) = match self {
            Self::Role(_) => (Vec::new(), &[]),
            Self::Membership(Membership { role, member, grantor, .. }) => (vec![*role, *member, *grantor], &[]),
            Self::Owner { owner, .. } => (vec![*owner], &[]),
            Self::Privileges { acl, .. } => (Vec::new(), acl),
            Self::Defaults { subject, acl } => (vec![subject.creator], acl),
            Self::Settings { subject, .. } => (subject.role.into_iter().collect(), &[]),
        };
        own.into_iter().chain(acl.iter().flat_map(|item| [item.grantee, item.grantor]))
    }
}
