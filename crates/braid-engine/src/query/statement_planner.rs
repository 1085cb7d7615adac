//! The planner of a session's statement, and what the statement may ask about its session.

use super::planner::Planner;
use super::rewrite::SessionFacts;
use crate::clock::Instants;
use crate::statement_context::StatementContext;

impl Planner {
    /// A planner for the next statement, on the snapshot that it reads.
    pub fn of(context: &StatementContext) -> Self {
        let snapshot = context.snapshot();
        let (state, runtime) = context.planner_state(&snapshot);
        Self::new(state, runtime).with_newer_system_tables(context.is_outdated(&snapshot))
    }
}

impl SessionFacts for StatementContext {
    fn user(&self) -> &str {
        Self::user(self)
    }

    fn session_id(&self) -> i32 {
        Self::session_id(self)
    }

    fn setting(&self, name: &str) -> Option<String> {
        Self::setting(self, name)
    }

    fn instants(&self) -> Instants {
        Self::instants(self)
    }
}
