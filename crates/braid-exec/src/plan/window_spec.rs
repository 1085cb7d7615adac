//! The specification of window functions over one sort of the rows.
//!
//! All calls have the same partitions. Windows whose orders are prefixes of one order share its sort: each call says how many of the keys
//! its own window has.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::SortKey;
use super::foreign_aggregate::ForeignError;

/// The partitions, their order, and the calls.
#[derive(Clone, Debug)]
pub struct WindowSpec {
    /// Rows that are equal in these columns are one partition.
    pub partition_by: Vec<usize>,
    /// The order within a partition, most significant first.
    pub order_by: Vec<SortKey>,
    /// The calls, each of which makes a column.
    pub calls: Vec<WindowCall>,
}

/// A call of a window function.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// Its window's order is the first keys of the order, so many. Rows that are equal in these are peers.
    pub key_count: usize,
    /// The function.
    pub function: WindowFunction,
}

/// A window function, with its arguments.
#[derive(Clone, Debug)]
pub enum WindowFunction {
    /// The number of the row in its partition, from 1.
    RowNumber,
    /// The number of the first peer.
    Rank,
    /// The number of the group of peers.
    DenseRank,
    /// An aggregate of the rows of the frame.
    Aggregate {
        /// Which.
        function: FrameAggregate,
        /// Position of the argument; none for [`FrameAggregate::CountRows`].
        argument: Option<usize>,
        /// FILTER: position of a boolean column. Only rows for which it is true count.
        filter: Option<usize>,
        /// The frame.
        frame: WindowFrame,
    },
    /// The value of a row of the frame; null if there is none.
    ValueInFrame {
        /// Position of the value.
        argument: usize,
        /// Which row.
        place: FramePlace,
        /// The frame.
        frame: WindowFrame,
    },
    /// The value of the row so many rows behind the current one, or before it if that is negative; null beyond the partition.
    ValueAtDistance {
        /// Position of the value.
        argument: usize,
        /// Rows.
        distance: i64,
    },
    /// A function of another crate.
    Foreign(ForeignWindowCall),
}

/// An aggregate that the operator computes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameAggregate {
    /// `count(*)`
    CountRows,
    /// `count`
    Count,
    /// `sum` of numbers. Integers have up to 128 bits.
    Sum,
    /// `min`
    Minimum,
    /// `max`
    Maximum,
}

/// A row of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePlace {
    /// The first.
    First,
    /// The last.
    Last,
    /// The one at an index, from 0.
    Nth(u64),
}

/// The rows around each row that a function sees. RANGE without offsets is GROUPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowFrame {
    /// What bounds count.
    pub mode: FrameMode,
    /// The first row, or group.
    pub start: FrameBound,
    /// The last row, or group.
    pub end: FrameBound,
}

/// What the bounds of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameMode {
    /// Rows.
    Rows,
    /// Groups of peers.
    Groups,
}

/// A bound of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBound {
    /// The partition's first.
    UnboundedPreceding,
    /// So many before the current one.
    Preceding(u64),
    /// The current one.
    CurrentRow,
    /// So many behind the current one.
    Following(u64),
    /// The partition's last.
    UnboundedFollowing,
}

/// A call of a foreign window function.
#[derive(Clone, Debug)]
pub struct ForeignWindowCall {
    /// The function.
    pub function: Arc<dyn ForeignWindow>,
    /// The positions of the arguments among the columns, each with the type of the array that the function reads.
    pub arguments: Vec<(usize, DataType)>,
}

/// A window function of another crate. Its text is what EXPLAIN shows.
pub trait ForeignWindow: fmt::Debug + fmt::Display + Send + Sync {
    /// The result for each row of whole partitions. `watch` is told now and then how many bytes the computation holds beside its
    /// arguments, and its error ends the computation.
    ///
    /// # Errors
    /// When the function fails, and the errors of `watch`.
    fn results(&self, rows: &WindowRows<'_>, watch: &mut Watch<'_>) -> Result<ArrayRef, ForeignError>;
}

/// Looks at the memory and the cancellation of a computation.
pub type Watch<'a> = dyn FnMut(usize) -> Result<(), ForeignError> + 'a;

/// Sorted rows of whole partitions.
#[derive(Clone, Copy, Debug)]
pub struct WindowRows<'a> {
    /// The arguments.
    pub arguments: &'a [ArrayRef],
    /// The first row of each partition.
    pub partitions: &'a [u32],
    /// The first row of each group of peers.
    pub peers: &'a [u32],
    /// Number of rows.
    pub row_count: usize,
}

impl WindowSpec {
    /// The columns that are read, with repetitions.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        let keys = self.partition_by.iter().copied().chain(self.order_by.iter().map(|key| key.column));
        keys.chain(self.calls.iter().flat_map(|call| call.function.columns()))
    }

    /// The same over columns at other positions.
    #[must_use]
    pub fn moved(&self, place_of: impl Fn(usize) -> usize) -> Self {
        let mut moved = self.clone();
        moved.partition_by.iter_mut().for_each(|column| *column = place_of(*column));
        moved.order_by.iter_mut().for_each(|key| key.column = place_of(key.column));
        moved.calls.iter_mut().for_each(|call| call.function.each_column(|column| *column = place_of(*column)));
        moved
    }
}

impl WindowFunction {
    /// The columns that are read.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.clone().each_column(|column| columns.push(*column));
        columns
    }

    fn each_column(&mut self, mut each: impl FnMut(&mut usize)) {
        match self {
            Self::RowNumber | Self::Rank | Self::DenseRank => {}
            Self::Aggregate { argument, filter, .. } => argument.iter_mut().chain(filter).for_each(each),
            Self::ValueInFrame { argument, .. } | Self::ValueAtDistance { argument, .. } => each(argument),
            Self::Foreign(call) => call.arguments.iter_mut().map(|(column, _)| column).for_each(each),
        }
    }

    /// Whether some rows can make it fail.
    pub(crate) fn may_fail(&self) -> bool {
        match self {
            Self::Aggregate { function, .. } => *function == FrameAggregate::Sum,
            Self::Foreign(_) => true,
            _ => false,
        }
    }
}

impl fmt::Display for WindowSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<String> = self.calls.iter().map(|call| call.function.to_string()).collect();
        f.write_str(&calls.join(", "))?;
        let partition_by: Vec<String> = self.partition_by.iter().map(|column| format!("#{column}")).collect();
        let order_by: Vec<String> = self.order_by.iter().map(ToString::to_string).collect();
        for (words, keys) in [("partition by", partition_by), ("order by", order_by)] {
            if !keys.is_empty() {
                write!(f, " {words} {}", keys.join(", "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for WindowFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RowNumber => f.write_str("row_number()"),
            Self::Rank => f.write_str("rank()"),
            Self::DenseRank => f.write_str("dense_rank()"),
            Self::Aggregate { function, argument, filter, frame } => {
                let argument = argument.map(|argument| format!("#{argument}")).unwrap_or_default();
                write!(f, "{function:?}({argument})")?;
                filter.iter().try_for_each(|filter| write!(f, " FILTER #{filter}"))?;
                write!(f, "{frame}")
            }
            Self::ValueInFrame { argument, place, frame } => write!(f, "{place:?}(#{argument}){frame}"),
            Self::ValueAtDistance { argument, distance } => write!(f, "#{argument} at {distance:+}"),
            Self::Foreign(call) => {
                let arguments: Vec<String> = call.arguments.iter().map(|(column, _)| format!("#{column}")).collect();
                write!(f, "{}({})", call.function, arguments.join(", "))
            }
        }
    }
}

impl fmt::Display for WindowFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {:?} {:?} to {:?}", self.mode, self.start, self.end)
    }
}
