//! Why a query's operators failed.

use std::fmt;

use braid_base::ByteSize;
use braid_io::IoError;

/// What went wrong, for one query.
#[derive(Debug)]
pub enum ExecError {
    /// A value beyond what its type holds: PostgreSQL's "… out of range" (22003).
    OutOfRange {
        /// The type, as PostgreSQL names it.
        type_name: &'static str,
    },
    /// Division by zero (22012).
    DivisionByZero,
    /// More memory than the query may have.
    Memory(MemoryExceeded),
    /// A temporary file could not be written or read.
    Spill(IoError),
    /// A temporary file did not give back what was written.
    BrokenBlock(BrokenBlock),
    /// Temporary files may not grow any more.
    SpillSpace {
        /// How much more was asked for.
        asked: ByteSize,
        /// In the temporary files of all queries.
        used: ByteSize,
        /// What they may take.
        limit: ByteSize,
    },
    /// A subquery that stands for one value had several rows (21000).
    SeveralRows,
    /// The query was cancelled.
    Cancelled,
    /// What an expression or a source of rows from elsewhere reports.
    Foreign(Box<dyn std::error::Error + Send + Sync>),
}

/// A request for memory that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryExceeded {
    /// Who asked.
    pub operator: &'static str,
    /// How much more it asked for.
    pub asked: ByteSize,
    /// What the budget says.
    pub reason: String,
}

/// Bytes that are no block: the disk gave others than were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenBlock {
    /// What is wrong.
    pub reason: &'static str,
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
            Self::Memory(MemoryExceeded { operator, asked, reason }) => {
                write!(f, "{operator} asks for {asked} more of memory: {reason}")
            }
            Self::Spill(error) => write!(f, "temporary file: {error}"),
            Self::BrokenBlock(error) => write!(f, "temporary file is broken: {error}"),
            Self::SpillSpace { asked, used, limit } => write!(
                f,
                "temporary files ask for {} more of disk space: {} of {limit} are used",
                asked.rounded(),
                used.rounded()
            ),
            Self::SeveralRows => f.write_str("more than one row returned by a subquery used as an expression"),
            Self::Cancelled => f.write_str("the query was cancelled"),
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
