//! The rows that UPDATE and DELETE change: found by a query, locked, deleted, and, for UPDATE, added again with other values.
//!
//! The query is the statement's FROM and WHERE over the table, and returns the identity of each row that satisfies them. A row that joins
//! with several others is changed once, with the first of them that comes, as in PostgreSQL.
//!
//! Before rows are deleted they are locked ([`braid_storage::WriteSet::lock_rows`]). If others have changed some of them since the query's
//! snapshot, the statement of a READ COMMITTED transaction begins anew on the newest state, and that of any other transaction fails
//! (40001).

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::tables::{ROW_IDS, changed_table_schema};
use braid_storage::{ColumnDef, ColumnType, TableDef};
use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, SelectItem, SetExpr, Statement as Syntax, TableFactor, TableWithJoins, With,
};

use super::assignment::Assignment;
use super::changes::Changes;
use super::defaults::DomainDefaults;
use super::identities::Identities;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{self, ReturnedQuery, ReturnedRows, ReturningList, StatementTables, StoredIn};
use crate::interrupt::Interrupt;
use crate::statement_context::StatementContext;
use crate::table_names::named_table;
use crate::{EngineError, Outcome, SqlState, Statement};

/// Times that a statement begins anew before it fails.
pub(super) const ATTEMPTS_MAX: usize = 1000;

/// The table that a statement changes.
#[derive(Debug)]
pub(super) struct Target {
    pub def: Arc<TableDef>,
    /// The name of its schema.
    schema: String,
    pub identities: Identities,
    pub defaults: DomainDefaults,
    alias: Option<Ident>,
    relation: TableWithJoins,
}

impl Target {
    /// The target of a statement.
    ///
    /// # Errors
    /// If it is none of users' tables.
    pub fn of(context: &StatementContext, written: &TableWithJoins) -> Result<Self, EngineError> {
        let refused = || EngineError::unsupported("only a single table can be changed");
        let written = &without_only(written.clone());
        let TableFactor::Table { name, alias, .. } = &written.relation else { return Err(refused()) };
        if !written.joins.is_empty() || alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return Err(refused());
        }
        let snapshot = context.snapshot();
        let def = named_table(context, &snapshot, name)?.into_filled()?;
        context.use_changed_table(&def)?;
        let identities = Identities::of(&snapshot, &def);
        let quoted = |name: &str| Ident::with_quote('"', name);
        let alias = alias.as_ref().map(|alias| alias.name.clone());
        let mut relation = written.clone();
        if let TableFactor::Table { name, .. } = &mut relation.relation {
            let span = name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.span);
            let mut own_name = quoted(&def.name);
            own_name.span = span.unwrap_or(own_name.span);
            *name = ObjectName::from(vec![quoted(&changed_table_schema(def.schema.0)), own_name]);
        }
        let schema = snapshot.schema_name(def.schema).unwrap_or_default().to_owned();
        let defaults = DomainDefaults::of(context, &snapshot, &def);
        Ok(Self { def, schema, identities, defaults, alias, relation })
    }

    /// The table with the identities of its rows, as an item of FROM.
    pub fn relation(&self) -> &TableWithJoins {
        &self.relation
    }

    /// A column of its rows, with the schema: a table of another one may have its name.
    pub fn column(&self, at: usize) -> Expr {
        let quoted = |name: &str| Ident::with_quote('"', name);
        let mut names = match &self.alias {
            Some(alias) => vec![alias.clone()],
            None => vec![quoted(&self.schema), quoted(&self.def.name)],
        };
        names.push(quoted(&self.def.columns[at].name));
        Expr::CompoundIdentifier(names)
    }
}

/// The query of an UPDATE or DELETE.
pub(super) struct ChangedRows<'a> {
    pub target: &'a Target,
    pub with: Option<&'a With>,
    /// The other tables of FROM or USING.
    pub others: Vec<TableWithJoins>,
    pub condition: Option<Expr>,
    pub change: Change,
    /// The list of RETURNING.
    pub returning: Option<&'a [SelectItem]>,
}

/// What becomes of the rows.
pub(super) enum Change {
    /// They get these values of all columns.
    Replace(Vec<Expr>),
    Remove,
}

/// A part of a statement that is run.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub context: &'a StatementContext,
    pub statement: &'a Statement,
    pub parameters: &'a BoundParameters,
    /// What it reads of the parts before it.
    pub tables: &'a StatementTables,
}

impl Part<'_> {
    /// RETURNING of a part whose rows are found without its plan.
    pub async fn planned_returning(self, list: &Arc<ReturningList>) -> Result<ReturnedQuery, EngineError> {
        ReturnedQuery::planned(self.context, self.statement, list, (self.tables, self.parameters)).await
    }
}

/// Rows that were changed.
pub(super) struct Changed {
    pub count: u64,
    /// The rows of RETURNING.
    pub returned: Option<ReturnedRows>,
}

impl Changed {
    /// What the statement answers: its tag with the number of rows, or the rows of RETURNING.
    pub fn outcome(self, context: &StatementContext, interrupt: &Interrupt, tag: &'static str) -> Outcome {
        match self.returned {
            Some(rows) => rows.outcome(context, interrupt, tag),
            None => Outcome::done(format!("{tag} {}", self.count)),
        }
    }
}

impl ChangedRows<'_> {
    /// The columns of its rows: the identity, then those of the table for an UPDATE, and for RETURNING.
    pub fn stored_in(&self) -> Result<StoredIn, EngineError> {
        let id = ColumnDef { nullable: false, ..ColumnDef::new(ROW_IDS, ColumnType::BigInt) };
        let values = self.values();
        let columns = std::iter::once(&id).chain(&self.target.def.columns).take(1 + values.len());
        let stored_in = StoredIn::new(columns, Vec::new()).with_rows(self.query(values)?);
        Ok(stored_in.with_returning(self.returning()?.map(Arc::new)))
    }

    fn returning(&self) -> Result<Option<ReturningList>, EngineError> {
        let Some(items) = self.returning else { return Ok(None) };
        let Target { def, schema, alias, .. } = self.target;
        Ok(Some(ReturningList::new(items, (schema, def), alias.as_ref(), self.with, simplest_query()?)))
    }

    /// The values of the table's columns: the new ones, or those that RETURNING reads.
    fn values(&self) -> Vec<Expr> {
        match &self.change {
            Change::Replace(values) => values.clone(),
            Change::Remove if self.returning.is_none() => Vec::new(),
            Change::Remove => (0..self.target.def.columns.len()).map(|at| self.target.column(at)).collect(),
        }
    }

    fn query(&self, values: Vec<Expr>) -> Result<Query, EngineError> {
        let mut query = simplest_query()?;
        query.with = self.with.cloned();
        let SetExpr::Select(select) = &mut *query.body else { return Err(no_query()) };
        let id = Expr::CompoundIdentifier(vec![Ident::with_quote('"', ROW_IDS), Ident::with_quote('"', ROW_IDS)]);
        select.projection = std::iter::once(id).chain(values).map(SelectItem::UnnamedExpr).collect();
        select.from = std::iter::once(self.target.relation.clone()).chain(self.others.iter().cloned()).collect();
        select.selection.clone_from(&self.condition);
        Ok(query)
    }

    /// Changes the rows.
    pub async fn change(
        &self,
        context: &StatementContext,
        statement: &Statement,
        parameters: &BoundParameters,
    ) -> Result<Changed, EngineError> {
        for _ in 0..ATTEMPTS_MAX {
            context.settle_writes().await?;
            let mut changes = Changes::default();
            let part = Part { context, statement, parameters, tables: &StatementTables::default() };
            if let Some(changed) = self.find(part, &mut changes).await?
                && changes.make(context).await?
            {
                return Ok(changed);
            }
            if context.has_fixed_snapshot() {
                break;
            }
        }
        Err(concurrent_update())
    }

    /// Finds the rows; `None` if others have changed some of them meanwhile.
    pub async fn find(&self, part: Part<'_>, changes: &mut Changes) -> Result<Option<Changed>, EngineError> {
        let Part { context, statement, parameters, tables } = part;
        let stored_in = self.stored_in()?.with_tables(tables.clone());
        let def = &self.target.def;
        let mut appender = match self.change {
            Change::Replace(_) => Some(context.append(def)),
            Change::Remove => None,
        };
        // The query reads this state or one that came right behind it. Its chunks may be written again while it runs.
        let before = tables.snapshot().unwrap_or_else(|| context.snapshot());
        let mut rows = front_end::start_insert(context, statement, &stored_in, parameters).await?;
        let (mut returned, mut count) = (rows.returned.take(), 0);
        let conversion = FoundConversion::new(context, def, &self.change)?;
        while let Some(batch) = rows.next().await {
            let snapshot = tables.snapshot().unwrap_or_else(|| context.snapshot());
            let Some(new) = changes.find_between([&before, &snapshot], def, batch?) else { return Ok(None) };
            count += new.num_rows() as u64;
            if new.num_rows() == 0 || (appender.is_none() && returned.is_none()) {
                continue;
            }
            let (stored, others) = conversion.convert(&new)?;
            if let Some(returned) = &mut returned {
                returned.add(&stored, others).await?;
            }
            if let Some(appender) = &mut appender {
                let replaced = new.column(0).as_primitive::<Int64Type>();
                changes.replace((context, &snapshot), def, replaced, &stored)?;
                appender.append(stored).await?;
            }
        }
        let returned = match returned {
            Some(returned) => Some(returned.run(context).await?),
            None => None,
        };
        if let Some(appender) = appender.filter(|_| count > 0) {
            changes.append(def, appender.finish().await?);
        }
        Ok(Some(Changed { count, returned }))
    }
}

/// How rows that were found become rows of the table.
struct FoundConversion {
    assignment: Assignment,
    sources: Vec<Option<usize>>,
}

impl FoundConversion {
    fn new(context: &StatementContext, def: &Arc<TableDef>, change: &Change) -> Result<Self, EngineError> {
        // The identity comes first.
        let sources = (1..=def.columns.len()).map(Some).collect();
        let assignment = match change {
            Change::Replace(_) => Assignment::checked(context, def)?,
            // Rows that go may violate a constraint that was added later.
            Change::Remove => Assignment::new(def, context.reading()),
        };
        Ok(Self { assignment, sources })
    }

    /// The rows as they are stored, and the columns of other relations behind them.
    fn convert<'b>(&self, found: &'b RecordBatch) -> Result<(RecordBatch, &'b [ArrayRef]), EngineError> {
        let stored = self.assignment.convert(found, &self.sources)?;
        Ok((stored, &found.columns()[1 + self.sources.len()..]))
    }
}

/// The failure of a statement whose rows others have changed.
pub(super) fn concurrent_update() -> EngineError {
    let message = "could not serialize access due to concurrent update";
    EngineError::new(SqlState::SerializationFailure, message)
}

/// `ONLY t`, which the parser takes for a table `only` with an alias. No table has others below it.
pub(crate) fn without_only(mut table: TableWithJoins) -> TableWithJoins {
    if let TableFactor::Table { name, alias, .. } = &mut table.relation
        && let [part] = &name.0[..]
        && part.as_ident().is_some_and(|word| word.quote_style.is_none() && word.value.eq_ignore_ascii_case("only"))
        && alias.as_ref().is_some_and(|alias| !alias.explicit)
        && let Some(meant) = alias.take()
    {
        *name = ObjectName::from(vec![meant.name]);
    }
    table
}

/// A query to be filled.
pub(super) fn simplest_query() -> Result<Query, EngineError> {
    query_of_text("SELECT 1")
}

/// A query that is written here.
pub(super) fn query_of_text(text: &str) -> Result<Query, EngineError> {
    let dialect = SqlDialect::for_text(text);
    let parsed = parser_of(&dialect, text).and_then(|mut parser| parser.parse_statement());
    match parsed {
        Ok(Syntax::Query(query)) => Ok(*query),
        _ => Err(no_query()),
    }
}

fn no_query() -> EngineError {
    EngineError::internal("a simple query is not read")
}
