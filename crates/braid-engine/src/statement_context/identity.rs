//! Who a session is: the role that it was opened for, the one that SET SESSION AUTHORIZATION has put in its place, and the one that SET ROLE
//! has taken. The privileges of the last count.
//!
//! As long as no role was created the database has one role, the bootstrap superuser, and it has the name of whoever asks: every session is
//! its own. The first statement that changes roles gives it the name of its session.

use braid_catalog::privileges::{ObjectAccess, Roles};
use braid_storage::{
    AccessControl, AccessEntry, AccessObject, Catalog, NewObject, RoleAttributes, RoleDef, RoleId, SettingsSubject,
    WriteSet,
};

use super::StatementContext;
use crate::notices::Notice;
use crate::settings::{Identity, Scope, SettingSource, SettingValues};
use crate::{EngineError, SqlState};

/// The user that a session was opened for.
#[derive(Clone, Debug)]
pub(super) struct Login {
    /// The name that was given.
    pub name: String,
    /// The role of this name; `None` if there is none.
    pub role: Option<RoleId>,
}

impl Login {
    /// The user of a name in a state.
    pub fn of(name: &str, access: &AccessControl) -> Self {
        let role = match access.role(RoleId::BOOTSTRAP) {
            None => Some(RoleId::BOOTSTRAP),
            Some(_) => access.role_named(name).map(|role| role.id),
        };
        Self { name: name.to_owned(), role }
    }

    /// The settings that its sessions begin with: of all roles and databases, of the database, of the role, and of the role in the database.
    pub fn settings(&self, access: &AccessControl) -> Vec<(SettingSource, Vec<(String, String)>)> {
        let of_role = self.role.and_then(|role| access.role(role)).map(|role| role.settings.clone());
        let kept = |subject| access.settings(subject).to_vec();
        let in_database = self.role.map(|role| kept(SettingsSubject { role: Some(role), is_of_database: true }));
        vec![
            (SettingSource::Global, kept(SettingsSubject { role: None, is_of_database: false })),
            (SettingSource::Database, kept(SettingsSubject { role: None, is_of_database: true })),
            (SettingSource::User, of_role.unwrap_or_default()),
            (SettingSource::DatabaseUser, in_database.unwrap_or_default()),
        ]
    }
}

impl StatementContext {
    /// The name that the session was opened with.
    pub fn login_name(&self) -> &str {
        &self.shared.login.name
    }

    /// The role of SET SESSION AUTHORIZATION, or else that which the session was opened for.
    pub fn session_role(&self) -> RoleId {
        session_role_of(&self.shared.state.lock().settings).unwrap_or_else(|| self.login_role())
    }

    /// The role whose privileges count: that of SET ROLE, or else the session's.
    pub fn current_role(&self) -> RoleId {
        let state = self.shared.state.lock();
        let session_role = || session_role_of(&state.settings);
        role_of(&state.settings).or_else(session_role).unwrap_or_else(|| self.login_role())
    }

    /// The role that the session was opened for. One that is no role has no privileges, and runs no statement.
    fn login_role(&self) -> RoleId {
        self.shared.login.role.unwrap_or(RoleId::PUBLIC)
    }

    /// Refuses statements of a session for a user that is no role.
    ///
    /// # Errors
    /// 28000
    pub fn check_login(&self) -> Result<(), EngineError> {
        match self.shared.login.role {
            Some(_) => Ok(()),
            None => {
                let message = format!("role \"{}\" does not exist", self.login_name());
                Err(EngineError::new(SqlState::InvalidAuthorization, message))
            }
        }
    }

    /// The names of the session's roles.
    pub fn identity(&self) -> Identity {
        let snapshot = self.snapshot();
        let (session, current) = (self.session_role(), self.current_role());
        if snapshot.access().is_empty() {
            let name = || self.login_name().to_owned();
            let (current_user, session_user, is_role_set) = (name(), name(), role_of(&self.settings()).is_some());
            return Identity { current_user, session_user, is_role_set, is_superuser: true };
        }
        Identity {
            current_user: self.role_name_in(&snapshot, current),
            session_user: self.role_name_in(&snapshot, session),
            is_role_set: role_of(&self.settings()).is_some(),
            is_superuser: Roles::of(snapshot.access()).is_superuser(current),
        }
    }

    /// The name of the current role.
    pub fn current_user(&self) -> String {
        self.role_name_in(&self.snapshot(), self.current_role())
    }

    /// The name of a role. The bootstrap superuser has that of the session, as long as it has none.
    pub fn role_name_in(&self, snapshot: &Catalog, role: RoleId) -> String {
        match snapshot.access().role(role) {
            Some(known) => known.name.clone(),
            None if role == RoleId::BOOTSTRAP => self.login_name().to_owned(),
            None => Roles::predefined_name(role).map_or_else(|| role.0.to_string(), str::to_owned),
        }
    }

    /// The role of a name.
    pub fn role_named_in(&self, snapshot: &Catalog, name: &str) -> Option<RoleId> {
        let access = snapshot.access();
        if access.role(RoleId::BOOTSTRAP).is_none() && name == self.login_name() {
            return Some(RoleId::BOOTSTRAP);
        }
        access.role_named(name).map(|role| role.id).or_else(|| Roles::predefined_role(name))
    }

    /// Lets a new session begin with the settings of its database and its role. Those that do not hold any more are warned of.
    pub fn begin_with_kept_settings(&self) {
        let snapshot = self.snapshot();
        let kept = self.shared.login.settings(snapshot.access());
        for (source, (name, value)) in
            kept.into_iter().flat_map(|(source, all)| all.into_iter().map(move |one| (source, one)))
        {
            if let Err(error) = self.begin_with_setting(&name, &value, source) {
                self.raise(Notice::warning(error.state(), error.message()));
            }
        }
    }

    /// Takes another role, or the session's again: SET ROLE.
    ///
    /// # Errors
    /// For a role that does not exist (22023), and one that the session's role is no member of (42501).
    pub fn take_role(&self, name: &str, scope: Scope) -> Result<(), EngineError> {
        let role = self.role_setting(name)?;
        self.change_settings(|settings| settings.set("role", role, scope));
        Ok(())
    }

    /// The role of a name that the session's role may take, in the form in which the setting `role` is kept: empty for none.
    ///
    /// # Errors
    /// As [`Self::take_role`].
    pub fn role_setting(&self, name: &str) -> Result<String, EngineError> {
        if name == "none" {
            return Ok(String::new());
        }
        let snapshot = self.snapshot();
        let role = self.role_named_in(&snapshot, name).ok_or_else(|| no_such_value(name))?;
        if !Roles::of(snapshot.access()).is_member(self.session_role(), role) {
            let message = format!("permission denied to set role \"{name}\"");
            return Err(EngineError::new(SqlState::InsufficientPrivilege, message));
        }
        Ok(role.0.to_string())
    }

    /// Gives the session another role and takes back SET ROLE, or with `None` returns to what it began with: SET SESSION AUTHORIZATION.
    ///
    /// # Errors
    /// For a role that does not exist (22023), and a session that was not opened for a superuser (42501).
    pub fn authorize_session(&self, name: Option<&str>, scope: Scope) -> Result<(), EngineError> {
        let Some(name) = name else {
            self.change_settings(|settings| {
                settings.reset("session_authorization", scope);
                settings.reset("role", scope);
            });
            return Ok(());
        };
        let snapshot = self.snapshot();
        let role = self.role_named_in(&snapshot, name).ok_or_else(|| no_such_value(name))?;
        if role != self.login_role() && !Roles::of(snapshot.access()).is_superuser(self.login_role()) {
            let message = format!("permission denied to set session authorization \"{name}\"");
            return Err(EngineError::new(SqlState::InsufficientPrivilege, message));
        }
        self.change_settings(|settings| {
            settings.set("session_authorization", role.0.to_string(), scope);
            settings.set("role", String::new(), scope);
        });
        Ok(())
    }

    /// Makes the current role the owner of what a statement has created, with the privileges that its new objects have.
    pub fn own_new_objects(&self, writes: &mut WriteSet, view: &Catalog) {
        let new = writes.take_new_objects();
        if view.access().is_empty() || new.is_empty() {
            return;
        }
        let owner = self.current_role();
        let is_temporary_schema = |new: &NewObject| match new.object {
            AccessObject::Schema(id) => writes.is_temporary_schema(view, id),
            _ => false,
        };
        // Those of sessions belong to the bootstrap superuser.
        let new: Vec<NewObject> = new.into_iter().filter(|new| !is_temporary_schema(new)).collect();
        for NewObject { object, kind, schema } in new {
            let list = ObjectAccess::of(view).list_of_new(owner, kind, schema);
            writes.set_access(view, AccessEntry::Owner { object, owner });
            if let Some(acl) = list {
                writes.set_access(view, AccessEntry::Privileges { object, acl });
            }
        }
    }

    /// Gives the bootstrap superuser a name, before roles are changed.
    pub fn name_bootstrap_role(&self, writes: &mut WriteSet, view: &Catalog) {
        if view.access().role(RoleId::BOOTSTRAP).is_none() {
            writes.set_access(view, AccessEntry::Role(self.bootstrap_role()));
        }
    }

    /// The bootstrap superuser, with the name that it gets.
    pub fn bootstrap_role(&self) -> RoleDef {
        RoleDef {
            id: RoleId::BOOTSTRAP,
            name: self.login_name().to_owned(),
            attributes: RoleAttributes::ALL,
            connection_limit: -1,
            password: None,
            valid_until_us: None,
            settings: Vec::new(),
        }
    }
}

fn no_such_value(name: &str) -> EngineError {
    EngineError::new(SqlState::InvalidParameterValue, format!("role \"{name}\" does not exist"))
}

fn role_of(settings: &SettingValues) -> Option<RoleId> {
    settings.get("role")?.parse().ok().map(RoleId)
}

fn session_role_of(settings: &SettingValues) -> Option<RoleId> {
    settings.get("session_authorization")?.parse().ok().map(RoleId)
}
