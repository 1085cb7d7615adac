//! Roles: users and groups.

use std::fmt;

/// Identifies a role as long as the database exists: its object id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoleId(pub u32);

impl RoleId {
    /// The role that every database begins with. It is a superuser.
    pub const BOOTSTRAP: Self = Self(10);
    /// PostgreSQL's `pg_database_owner`: the owner of the database is a member. It owns schema `public`.
    pub const DATABASE_OWNER: Self = Self(6171);
    /// Stands for all roles in access control lists.
    pub const PUBLIC: Self = Self(0);

    /// The object ids below this one are PostgreSQL's own: every cluster has the roles `pg_monitor` and its like.
    const FIRST_CREATED: u32 = 16_384;

    /// Whether it needs no definition: it stands for all roles, or every database has it.
    pub fn is_built_in(self) -> bool {
        self.0 < Self::FIRST_CREATED
    }
}

impl fmt::Debug for RoleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "role {}", self.0)
    }
}

/// A role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleDef {
    /// Its id.
    pub id: RoleId,
    /// Its name, 1 to 255 bytes.
    pub name: String,
    /// What it may do beside what privileges allow.
    pub attributes: RoleAttributes,
    /// Most connections at a time; -1 for any number.
    pub connection_limit: i32,
    /// What its password is verified with, as PostgreSQL writes it: `SCRAM-SHA-256$…`.
    pub password: Option<String>,
    /// Until when the password is valid, in microseconds since 1970-01-01 UTC; the largest number for infinity.
    pub valid_until_us: Option<i64>,
    /// The settings that its sessions begin with, by name.
    pub settings: Vec<(String, String)>,
}

/// What a role may do beside what privileges allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleAttributes {
    /// SUPERUSER: it may do everything.
    pub is_superuser: bool,
    /// INHERIT: it has the privileges of the roles that it is a member of.
    pub inherits: bool,
    /// CREATEROLE: it creates, alters and drops roles.
    pub creates_roles: bool,
    /// CREATEDB: it creates databases.
    pub creates_databases: bool,
    /// LOGIN: sessions can be its own.
    pub can_log_in: bool,
    /// REPLICATION.
    pub replicates: bool,
    /// BYPASSRLS.
    pub bypasses_row_security: bool,
}

impl RoleAttributes {
    /// Those of the bootstrap superuser.
    pub const ALL: Self = Self {
        is_superuser: true,
        inherits: true,
        creates_roles: true,
        creates_databases: true,
        can_log_in: true,
        replicates: true,
        bypasses_row_security: true,
    };

    /// As bits, in the order of the fields, from the lowest.
    pub(crate) fn bits(self) -> u8 {
        let all = [
            self.is_superuser,
            self.inherits,
            self.creates_roles,
            self.creates_databases,
            self.can_log_in,
            self.replicates,
            self.bypasses_row_security,
        ];
        all.into_iter().rev().fold(0, |bits, is_set| bits << 1 | u8::from(is_set))
    }

    /// [`Self::bits`] back; `None` if there are others.
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        let is_set = |at: u8| bits >> at & 1 == 1;
        (bits < 1 << 7).then(|| Self {
            is_superuser: is_set(0),
            inherits: is_set(1),
            creates_roles: is_set(2),
            creates_databases: is_set(3),
            can_log_in: is_set(4),
            replicates: is_set(5),
            bypasses_row_security: is_set(6),
        })
    }
}
