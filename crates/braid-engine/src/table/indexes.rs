//! CREATE INDEX, ALTER INDEX … RENAME, DROP INDEX.
//!
//! A unique index is enforced as UNIQUE is, also one of expressions or with a condition. Other indexes are kept and shown: no plan uses them
//! yet. Other methods than B-trees are refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::ColumnId;
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_storage::{AlteredRows, Catalog, ColumnType, KeyDef, KeyKind, KeyNulls, Reference, TableDef};
use sqlparser::ast::{CreateIndex, IndexType, ObjectName};

use super::foreign_keys::{drop_references, released};
use super::index_form::{WrittenForm, member_names, written_form};
use super::keys::{WrittenKey, check_key_type, chosen_name, given_name, key_columns};
use crate::dependents::Behavior;
use crate::names::{fold, table_parts};
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table_names::{Missing, Named, named_table};
use crate::{EngineError, Outcome, SqlState};

/// CREATE [UNIQUE] INDEX
///
/// # Errors
/// For what is refused of it, for tables and columns that there are not, names that are taken, and rows with the same key.
pub(crate) async fn create_index(context: &StatementContext, create: &CreateIndex) -> Result<Outcome, EngineError> {
    check_clauses(context, create)?;
    context.settle_writes().await?;
    let states = context.states();
    let def = match named_table(context, &states.1, &create.table_name)? {
        Named::View(view) if view.is_materialized() => {
            let table = states.1.by_id(view.id).map(|table| table.def.clone());
            table.ok_or_else(|| EngineError::internal("a materialized view without a table"))?
        }
        Named::View(view) => return Err(not_indexed(&view.name, "views")),
        Named::Sequence(known) => return Err(not_indexed(&known.definition.name, "sequences")),
        Named::Index(name) => return Err(not_indexed(&name, "indexes")),
        Named::System(name, _) => {
            let message = format!("permission denied: \"{name}\" is a system catalog");
            return Err(EngineError::new(SqlState::InsufficientPrivilege, message));
        }
        named => named.into_altered()?,
    };
    let kind = if create.unique { KeyKind::UniqueIndex } else { KeyKind::Index };
    let nulls = if create.nulls_distinct == Some(false) { KeyNulls::Equal } else { KeyNulls::Distinct };
    let form = written_form(context, &def, create)?;
    let columns = match &form {
        Some(written) => member_names(&def, &written.form),
        None => columns_of(create)?,
    };
    let written = WrittenKey { name: None, columns, kind, nulls, is_enforced: true };
    let Some(key) = new_key(&states.1, &def, create, (&written, form))? else {
        let name = create.name.as_ref().map(last_part).transpose()?.unwrap_or_default();
        context.raise(Notice::skipping(SqlState::DuplicateTable, &format!("relation \"{name}\" already exists")));
        return Ok(Outcome::done("CREATE INDEX"));
    };
    let rows = if kind.is_unique() { AlteredRows::Checked } else { AlteredRows::Kept };
    let mut keys = def.keys.clone();
    keys.push(KeyDef { id: context.database().store().write_set().new_relation_id(), ..key });
    replace(context, states, TableDef { keys, ..TableDef::clone(&def) }, rows).await?;
    Ok(Outcome::done("CREATE INDEX"))
}

/// DROP INDEX [IF EXISTS]
///
/// # Errors
/// For indexes that there are not, and those that constraints need. Nothing is dropped then.
pub(crate) async fn drop_indexes(
    context: &StatementContext,
    names: &[ObjectName],
    missing: Missing,
    behavior: Behavior,
) -> Result<Outcome, EngineError> {
    let snapshot = context.snapshot();
    let mut found = Vec::new();
    for name in names {
        match named_index(context, &snapshot, name) {
            Ok((def, key)) if key.kind.is_constraint() => return Err(needed_by_constraint(&def, &key)),
            Ok(index) => found.push(index),
            Err(error)
                if missing == Missing::Skipped
                    && [SqlState::UndefinedObject, SqlState::InvalidSchemaName].contains(&error.state()) =>
            {
                context.raise(Notice::skipping(SqlState::SuccessfulCompletion, error.message()));
            }
            Err(error) => return Err(error),
        }
    }
    let mut released_keys = Vec::new();
    for (def, key) in &found {
        if key.kind.is_unique() {
            released_keys.extend(references_by(context, &snapshot, def, key, behavior)?);
        }
    }
    drop(snapshot);
    drop_references(context, &released_keys).await?;
    for (def, key) in found {
        context.settle_writes().await?;
        let states = context.states();
        let Some(version) = states.1.by_id(def.id) else { continue };
        let keys = version.def.keys.iter().filter(|known| known.id != key.id).cloned().collect();
        let new = TableDef { keys, ..TableDef::clone(&version.def) };
        alter(context, &states, new, AlteredRows::Kept).await?;
    }
    context.keep_changes().await?;
    Ok(Outcome::done("DROP INDEX"))
}

/// The foreign keys that need a unique index: no other key of its table has the same columns.
///
/// # Errors
/// With RESTRICT, if there are some (2BP01).
fn references_by(
    context: &StatementContext,
    catalog: &Catalog,
    def: &TableDef,
    key: &KeyDef,
    behavior: Behavior,
) -> Result<Vec<Reference>, EngineError> {
    let mut left = def.clone();
    left.keys.retain(|known| known.id != key.id);
    let references = catalog.references_to(def.id).into_iter();
    let is_of = |reference: &Reference| {
        let columns = &reference.key.key;
        key.computed().is_none()
            && columns.len() == key.columns.len()
            && columns.iter().all(|column| key.columns.contains(column))
    };
    let references = references.filter(|reference| is_of(reference) && !left.has_unique_columns(&reference.key.key));
    let index = format!("index {}", quote_identifier(&key.name));
    released(context, catalog, references.collect(), (&index, &index), behavior)
}

/// Renames an index.
///
/// # Errors
/// For an index that there is not, and a name that is taken.
pub(crate) async fn rename_index(
    context: &StatementContext,
    name: &ObjectName,
    new_name: &str,
) -> Result<Outcome, EngineError> {
    context.settle_writes().await?;
    let states = context.states();
    let (def, key) = named_index(context, &states.1, name)?;
    let new_name = given_name(&states.1, def.schema, &[], new_name)?;
    let renamed = |known: &KeyDef| match known.id == key.id {
        true => KeyDef { name: new_name.clone(), ..known.clone() },
        false => known.clone(),
    };
    let keys = def.keys.iter().map(renamed).collect();
    replace(context, states, TableDef { keys, ..TableDef::clone(&def) }, AlteredRows::Kept).await?;
    Ok(Outcome::done("ALTER TABLE"))
}

/// Gives a table another definition, in the transaction or by a commit.
async fn replace(
    context: &StatementContext,
    states: (Arc<Catalog>, Arc<Catalog>),
    def: TableDef,
    rows: AlteredRows,
) -> Result<(), EngineError> {
    alter(context, &states, def, rows).await?;
    drop(states);
    context.keep_changes().await
}

async fn alter(
    context: &StatementContext,
    states: &(Arc<Catalog>, Arc<Catalog>),
    def: TableDef,
    rows: AlteredRows,
) -> Result<(), EngineError> {
    context.alter_table(states, (def, rows), |_, _| Ok(())).await
}

/// The index with its name; `None` if IF NOT EXISTS finds that there is one.
fn new_key(
    catalog: &Catalog,
    def: &TableDef,
    create: &CreateIndex,
    (written, form): (&WrittenKey, Option<WrittenForm>),
) -> Result<Option<KeyDef>, EngineError> {
    let (columns, form) = match form {
        Some(WrittenForm { form, columns }) => (columns, Some(Arc::new(form))),
        None => (plain_columns(def, written)?, None),
    };
    let name = match &create.name {
        None => chosen_name(catalog, (def.schema, &def.name), (&def.keys, &BTreeSet::new()), written),
        Some(name) => {
            let name = last_part(name)?;
            if create.if_not_exists && catalog.has_relation(def.schema, &name) {
                return Ok(None);
            }
            given_name(catalog, def.schema, &def.keys, &name)?
        }
    };
    let patterns = if form.is_none() { pattern_columns(def, create, written)? } else { Vec::new() };
    Ok(Some(KeyDef { id: def.id, name, columns, kind: written.kind, nulls: written.nulls, patterns, form }))
}

/// The columns of an index that is a list of them.
fn plain_columns(def: &TableDef, written: &WrittenKey) -> Result<Vec<ColumnId>, EngineError> {
    let unknown = written.columns.iter().find(|name| def.column(name).is_none());
    if let Some(name) = unknown {
        return Err(EngineError::new(SqlState::UndefinedColumn, format!("column \"{name}\" does not exist")));
    }
    let columns = written.column_ids(&def.columns)?;
    if written.kind.is_unique() {
        let of_index = def.columns.iter().filter(|column| columns.contains(&column.id));
        of_index.into_iter().try_for_each(|column| check_key_type(&column.name, column))?;
    }
    Ok(columns)
}

/// The names of the columns of an index that is a list of them.
fn columns_of(create: &CreateIndex) -> Result<Vec<String>, EngineError> {
    let mut columns = create.columns.clone();
    for column in &mut columns {
        let options = &mut column.column.options;
        (options.asc, options.nulls_first) = (None, None);
        if column.operator_class.as_ref().is_some_and(is_for_patterns) && !create.unique {
            column.operator_class = None;
        }
    }
    key_columns(&columns)
}

/// Whether an operator class is one for patterns.
fn is_for_patterns(class: &ObjectName) -> bool {
    let parts: Vec<String> = class.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
    let name = match &parts[..] {
        [name] => name,
        [schema, name] if schema == "pg_catalog" => name,
        _ => return false,
    };
    ["text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops"].contains(&&**name)
}

/// The columns of an index that it orders for patterns, each by the operator class of its type.
fn pattern_columns(def: &TableDef, create: &CreateIndex, written: &WrittenKey) -> Result<Vec<ColumnId>, EngineError> {
    let mut patterns = Vec::new();
    for (name, column) in written.columns.iter().zip(&create.columns) {
        let Some(class) = &column.operator_class else { continue };
        let Some((id, column)) = def.column(name) else { continue };
        if pattern_class_of(class, name, column.column_type)? {
            patterns.push(id);
        }
    }
    Ok(patterns)
}

/// Whether an operator class orders a member of this type for patterns; it is the default one else.
///
/// # Errors
/// For other classes (0A000).
pub(super) fn pattern_class_of(class: &ObjectName, member: &str, column_type: ColumnType) -> Result<bool, EngineError> {
    let written = class.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    match is_for_patterns(class) && pattern_class(column_type) == Some(&*written) {
        true => Ok(true),
        false => {
            Err(EngineError::unsupported(format!("operator class \"{written}\" for \"{member}\" is not supported")))
        }
    }
}

/// The operator class for patterns of a type.
pub(super) fn pattern_class(column_type: ColumnType) -> Option<&'static str> {
    match column_type {
        ColumnType::Text => Some("text_pattern_ops"),
        ColumnType::Varchar(_) | ColumnType::UnlimitedVarchar => Some("varchar_pattern_ops"),
        ColumnType::Char(_) => Some("bpchar_pattern_ops"),
        _ => None,
    }
}

fn check_clauses(context: &StatementContext, create: &CreateIndex) -> Result<(), EngineError> {
    let refused = [
        (create.using.as_ref().is_some_and(|method| *method != IndexType::BTree), "another index method than btree"),
        (!create.with.is_empty() || !create.index_options.is_empty(), "WITH (…) of an index"),
        (!create.alter_options.is_empty(), "this form of CREATE INDEX"),
    ];
    if let Some((_, what)) = refused.iter().find(|(given, _)| *given) {
        return Err(EngineError::unsupported(format!("{what} is not supported")));
    }
    if create.name.is_none() && create.if_not_exists {
        return Err(EngineError::new(SqlState::SyntaxError, "syntax error at or near \"ON\""));
    }
    if create.concurrently && context.is_in_transaction() {
        let message = "CREATE INDEX CONCURRENTLY cannot run inside a transaction block";
        return Err(EngineError::new(SqlState::ActiveTransaction, message));
    }
    Ok(())
}

/// The index of a name along the session's search path, and its table.
pub(crate) fn named_index(
    context: &StatementContext,
    snapshot: &Catalog,
    name: &ObjectName,
) -> Result<(Arc<TableDef>, KeyDef), EngineError> {
    let (schema, index) = table_parts(name, context.database_name())?;
    let in_schema = |schema: &str| {
        let id = context.schema_of_users(snapshot, schema)?;
        let found = id.and_then(|id| snapshot.key_in(id, &index));
        Ok::<_, EngineError>(found.map(|(version, key)| (version.def.clone(), key.clone())))
    };
    let found = match &schema {
        Some(schema) => in_schema(schema)?,
        None => {
            context.search_path_in(snapshot).searched().find_map(|schema| in_schema(schema).transpose()).transpose()?
        }
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let wrong = |name: &str, kind: &str| {
        EngineError::new(SqlState::WrongObjectType, format!("\"{name}\" is not an index"))
            .with_hint(format!("Use DROP {kind} to remove a {}.", kind.to_lowercase()))
    };
    Err(match named_table(context, snapshot, name)? {
        Named::Table(def) => wrong(&def.name, "TABLE"),
        Named::Sequence(known) => wrong(&known.definition.name, "SEQUENCE"),
        Named::View(view) if view.is_materialized() => wrong(&view.name, "MATERIALIZED VIEW"),
        Named::View(view) => wrong(&view.name, "VIEW"),
        Named::System(name, _) => wrong(&name, "TABLE"),
        missing @ (Named::NoSchema(..) | Named::Index(_)) => match missing.into_altered() {
            Ok(def) => wrong(&def.name, "TABLE"),
            Err(no_schema) => no_schema,
        },
        Named::Nothing(..) => EngineError::new(SqlState::UndefinedObject, format!("index \"{index}\" does not exist")),
    })
}

fn last_part(name: &ObjectName) -> Result<String, EngineError> {
    let part = name.0.last().and_then(|part| part.as_ident()).map(fold);
    part.ok_or_else(|| EngineError::new(SqlState::SyntaxError, format!("{name} is not the name of an index")))
}

fn not_indexed(relation: &str, kind: &str) -> EngineError {
    let message = format!("cannot create index on relation \"{relation}\"");
    EngineError::new(SqlState::WrongObjectType, message)
        .with_detail(format!("This operation is not supported for {kind}."))
}

fn needed_by_constraint(def: &TableDef, key: &KeyDef) -> EngineError {
    let (key, table) = (&key.name, &def.name);
    let message = format!("cannot drop index {key} because constraint {key} on table {table} requires it");
    EngineError::new(SqlState::DependentObjectsStillExist, message)
        .with_hint(format!("You can drop constraint {key} on table {table} instead."))
}
