//! What a statement answers: rows, a tag, or a wish for data.

use std::fmt;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;

use crate::copy::{CopyIn, CopyOut};

/// The answer of one statement.
pub enum Outcome {
    /// Rows to come. Dropping the stream stops the query.
    Rows {
        /// The rows' columns.
        schema: SchemaRef,
        /// The rows, as they are produced. Its errors are [`crate::EngineError`]s inside
        /// `DataFusionError::External`; [`crate::EngineError::from_datafusion`] takes them out again.
        stream: SendableRecordBatchStream,
        /// The command tag without the row count: `SELECT`, `EXPLAIN`, `SHOW`.
        tag: &'static str,
    },
    /// Done, without rows.
    Done {
        /// The whole command tag: `CREATE TABLE`, `INSERT 0 5`.
        tag: String,
    },
    /// COPY FROM STDIN: the client is to send data.
    CopyIn(CopyIn),
    /// COPY TO STDOUT: the encoded data to come.
    CopyOut(CopyOut),
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { schema, tag, .. } => {
                f.debug_struct("Rows").field("schema", schema).field("tag", tag).finish_non_exhaustive()
            }
            Self::Done { tag } => f.debug_struct("Done").field("tag", tag).finish(),
            Self::CopyIn(copy) => f.debug_tuple("CopyIn").field(copy).finish(),
            Self::CopyOut(copy) => f.debug_tuple("CopyOut").field(copy).finish(),
        }
    }
}

/// What is known of a statement before it runs.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Types of `$1`, `$2`, …: as given, or inferred.
    pub parameter_types: Vec<DataType>,
    /// Columns of the rows it will answer, `None` if it answers none.
    pub schema: Option<SchemaRef>,
}
