//! Aggregates over the frames of a partition's rows.
//!
//! Where the next frame moves on from the last one, rows that it loses are taken out and further ones are added. An aggregate that cannot
//! take rows out, and a frame of several runs of rows, begin anew.

use std::ops::Range;

use super::{Frame, Partition};
use crate::aggregates::{Accumulation, Aggregate};
use crate::functions::Call;
use crate::{SqlError, Value};

/// The aggregate of each row's frame. `filter` says which rows FILTER lets through; without it all count.
pub fn aggregate_values(
    aggregate: &Aggregate,
    partition: &Partition<'_>,
    filter: Option<&[bool]>,
    call: &Call<'_>,
) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(partition.row_count());
    each_aggregate_value(aggregate, partition, filter, call, |value| {
        values.push(value.clone());
        Ok(())
    })?;
    Ok(values)
}

/// The same one by one, so that no more than one need be kept.
///
/// # Errors
/// Those of the aggregate, and of `each`.
pub fn each_aggregate_value<E: From<SqlError>>(
    aggregate: &Aggregate,
    partition: &Partition<'_>,
    filter: Option<&[bool]>,
    call: &Call<'_>,
    mut each: impl FnMut(&Value) -> Result<(), E>,
) -> Result<(), E> {
    let rows = FilteredRows { partition, filter, call };
    let mut last: Option<Seen> = None;
    for frame in partition.frames {
        if let Some(last) = &last
            && last.frame == *frame
        {
            each(&last.result)?;
            continue;
        }
        let moved = match last.take() {
            Some(last) => rows.moved(last, frame)?,
            None => None,
        };
        let accumulation = match moved {
            Some(accumulation) => accumulation,
            None => {
                let mut accumulation = aggregate.start(call, &[])?;
                rows.add(&mut accumulation, frame.rows())?;
                accumulation
            }
        };
        let result = accumulation.finish(&[], call)?;
        each(&result)?;
        last = Some(Seen { accumulation, frame: frame.clone(), result });
    }
    Ok(())
}

/// The aggregate of a frame.
struct Seen {
    accumulation: Accumulation,
    frame: Frame,
    result: Value,
}

/// The rows that an aggregate reads.
struct FilteredRows<'a> {
    partition: &'a Partition<'a>,
    filter: Option<&'a [bool]>,
    call: &'a Call<'a>,
}

impl FilteredRows<'_> {
    fn arguments(&self, rows: impl Iterator<Item = usize>) -> impl Iterator<Item = &[Value]> {
        let counts = |row: &usize| self.filter.is_none_or(|filter| filter[*row]);
        rows.filter(counts).map(|row| self.partition.arguments[row].as_slice())
    }

    fn add(&self, accumulation: &mut Accumulation, rows: impl Iterator<Item = usize>) -> Result<(), SqlError> {
        self.arguments(rows).try_for_each(|arguments| accumulation.add(arguments, self.call))
    }

    /// The last frame's accumulation for this frame; `None` if the aggregate begins anew.
    fn moved(&self, last: Seen, frame: &Frame) -> Result<Option<Accumulation>, SqlError> {
        let Seen { mut accumulation, frame: last, .. } = last;
        let Some((lost, added)) = movement(&last, frame) else { return Ok(None) };
        for arguments in self.arguments(lost) {
            if !accumulation.remove(arguments, self.call)? {
                return Ok(None);
            }
        }
        self.add(&mut accumulation, added)?;
        Ok(Some(accumulation))
    }
}

/// Which rows a frame has lost and which it has more than another, if both have one run and share a row.
fn movement(last: &Frame, frame: &Frame) -> Option<(Range<usize>, Range<usize>)> {
    let (last, frame) = (last.run()?, frame.run()?);
    let moves_on = last.start <= frame.start && frame.start < last.end && last.end <= frame.end;
    moves_on.then_some((last.start..frame.start, last.end..frame.end))
}
