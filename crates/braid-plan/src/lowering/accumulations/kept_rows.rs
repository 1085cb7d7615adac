//! The rows of each group, as bytes, for aggregates that need them in an order.
//!
//! Rows have numbers, so that parts of a group can be put together in any order. At the end the rows of a group are sorted by these numbers,
//! then as the call asks for; repetitions are dropped for DISTINCT; what is left is accumulated. A group must fit in memory then.
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

/// The rows of each group.
#[derive(Debug)]
pub(super) struct KeptRows {
    call: Arc<AccumulationCall>,
    groups: Vec<Vec<u8>>,
    /// Bytes of all groups' rows.
    bytes: usize,
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

    /// Changes the rows of a group.
    fn change(
        &mut self,
        group: u32,
        change: impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let rows = &mut self.groups[group as usize];
        let before = rows.capacity();
        let changed = change(rows);
        self.bytes = self.bytes - before + rows.capacity();
        changed
    }

    /// Whether a row with these values is of no use.
    fn is_skipped(&self, counts: bool, values: &[Value]) -> bool {
        let arguments = &values[self.call.sort_count..self.call.sort_count + self.call.argument_count];
        let changes_nothing = !counts || self.call.aggregate.skips_nulls() && arguments.iter().any(Value::is_null);
        changes_nothing && matches!(self.call.direct, DirectArguments::Known(_))
    }

    /// The result of a group's rows.
    fn result(&self, rows: &[u8], cancelled: &StopFlag) -> Result<Value, ForeignError> {
        let call = &*self.call;
        let mut read = Vec::new();
        let mut rest = rows;
        while !rest.is_empty() {
            check(read.len(), cancelled)?;
            read.push(take_row(&mut rest)?);
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
        self.groups.resize(group_count, Vec::new());
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
            self.change(*group, |rows| {
                rows.extend(length.to_le_bytes());
                rows.extend(&encoded);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn save(&self, groups: &[u32]) -> Result<ArrayRef, ForeignError> {
        let mut parts = BinaryViewBuilder::new();
        for group in groups {
            match self.groups.get(*group as usize) {
                Some(rows) if i32::try_from(rows.len()).is_err() => return Err(Box::new(too_long())),
                Some(rows) if !rows.is_empty() => parts.append_value(rows),
                _ => parts.append_null(),
            }
        }
        Ok(Arc::new(parts.finish()))
    }

    fn merge(&mut self, groups: &[u32], group_count: usize, parts: &ArrayRef) -> Result<(), ForeignError> {
        self.groups.resize(group_count, Vec::new());
        for (group, part) in groups.iter().zip(parts.as_binary_view()) {
            let Some(part) = part else { continue };
            self.change(*group, |rows| {
                rows.extend(part);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn results(&self, groups: Range<usize>, cancelled: &StopFlag) -> Result<ArrayRef, ForeignError> {
        let mut results = ArrayBuilder::new(form_of_result(self.call.result));
        for group in groups {
            let rows = self.groups.get(group).map_or(&[][..], Vec::as_slice);
            results.add(&self.result(rows, cancelled)?)?;
        }
        Ok(results.finish())
    }

    fn bytes(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<Vec<u8>>()
    }

    fn results_bytes(&self, groups: Range<usize>) -> usize {
        let lengths = || groups.clone().filter_map(|group| self.groups.get(group)).map(Vec::len);
        lengths().sum::<usize>() + DECODED_BYTES_PER_BYTE * lengths().max().unwrap_or(0)
    }
}

/// Looks for a cancellation, now and then.
fn check(at: usize, cancelled: &StopFlag) -> Result<(), ForeignError> {
    match at.is_multiple_of(ROWS_BETWEEN_CHECKS) && cancelled.is_raised() {
        true => Err(Box::new(ExecError::Cancelled)),
        false => Ok(()),
    }
}

fn take_row(rest: &mut &[u8]) -> Result<Row, SqlError> {
    let broken = || SqlError::new(SqlState::InternalError, "the rows of a group are broken");
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
