//! Which chunks of a table are written again, and which of them together: the policy of compaction.
//!
//! A chunk is *worn* when so large a part of its rows is deleted that scans read too much for the rows that are left. Its live rows are
//! written into a new chunk, together with those of other worn chunks, so that few rows do not stay alone. A chunk is written again once
//! for each time that the given share of its rows was deleted: with share `s` a row that stays is written at most
//! `log(CHUNK_ROWS) / log(1 / (1 - s))` times, and a table's chunks have at most `1 / (1 - s)` times the rows that are left.
//!
//! Chunks that are small without deleted rows are the work of appends ([`tail_merge`](crate::table_appender::tail_merge)), which leave at
//! most one of each size. Where there are more of them than that, as after many rounds of deletes, as many are taken along as chunks are worn:
//! so what is written stays in proportion to what was deleted, also where chunks have few rows because these are long.
//!
//! Rows in memory are merged by the commits that add rows.

use braid_base::CHUNK_ROWS;

/// Live rows of a group, but that one chunk may have more.
const GROUP_ROWS: usize = 4 * CHUNK_ROWS;

/// The most chunks with fewer than half of the rows of a full one that appends leave: one of each size.
const SMALL_CHUNKS_MAX: usize = 1 + CHUNK_ROWS.ilog2() as usize;

/// What the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkWear {
    /// Rows, deleted ones included.
    pub rows: usize,
    /// Rows that are not deleted.
    pub live: usize,
    /// Whether it is in memory.
    pub is_in_memory: bool,
}

impl ChunkWear {
    fn is_worn(&self, share: f64) -> bool {
        let deleted = self.rows - self.live;
        deleted > 0 && deleted as f64 >= share * self.rows as f64
    }
}

/// The places of the chunks that are to be written again, in groups whose rows go into new chunks together. `share` is the part of a
/// chunk's rows that is deleted at least; at zero, any deleted row will do.
pub(super) fn choose(chunks: &[ChunkWear], share: f64) -> Vec<Vec<usize>> {
    let in_files = || chunks.iter().enumerate().filter(|(_, chunk)| !chunk.is_in_memory);
    let is_small = |chunk: &ChunkWear| !chunk.is_worn(share) && chunk.live < CHUNK_ROWS / 2;
    let small_count = in_files().filter(|(_, chunk)| is_small(chunk)).count();
    let worn_count = in_files().filter(|(_, chunk)| chunk.is_worn(share)).count();
    let mut along = if small_count > SMALL_CHUNKS_MAX { worn_count } else { 0 };
    let mut is_taken_along = |chunk: &ChunkWear| {
        let is_taken = along > 0 && is_small(chunk);
        along -= usize::from(is_taken);
        is_taken
    };
    let chosen = in_files().filter(|(_, chunk)| chunk.is_worn(share) || is_taken_along(chunk));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut rows = 0;
    for (at, chunk) in chosen {
        match groups.last_mut() {
            Some(group) if rows + chunk.live <= GROUP_ROWS => group.push(at),
            _ => {
                groups.push(vec![at]);
                rows = 0;
            }
        }
        rows += chunk.live;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(rows: usize, live: usize) -> ChunkWear {
        ChunkWear { rows, live, is_in_memory: false }
    }

    #[test]
    fn worn_chunks_are_written_again_and_others_stay() {
        let full = chunk(CHUNK_ROWS, CHUNK_ROWS);
        let worn = chunk(CHUNK_ROWS, CHUNK_ROWS / 2);
        let less = chunk(CHUNK_ROWS, CHUNK_ROWS - CHUNK_ROWS / 8);
        let in_memory = ChunkWear { is_in_memory: true, ..worn };
        let chunks = [full, worn, less, worn, in_memory, full];
        assert_eq!(choose(&chunks, 0.25), [vec![1, 3]]);
        assert_eq!(choose(&chunks, 0.1), [vec![1, 2, 3]]);
        assert_eq!(choose(&chunks, 0.0), [vec![1, 2, 3]], "without deleted rows a chunk stays");
        assert_eq!(choose(&chunks, 0.6), Vec::<Vec<usize>>::new());
        assert_eq!(choose(&[], 0.0), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn groups_are_bounded_and_have_each_chunk_once() {
        let chunks = vec![chunk(CHUNK_ROWS, CHUNK_ROWS - CHUNK_ROWS / 4); 50];
        let groups = choose(&chunks, 0.25);
        assert!(groups.iter().flatten().copied().eq(0..50));
        assert!(groups.iter().all(|group| group.iter().map(|at| chunks[*at].live).sum::<usize>() <= GROUP_ROWS));
        assert!(groups.iter().rev().skip(1).all(|group| group.len() == 5), "{groups:?}");
    }

    #[test]
    fn small_chunks_are_taken_along_when_appends_would_not_leave_so_many() {
        let mut chunks = vec![chunk(1_000, 1_000); SMALL_CHUNKS_MAX + 1];
        assert_eq!(choose(&chunks, 0.25), Vec::<Vec<usize>>::new(), "nothing is worn");
        chunks[7] = chunk(1_000, 500);
        assert_eq!(choose(&chunks, 0.25), [vec![7]]);
        chunks.extend([chunk(1_000, 1_000), chunk(1_000, 500)]);
        assert_eq!(choose(&chunks, 0.25), [vec![0, 1, 7, SMALL_CHUNKS_MAX + 2]]);
    }

    /// Chunks of long rows are small by their rows, however full they are.
    #[test]
    fn chunks_of_long_rows_are_not_written_again_and_again() {
        let mut chunks = vec![chunk(30_000, 30_000); 160];
        chunks[3].live -= 1;
        assert_eq!(choose(&chunks, 0.25), Vec::<Vec<usize>>::new());
        assert_eq!(choose(&chunks, 0.0), [vec![0, 3]]);
    }

    /// Deletes random rows and compacts, round after round.
    #[test]
    fn a_row_is_written_a_few_times_and_little_is_read_in_vain() {
        use braid_base::{Random, SeededRandom};
        let mut random = SeededRandom::new(3);
        let mut chunks = vec![chunk(CHUNK_ROWS, CHUNK_ROWS); 8];
        let share = 0.25;
        let (mut written, all) = (0, 8 * CHUNK_ROWS);
        loop {
            for chunk in &mut chunks {
                chunk.live -= chunk.live.min(1 + random.below(CHUNK_ROWS as u64 / 40) as usize);
            }
            chunks.retain(|chunk| chunk.live > 0);
            for group in choose(&chunks, share) {
                let live: usize = group.iter().map(|at| chunks[*at].live).sum();
                written += live;
                for at in group {
                    chunks[at].live = 0;
                }
                let sizes = (0..live).step_by(CHUNK_ROWS).map(|first| CHUNK_ROWS.min(live - first));
                chunks.extend(sizes.map(|rows| chunk(rows, rows)));
            }
            chunks.retain(|chunk| chunk.live > 0);
            let (rows, live) = chunks.iter().fold((0, 0), |(rows, live), chunk| (rows + chunk.rows, live + chunk.live));
            assert!(live as f64 >= (1.0 - share) * rows as f64, "{live} of {rows} rows are live");
            assert!(chunks.len() <= 8, "{} chunks", chunks.len());
            if chunks.is_empty() {
                break;
            }
        }
        assert!(written < 4 * all, "{written} rows were written, of {all}");
    }
}
