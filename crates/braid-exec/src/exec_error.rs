//! The errors of a query's operators.

use std::fmt;

use braid_base::ByteSize;
use braid_io::IoError;
use braid_scan::ScanError;
use tokio::task::JoinError;

/// The error of one query.
#[derive(Debug)]
pub enum ExecError {
    /// A value exceeds the range of its type: PostgreSQL's "… out of range" (22003).
    OutOfRange {
        /// The type, as PostgreSQL names it.
        type_name: &'static str,
    },
    /// Division by zero (22012).
    DivisionByZero,
    /// The query exceeds its memory budget.
    Memory(MemoryExceeded),
    /// Writing or reading a temporary file failed.
    Spill(IoError),
    /// A temporary file holds other bytes than were written.
    BrokenBlock(BrokenBlock),
    /// The temporary files of all queries exceed their limit.
    SpillSpace {
        /// Bytes that were refused.
        asked: ByteSize,
        /// Bytes in the temporary files of all queries.
        used: ByteSize,
        /// Bytes that these files may take together.
        limit: ByteSize,
    },
    /// A scalar subquery returned more than one row (21000).
    SeveralRows,
    /// Not an error for the user: the values of an expression would take more than
    /// [`BATCH_BYTES_MAX`](braid_base::BATCH_BYTES_MAX) for all rows of a divisible batch, and it is to be asked for fewer.
    BatchTooLong,
    /// The query was cancelled.
    Cancelled,
    /// An error of an expression or of a source that another crate implements.
    Foreign(Box<dyn std::error::Error + Send + Sync>),
}

/// A refused request for memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryExceeded {
    /// The operator that needs the memory.
    pub operator: &'static str,
    /// Bytes that it needs beyond those that it holds; 0 if a limit on rows or groups is reached.
    pub asked: ByteSize,
    /// The reason of the refusal, with the limit.
    pub reason: String,
}

/// Bytes that are not a block, because the disk returned other bytes than were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenBlock {
    /// The fault.
    pub reason: &'static str,
}

/// Why a pass failed as a whole.
#[derive(Debug)]
pub enum PassError {
    /// An expression failed for a row that may belong to any of the queries. Each query is to be run alone.
    Evaluation(ExecError),
    /// Another error: of memory, of the disk, a cancellation.
    Other(ExecError),
}

impl PassError {
    /// The error of a pass that ended with `error`.
    pub(crate) fn of(error: ExecError) -> Self {
        if error.is_of_evaluation() { Self::Evaluation(error) } else { Self::Other(error) }
    }

    /// The error of its operator.
    pub fn into_error(self) -> ExecError {
        match self {
            Self::Evaluation(error) | Self::Other(error) => error,
        }
    }
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evaluation(error) | Self::Other(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PassError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Evaluation(error) | Self::Other(error) => Some(error),
        }
    }
}

impl ExecError {
    /// The error of a function of another crate. One of this type within is returned unchanged.
    pub(crate) fn of_foreign(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => *error,
            Err(error) => Self::Foreign(error),
        }
    }

    /// Whether a value could not be computed: the fault of the rows that are evaluated, so that a run with fewer rows may
    /// succeed.
    pub fn is_of_evaluation(&self) -> bool {
        match self {
            Self::OutOfRange { .. } | Self::DivisionByZero | Self::SeveralRows | Self::BatchTooLong => true,
            Self::Foreign(error) => !error.is::<ScanError>() && !error.is::<JoinError>(),
            Self::Memory(_) | Self::Spill(_) | Self::BrokenBlock(_) | Self::SpillSpace { .. } | Self::Cancelled => {
                false
            }
        }
    }
}

impl fmt::Display for BrokenBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { type_name } => write!(f, "{type_name} out of range"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Memory(MemoryExceeded { operator, asked: ByteSize(0), reason }) => write!(f, "{operator}: {reason}"),
            Self::Memory(MemoryExceeded { operator, asked, reason }) => {
                write!(f, "{operator} needs {} more memory: {reason}", asked.rounded())
            }
            Self::Spill(error) => write!(f, "temporary file: {error}"),
            Self::BrokenBlock(error) => write!(f, "temporary file is corrupt: {error}"),
            Self::SpillSpace { asked, used, limit } => write!(
                f,
                "temporary files need {} more disk space: {} of {} are used",
                asked.rounded(),
                used.rounded(),
                limit.rounded()
            ),
            Self::SeveralRows => f.write_str("more than one row returned by a subquery used as an expression"),
            Self::BatchTooLong => f.write_str("the values of a batch are too long"),
            Self::Cancelled => f.write_str("canceling statement due to user request"),
            Self::Foreign(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Foreign(error) => Some(error.as_ref()),
            Self::Spill(error) => Some(error),
            _ => None,
        }
    }
}
