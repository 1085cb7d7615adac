//! What the server tells about itself: its database, roles, settings and sessions.

use std::fmt;

use braid_sql::{SearchPath, SqlType};

/// The server, as the system relations show it.
pub trait ServerFacts: fmt::Debug {
    /// The database.
    fn database(&self) -> Database;
    /// The schemas in which the session finds names without one.
    fn search_path(&self) -> SearchPath;
    /// All roles. One has the id [`BOOTSTRAP_ROLE_ID`](crate::object_ids::BOOTSTRAP_ROLE_ID): it owns all tables.
    fn roles(&self) -> Vec<Role>;
    /// All settings as the session has them.
    fn settings(&self) -> Vec<Setting>;
    /// All sessions.
    fn sessions(&self) -> Vec<Session>;
    /// The cursors of the session that have names.
    fn cursors(&self) -> Vec<Cursor>;
    /// The locks that sessions hold or wait for.
    fn locks(&self) -> Vec<Lock>;
    /// The prepared statements of the session that have names.
    fn prepared_statements(&self) -> Vec<PreparedStatement>;
    /// Checkpoints since the server started.
    fn checkpoint_count(&self) -> u64;
    /// When it started, in microseconds since 1970-01-01 UTC.
    fn started_us(&self) -> i64;
    /// Its own views of what it does, in schema `pg_catalog`.
    fn views(&self) -> Vec<ServerView>;
}

/// The database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// Its object id.
    pub id: u32,
    /// Its name.
    pub name: String,
}

/// A role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its object id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whether it may do everything.
    pub is_superuser: bool,
}

/// A view of what the server does. PostgreSQL has none such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerView {
    /// Its name.
    pub name: String,
    /// The names and types of its columns.
    pub columns: Vec<(String, SqlType)>,
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value, without unit.
    pub value: String,
    /// The unit of its value.
    pub unit: Option<&'static str>,
    /// The group that it is shown in.
    pub category: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Where it can be set: `internal`, `postmaster`, `user`.
    pub context: &'static str,
    /// Its type: `bool`, `integer`, `real`, `string`, `enum`.
    pub value_type: &'static str,
    /// The least and the most of a number.
    pub bounds: Option<(String, String)>,
    /// The values of an `enum`.
    pub enum_values: Option<Vec<&'static str>>,
    /// Where its value comes from: `default`, `configuration file`, `session`.
    pub source: &'static str,
    /// The value that the server begins with.
    pub boot_value: Option<String>,
    /// The value after RESET.
    pub reset_value: Option<String>,
}

/// A session. Times are microseconds since 1970-01-01 UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its number, which a client cancels its queries by.
    pub id: i32,
    /// The id of its role.
    pub role_id: u32,
    /// The name of its role.
    pub role_name: String,
    /// The setting `application_name`.
    pub application_name: String,
    /// The port of its client; -1 for a local socket.
    pub client_port: Option<i32>,
    /// How it and its client encrypt what they send.
    pub encryption: Option<Encryption>,
    /// When it began.
    pub started_us: i64,
    /// When its transaction began.
    pub transaction_started_us: Option<i64>,
    /// When its query began.
    pub query_started_us: Option<i64>,
    /// When `state` changed.
    pub state_changed_us: Option<i64>,
    /// `active`, `idle`, `idle in transaction`, `idle in transaction (aborted)`.
    pub state: &'static str,
    /// What it waits for: `Client`, `Lock`, and which of these; `None` if it does not wait.
    pub wait: Option<(&'static str, &'static str)>,
    /// The text of its query, or of the last one; `None` if it is not told.
    pub query: Option<String>,
    /// Whether what it does is kept from the one who asks.
    pub is_hidden: bool,
}

/// How a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// The version of TLS: `TLSv1.3`.
    pub version: String,
    /// The cipher, as OpenSSL calls it.
    pub cipher: String,
    /// Bits of its key.
    pub key_bits: i32,
}

/// A lock that a session holds or waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// What is locked.
    pub target: LockTarget,
    /// The number of the session.
    pub session: i32,
    /// `ExclusiveLock`, `ShareLock`, …
    pub mode: &'static str,
    /// Whether it is held.
    pub is_granted: bool,
    /// Whether only its session knows of it while nobody asks.
    pub is_fast: bool,
}

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockTarget {
    /// The relation of this object id.
    Relation(u32),
    /// The definition of the relation of this object id.
    Definition(u32),
    /// The end of the transaction of this number, which it holds itself.
    Transaction(u32),
    /// Numbers that mean what sessions agree on: the upper and lower half of one, or two.
    Advisory {
        /// The upper half, or the first number.
        upper: u32,
        /// The lower half, or the second number.
        lower: u32,
        /// Whether there are two.
        is_pair: bool,
    },
}

/// A cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Its name.
    pub name: String,
    /// What was sent to open it.
    pub text: String,
    /// Whether it outlives its transaction.
    pub is_holdable: bool,
    /// Whether it answers binary values.
    pub is_binary: bool,
    /// Whether it goes backward.
    pub is_scrollable: bool,
    /// When it was opened, in microseconds since 1970-01-01 UTC.
    pub opened_us: i64,
}

/// A prepared statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedStatement {
    /// Its name.
    pub name: String,
    /// What was sent to prepare it.
    pub text: String,
    /// When it was prepared, in microseconds since 1970-01-01 UTC.
    pub prepared_us: i64,
    /// The object ids of the types of its parameters.
    pub parameter_type_oids: Vec<u32>,
    /// Whether PREPARE has prepared it, and not a message of the protocol.
    pub is_from_sql: bool,
    /// How often it was executed.
    pub execution_count: i64,
}
