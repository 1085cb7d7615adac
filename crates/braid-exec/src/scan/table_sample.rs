//! TABLESAMPLE: which rows of a table a scan reads.
//!
//! Whether a row is in a sample depends on the seed, its chunk's id and its place in the chunk alone: not on the order of chunks, on
//! workers, or on the other conditions of the scan. A table version therefore has the same sample for a seed each time. The rows of a later
//! version are chosen alike where their chunks are the same.

use braid_base::{ChunkId, VECTOR_ROWS};
use braid_storage::Selection;

/// Numbers that a hash is compared as: the share of chosen ones has this many steps.
const STEPS: f64 = (1_u64 << u32::BITS) as f64;

/// A sample of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableSample {
    /// What is chosen as a whole.
    pub unit: SampleUnit,
    /// How many of a hundred, from 0 to 100.
    pub percentage: f32,
    /// The seed.
    pub seed: u64,
}

/// What is chosen as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleUnit {
    /// A row: BERNOULLI.
    Row,
    /// A vector of a chunk, which is [`VECTOR_ROWS`] rows: SYSTEM.
    Vector,
}

impl TableSample {
    /// Whether a row of a chunk is in the sample.
    pub fn has_row(&self, chunk: ChunkId, row: usize) -> bool {
        let unit = match self.unit {
            SampleUnit::Row => row,
            SampleUnit::Vector => row / VECTOR_ROWS,
        };
        let chosen_steps = (STEPS * f64::from(self.percentage) / 100.0).round_ties_even() as u64;
        mixed(mixed(self.seed, chunk.0.into()), unit as u64) >> u32::BITS < chosen_steps
    }

    /// Keeps the rows of a chunk's vector that are in the sample.
    pub(crate) fn retain(&self, chunk: ChunkId, vector: usize, rows: &mut Selection) {
        let first = vector * VECTOR_ROWS;
        if self.unit == SampleUnit::Vector {
            if !self.has_row(chunk, first) {
                *rows = Selection::none(rows.len());
            }
            return;
        }
        let mut indices = [0; VECTOR_ROWS];
        let rows_left = rows.indices(&mut indices).iter();
        let keep: Vec<bool> = rows_left.map(|row| self.has_row(chunk, first + usize::from(*row))).collect();
        rows.retain_where(&keep);
    }

    /// The text in a plan.
    pub(crate) fn text(&self) -> String {
        let method = match self.unit {
            SampleUnit::Row => "bernoulli",
            SampleUnit::Vector => "system",
        };
        format!("sample={method}({})", self.percentage)
    }
}

/// SplitMix64's finalizer over a number and what came before it (Steele, Lea, Flood, OOPSLA 2014).
fn mixed(before: u64, number: u64) -> u64 {
    let mut mixed = (before ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(sample: TableSample, vectors: usize) -> Vec<usize> {
        let of_vector = |vector: usize| {
            let mut rows = Selection::all(VECTOR_ROWS);
            sample.retain(ChunkId(7), vector, &mut rows);
            rows.count()
        };
        (0..vectors).map(of_vector).collect()
    }

    #[test]
    fn all_and_none_are_exact() {
        for unit in [SampleUnit::Row, SampleUnit::Vector] {
            for seed in 0..20 {
                let of = |percentage| count(TableSample { unit, percentage, seed }, 8);
                assert_eq!((of(0.0), of(100.0)), (vec![0; 8], vec![VECTOR_ROWS; 8]));
            }
        }
    }

    /// Of n rows with probability p, np are chosen, give or take √(np(1-p)); five times that is missed once in a million samples.
    #[test]
    fn a_sample_has_its_share_of_rows() {
        for (unit, units) in [(SampleUnit::Row, 1000 * VECTOR_ROWS), (SampleUnit::Vector, 1000)] {
            for percentage in [1.0, 10.0, 50.0, 99.0_f32] {
                for seed in 0..10 {
                    let sample = TableSample { unit, percentage, seed };
                    let chosen: usize = count(sample, 1000).iter().sum::<usize>() / (1000 * VECTOR_ROWS / units);
                    let (share, units) = (f64::from(percentage) / 100.0, units as f64);
                    let allowed = 5.0 * (units * share * (1.0 - share)).sqrt();
                    assert!((chosen as f64 - units * share).abs() <= allowed, "{sample:?}: {chosen} of {units}");
                }
            }
        }
    }

    #[test]
    fn rows_are_chosen_independently_of_other_conditions_and_by_the_seed() {
        let sample = TableSample { unit: SampleUnit::Row, percentage: 30.0, seed: 1 };
        let mut all = Selection::all(VECTOR_ROWS);
        sample.retain(ChunkId(1), 3, &mut all);
        let mut odd = Selection::none(VECTOR_ROWS);
        (1..VECTOR_ROWS).step_by(2).for_each(|row| odd.insert(row));
        sample.retain(ChunkId(1), 3, &mut odd);
        let rows = |selection: &Selection| selection.indices(&mut [0; VECTOR_ROWS]).to_vec();
        let (all, odd) = (rows(&all), rows(&odd));
        assert_eq!(all.iter().copied().filter(|row| row % 2 == 1).collect::<Vec<_>>(), odd);
        let mut other = Selection::all(VECTOR_ROWS);
        TableSample { seed: 2, ..sample }.retain(ChunkId(1), 3, &mut other);
        assert_ne!(rows(&other), all);
    }
}
