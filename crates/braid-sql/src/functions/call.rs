//! What an implementation may ask about its call.

use std::fmt;
use std::sync::Arc;

use braid_base::enum_types::FIRST_TYPE_OID;
use braid_base::{DomainType, DomainTypeId};

use crate::input::time_zones::TimeZone;

use super::advisory::AdvisoryLocks;
use super::backends::Backends;
use super::literal_notes::LiteralNotes;
use super::numbers::random::SessionRandom;
use crate::SearchPath;
use crate::formats::Formats;
use crate::pg_catalog::TypeId;
use crate::search_path::{PUBLIC_SCHEMA, is_built_in};
use crate::types::SqlType;
use crate::value_memory::{GrowingValue, ValueMemory, reserve};
use crate::{SqlError, SqlState};

/// What functions read of the session and of the time. A function that calls any of these is not immutable.
pub trait SessionFacts: fmt::Debug {
    /// The setting `TimeZone`.
    fn zone(&self) -> TimeZone;
    /// Its name.
    fn zone_name(&self) -> String;
    /// How values are read and written.
    fn formats(&self) -> Formats;
    /// When the transaction began, in microseconds since 1970-01-01 UTC: `now()`.
    fn transaction_us(&self) -> i64;
    /// When the statement began.
    fn statement_us(&self) -> i64;
    /// What time it is.
    fn clock_us(&self) -> i64;
    /// The role whose privileges count.
    fn user(&self) -> String;
    /// The role of the session, which differs from [`Self::user`] after SET ROLE.
    fn session_user(&self) -> String {
        self.user()
    }
    /// The database.
    fn database(&self) -> String;
    /// The number of the session.
    fn session_id(&self) -> i32;
    /// A setting's value as SHOW prints it; `None` for an unknown one.
    fn setting(&self, name: &str) -> Option<String>;
    /// Relations, schemas and roles by name and number; `None` where there are none.
    fn objects(&self) -> Option<Arc<dyn ObjectNames>> {
        None
    }
    /// The schemas that names without one are looked up in.
    fn search_path(&self) -> SearchPath {
        self.setting("search_path").map_or_else(SearchPath::default, |path| SearchPath::of(&path))
    }
    /// The generator of `random()`; `None` where nothing is drawn.
    fn random(&self) -> Option<&SessionRandom> {
        None
    }
    /// The session's part in LISTEN and NOTIFY; `None` where there is none.
    fn notifications(&self) -> Option<Arc<dyn Notifications>> {
        None
    }
    /// What gives out the numbers of sequences; `None` where there is nothing that does.
    fn sequences(&self) -> Option<Arc<dyn Sequences>> {
        None
    }
    /// The session's advisory locks; `None` where there are none.
    fn advisory_locks(&self) -> Option<Arc<dyn AdvisoryLocks>> {
        None
    }
    /// The sessions of the server; `None` where there are none.
    fn backends(&self) -> Option<Arc<dyn Backends>> {
        None
    }
    /// What changes the session's settings; `None` where nothing does.
    fn setting_changes(&self) -> Option<Arc<dyn SettingChanges>> {
        None
    }
    /// Where the literals of times are noted that are read for a statement; `None` where nobody wants to know them.
    fn literal_notes(&self) -> Option<&LiteralNotes> {
        None
    }
}

/// Changes of the settings of a session.
pub trait SettingChanges: fmt::Debug + Send + Sync {
    /// Sets a setting, until the end of the transaction or of the session, to its default without a value; returns the value that it has
    /// then.
    ///
    /// # Errors
    /// For an unknown setting, and a value that it does not take.
    fn set(&self, name: &str, value: Option<&str>, is_local: bool) -> Result<String, SqlError>;
}

/// The numbers of sequences, which are named by the numbers of their relations.
pub trait Sequences: fmt::Debug + Send + Sync {
    /// The next number.
    ///
    /// # Errors
    /// For relations that are no sequences, at the end of a sequence, and in transactions that only read.
    fn next_value(&self, relation: u32) -> Result<i64, SqlError>;
    /// The number that the session was given last.
    ///
    /// # Errors
    /// If it was given none.
    fn current_value(&self, relation: u32) -> Result<i64, SqlError>;
    /// The number that the session was given last, of any sequence.
    ///
    /// # Errors
    /// If it was given none.
    fn last_value(&self) -> Result<i64, SqlError>;
    /// Puts a sequence to a number, which was given out, or is given out next.
    ///
    /// # Errors
    /// For numbers that the sequence does not have, and as [`Self::next_value`].
    fn set_value(&self, relation: u32, value: i64, is_called: bool) -> Result<(), SqlError>;
    /// Checks that a relation is a sequence.
    ///
    /// # Errors
    /// If it is none.
    fn check_is_sequence(&self, relation: u32) -> Result<(), SqlError>;
    /// The number that any session was given last; `None` before the first.
    ///
    /// # Errors
    /// For relations that are no sequences, and sequences that the role may not read.
    fn last_value_of(&self, relation: u32) -> Result<Option<i64>, SqlError>;
}

/// The part of a session in LISTEN and NOTIFY.
pub trait Notifications: fmt::Debug + Send + Sync {
    /// Tells a channel something when the transaction commits.
    ///
    /// # Errors
    /// For texts that are too long, and if the queue is full.
    fn notify(&self, channel: &str, payload: &str) -> Result<(), SqlError>;
    /// The channels that the session listens on.
    fn channels(&self) -> Vec<String>;
    /// The used part of the queue, from 0 to 1.
    fn queue_usage(&self) -> f64;
}

/// The name of the type of a relation's rows, or of arrays of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowTypeName {
    /// The schema of the relation.
    pub schema: String,
    /// The name of the relation.
    pub relation: String,
    /// Whether the relation is found without its schema.
    pub is_visible: bool,
    /// Whether it is the type of arrays.
    pub is_array: bool,
}

/// The number of the database: the last of those of tables, so that it is one of a user's.
pub const DATABASE_ID: u32 = FIRST_TYPE_OID - 1;

/// The names of what a database has. Names without a schema are looked for along the search path.
pub trait ObjectNames: fmt::Debug + Send + Sync {
    /// The number of a relation.
    fn relation_id(&self, schema: Option<&str>, name: &str) -> Option<u32>;
    /// Schema and name of a relation.
    fn relation(&self, id: u32) -> Option<(String, String)>;
    /// The number of a schema.
    fn schema_id(&self, name: &str) -> Option<u32>;
    /// The name of a schema.
    fn schema(&self, id: u32) -> Option<String>;
    /// The number of a role.
    fn role_id(&self, name: &str) -> Option<u32>;
    /// The name of a role.
    fn role(&self, id: u32) -> Option<String>;
    /// An enumerated type or a domain, or an array type of one.
    fn type_id(&self, _schema: Option<&str>, _name: &str) -> Option<TypeId> {
        None
    }
    /// As [`Self::type_id`], of a name within a literal, such as `'mood'::regtype`.
    fn type_id_of_literal(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        self.type_id(schema, name)
    }
    /// As [`Self::type_id`], of a name within the text of a view.
    fn type_id_within_view(&self, schema: Option<&str>, name: &str) -> Option<TypeId> {
        self.type_id(schema, name)
    }
    /// The schema of an enumerated type or a domain.
    fn schema_of_type(&self, _id: TypeId) -> Option<String> {
        None
    }
    /// The enumerated type or domain, or the array type of one, with this oid.
    fn type_of_oid(&self, _oid: u32) -> Option<TypeId> {
        None
    }
    /// What a domain is for the statement.
    fn domain(&self, domain: DomainTypeId) -> Arc<DomainType> {
        domain.definition()
    }
    /// The number of the commit that made this state.
    fn commit_number(&self) -> u64 {
        0
    }
    /// The relation whose rows are of the type with an oid, or of the array type of which they are elements.
    fn row_type(&self, _oid: u32) -> Option<RowTypeName> {
        None
    }
    /// The sequence that a column of a relation owns.
    fn sequence_of_column(&self, _relation: u32, _column: &str) -> Option<u32> {
        None
    }
    /// Whether a relation has a column of this name.
    fn has_column(&self, relation: u32, name: &str) -> bool;
    /// Whether a relation that is no table and no view of users has a column of this number, or a table a system column.
    fn has_other_number(&self, _relation: u32, _number: i16) -> bool {
        false
    }
    /// What a role, or with 0 every role, may do with an object; `None` if there is no such object.
    fn held(&self, _role: u32, _object: PrivilegedObject<'_>) -> Option<HeldPrivileges> {
        None
    }
    /// Whether a role has a right to another one.
    fn has_role(&self, member: u32, role: u32, _right: RoleRight) -> bool {
        member == role
    }
    /// Bytes of a relation's rows on disk; `None` if there is no such relation.
    fn relation_bytes(&self, id: u32) -> Option<u64>;
    /// Bytes of the rows of all relations on disk.
    fn database_bytes(&self) -> u64;
}

/// Whether there is a schema; in a session without names those of a new database.
pub fn is_schema(session: &dyn SessionFacts, name: &str) -> bool {
    let in_database = || match session.objects() {
        Some(objects) => objects.schema_id(name).is_some(),
        None => name == PUBLIC_SCHEMA,
    };
    is_built_in(name) || in_database()
}

/// The error of a name in a schema that does not exist.
pub fn no_schema(name: &str) -> SqlError {
    SqlError::new(SqlState::InvalidSchemaName, format!("schema \"{name}\" does not exist"))
}

/// An object with privileges, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivilegedObject<'a> {
    /// A table, view or sequence.
    Relation(u32),
    /// A column of a relation: what is held on the relation counts, too.
    Column(u32, ColumnOf<'a>),
    /// Any column of a relation.
    AnyColumn(u32),
    /// A schema.
    Schema(u32),
    /// The database.
    Database,
    /// A type.
    Type(u32),
    /// A function.
    Function(u32),
    /// Any setting: there are no grants on them.
    Parameter,
}

/// A column of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnOf<'a> {
    /// By its name.
    Name(&'a str),
    /// By its number.
    Number(i16),
}

/// What a role may do with an object: the words of privileges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldPrivileges {
    /// Those that it has.
    pub privileges: Vec<&'static str>,
    /// Those that it may grant.
    pub grantable: Vec<&'static str>,
}

/// What a role may do with another role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleRight {
    /// It has its privileges.
    Usage,
    /// It may take it: SET ROLE.
    Member,
    /// It may make others its members.
    Admin,
}

/// A call of a function.
#[derive(Debug)]
pub struct Call<'a> {
    /// The session.
    pub session: &'a dyn SessionFacts,
    /// The types of the arguments, with those that stand for polymorphic ones.
    pub argument_types: &'a [SqlType],
    /// The type of the result.
    pub result_type: SqlType,
    /// What long values are counted under.
    pub memory: &'a dyn ValueMemory,
}

impl<'a> Call<'a> {
    /// Reserves memory for a value of `bytes` bytes that is about to be made.
    ///
    /// # Errors
    /// Out of memory (53200) when the budget refuses.
    pub fn reserve(&self, bytes: usize) -> Result<(), SqlError> {
        reserve(self.memory, bytes)
    }

    /// The memory of a value that grows.
    pub fn growing_value(&self) -> GrowingValue<'a> {
        GrowingValue::new(self.memory)
    }
}
