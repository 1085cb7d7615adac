//! The mapping of lower crates' errors to SQLSTATEs and PostgreSQL's messages.
//!
//! Structured errors are mapped by their variants. Texts ([`texts`]) are the last resort.

mod store_errors;
mod texts;

use std::error::Error;
use std::io::ErrorKind;

use arrow::error::ArrowError;
use braid_buffer::BufferError;
use braid_exec::ExecError;
use braid_io::IoError;
use braid_scan::ScanError;
use braid_storage::StoreError;

use braid_sql::SqlError;

use crate::{EngineError, SqlState};
use store_errors::from_store;
pub(crate) use store_errors::null_violation;
use texts::{first_line, from_kernel_text, from_unknown, is_range_text};

impl From<ExecError> for EngineError {
    fn from(error: ExecError) -> Self {
        from_operators(&error)
    }
}

impl From<&ExecError> for EngineError {
    fn from(error: &ExecError) -> Self {
        from_operators(error)
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

/// The mapping of a boxed error: ours, a lower crate's, or another library's.
fn from_external(error: &(dyn Error + 'static)) -> EngineError {
    if let Some(error) = error.downcast_ref::<EngineError>() {
        error.clone()
    } else if let Some(error) = error.downcast_ref::<ArrowError>() {
        from_arrow(error)
    } else if let Some(error) = error.downcast_ref::<SqlError>() {
        error.clone().into()
    } else if let Some(error) = error.downcast_ref::<ExecError>() {
        from_operators(error)
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
        ExecError::Memory(_) => return out_of_memory(&error.to_string()),
        ExecError::OutOfRange { .. } => SqlState::NumericOutOfRange,
        ExecError::DivisionByZero => SqlState::DivisionByZero,
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
        ArrowError::ComputeError(text) => from_kernel_text(text),
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

/// The same error, for an expression.
pub(crate) fn sql_error(error: EngineError) -> SqlError {
    let mut report = SqlError::new(error.state(), error.message());
    if let Some(detail) = error.detail() {
        report = report.with_detail(detail);
    }
    if let Some(hint) = error.hint() {
        report = report.with_hint(hint);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_errors_come_out_again() {
        let ours = EngineError::new(SqlState::NumericOutOfRange, "integer out of range");
        let wrapped = ExecError::Foreign(Box::new(ArrowError::ExternalError(Box::new(ours))));
        let error = EngineError::from(wrapped);
        assert_eq!((error.sqlstate(), error.message()), ("22003", "integer out of range"));
    }

    #[test]
    fn variants_have_their_states() {
        let io = |kind| ArrowError::IoError("x".to_owned(), std::io::Error::from(kind));
        for (error, sqlstate) in [
            (io(ErrorKind::StorageFull), "53100"),
            (io(ErrorKind::Other), "58030"),
            (ArrowError::DivideByZero, "22012"),
            (ArrowError::ArithmeticOverflow("x".to_owned()), "22003"),
            (ArrowError::CastError("Cannot cast string 'a' to value of Int32 type".to_owned()), "22P02"),
            (ArrowError::CastError("Can't cast value 99999999999 to type Int32".to_owned()), "22003"),
        ] {
            let text = error.to_string();
            assert_eq!(EngineError::from(error).sqlstate(), sqlstate, "{text}");
        }
    }
}
