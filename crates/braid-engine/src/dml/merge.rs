//! MERGE.
//!
//! The rows of the source are kept first. One query pairs them with the rows of the table, another one finds those without a partner, so that
//! the names of either clause are PostgreSQL's. Each query returns the number of the clause that a row takes, and the values of all clauses,
//! each behind its number so that it fails for no other row.

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Int32Type, Int64Type};
use arrow::record_batch::RecordBatch;
use braid_sql::SqlType;
use braid_sql::tables::{COMPUTED, ROW_IDS};
use braid_storage::{ColumnDef, ColumnType, TableAppender};
use sqlparser::ast::{
    Expr, Ident, Merge, MergeAction, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, ObjectName, Query,
    SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins,
};

use super::assignment::Assignment;
use super::changed_rows::{ATTEMPTS_MAX, Part, Target, concurrent_update, query_of_text};
use super::changes::Changes;
use super::insert::{plain_name, sources_of};
use super::merge_expressions::{check_not_volatile, guarded, number_of_clause};
use super::new_values::NewValues;
use super::part_types::{as_prepared, note_types};
use super::sequence_calls::{calls_sequences, numbered_besides};
use super::values::{is_default, spell_out_default};
use crate::bound_parameters::{BoundParameters, declared_types};
use crate::front_end::{self, PartQuery, ReturnedRows, StatementFacts, StatementTables, StoredIn};
use crate::names::columns_named;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, SqlState, Statement};

/// The name of the kept rows of the source. No text can name it.
const SOURCE_ROWS: &str = "\0source";

/// What a clause does with a row.
enum Action {
    Nothing,
    Remove,
    /// The new values of all columns.
    Replace(Vec<Expr>),
    /// The values of some columns of a new row.
    Add(Vec<usize>, Vec<Expr>),
}

/// The clauses WHEN MATCHED, or WHEN NOT MATCHED, in their order.
struct Side {
    is_matched: bool,
    conditions: Vec<Option<Expr>>,
    actions: Vec<Action>,
}

/// A MERGE with its names resolved.
struct Plan<'a> {
    target: Target,
    source: Query,
    /// What the source is called.
    source_name: Ident,
    on: &'a Expr,
    sides: [Side; 2],
}

/// Runs it.
pub(crate) async fn merge(
    context: &StatementContext,
    statement: &Statement,
    merge: &Merge,
    parameters: &BoundParameters,
) -> Result<Outcome, EngineError> {
    for _ in 0..ATTEMPTS_MAX {
        context.settle_writes().await?;
        let plan = Plan::of(context, merge)?;
        let attempted = plan.attempt(context, statement, parameters).await;
        if attempted.is_err() {
            // An error in a clause comes before those of values.
            let mut types: Vec<Option<SqlType>> = parameters.types().iter().copied().map(Some).collect();
            plan.describe(context, statement, &mut types).await?;
        }
        if let Some(count) = attempted? {
            return Ok(Outcome::done(format!("MERGE {count}")));
        }
        if context.has_fixed_snapshot() {
            break;
        }
    }
    Err(concurrent_update())
}

/// The types of its parameters.
pub(crate) async fn prepare_merge(
    context: &StatementContext,
    statement: &Statement,
    merge: &Merge,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    let mut types: Vec<Option<SqlType>> = declared_types(declared, &StatementFacts::of(context))?;
    Plan::of(context, merge)?.describe(context, statement, &mut types).await?;
    as_prepared(types, None)
}

impl<'a> Plan<'a> {
    fn of(context: &StatementContext, merge: &'a Merge) -> Result<Self, EngineError> {
        let table = TableWithJoins { relation: merge.table.clone(), joins: Vec::new() };
        let target = Target::of(context, &table)?;
        check_not_volatile(&merge.on)?;
        let (source, source_name) = source_of(&merge.source)?;
        let sides = [true, false].map(|is_matched| Side::of(&target, &merge.clauses, is_matched));
        let [matched, others] = sides;
        Ok(Self { target, source, source_name, on: &merge.on, sides: [matched?, others?] })
    }

    /// Runs it once; returns the number of rows. `None` if others have changed some of them meanwhile.
    async fn attempt(
        &self,
        context: &StatementContext,
        statement: &Statement,
        parameters: &BoundParameters,
    ) -> Result<Option<u64>, EngineError> {
        // Where a side waits for a lock of a table, all begin anew.
        if context.database().locks().has_strong() {
            self.describe(context, statement, &mut parameters.types().iter().copied().map(Some).collect()).await?;
        }
        let mut changes = Changes::default();
        let mut tables = StatementTables::of(context.snapshot());
        let rows = ReturnedRows::of_query(context, statement, &self.source, (&tables, parameters)).await?;
        let (columns, rows) = rows.into_table(SOURCE_ROWS, &[])?;
        tables.add(SOURCE_ROWS.to_owned(), columns, rows);
        let part = Part { context, statement, parameters, tables: &tables };
        let Some(count) = self.run(part, &mut changes).await? else { return Ok(None) };
        Ok(changes.make(context).await?.then_some(count))
    }

    /// Binds its queries, which may tell the types of parameters.
    async fn describe(
        &self,
        context: &StatementContext,
        statement: &Statement,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<(), EngineError> {
        let mut tables = StatementTables::of(context.snapshot());
        let source = PartQuery::Rows(&self.source);
        let described = front_end::describe_part(context, statement, source, &tables, types).await?;
        note_types(types, &described);
        if let Some((columns, _)) = described.rows {
            let (columns, rows) = columns.table(SOURCE_ROWS, &[])?;
            tables.add(SOURCE_ROWS.to_owned(), columns, rows);
        }
        for side in &self.sides {
            let stored_in = self.stored_in(side)?;
            let query = PartQuery::Stored(&stored_in);
            let described = front_end::describe_part(context, statement, query, &tables, types).await?;
            note_types(types, &described);
        }
        Ok(())
    }

    /// Finds and adds the rows; returns their number. `None` if others have changed some of them meanwhile.
    async fn run(&self, part: Part<'_>, changes: &mut Changes) -> Result<Option<u64>, EngineError> {
        let mut appender = part.context.append(&self.target.def);
        let (mut count, mut added) = (0, 0);
        for side in &self.sides {
            let stored_in = self.stored_in(side)?.with_tables(part.tables.clone());
            let Part { context, statement, parameters, .. } = part;
            let mut rows = front_end::start_insert(context, statement, &stored_in, parameters).await?;
            while let Some(batch) = rows.next().await {
                let Some(of_batch) = self.take(side, part, &batch?, (&mut *changes, &mut appender)).await? else {
                    return Ok(None);
                };
                count += of_batch.changed;
                added += of_batch.added;
            }
        }
        if added > 0 {
            changes.append(&self.target.def, appender.finish().await?);
        }
        Ok(Some(count))
    }

    /// What the clauses do with the rows of a batch.
    async fn take(
        &self,
        side: &Side,
        part: Part<'_>,
        batch: &RecordBatch,
        (changes, appender): (&mut Changes, &mut TableAppender),
    ) -> Result<Option<Taken>, EngineError> {
        let def = &self.target.def;
        let numbers = batch.column(usize::from(side.is_matched)).as_primitive::<Int32Type>();
        let mut taken = Taken::default();
        for (number, (action, first)) in side.actions.iter().zip(side.first_columns(def.columns.len())).enumerate() {
            let mask: BooleanArray = numbers.iter().map(|own| Some(own == i32::try_from(number).ok())).collect();
            let rows = filter_record_batch(batch, &mask)?;
            let row_count = rows.num_rows();
            if row_count == 0 || matches!(action, Action::Nothing) {
                continue;
            }
            taken.changed += row_count as u64;
            if side.is_matched {
                let snapshot = part.tables.snapshot().unwrap_or_else(|| part.context.snapshot());
                let Some(found) = changes.find(&snapshot, def, rows.clone()) else { return Ok(None) };
                if found.num_rows() < row_count {
                    return Err(second_time());
                }
            }
            let stored = match action {
                Action::Nothing | Action::Remove => continue,
                Action::Replace(values) => {
                    let sources: Vec<Option<usize>> = (first..first + values.len()).map(Some).collect();
                    Assignment::checked(part.context, def)?.convert(&rows, &sources)?
                }
                Action::Add(given, _) => {
                    let sources = sources_of(given, def.columns.len());
                    let sources: Vec<Option<usize>> = sources.into_iter().map(|at| at.map(|at| first + at)).collect();
                    Assignment::with_defaults(part.context, def, given)?.convert(&rows, &sources)?
                }
            };
            if let Action::Replace(_) = action {
                let snapshot = part.tables.snapshot().unwrap_or_else(|| part.context.snapshot());
                let replaced = rows.column(0).as_primitive::<Int64Type>();
                changes.replace((part.context, &snapshot), def, replaced, &stored)?;
            }
            taken.added += stored.num_rows();
            appender.append(stored).await?;
        }
        Ok(Some(taken))
    }

    /// The query of a side: the identity of the row if it has a partner, the number of its clause, and the values of all clauses.
    fn stored_in(&self, side: &Side) -> Result<StoredIn, EngineError> {
        let columns = &self.target.def.columns;
        let id = ColumnDef { nullable: false, ..ColumnDef::new(ROW_IDS, ColumnType::BigInt) };
        let number = ColumnDef { nullable: false, ..ColumnDef::new(COMPUTED, ColumnType::Integer) };
        let mut stored: Vec<&ColumnDef> = if side.is_matched { vec![&id, &number] } else { vec![&number] };
        for action in &side.actions {
            match action {
                Action::Nothing | Action::Remove => {}
                Action::Replace(_) => stored.extend(columns),
                Action::Add(given, _) => stored.extend(given.iter().map(|at| &columns[*at])),
            }
        }
        Ok(StoredIn::new(stored, Vec::new()).with_rows(self.query(side)?))
    }

    fn query(&self, side: &Side) -> Result<Query, EngineError> {
        let mut query = query_of_text("SELECT 1 FROM s AS a")?;
        let SetExpr::Select(select) = &mut *query.body else { return Err(not_read()) };
        let mut source = select.from.remove(0);
        if let TableFactor::Table { name, alias: Some(alias), .. } = &mut source.relation {
            *name = ObjectName::from(vec![Ident::with_quote('"', SOURCE_ROWS)]);
            alias.name = self.source_name.clone();
        }
        let number = number_of_clause(&side.conditions)?;
        if side.is_matched {
            select.from = vec![self.target.relation().clone(), source, number];
            select.selection = Some(self.on.clone());
        } else {
            select.from = vec![source, number];
            select.selection = Some(self.without_partner()?);
        }
        let computed = |name: &str| Expr::CompoundIdentifier(vec![Ident::with_quote('"', name); 2]);
        let id = side.is_matched.then(|| computed(ROW_IDS));
        let values = side.actions.iter().enumerate().flat_map(|(number, action)| match action {
            Action::Nothing | Action::Remove => Vec::new(),
            Action::Replace(values) | Action::Add(_, values) => {
                values.iter().map(|value| guarded(value, number)).collect()
            }
        });
        let all = id.into_iter().chain([computed(COMPUTED)]).chain(values);
        select.projection = all.map(SelectItem::UnnamedExpr).collect();
        Ok(query)
    }

    /// The condition that a row of the source has no partner.
    fn without_partner(&self) -> Result<Expr, EngineError> {
        let mut query = query_of_text("SELECT 1")?;
        if let SetExpr::Select(select) = &mut *query.body {
            select.from = vec![self.target.relation().clone()];
            select.selection = Some(self.on.clone());
        }
        Ok(Expr::Exists { subquery: Box::new(query), negated: true })
    }
}

/// What became of some rows.
#[derive(Default)]
struct Taken {
    changed: u64,
    added: usize,
}

impl Side {
    fn of(target: &Target, clauses: &[MergeClause], is_matched: bool) -> Result<Self, EngineError> {
        let mut side = Self { is_matched, conditions: Vec::new(), actions: Vec::new() };
        let kind = if is_matched { MergeClauseKind::Matched } else { MergeClauseKind::NotMatched };
        for clause in clauses.iter().filter(|clause| clause.clause_kind == kind) {
            if matches!(side.conditions.last(), Some(None)) {
                let message = "unreachable WHEN clause specified after unconditional WHEN clause";
                return Err(EngineError::new(SqlState::SyntaxError, message));
            }
            side.conditions.push(clause.predicate.clone());
            side.actions.push(Action::of(target, &clause.action)?);
        }
        Ok(side)
    }

    /// The first column of each action's values in the rows of the query.
    fn first_columns(&self, column_count: usize) -> impl Iterator<Item = usize> {
        let mut next = 1 + usize::from(self.is_matched);
        self.actions.iter().map(move |action| {
            let first = next;
            next += match action {
                Action::Nothing | Action::Remove => 0,
                Action::Replace(_) => column_count,
                Action::Add(given, _) => given.len(),
            };
            first
        })
    }
}

impl Action {
    fn of(target: &Target, action: &MergeAction) -> Result<Self, EngineError> {
        match action {
            MergeAction::Delete { .. } => Ok(Self::Remove),
            MergeAction::Update(update) if update.assignments.is_empty() => Ok(Self::Nothing),
            MergeAction::Update(update) => {
                let NewValues { values, sources } = NewValues::of(target, &update.assignments)?;
                match sources.is_empty() {
                    true => Ok(Self::Replace(values)),
                    false => {
                        Err(EngineError::unsupported("SET of several columns by a subquery in MERGE is not supported"))
                    }
                }
            }
            MergeAction::Insert(MergeInsertExpr { kind: MergeInsertKind::Row, .. }) => Ok(Self::Nothing),
            MergeAction::Insert(MergeInsertExpr { kind: MergeInsertKind::Values(values), columns, .. }) => {
                Self::added(target, columns, values.rows.first().map(|row| &row.content[..]))
            }
        }
    }

    /// A new row; `None` for DEFAULT VALUES.
    fn added(target: &Target, listed: &[ObjectName], values: Option<&[Expr]>) -> Result<Self, EngineError> {
        let def = &target.def;
        let Some(values) = values else { return Ok(Self::Add(Vec::new(), Vec::new())) };
        let mut given = match listed.is_empty() {
            true => (0..def.columns.len()).collect::<Vec<_>>(),
            false => {
                let names = listed.iter().map(plain_name).collect::<Result<Vec<_>, _>>()?;
                columns_named(&def.name, &def.columns, names)?
            }
        };
        let wrong = |message| EngineError::new(SqlState::SyntaxError, message);
        if values.len() > given.len() {
            return Err(wrong("INSERT has more expressions than target columns"));
        }
        if values.len() < given.len() && !listed.is_empty() {
            return Err(wrong("INSERT has more target columns than expressions"));
        }
        given.truncate(values.len());
        let mut values = values.to_vec();
        for (value, at) in values.iter_mut().zip(&given) {
            if !is_default(value) {
                target.identities.check_inserted(def, *at, None)?;
            }
            spell_out_default(value, &def.columns[*at], &target.defaults)?;
        }
        if values.iter().any(calls_sequences) {
            for at in numbered_besides(def, &given, &target.defaults)? {
                given.push(at);
                values.extend(target.defaults.syntax(&def.columns[at])?.map(|syntax| Expr::Nested(Box::new(syntax))));
            }
            let mut both: Vec<(usize, Expr)> = given.into_iter().zip(values).collect();
            both.sort_by_key(|(at, _)| *at);
            (given, values) = both.into_iter().unzip();
        }
        Ok(Self::Add(given, values))
    }
}

/// The query of the source, and what its rows are called.
fn source_of(factor: &TableFactor) -> Result<(Query, Ident), EngineError> {
    let name = match factor {
        TableFactor::Table { alias: Some(TableAlias { name, .. }), .. }
        | TableFactor::Derived { alias: Some(TableAlias { name, .. }), .. } => name.clone(),
        TableFactor::Table { name, alias: None, args: None, .. } => {
            name.0.last().and_then(|part| part.as_ident()).cloned().ok_or_else(not_read)?
        }
        _ => return Err(EngineError::unsupported("MERGE takes a table, or a subquery with an alias, as its source")),
    };
    let mut query = query_of_text("SELECT * FROM s")?;
    if let SetExpr::Select(select) = &mut *query.body {
        select.from = vec![TableWithJoins { relation: factor.clone(), joins: Vec::new() }];
    }
    Ok((query, name))
}

fn second_time() -> EngineError {
    let error = EngineError::new(SqlState::CardinalityViolation, "MERGE command cannot affect row a second time");
    error.with_hint("Ensure that not more than one source row matches any one target row.")
}

fn not_read() -> EngineError {
    EngineError::internal("a query of MERGE is not read")
}
