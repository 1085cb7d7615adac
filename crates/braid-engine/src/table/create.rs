//! CREATE TABLE and CREATE TABLE AS.

use std::collections::BTreeSet;

use braid_base::SchemaId;
use braid_sql::syntax::is_named_only;
use braid_storage::{
    Catalog, CheckDef, ColumnDef, ColumnType, Constraints, ForeignKeyDef, KeyDef, NewTable, StoreError,
    check_column_name,
};
use sqlparser::ast::{CreateTable, Ident};

use super::check_constraints::checks_of_new_table;
use super::definition::{WrittenConstraints, check_clauses, new_table};
use super::foreign_keys::{ReferringTable, WrittenForeignKey};
use super::generated_columns::with_generated_columns;
use super::keys::{PlainKeys, added_keys};
use super::likes::Likes;
use crate::access::AccessCheck;
use crate::bound_parameters::BoundParameters;
use crate::dml::add_rows;
use crate::dml::assignment::Assignment;
use crate::dml::defaults::check_defaults;
use crate::front_end::{self, StatementFacts, TableOfQuery};
use crate::names::{columns_named, fold};
use crate::notices::Notice;
use crate::sequences::OwnSequences;
use crate::statement_context::StatementContext;
use crate::table_names::{NewName, Persistence, new_name};
use crate::{EngineError, Outcome, SqlState, Statement};

/// Whether CREATE TABLE AS stores the query's rows or only its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// WITH DATA, the default.
    All,
    /// WITH NO DATA.
    None,
}

/// CREATE TABLE with columns.
pub(crate) async fn create_table(context: &StatementContext, create: &CreateTable) -> Result<Outcome, EngineError> {
    let plain = PlainKeys::of(&context.settings());
    let NewName { schema, name } = created_name(context, create).await?;
    if create.if_not_exists && exists(context, schema, &name) {
        return Ok(skipped(context, &name, "CREATE TABLE"));
    }
    let facts = StatementFacts::of(context);
    let likes = Likes::of(context, create)?;
    let mut own = OwnSequences::of(&likes.create, &name, &facts)?;
    likes.add_sequences(&mut own);
    let (mut table, WrittenConstraints { keys, checks, foreign_keys }) =
        new_table(name, (&own.create, &likes.columns), plain, &facts)?;
    likes.add_primary_key(&mut table)?;
    if table.columns.is_empty() {
        return Err(EngineError::unsupported("a table without columns is not supported"));
    }
    check_defaults(context, &table.columns)?;
    let table = with_generated_columns(context, schema, table)?;
    context.check_lasting(&context.snapshot(), schema, &table.columns)?;
    let checks = checks_of_new_table(context, (schema, &table), (&checks, &likes.checks))?;
    let names: BTreeSet<String> = checks.iter().map(|check| check.name.clone()).collect();
    let created = context.change(|writes, view| {
        let mut keys = added_keys(view, (schema, &table.name), &table.columns, (&[], &names), &keys)?;
        likes.add_keys(view, (schema, &table), (&mut keys, &names))?;
        let foreign_keys = foreign_keys_of_new_table(context, view, (schema, &table, &keys, &checks), &foreign_keys)?;
        let constraints = Constraints { checks, keys, foreign_keys };
        let def = own.create_table(writes, view, (schema, table, constraints), &facts)?;
        likes.set_comments(writes, view, &def);
        Ok::<_, EngineError>(def.id)
    });
    match created.await {
        // Another session has created it meanwhile.
        Err(error) if create.if_not_exists && error.state() == SqlState::DuplicateTable => {}
        created => context.note_on_commit(created?, create.on_commit),
    }
    context.end_statement().await?;
    Ok(Outcome::done("CREATE TABLE"))
}

/// The foreign keys of a table that is to be created.
fn foreign_keys_of_new_table(
    context: &StatementContext,
    catalog: &Catalog,
    (schema, table, keys, checks): (SchemaId, &NewTable, &[KeyDef], &[CheckDef]),
    written: &[WrittenForeignKey],
) -> Result<Vec<ForeignKeyDef>, EngineError> {
    let NewTable { name, columns, primary_key } = table;
    let referring = ReferringTable { schema, name, id: None, columns, primary_key, keys };
    let known = keys.iter().filter(|key| key.kind.is_constraint()).map(|key| key.name.clone());
    let mut taken: BTreeSet<String> = known.chain(checks.iter().map(|check| check.name.clone())).collect();
    let mut foreign_keys = Vec::with_capacity(written.len());
    for key in written {
        let key = key.define(context, catalog, referring, &taken)?;
        taken.insert(key.name.clone());
        foreign_keys.push(key);
    }
    Ok(foreign_keys)
}

/// CREATE TABLE AS. Creates the table and its rows in one commit.
pub(crate) async fn create_table_as(
    context: &StatementContext,
    statement: &Statement,
    create: &CreateTable,
    wanted: Rows,
    parameters: &BoundParameters,
) -> Result<Outcome, EngineError> {
    check_clauses(create)?;
    let NewName { schema, name } = created_name(context, create).await?;
    if exists(context, schema, &name) {
        if create.if_not_exists {
            return Ok(skipped(context, &name, "CREATE TABLE AS"));
        }
        let message = format!("relation \"{name}\" already exists");
        return Err(EngineError::new(SqlState::DuplicateTable, message));
    }
    let names = given_names(create)?;
    if wanted == Rows::None {
        let columns = with_names(front_end::table_columns(context, statement, parameters).await?, &names)?;
        check_types(context, &columns)?;
        let table = table_of(name, columns)?;
        let change = context
            .change(|writes, view| writes.create_constrained_table(view, (schema, table), Constraints::default()));
        context.note_on_commit(change.await?.id, create.on_commit);
        context.end_statement().await?;
        return Ok(Outcome::done("CREATE TABLE AS"));
    }
    let TableOfQuery { columns, mut rows } = front_end::start_table(context, statement, parameters).await?;
    check_types(context, &columns)?;
    let columns = with_names(columns, &names)?;
    let mut appender = context.create_and_append(schema, table_of(name, columns)?)?;
    let assignment = Assignment::new(appender.def(), context.reading());
    while let Some(batch) = rows.next().await {
        appender.append(assignment.convert_all(&batch?)?).await?;
    }
    context.note_on_commit(appender.def().id, create.on_commit);
    let row_count = add_rows(context, appender).await?;
    Ok(Outcome::done(format!("SELECT {row_count}")))
}

/// The names that CREATE TABLE AS gives its columns.
///
/// # Errors
/// For definitions of columns (42601).
fn given_names(create: &CreateTable) -> Result<Vec<String>, EngineError> {
    if !create.constraints.is_empty() || !create.columns.iter().all(is_named_only) {
        return Err(EngineError::new(SqlState::SyntaxError, "syntax error at or near \"AS\""));
    }
    Ok(create.columns.iter().map(|column| fold(&column.name)).collect())
}

/// The columns, of which the first ones get these names.
///
/// # Errors
/// For more names than columns (42601).
fn with_names(mut columns: Vec<ColumnDef>, names: &[String]) -> Result<Vec<ColumnDef>, EngineError> {
    if names.len() > columns.len() {
        return Err(EngineError::new(SqlState::SyntaxError, "too many column names were specified"));
    }
    columns.iter_mut().zip(names).for_each(|(column, name)| column.name.clone_from(name));
    Ok(columns)
}

/// Checks that the current role may use the types of columns.
fn check_types(context: &StatementContext, columns: &[ColumnDef]) -> Result<(), EngineError> {
    let Some(access) = AccessCheck::now(context) else { return Ok(()) };
    let types = columns.iter().filter_map(|column| match (column.domain, column.column_type) {
        (Some(domain), _) => Some(domain.oid),
        (None, ColumnType::Enum(enum_type)) => Some(enum_type.oid()),
        (None, _) => None,
    });
    Ok(types.into_iter().try_for_each(|oid| access.check_type(oid))?)
}

/// A table with these columns, whose names must differ.
fn table_of(name: String, columns: Vec<ColumnDef>) -> Result<NewTable, EngineError> {
    let table = NewTable { name, columns, primary_key: Vec::new() };
    table.columns.iter().try_for_each(|column| check_column_name(&column.name)).map_err(StoreError::from)?;
    let names: Vec<Ident> = table.columns.iter().map(|column| Ident::with_quote('"', &column.name)).collect();
    // This check finds duplicate names.
    columns_named(&table.name, &table.columns, &names)?;
    Ok(table)
}

/// The name of the table, and its schema.
async fn created_name(context: &StatementContext, create: &CreateTable) -> Result<NewName, EngineError> {
    let persistence = if create.temporary { Persistence::Temporary } else { Persistence::Lasting };
    let name = new_name(context, &create.name, persistence).await?;
    if create.on_commit.is_some() && !context.snapshot().is_temporary(name.schema) {
        let message = "ON COMMIT can only be used on temporary tables";
        return Err(EngineError::new(SqlState::InvalidTableDefinition, message));
    }
    Ok(name)
}

fn exists(context: &StatementContext, schema: SchemaId, table: &str) -> bool {
    context.snapshot().has_relation(schema, table)
}

/// Tells the client that a table of this name exists.
fn skipped(context: &StatementContext, table: &str, tag: &'static str) -> Outcome {
    let exists = format!("relation \"{table}\" already exists");
    context.raise(Notice::skipping(SqlState::DuplicateTable, &exists));
    Outcome::done(tag)
}
