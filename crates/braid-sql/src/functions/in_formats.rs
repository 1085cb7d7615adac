//! A session with other formats than its own.
//!
//! Stored texts are read in the default formats, whoever reads them, and values that go through a text to be read again are written so.

use std::sync::Arc;

use super::advisory::AdvisoryLocks;
use super::backends::Backends;
use super::literal_notes::LiteralNotes;
use super::numbers::random::SessionRandom;
use super::{Notifications, ObjectNames, Sequences, SessionFacts, SettingChanges};
use crate::SearchPath;
use crate::formats::Formats;
use crate::input::time_zones::TimeZone;

/// A session with these formats.
#[derive(Debug)]
pub struct InFormats<'a> {
    session: &'a dyn SessionFacts,
    formats: Formats,
}

impl<'a> InFormats<'a> {
    /// The session with the default formats.
    pub fn of_stored_texts(session: &'a dyn SessionFacts) -> Self {
        Self { session, formats: Formats::default() }
    }
}

impl SessionFacts for InFormats<'_> {
    fn zone(&self) -> TimeZone {
        self.session.zone()
    }

    fn zone_name(&self) -> String {
        self.session.zone_name()
    }

    fn formats(&self) -> Formats {
        self.formats
    }

    fn transaction_us(&self) -> i64 {
        self.session.transaction_us()
    }

    fn statement_us(&self) -> i64 {
        self.session.statement_us()
    }

    fn clock_us(&self) -> i64 {
        self.session.clock_us()
    }

    fn user(&self) -> String {
        self.session.user()
    }

    fn session_user(&self) -> String {
        self.session.session_user()
    }

    fn database(&self) -> String {
        self.session.database()
    }

    fn session_id(&self) -> i32 {
        self.session.session_id()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.session.setting(name)
    }

    fn objects(&self) -> Option<Arc<dyn ObjectNames>> {
        self.session.objects()
    }

    fn search_path(&self) -> SearchPath {
        self.session.search_path()
    }

    fn random(&self) -> Option<&SessionRandom> {
        self.session.random()
    }

    fn notifications(&self) -> Option<Arc<dyn Notifications>> {
        self.session.notifications()
    }

    fn sequences(&self) -> Option<Arc<dyn Sequences>> {
        self.session.sequences()
    }

    fn advisory_locks(&self) -> Option<Arc<dyn AdvisoryLocks>> {
        self.session.advisory_locks()
    }

    fn backends(&self) -> Option<Arc<dyn Backends>> {
        self.session.backends()
    }

    fn setting_changes(&self) -> Option<Arc<dyn SettingChanges>> {
        self.session.setting_changes()
    }

    fn literal_notes(&self) -> Option<&LiteralNotes> {
        self.session.literal_notes()
    }
}
