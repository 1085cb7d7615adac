//! Rows by the hash of their keys: some partitions in memory, the others in a file.
//!
//! All workers put their rows into the same partitions. When these take more than the operator may have, the largest
//! leaves memory, and what comes for it later follows it a block at a time (hybrid hash joins with dynamic destaging:
//! DeWitt et al., SIGMOD 1984; Nakayama, Kitsuregawa, Takagi, VLDB 1988).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{BlockPlace, OperatorMemory, PARTITIONS, QuerySpill, SpillFile, WorkerMemory, partition_of};
use crate::keys::key_hashes::KeyHasher;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::result_rows::ResultRows;
use crate::{Batch, ExecError, Reservation, Vector};

/// Rows that are divided between partitions.
pub(crate) struct PartitionedRows {
    spill: Arc<QuerySpill>,
    file: Arc<SpillFile>,
    memory: Arc<OperatorMemory>,
    /// What all partitions hold of it.
    held: Mutex<WorkerMemory>,
    operator: &'static str,
    column_count: usize,
    /// Bytes that a row takes beside its columns when it stays in memory.
    row_bytes: usize,
    block_bytes: usize,
    partitions: Vec<Mutex<Partition>>,
    /// Of the rows that are in memory.
    bytes: AtomicUsize,
}

/// Rows of one partition: those in the file, and those in memory behind them.
struct Partition {
    blocks: Vec<BlockPlace>,
    here: CollectedRows,
    row_count: usize,
    /// Whether all of them stay here.
    is_resident: bool,
}

/// The rows of a partition of which some left memory, when all have come.
pub(crate) struct SpilledRows {
    pub(crate) file: Arc<SpillFile>,
    pub(crate) blocks: Vec<BlockPlace>,
    pub(crate) here: Arc<ResultRows>,
    pub(crate) row_count: usize,
}

/// What becomes of partitions when all rows have come.
pub(crate) struct Divided {
    /// Those that are in memory.
    pub(crate) resident: Vec<CollectedRows>,
    /// By partition the others.
    pub(crate) spilled: Vec<Option<SpilledRows>>,
}

/// Says to which partition each row of a batch belongs; one for each worker.
#[derive(Clone, Debug)]
pub(crate) struct Divider {
    keys: Arc<[usize]>,
    level: u32,
    hasher: KeyHasher,
    hashes: Vec<u64>,
    rows: Vec<Vec<u32>>,
}

impl Divider {
    /// By these columns, and the bits of their hash that belong to a level.
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

    /// The same for whoever changes them.
    pub(crate) fn rows_mut(&mut self) -> &mut [Vec<u32>] {
        &mut self.rows
    }
}

impl PartitionedRows {
    /// No rows yet, of so many columns. All partitions are in memory, if any may be.
    ///
    /// # Errors
    /// When there can be no file.
    pub(crate) fn new(
        spill: Arc<QuerySpill>,
        memory: Arc<OperatorMemory>,
        operator: &'static str,
        column_count: usize,
        row_bytes: Option<usize>,
    ) -> Result<Self, ExecError> {
        let file = spill.create_file()?;
        let (held, is_resident) = (Mutex::new(memory.of_worker()), row_bytes.is_some());
        // A block of each partition fits in any case.
        let block_bytes = spill.settings().block_bytes.min(memory.share() / (2 * PARTITIONS));
        let here = || CollectedRows::new(column_count, Reservation::new(spill.budget().clone(), operator));
        let partition = |_| Mutex::new(Partition { blocks: Vec::new(), here: here(), row_count: 0, is_resident });
        let partitions = (0..PARTITIONS).map(partition).collect();
        let (row_bytes, bytes) = (row_bytes.unwrap_or(0), AtomicUsize::new(0));
        Ok(Self { spill, file, memory, held, operator, column_count, row_bytes, block_bytes, partitions, bytes })
    }

    /// Adds rows of these columns, those at `rows` of each partition.
    ///
    /// # Errors
    /// When they can neither be kept nor written.
    pub(crate) fn add(&self, columns: &[Arc<Vector>], rows: &[Vec<u32>]) -> Result<(), ExecError> {
        for (partition, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            match self.put(partition, columns, rows) {
                Err(ExecError::Memory(_)) => self.make_room(partition)?,
                put => put?,
            }
        }
        self.held.lock().is_full(self.bytes());
        while self.memory.is_over() && self.spill_largest()? {}
        Ok(())
    }

    /// Holds memory for the rows of a partition, which are here although it was refused.
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

    /// Lets the largest partition that is in memory as a whole leave it; where there is none, all others' rows. False when
    /// nothing is left.
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
        self.held.lock().is_full(self.bytes());
        Ok(true)
    }

    /// Writes rows of a partition. Nothing is locked meanwhile: it may have to wait for writes, and those for threads.
    fn write(&self, at: usize, rows: CollectedRows) -> Result<(), ExecError> {
        let rows = rows.into_result();
        let row_bytes = rows.bytes().div_ceil(rows.row_count().max(1)).max(1);
        let block_rows = (self.spill.settings().block_bytes / row_bytes).max(1);
        let numbers: Vec<u32> = (0..rows.row_count() as u32).collect();
        for numbers in numbers.chunks(block_rows) {
            let block = if numbers.len() == rows.row_count() {
                self.spill.write(&self.file, numbers.len(), rows.columns().iter())?
            } else {
                let part: Vec<Vector> = rows.columns().iter().map(|column| column.take(numbers)).collect();
                self.spill.write(&self.file, numbers.len(), part.iter())?
            };
            self.partitions[at].lock().blocks.push(block);
        }
        Ok(())
    }

    /// All partitions, when there are no more rows.
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

    /// The rows of a partition that is not in memory, when there are no more.
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
    /// The same rows in parts that take at most so many bytes in memory each, or have one block.
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
