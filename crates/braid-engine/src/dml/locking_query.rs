//! SELECT … FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE and FOR KEY SHARE: queries that lock the rows which they read.
//!
//! The query returns the identity of each row of a locked table behind its columns. All rows are found in one snapshot and locked before
//! the client gets any of them. If others have changed some of them meanwhile, the statement of a READ COMMITTED transaction begins anew on
//! the newest state, and that of any other transaction fails (40001). PostgreSQL reads only the changed rows again, so that its result may
//! be of no single state.
//!
//! With SKIP LOCKED, rows are locked one batch after the other, and those that others hold are left out. So are rows that others have changed
//! since the snapshot: they were locked a moment ago. LIMIT counts the rows that are left. The query runs with a limit that leaves room
//! for the rows which others hold now, and again with a higher one if too many have been left out.
//!
//! FOR KEY SHARE is taken for FOR SHARE, so that it also waits for updates of other columns than those of keys. FOR UPDATE locks the keys that
//! foreign keys refer to besides, so that no other transaction adds referencing rows.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use braid_sql::SqlType;
use braid_sql::syntax::{LockStrength, LockWait, fetch_count, locking_clauses};
use braid_storage::{Catalog, RowId, RowLockMode, RowLocking, RowState, TableVersion};
use sqlparser::ast::{Expr, Fetch, LimitClause, Offset, Query, SelectItem, SetExpr, Value};

use super::changed_rows::{Part, concurrent_update, query_of_text};
use super::found_rows::{FoundRows, is_own, row_of};
use super::locked_relations::{LockedTable, Names};
use crate::front_end::{self, DescribedPart, LockedQuery, LockedSyntax, PartQuery, ReturnedRows, StatementTables};
use crate::names::fold;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState, Statement};

/// Rows that a query finds beyond its LIMIT, beside those that others hold, so that it need not run again.
const SPARE_ROWS: u64 = 64;

/// A query with locking clauses.
pub(super) struct LockingQuery {
    syntax: LockedSyntax,
    tables: Vec<LockedTable>,
}

/// Where a statement is in the rows that LIMIT and OFFSET leave.
struct Window {
    skipped: u64,
    wanted: Option<u64>,
}

impl LockingQuery {
    /// The query, if it has locking clauses.
    ///
    /// # Errors
    /// For clauses that do not fit the query.
    pub fn of(
        context: &StatementContext,
        query: &Query,
        tables: &StatementTables,
    ) -> Result<Option<Self>, EngineError> {
        let clauses = locking_clauses(query)?;
        let Some(strength) = clauses.iter().map(|clause| clause.strength).max() else { return Ok(None) };
        let mut own = Query { locks: Vec::new(), ..unwrapped(query).clone() };
        let common: Vec<String> =
            own.with.iter().flat_map(|with| &with.cte_tables).map(|cte| fold(&cte.alias.name)).collect();
        let snapshot = tables.snapshot().unwrap_or_else(|| context.snapshot());
        let is_common_table = |name: &str| common.iter().any(|common| common == name) || tables.has(name);
        let names = Names { context, snapshot: &snapshot, is_common_table: &is_common_table };
        let locked = match &mut *own.body {
            SetExpr::Select(select) => {
                let locked = names.locked_tables(&mut select.from, &clauses)?;
                select.projection.extend(locked.iter().map(|table| SelectItem::UnnamedExpr(table.ids.clone())));
                locked
            }
            _ => Vec::new(),
        };
        if clauses.iter().any(|clause| clause.wait == LockWait::SkipLocked) && has_ties(&own) {
            let message = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(EngineError::new(SqlState::SyntaxError, message));
        }
        let syntax = LockedSyntax { query: own, strength, id_count: locked.len() };
        Ok(Some(Self { syntax, tables: locked }))
    }

    /// What is known of it as a part of a statement.
    pub async fn describe(
        &self,
        (context, statement): (&StatementContext, &Statement),
        tables: &StatementTables,
        declared: &[Option<SqlType>],
    ) -> Result<DescribedPart, EngineError> {
        front_end::describe_part(context, statement, PartQuery::Locked(&self.syntax), tables, declared).await
    }

    /// Finds and locks the rows; `None` if others have changed some of them meanwhile.
    ///
    /// # Errors
    /// Those of the query, what locks fail with, and 25006 in a transaction that only reads.
    pub async fn run(&self, part: Part<'_>) -> Result<Option<ReturnedRows>, EngineError> {
        let snapshot = part.tables.snapshot().unwrap_or_else(|| part.context.snapshot());
        if let Some(first) = self.tables.iter().find(|table| !snapshot.is_temporary(table.def.schema)) {
            part.context.check_may_write(&format!("SELECT {}", first.strength))?;
        }
        match self.tables.iter().any(|table| table.wait == LockWait::SkipLocked) {
            true => self.skip_locked(part, &snapshot).await,
            false => self.lock_all(part, &snapshot).await,
        }
    }

    async fn start(&self, part: Part<'_>, syntax: &LockedSyntax) -> Result<LockedQuery, EngineError> {
        LockedQuery::start(part.context, part.statement, syntax, (part.tables, part.parameters)).await
    }

    /// The versions of the tables that the query reads.
    fn versions(&self, snapshot: &Catalog) -> Option<Vec<Arc<TableVersion>>> {
        self.tables.iter().map(|table| snapshot.by_id(table.def.id).cloned()).collect()
    }

    async fn lock_all(&self, part: Part<'_>, snapshot: &Catalog) -> Result<Option<ReturnedRows>, EngineError> {
        // Rows that OFFSET passes over are locked, too.
        let own = &self.syntax.query;
        let window = match has_ties(own) || offset_of(own).is_none() {
            true => Window::ALL,
            false => Window::of(part, own).await?,
        };
        let mut query = match window.skipped {
            0 => self.start(part, &self.syntax).await?,
            _ => {
                let syntax = LockedSyntax { query: limited(own, window.end()), ..self.syntax.clone() };
                self.start(part, &syntax).await?
            }
        };
        let Some(versions) = self.versions(snapshot) else { return Ok(None) };
        let mut left_out = usize::try_from(window.skipped).unwrap_or(usize::MAX);
        let mut found: Vec<FoundRows> = versions.iter().map(|_| FoundRows::default()).collect();
        while let Some(rows) = query.next().await {
            let rows = rows?;
            for ((ids, version), found) in query.ids(&rows).zip(&versions).zip(&mut found) {
                if ids.values().iter().any(|id| found.insert(version, *id).is_none()) {
                    return Ok(None);
                }
            }
            let passed = left_out.min(rows.num_rows());
            left_out -= passed;
            query.keep(&rows.slice(passed, rows.num_rows() - passed)).await?;
        }
        for ((table, version), found) in self.tables.iter().zip(&versions).zip(&found) {
            if !part.context.lock_rows(version, &found.committed, &table.locking(snapshot)).await? {
                return Ok(None);
            }
        }
        query.finish().await.map(Some)
    }

    async fn skip_locked(&self, part: Part<'_>, snapshot: &Catalog) -> Result<Option<ReturnedRows>, EngineError> {
        let window = Window::of(part, &self.syntax.query).await?;
        let held = self.tables.iter().map(|table| part.context.count_held_rows(table.def.id, table.mode()));
        let mut spare = held.sum::<u64>() + SPARE_ROWS;
        loop {
            let limit = window.end().map(|end| end.saturating_add(spare));
            let syntax = LockedSyntax { query: limited(&self.syntax.query, limit), ..self.syntax.clone() };
            let mut query = self.start(part, &syntax).await?;
            let Some(versions) = self.versions(snapshot) else { return Ok(None) };
            let (mut seen, mut taken) = (0, 0);
            while let Some(rows) = query.next().await {
                let mut rows = rows?;
                seen += rows.num_rows() as u64;
                while rows.num_rows() > 0 && window.end().is_none_or(|end| taken < end) {
                    // No row is locked that the client does not get.
                    let left = window.end().map_or(u64::MAX, |end| end - taken);
                    let count = rows.num_rows().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let tried = rows.slice(0, count);
                    rows = rows.slice(count, rows.num_rows() - count);
                    let Some(locked) =
                        self.lock_free(part, snapshot, &versions, &query.ids(&tried).collect::<Vec<_>>()).await?
                    else {
                        return Ok(None);
                    };
                    let mut place = taken;
                    let is_shown = locked.iter().map(|is_locked| {
                        place += u64::from(*is_locked);
                        *is_locked && place > window.skipped
                    });
                    let is_shown = is_shown.collect();
                    taken = place;
                    query.keep_some(&tried, is_shown).await?;
                }
            }
            let is_full = window.end().is_none_or(|end| taken >= end);
            if is_full || limit.is_none_or(|limit| seen < limit) {
                return query.finish().await.map(Some);
            }
            spare = spare.saturating_mul(4);
        }
    }

    /// Which rows it could lock; `None` if others have changed one that it was to wait for.
    async fn lock_free(
        &self,
        part: Part<'_>,
        snapshot: &Catalog,
        versions: &[Arc<TableVersion>],
        all_ids: &[&Int64Array],
    ) -> Result<Option<Vec<bool>>, EngineError> {
        let row_count = all_ids.first().map_or(0, |ids| ids.len());
        let mut are_locked = vec![true; row_count];
        let tables = || self.tables.iter().zip(versions).zip(all_ids);
        for ((table, version), ids) in tables().filter(|((table, _), _)| table.wait == LockWait::SkipLocked) {
            let wanted = |at: &usize| are_locked[*at] && !is_own(ids.value(*at));
            let places: Vec<usize> = (0..row_count).filter(wanted).collect();
            let wanted: Vec<RowId> = places.iter().map(|at| row_of(ids.value(*at))).collect();
            let states = part.context.lock_free_rows(version, &wanted, &table.locking(snapshot)).await?;
            if part.context.has_fixed_snapshot() && states.contains(&RowState::Changed) {
                return Err(concurrent_update());
            }
            for (at, state) in places.into_iter().zip(states) {
                are_locked[at] = state == RowState::Locked;
            }
        }
        for ((table, version), ids) in tables().filter(|((table, _), _)| table.wait != LockWait::SkipLocked) {
            let mut found = FoundRows::default();
            for at in (0..row_count).filter(|at| are_locked[*at]) {
                if found.insert(version, ids.value(at)).is_none() {
                    return Ok(None);
                }
            }
            if !part.context.lock_rows(version, &found.committed, &table.locking(snapshot)).await? {
                return Ok(None);
            }
        }
        Ok(Some(are_locked))
    }
}

impl LockedTable {
    fn mode(&self) -> RowLockMode {
        match self.strength {
            LockStrength::KeyShare | LockStrength::Share => RowLockMode::Shared,
            LockStrength::NoKeyUpdate | LockStrength::Update => RowLockMode::Exclusive,
        }
    }

    fn locking(&self, snapshot: &Catalog) -> RowLocking {
        let references = match self.strength {
            LockStrength::Update => snapshot.references_to(self.def.id),
            _ => Vec::new(),
        };
        RowLocking { mode: self.mode(), references, fails_if_held: self.wait == LockWait::NoWait }
    }
}

impl Window {
    const ALL: Self = Self { skipped: 0, wanted: None };

    /// The values of LIMIT and OFFSET.
    async fn of(part: Part<'_>, query: &Query) -> Result<Self, EngineError> {
        let (limit, offset) = (limit_of(query), offset_of(query));
        if limit.is_none() && offset.is_none() {
            return Ok(Self::ALL);
        }
        let mut values = query_of_text("SELECT CAST(NULL AS bigint), CAST(NULL AS bigint)")?;
        if let SetExpr::Select(select) = &mut *values.body {
            for (item, value) in select.projection.iter_mut().zip([limit, offset]) {
                if let (SelectItem::UnnamedExpr(Expr::Cast { expr, .. }), Some(value)) = (item, value) {
                    **expr = value;
                }
            }
        }
        let given = (part.tables, part.parameters);
        let row = ReturnedRows::of_query(part.context, part.statement, &values, given).await?.in_memory();
        let value = |at: usize| {
            let column = row.as_ref()?.first()?.column(at).as_primitive_opt::<Int64Type>()?;
            (!column.is_empty() && column.is_valid(0)).then(|| column.value(0))
        };
        let count = |value: Option<i64>, (state, name): (SqlState, &str)| match value.map(u64::try_from) {
            None => Ok(None),
            Some(Ok(count)) => Ok(Some(count)),
            Some(Err(_)) => Err(EngineError::new(state, format!("{name} must not be negative"))),
        };
        let skipped = count(value(1), (SqlState::InvalidOffset, "OFFSET"))?;
        let wanted = count(value(0), (SqlState::InvalidLimit, "LIMIT"))?;
        Ok(Self { skipped: skipped.unwrap_or(0), wanted })
    }

    /// The number of rows that are locked.
    fn end(&self) -> Option<u64> {
        self.wanted.map(|wanted| wanted.saturating_add(self.skipped))
    }
}

/// A query without parentheses around it.
fn unwrapped(query: &Query) -> &Query {
    match &*query.body {
        SetExpr::Query(inner)
            if query.with.is_none()
                && query.order_by.is_none()
                && query.limit_clause.is_none()
                && query.fetch.is_none()
                && inner.locks.is_empty() =>
        {
            unwrapped(inner)
        }
        _ => query,
    }
}

fn limit_of(query: &Query) -> Option<Expr> {
    if let Some(Fetch { quantity, .. }) = &query.fetch {
        return Some(quantity.clone().unwrap_or_else(|| number(1)));
    }
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit: Some(limit), .. }) => {
            Some(fetch_count(limit).map_or(limit, |(count, _)| count).clone())
        }
        _ => None,
    }
}

fn offset_of(query: &Query) -> Option<Expr> {
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { offset: Some(Offset { value, .. }), .. }) => Some(value.clone()),
        _ => None,
    }
}

fn has_ties(query: &Query) -> bool {
    let is_marked = match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit: Some(limit), .. }) => {
            fetch_count(limit).is_some_and(|(_, with_ties)| with_ties)
        }
        _ => false,
    };
    is_marked || query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties)
}

/// The query with another limit, and without OFFSET.
fn limited(query: &Query, limit: Option<u64>) -> Query {
    let limit_clause = limit.map(|limit| LimitClause::LimitOffset {
        limit: Some(number(limit.min(i64::MAX as u64))),
        offset: None,
        limit_by: Vec::new(),
    });
    Query { limit_clause, fetch: None, ..query.clone() }
}

fn number(value: u64) -> Expr {
    Expr::value(Value::Number(value.to_string(), false))
}
