//! The mapping of lower crates' errors to SQLSTATEs and PostgreSQL's messages.
//!
//! DataFusion's structured errors are mapped by their variants (schema errors, diagnostics with their position in the
//! text, Arrow's arithmetic errors, wrapped errors of ours). `name_check` resolves the names of tables, functions and
//! types before DataFusion sees them. Texts ([`texts`]) are therefore the last resort.

mod store_errors;
mod texts;

use std::error::Error;
use std::io::ErrorKind;

use arrow::error::ArrowError;
use braid_buffer::BufferError;
use braid_df::ValueTooLong;
use braid_exec::ExecError;
use braid_io::IoError;
use braid_scan::ScanError;
use braid_storage::StoreError;
use datafusion::common::{Column, DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;

use braid_sql::SqlError;

use crate::{EngineError, SqlState};
use store_errors::from_store;
pub(crate) use store_errors::null_violation;
use texts::{first_line, from_execution_text, from_plan_text, from_unknown, is_range_text};

impl EngineError {
    /// The engine's error for one of DataFusion's, such as those of its streams.
    pub(crate) fn from_datafusion(error: &DataFusionError) -> Self {
        match error {
            DataFusionError::Context(_, inner) => Self::from_datafusion(inner),
            DataFusionError::Diagnostic(_, inner) => Self::from_datafusion(inner),
            DataFusionError::Shared(inner) => Self::from_datafusion(inner),
            DataFusionError::Collection(errors) => match errors.first() {
                Some(first) => Self::from_datafusion(first),
                None => Self::internal("an empty collection of errors"),
            },
            DataFusionError::External(source) => from_external(source.as_ref()),
            DataFusionError::ArrowError(error, _) => from_arrow(error),
            DataFusionError::SchemaError(error, _) => from_schema_error(error),
            DataFusionError::SQL(error, _) => match &**error {
                ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
                    Self::new(SqlState::SyntaxError, format!("syntax error: {text}"))
                }
                ParserError::RecursionLimitExceeded => {
                    Self::new(SqlState::ProgramLimitExceeded, "the statement is nested too deeply")
                }
            },
            DataFusionError::NotImplemented(text) if text.contains("the minimum supported scale") => {
                Self::new(SqlState::NumericOutOfRange, "a number is out of range for type numeric")
                    .with_detail(text.clone())
            }
            DataFusionError::NotImplemented(text) if text.contains("Unsupported CAST") => {
                Self::new(SqlState::CannotCoerce, first_line(text))
            }
            DataFusionError::NotImplemented(text)
                if text.starts_with("Physical") && text.contains("WindowFunction") =>
            {
                Self::new(SqlState::WindowingError, "window functions are not allowed here")
                    .with_hint("Compute them in a subquery and use its columns.")
            }
            DataFusionError::NotImplemented(text)
                if text.starts_with("Physical plan does not support logical expression") =>
            {
                unsupported_subquery()
            }
            DataFusionError::NotImplemented(text) if text.starts_with("Unsupported ast node") => {
                Self::unsupported("an expression of this form is not supported in queries with tables")
            }
            DataFusionError::NotImplemented(text) => Self::unsupported(first_line(text)),
            DataFusionError::Plan(text) => from_plan_text(text),
            DataFusionError::Execution(text) => from_execution_text(text),
            DataFusionError::ResourcesExhausted(text) => out_of_memory(text),
            DataFusionError::IoError(error) => from_io(error.kind(), &error.to_string()),
            DataFusionError::Configuration(text) => Self::new(SqlState::InvalidParameterValue, first_line(text)),
            DataFusionError::ParquetError(error) => Self::new(SqlState::IoError, format!("Parquet: {error}")),
            DataFusionError::ObjectStore(error) => Self::new(SqlState::IoError, error.to_string()),
            DataFusionError::ExecutionJoin(error) if error.is_cancelled() => Self::cancelled(),
            DataFusionError::ExecutionJoin(error) => Self::internal(format!("a worker of the query failed: {error}")),
            DataFusionError::Internal(text) | DataFusionError::Substrait(text) | DataFusionError::Ffi(text) => {
                Self::internal(first_line(text))
            }
        }
    }
}

impl From<DataFusionError> for EngineError {
    fn from(error: DataFusionError) -> Self {
        Self::from_datafusion(&error)
    }
}

impl From<EngineError> for DataFusionError {
    fn from(error: EngineError) -> Self {
        Self::External(Box::new(error))
    }
}

impl From<ArrowError> for EngineError {
    fn from(error: ArrowError) -> Self {
        from_arrow(&error)
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        from_store(&error)
    }
}

impl From<IoError> for EngineError {
    fn from(error: IoError) -> Self {
        from_device(&error)
    }
}

/// The mapping of a boxed error: ours, a lower crate's, or DataFusion's.
fn from_external(error: &(dyn Error + 'static)) -> EngineError {
    if let Some(error) = error.downcast_ref::<EngineError>() {
        error.clone()
    } else if let Some(error) = error.downcast_ref::<DataFusionError>() {
        EngineError::from_datafusion(error)
    } else if let Some(error) = error.downcast_ref::<ArrowError>() {
        from_arrow(error)
    } else if let Some(error) = error.downcast_ref::<SqlError>() {
        error.clone().into()
    } else if let Some(error) = error.downcast_ref::<ExecError>() {
        from_operators(error)
    } else if let Some(error) = error.downcast_ref::<ValueTooLong>() {
        EngineError::new(SqlState::ProgramLimitExceeded, error.to_string()).with_detail(error.detail())
    } else if let Some(error) = error.downcast_ref::<ScanError>() {
        match error {
            ScanError::Buffer(error) => from_buffer(error),
            other => EngineError::internal(other.to_string()),
        }
    } else if let Some(error) = error.downcast_ref::<BufferError>() {
        from_buffer(error)
    } else if let Some(error) = error.downcast_ref::<StoreError>() {
        from_store(error)
    } else if let Some(error) = error.downcast_ref::<IoError>() {
        from_device(error)
    } else if let Some(error) = error.downcast_ref::<std::io::Error>() {
        from_io(error.kind(), &error.to_string())
    } else {
        match error.source() {
            Some(source) => from_external(source),
            None => from_unknown(&error.to_string()),
        }
    }
}

/// Errors of Braid's own operators.
fn from_operators(error: &ExecError) -> EngineError {
    let state = match error {
        ExecError::Foreign(source) => return from_external(source.as_ref()),
        ExecError::OutOfRange { .. } => SqlState::NumericOutOfRange,
        ExecError::DivisionByZero => SqlState::DivisionByZero,
        ExecError::Memory(_) => SqlState::OutOfMemory,
        ExecError::Spill(error) if error.is_disk_full() => SqlState::DiskFull,
        ExecError::Spill(_) => SqlState::IoError,
        ExecError::BrokenBlock(_) => SqlState::DataCorrupted,
        ExecError::SpillSpace { .. } => SqlState::ConfigurationLimitExceeded,
        ExecError::SeveralRows => SqlState::CardinalityViolation,
        ExecError::Cancelled => SqlState::QueryCanceled,
        ExecError::BatchTooLong => return EngineError::internal(error.to_string()),
    };
    let mapped = EngineError::new(state, error.to_string());
    match error {
        ExecError::Memory(_) => mapped.with_hint(MORE_MEMORY),
        ExecError::SpillSpace { .. } => mapped.with_hint("Restart the server with larger --temporary-files."),
        _ => mapped,
    }
}

fn from_buffer(error: &BufferError) -> EngineError {
    match error {
        BufferError::Corrupt { .. } | BufferError::Segment { .. } => corrupt(error),
        BufferError::Io(error) => from_device(error),
        BufferError::TooLarge { .. } => EngineError::new(SqlState::OutOfMemory, error.to_string())
            .with_hint("Restart the server with a larger --buffer."),
        other => EngineError::internal(other.to_string()),
    }
}

fn corrupt(error: &dyn Error) -> EngineError {
    EngineError::new(SqlState::DataCorrupted, error.to_string())
        .with_hint("Run \"braid check\" on the data directory to list every damaged segment.")
}

fn from_device(error: &IoError) -> EngineError {
    let state = if error.is_disk_full() { SqlState::DiskFull } else { SqlState::IoError };
    EngineError::new(state, error.to_string())
}

fn from_io(kind: ErrorKind, text: &str) -> EngineError {
    let state = match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => SqlState::DiskFull,
        ErrorKind::NotFound => SqlState::UndefinedFile,
        _ => SqlState::IoError,
    };
    EngineError::new(state, text.to_owned())
}

/// What a user can do about a query that is out of memory.
const MORE_MEMORY: &str = "Raise the budget with SET braid.query_memory, or make the query process fewer rows at once.";

fn out_of_memory(text: &str) -> EngineError {
    EngineError::new(SqlState::OutOfMemory, "the query exceeded its memory budget")
        .with_detail(first_line(text))
        .with_hint(MORE_MEMORY)
}

fn from_arrow(error: &ArrowError) -> EngineError {
    let new = EngineError::new;
    match error {
        ArrowError::DivideByZero => division_by_zero(),
        ArrowError::ArithmeticOverflow(text) => {
            new(SqlState::NumericOutOfRange, "numeric value out of range").with_detail(text.clone())
        }
        ArrowError::CastError(text) | ArrowError::ParseError(text) => {
            let state =
                if is_range_text(text) { SqlState::NumericOutOfRange } else { SqlState::InvalidTextRepresentation };
            EngineError::new(state, text.clone())
        }
        ArrowError::ComputeError(text) => from_execution_text(text),
        ArrowError::InvalidArgumentError(text) if is_range_text(text) => {
            new(SqlState::NumericOutOfRange, "numeric field overflow").with_detail(text.clone())
        }
        ArrowError::ExternalError(source) => from_external(source.as_ref()),
        ArrowError::NotYetImplemented(text) => EngineError::unsupported(text.clone()),
        ArrowError::MemoryError(text) => out_of_memory(text),
        ArrowError::IoError(text, error) => from_io(error.kind(), text),
        other => EngineError::internal(other.to_string()),
    }
}

/// PostgreSQL's error for a division by zero.
pub(crate) fn division_by_zero() -> EngineError {
    EngineError::new(SqlState::DivisionByZero, "division by zero")
}

/// Whether a qualified column names a table that is not in scope.
fn is_of_no_table(field: &Column, valid_fields: &[Column]) -> bool {
    let table_of = |column: &Column| column.relation.as_ref().map(|relation| relation.table().to_owned());
    let table = table_of(field);
    table.is_some() && !valid_fields.is_empty() && valid_fields.iter().all(|valid| table_of(valid) != table)
}

fn unsupported_subquery() -> EngineError {
    EngineError::unsupported("a subquery of this form is not supported in this place")
        .with_hint("Rewrite it as a join, or move it to WHERE and use outer columns only in equality conditions.")
}

fn from_schema_error(error: &SchemaError) -> EngineError {
    match error {
        // A copy of a column, made for a correlated condition that did not become a join.
        SchemaError::FieldNotFound { field, .. } if field.name.starts_with("__correlated") => unsupported_subquery(),
        SchemaError::FieldNotFound { field, valid_fields } if is_of_no_table(field, valid_fields) => {
            let relation = field.relation.as_ref().map(|relation| relation.table()).unwrap_or_default();
            let message = format!("missing FROM-clause entry for table \"{relation}\"");
            EngineError::new(SqlState::UndefinedTable, message)
        }
        SchemaError::FieldNotFound { field, .. } => {
            let name = match &field.relation {
                Some(relation) => format!("{}.{}", relation.table(), field.name),
                None => format!("\"{}\"", field.name),
            };
            EngineError::new(SqlState::UndefinedColumn, format!("column {name} does not exist"))
        }
        SchemaError::AmbiguousReference { field } => {
            let message = format!("column reference \"{}\" is ambiguous", field.name);
            EngineError::new(SqlState::AmbiguousColumn, message)
        }
        SchemaError::DuplicateQualifiedField { qualifier, name } => {
            let message = format!("table name \"{}\" specified more than once", qualifier.table());
            EngineError::new(SqlState::DuplicateAlias, message)
                .with_detail(format!("Both tables have a column \"{name}\"."))
                .with_hint("Give the tables different aliases (AS), or the columns different names.")
        }
        SchemaError::DuplicateUnqualifiedField { name } => {
            EngineError::new(SqlState::DuplicateColumn, format!("column \"{name}\" appears more than once"))
                .with_hint("Give the columns different names (AS).")
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::common::TableReference;

    use super::*;

    #[test]
    fn wrapped_errors_come_out_again() {
        let ours = EngineError::new(SqlState::NumericOutOfRange, "integer out of range");
        let wrapped = DataFusionError::Context(
            "rule".to_owned(),
            Box::new(DataFusionError::Shared(std::sync::Arc::new(DataFusionError::ArrowError(
                Box::new(ArrowError::ExternalError(Box::new(DataFusionError::from(ours)))),
                None,
            )))),
        );
        let error = EngineError::from_datafusion(&wrapped);
        assert_eq!((error.sqlstate(), error.message()), ("22003", "integer out of range"));
    }

    #[test]
    fn structured_errors_keep_their_names() {
        let schema = |error| DataFusionError::SchemaError(Box::new(error), Box::new(None));
        let column = Column::new(Some(TableReference::full("braid", "public", "t")), "x");
        let missing = schema(SchemaError::FieldNotFound { field: Box::new(column), valid_fields: vec![] });
        let error = EngineError::from(missing);
        assert_eq!((error.sqlstate(), error.message()), ("42703", "column t.x does not exist"));
        let twice = schema(SchemaError::AmbiguousReference { field: Box::new(Column::new_unqualified("x")) });
        assert_eq!(EngineError::from(twice).message(), "column reference \"x\" is ambiguous");
    }

    #[test]
    fn variants_have_their_states() {
        let io = |kind| DataFusionError::IoError(std::io::Error::from(kind));
        for (error, sqlstate) in [
            (DataFusionError::ResourcesExhausted("x".to_owned()), "53200"),
            (DataFusionError::NotImplemented("x".to_owned()), "0A000"),
            (DataFusionError::Internal("x".to_owned()), "XX000"),
            (DataFusionError::Execution("whatever".to_owned()), "22000"),
            (DataFusionError::Plan("whatever".to_owned()), "42000"),
            (io(ErrorKind::StorageFull), "53100"),
            (io(ErrorKind::Other), "58030"),
            (ArrowError::DivideByZero.into(), "22012"),
            (ArrowError::ArithmeticOverflow("x".to_owned()).into(), "22003"),
            (ArrowError::CastError("Cannot cast string 'a' to value of Int32 type".to_owned()).into(), "22P02"),
            (ArrowError::CastError("Can't cast value 99999999999 to type Int32".to_owned()).into(), "22003"),
        ] {
            assert_eq!(EngineError::from_datafusion(&error).sqlstate(), sqlstate, "{error}");
        }
    }
}
