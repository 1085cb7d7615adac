//! Rows partitioned by the hash of their keys. Some partitions are in memory, the others in a file.
//!
//! All workers add their rows to the same partitions. When the partitions exceed the operator's share, the largest one spills,
//! and its later rows follow one block at a time (hybrid hash joins with dynamic destaging:
//! DeWitt et al., SIGMOD 1984; Nakayama, Kitsuregawa, Takagi, VLDB 1988).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{BlockPlace, OperatorMemory, PARTITIONS, QuerySpill, SpillFile, WorkerMemory, partition_of};
use crate::keys::key_hashes::KeyHasher;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::result_rows::ResultRows;
use crate::{Batch, ExecError, Reservation, Vector};

/// Rows divided into partitions.
pub(crate) struct PartitionedRows {
    spill: Arc<QuerySpill>,
    file: Arc<SpillFile>,
    memory: Arc<OperatorMemory>,
    /// The memory that all partitions hold.
    held: Mutex<WorkerMemory>,
    operator: &'static str,
    column_count: usize,
    /// Bytes per row in memory, in addition to its columns.
    row_bytes: usize,
    block_bytes: usize,
    partitions: Vec<Mutex<Partition>>,
    /// The reservation for the rows in memory.
    bytes: AtomicUsize,
}

/// One partition: the rows in the file, followed by the rows in memory.
struct Partition {
    blocks: Vec<BlockPlace>,
    here: CollectedRows,
    row_count: usize,
    /// Whether all rows are in memory.
    is_resident: bool,
}

/// The complete rows of a spilled partition.
pub(crate) struct SpilledRows {
    pub(crate) file: Arc<SpillFile>,
    pub(crate) blocks: Vec<BlockPlace>,
    pub(crate) here: Arc<ResultRows>,
    pub(crate) row_count: usize,
}

/// The partitions after all rows are added.
pub(crate) struct Divided {
    /// The rows of the partitions in memory.
    pub(crate) resident: Vec<CollectedRows>,
    /// The spilled partitions, by number.
    pub(crate) spilled: Vec<Option<SpilledRows>>,
}

/// One worker's assignment of rows to partitions.
#[derive(Clone, Debug)]
pub(crate) struct Divider {
    keys: Arc<[usize]>,
    level: u32,
    hasher: KeyHasher,
    hashes: Vec<u64>,
    rows: Vec<Vec<u32>>,
}

impl Divider {
    /// A divider by these columns, and by the bits of their hash at `level`.
    pub(crate) fn new(keys: Arc<[usize]>, level: u32) -> Self {
        Self { keys, level, hasher: KeyHasher::default(), hashes: Vec::new(), rows: vec![Vec::new(); PARTITIONS] }
    }

    /// Divides a batch.
    pub(crate) fn divide(&mut self, batch: &mut Batch) {
        let keys: Vec<_> = self.keys.iter().map(|key| batch.column(*key)).collect();
        self.hasher.fill(&keys, 0..batch.row_count(), &mut self.hashes);
        self.rows.iter_mut().for_each(Vec::clear);
        for (row, hash) in (0..).zip(&self.hashes) {
            self.rows[partition_of(*hash, self.level)].push(row);
        }
    }

    /// The hashes of the last batch's keys.
    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The rows of each partition of the last batch.
    pub(crate) fn rows(&self) -> &[Vec<u32>] {
        &self.rows
    }

    /// The rows of each partition of the last batch, for changes.
    pub(crate) fn rows_mut(&mut self) -> &mut [Vec<u32>] {
        &mut self.rows
    }
}

impl PartitionedRows {
    /// Empty partitions of `column_count` columns, all in memory if the share allows it.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(crate) fn new(
        spill: Arc<QuerySpill>,
        memory: Arc<OperatorMemory>,
        operator: &'static str,
        column_count: usize,
        row_bytes: Option<usize>,
    ) -> Result<Self, ExecError> {
        let file = spill.create_file()?;
        let (held, is_resident) = (Mutex::new(memory.of_worker()), row_bytes.is_some());
        // One block of each partition is always allowed.
        let block_bytes = spill.settings().block_bytes.min(memory.share() / (2 * PARTITIONS));
        let here = || CollectedRows::new(column_count, Reservation::new(spill.budget().clone(), operator));
        let partition = |_| Mutex::new(Partition { blocks: Vec::new(), here: here(), row_count: 0, is_resident });
        let partitions = (0..PARTITIONS).map(partition).collect();
        let (row_bytes, bytes) = (row_bytes.unwrap_or(0), AtomicUsize::new(0));
        Ok(Self { spill, file, memory, held, operator, column_count, row_bytes, block_bytes, partitions, bytes })
    }

    /// Adds rows of these columns: to each partition its entry of `rows`.
    ///
    /// # Errors
    /// When the rows can neither be kept in memory nor written.
    pub(crate) fn add(&self, columns: &[Arc<Vector>], rows: &[Vec<u32>]) -> Result<(), ExecError> {
        for (partition, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            match self.put(partition, columns, rows) {
                Err(ExecError::Memory(_)) => self.make_room(partition)?,
                put => put?,
            }
        }
        self.held.lock().set_held(self.bytes());
        while self.memory.is_over() && self.spill_largest()? {}
        Ok(())
    }

    /// Reserves memory for rows that are already in memory, after a refusal, by spilling partitions.
    fn make_room(&self, at: usize) -> Result<(), ExecError> {
        loop {
            self.spill.wait_for_writes()?;
            let held = self.partitions[at].lock().here.reserve();
            match held {
                Err(ExecError::Memory(_)) if self.memory.is_worth_writing(self.bytes()) && self.spill_largest()? => {}
                held => return held,
            }
        }
    }

    fn put(&self, at: usize, columns: &[Arc<Vector>], rows: &[u32]) -> Result<(), ExecError> {
        let mut partition = self.partitions[at].lock();
        let before = self.bytes_of(&partition);
        partition.row_count += rows.len();
        let consumed = partition.here.consume_rows(columns, rows);
        let bytes = self.bytes_of(&partition);
        self.bytes.fetch_add(bytes - before, Ordering::Relaxed);
        consumed?;
        if partition.is_resident || bytes < self.block_bytes {
            return Ok(());
        }
        let rows = self.take_here(&mut partition);
        drop(partition);
        self.write(at, rows)
    }

    /// Bytes of all rows in memory.
    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn bytes_of(&self, partition: &Partition) -> usize {
        partition.here.bytes() + partition.here.row_count() * self.row_bytes
    }

    /// Spills the largest partition that is completely in memory. If all partitions have spilled rows, spills the rows that
    /// remain in memory. False if no rows are in memory.
    fn spill_largest(&self) -> Result<bool, ExecError> {
        let sizes = self.partitions.iter().enumerate().map(|(at, partition)| {
            let partition = partition.lock();
            (partition.is_resident, self.bytes_of(&partition), at)
        });
        let Some((is_resident, _, at)) = sizes.max().filter(|(_, bytes, _)| *bytes > 0) else { return Ok(false) };
        for at in if is_resident { at..at + 1 } else { 0..PARTITIONS } {
            let mut partition = self.partitions[at].lock();
            partition.is_resident = false;
            let rows = self.take_here(&mut partition);
            drop(partition);
            self.write(at, rows)?;
        }
        self.held.lock().set_held(self.bytes());
        Ok(true)
    }

    /// Writes rows of a partition. No lock is held, because the call may wait for writes, which need threads.
    fn write(&self, at: usize, rows: CollectedRows) -> Result<(), ExecError> {
        let rows = rows.into_result();
        if rows.row_count() > 0 {
            let blocks = self.spill.write_in_blocks(&self.file, rows.row_count(), rows.columns())?;
            self.partitions[at].lock().blocks.extend(blocks);
        }
        Ok(())
    }

    /// The partitions, after all rows are added.
    pub(crate) fn divided(&self) -> Divided {
        let mut divided = Divided { resident: Vec::new(), spilled: Vec::new() };
        for at in 0..PARTITIONS {
            let mut partition = self.partitions[at].lock();
            let is_resident = partition.is_resident;
            if is_resident {
                divided.resident.push(self.take_here(&mut partition));
            }
            drop(partition);
            divided.spilled.push((!is_resident).then(|| self.spilled(at)));
        }
        divided
    }

    /// The rows of a spilled partition, after all rows are added.
    pub(crate) fn spilled(&self, at: usize) -> SpilledRows {
        let mut partition = self.partitions[at].lock();
        let here = Arc::new(self.take_here(&mut partition).into_result());
        let blocks = std::mem::take(&mut partition.blocks);
        SpilledRows { file: self.file.clone(), blocks, here, row_count: partition.row_count }
    }

    fn take_here(&self, partition: &mut Partition) -> CollectedRows {
        self.bytes.fetch_sub(self.bytes_of(partition), Ordering::Relaxed);
        let empty = CollectedRows::new(self.column_count, Reservation::new(self.spill.budget().clone(), self.operator));
        std::mem::replace(&mut partition.here, empty)
    }
}

impl SpilledRows {
    /// The rows in parts that take at most `bytes_max` bytes of memory each, or have one block.
    pub(crate) fn in_parts(&self, bytes_max: usize) -> Vec<Self> {
        let nothing = Arc::new(ResultRows::new(0, Vec::new()));
        let part = |blocks: &[BlockPlace], here: Arc<ResultRows>| {
            let row_count = blocks.iter().map(|block| block.row_count).sum::<usize>() + here.row_count();
            Self { file: self.file.clone(), blocks: blocks.to_vec(), here, row_count }
        };
        let mut parts = Vec::new();
        let (mut begin, mut bytes) = (0, 0);
        for (at, block) in self.blocks.iter().enumerate() {
            if begin < at && bytes + block.memory_bytes > bytes_max {
                parts.push(part(&self.blocks[begin..at], nothing.clone()));
                (begin, bytes) = (at, 0);
            }
            bytes += block.memory_bytes;
        }
        parts.push(part(&self.blocks[begin..], self.here.clone()));
        parts
    }
}
