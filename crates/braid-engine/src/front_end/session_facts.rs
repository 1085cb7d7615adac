//! What expressions ask of the session.

use std::borrow::Cow;
use std::fmt;

use arrow::array::timezone::Tz;
use braid_sql::functions::SessionFacts;

use crate::clock::{Instants, read_clock_us};
use crate::names::DATABASE_NAME;
use crate::statement_context::StatementContext;

/// The session of a statement, with the instants at which it began.
#[derive(Clone)]
pub(crate) struct StatementFacts<'a> {
    context: Cow<'a, StatementContext>,
    instants: Instants,
}

impl<'a> StatementFacts<'a> {
    pub fn of(context: &'a StatementContext) -> Self {
        Self { context: Cow::Borrowed(context), instants: context.instants() }
    }

    /// The same for what runs on other threads.
    pub fn to_owned(&self) -> StatementFacts<'static> {
        StatementFacts { context: Cow::Owned(self.context.as_ref().clone()), instants: self.instants }
    }
}

impl fmt::Debug for StatementFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementFacts").field("instants", &self.instants).finish_non_exhaustive()
    }
}

impl SessionFacts for StatementFacts<'_> {
    fn zone(&self) -> Tz {
        self.context.settings().zone()
    }

    fn zone_name(&self) -> String {
        self.setting("TimeZone").unwrap_or_else(|| "UTC".to_owned())
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
        self.context.user().to_owned()
    }

    fn database(&self) -> String {
        DATABASE_NAME.to_owned()
    }

    fn session_id(&self) -> i32 {
        self.context.session_id()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.context.setting(name)
    }
}
