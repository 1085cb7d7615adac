//! INSERT.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use braid_sql::SqlType;
use braid_sql::pg_catalog::TypeId;
use braid_sql::syntax::plain_values;
use braid_storage::TableDef;
use sqlparser::ast::{
    Expr, Ident, Insert, ObjectName, ObjectNamePart, Query, SelectItem, SetExpr, TableObject, Value as SyntaxValue,
    With,
};

use super::assignment::Assignment;
use super::changed_rows::{Changed, Part, simplest_query};
use super::changes::Changes;
use super::defaults::DomainDefaults;
use super::identities::Identities;
use super::on_conflict::Conflicts;
use super::part_types::{as_prepared, note_types};
use super::sequence_calls::{calls_sequences, numbered_besides};
use super::values::{BoundRows, ValueRows, has_default, is_default, spell_out_default};
use crate::bound_parameters::{BoundParameters, declared_types};
use crate::front_end::{
    self, DescribedPart, PartQuery, ReturnedQuery, ReturningList, StatementFacts, StatementTables, StoredIn,
};
use crate::interrupt::Interrupt;
use crate::names::columns_named;
use crate::outcome::ParameterType;
use crate::statement::Overriding;
use crate::statement_context::StatementContext;
use crate::table_names::named_table;
use crate::{EngineError, Outcome, Prepared, SqlState, Statement};

/// An INSERT with its names resolved.
struct Target<'a> {
    def: Arc<TableDef>,
    /// The table's columns in the rows, in the order of the rows.
    columns: Vec<usize>,
    /// The source of the rows; `None` for DEFAULT VALUES.
    source: Option<Cow<'a, Query>>,
    /// The names of the columns, if the statement lists them.
    listed: Vec<&'a Ident>,
    returning: Option<Arc<ReturningList>>,
    identities: Identities,
    defaults: DomainDefaults,
    overriding: Option<Overriding>,
}

/// How rows become rows of the table.
struct Conversion {
    assignment: Assignment,
    sources: Vec<Option<usize>>,
}

impl Conversion {
    fn convert(&self, batch: &RecordBatch) -> Result<RecordBatch, EngineError> {
        self.assignment.convert(batch, &self.sources)
    }
}

/// Rows that need no plan, not computed yet.
struct PlainRows {
    assignment: Assignment,
    /// `None` for DEFAULT VALUES.
    given: Option<BoundRows>,
}

impl PlainRows {
    /// Whether computing them changes the session, as taking a number of a sequence does.
    fn is_volatile(&self) -> bool {
        self.assignment.has_volatile_defaults() || self.given.as_ref().is_some_and(BoundRows::is_volatile)
    }

    fn computed(self) -> Result<RecordBatch, EngineError> {
        match self.given {
            Some(given) => given.computed(&self.assignment),
            None => self.assignment.assemble(vec![None; self.assignment.def().columns.len()], 1),
        }
    }
}

/// Runs an INSERT.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    (with, insert): (Option<&With>, &Insert),
    parameters: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    if insert.on.is_some() {
        let added = add_or_change(context, statement, (with, insert), parameters).await?;
        return Ok(added.outcome(context, interrupt, "INSERT 0"));
    }
    let mut changes = Changes::default();
    let part = Part { context, statement, parameters, tables: &StatementTables::default() };
    let added = add(part, (with, insert), &mut changes).await?;
    changes.make(context).await?;
    Ok(added.outcome(context, interrupt, "INSERT 0"))
}

/// Runs an INSERT with ON CONFLICT.
async fn add_or_change(
    context: &StatementContext,
    statement: &Statement,
    (with, insert): (Option<&With>, &Insert),
    parameters: &BoundParameters,
) -> Result<Changed, EngineError> {
    context.settle_writes().await?;
    let target = Target::of(context, statement, with, insert)?;
    let tables = StatementTables::of(context.snapshot());
    let part = Part { context, statement, parameters, tables: &tables };
    let plain = target.plain_rows(context, statement, parameters)?;
    let (conflicts, returned) = target.bound_conflicts(part, (with, insert), plain.as_ref()).await?;
    let proposed = target.proposed(part, plain, &conflicts).await?;
    conflicts.insert(part, &proposed, (target.returning.as_ref(), returned)).await
}

/// Adds the rows of an INSERT to the changes of its statement.
pub(super) async fn add(
    part: Part<'_>,
    (with, insert): (Option<&With>, &Insert),
    changes: &mut Changes,
) -> Result<Changed, EngineError> {
    let Part { context, statement, parameters, tables } = part;
    let target = Target::of(context, statement, with, insert)?;
    let plain = target.plain_rows(context, statement, parameters)?;
    if insert.on.is_some() {
        context.settle_writes().await?;
        let (conflicts, returned) = target.bound_conflicts(part, (with, insert), plain.as_ref()).await?;
        let proposed = target.proposed(part, plain, &conflicts).await?;
        return conflicts.add(part, &proposed, returned, changes).await;
    }
    let mut appender = context.append(&target.def);
    let (mut returned, mut count) = (None, 0);
    if let Some(plain) = plain {
        if target.returning.is_some() {
            context.settle_writes().await?;
            returned = target.planned_returning(part).await?;
        }
        let batch = plain.computed()?;
        if let Some(list) = &mut returned {
            list.add(&batch, &[]).await?;
        }
        count = batch.num_rows() as u64;
        appender.append(batch).await?;
    } else if let Some(stored_in) = target.stored_in_part(tables)? {
        context.settle_writes().await?;
        let mut rows = front_end::start_insert(context, statement, &stored_in, parameters).await?;
        returned = rows.returned.take();
        let conversion = target.conversion(context, rows.width())?;
        while let Some(batch) = rows.next().await {
            let stored = conversion.convert(&batch?)?;
            if let Some(list) = &mut returned {
                list.add(&stored, &[]).await?;
            }
            count += stored.num_rows() as u64;
            appender.append(stored).await?;
        }
    }
    let returned = match returned {
        Some(list) => Some(list.run(context).await?),
        None => None,
    };
    changes.append(&target.def, appender.finish().await?);
    Ok(Changed { count, returned })
}

/// What is known of it as a part of a statement.
pub(super) async fn describe(
    (context, statement): (&StatementContext, &Statement),
    (with, insert): (Option<&With>, &Insert),
    tables: &StatementTables,
    declared: &[Option<SqlType>],
) -> Result<DescribedPart, EngineError> {
    let target = Target::of(context, statement, with, insert)?;
    let described = target.describe_part((context, statement), tables, declared).await?;
    let mut described = described.unwrap_or(DescribedPart { parameter_types: Vec::new(), rows: None });
    if let Some(conflicts) = Conflicts::of(context, (with, insert), &target.def)? {
        let mut types = declared.to_vec();
        note_types(&mut types, &described);
        let part = Part { context, statement, parameters: &BoundParameters::none(), tables };
        if let Some(update) = conflicts.describe(part, &types).await? {
            note_types(&mut types, &update);
        }
        described.parameter_types =
            types.into_iter().map(|known| known.unwrap_or(SqlType::of(TypeId::UNKNOWN))).collect();
    }
    Ok(described)
}

/// The types of an INSERT's parameters, which are those of their columns, and the columns of RETURNING.
pub(crate) async fn prepare(
    context: &StatementContext,
    statement: &Statement,
    (with, insert): (Option<&With>, &Insert),
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    let target = Target::of(context, statement, with, insert)?;
    let conflicts = match Conflicts::of(context, (with, insert), &target.def) {
        Err(error) => {
            target.check_query((context, statement), declared).await?;
            return Err(error);
        }
        Ok(conflicts) => conflicts,
    };
    if let Some(conflicts) = conflicts {
        return target.prepare_conflicts(context, statement, &conflicts, declared).await;
    }
    match (target.stored_in()?, &target.returning) {
        (Some(stored_in), _) => front_end::describe_stored(context, statement, &stored_in, declared).await,
        (None, Some(list)) => front_end::describe_returning(context, statement, list, declared).await,
        (None, None) => Ok(Prepared { parameter_types: Vec::new(), schema: None }),
    }
}

impl<'a> Target<'a> {
    fn of(
        context: &StatementContext,
        statement: &Statement,
        with: Option<&With>,
        insert: &'a Insert,
    ) -> Result<Self, EngineError> {
        check_clauses(insert)?;
        let TableObject::TableName(name) = &insert.table else {
            return Err(EngineError::unsupported("INSERT into anything but a table is not supported"));
        };
        let snapshot = context.snapshot();
        let def = named_table(context, &snapshot, name)?.into_filled()?;
        context.use_changed_table(&def)?;
        let listed = insert.columns.iter().map(plain_name).collect::<Result<Vec<_>, _>>()?;
        let columns = match listed.is_empty() {
            true => (0..def.columns.len()).collect(),
            false => columns_named(&def.name, &def.columns, listed.iter().copied())?,
        };
        let source = source_of(with, insert)?;
        let alias = insert.table_alias.as_ref().map(|alias| &alias.alias);
        let returning = match &insert.returning {
            Some(items) => Some(Arc::new(ReturningList::new(
                items,
                (&context.schema_name(def.schema), &def),
                alias,
                with,
                simplest_query()?,
            ))),
            None => None,
        };
        let (identities, overriding) = (Identities::of(&snapshot, &def), statement.overriding());
        let defaults = DomainDefaults::of(context, &snapshot, &def);
        let target = Self { def, columns, source, listed, returning, identities, defaults, overriding };
        target.check_values()?;
        target.with_numbers_in_rows()
    }

    /// The same with DEFAULT in the rows of VALUES for columns whose defaults take numbers of sequences, if the rows call functions of
    /// sequences: those see each other in the order in which PostgreSQL computes them. Of one row that is the order of the columns; of
    /// several rows each has its values first, then its defaults.
    fn with_numbers_in_rows(mut self) -> Result<Self, EngineError> {
        let Some(values) = self.source.as_deref().and_then(plain_values) else { return self.with_numbers_in_query() };
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let is_even = width <= self.columns.len() && values.rows.iter().all(|row| row.content.len() == width);
        // Too few values for the listed columns are an error of the binder.
        let is_even = is_even && (self.listed.is_empty() || width == self.columns.len());
        if !is_even || !values.rows.iter().flat_map(|row| &row.content).any(calls_sequences) {
            return Ok(self);
        }
        let mut columns = self.columns[..width].to_vec();
        columns.extend(numbered_besides(&self.def, &columns, &self.defaults)?);
        let mut order: Vec<usize> = (0..columns.len()).collect();
        if values.rows.len() == 1 {
            order.sort_by_key(|at| columns[*at]);
        }
        if columns.len() == width && order.is_sorted() {
            return Ok(self);
        }
        let mut query = self.source.take().map(Cow::into_owned).ok_or_else(|| EngineError::internal("no VALUES"))?;
        if let SetExpr::Values(values) = &mut *query.body {
            for row in &mut values.rows {
                let word = || Expr::Identifier(Ident::new("default"));
                row.content = order.iter().map(|at| row.content.get(*at).cloned().unwrap_or_else(word)).collect();
            }
        }
        self.columns = order.iter().map(|at| columns[*at]).collect();
        self.listed = Vec::new();
        self.source = Some(Cow::Owned(query));
        Ok(self)
    }

    /// The same with such defaults in the select list of a query that calls functions of sequences, behind its own columns. Where that would
    /// change the rows, or their columns cannot be counted, it stays.
    fn with_numbers_in_query(mut self) -> Result<Self, EngineError> {
        let Some(source) = self.source.as_deref() else { return Ok(self) };
        let Some(width) = extensible_width(source).filter(|width| *width <= self.columns.len()) else {
            return Ok(self);
        };
        if !self.listed.is_empty() && width != self.columns.len() || !calls_sequences(source) {
            return Ok(self);
        }
        let mut columns = self.columns[..width].to_vec();
        let mut numbered = numbered_besides(&self.def, &columns, &self.defaults)?;
        let is_taken = |at: usize| self.identities.check_inserted(&self.def, at, self.overriding).is_ok();
        numbered.retain(|at| is_taken(*at) && !self.passes_over(*at));
        let mut query = source.clone();
        if let SetExpr::Select(select) = &mut *query.body {
            for at in numbered {
                if let Some(default) = self.defaults.syntax(&self.def.columns[at])? {
                    select.projection.push(SelectItem::UnnamedExpr(Expr::Nested(Box::new(default))));
                    columns.push(at);
                }
            }
        }
        if columns.len() > width {
            self.columns = columns;
            self.source = Some(Cow::Owned(query));
        }
        Ok(self)
    }

    /// ON CONFLICT and RETURNING, bound before any value is computed: an error in them uses up no number of a sequence. DO UPDATE may wait
    /// where nothing is to be computed.
    ///
    /// # Errors
    /// The first one in the order of the text: those of the rows' query come first.
    async fn bound_conflicts(
        &self,
        part: Part<'_>,
        (with, insert): (Option<&With>, &Insert),
        plain: Option<&PlainRows>,
    ) -> Result<(Conflicts, Option<ReturnedQuery>), EngineError> {
        let bind = async {
            let conflicts = Conflicts::of(part.context, (with, insert), &self.def)?;
            let conflicts = conflicts.ok_or_else(|| EngineError::internal("an INSERT without ON CONFLICT"))?;
            if plain.is_none_or(PlainRows::is_volatile) {
                conflicts.check_update(part).await?;
            }
            Ok((conflicts, self.planned_returning(part).await?))
        };
        match bind.await {
            Err(error) if plain.is_none() => Err(self.query_error(part).await.unwrap_or(error)),
            bound => bound,
        }
    }

    /// Binds the query of the rows, some of whose parameters have types.
    async fn check_query(
        &self,
        (context, statement): (&StatementContext, &Statement),
        declared: &[Option<ParameterType>],
    ) -> Result<(), EngineError> {
        let tables = StatementTables::of(context.snapshot());
        let Some(stored_in) = self.stored_in_part(&tables)? else { return Ok(()) };
        let declared = declared_types(declared, &StatementFacts::of(context))?;
        let query = &stored_in.with_returning(None);
        front_end::describe_part(context, statement, PartQuery::Stored(query), &tables, &declared).await.map(drop)
    }

    /// What binding the query of the rows fails with.
    async fn query_error(&self, part: Part<'_>) -> Option<EngineError> {
        let Part { context, statement, parameters, tables } = part;
        let stored_in = match self.stored_in_part(tables) {
            Ok(stored_in) => stored_in?.with_returning(None),
            Err(error) => return Some(error),
        };
        front_end::check_insert(context, statement, &stored_in, parameters).await.err()
    }

    /// RETURNING by itself, if the statement has it.
    async fn planned_returning(&self, part: Part<'_>) -> Result<Option<ReturnedQuery>, EngineError> {
        match &self.returning {
            Some(list) => part.planned_returning(list).await.map(Some),
            None => Ok(None),
        }
    }

    /// The rows that are to be added, all at once. An error in DO UPDATE comes before one of their values.
    async fn proposed(
        &self,
        part: Part<'_>,
        plain: Option<PlainRows>,
        conflicts: &Conflicts,
    ) -> Result<Vec<RecordBatch>, EngineError> {
        let proposed = match plain {
            Some(plain) => plain.computed().map(|batch| vec![batch]),
            None => self.queried(part).await,
        };
        if proposed.is_err() {
            conflicts.check_update(part).await?;
        }
        proposed
    }

    /// The rows of a query.
    async fn queried(&self, part: Part<'_>) -> Result<Vec<RecordBatch>, EngineError> {
        let Part { context, statement, parameters, tables } = part;
        let Some(stored_in) = self.stored_in_part(tables)? else { return Ok(Vec::new()) };
        let stored_in = stored_in.with_returning(None);
        let mut rows = front_end::start_insert(context, statement, &stored_in, parameters).await?;
        let conversion = self.conversion(context, rows.width())?;
        let mut proposed = Vec::new();
        while let Some(batch) = rows.next().await {
            proposed.push(conversion.convert(&batch?)?);
        }
        Ok(proposed)
    }

    /// What is known of its rows and of RETURNING; `None` if no query makes either.
    async fn describe_part(
        &self,
        (context, statement): (&StatementContext, &Statement),
        tables: &StatementTables,
        declared: &[Option<SqlType>],
    ) -> Result<Option<DescribedPart>, EngineError> {
        let stored_in = self.stored_in_part(tables)?;
        let query = match (&stored_in, &self.returning) {
            (Some(stored_in), _) => PartQuery::Stored(stored_in),
            (None, Some(list)) => PartQuery::Listed(list),
            (None, None) => return Ok(None),
        };
        front_end::describe_part(context, statement, query, tables, declared).await.map(Some)
    }

    /// The types of the parameters of an INSERT with ON CONFLICT, and the columns of RETURNING.
    async fn prepare_conflicts(
        &self,
        context: &StatementContext,
        statement: &Statement,
        conflicts: &Conflicts,
        declared: &[Option<ParameterType>],
    ) -> Result<Prepared, EngineError> {
        let mut types: Vec<Option<SqlType>> = declared_types(declared, &StatementFacts::of(context))?;
        let tables = StatementTables::of(context.snapshot());
        let mut shown = None;
        if let Some(described) = self.describe_part((context, statement), &tables, &types).await? {
            note_types(&mut types, &described);
            shown = described.rows.map(|(_, schema)| schema);
        }
        let parameters = &BoundParameters::none();
        let part = Part { context, statement, parameters, tables: &tables };
        if let Some(described) = conflicts.describe(part, &types).await? {
            note_types(&mut types, &described);
        }
        as_prepared(types, shown)
    }

    /// Refuses values for columns whose values are always generated.
    fn check_values(&self) -> Result<(), EngineError> {
        let values = self.source.as_deref().and_then(plain_values);
        for row in values.iter().flat_map(|values| &values.rows) {
            for (_, at) in row.content.iter().zip(&self.columns).filter(|(expr, _)| !is_default(expr)) {
                self.identities.check_inserted(&self.def, *at, self.overriding)?;
            }
        }
        Ok(())
    }

    /// Whether values for a column are passed over.
    fn passes_over(&self, at: usize) -> bool {
        self.identities.are_passed_over(at, self.overriding)
    }

    /// The columns that rows are stored in; `None` without rows.
    fn stored_in(&self) -> Result<Option<StoredIn>, EngineError> {
        let Some(query) = &self.source else { return Ok(None) };
        let columns = self.columns.iter().map(|at| &self.def.columns[*at]);
        let stored_in = StoredIn::new(columns, self.listed.clone()).with_returning(self.returning.clone());
        Ok(Some(match (plain_values(query), query) {
            (Some(values), _) if has_default(values) => stored_in.with_rows(self.with_defaults_spelt_out(query)?),
            (_, Cow::Owned(query)) => stored_in.with_rows(query.clone()),
            (_, Cow::Borrowed(_)) => stored_in,
        }))
    }

    /// The same, for an INSERT that is a part of its statement.
    fn stored_in_part(&self, tables: &StatementTables) -> Result<Option<StoredIn>, EngineError> {
        let stored_in = self.stored_in()?.map(|stored_in| stored_in.with_tables(tables.clone()));
        Ok(match (&self.source, tables.are_of_parts()) {
            (Some(Cow::Borrowed(query)), true) => stored_in.map(|stored_in| stored_in.or_rows(query)),
            _ => stored_in,
        })
    }

    /// How rows with so many columns become rows of the table.
    fn conversion(&self, context: &StatementContext, width: usize) -> Result<Conversion, EngineError> {
        let given = &self.columns[..width];
        if self.source.as_deref().is_some_and(|query| plain_values(query).is_none()) {
            given.iter().try_for_each(|at| self.identities.check_inserted(&self.def, *at, self.overriding))?;
        }
        let stored: Vec<usize> = given.iter().copied().filter(|at| !self.passes_over(*at)).collect();
        let assignment = Assignment::with_defaults(context, &self.def, &stored)?;
        let mut sources = sources_of(given, self.def.columns.len());
        given.iter().filter(|at| self.passes_over(**at)).for_each(|at| sources[*at] = None);
        Ok(Conversion { assignment, sources })
    }

    /// The rows, if they need no plan.
    fn plain_rows(
        &self,
        context: &StatementContext,
        statement: &Statement,
        params: &BoundParameters,
    ) -> Result<Option<PlainRows>, EngineError> {
        let Some(query) = &self.source else {
            let assignment = Assignment::with_defaults(context, &self.def, &[])?;
            return Ok(Some(PlainRows { assignment, given: None }));
        };
        let Some(values) = plain_values(query) else { return Ok(None) };
        if self.columns.iter().any(|at| self.passes_over(*at)) {
            return Ok(None);
        }
        let assignment = Assignment::with_defaults(context, &self.def, &self.columns)?;
        let rows = ValueRows { values, columns: &self.columns, params, text: statement.origin() };
        let given = rows.bound(context, &assignment)?;
        Ok(given.map(|given| PlainRows { assignment, given: Some(given) }))
    }

    /// `DEFAULT` within VALUES becomes the column's default expression.
    fn with_defaults_spelt_out(&self, query: &Query) -> Result<Query, EngineError> {
        let mut query = query.clone();
        if let SetExpr::Values(values) = &mut *query.body {
            for row in &mut values.rows {
                for (expr, at) in row.content.iter_mut().zip(&self.columns) {
                    match self.passes_over(*at) && is_default(expr) {
                        // The column gets its default whatever stands there, once.
                        true => *expr = Expr::Value(SyntaxValue::Null.with_empty_span()),
                        false => spell_out_default(expr, &self.def.columns[*at], &self.defaults)?,
                    }
                }
            }
        }
        Ok(query)
    }
}

/// The number of columns of a query that may have more of them, computed for the same rows.
fn extensible_width(query: &Query) -> Option<usize> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let has_plain_rows = query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty()
        && select.distinct.is_none();
    let is_one = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
    (has_plain_rows && select.projection.iter().all(is_one)).then_some(select.projection.len())
}

/// The mapping of the rows' columns to the table's columns.
pub(super) fn sources_of(given: &[usize], column_count: usize) -> Vec<Option<usize>> {
    let mut sources = vec![None; column_count];
    for (source, at) in given.iter().enumerate() {
        sources[*at] = Some(source);
    }
    sources
}

/// The source of the rows with the statement's WITH.
fn source_of<'a>(with: Option<&With>, insert: &'a Insert) -> Result<Option<Cow<'a, Query>>, EngineError> {
    let (Some(with), Some(source)) = (with, insert.source.as_deref()) else {
        return Ok(insert.source.as_deref().map(Cow::Borrowed));
    };
    let mut source = source.clone();
    if source.with.is_some() {
        return Err(EngineError::unsupported("WITH before INSERT and before its query is not supported"));
    }
    source.with = Some(with.clone());
    Ok(Some(Cow::Owned(source)))
}

/// The name of a column in a list of columns.
pub(super) fn plain_name(name: &ObjectName) -> Result<&Ident, EngineError> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Ok(ident),
        _ => Err(EngineError::new(SqlState::SyntaxError, format!("{name} is not a column name"))),
    }
}

/// Refuses unsupported clauses of INSERT.
fn check_clauses(insert: &Insert) -> Result<(), EngineError> {
    let refused = [
        (insert.or.is_some() || insert.ignore || insert.replace_into, "INSERT OR REPLACE"),
        (insert.overwrite || insert.partitioned.is_some(), "INSERT OVERWRITE"),
        (!insert.assignments.is_empty(), "INSERT … SET"),
        (insert.output.is_some() || insert.settings.is_some() || insert.format_clause.is_some(), "this form of INSERT"),
        (insert.multi_table_insert_type.is_some(), "INSERT into several tables"),
    ];
    match refused.iter().find(|(given, _)| *given) {
        Some((_, what)) => Err(EngineError::unsupported(format!("{what} is not supported"))),
        None => Ok(()),
    }
}
