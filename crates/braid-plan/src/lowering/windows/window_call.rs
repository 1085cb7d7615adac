//! A window function of braid-sql, or an aggregate over frames, as a function of the operator.
//!
//! Its arrays are those of the arguments, then that of the filter, that of the ordering column, and those of the frame's computed offsets, as
//! far as the function reads them. The rows of one partition at a time are values in memory.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use braid_exec::plan::{ForeignError, ForeignWindow, Watch, WindowRows};
use braid_sql::aggregates::Aggregate;
use braid_sql::functions::ordering::SortKey;
use braid_sql::functions::{Call, UnlimitedMemory};
use braid_sql::pg_catalog::{FunctionEntry, TypeId};
use braid_sql::window_functions::frame_aggregates::each_aggregate_value;
use braid_sql::window_functions::frames::OrderingColumn;
use braid_sql::window_functions::{Frame, FrameSpecification, Partition, Peers, WindowFunction};
use braid_sql::{SqlError, SqlType, Value};

use super::frame::ComputedOffset;
use super::{sort_key, type_of};
use crate::lowering::Session;
use crate::lowering::accumulations::form_of_result;
use crate::values::arrays::{ArrayBuilder, value_at};

/// Rows after which the memory and a cancellation are looked at.
const ROWS_BETWEEN_LOOKS: usize = 256;

/// What computes a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compute {
    Function(WindowFunction),
    Aggregate(Aggregate),
}

impl Compute {
    /// # Errors
    /// As unsupported (0A000) a function that braid-sql does not compute.
    pub fn of(entry: &FunctionEntry) -> Result<Self, SqlError> {
        let aggregate = || Aggregate::of(entry).map(Self::Aggregate);
        WindowFunction::of(entry)
            .map(Self::Function)
            .or_else(aggregate)
            .ok_or_else(|| SqlError::unsupported(format!("{} over a window is not supported", entry.signature())))
    }

    /// Whether it reads the frames.
    pub fn uses_frame(&self) -> bool {
        match self {
            Self::Function(function) => function.uses_frame(),
            Self::Aggregate(_) => true,
        }
    }
}

/// The ordering column of RANGE frames with offsets.
#[derive(Clone, Debug)]
pub(super) struct Ordering {
    id: TypeId,
    key: SortKey,
}

impl Ordering {
    pub fn of(key: &braid_sql::relation::SortKey) -> Result<Self, SqlError> {
        Ok(Self { id: type_of(&key.expression), key: sort_key(key)? })
    }
}

/// A function over whole partitions.
#[derive(Debug)]
pub(super) struct FunctionOverWindow {
    pub name: &'static str,
    pub compute: Compute,
    pub argument_types: Vec<SqlType>,
    /// The types of the arguments' values.
    pub ids: Vec<TypeId>,
    pub result: SqlType,
    pub has_filter: bool,
    pub ordering: Option<Ordering>,
    pub frame: FrameSpecification,
    /// The offsets of the frame that are read in the first row of a partition.
    pub computed_offsets: Vec<ComputedOffset>,
    pub session: Arc<dyn Session>,
}

/// The rows of a partition as values.
struct Rows {
    arguments: Vec<Vec<Value>>,
    filter: Option<Vec<bool>>,
    ordering: Vec<Value>,
    peers: Peers,
    frames: Vec<Frame>,
    /// Bytes that these take.
    bytes: usize,
}

/// Looks now and then.
struct Looks<'a, 'b> {
    watch: &'a mut Watch<'b>,
    rows: usize,
}

impl Looks<'_, '_> {
    fn row(&mut self, bytes: usize) -> Result<(), ForeignError> {
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_BETWEEN_LOOKS) { (self.watch)(bytes) } else { Ok(()) }
    }
}

impl fmt::Display for FunctionOverWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl ForeignWindow for FunctionOverWindow {
    fn results(&self, rows: &WindowRows<'_>, watch: &mut Watch<'_>) -> Result<ArrayRef, ForeignError> {
        let mut results = ArrayBuilder::new(form_of_result(self.result));
        let mut looks = Looks { watch, rows: 0 };
        let mut peers = rows.peers;
        for (at, first) in rows.partitions.iter().enumerate() {
            let end = rows.partitions.get(at + 1).map_or(rows.row_count, |next| *next as usize);
            let (own, later) = peers.split_at(peers.partition_point(|peer| (*peer as usize) < end));
            peers = later;
            let range = *first as usize..end;
            let held = results_bytes(&results, range.start);
            let rows = self.rows(rows.arguments, range, own, held, &mut looks)?;
            self.add_results(&rows, &mut results, (held, end), &mut looks)?;
        }
        Ok(results.finish())
    }
}

/// Bytes of the results of so many rows.
fn results_bytes(results: &ArrayBuilder, row_count: usize) -> usize {
    results.bytes() + row_count * size_of::<i128>()
}

impl FunctionOverWindow {
    /// The values of a partition, which is these rows.
    fn rows(
        &self,
        arrays: &[ArrayRef],
        range: Range<usize>,
        peers: &[u32],
        held: usize,
        looks: &mut Looks<'_, '_>,
    ) -> Result<Rows, ForeignError> {
        let count = range.len();
        let (of_arguments, others) = arrays.split_at(self.ids.len());
        let (others, offsets) = others.split_at(others.len() - self.computed_offsets.len());
        let (filter, ordering) = if self.has_filter { (others.first(), others.get(1)) } else { (None, others.first()) };
        let value_bytes = size_of::<Vec<Value>>() + arrays.len() * size_of::<Value>();
        let mut bytes = count * (value_bytes + size_of::<Frame>() + size_of::<usize>());
        (looks.watch)(held + bytes)?;
        let mut arguments = Vec::with_capacity(count);
        for row in range.clone() {
            looks.row(held + bytes)?;
            let values = of_arguments.iter().zip(&self.ids).map(|(array, id)| value_at(array, row, *id));
            let values = values.collect::<Result<Vec<Value>, SqlError>>()?;
            bytes += values.iter().map(Value::heap_bytes).sum::<usize>();
            arguments.push(values);
        }
        let filter = filter.map(|filter| {
            let filter = filter.as_boolean();
            range.clone().map(|row| filter.is_valid(row) && filter.value(row)).collect()
        });
        let ordering = match (&self.ordering, ordering) {
            (Some(of), Some(array)) => {
                range.clone().map(|row| value_at(array, row, of.id)).collect::<Result<_, _>>()?
            }
            _ => Vec::new(),
        };
        let peers = Peers::beginning_at(peers.iter().map(|peer| *peer as usize - range.start), count);
        let mut rows = Rows { arguments, filter, ordering, peers, frames: Vec::new(), bytes };
        if self.compute.uses_frame() {
            let frame = self.frame_of(offsets, range.start)?;
            rows.frames = self.frames(&frame, &rows, held, looks)?;
        }
        Ok(rows)
    }

    /// The frame of the partition that begins with this row.
    fn frame_of(&self, offsets: &[ArrayRef], first: usize) -> Result<Cow<'_, FrameSpecification>, SqlError> {
        if offsets.is_empty() {
            return Ok(Cow::Borrowed(&self.frame));
        }
        let mut frame = self.frame.clone();
        for (offset, array) in self.computed_offsets.iter().zip(offsets) {
            offset.put(&mut frame, value_at(array, first, offset.id())?);
        }
        frame.check_offsets()?;
        Ok(Cow::Owned(frame))
    }

    fn frames(
        &self,
        frame: &FrameSpecification,
        rows: &Rows,
        held: usize,
        looks: &mut Looks<'_, '_>,
    ) -> Result<Vec<Frame>, ForeignError> {
        let column = self.ordering.as_ref().map(|of| OrderingColumn { values: &rows.ordering, key: &of.key });
        let mut frames = Vec::with_capacity(rows.arguments.len());
        for frame in frame.each_frame(&rows.peers, column, &*self.session) {
            looks.row(held + rows.bytes)?;
            frames.push(frame?);
        }
        Ok(frames)
    }

    /// Adds the results of a partition. `end` rows have results then.
    fn add_results(
        &self,
        rows: &Rows,
        results: &mut ArrayBuilder,
        (held, end): (usize, usize),
        looks: &mut Looks<'_, '_>,
    ) -> Result<(), ForeignError> {
        let partition = Partition { arguments: &rows.arguments, peers: &rows.peers, frames: &rows.frames };
        match &self.compute {
            Compute::Function(function) => {
                (looks.watch)(held + rows.bytes + rows.arguments.len() * size_of::<Value>())?;
                for value in function.values(&partition)? {
                    results.add(&value)?;
                }
                (looks.watch)(results_bytes(results, end) + rows.bytes)
            }
            Compute::Aggregate(aggregate) => {
                // The results are counted below as they are added.
                let (session, argument_types) = (&*self.session, &self.argument_types[..]);
                let call = Call { session, argument_types, result_type: self.result, memory: &UnlimitedMemory };
                each_aggregate_value(aggregate, &partition, rows.filter.as_deref(), &call, |value| {
                    results.add(value)?;
                    looks.row(results_bytes(results, end) + rows.bytes)
                })
            }
        }
    }
}
