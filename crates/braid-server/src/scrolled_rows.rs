//! The rows of a SCROLL cursor: kept as they come, so that the cursor goes to any of them again.
//!
//! A cursor stands before its first row, on a row, or behind its last. Rows are numbered from 1. They are read no further than a motion
//! needs. The rows of all cursors of the process have one bound; a cursor that would exceed it fails.

use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::record_batch::RecordBatch;
use braid_engine::RowBatches;
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::error_report::{ErrorReport, Failure};
use crate::running::Running;
use crate::value::row_encoder::RowEncoder;
use crate::wire::OUTPUT_FULL;

/// Bytes of the rows that all cursors keep.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// Bytes that are kept now.
static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Where a cursor is to go, and which rows it returns on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    /// The next rows, at most so many, at least one.
    Forward(u64),
    /// The rows before, the nearest first, at most so many, at least one.
    Backward(u64),
    /// The row of this number, from the end if it is negative; before the first for 0.
    Absolute(i64),
    /// The row so far away.
    Relative(i64),
}

/// What a motion returns, and where the cursor stands after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passage {
    /// The first row returned and the last one, in this order; `None` for no row.
    rows: Option<(u64, u64)>,
    position: u64,
}

/// The kept rows of a cursor.
pub(crate) struct ScrolledRows {
    encoder: RowEncoder,
    source: RowBatches,
    is_complete: bool,
    batches: Vec<RecordBatch>,
    /// The number of the first row of each batch.
    first_rows: Vec<u64>,
    row_count: u64,
    kept_bytes: usize,
    /// 0 before the first row, one more than there are rows behind the last.
    position: u64,
    /// The token that stops the query.
    pub token: CancellationToken,
}

impl Motion {
    /// The last row that must be there to know where the motion ends.
    fn needed_row(self, position: u64) -> u64 {
        match self {
            Self::Forward(count) => position.saturating_add(count),
            Self::Absolute(row) if row < 0 => u64::MAX,
            Self::Absolute(row) => row.unsigned_abs(),
            Self::Relative(distance) if distance > 0 => position.saturating_add(distance.unsigned_abs()),
            Self::Backward(_) | Self::Relative(_) => 0,
        }
    }

    /// What it does from a position, given all rows that it needs.
    fn passage(self, position: u64, row_count: u64) -> Passage {
        match self {
            Self::Forward(count) => {
                let (first, last) = (position + 1, position.saturating_add(count));
                let rows = (first <= row_count).then(|| (first, last.min(row_count)));
                Passage { rows, position: last.min(row_count + 1) }
            }
            Self::Backward(count) => {
                let last = position.saturating_sub(count);
                let rows = (position > 1).then(|| (position - 1, last.max(1)));
                Passage { rows, position: last }
            }
            Self::Absolute(row) if row < 0 => to_row((row_count + 1).saturating_sub(row.unsigned_abs()), row_count),
            Self::Absolute(row) => to_row(row.unsigned_abs(), row_count),
            Self::Relative(distance) if distance < 0 => {
                to_row(position.saturating_sub(distance.unsigned_abs()), row_count)
            }
            Self::Relative(distance) => to_row(position.saturating_add(distance.unsigned_abs()), row_count),
        }
    }
}

/// The passage to a row, or before the first one, or behind the last one.
fn to_row(row: u64, row_count: u64) -> Passage {
    let rows = (1..=row_count).contains(&row).then_some((row, row));
    Passage { rows, position: row.min(row_count + 1) }
}

impl ScrolledRows {
    /// A cursor before the first of these rows.
    pub fn new(encoder: RowEncoder, source: RowBatches, token: CancellationToken) -> Self {
        let (batches, first_rows) = (Vec::new(), Vec::new());
        let (is_complete, row_count, kept_bytes, position) = (false, 0, 0, 0);
        Self { encoder, source, is_complete, batches, first_rows, row_count, kept_bytes, position, token }
    }

    /// How the rows are encoded.
    pub fn encoder(&self) -> &RowEncoder {
        &self.encoder
    }

    /// Encodes the rows from here on in other formats.
    pub fn set_encoder(&mut self, encoder: RowEncoder) {
        self.encoder = encoder;
    }

    /// Moves the cursor, and sends the rows that it returns if they are wanted. Returns their number.
    pub async fn go(&mut self, motion: Motion, is_wanted: bool, running: &mut Running<'_>) -> Result<usize, Failure> {
        self.load(motion.needed_row(self.position), running).await?;
        let Passage { rows, position } = motion.passage(self.position, self.row_count);
        self.position = position;
        let Some((first, last)) = rows else { return Ok(0) };
        if is_wanted {
            self.send(first, last, running).await?;
        }
        Ok(usize::try_from(first.abs_diff(last) + 1).unwrap_or(usize::MAX))
    }

    /// Reads rows until the one of this number is there, or there are no more.
    async fn load(&mut self, row: u64, running: &mut Running<'_>) -> Result<(), Failure> {
        while self.row_count < row && !self.is_complete {
            if self.token.is_cancelled() {
                return Err(ErrorReport::cancelled().into());
            }
            match running.wait_for_rows(self.source.next()).await? {
                Some(batch) => self.keep(batch?)?,
                None => self.is_complete = true,
            }
        }
        Ok(())
    }

    fn keep(&mut self, batch: RecordBatch) -> Result<(), ErrorReport> {
        let bytes = batch.get_array_memory_size();
        if KEPT_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes > KEPT_BYTES_MAX {
            KEPT_BYTES.fetch_sub(bytes, Ordering::Relaxed);
            let message = format!("the rows of SCROLL cursors need more than {} MB", KEPT_BYTES_MAX >> 20);
            return Err(ErrorReport::error("53200", message).with_hint("Declare the cursor without SCROLL."));
        }
        self.kept_bytes += bytes;
        if batch.num_rows() > 0 {
            self.first_rows.push(self.row_count + 1);
            self.row_count += batch.num_rows() as u64;
            self.batches.push(batch);
        }
        Ok(())
    }

    /// Sends rows from one number to another, upwards or downwards.
    async fn send(&mut self, first: u64, last: u64, running: &mut Running<'_>) -> Result<(), Failure> {
        let mut row = first;
        loop {
            let piece = if first <= last { self.rows_from(row, last) } else { self.rows_from(row, row) };
            let count = piece.num_rows() as u64;
            let mut cursor = self.encoder.start(&piece)?;
            while cursor.remaining() > 0 {
                let start = running.wire.output().len();
                cursor.append(running.wire.output(), usize::MAX, OUTPUT_FULL)?;
                running.translate_rows(start, &self.encoder)?;
                if running.wire.is_full() {
                    running.flush().await?;
                }
            }
            let reached = if first <= last { row + count - 1 } else { row };
            if reached == last {
                return Ok(());
            }
            row = if first <= last { reached + 1 } else { reached - 1 };
        }
    }

    /// The rows of one batch from a row on, up to `last` at most.
    fn rows_from(&self, row: u64, last: u64) -> RecordBatch {
        let at = self.first_rows.partition_point(|first| *first <= row) - 1;
        let (batch, offset) = (&self.batches[at], (row - self.first_rows[at]) as usize);
        batch.slice(offset, (batch.num_rows() - offset).min((last - row + 1) as usize))
    }
}

impl Drop for ScrolledRows {
    fn drop(&mut self) {
        KEPT_BYTES.fetch_sub(self.kept_bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_motion_ends_on_a_row_or_beside_all_rows() {
        use Motion::{Absolute, Backward, Forward, Relative};
        let (one, none) = (|row| Some((row, row)), None);
        for (motion, position, rows, end) in [
            (Forward(1), 0, one(1), 1),
            (Forward(2), 4, one(5), 6),
            (Forward(u64::MAX), 2, Some((3, 5)), 6),
            (Forward(1), 6, none, 6),
            (Backward(1), 0, none, 0),
            (Backward(1), 1, none, 0),
            (Backward(2), 6, Some((5, 4)), 4),
            (Backward(u64::MAX), 4, Some((3, 1)), 0),
            (Absolute(0), 3, none, 0),
            (Absolute(3), 6, one(3), 3),
            (Absolute(9), 1, none, 6),
            (Absolute(-2), 1, one(4), 4),
            (Absolute(-9), 1, none, 0),
            (Absolute(i64::MIN), 1, none, 0),
            (Relative(0), 3, one(3), 3),
            (Relative(0), 0, none, 0),
            (Relative(-2), 6, one(4), 4),
            (Relative(9), 4, none, 6),
        ] {
            assert_eq!(motion.passage(position, 5), Passage { rows, position: end }, "{motion:?} from {position}");
        }
    }
}
