//! The mapping of the store's errors to SQLSTATEs.

use braid_base::SchemaId;
use braid_sql::functions::text_input::ReadingSession;
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_storage::{
    ColumnChangeError, DuplicateKey, KeyMemberName, SegmentError, StoreError, ViolatedReference, ViolatingSide,
};

use super::{corrupt, from_device};
use crate::stored_row::shown_key_value;
use crate::{EngineError, SqlState};

pub(super) fn from_store(error: &StoreError) -> EngineError {
    let state = match error {
        StoreError::InUse { .. } => SqlState::ObjectInUse,
        StoreError::TableExists { table } => {
            return EngineError::new(SqlState::DuplicateTable, format!("relation \"{table}\" already exists"));
        }
        StoreError::UnknownTable { table } => {
            return EngineError::new(SqlState::UndefinedTable, format!("relation \"{table}\" does not exist"));
        }
        StoreError::Columns(ColumnChangeError::ContainsNulls { schema, table, column }) => {
            let error = EngineError::new(SqlState::NotNullViolation, error.to_string());
            return error.about_column(*schema, table, column);
        }
        StoreError::Columns(error) => state_of_column_change(error),
        StoreError::TypeExists { name } => {
            return EngineError::new(SqlState::DuplicateObject, format!("type \"{name}\" already exists")).with_hint(
                "A relation has an associated type of the same name, so you must use a name that doesn't conflict with any \
                 existing type.",
            );
        }
        StoreError::SchemaExists { schema } => {
            return EngineError::new(SqlState::DuplicateSchema, format!("schema \"{schema}\" already exists"));
        }
        StoreError::UnknownSchema { schema } => {
            return EngineError::new(SqlState::InvalidSchemaName, format!("schema \"{schema}\" does not exist"));
        }
        StoreError::UnknownType { name } => {
            return EngineError::new(SqlState::UndefinedObject, format!("type \"{name}\" does not exist"));
        }
        StoreError::Conflict { .. } | StoreError::ReadsChanged | StoreError::KeyGone => {
            return EngineError::new(SqlState::SerializationFailure, error.to_string())
                .with_hint("The transaction might succeed if retried.");
        }
        StoreError::Deadlock => SqlState::DeadlockDetected,
        StoreError::LockNotAvailable { .. } | StoreError::LockTimeout => SqlState::LockNotAvailable,
        StoreError::TooManyTypes => SqlState::ProgramLimitExceeded,
        StoreError::SequenceExhausted { .. } => SqlState::SequenceGeneratorLimitExceeded,
        StoreError::NumberOutOfBounds { .. } => SqlState::NumericOutOfRange,
        StoreError::KeyExpression { source, .. } => {
            return match source.downcast_ref::<EngineError>() {
                Some(error) => error.clone(),
                None => EngineError::internal(source.to_string()),
            };
        }
        StoreError::NullViolation { schema, table, column } => return null_violation(*schema, table, column),
        StoreError::DuplicateKey(duplicate) => return duplicate_key(duplicate),
        StoreError::ForeignKey(violated) => return foreign_key(violated),
        StoreError::PendingChecks { .. } => SqlState::ObjectInUse,
        StoreError::InvalidName { .. } => SqlState::InvalidName,
        StoreError::KeyTooLong { .. } => SqlState::ProgramLimitExceeded,
        StoreError::InvalidTable { .. } => SqlState::InvalidTableDefinition,
        StoreError::SchemaMismatch { .. } => SqlState::DatatypeMismatch,
        StoreError::TooLong { .. } => SqlState::StringRightTruncation,
        StoreError::NumericOverflow { .. } => SqlState::NumericOutOfRange,
        StoreError::Corrupt { .. } | StoreError::Malformed { .. } => return corrupt(error),
        StoreError::Manifest { .. } | StoreError::ManifestMissing { .. } | StoreError::Log { .. } => {
            SqlState::DataCorrupted
        }
        StoreError::DiskFull { .. } => {
            return EngineError::new(SqlState::DiskFull, error.to_string())
                .with_hint("The statement has changed nothing. Free disk space and run it again.");
        }
        StoreError::Io(error) => return from_device(error),
        StoreError::Directory { .. } => SqlState::IoError,
        StoreError::Stopped { .. } => SqlState::AdminShutdown,
        StoreError::Uncertain { reason } => return in_doubt(reason),
        StoreError::Halted { reason } => return halted(reason),
        StoreError::Encode { source, .. } if matches!(**source, SegmentError::TooLarge { .. }) => {
            SqlState::ProgramLimitExceeded
        }
        StoreError::RowConflict { .. } => {
            let message = "could not serialize access due to concurrent update";
            return EngineError::new(SqlState::SerializationFailure, message)
                .with_hint("The transaction might succeed if retried.");
        }
        // A caller must not commit after a failed append.
        StoreError::IncompleteAppend { .. } => SqlState::InternalError,
        _ => SqlState::InternalError,
    };
    EngineError::new(state, error.to_string())
}

fn state_of_column_change(error: &ColumnChangeError) -> SqlState {
    match error {
        ColumnChangeError::Exists { .. } | ColumnChangeError::SystemName { .. } => SqlState::DuplicateColumn,
        ColumnChangeError::Unknown { .. } => SqlState::UndefinedColumn,
        ColumnChangeError::TooMany => SqlState::TooManyColumns,
        ColumnChangeError::ContainsNulls { .. } => SqlState::NotNullViolation,
        ColumnChangeError::IsOnly { .. } => SqlState::FeatureNotSupported,
        ColumnChangeError::Invalid { .. } => SqlState::InvalidTableDefinition,
    }
}

/// The outcome of the commit is unknown: the client must check it after a restart.
fn in_doubt(reason: &str) -> EngineError {
    EngineError::new(SqlState::TransactionResolutionUnknown, "the commit may or may not have become durable")
        .with_detail(reason)
        .with_hint(
            "Restart the server and check whether the changes exist: either all of them or none do. Until the restart, \
             queries see the state before the commit, and further commits are refused.",
        )
}

fn halted(reason: &str) -> EngineError {
    EngineError::new(SqlState::IoError, "the commit is refused, because an earlier commit is in doubt")
        .with_detail(reason)
        .with_hint("The statement has changed nothing. Restart the server.")
}

/// PostgreSQL's error for a key that two rows would have. Times are shown in ISO form, and those with a zone in UTC.
fn duplicate_key(duplicate: &DuplicateKey) -> EngineError {
    let DuplicateKey { schema, table, key, members, types, values, is_of_table } = duplicate;
    let facts = ReadingSession::of_output();
    let shown = types.iter().zip(values).map(|(column_type, array)| shown_key_value(array, *column_type, &facts));
    let name = |member: &KeyMemberName| match member {
        KeyMemberName::Column(name) => quote_identifier(name),
        KeyMemberName::Expression(text) => text.clone(),
    };
    let members = members.iter().map(name).collect::<Vec<_>>().join(", ");
    let shown = format!("Key ({members})=({})", shown.collect::<Vec<_>>().join(", "));
    let (message, detail) = match is_of_table {
        true => (format!("could not create unique index \"{key}\""), format!("{shown} is duplicated.")),
        false => {
            (format!("duplicate key value violates unique constraint \"{key}\""), format!("{shown} already exists."))
        }
    };
    let error = EngineError::new(SqlState::UniqueViolation, message).with_detail(detail);
    error.about_constraint(*schema, table, key)
}

/// PostgreSQL's error for rows that refer to no row. Times are shown as [`duplicate_key`] shows them.
fn foreign_key(violated: &ViolatedReference) -> EngineError {
    let ViolatedReference { constraint, schema, table, referenced, columns, types, values, side } = violated;
    let facts = ReadingSession::of_output();
    let shown = types.iter().zip(values).map(|(column_type, array)| shown_key_value(array, *column_type, &facts));
    let shown = format!("Key ({})=({})", columns.join(", "), shown.collect::<Vec<_>>().join(", "));
    let refers = format!("insert or update on table \"{table}\" violates foreign key constraint \"{constraint}\"");
    let (message, detail) = match side {
        ViolatingSide::Referencing => (refers, format!("{shown} is not present in table \"{referenced}\".")),
        ViolatingSide::MixedNulls => {
            (refers, "MATCH FULL does not allow mixing of null and nonnull key values.".to_owned())
        }
        ViolatingSide::Referenced => (
            format!(
                "update or delete on table \"{referenced}\" violates foreign key constraint \"{constraint}\" on table \"{table}\""
            ),
            format!("{shown} is still referenced from table \"{table}\"."),
        ),
    };
    let error = EngineError::new(SqlState::ForeignKeyViolation, message).with_detail(detail);
    error.about_constraint(*schema, table, constraint)
}

/// PostgreSQL's error for a null in a NOT NULL column.
pub(crate) fn null_violation(schema: SchemaId, table: &str, column: &str) -> EngineError {
    let message = format!("null value in column \"{column}\" of relation \"{table}\" violates not-null constraint");
    EngineError::new(SqlState::NotNullViolation, message).about_column(schema, table, column)
}
