//! Relations, columns and constraints that comments are about.

use braid_base::{ColumnId, TableId};
use braid_catalog::SEQUENCE_COLUMNS;
use braid_catalog::object_ids::index_of_object_id;
use braid_sql::functions::SessionFacts;
use braid_storage::{Catalog, CommentSubject, TableDef, ViewDef};
use sqlparser::ast::ObjectName;

use super::subjects::{Subject, of_system};
use crate::front_end::StatementFacts;
use crate::names::{fold, table_parts};
use crate::statement::CommentedRelation;
use crate::statement_context::StatementContext;
use crate::table_names::{Named, SystemKind, named_table};
use crate::{EngineError, SqlState};

/// The columns that every table of PostgreSQL has.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"];

impl CommentedRelation {
    /// With its article, as messages have it.
    fn shown(self) -> &'static str {
        match self {
            Self::Table => "a table",
            Self::View => "a view",
            Self::MaterializedView => "a materialized view",
            Self::Index => "an index",
            Self::Sequence => "a sequence",
            Self::ForeignTable => "a foreign table",
        }
    }

    fn of_view(view: &ViewDef) -> Self {
        if view.is_materialized() { Self::MaterializedView } else { Self::View }
    }
}

/// A relation, which is to be of this kind.
pub(super) fn relation(
    context: &StatementContext,
    snapshot: &Catalog,
    wanted: CommentedRelation,
    name: &ObjectName,
) -> Result<CommentSubject, EngineError> {
    let fits = |kind: CommentedRelation, name: &str| match kind == wanted {
        true => Ok(()),
        false => Err(wrong(format!("\"{name}\" is not {}", wanted.shown()))),
    };
    match named_table(context, snapshot, name)? {
        Named::Table(def) => {
            fits(CommentedRelation::Table, &def.name)?;
            Ok(CommentSubject::Relation(def.id))
        }
        Named::View(view) => {
            fits(CommentedRelation::of_view(&view), &view.name)?;
            Ok(CommentSubject::Relation(view.id))
        }
        Named::Sequence(known) => {
            fits(CommentedRelation::Sequence, &known.definition.name)?;
            Ok(CommentSubject::Relation(known.definition.id))
        }
        Named::System(name, kind) => {
            let kind = if kind == SystemKind::Table { CommentedRelation::Table } else { CommentedRelation::View };
            fits(kind, &name)?;
            Err(of_system("relations"))
        }
        missing => match index(context, name)? {
            Some(id) => {
                fits(CommentedRelation::Index, &table_parts(name, context.database_name())?.1)?;
                Ok(CommentSubject::Index(id))
            }
            None => Err(nothing(missing)),
        },
    }
}

/// A column of a table or view.
pub(super) fn column(
    context: &StatementContext,
    snapshot: &Catalog,
    name: &ObjectName,
) -> Result<CommentSubject, EngineError> {
    let (column, relation) = match name.0.split_last() {
        Some((column, relation)) if !relation.is_empty() => (column, ObjectName(relation.to_vec())),
        _ => return Err(EngineError::new(SqlState::SyntaxError, "column name must be qualified")),
    };
    let column = column.as_ident().map(fold).unwrap_or_default();
    match named_table(context, snapshot, &relation)? {
        Named::Table(def) => column_of_table(&def, &column),
        Named::View(view) => match snapshot.by_id(view.id) {
            Some(version) => column_of_table(&version.def, &column),
            None => {
                let at = view.columns.iter().position(|known| known.name == column);
                let at = at.ok_or_else(|| no_column(&column, &view.name))?;
                Ok(CommentSubject::Column(view.id, ColumnId(u16::try_from(at).unwrap_or(u16::MAX))))
            }
        },
        Named::Sequence(known) => {
            let name = &known.definition.name;
            match SEQUENCE_COLUMNS.iter().any(|(known, _)| *known == column) {
                true => Err(no_columns(name, "sequences")),
                false => Err(no_column(&column, name)),
            }
        }
        Named::System(..) => Err(of_system("relations")),
        missing => match index(context, &relation)? {
            Some(id) => {
                let name = table_parts(&relation, context.database_name())?.1;
                match is_column_of_index(snapshot, id, &column) {
                    true => Err(no_columns(&name, "indexes")),
                    false => Err(no_column(&column, &name)),
                }
            }
            None => Err(nothing(missing)),
        },
    }
}

/// A constraint of a table.
pub(super) fn constraint(
    context: &StatementContext,
    snapshot: &Catalog,
    name: &str,
    table: &ObjectName,
) -> Result<Subject, EngineError> {
    let none = |relation: &str| undefined_part("constraint", name, "table", relation);
    match named_table(context, snapshot, table)? {
        Named::Table(def) => {
            if let Some(at) = def.checks.iter().position(|check| check.name == name) {
                return Ok(Subject::Check(def, at));
            }
            let known = def.keys.iter().find(|key| key.name == name && key.kind.is_constraint());
            let foreign = || def.foreign_key(name).map(|key| key.id);
            let declared = || declared_key(context, snapshot, &def, name);
            let key = known.map(|key| key.id).or_else(foreign).or_else(declared).ok_or_else(|| none(&def.name))?;
            Ok(Subject::Stored(CommentSubject::Key(key)))
        }
        other => Err(not_of_table(context, table, other, none)?),
    }
}

/// Why there is no comment on a trigger, rule or policy.
pub(super) fn part_of_table(
    context: &StatementContext,
    snapshot: &Catalog,
    (kind, name): (&str, &str),
    (noun, table): (&str, &ObjectName),
) -> Result<EngineError, EngineError> {
    let none = |relation: &str| undefined_part(kind, name, noun, relation);
    match named_table(context, snapshot, table)? {
        Named::View(_) if kind == "rule" && name == "_RETURN" => {
            Ok(EngineError::unsupported("COMMENT ON RULE is not supported"))
        }
        Named::Table(def) => Ok(none(&def.name)),
        other => not_of_table(context, table, other, none),
    }
}

/// Why something is not a part of what is no table of users.
fn not_of_table(
    context: &StatementContext,
    written: &ObjectName,
    named: Named,
    none: impl Fn(&str) -> EngineError,
) -> Result<EngineError, EngineError> {
    Ok(match named {
        Named::Table(def) => none(&def.name),
        Named::View(view) => none(&view.name),
        Named::Sequence(known) => none(&known.definition.name),
        Named::System(..) => of_system("relations"),
        missing => match index(context, written)? {
            Some(_) => wrong(format!("\"{}\" is an index", table_parts(written, context.database_name())?.1)),
            None => nothing(missing),
        },
    })
}

/// The key of an index of this name.
fn index(context: &StatementContext, name: &ObjectName) -> Result<Option<TableId>, EngineError> {
    let (schema, name) = table_parts(name, context.database_name())?;
    let names = StatementFacts::of(context).objects();
    Ok(names.and_then(|names| names.relation_id(schema.as_deref(), &name)).and_then(index_of_object_id))
}

/// The id of a table's primary key, if that is only declared and shown by this name.
fn declared_key(context: &StatementContext, snapshot: &Catalog, def: &TableDef, name: &str) -> Option<TableId> {
    let schema = snapshot.schema_name(def.schema)?;
    let names = StatementFacts::of(context).objects()?;
    let found = names.relation_id(Some(schema), name).and_then(index_of_object_id);
    found.filter(|id| *id == def.id && def.has_declared_primary_key())
}

fn is_column_of_index(snapshot: &Catalog, id: TableId, column: &str) -> bool {
    let is_named = |def: &TableDef, columns: &[ColumnId]| {
        columns.iter().any(|key| def.column_by_id(*key).is_some_and(|known| known.name == column))
    };
    snapshot.tables().any(|version| {
        let def = &version.def;
        let declared = def.id == id && is_named(def, &def.primary_key);
        declared || def.keys.iter().any(|key| key.id == id && is_named(def, &key.columns))
    })
}

fn column_of_table(def: &TableDef, name: &str) -> Result<CommentSubject, EngineError> {
    match def.column(name) {
        Some((id, _)) => Ok(CommentSubject::Column(def.id, id)),
        None if SYSTEM_COLUMNS.contains(&name) => Err(of_system("columns")),
        None => Err(no_column(name, &def.name)),
    }
}

fn nothing(missing: Named) -> EngineError {
    missing.into_copied().err().unwrap_or_else(|| EngineError::internal("a name means nothing and a table"))
}

fn no_columns(relation: &str, kind: &str) -> EngineError {
    wrong(format!("cannot set comment on relation \"{relation}\""))
        .with_detail(format!("This operation is not supported for {kind}."))
}

fn no_column(column: &str, relation: &str) -> EngineError {
    let message = format!("column \"{column}\" of relation \"{relation}\" does not exist");
    EngineError::new(SqlState::UndefinedColumn, message)
}

fn undefined_part(kind: &str, name: &str, noun: &str, relation: &str) -> EngineError {
    let message = format!("{kind} \"{name}\" for {noun} \"{relation}\" does not exist");
    EngineError::new(SqlState::UndefinedObject, message)
}

fn wrong(message: String) -> EngineError {
    EngineError::new(SqlState::WrongObjectType, message)
}
