//! ALTER SCHEMA … RENAME TO.

use braid_base::SchemaId;
use braid_sql::search_path::is_built_in;
use braid_storage::StoreError;
use sqlparser::ast::{AlterSchema, AlterSchemaOperation};

use super::{check_name, schema_name};
use crate::statement_context::StatementContext;
use crate::table_names::no_schema;
use crate::{EngineError, Outcome};

/// Renames a schema.
///
/// # Errors
/// For a schema that does not exist or is always there, a name that is taken or the system's, and other actions (0A000).
pub(crate) async fn alter_schema(context: &StatementContext, alter: &AlterSchema) -> Result<Outcome, EngineError> {
    let [AlterSchemaOperation::Rename { name: new_name }] = &alter.operations[..] else {
        return Err(EngineError::unsupported("ALTER SCHEMA other than RENAME TO is not supported"));
    };
    let (name, new_name) = (schema_name(&alter.name)?, schema_name(new_name)?);
    let snapshot = context.snapshot();
    let known = match context.schema_of_users(&snapshot, &name)? {
        Some(known) if known != SchemaId::PUBLIC && !snapshot.is_temporary(known) => known,
        None if !is_built_in(&name) => return Err(no_schema(&name)),
        _ => return Err(EngineError::unsupported(format!("renaming schema {name} is not supported"))),
    };
    if is_built_in(&new_name) {
        return Err(StoreError::SchemaExists { schema: new_name }.into());
    }
    check_name(&new_name)?;
    context.change(|writes, view| writes.rename_schema(view, known, &new_name)).await?;
    Ok(Outcome::done("ALTER SCHEMA"))
}
