//! What expressions ask of the session.

use std::fmt;
use std::sync::{Arc, OnceLock};

use braid_catalog::CatalogNames;
use braid_sql::functions::advisory::AdvisoryLocks;
use braid_sql::functions::backends::Backends;
use braid_sql::functions::literal_notes::LiteralNotes;
use braid_sql::functions::numbers::random::SessionRandom;
use braid_sql::functions::{Notifications, ObjectNames, Sequences, SessionFacts, SettingChanges};
use braid_sql::input::time_zones::TimeZone;
use braid_sql::{Formats, SearchPath};

use super::server_facts::names_of;
use crate::clock::{Instants, read_clock_us};
use crate::settings::{Identity, ProvidedValues, SettingValues};
use crate::statement_context::StatementContext;

/// The session of a statement, with the instants at which it began.
#[derive(Clone, Copy)]
pub(crate) struct StatementFacts<'a> {
    context: &'a StatementContext,
    instants: Instants,
}

impl<'a> StatementFacts<'a> {
    pub fn of(context: &'a StatementContext) -> Self {
        let instants = match context.former_reading() {
            Some(former) => Instants { statement_us: former.session.now_us, transaction_us: former.session.now_us },
            None => context.instants(),
        };
        Self { context, instants }
    }

    /// The same as they are now, for operators and for plans that are kept. They do not hold the database, which holds the plans.
    pub fn to_kept(self) -> KeptFacts {
        let settings = self.context.settings();
        KeptFacts {
            zone: settings.zone(),
            formats: settings.formats(),
            settings,
            provided: self.context.provided_values(),
            identity: self.context.identity(),
            database: self.context.database_name().to_owned(),
            session_id: self.context.session_id(),
            path: self.context.search_path(),
            random: self.context.random().clone(),
            names: None,
            instants: self.instants,
        }
    }
}

impl KeptFacts {
    /// The same for one statement, which may look names up.
    pub fn with_names(self, context: &StatementContext) -> Self {
        Self { names: Some(StatementNames { context: context.clone(), names: OnceLock::new() }), ..self }
    }
}

impl fmt::Debug for StatementFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementFacts").field("instants", &self.instants).finish_non_exhaustive()
    }
}

impl SessionFacts for StatementFacts<'_> {
    fn zone(&self) -> TimeZone {
        self.context.former_reading().map_or_else(|| self.context.settings().zone(), |former| former.session.zone)
    }

    fn formats(&self) -> Formats {
        let former = self.context.former_reading();
        former.map_or_else(|| self.context.settings().formats(), |former| former.session.formats)
    }

    fn literal_notes(&self) -> Option<&LiteralNotes> {
        self.context.former_reading().map(|former| &former.notes)
    }

    fn zone_name(&self) -> String {
        zone_name(self)
    }

    fn transaction_us(&self) -> i64 {
        self.instants.transaction_us
    }

    fn statement_us(&self) -> i64 {
        self.instants.statement_us
    }

    fn clock_us(&self) -> i64 {
        read_clock_us()
    }

    fn user(&self) -> String {
        self.context.current_user()
    }

    fn session_user(&self) -> String {
        self.context.identity().session_user
    }

    fn database(&self) -> String {
        self.context.database_name().to_owned()
    }

    fn session_id(&self) -> i32 {
        self.context.session_id()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.context.setting(name)
    }

    fn search_path(&self) -> SearchPath {
        self.context.search_path()
    }

    fn random(&self) -> Option<&SessionRandom> {
        Some(self.context.random())
    }

    fn objects(&self) -> Option<Arc<dyn ObjectNames>> {
        Some(Arc::new(names_of(self.context)))
    }

    fn notifications(&self) -> Option<Arc<dyn Notifications>> {
        Some(self.context.notifications().clone())
    }

    fn sequences(&self) -> Option<Arc<dyn Sequences>> {
        Some(Arc::new(self.context.clone()))
    }

    fn advisory_locks(&self) -> Option<Arc<dyn AdvisoryLocks>> {
        Some(Arc::new(self.context.clone()))
    }

    fn backends(&self) -> Option<Arc<dyn Backends>> {
        Some(Arc::new(self.context.clone()))
    }

    fn setting_changes(&self) -> Option<Arc<dyn SettingChanges>> {
        Some(Arc::new(self.context.clone()))
    }
}

/// The names that a statement looks up, taken when it first does.
#[derive(Clone, Debug)]
struct StatementNames {
    context: StatementContext,
    names: OnceLock<Arc<CatalogNames>>,
}

/// What a session was when a statement was planned. Later changes of its settings do not show.
#[derive(Clone, Debug)]
pub(crate) struct KeptFacts {
    zone: TimeZone,
    formats: Formats,
    settings: SettingValues,
    provided: ProvidedValues,
    identity: Identity,
    database: String,
    session_id: i32,
    path: SearchPath,
    random: SessionRandom,
    /// None in plans that outlive their statement, and would keep what it has read.
    names: Option<StatementNames>,
    instants: Instants,
}

impl SessionFacts for KeptFacts {
    fn zone(&self) -> TimeZone {
        self.zone
    }

    fn formats(&self) -> Formats {
        self.formats
    }

    fn zone_name(&self) -> String {
        zone_name(self)
    }

    fn transaction_us(&self) -> i64 {
        self.instants.transaction_us
    }

    fn statement_us(&self) -> i64 {
        self.instants.statement_us
    }

    fn clock_us(&self) -> i64 {
        read_clock_us()
    }

    fn user(&self) -> String {
        self.identity.current_user.clone()
    }

    fn session_user(&self) -> String {
        self.identity.session_user.clone()
    }

    fn database(&self) -> String {
        self.database.clone()
    }

    fn session_id(&self) -> i32 {
        self.session_id
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.settings.shown_by_name(name, &self.provided, &self.identity)
    }

    fn search_path(&self) -> SearchPath {
        self.path.clone()
    }

    fn random(&self) -> Option<&SessionRandom> {
        Some(&self.random)
    }

    fn objects(&self) -> Option<Arc<dyn ObjectNames>> {
        let StatementNames { context, names } = self.names.as_ref()?;
        Some(names.get_or_init(|| Arc::new(names_of(context))).clone())
    }

    /// None in plans that outlive their statement: they would keep the session listening.
    fn notifications(&self) -> Option<Arc<dyn Notifications>> {
        Some(self.names.as_ref()?.context.notifications().clone())
    }

    fn sequences(&self) -> Option<Arc<dyn Sequences>> {
        Some(Arc::new(self.names.as_ref()?.context.clone()))
    }

    fn advisory_locks(&self) -> Option<Arc<dyn AdvisoryLocks>> {
        Some(Arc::new(self.names.as_ref()?.context.clone()))
    }

    fn backends(&self) -> Option<Arc<dyn Backends>> {
        Some(Arc::new(self.names.as_ref()?.context.clone()))
    }

    fn setting_changes(&self) -> Option<Arc<dyn SettingChanges>> {
        Some(Arc::new(self.names.as_ref()?.context.clone()))
    }
}

fn zone_name(facts: &dyn SessionFacts) -> String {
    facts.setting("TimeZone").unwrap_or_else(|| "UTC".to_owned())
}
