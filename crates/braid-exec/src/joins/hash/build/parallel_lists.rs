//! Lists of rows by group, built by a counting sort in each partition of groups.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ExecError;
use crate::joins::hash::build::atomic_cells::{plain_u32, zeroed_u32};
use crate::joins::hash::build::directory_builder::{DirectoryBuilder, Groups, vectors};
use crate::joins::hash::build::row_partitions::{Numbering, RowPartitions, partitioned, release};
use crate::joins::hash::build_tasks::{BuildTasks, Pace};
use crate::joins::hash::directory::row_lists::RowLists;
use crate::values::vector::NO_ROW;

/// Lists of rows during the sort.
pub(crate) struct ListCells {
    offsets: Vec<AtomicU32>,
    rows: Vec<AtomicU32>,
}

/// The group of each row: zero if the row is the first of its key, [`NO_ROW`] if it has no group, and otherwise one more than
/// the number of the first row of its key.
pub(crate) struct RowGroups {
    pub(crate) cells: Vec<AtomicU32>,
    /// Whether any key repeats.
    pub(crate) repeat: bool,
}

/// Partitions by groups.
struct GroupRanges {
    groups: Vec<AtomicU32>,
    shift: u32,
    partition_count: usize,
}

impl DirectoryBuilder<'_> {
    /// Lists of rows by group, if keys repeat and the join needs rows.
    pub(crate) async fn parallel_lists(&mut self, groups: RowGroups) -> Result<Option<RowLists>, ExecError> {
        let RowGroups { cells, repeat } = groups;
        if !repeat || self.spec.needs_keys_only() {
            drop(cells);
            self.tasks.memory.shrink(self.row_count * 4);
            return Ok(None);
        }
        let wanted = self.tasks.partition_count(self.row_count);
        let shift = self.row_count.div_ceil(wanted).next_power_of_two().trailing_zeros();
        let partition_count = self.row_count.div_ceil(1 << shift);
        let numbering = Arc::new(GroupRanges { groups: cells, shift, partition_count });
        self.tasks.memory.grow(RowLists::bytes(self.row_count, self.row_count))?;
        let partitions = partitioned(&numbering, self.row_count, partition_count, self.tasks).await?;
        let cells = Arc::into_inner(numbering).expect("tasks have ended").groups;
        let Some(partitions) = partitions else {
            self.tasks.memory.shrink(RowLists::bytes(self.row_count, self.row_count));
            let groups = (0..).zip(cells).map(|(row, cell)| group_of(row, cell.into_inner())).collect();
            return self.lists(Groups { groups, unique: false }).await;
        };
        drop(cells);
        self.tasks.memory.shrink(self.row_count * 4);
        sorted_lists(partitions, shift, self.row_count, self.row_count, self.tasks).await.map(Some)
    }
}

/// Lists of rows whose numbers are their groups, by partitions of 2^`shift` groups.
pub(crate) async fn sorted_lists(
    partitions: RowPartitions,
    shift: u32,
    group_count: usize,
    row_count: usize,
    tasks: &mut BuildTasks,
) -> Result<RowLists, ExecError> {
    let places = first_places(&partitions);
    let sorted_count = partitions.row_counts().iter().sum();
    let lists = Arc::new((partitions, ListCells::new(group_count, sorted_count)));
    let groups = |at: usize| at << shift..((at + 1) << shift).min(group_count);
    let pieces = places.into_iter().enumerate().map(|(at, place)| (at, groups(at), place)).collect();
    let sorted = tasks.each(&lists, pieces, |(partitions, lists), (at, groups, first_place), pace| {
        Box::pin(async move {
            let first_group = groups.start as u64;
            lists.sort(partitions, at, groups, first_place, |group| (group - first_group) as usize, pace).await
        })
    });
    sorted.await?;
    let (partitions, lists) = Arc::into_inner(lists).expect("tasks have ended");
    release(partitions, row_count, tasks);
    Ok(lists.into_lists())
}

/// For each partition, the number of rows in the partitions before it.
pub(crate) fn first_places(partitions: &RowPartitions) -> Vec<u32> {
    let before = |sum: &mut u32, count: &usize| Some(std::mem::replace(sum, *sum + *count as u32));
    partitions.row_counts().iter().scan(0, before).collect()
}

impl ListCells {
    /// Empty lists for `group_count` groups and `row_count` rows.
    pub(crate) fn new(group_count: usize, row_count: usize) -> Self {
        let lists = Self { offsets: zeroed_u32(group_count + 2), rows: zeroed_u32(row_count) };
        let ends = &lists.offsets[group_count..];
        ends.iter().for_each(|end| end.store(row_count as u32, Ordering::Relaxed));
        lists
    }

    /// Sorts a partition's rows. `place_of` maps a number to the position of its group in the partition. The partition's rows
    /// start at `first_place`.
    pub(crate) async fn sort(
        &self,
        partitions: &RowPartitions,
        at: usize,
        groups: Range<usize>,
        first_place: u32,
        place_of: impl Fn(u64) -> usize,
        pace: &mut Pace,
    ) -> Result<(), ExecError> {
        let offsets = &self.offsets[groups];
        for run in partitions.runs(at) {
            for number in run.numbers {
                let count = &offsets[place_of(*number)];
                count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
            pace.step(run.numbers.len()).await?;
        }
        // These are the ends of groups. Placing rows from the last to the first turns them into the starts.
        let mut end = first_place;
        for range in vectors(offsets.len()) {
            for offset in &offsets[range.clone()] {
                end += offset.load(Ordering::Relaxed);
                offset.store(end, Ordering::Relaxed);
            }
            pace.step(range.len()).await?;
        }
        for run in partitions.runs(at).rev() {
            for (number, row) in run.iter().rev() {
                let offset = &offsets[place_of(number)];
                let place = offset.load(Ordering::Relaxed) - 1;
                offset.store(place, Ordering::Relaxed);
                self.rows[place as usize].store(row, Ordering::Relaxed);
            }
            pace.step(run.numbers.len()).await?;
        }
        Ok(())
    }

    /// The lists, after all partitions are sorted.
    pub(crate) fn into_lists(self) -> RowLists {
        RowLists::of_sorted(plain_u32(self.offsets), plain_u32(self.rows))
    }
}

impl Numbering for GroupRanges {
    fn fill(&self, rows: Range<usize>, numbers: &mut Vec<u64>, partitions: &mut Vec<u16>) {
        for row in rows {
            let group = group_of(row as u32, self.groups[row].load(Ordering::Relaxed));
            numbers.push(group.into());
            partitions.push(if group == NO_ROW { self.partition_count } else { group as usize >> self.shift } as u16);
        }
    }
}

/// Sets the group of a row. True if the group's first row is another one.
#[inline]
pub(crate) fn set_group(cells: &[AtomicU32], row: u32, group: u32) -> bool {
    let is_repeated = group != row;
    if is_repeated {
        cells[row as usize].store(group + 1, Ordering::Relaxed);
    }
    is_repeated
}

/// The group that a row's cell represents.
#[inline]
fn group_of(row: u32, cell: u32) -> u32 {
    match cell {
        0 => row,
        NO_ROW => NO_ROW,
        group => group - 1,
    }
}
