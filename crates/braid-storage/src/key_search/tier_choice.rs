//! Which runs of a key are merged into a tree: the policy, of size tiers (O'Neil and others: The Log-Structured Merge-Tree, 1996; the
//! *tiering* of Dayan, Athanassoulis, Idreos: Monkey, 2017).
//!
//! A run of a chunk, or a tree, is of tier `t` if it has `8^t` to `8^(t+1)` times the keys of a chunk, and of tier 0 with fewer. Eight runs of
//! one tier are merged into one of the next. So a key is written about `log8(chunks)` times, and at most `7 * (1 + log8(chunks))` trees and
//! runs are searched. Chunks with seven eighths of the keys of a full one count as full, so that eight of them make a run of the next tier.
//!
//! A tree of whose keys fewer than half are of chunks that are left is written again without the others.

use braid_base::CHUNK_ROWS;

/// Runs of a tier that are merged.
const FAN_IN: usize = 8;

/// A run of a chunk or a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunSize {
    /// Keys of chunks that are left.
    pub live: u64,
    /// Keys of all chunks.
    pub keys: u64,
}

impl RunSize {
    fn tier(self) -> u32 {
        (8 * self.live / (7 * CHUNK_ROWS as u64)).max(1).ilog(FAN_IN as u64)
    }

    fn is_worn(self) -> bool {
        2 * self.live < self.keys
    }
}

/// The places of runs that are merged next, in their order: of the lowest tier that has enough; `None` if there are none. Each run has a
/// chunk that is left, which may have no keys.
pub(super) fn choose(runs: &[RunSize]) -> Option<Vec<usize>> {
    let all = || runs.iter().enumerate();
    let tier_max = runs.iter().map(|run| run.tier()).max()?;
    let of_tier = |tier: u32| all().filter(move |(_, run)| run.tier() == tier).map(|(at, _)| at).take(FAN_IN);
    let full = (0..=tier_max).map(|tier| of_tier(tier).collect::<Vec<_>>()).find(|runs| runs.len() == FAN_IN);
    full.or_else(|| all().find(|(_, run)| run.is_worn()).map(|(at, _)| vec![at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u64 = CHUNK_ROWS as u64;

    fn run(keys: u64) -> RunSize {
        RunSize { live: keys, keys }
    }

    #[test]
    fn eight_of_a_tier_are_merged() {
        assert_eq!(choose(&[]), None);
        assert_eq!(choose(&[run(CHUNK); 7]), None);
        assert_eq!(choose(&[run(CHUNK); 9]), Some((0..8).collect()));
        let mixed: Vec<RunSize> = (0..14).map(|at| run(if at % 2 == 0 { 8 * CHUNK } else { CHUNK })).collect();
        assert_eq!(choose(&mixed), None);
        let mixed: Vec<RunSize> = (0..16).map(|at| run(if at % 2 == 0 { 8 * CHUNK } else { 10 })).collect();
        assert_eq!(choose(&mixed), Some((0..8).map(|at| 2 * at + 1).collect()));
        assert_eq!(choose(&[RunSize { live: 0, keys: 0 }; 7]), None);
        assert_eq!(choose(&[RunSize { live: 0, keys: 0 }; 8]), Some((0..8).collect()));
    }

    #[test]
    fn a_tree_of_which_half_has_gone_is_written_again() {
        let worn = RunSize { live: 3 * CHUNK, keys: 8 * CHUNK };
        assert_eq!(choose(&[run(CHUNK), worn]), Some(vec![1]));
        assert_eq!(choose(&[run(CHUNK), RunSize { live: 4 * CHUNK, ..worn }]), None);
        assert_eq!(choose(&[RunSize { live: 0, ..worn }]), Some(vec![0]));
    }

    #[test]
    fn a_growing_table_has_few_runs_and_writes_each_key_a_few_times() {
        let (mut runs, mut written) = (Vec::new(), 0);
        for count in 1..=4000_u64 {
            runs.push(run(CHUNK));
            while let Some(chosen) = choose(&runs) {
                let keys = chosen.iter().map(|at| runs[*at].keys).sum();
                written += keys;
                let mut at = 0;
                runs.retain(|_| (!chosen.contains(&at), at += 1).0);
                runs.insert(chosen[0], run(keys));
            }
            assert!(runs.len() as u32 <= 7 * (count.ilog(8) + 1), "{count} chunks: {} runs", runs.len());
        }
        assert!(written <= 4 * 4000 * CHUNK, "{}", written / CHUNK);
    }
}
