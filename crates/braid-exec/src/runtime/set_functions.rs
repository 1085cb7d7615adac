//! Functions of another crate that return rows for each row.
//!
//! The operator ([`project_set`](super::project_set)) repeats the input's rows; the other crate makes the functions' columns. It sees
//! arguments and results as Arrow arrays, as [foreign expressions](crate::expression::ForeignExpression) do. Rows are made in pieces
//! when they are asked for, so that a call may return any number of rows.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use crate::MemoryBudget;

/// The error of a function. An [`ExecError`](crate::ExecError) within is returned unchanged.
pub type SetFunctionError = Box<dyn Error + Send + Sync>;

/// A function of another crate that returns rows, or several side by side. Its text is what EXPLAIN shows.
pub trait ForeignSetFunction: fmt::Debug + fmt::Display + Send + Sync {
    /// Starts the rows for `row_count` input rows, of an array for each argument. Long values are counted under `budget`.
    ///
    /// # Errors
    /// When the arguments cannot be read.
    fn start(
        &self,
        arguments: Vec<ArrayRef>,
        row_count: usize,
        budget: &Arc<dyn MemoryBudget>,
    ) -> Result<Box<dyn SetFunctionRows>, SetFunctionError>;
}

/// The rows of a function for some input rows, in the order of the input.
pub trait SetFunctionRows: Send {
    /// The next rows, at least one; `None` at the end. A column of a piece has about
    /// [`BATCH_BYTES_MAX`](braid_base::BATCH_BYTES_MAX) bytes at most, or one row. The rows before an error are returned before it.
    ///
    /// # Errors
    /// When the function fails.
    fn next_piece(&mut self, rows_max: usize) -> Result<Option<SetPiece>, SetFunctionError>;
}

/// Some rows of a function.
#[derive(Debug)]
pub struct SetPiece {
    /// For each row, the number of the input row that it belongs to.
    pub input_rows: Vec<u32>,
    /// The function's columns.
    pub columns: Vec<ArrayRef>,
}

/// A call of such a function.
#[derive(Clone, Debug)]
pub struct SetFunctionCall {
    /// The function.
    pub function: Arc<dyn ForeignSetFunction>,
    /// The positions of the arguments among the columns of the input, each with the type of the array that the function reads.
    pub arguments: Vec<(usize, DataType)>,
    /// Number of columns that it returns.
    pub column_count: usize,
}

impl fmt::Display for SetFunctionCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments: Vec<String> = self.arguments.iter().map(|(column, _)| format!("#{column}")).collect();
        write!(f, "{}({})", self.function, arguments.join(", "))
    }
}
