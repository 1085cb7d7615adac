//! Where the value of a setting is from, in PostgreSQL's order: a later source wins.
//!
//! The values of databases and roles are those of `pg_db_role_setting`. PostgreSQL's files and environment variables are no sources here.

/// Where a value is from (`GucSource`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingSource {
    /// The server's default.
    Default,
    /// ALTER ROLE ALL SET.
    Global,
    /// ALTER DATABASE SET.
    Database,
    /// ALTER ROLE SET.
    User,
    /// ALTER ROLE IN DATABASE SET.
    DatabaseUser,
    /// The startup packet.
    Client,
    /// SET.
    Session,
}

impl SettingSource {
    /// As `pg_settings` shows it.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Global => "global",
            Self::Database => "database",
            Self::User => "user",
            Self::DatabaseUser => "database user",
            Self::Client => "client",
            Self::Session => "session",
        }
    }
}
