//! A session's values of the settings, and the effect of transaction blocks on them.
//!
//! Rules, as in PostgreSQL: SET within a block is undone by ROLLBACK; SET LOCAL is undone at the block's end either way. RESET, and SET to
//! DEFAULT, return to what the session began with: the value of its startup packet, or else of the role and the database
//! ([`SettingSource`]), or else the default of the server.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use braid_sql::Formats;
use braid_sql::encodings::Encoding;
use braid_sql::input::time_zones::TimeZone;

use super::definition::milliseconds;
use super::sources::SettingSource;
use crate::input::datetime::utc;

/// The values that differ from the defaults, by the setting's name. Shared until one is set: each statement looks at them.
type Overrides = Arc<BTreeMap<Cow<'static, str>, String>>;

/// The values that a session begins with, and where they are from.
type Defaults = Arc<BTreeMap<Cow<'static, str>, (String, SettingSource)>>;

/// The settings that RESET ALL keeps: the session's roles, and what its transaction is.
const KEPT_BY_RESET_ALL: [&str; 5] =
    ["role", "session_authorization", "transaction_deferrable", "transaction_isolation", "transaction_read_only"];

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
    defaults: Defaults,
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
    /// Lets the session begin with a value in its canonical form, unless it has one of a stronger source.
    pub fn set_default(&mut self, name: impl Into<Cow<'static, str>>, value: String, source: SettingSource) {
        let name = name.into();
        if self.defaults.get(&name).is_some_and(|(_, known)| *known > source) {
            return;
        }
        if name.contains('.') {
            self.note_custom(&name);
        }
        Arc::make_mut(&mut self.defaults).insert(name, (value, source));
    }

    /// The value that was set; `None` for the default. `name` is the definition's.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.current.get(name).map(String::as_str).or_else(|| self.reset_value(name))
    }

    /// The value that the session began with; `None` for the default of the server.
    pub fn reset_value(&self, name: &str) -> Option<&str> {
        self.defaults.get(name).map(|(value, _)| value.as_str())
    }

    /// Where the value is from.
    pub fn source(&self, name: &str) -> SettingSource {
        match self.current.contains_key(name) {
            true => SettingSource::Session,
            false => self.defaults.get(name).map_or(SettingSource::Default, |(_, source)| *source),
        }
    }

    /// What changes whenever a value does.
    pub fn stamp(&self) -> SettingsStamp {
        SettingsStamp(self.current.clone(), self.defaults.clone())
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
    pub fn reset_custom(&mut self, name: &str, scope: Scope) {
        self.note_custom(name);
        self.reset(name, scope);
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

    /// Resets a setting to what the session began with.
    pub fn reset(&mut self, name: &str, scope: Scope) {
        match (&mut self.block, scope) {
            (None, Scope::Local) => return,
            (Some(block), Scope::Session) => remove(&mut block.if_committed, name),
            _ => {}
        }
        remove(&mut self.current, name);
    }

    /// Resets all settings to what the session began with, but for [`KEPT_BY_RESET_ALL`].
    pub fn reset_all(&mut self) {
        let is_kept = |name: &Cow<'static, str>| KEPT_BY_RESET_ALL.contains(&&**name);
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

    /// How the session reads and writes values.
    pub fn formats(&self) -> Formats {
        Formats::of_settings(
            self.get("DateStyle"),
            self.get("IntervalStyle"),
            self.get("bytea_output"),
            self.get("extra_float_digits"),
        )
    }

    /// The client's encoding.
    pub fn client_encoding(&self) -> Encoding {
        self.get("client_encoding").and_then(Encoding::named).unwrap_or(Encoding::UTF8)
    }

    /// Idle limit of a client in a transaction block, in milliseconds.
    pub fn idle_in_transaction_timeout_ms(&self) -> Option<u64> {
        self.get("idle_in_transaction_session_timeout").and_then(milliseconds).filter(|ms| *ms > 0)
    }

    /// Idle limit of a client outside of transaction blocks, in milliseconds.
    pub fn idle_session_timeout_ms(&self) -> Option<u64> {
        self.get("idle_session_timeout").and_then(milliseconds).filter(|ms| *ms > 0)
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

/// A state of a session's settings, to be compared with a later one. It holds the state, so that equal stamps mean equal values.
#[derive(Clone, Debug)]
pub struct SettingsStamp(Overrides, Defaults);

impl PartialEq for SettingsStamp {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) && Arc::ptr_eq(&self.1, &other.1)
    }
}

fn remove(values: &mut Overrides, name: &str) {
    if values.contains_key(name) {
        Arc::make_mut(values).remove(name);
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
        values.reset("application_name", Scope::Session);
        assert_eq!(shown(&values), None);
    }

    #[test]
    fn changes_are_noticed_at_the_end_of_a_block_too() {
        let mut values = SettingValues::default();
        values.begin();
        let before = values.stamp();
        set(&mut values, "a", Scope::Local);
        assert!(values.stamp() != before);
        let within = values.stamp();
        values.commit();
        assert!(values.stamp() != within && values.stamp() == before);
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
        values.reset_custom("c.d", Scope::Session);
        assert_eq!([values.custom("a.b"), values.custom("c.d"), values.custom("e.f")], [Some(""), Some(""), None]);
    }

    #[test]
    fn reset_returns_to_what_the_session_began_with() {
        let mut values = SettingValues::default();
        values.set_default("application_name", "role".to_owned(), SettingSource::User);
        values.set_default("application_name", "database".to_owned(), SettingSource::Database);
        assert_eq!((shown(&values), values.source("application_name")), (Some("role"), SettingSource::User));
        values.set_default("application_name", "client".to_owned(), SettingSource::Client);
        set(&mut values, "a", Scope::Session);
        assert_eq!((shown(&values), values.source("application_name")), (Some("a"), SettingSource::Session));
        values.begin();
        values.reset("application_name", Scope::Local);
        assert_eq!(shown(&values), Some("client"));
        values.commit();
        assert_eq!(shown(&values), Some("a"));
        let stamp = values.stamp();
        assert_eq!(values.stamp(), stamp);
        values.reset_all();
        assert_eq!((shown(&values), values.source("application_name")), (Some("client"), SettingSource::Client));
        assert_ne!(values.stamp(), stamp);
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
