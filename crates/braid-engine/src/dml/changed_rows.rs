//! The rows that UPDATE and DELETE change: found by a query, locked, deleted, and, for UPDATE, added again with other values.
//!
//! The query is the statement's FROM and WHERE over the table, and returns the identity of each row that satisfies them. A row that joins
//! with several others is changed once, with the first of them that comes, as in PostgreSQL.
//!
//! Before rows are deleted they are locked ([`braid_storage::WriteSet::lock_rows`]). If others have changed some of them since the query's
//! snapshot, the statement of a READ COMMITTED transaction begins anew on the newest state, and that of any other transaction fails
//! (40001).

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::tables::{CHANGED_TABLE_SCHEMA, ROW_IDS};
use braid_storage::{Catalog, ColumnDef, ColumnType, DeletedRows, PRIVATE_CHUNKS, RowDeletes, RowId, TableDef};
use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, SelectItem, SetExpr, Statement as Syntax, TableFactor, TableWithJoins, With,
};

use super::assignment::Assignment;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{self, StoredIn};
use crate::statement_context::{RowChange, StatementContext};
use crate::table_names::named_table;
use crate::{EngineError, SqlState, Statement};

/// Times that a statement begins anew before it fails.
const ATTEMPTS_MAX: usize = 1000;

/// The table that a statement changes.
#[derive(Debug)]
pub(super) struct Target {
    pub def: Arc<TableDef>,
    /// What its columns are qualified with: its alias, or its name.
    qualifier: Ident,
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
        let def = named_table(context, &context.snapshot(), name)?.into_filled()?;
        let quoted = |name: &str| Ident::with_quote('"', name);
        let qualifier = alias.as_ref().map_or_else(|| quoted(&def.name), |alias| alias.name.clone());
        let mut relation = written.clone();
        if let TableFactor::Table { name, .. } = &mut relation.relation {
            let span = name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.span);
            let mut own_name = quoted(&def.name);
            own_name.span = span.unwrap_or(own_name.span);
            *name = ObjectName::from(vec![quoted(CHANGED_TABLE_SCHEMA), own_name]);
        }
        Ok(Self { def, qualifier, relation })
    }

    /// A column of its rows.
    pub fn column(&self, at: usize) -> Expr {
        Expr::CompoundIdentifier(vec![self.qualifier.clone(), Ident::with_quote('"', &self.def.columns[at].name)])
    }
}

/// The query of an UPDATE or DELETE.
pub(super) struct ChangedRows<'a> {
    pub target: &'a Target,
    pub with: Option<With>,
    /// The other tables of FROM or USING.
    pub others: Vec<TableWithJoins>,
    pub condition: Option<Expr>,
    /// The new values of all columns; none for DELETE.
    pub values: Vec<Expr>,
}

impl ChangedRows<'_> {
    /// The columns of its rows: the identity, then those of the table for an UPDATE.
    pub fn stored_in(&self) -> Result<StoredIn, EngineError> {
        let id = ColumnDef { nullable: false, ..ColumnDef::new(ROW_IDS, ColumnType::BigInt) };
        let columns = std::iter::once(&id).chain(&self.target.def.columns).take(1 + self.values.len());
        Ok(StoredIn::new(columns, Vec::new()).with_rows(self.query()?))
    }

    fn query(&self) -> Result<Query, EngineError> {
        let mut query = simplest_query()?;
        query.with.clone_from(&self.with);
        let SetExpr::Select(select) = &mut *query.body else { return Err(no_query()) };
        let id = Expr::CompoundIdentifier(vec![Ident::with_quote('"', ROW_IDS), Ident::with_quote('"', ROW_IDS)]);
        select.projection =
            std::iter::once(id).chain(self.values.iter().cloned()).map(SelectItem::UnnamedExpr).collect();
        select.from = std::iter::once(self.target.relation.clone()).chain(self.others.iter().cloned()).collect();
        select.selection.clone_from(&self.condition);
        Ok(query)
    }

    /// Changes the rows; returns their number.
    pub async fn change(
        &self,
        context: &StatementContext,
        statement: &Statement,
        parameters: &BoundParameters,
    ) -> Result<u64, EngineError> {
        for _ in 0..ATTEMPTS_MAX {
            if let Some(count) = self.attempt(context, statement, parameters).await? {
                return Ok(count);
            }
            if context.has_fixed_snapshot() {
                break;
            }
        }
        let message = "could not serialize access due to concurrent update";
        Err(EngineError::new(SqlState::SerializationFailure, message))
    }

    /// `None` if others have changed some of the rows meanwhile.
    async fn attempt(
        &self,
        context: &StatementContext,
        statement: &Statement,
        parameters: &BoundParameters,
    ) -> Result<Option<u64>, EngineError> {
        context.settle_writes().await?;
        let stored_in = self.stored_in()?;
        let def = &self.target.def;
        let assignment = Assignment::checked(context, def)?;
        let sources: Vec<Option<usize>> = (1..=self.values.len()).map(Some).collect();
        let mut appender = if self.values.is_empty() { None } else { Some(context.append(def)) };
        let mut found = FoundRows::default();
        let mut rows = front_end::start_insert(context, statement, &stored_in, parameters).await?;
        while let Some(batch) = rows.next().await {
            let Some(new) = found.add(&context.snapshot(), def, batch?) else { return Ok(None) };
            if let Some(appender) = appender.as_mut().filter(|_| new.num_rows() > 0) {
                appender.append(assignment.convert(&new, &sources)?).await?;
            }
        }
        if found.count == 0 {
            return Ok(Some(0));
        }
        let appended = match appender {
            Some(appender) => Some(appender.finish().await?),
            None => None,
        };
        let change = RowChange { table: def.clone(), committed: found.committed, own: found.own, appended };
        Ok(context.change_rows(change).await?.then_some(found.count))
    }
}

/// The rows that were found.
#[derive(Default)]
struct FoundRows {
    committed: RowDeletes,
    own: RowDeletes,
    count: u64,
}

impl FoundRows {
    /// Notes the rows of a batch; returns those that come for the first time. `None` if a chunk is gone: others have merged it.
    fn add(&mut self, snapshot: &Catalog, def: &TableDef, batch: RecordBatch) -> Option<RecordBatch> {
        let numbers = batch.column(0).as_primitive::<Int64Type>().clone();
        let version = snapshot.by_id(def.id)?;
        let mut is_new = Vec::with_capacity(numbers.len());
        for number in numbers.values() {
            let RowId { chunk, row } = RowId::of_number(*number).expect("scans number rows so");
            let rows = if chunk.0 < PRIVATE_CHUNKS { &mut self.committed } else { &mut self.own };
            let rows = match rows.entry(chunk) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    let known = version.chunks.iter().find(|known| known.id == chunk)?;
                    entry.insert(DeletedRows::none(known.row_count))
                }
            };
            is_new.push(rows.insert(row));
        }
        self.count += is_new.iter().filter(|is_new| **is_new).count() as u64;
        match is_new.iter().all(|is_new| *is_new) {
            true => Some(batch),
            false => {
                Some(filter_record_batch(&batch, &BooleanArray::from(is_new)).expect("a mask has a value for each row"))
            }
        }
    }
}

/// `ONLY t`, which the parser takes for a table `only` with an alias. No table has others below it.
fn without_only(mut table: TableWithJoins) -> TableWithJoins {
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
fn simplest_query() -> Result<Query, EngineError> {
    const TEXT: &str = "SELECT 1";
    let dialect = SqlDialect::for_text(TEXT);
    let parsed = parser_of(&dialect, TEXT).and_then(|mut parser| parser.parse_statement());
    match parsed {
        Ok(Syntax::Query(query)) => Ok(*query),
        _ => Err(no_query()),
    }
}

fn no_query() -> EngineError {
    EngineError::internal("the simplest query is not read")
}
