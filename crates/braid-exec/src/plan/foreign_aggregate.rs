//! Aggregates that another crate computes.
//!
//! The operator groups rows, accounts for memory, spills and merges; the other crate keeps a state for each group. It sees arguments and
//! results as Arrow arrays, as [foreign expressions](crate::expression::ForeignExpression) do. States leave the operator as parts, which are
//! bytes that only the same aggregate reads: beside their keys in temporary files, and where the states of several workers become one.

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use crate::runtime::stop::StopFlag;

/// The error of a foreign aggregate. An [`ExecError`](crate::ExecError) within is returned unchanged.
pub type ForeignError = Box<dyn Error + Send + Sync>;

/// An aggregate of another crate. Its text is what EXPLAIN shows.
pub trait ForeignAggregate: fmt::Debug + fmt::Display + Send + Sync {
    /// States of no groups.
    fn states(&self) -> Box<dyn ForeignStates>;

    /// Whether the result depends on the order of the input's rows. One worker then takes all rows in, in their order. Parts of their
    /// states are merged in any order, so that states must know it.
    fn needs_order(&self) -> bool {
        false
    }
}

/// The states of the groups of one worker, by the number of the group.
///
/// Groups are numbered from 0. States of groups beyond those that were ever updated are those of groups without rows.
pub trait ForeignStates: fmt::Debug + Send + Sync {
    /// Accumulates rows, given by their groups, all below `group_count`, and an array for each argument.
    ///
    /// # Errors
    /// When the aggregate fails.
    fn update(&mut self, groups: &[u32], group_count: usize, arguments: &[ArrayRef]) -> Result<(), ForeignError>;

    /// The part of each of these groups, as an array of type `BinaryView`; null for a group without rows.
    ///
    /// # Errors
    /// When a part is too long for an array.
    fn save(&self, groups: &[u32]) -> Result<ArrayRef, ForeignError>;

    /// Merges such parts into the states of these groups.
    ///
    /// # Errors
    /// When the aggregate fails, or the bytes are no parts.
    fn merge(&mut self, groups: &[u32], group_count: usize, parts: &ArrayRef) -> Result<(), ForeignError>;

    /// The results of a range of groups. Stops soon after `cancelled` is raised.
    ///
    /// # Errors
    /// When the aggregate fails; [`ExecError::Cancelled`](crate::ExecError::Cancelled) if it stopped.
    fn results(&self, groups: Range<usize>, cancelled: &StopFlag) -> Result<ArrayRef, ForeignError>;

    /// Bytes that the states hold, about.
    fn bytes(&self) -> usize;

    /// Bytes that [`Self::results`] of these groups needs beside the states while it runs, about.
    fn results_bytes(&self, groups: Range<usize>) -> usize;
}

/// One call of a foreign aggregate.
#[derive(Clone, Debug)]
pub struct ForeignCall {
    /// The aggregate.
    pub function: Arc<dyn ForeignAggregate>,
    /// The positions of the arguments among the columns of a batch, each with the type of the array that the aggregate reads.
    pub arguments: Vec<(usize, DataType)>,
    /// FILTER: position of a boolean column. Only rows for which it is true count.
    pub filter: Option<usize>,
}

impl ForeignCall {
    /// The columns that are read, with repetitions.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.arguments.iter().map(|(column, _)| *column).chain(self.filter)
    }
}

impl fmt::Display for ForeignCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments: Vec<String> = self.arguments.iter().map(|(column, _)| format!("#{column}")).collect();
        write!(f, "{}({})", self.function, arguments.join(", "))?;
        self.filter.iter().try_for_each(|filter| write!(f, " FILTER #{filter}"))
    }
}
