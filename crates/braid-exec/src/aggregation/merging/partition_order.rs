//! One worker's groups in the order of partitions.
//!
//! The hash of a key determines the partition of its group, in all workers. If all rows are one group, the hash of a distinct
//! value determines the value's partition. The query set of a group is excluded from the hash, because all sets of a key
//! are refined together.

use super::merge::{Accumulated, WorkerGroups};
use crate::Reservation;
use crate::aggregation::OPERATOR;
use crate::exec_error::{ExecError, MemoryExceeded};
use crate::keys::key_hashes::KeyHasher;
use crate::values::vector::Vector;

/// A worker's groups in the order of partitions.
#[derive(Debug)]
pub(crate) struct PartitionOrder {
    pub(crate) groups: Ordered,
    /// A group's position within its partition, for distinct values only.
    pub(crate) places: Vec<u32>,
    /// The pairs of each input with distinct values.
    pub(crate) pairs: Vec<Option<Ordered>>,
    /// The reservation, if the order is not counted with the worker's groups.
    _reservation: Option<Reservation>,
}

/// Bytes of the order per group: a hash, a partition, a row and a position.
const GROUP_BYTES: usize = 8 + 4 + 4 + 4;

/// Bytes of the order per pair of group and distinct value: a partition, a row, and a group or a hash.
const PAIR_BYTES: usize = 4 + 4 + 8;

/// Rows in the order of partitions.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    rows: Vec<u32>,
    /// The end of each partition's rows.
    ends: Vec<usize>,
}

impl PartitionOrder {
    /// The order by the lowest bits of the hash.
    pub(crate) fn new(worker: &WorkerGroups, partition_count: usize) -> Result<Self, MemoryExceeded> {
        let mut reservation = Reservation::new(worker.budget.clone(), OPERATOR);
        match reservation.resize(Self::bytes(worker)) {
            Err(ExecError::Memory(exceeded)) => return Err(exceeded),
            resized => resized.expect("a reservation fails for memory only"),
        }
        let partition = |hash: u64| hash as usize & (partition_count - 1);
        Ok(Self { _reservation: Some(reservation), ..Self::by(worker, partition_count, partition) })
    }

    /// The order by `partition` of the hashes. The caller has reserved the memory.
    pub(crate) fn by(worker: &WorkerGroups, partition_count: usize, partition: impl Fn(u64) -> usize) -> Self {
        let pair_counts: usize = worker.inputs.iter().map(pair_count).sum();
        let partitions = match worker.partitioning_keys() {
            [] => vec![0; worker.table.group_count()],
            keys => partitions_of(keys, partition_count, &partition),
        };
        let groups = Ordered::by_partition(&partitions, partition_count);
        let places = if pair_counts > 0 { groups.places() } else { Vec::new() };
        let pairs = worker.inputs.iter().map(|input| match input {
            Accumulated::States(_) => None,
            Accumulated::Distinct(values) => {
                let pairs = match values.has_groups() {
                    true => values.groups().iter().map(|group| partitions[*group as usize]).collect(),
                    false => partitions_of(std::slice::from_ref(values.values()), partition_count, &partition),
                };
                Some(Ordered::by_partition(&pairs, partition_count))
            }
        });
        Self { pairs: pairs.collect(), groups, places, _reservation: None }
    }

    /// Bytes that the order of a worker's groups takes.
    pub(crate) fn bytes(worker: &WorkerGroups) -> usize {
        let pair_counts: usize = worker.inputs.iter().map(pair_count).sum();
        worker.table.group_count() * GROUP_BYTES + pair_counts * PAIR_BYTES
    }
}

fn pair_count(input: &Accumulated) -> usize {
    match input {
        Accumulated::States(_) => 0,
        Accumulated::Distinct(values) => values.count(),
    }
}

/// The partition of each row of some keys.
fn partitions_of(keys: &[Vector], partition_count: usize, partition: impl Fn(u64) -> usize) -> Vec<u32> {
    let row_count = keys[0].len();
    if partition_count == 1 {
        return vec![0; row_count];
    }
    let mut hashes = Vec::new();
    KeyHasher::default().fill(keys, 0..row_count, &mut hashes);
    // Hash tables use the upper bits of the hash, which must differ between the groups of a partition.
    hashes.iter().map(|hash| partition(*hash) as u32).collect()
}

impl Ordered {
    /// Rows ordered by their partitions, and within a partition by their numbers.
    fn by_partition(partitions: &[u32], partition_count: usize) -> Self {
        let mut counts = vec![0; partition_count];
        partitions.iter().for_each(|partition| counts[*partition as usize] += 1);
        let mut ends = Vec::with_capacity(partition_count);
        let mut begin = 0;
        for count in &mut counts {
            begin += *count;
            ends.push(begin);
            *count = begin - *count;
        }
        let mut rows = vec![0; partitions.len()];
        for (row, partition) in (0..).zip(partitions) {
            let next = &mut counts[*partition as usize];
            rows[*next] = row;
            *next += 1;
        }
        Self { rows, ends }
    }

    pub(crate) fn of_partition(&self, partition: usize) -> &[u32] {
        let begin = if partition == 0 { 0 } else { self.ends[partition - 1] };
        &self.rows[begin..self.ends[partition]]
    }

    /// The position of each row within its partition.
    fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.rows.len()];
        for partition in 0..self.ends.len() {
            let rows = self.of_partition(partition).iter();
            (0..).zip(rows).for_each(|(place, row)| places[*row as usize] = place);
        }
        places
    }
}
