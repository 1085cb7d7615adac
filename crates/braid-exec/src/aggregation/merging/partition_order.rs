//! One worker's groups in the order of partitions.
//!
//! The hash of a key determines the partition of its group, in all workers. If all rows are one group, the hash of a distinct
//! value determines the value's partition. The query set of a group is excluded from the hash, because all sets of a key
//! are refined together.

use std::sync::Arc;

use crate::aggregation::OPERATOR;
use crate::aggregation::states::distinct_values::DistinctValues;
use crate::exec_error::{ExecError, MemoryExceeded};
use crate::keys::key_hashes::KeyHasher;
use crate::values::vector::Vector;
use crate::{MemoryBudget, Reservation};

/// What determines the order of a worker's groups.
#[derive(Debug)]
pub(crate) struct GroupsToOrder<'a> {
    /// The key columns that determine the partition of a group.
    pub(crate) keys: &'a [Vector],
    pub(crate) group_count: usize,
    /// The distinct values of each input; `None` for an input that keeps states.
    pub(crate) distinct: Vec<Option<&'a DistinctValues>>,
}

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
    pub(crate) fn new(
        groups: &GroupsToOrder<'_>,
        budget: Arc<dyn MemoryBudget>,
        partition_count: usize,
    ) -> Result<Self, MemoryExceeded> {
        let mut reservation = Reservation::new(budget, OPERATOR);
        match reservation.resize(groups.bytes()) {
            Err(ExecError::Memory(exceeded)) => return Err(exceeded),
            resized => resized.expect("a reservation fails for memory only"),
        }
        let partition = |hash: u64| hash as usize & (partition_count - 1);
        Ok(Self { _reservation: Some(reservation), ..Self::by(groups, partition_count, partition) })
    }

    /// The order by `partition` of the hashes. The caller has reserved the memory.
    pub(crate) fn by(of: &GroupsToOrder<'_>, partition_count: usize, partition: impl Fn(u64) -> usize) -> Self {
        let partitions = match of.keys {
            [] => vec![0; of.group_count],
            keys => partitions_of(keys, partition_count, &partition),
        };
        let groups = Ordered::by_partition(&partitions, partition_count);
        let places = if of.pair_count() > 0 { groups.places() } else { Vec::new() };
        let ordered_pairs = |values: &DistinctValues| {
            let pairs = match values.has_groups() {
                true => values.groups().iter().map(|group| partitions[*group as usize]).collect(),
                false => partitions_of(std::slice::from_ref(values.values()), partition_count, &partition),
            };
            Ordered::by_partition(&pairs, partition_count)
        };
        let pairs = of.distinct.iter().map(|values| values.map(ordered_pairs));
        Self { pairs: pairs.collect(), groups, places, _reservation: None }
    }
}

impl GroupsToOrder<'_> {
    /// Number of pairs of group and distinct value.
    fn pair_count(&self) -> usize {
        self.distinct.iter().flatten().map(|values| values.count()).sum()
    }

    /// Bytes that the order takes.
    pub(crate) fn bytes(&self) -> usize {
        self.group_count * GROUP_BYTES + self.pair_count() * PAIR_BYTES
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
