//! Spilled groups, in a file.
//!
//! A worker that exceeds its memory writes all its groups with their states, partitioned by the hashes of their keys, and
//! starts with an empty table. At the end each partition is merged separately. A partition that exceeds the memory is
//! written again, partitioned by the next bits of the hash.
//!
//! The written states are accumulated already, so that a frequent key costs one row each time a worker spills. Pairs of group
//! and distinct value are separate blocks, with the group's key in place of its number. If all rows are one group, its
//! distinct values are partitioned by their own hashes. In a shared pass the query set is one more key column, which is
//! excluded from the hash, because all sets of a key are refined together.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::partition_order::PartitionOrder;
use super::worker_groups::{Accumulated, WorkerGroups};
use crate::ExecError;
use crate::aggregation::MERGED_ROWS;
use crate::runtime::result_rows::ResultRows;
use crate::spill::{BlockAhead, BlockPlace, LEVELS_MAX, PARTITIONS, QuerySpill, SpillFile, partition_of};
use crate::values::vector::Vector;

/// Groups in a file, by partitions.
pub(crate) struct SpilledGroups {
    spill: Arc<QuerySpill>,
    file: OnceLock<Arc<SpillFile>>,
    /// The level, which selects the bits of the hash.
    level: u32,
    partitions: Vec<Mutex<Vec<Block>>>,
}

/// Rows of one partition.
#[derive(Clone, Copy, Debug)]
struct Block {
    place: BlockPlace,
    content: Content,
}

/// The contents of the columns after the keys.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// The states of each input.
    Groups,
    /// The distinct values of an input.
    DistinctValues { input: usize },
}

/// A worker's groups while they are being written.
pub(crate) struct SpillingGroups {
    rest: Vec<WorkerGroups>,
    now: Option<OrderedGroups>,
}

/// The groups of one generation, some of whose partitions are written.
struct OrderedGroups {
    groups: WorkerGroups,
    order: PartitionOrder,
    next: usize,
}

impl SpilledGroups {
    /// No groups.
    pub(crate) fn new(spill: Arc<QuerySpill>) -> Self {
        Self::at_level(spill, 0)
    }

    fn at_level(spill: Arc<QuerySpill>, level: u32) -> Self {
        Self { spill, file: OnceLock::new(), level, partitions: (0..PARTITIONS).map(|_| Mutex::default()).collect() }
    }

    /// The groups of a partition that is too large, at the next level. `None` if the hash has no more bits.
    pub(crate) fn divided(&self) -> Option<Self> {
        (self.level + 1 < LEVELS_MAX).then(|| Self::at_level(self.spill.clone(), self.level + 1))
    }

    /// Whether anything was written.
    pub(crate) fn has_groups(&self) -> bool {
        self.file.get().is_some()
    }

    /// Waits, from synchronous code, until everything is written and its memory released.
    ///
    /// # Errors
    /// When a write failed.
    pub(crate) fn wait_for_writes(&self) -> Result<(), ExecError> {
        self.spill.wait_for_writes()
    }

    /// The partitions that have groups.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = usize> + '_ {
        (0..PARTITIONS).filter(|partition| !self.partitions[*partition].lock().is_empty())
    }

    /// Puts groups in the order in which they are written.
    fn ordered(&self, groups: WorkerGroups) -> OrderedGroups {
        let level = self.level;
        let order = PartitionOrder::by(&groups.to_order(), PARTITIONS, |hash| partition_of(hash, level));
        OrderedGroups { groups, order, next: 0 }
    }

    fn file(&self) -> Result<&Arc<SpillFile>, ExecError> {
        if self.file.get().is_none() {
            // Another worker may have created the file meanwhile.
            drop(self.file.set(self.spill.create_file()?));
        }
        Ok(self.file.get().expect("there is one by now"))
    }

    fn write(&self, partition: usize, content: Content, row_count: usize, columns: &[Vector]) -> Result<(), ExecError> {
        let bytes: usize = columns.iter().map(Vector::bytes).sum();
        let row_bytes = bytes.div_ceil(row_count).max(1);
        let block_rows = (self.spill.settings().block_bytes / row_bytes).max(1).next_multiple_of(MERGED_ROWS);
        let rows: Vec<u32> = (0..row_count as u32).collect();
        for rows in rows.chunks(block_rows) {
            let part: Vec<Vector> = columns.iter().map(|column| column.take(rows)).collect();
            let place = self.spill.write(self.file()?, rows.len(), part.iter())?;
            self.partitions[partition].lock().push(Block { place, content });
        }
        Ok(())
    }

    /// Starts reading a block of a partition; `None` after the last one.
    ///
    /// # Errors
    /// When there is no file.
    pub(crate) fn begin_to_read(&self, partition: usize, at: usize) -> Result<Option<GroupsAhead>, ExecError> {
        let Some(Block { place, content }) = self.partitions[partition].lock().get(at).copied() else {
            return Ok(None);
        };
        let block = BlockAhead::begin(&self.spill, self.file()?, place, crate::aggregation::OPERATOR);
        Ok(Some(GroupsAhead { content, block }))
    }
}

/// Groups that are being read.
pub(crate) struct GroupsAhead {
    content: Content,
    block: BlockAhead,
}

impl GroupsAhead {
    /// The groups.
    ///
    /// # Errors
    /// When the read fails.
    pub(crate) async fn groups(self) -> Result<ReadGroups, ExecError> {
        Ok(ReadGroups { content: self.content, rows: self.block.rows().await? })
    }
}

/// Groups read from the file.
pub(crate) struct ReadGroups {
    content: Content,
    rows: ResultRows,
}

impl SpillingGroups {
    /// The groups of all generations.
    pub(crate) fn new(groups: Vec<WorkerGroups>) -> Self {
        Self { rest: groups, now: None }
    }

    /// Writes the next partition of a generation; false after the last one.
    ///
    /// # Errors
    /// When the write fails.
    pub(crate) fn write_next(&mut self, spilled: &SpilledGroups) -> Result<bool, ExecError> {
        if let Some(now) = &mut self.now
            && now.write_next(spilled)?
        {
            return Ok(true);
        }
        // Frees its memory before the next generation is ordered.
        self.now = None;
        self.now = self.rest.pop().map(|groups| spilled.ordered(groups));
        Ok(self.now.is_some())
    }
}

impl OrderedGroups {
    /// Writes the next partition; false after the last one.
    fn write_next(&mut self, spilled: &SpilledGroups) -> Result<bool, ExecError> {
        let partition = self.next;
        if partition == PARTITIONS {
            return Ok(false);
        }
        self.next += 1;
        let rows = self.order.groups.of_partition(partition);
        if !rows.is_empty() {
            let mut columns = self.keys(rows);
            for input in &self.groups.inputs {
                match input {
                    Accumulated::States(states) => columns.extend(states.columns(rows)),
                    Accumulated::Foreign(states) => columns.push(states.parts(rows)?),
                    Accumulated::Distinct(_) => {}
                }
            }
            spilled.write(partition, Content::Groups, rows.len(), &columns)?;
        }
        for (input, pairs) in self.order.pairs.iter().enumerate() {
            let Some(pairs) = pairs.as_ref().map(|pairs| pairs.of_partition(partition)) else { continue };
            let Accumulated::Distinct(values) = &self.groups.inputs[input] else {
                unreachable!("only these have pairs")
            };
            if !pairs.is_empty() {
                let groups: Vec<u32> = values.groups_at(pairs).collect();
                let mut columns = self.keys(&groups);
                columns.push(values.values().take(pairs));
                spilled.write(partition, Content::DistinctValues { input }, pairs.len(), &columns)?;
            }
        }
        Ok(true)
    }

    fn keys(&self, groups: &[u32]) -> Vec<Vector> {
        self.groups.table.keys().iter().map(|key| key.take(groups)).collect()
    }
}

impl WorkerGroups {
    /// Adds groups read from the file.
    ///
    /// # Errors
    /// When a sum goes out of range, or the group numbers are used up.
    pub(crate) fn merge_read(&mut self, read: &ReadGroups) -> Result<(), ExecError> {
        let rows: Vec<u32> = (0..read.rows.row_count() as u32).collect();
        let mut groups = Vec::new();
        for rows in rows.chunks(MERGED_ROWS) {
            let columns: Vec<Vector> = read.rows.columns().iter().map(|column| column.take(rows)).collect();
            let (keys, values) = columns.split_at(self.table.keys().len());
            let keys: Vec<Arc<Vector>> = keys.iter().cloned().map(Arc::new).collect();
            self.table.find(&keys, rows.len(), &mut groups)?;
            self.merge_values(read.content, values, &groups)?;
        }
        Ok(())
    }

    fn merge_values(&mut self, content: Content, mut values: &[Vector], groups: &[u32]) -> Result<(), ExecError> {
        let group_count = self.table.group_count();
        for (at, input) in self.inputs.iter_mut().enumerate() {
            match (input, content) {
                (Accumulated::States(states), Content::Groups) => {
                    let of_input;
                    (of_input, values) = values.split_at(states.column_count());
                    states.merge_columns(of_input, groups, group_count)?;
                }
                (Accumulated::Foreign(states), Content::Groups) => {
                    let parts;
                    (parts, values) = values.split_first().expect("each foreign call has a column");
                    states.merge_parts(parts, groups, group_count)?;
                }
                (Accumulated::Distinct(distinct), Content::DistinctValues { input }) if input == at => {
                    distinct.add(groups, &Arc::new(values[0].clone()))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
