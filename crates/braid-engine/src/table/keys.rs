//! PRIMARY KEY and UNIQUE: as they are written, and as keys of a table with names.
//!
//! A key that says NOT ENFORCED, or that the session takes for one that does (`braid.accept_unenforced_constraints`), is not kept: of a
//! primary key its columns are, which have no nulls. All other keys are enforced by the store.

use braid_base::{ColumnId, SchemaId, TableId};
use braid_storage::{Catalog, ColumnDef, KEY_COLUMNS_MAX, KEYS_MAX, KeyDef, KeyKind, KeyNulls, is_key_type};
use sqlparser::ast::{
    ConstraintCharacteristics, Expr, Ident, IndexColumn, NullsDistinctOption, PrimaryKeyConstraint, UniqueConstraint,
};
use std::collections::BTreeSet;

use super::constraint_names::shortened;
use crate::names::fold;
use crate::settings::SettingValues;
use crate::{EngineError, SqlState};
use braid_catalog::column_types::sql_type_of;
use braid_sql::SqlType;
use braid_sql::types::type_names::format_type;

/// What happens to a key that does not say NOT ENFORCED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainKeys {
    /// It is enforced.
    Enforced,
    /// It is taken for one that does: `braid.accept_unenforced_constraints`.
    NotEnforced,
}

impl PlainKeys {
    /// What the session wants.
    pub fn of(settings: &SettingValues) -> Self {
        match settings.get("braid.accept_unenforced_constraints") {
            Some("on") => Self::NotEnforced,
            _ => Self::Enforced,
        }
    }
}

/// A key as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenKey {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The names of its columns.
    pub columns: Vec<String>,
    pub kind: KeyKind,
    pub nulls: KeyNulls,
    pub is_enforced: bool,
}

impl WrittenKey {
    /// PRIMARY KEY (…)
    ///
    /// # Errors
    /// For what keys do not have.
    pub fn primary(key: &PrimaryKeyConstraint, plain: PlainKeys) -> Result<Self, EngineError> {
        let has_more = key.index_name.is_some() || key.index_type.is_some() || !key.index_options.is_empty();
        check_plain("PRIMARY KEY", has_more)?;
        let is_enforced = is_enforced("PRIMARY KEY", key.characteristics.as_ref(), plain)?;
        let (name, columns) = (key.name.as_ref().map(fold), key_columns(&key.columns)?);
        Ok(Self { name, columns, kind: KeyKind::Primary, nulls: KeyNulls::Distinct, is_enforced })
    }

    /// UNIQUE [NULLS NOT DISTINCT] (…)
    ///
    /// # Errors
    /// For what keys do not have.
    pub fn unique(key: &UniqueConstraint, plain: PlainKeys) -> Result<Self, EngineError> {
        let has_more = key.index_name.is_some() || key.index_type.is_some() || !key.index_options.is_empty();
        check_plain("UNIQUE", has_more)?;
        let is_enforced = is_enforced("UNIQUE", key.characteristics.as_ref(), plain)?;
        let (name, columns) = (key.name.as_ref().map(fold), key_columns(&key.columns)?);
        let nulls = match key.nulls_distinct {
            NullsDistinctOption::NotDistinct => KeyNulls::Equal,
            _ => KeyNulls::Distinct,
        };
        Ok(Self { name, columns, kind: KeyKind::Unique, nulls, is_enforced })
    }

    /// The same key, of a column that it is written behind.
    pub fn of_column(self, column: &str, name: Option<&Ident>) -> Self {
        Self { name: self.name.or_else(|| name.map(fold)), columns: vec![column.to_owned()], ..self }
    }

    /// Its columns by id.
    ///
    /// # Errors
    /// For a column that there is not, or that comes twice.
    pub fn column_ids(&self, columns: &[ColumnDef]) -> Result<Vec<ColumnId>, EngineError> {
        let mut ids = Vec::with_capacity(self.columns.len());
        for name in &self.columns {
            let Some(column) = columns.iter().find(|column| column.name == *name) else {
                let message = format!("column \"{name}\" named in key does not exist");
                return Err(EngineError::new(SqlState::UndefinedColumn, message));
            };
            if ids.contains(&column.id) {
                let what = if self.kind == KeyKind::Primary { "primary key" } else { "unique" };
                let message = format!("column \"{name}\" appears twice in {what} constraint");
                return Err(EngineError::new(SqlState::DuplicateColumn, message));
            }
            ids.push(column.id);
        }
        if ids.len() > KEY_COLUMNS_MAX {
            let message = format!("cannot use more than {KEY_COLUMNS_MAX} columns in an index");
            return Err(EngineError::new(SqlState::TooManyColumns, message));
        }
        Ok(ids)
    }
}

/// The keys of a table that are to be enforced, behind those that it has, with names that none of its other `constraints` has.
///
/// # Errors
/// For columns that there are not or whose types have no order, and names that are taken.
pub(crate) fn added_keys(
    catalog: &Catalog,
    (schema, table): (SchemaId, &str),
    columns: &[ColumnDef],
    (known, constraints): (&[KeyDef], &BTreeSet<String>),
    written: &[WrittenKey],
) -> Result<Vec<KeyDef>, EngineError> {
    let mut merged: Vec<(Vec<ColumnId>, WrittenKey)> = Vec::new();
    // The primary key is the one that stays of those that are the same.
    let (primary, others): (Vec<_>, Vec<_>) =
        written.iter().filter(|key| key.is_enforced).partition(|key| key.kind == KeyKind::Primary);
    for key in primary.into_iter().chain(others) {
        let ids = key.column_ids(columns)?;
        check_types(key, columns)?;
        match merged.iter_mut().find(|(known, other)| *known == ids && other.nulls == key.nulls) {
            Some((_, other)) => other.name = other.name.take().or_else(|| key.name.clone()),
            None => merged.push((ids, key.clone())),
        }
    }
    let mut keys = known.to_vec();
    let before = catalog.table_in(schema, table).map(|version| &version.def);
    for (ids, key) in merged {
        // The statement has dropped a key of this name before.
        let is_free = |name: &str| {
            before.is_some_and(|def| def.key(name).is_some()) && keys.iter().all(|other| other.name != name)
        };
        let name = match &key.name {
            Some(name) if name == table => return Err(taken(name)),
            Some(name) => {
                let name = if is_free(name) { name.clone() } else { given_name(catalog, schema, &keys, name)? };
                if constraints.contains(&name) {
                    let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
                    return Err(EngineError::new(SqlState::DuplicateObject, message));
                }
                name
            }
            None => match first_name(table, &key) {
                name if is_free(&name) && !constraints.contains(&name) => name,
                _ => chosen_name(catalog, (schema, table), (&keys, constraints), &key),
            },
        };
        keys.push(KeyDef {
            id: TableId(0),
            name,
            columns: ids,
            kind: key.kind,
            nulls: key.nulls,
            patterns: Vec::new(),
            form: None,
        });
    }
    check_key_count(&keys)?;
    Ok(keys.split_off(known.len()))
}

/// Checks that a table can have so many keys.
///
/// # Errors
/// 54000.
pub(super) fn check_key_count(keys: &[KeyDef]) -> Result<(), EngineError> {
    if keys.len() > KEYS_MAX {
        let message = format!("a table has at most {KEYS_MAX} keys");
        return Err(EngineError::new(SqlState::ProgramLimitExceeded, message));
    }
    Ok(())
}

fn check_types(key: &WrittenKey, columns: &[ColumnDef]) -> Result<(), EngineError> {
    let mut of_key = columns.iter().filter(|column| key.columns.contains(&column.name));
    match of_key.find(|column| !is_key_type(column.column_type)) {
        Some(column) => check_key_type(&column.name, column),
        None => Ok(()),
    }
}

/// Checks that a column of a key can have its type.
///
/// # Errors
/// If it cannot.
pub(crate) fn check_key_type(name: &str, column: &ColumnDef) -> Result<(), EngineError> {
    if is_key_type(column.column_type) {
        return Ok(());
    }
    let shown = format_type(SqlType::of(sql_type_of(column.column_type).id));
    Err(EngineError::unsupported(format!(
        "column \"{name}\" is of type {shown}, and keys of this type are not supported"
    )))
}

pub(super) fn given_name(
    catalog: &Catalog,
    schema: SchemaId,
    keys: &[KeyDef],
    name: &str,
) -> Result<String, EngineError> {
    match is_taken(catalog, schema, keys, name) {
        true => Err(taken(name)),
        false => Ok(name.to_owned()),
    }
}

fn taken(name: &str) -> EngineError {
    EngineError::new(SqlState::DuplicateTable, format!("relation \"{name}\" already exists"))
}

/// `table_pkey` or `table_column_column_key`; with a number if a relation has the name, or if it is to be that of a constraint and is in
/// `constraints`.
pub(super) fn chosen_name(
    catalog: &Catalog,
    (schema, table): (SchemaId, &str),
    (keys, constraints): (&[KeyDef], &BTreeSet<String>),
    key: &WrittenKey,
) -> String {
    let numbers = std::iter::once(String::new()).chain((1..).map(|number: u32| number.to_string()));
    let mut names = numbers.map(|number| numbered_name(table, key, &number));
    let is_other = |name: &String| key.kind.is_constraint() && constraints.contains(name);
    names.find(|name| !is_taken(catalog, schema, keys, name) && !is_other(name)).unwrap_or_default()
}

fn first_name(table: &str, key: &WrittenKey) -> String {
    numbered_name(table, key, "")
}

fn numbered_name(table: &str, key: &WrittenKey, number: &str) -> String {
    let columns = key.columns.join("_");
    let (column, label) = match key.kind {
        KeyKind::Primary => (None, "pkey"),
        KeyKind::Unique => (Some(columns.as_str()), "key"),
        KeyKind::UniqueIndex | KeyKind::Index => (Some(columns.as_str()), "idx"),
    };
    shortened(table, column, &format!("{label}{number}"))
}

fn is_taken(catalog: &Catalog, schema: SchemaId, keys: &[KeyDef], name: &str) -> bool {
    catalog.has_relation(schema, name) || keys.iter().any(|key| key.name == name)
}

fn check_plain(what: &str, has_more: bool) -> Result<(), EngineError> {
    match has_more {
        true => Err(EngineError::unsupported(format!("{what} with options of an index is not supported"))),
        false => Ok(()),
    }
}

fn is_enforced(
    what: &str,
    characteristics: Option<&ConstraintCharacteristics>,
    plain: PlainKeys,
) -> Result<bool, EngineError> {
    if characteristics.is_some_and(|given| given.deferrable == Some(true) || given.initially.is_some()) {
        return Err(EngineError::unsupported(format!("{what} DEFERRABLE is not supported")));
    }
    let enforced = characteristics.and_then(|given| given.enforced);
    Ok(enforced.unwrap_or(plain == PlainKeys::Enforced))
}

pub(super) fn key_columns(columns: &[IndexColumn]) -> Result<Vec<String>, EngineError> {
    let name = |column: &IndexColumn| match &column.column.expr {
        _ if column.operator_class.is_some() || column.column.with_fill.is_some() => {
            Err(EngineError::unsupported("operator classes of keys are not supported"))
        }
        _ if column.column.options.asc.is_some() || column.column.options.nulls_first.is_some() => {
            Err(EngineError::new(SqlState::SyntaxError, "the columns of a key have no order"))
        }
        Expr::Identifier(ident) => Ok(fold(ident)),
        other => Err(EngineError::new(SqlState::SyntaxError, format!("a key is made of columns, not of {other}"))),
    };
    columns.iter().map(name).collect()
}
