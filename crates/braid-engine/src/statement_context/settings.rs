//! The settings of a session: what they are, and how one gets another value.

use braid_base::ByteSize;
use braid_buffer::ScanPolicy;
use braid_sql::SqlError;
use braid_sql::functions::SettingChanges;

use super::StatementContext;
use crate::settings::{
    Definition, Domain, ProvidedValues, Scope, SettingName, SettingSource, SettingValues, setting_name,
};
use crate::{EngineError, SqlState, TransactionStatus};

impl StatementContext {
    /// The settings as they are now.
    pub fn settings(&self) -> SettingValues {
        self.shared.state.lock().settings.clone()
    }

    /// Changes the settings.
    pub fn change_settings(&self, change: impl FnOnce(&mut SettingValues)) {
        change(&mut self.shared.state.lock().settings);
    }

    /// The value of a setting as SHOW prints it; `None` for an unknown one.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.settings().shown_by_name(name, &self.provided_values(), &self.identity())
    }

    /// The value that SHOW prints.
    pub fn shown(&self, definition: &Definition) -> String {
        self.settings().shown(definition, &self.provided_values(), &self.identity())
    }

    /// The values of settings that the database provides.
    pub fn provided_values(&self) -> ProvidedValues {
        let config = self.database().config();
        ProvidedValues {
            scan_policy: self.database().buffer().policy(),
            query_memory: config.query_memory,
            target_partitions: config.target_partitions,
            data_directory: config.data_dir.display().to_string(),
            connections_max: config.connections_max,
        }
    }

    /// The value that a setting has as long as the session does not set it.
    pub fn default_of(&self, definition: &Definition) -> String {
        self.provided_values().default_of(definition)
    }

    /// The value that RESET gives a setting.
    fn reset_value(&self, definition: &Definition) -> String {
        let own = self.settings().reset_value(definition.name).map(str::to_owned);
        own.unwrap_or_else(|| self.default_of(definition))
    }

    /// Sets one setting; `None` for what the session began with.
    ///
    /// # Errors
    /// For an unknown setting (42704), and a value that it does not take.
    pub fn assign_setting(&self, name: &str, value: Option<&str>, mut scope: Scope) -> Result<(), EngineError> {
        let definition = match (setting_name(name)?, value) {
            (SettingName::Known(definition), _) => definition,
            (SettingName::Custom(name), Some(value)) => {
                self.change_settings(|settings| settings.set_custom(&name, value.to_owned(), scope));
                return Ok(());
            }
            (SettingName::Custom(name), None) => {
                self.change_settings(|settings| settings.reset_custom(&name, scope));
                return Ok(());
            }
        };
        self.check_may_set(definition)?;
        let Some(value) = value else { return self.reset(definition, scope) };
        match definition.name {
            "role" => return self.take_role(value, scope),
            "session_authorization" => return self.authorize_session(Some(value), scope),
            _ => {}
        }
        let canonical = self.canonical(definition, value)?;
        if definition.is_of_transaction() {
            self.change_transaction(definition, &canonical)?;
            // It is that of the transaction, and ends with it.
            scope = Scope::Local;
        }
        if matches!(definition.domain, Domain::ScanPolicy) {
            return self.set_policy(&canonical);
        }
        self.change_settings(|settings| settings.set(definition.name, canonical, scope));
        Ok(())
    }

    /// Lets the session begin with a value, which RESET returns to. What is set for databases and roles was checked when it was set.
    ///
    /// # Errors
    /// As [`Self::assign_setting`].
    pub fn begin_with_setting(&self, name: &str, value: &str, source: SettingSource) -> Result<(), EngineError> {
        let definition = match setting_name(name)? {
            SettingName::Known(definition) => definition,
            SettingName::Custom(name) => {
                self.change_settings(|settings| settings.set_default(name, value.to_owned(), source));
                return Ok(());
            }
        };
        if source == SettingSource::Client {
            self.check_may_set(definition)?;
        }
        let value = match definition.name {
            "role" => self.role_setting(value)?,
            _ => self.canonical(definition, value)?,
        };
        match definition.domain {
            Domain::ScanPolicy => return self.set_policy(&value),
            // Each transaction begins with those of `default_transaction_…`.
            _ if definition.is_of_transaction() => return Ok(()),
            _ => {}
        }
        self.change_settings(|settings| settings.set_default(definition.name, value, source));
        Ok(())
    }

    /// A value in its canonical form.
    fn canonical(&self, definition: &Definition, value: &str) -> Result<String, EngineError> {
        let canonical = definition.canonical_over(value, &self.shown(definition), &self.reset_value(definition))?;
        let limit = self.database().config().total_memory;
        if matches!(definition.domain, Domain::Bytes) && canonical.parse().is_ok_and(|size: ByteSize| size > limit) {
            let message = format!("{} cannot exceed the total budget of all queries, {limit}", definition.name);
            return Err(EngineError::new(SqlState::InvalidParameterValue, message));
        }
        Ok(canonical)
    }

    /// What the transaction is to be, before its setting shows it. Outside of a block that lasts for the statement.
    fn change_transaction(&self, definition: &Definition, value: &str) -> Result<(), EngineError> {
        if self.transaction_status() == TransactionStatus::Idle {
            return Ok(());
        }
        match (definition.name, value) {
            ("transaction_read_only", "on") => self.restrict_block_to_reads(),
            ("transaction_read_only", _) => self.allow_writes()?,
            ("transaction_isolation", level) => self.check_may_change_isolation(level)?,
            _ => {}
        }
        Ok(())
    }

    /// Checks that the current role may set a setting: some are for superusers.
    pub fn check_may_set(&self, definition: &Definition) -> Result<(), EngineError> {
        match definition.is_of_superusers() && !self.identity().is_superuser {
            true => {
                let message = format!("permission denied to set parameter \"{}\"", definition.name);
                Err(EngineError::new(SqlState::InsufficientPrivilege, message))
            }
            false => Ok(()),
        }
    }

    /// RESET of one setting.
    ///
    /// # Errors
    /// For an unknown setting (42704), and one that cannot be changed.
    pub fn reset_setting(&self, name: &str) -> Result<(), EngineError> {
        match setting_name(name)? {
            SettingName::Known(definition) => {
                self.check_may_set(definition)?;
                self.reset(definition, Scope::Session)
            }
            SettingName::Custom(name) => {
                self.change_settings(|settings| settings.reset_custom(&name, Scope::Session));
                Ok(())
            }
        }
    }

    /// Sets the scan policy of the buffer, which applies to all sessions.
    fn set_policy(&self, policy: &str) -> Result<(), EngineError> {
        let policy: ScanPolicy = policy
            .parse()
            .map_err(|_| EngineError::internal(format!("{policy} is a valid scan policy but does not parse")))?;
        self.database().buffer().set_policy(policy);
        Ok(())
    }

    fn reset(&self, definition: &'static Definition, scope: Scope) -> Result<(), EngineError> {
        match definition.domain {
            _ if definition.name == "session_authorization" => return self.authorize_session(None, scope),
            _ if definition.is_fixed() => return Err(definition.cannot_be_changed()),
            Domain::ScanPolicy => self.database().buffer().set_policy(self.database().config().policy),
            _ => self.change_settings(|settings| settings.reset(definition.name, scope)),
        }
        Ok(())
    }
}

impl SettingChanges for StatementContext {
    fn set(&self, name: &str, value: Option<&str>, is_local: bool) -> Result<String, SqlError> {
        let scope = if is_local { Scope::Local } else { Scope::Session };
        let changed = self.assign_setting(name, value, scope);
        changed.map_err(|error| SqlError::new(error.state(), error.message()))?;
        Ok(self.setting(name).unwrap_or_default())
    }
}
