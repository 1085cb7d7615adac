//! The privileges that kinds of objects have: all of them, and those from the beginning (PostgreSQL's `acldefault`).

use braid_storage::{Acl, AclItem, DefaultsKind, Privileges, RoleId};

/// Kinds of objects with privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Tables and views.
    Relation,
    /// Columns of tables and views.
    Column,
    /// Sequences.
    Sequence,
    /// Schemas.
    Schema,
    /// Types.
    Type,
    /// Functions.
    Function,
    /// Databases.
    Database,
}

/// The words of all privileges.
pub const PRIVILEGE_WORDS: [(&str, Privileges); 12] = [
    ("INSERT", Privileges::INSERT),
    ("SELECT", Privileges::SELECT),
    ("UPDATE", Privileges::UPDATE),
    ("DELETE", Privileges::DELETE),
    ("TRUNCATE", Privileges::TRUNCATE),
    ("REFERENCES", Privileges::REFERENCES),
    ("TRIGGER", Privileges::TRIGGER),
    ("EXECUTE", Privileges::EXECUTE),
    ("USAGE", Privileges::USAGE),
    ("CREATE", Privileges::CREATE),
    ("TEMPORARY", Privileges::TEMPORARY),
    ("CONNECT", Privileges::CONNECT),
];

/// The privilege with this word, in any case; TEMP is TEMPORARY.
pub fn privilege_of_word(word: &str) -> Option<Privileges> {
    let word = if word.eq_ignore_ascii_case("temp") { "TEMPORARY" } else { word };
    PRIVILEGE_WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, privilege)| *privilege)
}

/// The word of one privilege.
///
/// # Panics
/// If it is not one.
pub fn word_of_privilege(privilege: Privileges) -> &'static str {
    let known = PRIVILEGE_WORDS.iter().find(|(_, known)| *known == privilege);
    known.map(|(word, _)| *word).expect("one privilege has a word")
}

impl ObjectKind {
    /// The kind of objects with these default privileges.
    pub fn of_defaults(kind: DefaultsKind) -> Self {
        match kind {
            DefaultsKind::Relation => Self::Relation,
            DefaultsKind::Sequence => Self::Sequence,
            DefaultsKind::Function => Self::Function,
            DefaultsKind::Type => Self::Type,
            DefaultsKind::Schema => Self::Schema,
        }
    }

    /// All privileges that an object of the kind can have.
    pub fn all(self) -> Privileges {
        let columns = Privileges::INSERT | Privileges::SELECT | Privileges::UPDATE | Privileges::REFERENCES;
        match self {
            Self::Column => columns,
            Self::Relation => columns | Privileges::DELETE | Privileges::TRUNCATE | Privileges::TRIGGER,
            Self::Sequence => Privileges::SELECT | Privileges::UPDATE | Privileges::USAGE,
            Self::Schema => Privileges::USAGE | Privileges::CREATE,
            Self::Type => Privileges::USAGE,
            Self::Function => Privileges::EXECUTE,
            Self::Database => Privileges::CREATE | Privileges::TEMPORARY | Privileges::CONNECT,
        }
    }

    /// What all roles may do with an object that has no list.
    fn of_all_roles(self) -> Privileges {
        match self {
            Self::Database => Privileges::TEMPORARY | Privileges::CONNECT,
            Self::Function | Self::Type => self.all(),
            Self::Relation | Self::Column | Self::Sequence | Self::Schema => Privileges::NONE,
        }
    }

    /// The list of an object that has none of its own.
    pub fn default_list(self, owner: RoleId) -> Acl {
        let of_owner = if self == Self::Column { Privileges::NONE } else { self.all() };
        let items = [(RoleId::PUBLIC, self.of_all_roles()), (owner, of_owner)];
        let items = items.into_iter().filter(|(_, privileges)| !privileges.is_empty());
        let grantable = Privileges::NONE;
        items.map(|(grantee, privileges)| AclItem { grantee, grantor: owner, privileges, grantable }).collect()
    }

    /// What it is called in messages about privileges.
    pub fn word(self) -> &'static str {
        match self {
            Self::Relation => "table",
            Self::Column => "column",
            Self::Sequence => "sequence",
            Self::Schema => "schema",
            Self::Type => "type",
            Self::Function => "function",
            Self::Database => "database",
        }
    }
}
