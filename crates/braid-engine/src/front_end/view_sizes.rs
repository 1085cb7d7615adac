//! How much the views of a query add to it: they may stand within each other, and each as often as it is named.

use std::collections::HashMap;

use braid_base::TableId;
use braid_sql::syntax::walk::{Tree, Walk};
use braid_sql::{SqlError, SqlState};
use braid_storage::{Catalog, SourceRelation, ViewDef};
use sqlparser::ast::{ObjectName, ObjectNamePart, Query};

use super::view_tables::REFRESHED_SCHEMA;
use crate::names::fold;
use crate::statement_limits::{DEPTH_MAX, EXPRESSIONS_MAX};

/// Most views within views, as the binder has it.
const VIEW_DEPTH_MAX: usize = 32;

/// Up to here a query with views is planned on the session's thread.
const BRIEF_LEVELS: usize = 24;
const BRIEF_EXPRESSIONS: usize = 256;
const BRIEF_RELATIONS: usize = 8;

/// Most relations of all views of a statement: their joins become one, which runs by recursion on threads whose stacks have room for two such.
const RELATIONS_MAX: usize = 128;

/// The views of a query with all that are within them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ViewsSize {
    /// Levels of expressions, queries and tables of those that stand within each other.
    pub levels: usize,
    /// Expressions of all.
    pub expressions: usize,
    /// Tables and relations of the system that they read.
    pub relations: usize,
    /// Views that stand within each other.
    pub depth: usize,
}

impl ViewsSize {
    /// The views that queries of one statement name.
    ///
    /// # Errors
    /// 54001 if they are too large.
    pub fn of<'q>(catalog: &Catalog, queries: impl IntoIterator<Item = &'q Query>) -> Result<Self, SqlError> {
        if catalog.views().by_id().is_empty() {
            return Ok(Self::default());
        }
        let mut names = Names::default();
        queries.into_iter().for_each(|query| query.walk(&mut names));
        let (mut known, mut size) = (HashMap::new(), Self::default());
        for (is_refreshed, name) in names.0 {
            let refreshed = name.parse().ok().filter(|_| is_refreshed).and_then(|id| catalog.view_by_id(TableId(id)));
            // Those of all schemas: which one is meant is not known yet.
            let named = catalog.views().named(&name).filter(|view| !view.is_materialized());
            for view in refreshed.into_iter().chain(named) {
                size.add(within(catalog, view, &mut known, 0), 1);
            }
        }
        size.check()?;
        Ok(size)
    }

    /// Whether planning them takes no longer than a turn of the session's thread.
    pub fn is_brief(self) -> bool {
        self.levels <= BRIEF_LEVELS && self.expressions <= BRIEF_EXPRESSIONS && self.relations <= BRIEF_RELATIONS
    }

    /// Checks that a view with a query that has these views can be named by other queries.
    ///
    /// # Errors
    /// 54001 for too many views within views.
    pub fn check_within_view(self) -> Result<(), SqlError> {
        if self.depth < VIEW_DEPTH_MAX {
            return Ok(());
        }
        let detail =
            format!("There are {} views within each other; at most {VIEW_DEPTH_MAX} are planned.", self.depth + 1);
        Err(SqlError::new(SqlState::StatementTooComplex, "the statement is too complex").with_detail(detail))
    }

    fn add(&mut self, other: Self, uses: usize) {
        self.levels = self.levels.max(other.levels);
        self.depth = self.depth.max(other.depth);
        self.expressions = self.expressions.saturating_add(other.expressions.saturating_mul(uses));
        self.relations = self.relations.saturating_add(other.relations.saturating_mul(uses));
    }

    fn check(self) -> Result<(), SqlError> {
        let limits = [
            ("levels of expressions, queries and tables in its views", self.levels, DEPTH_MAX),
            ("expressions in its views", self.expressions, EXPRESSIONS_MAX),
            ("relations in its views", self.relations, RELATIONS_MAX),
        ];
        match limits.into_iter().find(|(_, value, limit)| value > limit) {
            None => Ok(()),
            Some((what, value, limit)) => {
                let detail = format!("It has {value} {what}; at most {limit} are planned.");
                Err(SqlError::new(SqlState::StatementTooComplex, "the statement is too complex").with_detail(detail))
            }
        }
    }
}

/// A view with all that are within it. Views do not contain themselves.
fn within(catalog: &Catalog, view: &ViewDef, known: &mut HashMap<TableId, ViewsSize>, depth: usize) -> ViewsSize {
    if depth > DEPTH_MAX {
        return ViewsSize { levels: depth, depth, ..ViewsSize::default() };
    }
    if let Some(size) = known.get(&view.id) {
        return *size;
    }
    let mut inner = ViewsSize::default();
    for source in &view.sources {
        if let SourceRelation::Stored { id, .. } = source.relation
            && let Some(source_view) = catalog.view_by_id(id).filter(|view| !view.is_materialized())
        {
            inner.add(within(catalog, source_view, known, depth + 1), source.uses as usize);
        } else {
            inner.relations = inner.relations.saturating_add(source.uses as usize);
        }
    }
    let size = ViewsSize {
        levels: inner.levels.saturating_add(view.size.levels as usize),
        expressions: inner.expressions.saturating_add(view.size.expressions as usize),
        relations: inner.relations,
        depth: inner.depth + 1,
    };
    known.insert(view.id, size);
    size
}

/// The last parts of the names of relations in a query, and whether each is of a view that is refreshed.
#[derive(Default)]
struct Names(Vec<(bool, String)>);

impl Walk for Names {
    fn enter_relation(&mut self, name: &ObjectName) {
        let first = name.0.first().and_then(ObjectNamePart::as_ident);
        let is_refreshed = first.is_some_and(|first| first.value == REFRESHED_SCHEMA);
        self.0.extend(name.0.last().and_then(ObjectNamePart::as_ident).map(|last| (is_refreshed, fold(last))));
    }
}
