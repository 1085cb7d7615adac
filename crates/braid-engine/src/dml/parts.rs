//! Statements whose WITH changes rows: `WITH d AS (DELETE … RETURNING …) INSERT … SELECT … FROM d`, those whose RETURNING reads WITH, and
//! queries that lock rows.
//!
//! The queries of WITH run one after the other, each to its end whether something reads its rows or not, but for a query that changes
//! nothing and that nothing reads. Their rows are kept, and are tables of the parts behind them. All parts read the snapshot that the statement
//! begins with, so that none sees a change of another. The changes are made together at the end; if others have changed some of the rows
//! meanwhile, the statement begins anew.

use braid_sql::syntax::walk::Tree;
use braid_sql::{SqlError, SqlState, SqlType};
use sqlparser::ast::{Cte, Delete, Insert, Query, SetExpr, Statement as Syntax, Update, With};

use super::changed_rows::{ATTEMPTS_MAX, Changed, Part, concurrent_update, query_of_text};
use super::changes::Changes;
use super::locking_query::LockingQuery;
use super::part_types::{as_prepared, note_types};
use super::{delete, insert, update};
use crate::bound_parameters::{BoundParameters, declared_types};
use crate::front_end::{self, DescribedPart, PartQuery, ReturnedRows, StatementFacts, StatementTables};
use crate::interrupt::Interrupt;
use crate::names::fold;
use crate::statement::{RelationNames, is_locking_subquery};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement};

/// A part of a statement, with the WITH before it.
enum PartSyntax<'a> {
    Query,
    Insert(Option<&'a With>, &'a Insert),
    Update(Option<&'a With>, &'a Update),
    Delete(Option<&'a With>, &'a Delete),
}

impl<'a> PartSyntax<'a> {
    fn of(body: &'a SetExpr, with: Option<&'a With>) -> Result<Self, EngineError> {
        Ok(match body {
            SetExpr::Insert(Syntax::Insert(insert)) => Self::Insert(with, insert),
            SetExpr::Update(Syntax::Update(update)) => Self::Update(with, update),
            SetExpr::Delete(Syntax::Delete(delete)) => Self::Delete(with, delete),
            SetExpr::Merge(_) => return Err(EngineError::unsupported("MERGE not supported in WITH query")),
            _ => Self::Query,
        })
    }
}

/// Runs it.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    query: &Query,
    parameters: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    check_overriding(statement)?;
    // Where a part waits for a lock of a table, all begin anew.
    if has_inserts(query) || context.database().locks().has_strong() {
        check_bindings((context, statement), query, parameters).await?;
    }
    for _ in 0..ATTEMPTS_MAX {
        let attempted = attempt(context, statement, query, parameters).await;
        if attempted.is_err() {
            check_bindings((context, statement), query, parameters).await?;
        }
        if let Some((answer, tag)) = attempted? {
            context.release_locks();
            return Ok(answer.outcome(context, interrupt, tag));
        }
        if context.has_fixed_snapshot() {
            break;
        }
    }
    Err(concurrent_update())
}

/// Whether a query of WITH adds rows, for which it may take numbers of sequences.
fn has_inserts(query: &Query) -> bool {
    let mut queries = query.with.iter().flat_map(|with| &with.cte_tables).map(|common| &common.query);
    queries.any(|common| matches!(&*common.body, SetExpr::Insert(_)))
}

/// Binds all parts: an error in one comes before those of values that another one computes.
async fn check_bindings(
    both: (&StatementContext, &Statement),
    query: &Query,
    parameters: &BoundParameters,
) -> Result<(), EngineError> {
    both.0.settle_writes().await?;
    let mut types: Vec<Option<SqlType>> = parameters.types().iter().copied().map(Some).collect();
    describe_parts(both, query, &mut types).await.map(drop)
}

/// OVERRIDING is known for a statement, not for each INSERT in it.
fn check_overriding(statement: &Statement) -> Result<(), EngineError> {
    match statement.overriding() {
        Some(_) => Err(EngineError::unsupported("OVERRIDING in a statement with changes in WITH is not supported")),
        None => Ok(()),
    }
}

/// Runs it once; `None` if others have changed some of the rows meanwhile.
async fn attempt(
    context: &StatementContext,
    statement: &Statement,
    query: &Query,
    parameters: &BoundParameters,
) -> Result<Option<(Changed, &'static str)>, EngineError> {
    context.settle_writes().await?;
    let mut tables = StatementTables::of(context.snapshot());
    let mut changes = Changes::default();
    for common in CommonQuery::all_of(query)? {
        common.hide_names(&mut tables);
        let part = Part { context, statement, parameters, tables: &tables };
        let rows = match PartSyntax::of(&common.query.body, common.query.with.as_ref())? {
            PartSyntax::Query if !common.is_read => {
                let mut types: Vec<Option<SqlType>> = parameters.types().iter().copied().map(Some).collect();
                describe((context, statement), &common.query, None, &tables, &mut types).await?;
                continue;
            }
            PartSyntax::Query => match run_query(part, &common.query).await.map_err(|error| common.explained(error))? {
                Some(rows) => Some(rows),
                None => return Ok(None),
            },
            syntax => match run(part, syntax, &mut changes).await? {
                Some(changed) => changed.returned,
                None => return Ok(None),
            },
        };
        match rows {
            Some(rows) => {
                let (columns, rows) = rows.into_table(&common.name, &common.columns)?;
                tables.add(common.name, columns, rows);
            }
            None => tables.refuse(common.name.clone(), no_returning(&common.name)),
        }
    }
    let part = Part { context, statement, parameters, tables: &tables };
    let syntax = PartSyntax::of(&query.body, None)?;
    let tag = match &syntax {
        PartSyntax::Query => "SELECT",
        PartSyntax::Insert(..) => "INSERT 0",
        PartSyntax::Update(..) => "UPDATE",
        PartSyntax::Delete(..) => "DELETE",
    };
    let answer = match syntax {
        PartSyntax::Query => match run_query(part, &without_with(query)).await? {
            Some(rows) => Changed { count: 0, returned: Some(rows) },
            None => return Ok(None),
        },
        syntax => match run(part, syntax, &mut changes).await? {
            Some(changed) => changed,
            None => return Ok(None),
        },
    };
    Ok(changes.make(context).await?.then_some((answer, tag)))
}

/// Runs a query; `None` if it locks rows, and others have changed some of them meanwhile.
async fn run_query(part: Part<'_>, query: &Query) -> Result<Option<ReturnedRows>, EngineError> {
    let Part { context, statement, parameters, tables } = part;
    match LockingQuery::of(context, query, tables)? {
        Some(locking) => locking.run(part).await,
        None => ReturnedRows::of_query(context, statement, query, (tables, parameters)).await.map(Some),
    }
}

/// Runs a part that changes rows; `None` if others have changed some of them meanwhile.
async fn run(part: Part<'_>, syntax: PartSyntax<'_>, changes: &mut Changes) -> Result<Option<Changed>, EngineError> {
    match syntax {
        PartSyntax::Query => Err(EngineError::internal("a query changes no rows")),
        PartSyntax::Insert(with, insert) => insert::add(part, (with, insert), changes).await.map(Some),
        PartSyntax::Update(with, update) => update::find(part, (with, update), changes).await,
        PartSyntax::Delete(with, delete) => delete::find(part, (with, delete), changes).await,
    }
}

/// The types of its parameters, and the columns of its rows.
pub(crate) async fn prepare(
    context: &StatementContext,
    statement: &Statement,
    query: &Query,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    check_overriding(statement)?;
    let mut types = declared_types(declared, &StatementFacts::of(context))?;
    let described = describe_parts((context, statement), query, &mut types).await?;
    as_prepared(types, described.rows.map(|(_, schema)| schema))
}

/// What is known of the last part, after all others.
async fn describe_parts(
    both: (&StatementContext, &Statement),
    query: &Query,
    types: &mut Vec<Option<SqlType>>,
) -> Result<DescribedPart, EngineError> {
    let mut tables = StatementTables::of(both.0.snapshot());
    for common in CommonQuery::all_of(query)? {
        common.hide_names(&mut tables);
        let described = describe(both, &common.query, common.query.with.as_ref(), &tables, types).await;
        let described = described.map_err(|error| common.explained(error))?;
        match described.rows {
            Some((columns, _)) => {
                let (columns, rows) = columns.table(&common.name, &common.columns)?;
                tables.add(common.name, columns, rows);
            }
            None => tables.refuse(common.name.clone(), no_returning(&common.name)),
        }
    }
    describe(both, &without_with(query), None, &tables, types).await
}

/// What is known of a part, which may tell the types of parameters.
async fn describe(
    both: (&StatementContext, &Statement),
    query: &Query,
    with: Option<&With>,
    tables: &StatementTables,
    types: &mut Vec<Option<SqlType>>,
) -> Result<DescribedPart, EngineError> {
    let described = match PartSyntax::of(&query.body, with)? {
        PartSyntax::Query => match LockingQuery::of(both.0, query, tables)? {
            Some(locking) => locking.describe(both, tables, types).await?,
            None => front_end::describe_part(both.0, both.1, PartQuery::Rows(query), tables, types).await?,
        },
        PartSyntax::Insert(with, insert) => insert::describe(both, (with, insert), tables, types).await?,
        PartSyntax::Update(with, update) => update::describe(both, (with, update), tables, types).await?,
        PartSyntax::Delete(with, delete) => delete::describe(both, (with, delete), tables, types).await?,
    };
    note_types(types, &described);
    Ok(described)
}

/// A query of WITH.
struct CommonQuery {
    name: String,
    /// Names for its first columns.
    columns: Vec<String>,
    query: Query,
    /// Whether something behind it may read its rows.
    is_read: bool,
    /// Names that are hidden from it: those of WITH RECURSIVE that come later, and its own, with why.
    hidden: Vec<(String, SqlError)>,
}

impl CommonQuery {
    /// The queries of WITH, in their order.
    fn all_of(query: &Query) -> Result<Vec<Self>, EngineError> {
        let Some(with) = &query.with else { return Ok(Vec::new()) };
        let ctes = &with.cte_tables;
        let mut read = RelationNames::default();
        without_with(query).walk(&mut read);
        let mut queries = Vec::new();
        for (at, cte) in ctes.iter().enumerate().rev() {
            let name = fold(&cte.alias.name);
            if ctes[..at].iter().any(|other| fold(&other.alias.name) == name) {
                let message = format!("WITH query name \"{name}\" specified more than once");
                return Err(EngineError::new(SqlState::DuplicateAlias, message));
            }
            if cte.from.is_some() || cte.alias.columns.iter().any(|column| column.data_type.is_some()) {
                return Err(EngineError::unsupported("this form of WITH is not supported"));
            }
            let is_read = read.has(&name);
            cte.query.walk(&mut read);
            queries.push(Self {
                is_read,
                columns: cte.alias.columns.iter().map(|column| fold(&column.name)).collect(),
                query: if with.recursive { recursive(with, cte)? } else { (*cte.query).clone() },
                hidden: if with.recursive { hidden_names(ctes, at) } else { Vec::new() },
                name,
            });
        }
        queries.reverse();
        Ok(queries)
    }

    /// The error of a query that locks rows and was read where it could see the rows of other queries.
    fn explained(&self, error: EngineError) -> EngineError {
        let may_be_around = match error.state() {
            SqlState::UndefinedColumn => true,
            SqlState::UndefinedTable => error.message().contains("FROM-clause entry"),
            _ => false,
        };
        match may_be_around && is_locking_subquery(&self.name) {
            true => error.with_hint("A subquery with row locks cannot read rows of the query around it."),
            false => error,
        }
    }

    fn hide_names(&self, tables: &mut StatementTables) {
        self.hidden.iter().cloned().for_each(|(name, why)| tables.refuse(name, why));
    }
}

/// The names that a query of WITH RECURSIVE cannot read here.
fn hidden_names(ctes: &[Cte], at: usize) -> Vec<(String, SqlError)> {
    let own = fold(&ctes[at].alias.name);
    let message = format!("recursive query \"{own}\" must not contain data-modifying statements");
    let later = ctes[at + 1..].iter().map(|cte| {
        let name = fold(&cte.alias.name);
        let message = format!("a reference to \"{name}\" from here is not supported");
        (name, SqlError::unsupported(message))
    });
    std::iter::once((own, SqlError::new(SqlState::InvalidRecursion, message))).chain(later).collect()
}

/// A query of WITH RECURSIVE by itself, which may read its own rows.
fn recursive(with: &With, cte: &Cte) -> Result<Query, EngineError> {
    if changes_rows(&cte.query) {
        return Ok((*cte.query).clone());
    }
    let name = fold(&cte.alias.name).replace('"', "\"\"");
    let query = query_of_text(&format!("SELECT * FROM \"{name}\""))?;
    Ok(Query { with: Some(With { cte_tables: vec![cte.clone()], ..with.clone() }), ..query })
}

/// Whether a query is a statement that changes rows.
fn changes_rows(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

fn without_with(query: &Query) -> Query {
    Query { with: None, ..query.clone() }
}

fn no_returning(name: &str) -> SqlError {
    SqlError::unsupported(format!("WITH query \"{name}\" does not have a RETURNING clause"))
}
