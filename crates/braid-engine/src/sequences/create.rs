//! CREATE SEQUENCE.

use braid_base::SchemaId;
use braid_catalog::privileges::ObjectAccess;
use braid_storage::{AccessObject, Catalog, RoleId, SequenceOwner, SequenceUse, StoreError};
use sqlparser::ast::{ObjectName, ObjectNamePart};

use super::options::{OptionsOf, SequenceOptions};
use crate::front_end::StatementFacts;
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::SequenceOption;
use crate::statement_context::StatementContext;
use crate::table_names::{NewName, Persistence, named_table, new_name};
use crate::{EngineError, Outcome, SqlState};

/// Creates a sequence.
///
/// # Errors
/// For a name that is taken, options that do not fit together, and an owner that does not exist.
pub(crate) async fn create_sequence(
    context: &StatementContext,
    (name, persistence): (&ObjectName, Persistence),
    written: &[SequenceOption],
    if_not_exists: bool,
) -> Result<Outcome, EngineError> {
    let NewName { schema, name } = new_name(context, name, persistence).await?;
    if if_not_exists && context.snapshot().has_relation(schema, &name) {
        context.raise(Notice::skipping(SqlState::DuplicateTable, &format!("relation \"{name}\" already exists")));
        return Ok(Outcome::done("CREATE SEQUENCE"));
    }
    let options = SequenceOptions::of(written, OptionsOf::Sequence, &StatementFacts::of(context))?;
    let created = context.change(|writes, view| {
        writes.change_sequences(view, |changes| {
            let (mut def, state) = options.define(changes.new_id(), name.clone())?;
            def.schema = schema;
            taken_name(view, schema, &name)?;
            if changes.named(schema, &name).is_some() {
                return Err(StoreError::TableExists { table: name.clone() }.into());
            }
            def.owner = options.owner.flatten().map(|column| owner(context, view, (schema, column))).transpose()?;
            if let Some(owning) = def.owner {
                let table = ObjectAccess::of(view).owner(AccessObject::Relation(owning.table));
                check_same_owner(context.current_role(), table)?;
            }
            Ok::<_, EngineError>(changes.restart(def, state)?)
        })
    });
    match created.await {
        // Another session has created it meanwhile.
        Err(error) if if_not_exists && error.state() == SqlState::DuplicateTable => {}
        created => created?,
    }
    Ok(Outcome::done("CREATE SEQUENCE"))
}

/// Refuses the name of a new relation if another relation or a type has it.
pub(super) fn taken_name(catalog: &Catalog, schema: SchemaId, name: &str) -> Result<(), EngineError> {
    match (catalog.has_relation(schema, name), catalog.has_type_in(schema, name)) {
        (true, _) => Err(StoreError::TableExists { table: name.to_owned() }.into()),
        (false, true) => Err(StoreError::TypeExists { name: name.to_owned() }.into()),
        (false, false) => Ok(()),
    }
}

/// A sequence belongs to the owner of the table whose column it belongs to.
///
/// # Errors
/// 55000
pub(super) fn check_same_owner(sequence: RoleId, table: RoleId) -> Result<(), EngineError> {
    match sequence == table {
        true => Ok(()),
        false => {
            let message = "sequence must have same owner as table it is linked to";
            Err(EngineError::new(SqlState::ObjectNotInPrerequisiteState, message))
        }
    }
}

/// The column of OWNED BY of a sequence in this schema.
pub(super) fn owner(
    context: &StatementContext,
    view: &Catalog,
    (schema, written): (SchemaId, &ObjectName),
) -> Result<SequenceOwner, EngineError> {
    let Some((ObjectNamePart::Identifier(column), table)) =
        written.0.split_last().filter(|(_, table)| !table.is_empty())
    else {
        return Err(EngineError::new(SqlState::SyntaxError, "invalid OWNED BY option")
            .with_hint("Specify OWNED BY table.column or OWNED BY NONE."));
    };
    let def = named_table(context, view, &ObjectName(table.to_vec()))?.into_owner()?;
    if def.schema != schema {
        let message = "sequence must be in same schema as table it is linked to";
        return Err(EngineError::new(SqlState::ObjectNotInPrerequisiteState, message));
    }
    let name = fold(column);
    let missing = || {
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", def.name);
        EngineError::new(SqlState::UndefinedColumn, message)
    };
    let (column, _) = def.column(&name).ok_or_else(missing)?;
    Ok(SequenceOwner { table: def.id, column, usage: SequenceUse::Owned })
}
