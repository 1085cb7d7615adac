//! Who may open a session: the role of a name, its password, and its limits. The exchange that proves a password is the server's.
//!
//! A session within the process that has the data directory open needs no login: whoever may open the directory may do anything. It is
//! opened for any role, also for one that may not log in, as in PostgreSQL's single-user mode, so that no definition of roles locks
//! everybody out.

use std::sync::Arc;

use braid_catalog::privileges::{ObjectAccess, Roles};
use braid_storage::{AccessObject, Privileges, RoleId};

use crate::clock::read_clock_us;
use crate::{Database, EngineError, SqlState};

/// How a user proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginPassword {
    /// By the password of its role: what it is verified with, as PostgreSQL keeps it (`SCRAM-SHA-256$…`).
    Own(String),
    /// By the password of the server, if this has one: it is the bootstrap superuser, which has none of its own.
    OfServer,
    /// By none: its role has no password, or there is no such role. A server with a password does not let it in.
    None,
    /// Not at all: the password of its role is valid no more.
    Invalid,
}

impl Database {
    /// How a user proves who it is.
    pub fn login_password(&self, user: &str) -> LoginPassword {
        let snapshot = self.store().snapshot();
        let access = snapshot.access();
        if access.role(RoleId::BOOTSTRAP).is_none() {
            return LoginPassword::OfServer;
        }
        let Some(role) = access.role_named(user) else { return LoginPassword::None };
        let is_valid = role.valid_until_us.is_none_or(|until_us| read_clock_us() < until_us);
        match &role.password {
            Some(verifier) if is_valid => LoginPassword::Own(verifier.clone()),
            Some(_) => LoginPassword::Invalid,
            None if role.id == RoleId::BOOTSTRAP => LoginPassword::OfServer,
            None => LoginPassword::None,
        }
    }

    /// The name of the bootstrap superuser; `None` as long as it has none, because every user is it.
    pub fn superuser_name(&self) -> Option<String> {
        self.store().snapshot().access().role(RoleId::BOOTSTRAP).map(|role| role.name.clone())
    }

    /// A user that can connect to a server of this database: a superuser if there is one that can, the bootstrap superuser first. `None`
    /// if no role can; before there are roles it is `default`, as any name is that of the superuser.
    pub fn example_user(self: &Arc<Self>, default: &str, server_has_password: bool) -> Option<String> {
        let snapshot = self.store().snapshot();
        let access = snapshot.access();
        if access.role(RoleId::BOOTSTRAP).is_none() {
            return Some(default.to_owned());
        }
        let can_connect = |user: &str| {
            let has_proof = match self.login_password(user) {
                LoginPassword::Own(_) | LoginPassword::OfServer => true,
                LoginPassword::None => !server_has_password,
                LoginPassword::Invalid => false,
            };
            has_proof && self.check_login(user).is_ok()
        };
        let mut users: Vec<_> = access.roles().collect();
        users.sort_by_key(|role| (role.id != RoleId::BOOTSTRAP, !role.attributes.is_superuser, role.id));
        users.into_iter().map(|role| &role.name).find(|name| can_connect(name)).cloned()
    }

    /// Checks that a session within this process may be opened for a user: that it is a role, if there are roles.
    ///
    /// # Errors
    /// 28000
    pub fn check_local_login(&self, user: &str) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot();
        match snapshot.access().role(RoleId::BOOTSTRAP).is_none() || snapshot.access().role_named(user).is_some() {
            true => Ok(()),
            false => Err(no_such_user(user)),
        }
    }

    /// Checks that a user that has proved who it is may open a session.
    ///
    /// # Errors
    /// For a user that is no role or may not log in (28000), a role with as many sessions as it may have (53300), and one that may not
    /// connect to the database (42501).
    pub fn check_login(self: &Arc<Self>, user: &str) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot();
        let access = snapshot.access();
        if access.role(RoleId::BOOTSTRAP).is_none() {
            return Ok(());
        }
        let refused = |message: String| Err(EngineError::new(SqlState::InvalidAuthorization, message));
        let role = access.role_named(user).ok_or_else(|| no_such_user(user))?;
        if !role.attributes.can_log_in {
            return refused(format!("role \"{user}\" is not permitted to log in"));
        }
        let is_superuser = Roles::of(access).is_superuser(role.id);
        let own = || self.sessions().all().into_iter().filter(|session| session.shown().role_id == role.id.0).count();
        if !is_superuser && u32::try_from(role.connection_limit).is_ok_and(|limit| own() >= limit as usize) {
            let message = format!("too many connections for role \"{user}\"");
            return Err(EngineError::new(SqlState::TooManyConnections, message));
        }
        match ObjectAccess::of(&snapshot).has(role.id, AccessObject::Database, Privileges::CONNECT) {
            true => Ok(()),
            false => {
                let message = format!("permission denied for database \"{}\"", self.config().database_name);
                Err(EngineError::new(SqlState::InsufficientPrivilege, message)
                    .with_detail("User does not have CONNECT privilege."))
            }
        }
    }
}

fn no_such_user(user: &str) -> EngineError {
    EngineError::new(SqlState::InvalidAuthorization, format!("role \"{user}\" does not exist"))
}
