//! ALTER TYPE: labels are added and renamed, types are renamed.

use std::sync::Arc;

use braid_base::enum_types::{EnumLabel, EnumType, LabelPlace, NoKey};
use braid_catalog::type_references::names_column;
use braid_storage::{Catalog, TypeChanges, ViewDef};
use sqlparser::ast::{
    AlterType, AlterTypeAddValue, AlterTypeAddValuePosition, AlterTypeOperation, AlterTypeRenameValue, Ident,
};

use super::change::change_types;
use super::labels::{array_name, check_length, free_name, label_of};
use super::mentions::{self, Mentioned, RowText};
use super::named_type::NamedType;
use crate::names::fold;
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState};

/// Changes a type.
///
/// # Errors
/// For a type that is none of the database's enumerated types, and labels that do not exist, or exist already.
pub(crate) async fn alter_type(context: &StatementContext, alter: &AlterType) -> Result<Outcome, EngineError> {
    let altered = change_types(context, |changes| {
        let named = NamedType::find(context, changes.catalog(), &alter.name)?;
        if let Some(missing) = named.missing() {
            return Err(missing);
        }
        match &alter.operation {
            AlterTypeOperation::AddValue(add) => {
                let definition = enumerated((context, changes.catalog()), &named)?;
                add_value(context, changes, definition, add)
            }
            AlterTypeOperation::RenameValue(rename) => rename_value(context, changes, &named, rename),
            AlterTypeOperation::Rename(rename) => rename_type(context, changes, &named, &rename.new_name),
        }
    });
    altered.await?;
    Ok(Outcome::done("ALTER TYPE"))
}

/// The type, if it has labels.
fn enumerated((context, catalog): (&StatementContext, &Catalog), named: &NamedType) -> Result<EnumType, EngineError> {
    match named {
        NamedType::Enum(known) => Ok((*known.definition).clone()),
        other => Err(EngineError::new(
            SqlState::WrongObjectType,
            format!("{} is not an enum", other.shown(context, catalog)),
        )),
    }
}

fn add_value(
    context: &StatementContext,
    changes: &mut TypeChanges<'_>,
    mut definition: EnumType,
    add: &AlterTypeAddValue,
) -> Result<(), EngineError> {
    let label = label_of(&add.value)?;
    check_length(label)?;
    if definition.label(label).is_some() {
        if !add.if_not_exists {
            return Err(existing(label));
        }
        context.raise(Notice::skipping(SqlState::DuplicateObject, existing(label).message()));
        return Ok(());
    }
    let place = match &add.position {
        None => LabelPlace::Last,
        Some(AlterTypeAddValuePosition::Before(neighbor)) => LabelPlace::Before(label_of(neighbor)?),
        Some(AlterTypeAddValuePosition::After(neighbor)) => LabelPlace::After(label_of(neighbor)?),
    };
    let key = definition.key_at(place).map_err(|error| match error {
        NoKey::UnknownLabel(neighbor) => unknown(&neighbor),
        NoKey::NoRoom => {
            let message = format!("there is no room for the label \"{label}\": too many were put between two others");
            EngineError::new(SqlState::ProgramLimitExceeded, message)
        }
    })?;
    let oid = changes.label_oid()?;
    definition.insert(EnumLabel { oid, key, text: label.into() });
    changes.replace(definition);
    Ok(())
}

fn rename_value(
    context: &StatementContext,
    changes: &mut TypeChanges<'_>,
    named: &NamedType,
    rename: &AlterTypeRenameValue,
) -> Result<(), EngineError> {
    let mut definition = enumerated((context, changes.catalog()), named)?;
    let (from, to) = (label_of(&rename.from)?, label_of(&rename.to)?);
    check_length(to)?;
    if definition.label(from).is_none() {
        return Err(unknown(from));
    }
    if definition.label(to).is_some() {
        return Err(existing(to));
    }
    if let NamedType::Enum(known) = named
        && let Some((table, column)) = mentions::of_label(changes.catalog(), known, from)
    {
        let message = format!(
            "renaming the label \"{from}\" is not supported while the default or the expression of column \"{}\" of table \"{}\" has it",
            column.name, table.name
        );
        return Err(EngineError::unsupported(message));
    }
    if let NamedType::Enum(known) = named
        && let Some(RowText { table, kind, name, .. }) = mentions::label_in_rows(changes.catalog(), known, from)
    {
        let message = format!(
            "renaming the label \"{from}\" is not supported while {kind} \"{name}\" of table \"{}\" may have it",
            table.name
        );
        return Err(EngineError::unsupported(message));
    }
    if let NamedType::Enum(known) = named
        && let Some(view) = mentions::view_of_label(changes.catalog(), known, from)
    {
        let message =
            format!("renaming the label \"{from}\" is not supported while view \"{}\" has it in its text", view.name);
        return Err(EngineError::unsupported(message));
    }
    if let NamedType::Enum(known) = named
        && let Some(domain) = mentions::domain_of_label(changes.catalog(), known, from)
    {
        let domain = &domain.definition.name;
        let message =
            format!("renaming the label \"{from}\" is not supported while domain \"{domain}\" has it in a text");
        return Err(EngineError::unsupported(message));
    }
    if let Some(label) = definition.labels.iter_mut().find(|label| &*label.text == from) {
        label.text = Arc::from(to);
    }
    changes.replace(definition);
    Ok(())
}

fn rename_type(
    context: &StatementContext,
    changes: &mut TypeChanges<'_>,
    named: &NamedType,
    new_name: &Ident,
) -> Result<(), EngineError> {
    let catalog = Arc::clone(changes.catalog());
    let shown = || named.shown(context, &catalog);
    let wrong = |message: String| EngineError::new(SqlState::WrongObjectType, message);
    let known = match named {
        NamedType::Enum(known) => known,
        NamedType::Row(table) => {
            return Err(wrong(format!("{table} is a table's row type")).with_hint("Use ALTER TABLE instead."));
        }
        NamedType::Array(known) => {
            let element = NamedType::Enum(known.clone()).shown(context, &catalog);
            return Err(wrong(format!("cannot alter array type {}", shown()))
                .with_hint(format!("You can alter type {element}, which will alter the array type as well.")));
        }
        _ => return Err(EngineError::unsupported(format!("renaming type {} is not supported", shown()))),
    };
    let (name, schema) = (fold(new_name), known.definition.schema);
    check_unmentioned((context, &catalog), named)?;
    free_name(changes, schema, &name)?;
    // If the name was that of its own array type, the array type has got another one.
    let now = changes.by_oid(known.definition.oid).unwrap_or(known);
    let mut definition = (*now.definition).clone();
    definition.array_name = array_name(changes, schema, &name);
    definition.name = name;
    changes.replace(definition);
    Ok(())
}

/// Refuses another name, or another schema, for a type that SQL texts of earlier versions have by its name, or that names a column of a view.
///
/// # Errors
/// 0A000
pub(crate) fn check_unmentioned(
    (context, catalog): (&StatementContext, &Catalog),
    named: &NamedType,
) -> Result<(), EngineError> {
    let mentioned = match named {
        NamedType::Enum(known) => Mentioned::of_enum(known),
        NamedType::Domain(known) => Mentioned::of_domain(known),
        _ => return Ok(()),
    };
    let refused = |by: String| {
        let message = format!("renaming type {} is not supported while {by}", named.shown(context, catalog));
        Err(EngineError::unsupported(message))
    };
    let is_written = |text: &str| mentioned.is_written_in(text);
    if let Some((table, column)) = mentions::in_defaults(catalog, &is_written).next() {
        let (column, table) = (&column.name, &table.name);
        return refused(format!(
            "the default or the expression of column \"{column}\" of table \"{table}\" has its name"
        ));
    }
    if let Some(RowText { table, kind, name, .. }) = mentions::in_rows(catalog, &is_written).next() {
        return refused(format!("{kind} \"{name}\" of table \"{}\" has its name", table.name));
    }
    let has_name = |view: &&Arc<ViewDef>| is_written(&view.text) || names_column(&view.text, mentioned.oids);
    if let Some(view) = mentions::views(catalog, mentioned.oids).find(has_name) {
        return refused(format!("view \"{}\" has its name", view.name));
    }
    match catalog.domains().find(|known| mentions::in_domain(&known.definition, &is_written)) {
        Some(known) => refused(format!("domain \"{}\" has its name in a text", known.definition.name)),
        None => Ok(()),
    }
}

fn existing(label: &str) -> EngineError {
    EngineError::new(SqlState::DuplicateObject, format!("enum label \"{label}\" already exists"))
}

fn unknown(label: &str) -> EngineError {
    EngineError::new(SqlState::InvalidParameterValue, format!("\"{label}\" is not an existing enum label"))
}
