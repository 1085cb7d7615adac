//! What computes PostgreSQL's window functions, and aggregates over frames.
//!
//! The caller brings the rows of a partition in the order of the window: their arguments, their [peers](Peers), and for functions that
//! need them their [frames](Frame). A function gives a value for each row.
//!
//! | module | contents |
//! |---|---|
//! | [`peers`] | rows that ORDER BY does not tell apart |
//! | [`frames`] | which rows a row's frame has |
//! | `frame_bounds` | where they begin and end |
//! | [`range_offsets`] | offsets of RANGE frames |
//! | [`ranks`] | `row_number`, `rank`, `ntile` and their like |
//! | [`places`] | values of other rows: `lag`, `first_value` and their like |
//! | [`frame_aggregates`] | aggregates over frames |

pub mod frame_aggregates;
mod frame_bounds;
pub mod frames;
pub mod peers;
pub mod places;
pub mod range_offsets;
pub mod ranks;

pub use frames::{Exclusion, Frame, FrameBound, FrameMode, FrameOffset, FrameSpecification};
pub use peers::Peers;

use crate::pg_catalog::{FunctionEntry, FunctionKind};
use crate::{SqlError, Value};

/// The rows of a partition in their order.
#[derive(Clone, Copy, Debug)]
pub struct Partition<'a> {
    /// The values of the arguments in each row.
    pub arguments: &'a [Vec<Value>],
    /// Which rows are equal for ORDER BY.
    pub peers: &'a Peers,
    /// The frame of each row; empty for a function that does not [use](WindowFunction::uses_frame) them.
    pub frames: &'a [Frame],
}

impl Partition<'_> {
    fn row_count(&self) -> usize {
        self.arguments.len()
    }

    /// A value of each row.
    fn each(&self, value_of: impl FnMut(usize) -> Result<Value, SqlError>) -> Result<Vec<Value>, SqlError> {
        (0..self.row_count()).map(value_of).collect()
    }
}

/// A window function.
#[derive(Clone, Copy, Debug)]
pub struct WindowFunction {
    symbol: &'static str,
    compute: Compute,
    uses_frame: bool,
}

/// Computes a function in all rows of a partition.
type Compute = fn(&Partition<'_>) -> Result<Vec<Value>, SqlError>;

impl WindowFunction {
    const fn of_partition(symbol: &'static str, compute: Compute) -> Self {
        Self { symbol, compute, uses_frame: false }
    }

    const fn of_frame(symbol: &'static str, compute: Compute) -> Self {
        Self { symbol, compute, uses_frame: true }
    }

    /// What computes a window function; `None` for a function of another kind. Aggregates are computed by [`frame_aggregates`].
    pub fn of(function: &FunctionEntry) -> Option<Self> {
        let symbol = function.symbol.filter(|_| function.kind == FunctionKind::Window)?;
        ranks::FUNCTIONS.iter().chain(places::FUNCTIONS).find(|one| one.symbol == symbol).copied()
    }

    /// Whether it reads the frames.
    pub fn uses_frame(&self) -> bool {
        self.uses_frame
    }

    /// The value in each row.
    pub fn values(&self, partition: &Partition<'_>) -> Result<Vec<Value>, SqlError> {
        (self.compute)(partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pg_catalog::pg_catalog;

    #[test]
    fn every_window_function_is_there() {
        let functions = pg_catalog().functions().filter(|function| function.kind == FunctionKind::Window);
        let missing: Vec<String> =
            functions.filter(|function| WindowFunction::of(function).is_none()).map(FunctionEntry::signature).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
