//! A common table or a recursion while it runs: what makes its rows, and the tables around it.

use std::sync::Arc;

use parking_lot::Mutex;

use super::recursive_rows::SeenRows;
use crate::plan::{CteId, Plan, RecursionSpec};
use crate::runtime::turn::Turn;
use crate::spill::{Spool, SpooledRows};

/// The common tables around an operator, the innermost one first.
#[derive(Clone, Default)]
pub(super) struct Scope(Option<Arc<Entry>>);

struct Entry {
    cte: CteId,
    table: Arc<CommonTable>,
    around: Scope,
}

/// A common table of a run.
pub(super) struct CommonTable {
    pub(super) definition: Definition,
    /// The common tables around the definition.
    pub(super) scope: Scope,
    /// Whether the order of the rows matters.
    pub(super) in_order: bool,
    /// The rows, once they are made.
    pub(super) rows: Mutex<Option<Arc<SpooledRows>>>,
}

/// What makes the rows of a common table.
pub(super) enum Definition {
    Plan(Plan),
    Recursion {
        recursion: Arc<Recursion>,
        /// Whether the only scan gets the rows while they are made.
        is_streamed: bool,
    },
    /// The rows are those that the last step of a recursion made.
    LastStep,
}

impl CommonTable {
    /// A table whose rows are not made yet.
    pub(super) fn new(definition: Definition, scope: &Scope, in_order: bool) -> Self {
        Self { definition, scope: scope.clone(), in_order, rows: Mutex::default() }
    }

    /// The rows of the last step.
    pub(super) fn of_rows(rows: SpooledRows) -> Self {
        let rows = Mutex::new(Some(Arc::new(rows)));
        Self { definition: Definition::LastStep, scope: Scope::default(), in_order: false, rows }
    }
}

impl Scope {
    /// The same tables and one more.
    pub(super) fn with(&self, cte: CteId, table: Arc<CommonTable>) -> Self {
        Self(Some(Arc::new(Entry { cte, table, around: self.clone() })))
    }

    /// The innermost table of this number. Panics if there is none.
    pub(super) fn table(&self, wanted: CteId) -> &Arc<CommonTable> {
        let mut scope = self;
        loop {
            let Entry { cte, table, around } = scope.0.as_deref().expect("a scan is in the body of its common table");
            if *cte == wanted {
                return table;
            }
            scope = around;
        }
    }
}

/// A recursion, before it runs.
pub(super) struct Recursion {
    pub(super) spec: RecursionSpec,
    pub(super) start: Plan,
    pub(super) step: Plan,
}

impl Recursion {
    /// Number of columns of its rows.
    pub(super) fn column_count(&self) -> usize {
        self.spec.column_count
    }
}

/// A recursion between two steps.
pub(super) struct RunningRecursion {
    pub(super) recursion: Arc<Recursion>,
    /// The common tables around it.
    pub(super) scope: Scope,
    /// The rows so far, if equal rows come once.
    pub(super) seen: Option<Arc<SeenRows>>,
    /// The rows of the last step; `None` before the start.
    pub(super) last: Option<Arc<Spool>>,
    /// The step with the values of its scalar subqueries, from the first step on.
    pub(super) step: Option<Arc<Plan>>,
    /// Where all rows are kept, if they are.
    pub(super) kept: Option<Arc<Spool>>,
    pub(super) turn: Turn,
}
