//! Partitions of rows by ranges of a number: an address, a hash or a group.
//!
//! The rows of one range write to one range of memory, which the rows of other ranges never access. Tasks therefore build a
//! directory in parallel without synchronisation, each within its cache (radix partitioning: Manegold, Boncz, Kersten,
//! 2002).
//!
//! Rows are sorted only within their piece. A partition's rows are one run of each piece, in the order of rows. The sort
//! therefore also stays in the cache, and needs no counting pass over all rows.

use std::ops::Range;
use std::sync::Arc;

use crate::ExecError;
use crate::joins::hash::build_tasks::BuildTasks;

/// Rows sorted by partition.
pub(crate) struct RowPartitions {
    pieces: Vec<SortedPiece>,
    row_counts: Vec<usize>,
}

/// Rows of a piece, by partition.
struct SortedPiece {
    first_row: u32,
    numbers: Vec<u64>,
    /// Rows from `first_row`: a piece has at most 2^16.
    places: Vec<u16>,
    /// The starts of the partitions, and the end of the last one.
    bounds: Vec<u32>,
}

/// Rows of one piece and one partition, with their numbers.
pub(crate) struct Run<'a> {
    pub(crate) numbers: &'a [u64],
    first_row: u32,
    places: &'a [u16],
}

/// The numbers of rows, and the partitions of numbers.
pub(crate) trait Numbering: Send + Sync + 'static {
    /// Replaces `numbers` by the numbers of the rows, and `partitions` by their partitions. A row outside all partitions has
    /// the number of partitions.
    fn fill(&self, rows: Range<usize>, numbers: &mut Vec<u64>, partitions: &mut Vec<u16>);
}

/// Partitions of the rows; `None` if their memory is refused.
pub(crate) async fn partitioned<N: Numbering>(
    numbering: &Arc<N>,
    row_count: usize,
    partition_count: usize,
    tasks: &mut BuildTasks,
) -> Result<Option<RowPartitions>, ExecError> {
    let bytes = RowPartitions::bytes(row_count, partition_count, tasks);
    if tasks.memory.grow(bytes).is_err() {
        return Ok(None);
    }
    RowPartitions::of(numbering, row_count, partition_count, tasks).await.map(Some)
}

/// Drops the partitions of `row_count` rows, and releases their memory.
pub(crate) fn release(partitions: RowPartitions, row_count: usize, tasks: &BuildTasks) {
    let bytes = RowPartitions::bytes(row_count, partitions.row_counts().len(), tasks);
    drop(partitions);
    tasks.memory.shrink(bytes);
}

impl RowPartitions {
    /// Bytes that `row_count` rows in `partition_count` partitions take.
    pub(crate) fn bytes(row_count: usize, partition_count: usize, tasks: &BuildTasks) -> usize {
        let piece_count = row_count.div_ceil(tasks.piece_rows(row_count));
        row_count * (size_of::<u64>() + size_of::<u16>()) + piece_count * (partition_count + 2) * size_of::<u32>()
    }

    /// Sorts rows.
    pub(crate) async fn of<N: Numbering>(
        numbering: &Arc<N>,
        row_count: usize,
        partition_count: usize,
        tasks: &mut BuildTasks,
    ) -> Result<Self, ExecError> {
        let piece_rows = tasks.piece_rows(row_count);
        let starts = (0..row_count).step_by(piece_rows);
        let pieces = starts.map(|start| (start..row_count.min(start + piece_rows), partition_count)).collect();
        let sorted = tasks.each(numbering, pieces, |numbering, (rows, partition_count), pace| {
            Box::pin(async move {
                let row_count = rows.len();
                let sorted = SortedPiece::of(numbering, rows, partition_count);
                pace.step(row_count).await?;
                Ok(sorted)
            })
        });
        let pieces = sorted.await?;
        let mut row_counts = vec![0; partition_count];
        for piece in &pieces {
            row_counts.iter_mut().enumerate().for_each(|(at, count)| *count += piece.range(at).len());
            tasks.pace().step(partition_count).await?;
        }
        Ok(Self { pieces, row_counts })
    }

    /// Rows of each partition.
    pub(crate) fn row_counts(&self) -> &[usize] {
        &self.row_counts
    }

    /// The rows of a partition, in order.
    pub(crate) fn runs(&self, partition: usize) -> impl DoubleEndedIterator<Item = Run<'_>> {
        self.pieces.iter().map(move |piece| {
            let range = piece.range(partition);
            Run { numbers: &piece.numbers[range.clone()], first_row: piece.first_row, places: &piece.places[range] }
        })
    }
}

impl SortedPiece {
    fn of(numbering: &impl Numbering, rows: Range<usize>, partition_count: usize) -> Self {
        let (mut unsorted, mut partitions) = (Vec::new(), Vec::new());
        numbering.fill(rows.clone(), &mut unsorted, &mut partitions);
        // Counts are stored two positions later, as in row lists.
        let mut bounds = vec![0u32; partition_count + 3];
        partitions.iter().for_each(|partition| bounds[usize::from(*partition) + 2] += 1);
        (1..bounds.len()).for_each(|at| bounds[at] += bounds[at - 1]);
        let (mut numbers, mut places) = (vec![0; rows.len()], vec![0; rows.len()]);
        for (place, (number, partition)) in unsorted.iter().zip(&partitions).enumerate() {
            let to = &mut bounds[usize::from(*partition) + 1];
            numbers[*to as usize] = *number;
            places[*to as usize] = place as u16;
            *to += 1;
        }
        Self { first_row: rows.start as u32, numbers, places, bounds }
    }

    fn range(&self, partition: usize) -> Range<usize> {
        self.bounds[partition] as usize..self.bounds[partition + 1] as usize
    }
}

impl Run<'_> {
    /// Numbers and rows.
    #[inline]
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u32)> + ExactSizeIterator {
        let rows = self.places.iter().map(|place| self.first_row + u32::from(*place));
        self.numbers.iter().copied().zip(rows)
    }

    /// The row at a position of the run.
    #[inline]
    pub(crate) fn row(&self, at: usize) -> u32 {
        self.first_row + u32::from(self.places[at])
    }
}
