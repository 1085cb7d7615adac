//! Window functions.
//!
//! Rows are divided by the hash of their partitions' keys, so that workers take different partitions (`partition_sink`). Each part is sorted by
//! the partitions and the order within these (`part`), and then cut into segments, at the begin of a partition, of a group of
//! peers, or anywhere, as far as the functions need to look (`segmentation`). Every function makes a column of each segment (`evaluation`).
//! Functions that look no further than the current row and its peers carry a state from segment to segment, so that partitions of any size
//! take little memory; all others hold one partition in memory. Leis, Kundhikanjana, Kemper, Neumann, "Efficient Processing of Window
//! Functions in Analytical SQL Queries" (VLDB 2015), section 4.
//!
//! In a pass rows are sorted once for all queries. The queries that have the same rows of a partition are a *class*: the functions are evaluated
//! once for each class over its rows, and a row comes out once for each class that has it. Where all rows of a partition have one set, there
//! is one class. A partition must then fit in memory for all functions, because its classes are known at its end. Rows without partitions
//! may be too many for that: there, functions that carry a state carry one for each class, and a class is split when a set divides it.
//!
//! | module | contents |
//! |---|---|
//! | `segment` | sorted rows, and where partitions and groups of peers begin |
//! | `segmentation` | cutting a stream of sorted rows into segments |
//! | `ranks` | `row_number`, `rank`, `dense_rank` |
//! | `frames` | which rows a row's frame has |
//! | `arguments` | the numbers of an aggregate, and which rows count |
//! | `running_aggregates` | counts and sums from the first row of the partition |
//! | `frame_aggregates` | counts, sums and extremes of other frames |
//! | `places` | values of other rows |
//! | `foreign_calls` | functions of another crate |
//! | `evaluation` | the calls of a segment |
//! | `query_classes` | the rows of each class of queries in a pass |
//! | `class_states` | the same for streams of rows without partitions |
//! | `partition_sink` | rows divided by hashes |
//! | `part` | sorting a part of the rows |
//! | `window_source` | the source of the rows with their results |

mod arguments;
mod class_states;
mod evaluation;
mod foreign_calls;
mod frame_aggregates;
mod frames;
mod part;
mod partition_sink;
mod places;
mod query_classes;
mod ranks;
mod running_aggregates;
mod segment;
mod segmentation;
mod window_source;

pub(crate) use part::Part;
pub(crate) use partition_sink::{HashedPartitions, PartitionSink};
pub(crate) use window_source::{WindowRun, WindowSource};

use crate::plan::{SortKey, WindowSpec};
use segment::WindowKeys;

/// The operator's name in errors.
const OPERATOR: &str = "window";

/// The keys that rows are sorted by.
pub(crate) fn sort_keys(spec: &WindowSpec) -> Vec<SortKey> {
    WindowKeys::of(spec).keys().to_vec()
}
