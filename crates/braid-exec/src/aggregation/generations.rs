//! The decision when a worker that finds groups by hashing starts a new table.
//!
//! In a table larger than the caches, each row causes cache misses, and so does each group when workers' groups are merged. If
//! nearly every row is a group of its own, a large table brings no benefit. A *generation* of groups then ends while its
//! table still fits into the caches. It is merged like another worker's groups, partition by partition (like the
//! thread-local tables of Leis et al., Morsel-Driven Parallelism, SIGMOD 2014, 4.4). If rows repeat existing groups, the table
//! grows.
//!
//! Several generations may contain the same group. A sample of one in [`SAMPLED`] of the keys' hashes shows how often this
//! happens. All generations together have at most [`REPEATED_MAX`] times the groups of a single table, plus one generation.

use crate::keys::number_map::NumberMap;

/// Number of rows per group from which on a table is kept.
const ROWS_PER_GROUP: u64 = 4;

/// One in this many hashes is sampled; a power of two.
const SAMPLED: u64 = 64;

/// Maximum ratio of the groups of all generations to the distinct groups.
const REPEATED_MAX: u64 = 2;

/// One worker's generations.
#[derive(Debug)]
pub(super) struct Generations {
    /// Maximum groups of a generation.
    groups_max: usize,
    /// Number of groups at which the next decision is made.
    next_decision: usize,
    /// Rows of the current generation.
    rows: u64,
    /// Groups of the ended generations.
    ended_groups: u64,
    /// Sampled hashes of the groups of all generations.
    sample: NumberMap<()>,
}

impl Generations {
    /// Generations of about `groups_max` groups each.
    pub(super) fn new(groups_max: usize) -> Self {
        let groups_max = groups_max.max(1);
        Self { groups_max, next_decision: groups_max, rows: 0, ended_groups: 0, sample: NumberMap::default() }
    }

    /// Adds rows to the current generation, which has `group_count` groups now. True if a decision is due.
    pub(super) fn add_rows(&mut self, rows: usize, group_count: usize) -> bool {
        self.rows += rows as u64;
        group_count >= self.next_decision
    }

    /// Whether the generation ends. `hashes` computes the hashes of its keys, and is called only if they are needed.
    pub(super) fn ends(&mut self, group_count: usize, hashes: impl FnOnce() -> Vec<u64>) -> bool {
        let groups = group_count as u64;
        if self.rows < ROWS_PER_GROUP * groups {
            let sampled = hashes().into_iter().filter(|hash| hash % SAMPLED == 0);
            self.sample.extend(sampled.map(|hash| (hash, ())));
            if self.ended_groups + groups <= REPEATED_MAX * SAMPLED * self.sample.len() as u64 {
                self.ended_groups += groups;
                (self.rows, self.next_decision) = (0, self.groups_max);
                return true;
            }
        }
        self.next_decision = 2 * group_count;
        false
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        // An entry has a hash and one byte of the table.
        self.sample.capacity() * 9
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use braid_base::{Random, SeededRandom};

    use super::*;

    /// Groups in all generations, and how many differ, of rows with random keys below a limit.
    fn run(rows: u64, limit: u64, groups_max: usize) -> (usize, usize, usize) {
        let (mut generations, mut random) = (Generations::new(groups_max), SeededRandom::new(limit));
        let (mut table, mut all, mut ended, mut ended_count) = (HashSet::new(), HashSet::new(), 0, 0);
        for _ in 0..rows {
            // A number that says as much about its key as a hash does.
            let hash = random.below(limit).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
            table.insert(hash);
            all.insert(hash);
            if generations.add_rows(1, table.len()) && generations.ends(table.len(), || table.iter().copied().collect())
            {
                ended += table.len();
                ended_count += 1;
                table.clear();
            }
        }
        (ended + table.len(), all.len(), ended_count)
    }

    #[test]
    fn generations_end_where_rows_are_groups_of_their_own() {
        let (groups, different, ended) = run(100_000, u64::MAX, 4_096);
        assert_eq!((groups, different, ended), (100_000, 100_000, 24));
    }

    #[test]
    fn a_table_goes_on_where_rows_repeat_groups() {
        let (groups, different, ended) = run(200_000, 8_192, 4_096);
        assert!(ended <= 4 && groups <= 3 * different, "{ended} ended with {groups} groups of {different}");
        assert_eq!(run(200_000, 4_000, 4_096).2, 0);
    }

    #[test]
    fn groups_are_not_repeated_often() {
        for limit in [10_000, 30_000, 100_000, 300_000] {
            let (groups, different, _) = run(1_000_000, limit, 4_096);
            assert!(groups < 3 * different + 4_096, "{groups} groups of {different}");
        }
    }
}
