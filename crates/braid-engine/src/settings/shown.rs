//! What SHOW prints of a setting.

use braid_base::ByteSize;
use braid_buffer::ScanPolicy;

use super::{Definition, SettingName, SettingValues, setting_name};

/// The values of settings that the session has not set and the database provides.
#[derive(Clone, Debug)]
pub(crate) struct ProvidedValues {
    /// `braid.scan_policy`
    pub scan_policy: ScanPolicy,
    /// `braid.query_memory`
    pub query_memory: ByteSize,
    /// `braid.target_partitions`
    pub target_partitions: usize,
    /// `data_directory`
    pub data_directory: String,
    /// `max_connections`
    pub connections_max: usize,
}

/// The names of a session's roles, for SHOW and for functions.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The role whose privileges count: `current_user`.
    pub current_user: String,
    /// The session's role: `session_user`.
    pub session_user: String,
    /// Whether SET ROLE has taken another role.
    pub is_role_set: bool,
    /// Whether the current role is a superuser.
    pub is_superuser: bool,
}

impl SettingValues {
    /// The value that SHOW prints of a name; `None` for an unknown one.
    pub fn shown_by_name(&self, name: &str, provided: &ProvidedValues, identity: &Identity) -> Option<String> {
        match setting_name(name).ok()? {
            SettingName::Known(definition) => Some(self.shown(definition, provided, identity)),
            SettingName::Custom(name) => self.custom(&name).map(str::to_owned),
        }
    }

    /// The value that SHOW prints. The database or the session provides some defaults.
    pub fn shown(&self, definition: &Definition, provided: &ProvidedValues, identity: &Identity) -> String {
        match definition.name {
            "is_superuser" => return if identity.is_superuser { "on" } else { "off" }.to_owned(),
            "role" if identity.is_role_set => return identity.current_user.clone(),
            "role" => return "none".to_owned(),
            "session_authorization" => return identity.session_user.clone(),
            _ => {}
        }
        if let Some(value) = self.get(definition.name) {
            return value.to_owned();
        }
        let default = |setting: &str| self.get(setting).unwrap_or(definition.default).to_owned();
        match definition.name {
            "transaction_deferrable" => default("default_transaction_deferrable"),
            "transaction_isolation" => default("default_transaction_isolation"),
            "transaction_read_only" => default("default_transaction_read_only"),
            _ => provided.default_of(definition),
        }
    }
}

impl ProvidedValues {
    /// The value that a setting has as long as no session sets it.
    pub fn default_of(&self, definition: &Definition) -> String {
        match definition.name {
            "braid.scan_policy" => self.scan_policy.to_string(),
            "braid.query_memory" => self.query_memory.to_string(),
            "braid.target_partitions" => self.target_partitions.to_string(),
            "data_directory" => self.data_directory.clone(),
            "max_connections" => self.connections_max.to_string(),
            _ => definition.default.to_owned(),
        }
    }
}
