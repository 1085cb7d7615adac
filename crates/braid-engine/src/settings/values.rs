//! A session's values of the settings, and the effect of transaction blocks on them.
//!
//! Rules, as in PostgreSQL: SET within a block is undone by ROLLBACK; SET LOCAL is undone at the block's end either way.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use braid_sql::input::time_zones::TimeZone;

use super::definition::milliseconds;
use crate::input::datetime::utc;

/// The values that differ from the defaults, by the setting's name. Shared until one is set: each statement looks at them.
type Overrides = Arc<BTreeMap<Cow<'static, str>, String>>;

/// The settings that are the session's roles.
const ROLES: [&str; 2] = ["role", "session_authorization"];

/// The scope of a SET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Until the session ends.
    Session,
    /// Until the transaction block ends.
    Local,
}

/// A session's settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingValues {
    current: Overrides,
    /// The values that the session begins with, of its role.
    defaults: Overrides,
    block: Option<Block>,
    /// The names of customized options that were set once. They stay known, with an empty text for a value.
    custom: Arc<BTreeSet<String>>,
}

/// The values to restore at the end of a transaction block.
#[derive(Clone, Debug)]
struct Block {
    if_rolled_back: Overrides,
    if_committed: Overrides,
}

impl SettingValues {
    /// The settings of a session that begins with these values.
    pub fn with_defaults(defaults: impl IntoIterator<Item = (String, String)>) -> Self {
        let defaults: BTreeMap<Cow<'static, str>, String> =
            defaults.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect();
        let custom = defaults.keys().filter(|name| name.contains('.')).map(|name| name.to_string()).collect();
        Self { defaults: Arc::new(defaults), custom: Arc::new(custom), ..Self::default() }
    }

    /// The value that was set; `None` for the default. `name` is the definition's.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.current.get(name).or_else(|| self.defaults.get(name)).map(String::as_str)
    }

    /// The value of a customized option; `None` for one that was never set.
    pub fn custom(&self, name: &str) -> Option<&str> {
        self.custom.contains(name).then(|| self.get(name).unwrap_or_default())
    }

    /// Sets a customized option.
    pub fn set_custom(&mut self, name: &str, value: String, scope: Scope) {
        self.note_custom(name);
        self.set(name.to_owned(), value, scope);
    }

    /// Resets a customized option, which is known from then on.
    pub fn reset_custom(&mut self, name: &str) {
        self.note_custom(name);
        self.reset(name);
    }

    fn note_custom(&mut self, name: &str) {
        if !self.custom.contains(name) {
            Arc::make_mut(&mut self.custom).insert(name.to_owned());
        }
    }

    /// Sets a value in its canonical form.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: String, scope: Scope) {
        let name = name.into();
        match (&mut self.block, scope) {
            (Some(block), Scope::Session) => {
                Arc::make_mut(&mut block.if_committed).insert(name.clone(), value.clone());
                Arc::make_mut(&mut self.current).insert(name, value);
            }
            (None, Scope::Local) => {}
            _ => {
                Arc::make_mut(&mut self.current).insert(name, value);
            }
        }
    }

    /// Resets a setting to its default.
    pub fn reset(&mut self, name: &str) {
        Arc::make_mut(&mut self.current).remove(name);
        if let Some(block) = &mut self.block {
            Arc::make_mut(&mut block.if_committed).remove(name);
        }
    }

    /// Resets all settings to their defaults, but for the session's roles.
    pub fn reset_all(&mut self) {
        let is_kept = |name: &Cow<'static, str>| ROLES.contains(&&**name);
        let kept = |values: &Overrides| -> Overrides {
            let kept = values.iter().filter(|(name, _)| is_kept(name));
            Arc::new(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        };
        self.current = kept(&self.current);
        if let Some(block) = &mut self.block {
            block.if_committed = kept(&block.if_committed);
        }
    }

    /// Starts a transaction block.
    pub fn begin(&mut self) {
        let now = self.current.clone();
        self.block = Some(Block { if_rolled_back: now.clone(), if_committed: now });
    }

    /// Ends the block.
    pub fn commit(&mut self) {
        if let Some(block) = self.block.take() {
            self.current = block.if_committed;
        }
    }

    /// Ends the block, and undoes every SET in it.
    pub fn roll_back(&mut self) {
        if let Some(block) = self.block.take() {
            self.current = block.if_rolled_back;
        }
    }

    /// The session's time zone.
    pub fn zone(&self) -> TimeZone {
        self.get("TimeZone").and_then(|zone| zone.parse().ok()).unwrap_or_else(utc)
    }

    /// Idle limit of a client in a transaction block, in milliseconds.
    pub fn idle_in_transaction_timeout_ms(&self) -> Option<u64> {
        self.get("idle_in_transaction_session_timeout").and_then(milliseconds).filter(|ms| *ms > 0)
    }

    /// Limit of a query's predicted response time, in milliseconds.
    pub fn response_limit_ms(&self) -> Option<u64> {
        self.get("braid.response_limit").and_then(milliseconds).filter(|ms| *ms > 0)
    }

    /// Whether results of the session's queries are kept, and found.
    pub fn keeps_results(&self) -> bool {
        self.get("braid.result_cache") == Some("on")
    }

    /// Limit of a wait for a lock, in milliseconds.
    pub fn lock_timeout_ms(&self) -> Option<u64> {
        self.get("lock_timeout").and_then(milliseconds).filter(|ms| *ms > 0)
    }

    /// Time from which on a statement is told in the log, in milliseconds.
    pub fn slow_statement_ms(&self) -> Option<u64> {
        self.get("log_min_duration_statement").and_then(milliseconds)
    }

    /// Whether the log tells the texts of statements that fail.
    pub fn logs_failed_texts(&self) -> bool {
        !matches!(self.get("log_min_error_statement"), Some("log" | "fatal" | "panic"))
    }

    /// Time limit of a statement, in milliseconds.
    pub fn statement_timeout_ms(&self) -> Option<u64> {
        self.get("statement_timeout").and_then(milliseconds).filter(|ms| *ms > 0)
    }
}

#[cfg(test)]
mod tests {
    use braid_sql::input::time_zones::zone_offset_s;

    use super::*;

    fn set(values: &mut SettingValues, value: &str, scope: Scope) {
        values.set("application_name", value.to_owned(), scope);
    }

    fn shown(values: &SettingValues) -> Option<&str> {
        values.get("application_name")
    }

    #[test]
    fn a_block_keeps_or_undoes_what_was_set_in_it() {
        let mut values = SettingValues::default();
        set(&mut values, "a", Scope::Session);
        values.begin();
        set(&mut values, "b", Scope::Session);
        assert_eq!(shown(&values), Some("b"));
        values.roll_back();
        assert_eq!(shown(&values), Some("a"));
        values.begin();
        set(&mut values, "c", Scope::Session);
        set(&mut values, "d", Scope::Local);
        assert_eq!(shown(&values), Some("d"));
        values.commit();
        assert_eq!(shown(&values), Some("c"));
    }

    #[test]
    fn local_outside_a_block_does_nothing() {
        let mut values = SettingValues::default();
        set(&mut values, "x", Scope::Local);
        assert_eq!(shown(&values), None);
        set(&mut values, "y", Scope::Session);
        values.reset("application_name");
        assert_eq!(shown(&values), None);
    }

    #[test]
    fn customized_options_stay_known() {
        let mut values = SettingValues::default();
        assert_eq!(values.custom("a.b"), None);
        values.begin();
        values.set_custom("a.b", "x".to_owned(), Scope::Local);
        assert_eq!(values.custom("a.b"), Some("x"));
        values.commit();
        assert_eq!(values.custom("a.b"), Some(""));
        values.set_custom("a.b", "y".to_owned(), Scope::Session);
        values.reset_all();
        values.reset_custom("c.d");
        assert_eq!([values.custom("a.b"), values.custom("c.d"), values.custom("e.f")], [Some(""), Some(""), None]);
    }

    #[test]
    fn typed_values_come_from_texts() {
        let mut values = SettingValues::default();
        assert_eq!(values.statement_timeout_ms(), None);
        values.set("statement_timeout", "2s".to_owned(), Scope::Session);
        assert_eq!(values.statement_timeout_ms(), Some(2000));
        values.set("TimeZone", "<+02>-02".to_owned(), Scope::Session);
        assert_eq!(zone_offset_s(0, &values.zone()), 7200);
    }
}
