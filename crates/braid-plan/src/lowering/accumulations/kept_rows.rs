//! The rows of each group, as bytes, for aggregates that need them in an order.
//!
//! Rows have numbers, so that parts of a group can be put together in any order. At the end the rows of a group are sorted by these numbers,
//! then as the call asks for; repetitions are dropped for DISTINCT; what is left is accumulated. A group must fit in memory then. Rows that
//! are accumulated in the order of their numbers are read one by one.
//!
//! The rows of a group are in blocks, so that they are not moved when more come.
//!
//! ```text
//! bytes of the rest (u32) │ number (u64) │ whether it counts (u8) │ values
//! ```

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering as Atomic;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder};
use braid_exec::ExecError;
use braid_exec::plan::{ForeignError, ForeignStates};
use braid_exec::runtime::stop::StopFlag;
use braid_sql::functions::ordering::compare_rows;
use braid_sql::{SqlError, SqlState, Value};

use super::accumulation_call::{AccumulationCall, DirectArguments};
use super::form_of_result;
use crate::values::arrays::{ArrayBuilder, value_at};
use crate::values::codec::{decode_all, encode};

/// Bytes of a row before its values and after its length.
const HEADER_BYTES: usize = size_of::<u64>() + 1;

/// Rows after which a cancellation is noticed.
const ROWS_BETWEEN_CHECKS: usize = 1024;

/// Bytes in memory for each byte of kept rows while they are sorted: an integer of 18 bytes takes a row of 40, a list of 24 and a value of
/// 32, and is accumulated into another.
const DECODED_BYTES_PER_BYTE: usize = 8;

/// Aggregates that make one text of texts.
const OF_TEXTS: &str = "string_agg";

/// Bytes in memory for each byte of rows of which a text is made one by one: the text is moved while it grows.
const TEXT_BYTES_PER_BYTE: usize = 3;

/// Bytes of a block; a longer row has one of its own.
const BLOCK_BYTES: usize = 64 << 10;

/// The rows of each group.
#[derive(Debug)]
pub(super) struct KeptRows {
    call: Arc<AccumulationCall>,
    groups: Vec<GroupRows>,
    /// Bytes of all groups' rows.
    bytes: usize,
}

/// The rows of a group, as bytes.
#[derive(Clone, Debug, Default)]
struct GroupRows {
    full: Vec<Vec<u8>>,
    /// The block that the next row is written to.
    last: Vec<u8>,
    row_count: usize,
    length: usize,
    /// Bytes that the blocks hold.
    capacity: usize,
}

impl GroupRows {
    /// Adds one whole row or more.
    fn push(&mut self, rows: [&[u8]; 2], row_count: usize) {
        let length = rows[0].len() + rows[1].len();
        if self.last.len() + length > BLOCK_BYTES && !self.last.is_empty() {
            let next = Vec::with_capacity(length.max(BLOCK_BYTES));
            self.capacity += next.capacity() + size_of::<Vec<u8>>();
            self.full.push(std::mem::replace(&mut self.last, next));
        }
        let before = self.last.capacity();
        rows.into_iter().for_each(|rows| self.last.extend(rows));
        self.capacity += self.last.capacity() - before;
        self.length += length;
        self.row_count += row_count;
    }

    fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        self.full.iter().chain([&self.last]).map(Vec::as_slice)
    }

    /// The rows, in their order in memory.
    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks().flat_map(rows_in)
    }
}

/// The rows of a block, each with what comes behind it.
fn rows_in(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block;
    std::iter::from_fn(move || {
        let row = rest;
        let length = row.first_chunk().map(|length| u32::from_le_bytes(*length) as usize)?;
        rest = row.get(size_of::<u32>() + length..).unwrap_or_default();
        Some(row)
    })
}

/// A row that is read.
struct Row {
    number: u64,
    counts: bool,
    values: Vec<Value>,
}

impl KeptRows {
    /// Rows of no groups.
    pub fn new(call: Arc<AccumulationCall>) -> Self {
        Self { call, groups: Vec::new(), bytes: 0 }
    }

    /// Adds rows to a group.
    fn push(&mut self, group: u32, rows: [&[u8]; 2], row_count: usize) {
        let of_group = &mut self.groups[group as usize];
        let before = of_group.capacity;
        of_group.push(rows, row_count);
        self.bytes = self.bytes - before + of_group.capacity;
    }

    /// Whether rows are accumulated one by one in the order of their numbers.
    fn is_streamed(&self) -> bool {
        let call = &*self.call;
        call.order.is_empty() && call.equalities.is_none() && matches!(call.direct, DirectArguments::Known(_))
    }

    /// Bytes in memory for each byte of a group's rows while its result is made.
    fn bytes_per_byte(&self) -> usize {
        if self.call.name == OF_TEXTS && self.is_streamed() { TEXT_BYTES_PER_BYTE } else { DECODED_BYTES_PER_BYTE }
    }

    /// The result of rows that are accumulated in the order of their numbers.
    fn streamed_result(&self, rows: &GroupRows, cancelled: &StopFlag) -> Result<Value, ForeignError> {
        let call = &*self.call;
        let mut numbered = Vec::with_capacity(rows.row_count);
        for row in rows.rows() {
            check(numbered.len(), cancelled)?;
            numbered.push((number_of(row)?, row));
        }
        if !numbered.is_sorted_by_key(|(number, _)| *number) {
            numbered.sort_unstable_by_key(|(number, _)| *number);
        }
        let mut accumulation = call.start()?;
        for (at, (_, row)) in numbered.into_iter().enumerate() {
            check(at, cancelled)?;
            let row = take_row(&mut &*row)?;
            if row.counts {
                accumulation.add(&row.values[..call.argument_count], &call.context())?;
            }
        }
        let DirectArguments::Known(direct) = &call.direct else { unreachable!("such rows are not streamed") };
        Ok(accumulation.finish(direct, &call.context())?)
    }

    /// Whether a row with these values is of no use.
    fn is_skipped(&self, counts: bool, values: &[Value]) -> bool {
        let arguments = &values[self.call.sort_count..self.call.sort_count + self.call.argument_count];
        let changes_nothing = !counts || self.call.aggregate.skips_nulls() && arguments.iter().any(Value::is_null);
        changes_nothing && matches!(self.call.direct, DirectArguments::Known(_))
    }

    /// The result of a group's rows.
    fn result(&self, rows: &GroupRows, cancelled: &StopFlag) -> Result<Value, ForeignError> {
        let call = &*self.call;
        if self.is_streamed() {
            return self.streamed_result(rows, cancelled);
        }
        let mut read = Vec::new();
        for mut row in rows.rows() {
            check(read.len(), cancelled)?;
            read.push(take_row(&mut row)?);
        }
        read.sort_unstable_by_key(|row| row.number);
        let direct = match &call.direct {
            DirectArguments::Known(values) => values.clone(),
            DirectArguments::InRows(count) => match read.first() {
                Some(row) => row.values[row.values.len() - count..].to_vec(),
                None => return Err(Box::new(no_direct_arguments())),
            },
        };
        read.retain(|row| row.counts);
        let read = self.sorted(read, cancelled)?;
        let mut accumulation = call.start()?;
        let mut last: Option<&[Value]> = None;
        for (at, row) in read.iter().enumerate() {
            check(at, cancelled)?;
            let arguments = &row.values[call.sort_count..call.sort_count + call.argument_count];
            if let (Some(equalities), Some(last)) = (&call.equalities, last) {
                let mut is_same = true;
                for ((equality, left), right) in equalities.iter().zip(last).zip(arguments) {
                    is_same = is_same && equality.are_same(left, right, &*call.session)?;
                }
                if is_same {
                    continue;
                }
            }
            last = Some(arguments);
            accumulation.add(arguments, &call.context())?;
        }
        Ok(accumulation.finish(&direct, &call.context())?)
    }

    /// Sorts rows, which are in the order of their numbers, as the call asks for. Comparisons may fail, unlike those of the standard library's
    /// sorts.
    fn sorted(&self, mut rows: Vec<Row>, cancelled: &StopFlag) -> Result<Vec<Row>, ForeignError> {
        let count = if self.call.order.is_empty() { 0 } else { rows.len() };
        let mut run = 1;
        while run < count {
            let mut merged = Vec::with_capacity(count);
            let mut unsorted = rows.into_iter();
            while merged.len() < count {
                let mut take = || unsorted.by_ref().take(run).collect::<Vec<_>>().into_iter().peekable();
                let (mut left, mut right) = (take(), take());
                while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
                    let order = compare_rows(&self.call.order, &first.values, &second.values, &*self.call.session)?;
                    merged.extend(if order.is_gt() { right.next() } else { left.next() });
                    check(merged.len(), cancelled)?;
                }
                merged.extend(left.chain(right));
            }
            rows = merged;
            run *= 2;
        }
        Ok(rows)
    }
}

impl ForeignStates for KeptRows {
    fn update(&mut self, groups: &[u32], group_count: usize, arguments: &[ArrayRef]) -> Result<(), ForeignError> {
        self.groups.resize(group_count, GroupRows::default());
        let first = self.call.next.fetch_add(groups.len() as u64, Atomic::Relaxed);
        let (arrays, filter) = arguments.split_at(self.call.ids.len());
        let filter = filter.first().map(|filter| filter.as_boolean().clone());
        let mut values = vec![Value::Null; arrays.len()];
        let mut encoded = Vec::new();
        for (row, group) in groups.iter().enumerate() {
            for ((value, array), id) in values.iter_mut().zip(arrays).zip(&self.call.ids) {
                *value = value_at(array, row, *id)?;
            }
            let counts = filter.as_ref().is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if self.is_skipped(counts, &values) {
                continue;
            }
            encoded.clear();
            encoded.extend((first + row as u64).to_le_bytes());
            encoded.push(u8::from(counts));
            values.iter().try_for_each(|value| encode(value, &mut encoded))?;
            let length = u32::try_from(encoded.len()).map_err(|_| too_long())?;
            self.push(*group, [&length.to_le_bytes(), &encoded], 1);
        }
        Ok(())
    }

    fn save(&self, groups: &[u32]) -> Result<ArrayRef, ForeignError> {
        let mut parts = BinaryViewBuilder::new();
        for group in groups {
            match self.groups.get(*group as usize) {
                Some(rows) if i32::try_from(rows.length).is_err() => return Err(Box::new(too_long())),
                Some(rows) if rows.length == rows.last.len() && rows.length > 0 => parts.append_value(&rows.last),
                Some(rows) if rows.length > 0 => parts.append_value(rows.blocks().collect::<Vec<_>>().concat()),
                _ => parts.append_null(),
            }
        }
        Ok(Arc::new(parts.finish()))
    }

    fn merge(&mut self, groups: &[u32], group_count: usize, parts: &ArrayRef) -> Result<(), ForeignError> {
        self.groups.resize(group_count, GroupRows::default());
        for (group, part) in groups.iter().zip(parts.as_binary_view()) {
            let Some(part) = part else { continue };
            self.push(*group, [part, &[]], rows_in(part).count());
        }
        Ok(())
    }

    fn results(&self, groups: Range<usize>, cancelled: &StopFlag) -> Result<ArrayRef, ForeignError> {
        let mut results = ArrayBuilder::new(form_of_result(self.call.result));
        let none = GroupRows::default();
        for group in groups {
            results.add(&self.result(self.groups.get(group).unwrap_or(&none), cancelled)?)?;
        }
        Ok(results.finish())
    }

    fn bytes(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<GroupRows>()
    }

    fn results_bytes(&self, groups: Range<usize>) -> usize {
        let factor = self.bytes_per_byte();
        let of_groups = || groups.clone().filter_map(|group| self.groups.get(group));
        let of_one = |rows: &GroupRows| (factor - 1) * rows.length + rows.row_count * size_of::<(u64, &[u8])>();
        of_groups().map(|rows| rows.length).sum::<usize>() + of_groups().map(of_one).max().unwrap_or(0)
    }
}

/// Looks for a cancellation, now and then.
fn check(at: usize, cancelled: &StopFlag) -> Result<(), ForeignError> {
    match at.is_multiple_of(ROWS_BETWEEN_CHECKS) && cancelled.is_raised() {
        true => Err(Box::new(ExecError::Cancelled)),
        false => Ok(()),
    }
}

/// The number of a row.
fn number_of(row: &[u8]) -> Result<u64, SqlError> {
    let number = row.get(size_of::<u32>()..).and_then(|row| row.first_chunk());
    number.map(|number| u64::from_le_bytes(*number)).ok_or_else(broken)
}

fn broken() -> SqlError {
    SqlError::new(SqlState::InternalError, "the rows of a group are broken")
}

fn take_row(rest: &mut &[u8]) -> Result<Row, SqlError> {
    let (length, after) = rest.split_first_chunk().ok_or_else(broken)?;
    let (row, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(broken)?;
    *rest = after;
    let (header, values) = row.split_first_chunk::<HEADER_BYTES>().ok_or_else(broken)?;
    let (number, counts) = header.split_first_chunk().ok_or_else(broken)?;
    Ok(Row { number: u64::from_le_bytes(*number), counts: counts != [0], values: decode_all(values)? })
}

fn too_long() -> SqlError {
    SqlError::new(SqlState::ProgramLimitExceeded, "an aggregate has more than 2 GiB of rows in one group")
}

fn no_direct_arguments() -> SqlError {
    SqlError::unsupported("direct arguments of an aggregate without rows that are made of a subquery are not supported")
}
