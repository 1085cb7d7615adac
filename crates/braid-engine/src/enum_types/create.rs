//! CREATE TYPE … AS ENUM.

use braid_base::SchemaId;
use sqlparser::ast::{Ident, ObjectName, UserDefinedTypeRepresentation};

use super::change::change_types;
use super::labels::{array_name, check_length, free_name, label_of};
use crate::statement_context::StatementContext;
use crate::table_names::{NewName, Persistence, new_name};
use crate::{EngineError, Outcome, SqlState};

/// Creates an enumerated type.
///
/// # Errors
/// For other types (0A000), a name that is taken, and labels that are too long or there twice.
pub(crate) async fn create_type(
    context: &StatementContext,
    name: &ObjectName,
    representation: Option<&UserDefinedTypeRepresentation>,
) -> Result<Outcome, EngineError> {
    let Some(UserDefinedTypeRepresentation::Enum { labels }) = representation else {
        return Err(EngineError::unsupported("types other than enumerated types are not supported"));
    };
    let NewName { schema, name } = new_name(context, name, Persistence::Lasting).await?;
    check_lasting(context, schema)?;
    let labels = labels_of(labels)?;
    let created = change_types(context, |changes| {
        free_name(changes, schema, &name)?;
        check_labels(&labels)?;
        let array_name = array_name(changes, schema, &name);
        Ok::<_, EngineError>(changes.add(schema, (name, array_name), labels)?)
    });
    created.await?;
    Ok(Outcome::done("CREATE TYPE"))
}

/// Refuses types in temporary schemas: PostgreSQL drops them with the columns that have them.
///
/// # Errors
/// 0A000
pub(crate) fn check_lasting(context: &StatementContext, schema: SchemaId) -> Result<(), EngineError> {
    match context.snapshot().is_temporary(schema) {
        true => Err(EngineError::unsupported("types in temporary schemas are not supported")),
        false => Ok(()),
    }
}

fn labels_of(written: &[Ident]) -> Result<Vec<String>, EngineError> {
    written.iter().map(|label| label_of(label).map(str::to_owned)).collect()
}

fn check_labels(labels: &[String]) -> Result<(), EngineError> {
    let mut seen = std::collections::HashSet::new();
    for label in labels {
        check_length(label)?;
        if !seen.insert(label) {
            let message = "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
            return Err(EngineError::new(SqlState::UniqueViolation, message)
                .with_detail(format!("The label \"{label}\" is there twice.")));
        }
    }
    Ok(())
}
