//! INSERT … ON CONFLICT: rows whose keys the table has are passed over, or change the row that has them.
//!
//! The rows are made first, once. The store finds the rows that have their keys ([`braid_storage::WriteSet::look_up_keys`]), and locks the keys
//! that no row has, so that what is found stays so. The new values of DO UPDATE are those of a query over two small tables, the rows that
//! were found and the rows that were proposed (`excluded`), so that no part of the table is read for them. A statement that has run before
//! computes those of a few rows without a plan ([`front_end::Pairs`]).
//!
//! A statement of a transaction whose snapshot does not have the row that was found fails (40001), as in PostgreSQL.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, UInt64Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{Int64Type, Schema};
use arrow::record_batch::RecordBatch;
use braid_base::CHUNK_ROWS;
use braid_sql::syntax::conflict_target;
use braid_storage::{
    Catalog, ColumnDef, ColumnType, KeyDef, KeyLookup, PRIVATE_CHUNKS, RowId, TableAppender, TableDef,
};
use sqlparser::ast::{
    BinaryOperator, ConflictTarget, DoUpdate, Expr, Ident, Insert, ObjectName, OnConflict, OnConflictAction, OnInsert,
    Query, SelectItem, SetExpr, TableFactor, TableObject, TableWithJoins, With,
};

use super::assignment::Assignment;
use super::changed_rows::{ATTEMPTS_MAX, Changed, Part, Target, concurrent_update, query_of_text};
use super::changes::Changes;
use super::inferred_indexes::inferred_keys;
use super::new_values::NewValues;
use crate::front_end::{
    self, DescribedPart, Pairs, PartQuery, ReturnedQuery, ReturningList, RowsOfPairs, StatementTables, StoredIn,
    stored_rows,
};
use crate::names::fold;
use crate::statement::SoundUpdate;
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use crate::{EngineError, SqlState};
use braid_sql::SqlType;
use braid_sql::syntax::walk::{Rewrite, Tree};
use braid_sql::tables::PAIR_NUMBERS;

/// The names of the rows that were found and of those that were proposed. No text can name them.
const FOUND_ROWS: &str = "\0found";
const PROPOSED_ROWS: &str = "\0proposed";

/// The numbers of the rows that were found; those of the rows that were proposed are [`PAIR_NUMBERS`].
const FOUND_NUMBERS: &str = "\0found number";

/// What the rows that were proposed are called.
const EXCLUDED: &str = "excluded";

/// What the table's rows are called where the statement calls them as those that were proposed. No text can name it.
const HIDDEN_NAME: &str = "\0changed";

/// Most rows whose new values are computed one by one: so many take as long as a plan for them, 4.1 ms a statement on two cores.
const PAIRS_MAX: usize = 64;

/// ON CONFLICT with its names resolved.
pub(super) struct Conflicts {
    def: Arc<TableDef>,
    /// The keys whose conflicts are meant.
    arbiters: Vec<KeyDef>,
    update: Option<ConflictUpdate>,
}

/// DO UPDATE.
struct ConflictUpdate {
    values: NewValues,
    condition: Option<Expr>,
    /// What the table's rows are called; [`HIDDEN_NAME`] if the statement calls them `excluded`.
    name: Ident,
    is_excluded: bool,
}

/// New values of rows that are there.
struct NewRows {
    /// The rows' numbers.
    numbers: Vec<usize>,
    rows: RecordBatch,
}

/// What becomes of a proposed row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Added,
    PassedOver,
    /// It may change this row.
    Changes(RowId),
}

impl Conflicts {
    /// Those of an INSERT into this table; `None` without ON CONFLICT.
    ///
    /// # Errors
    /// For columns and constraints that there are not, and keys that are none.
    pub fn of(
        context: &StatementContext,
        (with, insert): (Option<&With>, &Insert),
        def: &Arc<TableDef>,
    ) -> Result<Option<Self>, EngineError> {
        let Some(on) = &insert.on else { return Ok(None) };
        let OnInsert::OnConflict(OnConflict { conflict_target, action }) = on else {
            return Err(EngineError::unsupported("INSERT … ON DUPLICATE KEY is not supported"));
        };
        let arbiters = match (conflict_target, action) {
            (Some(target), _) => {
                let alias = insert.table_alias.as_ref().map(|given| &given.alias);
                arbiters(context, (def, alias), target)?
            }
            (None, OnConflictAction::DoNothing) => def.unique_keys().cloned().collect(),
            (None, OnConflictAction::DoUpdate(_)) => {
                let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                return Err(EngineError::new(SqlState::SyntaxError, message)
                    .with_hint("For example, ON CONFLICT (column_name)."));
            }
        };
        let update = match action {
            OnConflictAction::DoNothing => None,
            OnConflictAction::DoUpdate(update) => Some(ConflictUpdate::of(context, insert, update)?),
        };
        if with.is_some() && update.as_ref().is_some_and(ConflictUpdate::has_subquery) {
            // They might read the queries of WITH, which run once, for the rows.
            return Err(EngineError::unsupported("subqueries in DO UPDATE behind WITH are not supported"));
        }
        Ok(Some(Self { def: def.clone(), arbiters, update }))
    }

    /// What is known of DO UPDATE as a part of its statement; `None` without it.
    pub async fn describe(
        &self,
        part: Part<'_>,
        declared: &[Option<SqlType>],
    ) -> Result<Option<DescribedPart>, EngineError> {
        let Some(update) = &self.update else { return Ok(None) };
        let tables = self.tables(part.context, part.tables, None).await?;
        let stored_in = update.stored_in(&self.def)?;
        let query = PartQuery::Stored(&stored_in);
        front_end::describe_part(part.context, part.statement, query, &tables, declared).await.map(Some)
    }

    /// Adds these rows, or changes those that have their keys. It begins anew when others change these rows meanwhile, with RETURNING planned
    /// again.
    pub async fn insert(
        &self,
        part: Part<'_>,
        proposed: &[RecordBatch],
        (returning, mut planned): (Option<&Arc<ReturningList>>, Option<ReturnedQuery>),
    ) -> Result<Changed, EngineError> {
        let context = part.context;
        for _ in 0..ATTEMPTS_MAX {
            let mut changes = Changes::default();
            let returned = match (planned.take(), returning) {
                (None, Some(list)) => Some(part.planned_returning(list).await?),
                (planned, _) => planned,
            };
            let changed = self.add(part, proposed, returned, &mut changes).await?;
            if changes.make(context).await? {
                context.release_locks();
                return Ok(changed);
            }
            if context.has_fixed_snapshot() {
                break;
            }
            context.settle_writes().await?;
        }
        Err(concurrent_update())
    }

    /// Adds these rows, and changes of rows that have their keys, to the changes of their statement.
    pub async fn add(
        &self,
        part: Part<'_>,
        proposed: &[RecordBatch],
        mut returned: Option<ReturnedQuery>,
        changes: &mut Changes,
    ) -> Result<Changed, EngineError> {
        let count = self.attempt(part, proposed, changes, returned.as_mut()).await?;
        let returned = match returned {
            Some(list) => Some(list.run(part.context).await?),
            None => None,
        };
        Ok(Changed { count, returned })
    }

    /// Binds DO UPDATE, whether rows need it or not: errors in it are errors of the statement. Once for a prepared statement, unless it reads other
    /// tables.
    pub async fn check_update(&self, part: Part<'_>) -> Result<(), EngineError> {
        let Some(update) = &self.update else { return Ok(()) };
        let types = part.parameters.types();
        if self.known_update(update, part).is_some() {
            return Ok(());
        }
        let declared: Vec<Option<SqlType>> = types.iter().copied().map(Some).collect();
        self.describe(part, &declared).await?;
        self.note_update(part);
        Ok(())
    }

    /// What is known of DO UPDATE, if the statement has bound it before. A statement with several parts may have several of them, of
    /// which nothing is known, nor is it of one that reads other tables.
    fn known_update(&self, update: &ConflictUpdate, part: Part<'_>) -> Option<Arc<SoundUpdate>> {
        let may_be_known = is_only_part(part) && !update.has_subquery();
        may_be_known.then(|| part.statement.sound_update(&self.def, part.parameters.types())).flatten()
    }

    /// Notes that DO UPDATE can be bound.
    fn note_update(&self, part: Part<'_>) {
        if is_only_part(part) {
            part.statement.note_sound_update(&self.def, part.parameters.types());
        }
    }

    async fn attempt(
        &self,
        part: Part<'_>,
        proposed: &[RecordBatch],
        changes: &mut Changes,
        mut returned: Option<&mut ReturnedQuery>,
    ) -> Result<u64, EngineError> {
        let context = part.context;
        let arbiters: Vec<&KeyDef> = self.arbiters.iter().collect();
        let mut is_update_bound = false;
        let mut appender = context.append(&self.def);
        let mut fates = Fates::new(self.arbiters.len());
        let mut count = 0;
        let all = concat_batches(&self.def.arrow_schema(), proposed)?;
        for first in (0..all.num_rows()).step_by(CHUNK_ROWS) {
            let rows = all.slice(first, CHUNK_ROWS.min(all.num_rows() - first));
            let lookup = context.look_up_keys(&self.def, &arbiters, &rows).await?;
            self.check_visible(context, &lookup)?;
            let fates = fates.of_rows(&lookup, self.update.is_some())?;
            is_update_bound |= fates.iter().any(|fate| matches!(fate, Fate::Changes(_)));
            let stored = match &self.update {
                Some(update) => self.with_changes(update, part, (&rows, &fates), &lookup, changes).await?,
                None => added(&rows, &fates)?.1,
            };
            count += stored.num_rows() as u64;
            if let Some(returned) = &mut returned {
                returned.add(&stored, &[]).await?;
            }
            append(&mut appender, stored).await?;
        }
        if !is_update_bound {
            self.check_update(part).await?;
        }
        if count > 0 {
            changes.append(&self.def, appender.finish().await?);
        }
        Ok(count)
    }

    /// The rows to add, in the order in which they were proposed: new ones, and the new values of those that are changed.
    async fn with_changes(
        &self,
        update: &ConflictUpdate,
        part: Part<'_>,
        (rows, fates): (&RecordBatch, &[Fate]),
        lookup: &KeyLookup,
        changes: &mut Changes,
    ) -> Result<RecordBatch, EngineError> {
        let (added_at, added) = added(rows, fates)?;
        let conflict = |(at, fate): (usize, &Fate)| match fate {
            Fate::Changes(row) => Some((at as u64, *row)),
            Fate::Added | Fate::PassedOver => None,
        };
        let (places, found): (Vec<u64>, Vec<RowId>) = fates.iter().enumerate().filter_map(conflict).unzip();
        if found.is_empty() {
            return Ok(added);
        }
        let context = part.context;
        let version = lookup.view.by_id(self.def.id).ok_or_else(concurrent_update)?;
        let present = context.read_rows(version, &found).await?;
        let excluded = take_record_batch(rows, &UInt64Array::from(places.clone()))?;
        let (mut parts, mut order) = (vec![added], added_at);
        let mut changed = Vec::new();
        for NewRows { numbers, rows } in self.new_rows(update, part, (&present, &excluded)).await? {
            order.extend(numbers.iter().map(|number| places[*number]));
            let replaced: Int64Array = numbers.iter().map(|number| found[*number].to_number()).collect();
            changes.replace((context, &lookup.view), &self.def, &replaced, &rows)?;
            changed.extend(numbers);
            parts.push(rows);
        }
        check_once(&found, &changed)?;
        let ids: Int64Array = changed.iter().map(|number| found[*number].to_number()).collect();
        let ids: ArrayRef = Arc::new(ids);
        let batch = RecordBatch::try_from_iter([("id", ids)])?;
        let new = changes.find(&lookup.view, &self.def, batch).ok_or_else(concurrent_update)?;
        if new.num_rows() < changed.len() {
            // A part before has changed one of them.
            return Err(second_time());
        }
        let mut by_place: Vec<u64> = (0..order.len() as u64).collect();
        by_place.sort_by_key(|at| order[*at as usize]);
        let all = concat_batches(&self.def.arrow_schema(), &parts)?;
        Ok(take_record_batch(&all, &UInt64Array::from(by_place))?)
    }

    /// The new values of rows that are there, of which each is to be changed by the row that was proposed in its place: those of a few rows
    /// without a plan, if the statement has run before.
    async fn new_rows(
        &self,
        update: &ConflictUpdate,
        part: Part<'_>,
        (present, excluded): (&RecordBatch, &RecordBatch),
    ) -> Result<Vec<NewRows>, EngineError> {
        let (context, types) = (part.context, part.parameters.types());
        let assignment = Assignment::checked(context, &self.def)?;
        let known = self.known_update(update, part).filter(|_| present.num_rows() <= PAIRS_MAX);
        if let Some(known) = known {
            let pairs = match known.pairs() {
                Some(pairs) => pairs,
                None => {
                    let no_rows = self.tables(context, part.tables, None).await?;
                    let stored_in = update.stored_in(&self.def)?.with_tables(no_rows);
                    known.note_pairs(front_end::bind_pairs(context, part.statement, &stored_in, types)?)
                }
            };
            if let Some(query) = pairs {
                let pairs = Pairs { def: &self.def, first: present, second: excluded };
                let rows = pairs.rows((context, part.statement), &query, part.parameters)?;
                return Ok(assigned(&assignment, rows)?.into_iter().collect());
            }
        }
        let tables = self.tables(context, part.tables, Some((present, excluded))).await?;
        let stored_in = update.stored_in(&self.def)?.with_tables(tables);
        let mut query = front_end::start_insert(context, part.statement, &stored_in, part.parameters).await?;
        let sources: Vec<Option<usize>> = (1..=self.def.columns.len()).map(Some).collect();
        let mut new = Vec::new();
        while let Some(batch) = query.next().await {
            let batch = batch?;
            let numbers = batch.column(0).as_primitive::<Int64Type>();
            let numbers = numbers.values().iter().map(|number| *number as usize).collect();
            new.push(NewRows { numbers, rows: assignment.convert(&batch, &sources)? });
        }
        self.note_update(part);
        Ok(new)
    }

    /// The tables of the query of DO UPDATE, with their rows when it runs.
    async fn tables(
        &self,
        context: &StatementContext,
        known: &StatementTables,
        rows: Option<(&RecordBatch, &RecordBatch)>,
    ) -> Result<StatementTables, EngineError> {
        let mut tables = if known.are_of_parts() { known.clone() } else { StatementTables::of(context.snapshot()) };
        let own = self.def.columns.iter().map(|column| (column.name.clone(), column.column_type));
        let columns: Vec<(String, ColumnType)> = own.collect();
        for (name, numbers, rows) in [
            (FOUND_ROWS, FOUND_NUMBERS, rows.map(|rows| rows.0)),
            (PROPOSED_ROWS, PAIR_NUMBERS, rows.map(|rows| rows.1)),
        ] {
            let mut columns = columns.clone();
            columns.push((numbers.to_owned(), ColumnType::BigInt));
            let numbered = rows.map(numbered).transpose()?;
            let (columns, table) = stored_rows(context, &columns, numbered.as_ref()).await?;
            tables.add(name.to_owned(), columns, table);
        }
        Ok(tables)
    }

    /// Checks that a transaction that reads one snapshot sees the rows that were found.
    fn check_visible(&self, context: &StatementContext, lookup: &KeyLookup) -> Result<(), EngineError> {
        if !context.has_fixed_snapshot() {
            return Ok(());
        }
        let snapshot = context.snapshot();
        let is_hidden = |row: &RowId| row.chunk.0 < PRIVATE_CHUNKS && !has_row(&snapshot, &self.def, *row);
        match lookup.found.iter().flatten().any(is_hidden) {
            true => Err(concurrent_update()),
            false => Ok(()),
        }
    }
}

/// The fates of rows of a statement.
struct Fates {
    /// For each arbiter the keys of the rows that are added.
    added: Vec<HashSet<Box<[u8]>>>,
}

impl Fates {
    fn new(arbiter_count: usize) -> Self {
        Self { added: vec![HashSet::new(); arbiter_count] }
    }

    /// Those of the next rows.
    ///
    /// # Errors
    /// For a row with DO UPDATE whose key a row before it has.
    fn of_rows(&mut self, lookup: &KeyLookup, updates: bool) -> Result<Vec<Fate>, EngineError> {
        let mut fates = Vec::with_capacity(lookup.found.len());
        for (row, found) in lookup.found.iter().enumerate() {
            let keys = || lookup.keys.iter().map(|keys| keys[row].as_ref());
            let is_repeated =
                self.added.iter().zip(keys()).any(|(added, key)| key.is_some_and(|key| added.contains(key)));
            fates.push(match found {
                _ if is_repeated && updates => return Err(second_time()),
                _ if is_repeated => Fate::PassedOver,
                Some(_) if !updates => Fate::PassedOver,
                Some(row) => Fate::Changes(*row),
                None => {
                    for (added, key) in self.added.iter_mut().zip(keys()) {
                        added.extend(key.cloned());
                    }
                    Fate::Added
                }
            });
        }
        Ok(fates)
    }
}

impl ConflictUpdate {
    fn of(context: &StatementContext, insert: &Insert, update: &DoUpdate) -> Result<Self, EngineError> {
        let TableObject::TableName(table) = &insert.table else {
            return Err(EngineError::unsupported("INSERT into anything but a table is not supported"));
        };
        let mut relation = relation_of(query_of_text("SELECT 1 FROM s AS a")?)?;
        let called = insert.table_alias.as_ref().map(|given| &given.alias).or_else(|| table.0.last()?.as_ident());
        let is_excluded = called.is_some_and(|name| fold(name) == EXCLUDED);
        let hidden = is_excluded.then(|| Ident::with_quote('"', HIDDEN_NAME));
        let given = hidden.as_ref().or_else(|| insert.table_alias.as_ref().map(|given| &given.alias));
        if let TableFactor::Table { name, alias, .. } = &mut relation.relation {
            name.clone_from(table);
            match (alias.as_mut(), given) {
                (Some(alias), Some(given)) => alias.name.clone_from(given),
                _ => *alias = None,
            }
        }
        let target = Target::of(context, &relation)?;
        let values = NewValues::of(&target, &update.assignments)?;
        let name = given.cloned().unwrap_or_else(|| Ident::with_quote('"', &target.def.name));
        let mut update = Self { values, condition: update.selection.clone(), name, is_excluded };
        if insert.table_alias.is_none()
            && let Some(schema) = context.snapshot().schema_name(target.def.schema)
        {
            update.drop_schema(schema, &target.def.name);
        }
        Ok(update)
    }

    /// Names the table's columns without its schema: the rows that were found have the table's name only.
    fn drop_schema(&mut self, schema: &str, table: &str) {
        for value in self.values.values.iter_mut().chain(&mut self.condition) {
            value.rewrite(&mut Unqualified { schema, table, query_depth: 0 });
        }
    }

    fn has_subquery(&self) -> bool {
        let all = self.values.values.iter().chain(&self.condition);
        !self.values.sources.is_empty() || all.into_iter().any(|value| StatementSize::of(value).subquery_depth > 0)
    }

    /// The number of a pair, and the new values of all columns.
    fn stored_in(&self, def: &TableDef) -> Result<StoredIn, EngineError> {
        let number = ColumnDef { nullable: false, ..ColumnDef::new(PAIR_NUMBERS, ColumnType::BigInt) };
        let columns = std::iter::once(&number).chain(&def.columns);
        Ok(StoredIn::new(columns, Vec::new()).with_rows(self.query()?))
    }

    fn query(&self) -> Result<Query, EngineError> {
        // Two tables of one name: none is meant by it.
        let same =
            if self.is_excluded { format!("(SELECT 1 AS \"{HIDDEN_NAME}\") AS {EXCLUDED}, ") } else { String::new() };
        let text = format!("SELECT 1 FROM s AS a, {same}s AS {EXCLUDED} WHERE a.n = b.n");
        let mut query = query_of_text(&text)?;
        let SetExpr::Select(select) = &mut *query.body else { return Err(not_read()) };
        let tables = select.from.iter_mut().filter(|from| matches!(from.relation, TableFactor::Table { .. }));
        for (relation, rows) in tables.zip([FOUND_ROWS, PROPOSED_ROWS]) {
            if let TableFactor::Table { name, alias: Some(alias), .. } = &mut relation.relation {
                *name = ObjectName::from(vec![Ident::with_quote('"', rows)]);
                if rows == FOUND_ROWS {
                    alias.name.clone_from(&self.name);
                }
            }
        }
        let number = |column: &str| Expr::Identifier(Ident::with_quote('"', column));
        let (found, proposed) = (number(FOUND_NUMBERS), number(PAIR_NUMBERS));
        let Some(Expr::BinaryOp { left, right, .. }) = &mut select.selection else { return Err(not_read()) };
        (**left, **right) = (found.clone(), proposed);
        if let Some(condition) = &self.condition {
            let pairs = select.selection.take().ok_or_else(not_read)?;
            let condition = Expr::Nested(Box::new(condition.clone()));
            let (left, right) = (Box::new(pairs), Box::new(condition));
            select.selection = Some(Expr::BinaryOp { left, op: BinaryOperator::And, right });
        }
        select.from.extend(self.values.sources.iter().cloned());
        let values = std::iter::once(found).chain(self.values.values.iter().cloned());
        select.projection = values.map(SelectItem::UnnamedExpr).collect();
        Ok(query)
    }
}

/// Drops the schema of a table in the names of its columns, outside of queries: these may read tables of its name.
struct Unqualified<'a> {
    schema: &'a str,
    table: &'a str,
    query_depth: u32,
}

impl Rewrite for Unqualified<'_> {
    fn enter_query(&mut self, _: &mut Query) {
        self.query_depth += 1;
    }

    fn leave_query(&mut self, _: &mut Query) {
        self.query_depth -= 1;
    }

    fn leave_expression(&mut self, expression: &mut Expr) {
        if self.query_depth == 0
            && let Expr::CompoundIdentifier(names) = expression
            && let [schema, table, _, ..] = &names[..]
            && fold(schema) == self.schema
            && fold(table) == self.table
        {
            names.remove(0);
        }
    }
}

/// The keys that a conflict target means.
fn arbiters(
    context: &StatementContext,
    (def, alias): (&TableDef, Option<&Ident>),
    target: &ConflictTarget,
) -> Result<Vec<KeyDef>, EngineError> {
    let unmatched = || {
        let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
        EngineError::new(SqlState::InvalidColumnReference, message)
    };
    match target {
        ConflictTarget::OnConstraint(name) => {
            let name = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
            let unknown = || {
                let message = format!("constraint \"{name}\" for table \"{}\" does not exist", def.name);
                EngineError::new(SqlState::UndefinedObject, message)
            };
            let key = def.key(&name).filter(|key| key.kind.is_constraint());
            Ok(vec![key.ok_or_else(unknown)?.clone()])
        }
        ConflictTarget::Columns(names) if let Some(text) = conflict_target(names) => {
            Some(inferred_keys(context, (def, alias), text)?).filter(|keys| !keys.is_empty()).ok_or_else(unmatched)
        }
        ConflictTarget::Columns(names) => {
            let mut columns = HashSet::new();
            for name in names.iter().map(fold) {
                let unknown =
                    || EngineError::new(SqlState::UndefinedColumn, format!("column \"{name}\" does not exist"));
                columns.insert(def.column(&name).ok_or_else(unknown)?.0);
            }
            let is_meant = |key: &&KeyDef| {
                key.computed().is_none()
                    && key.columns.len() == columns.len()
                    && key.columns.iter().all(|column| columns.contains(column))
            };
            let keys: Vec<KeyDef> = def.unique_keys().filter(is_meant).cloned().collect();
            match keys.is_empty() {
                false => Ok(keys),
                true => Err(unmatched()),
            }
        }
    }
}

/// The rows that are added, and their places.
fn added(rows: &RecordBatch, fates: &[Fate]) -> Result<(Vec<u64>, RecordBatch), EngineError> {
    let is_added = |(_, fate): &(usize, &Fate)| **fate == Fate::Added;
    let places: Vec<u64> = fates.iter().enumerate().filter(is_added).map(|(at, _)| at as u64).collect();
    let taken = take_record_batch(rows, &UInt64Array::from(places.clone()))?;
    Ok((places, taken))
}

/// Checks that no row is found again behind its change. `changed` has the numbers of the rows that are changed.
fn check_once(found: &[RowId], changed: &[usize]) -> Result<(), EngineError> {
    let is_changed: HashSet<usize> = changed.iter().copied().collect();
    let mut rows = HashSet::new();
    for (number, row) in found.iter().enumerate() {
        if rows.contains(row) {
            return Err(second_time());
        }
        if is_changed.contains(&number) {
            rows.insert(*row);
        }
    }
    Ok(())
}

/// Whether no other part of its statement changes rows.
fn is_only_part(part: Part<'_>) -> bool {
    part.statement.command().query_in_parts().is_none()
}

/// The rows as the table stores them; `None` if there are none.
fn assigned(assignment: &Assignment, rows: RowsOfPairs) -> Result<Option<NewRows>, EngineError> {
    if rows.numbers.is_empty() {
        return Ok(None);
    }
    let columns = rows.columns.iter().enumerate();
    let columns = columns.map(|(at, values)| assignment.convert_pieces(at, values.iter()).map(Some));
    let columns = columns.collect::<Result<Vec<_>, EngineError>>()?;
    let stored = assignment.assemble(columns, rows.numbers.len())?;
    Ok(Some(NewRows { numbers: rows.numbers, rows: stored }))
}

async fn append(appender: &mut TableAppender, rows: RecordBatch) -> Result<(), EngineError> {
    if rows.num_rows() > 0 {
        appender.append(rows).await?;
    }
    Ok(())
}

/// The rows with a column of their numbers.
fn numbered(rows: &RecordBatch) -> Result<RecordBatch, EngineError> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows.num_rows() as i64));
    let mut fields: Vec<_> = rows.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(arrow::datatypes::Field::new(PAIR_NUMBERS, numbers.data_type().clone(), false)));
    let columns = rows.columns().iter().cloned().chain([numbers]).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

fn has_row(catalog: &Catalog, def: &TableDef, row: RowId) -> bool {
    let Some(version) = catalog.by_id(def.id) else { return false };
    version
        .chunk(row.chunk)
        .is_some_and(|chunk| chunk.deleted.as_ref().is_none_or(|deleted| !deleted.contains(row.row)))
}

fn relation_of(query: Query) -> Result<TableWithJoins, EngineError> {
    match *query.body {
        SetExpr::Select(mut select) if !select.from.is_empty() => Ok(select.from.remove(0)),
        _ => Err(not_read()),
    }
}

fn second_time() -> EngineError {
    let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
    EngineError::new(SqlState::CardinalityViolation, message).with_hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
    )
}

fn not_read() -> EngineError {
    EngineError::internal("a query of ON CONFLICT is not read")
}
