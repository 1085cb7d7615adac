//! Run-length encoding: runs of equal integers as values and lengths, both packed integers. A run ends at the end of
//! its vector at the latest, so that a vector is decoded from its own runs.
//!
//! Bytes of `n` integers in `b = ceil(n / 1024)` vectors, after padding to 4 bytes:
//!
//! | bytes | meaning |
//! |---|---|
//! | 4 | number of runs r, u32, at most n |
//! | 4 b | first run of each vector, u32 |
//! | | r values: packed integers |
//! | | r lengths: packed integers; those of a vector add up to its rows |

use braid_base::VECTOR_ROWS;

use super::frame_of_reference::PackedIntegers;
use super::integer_test::IntegerTest;
use super::target::{Target, extend_selected};
use crate::Selection;
use crate::sections::{SectionReader, SectionWriter, check_equal, check_limit};
use crate::segment_error::SegmentError;
use crate::selection::{SELECTION_WORDS, set_range};

/// Rows up to which a run is written with one fixed-size store: two AVX2 registers.
const SHORT_RUN_ROWS: usize = 8;

/// A sequence of 64-bit integers as runs.
#[derive(Debug)]
pub(crate) struct RunLengthIntegers {
    values: PackedIntegers,
    lengths: PackedIntegers,
    /// First run of each vector, and the number of runs.
    first_runs: Box<[u32]>,
}

impl RunLengthIntegers {
    /// Reads the sections of `count` integers.
    pub(crate) fn parse(reader: &mut SectionReader, count: usize) -> Result<Self, SegmentError> {
        reader.align(4)?;
        let run_count = reader.u32("the number of runs", count as u32)?;
        let mut first_runs = reader.u32s("first runs", count.div_ceil(VECTOR_ROWS))?;
        check_equal("the first vector's first run", u64::from(first_runs[0]), 0)?;
        first_runs.push(run_count);
        let values = PackedIntegers::parse(reader, run_count as usize)?;
        let lengths = PackedIntegers::parse(reader, run_count as usize)?;
        let all_lengths = lengths.to_vec();
        for (vector, runs) in first_runs.windows(2).enumerate() {
            check_limit("a vector's first run", u64::from(runs[1]), u64::from(run_count))?;
            check_limit("a vector's first run", u64::from(runs[0]), u64::from(runs[1]))?;
            check_limit("a vector's number of runs", u64::from(runs[1] - runs[0]), VECTOR_ROWS as u64)?;
            let mut rows = 0;
            for &length in &all_lengths[runs[0] as usize..runs[1] as usize] {
                check_limit("a run's length", length as u64, VECTOR_ROWS as u64)?;
                rows += length as u64;
            }
            check_equal("the rows of a vector's runs", rows, (count - vector * VECTOR_ROWS).min(VECTOR_ROWS) as u64)?;
        }
        Ok(Self { values, lengths, first_runs: first_runs.into() })
    }

    /// Writes `values`; the sections [`Self::parse`] reads.
    pub(crate) fn write(values: &[i64], writer: &mut SectionWriter) {
        let runs = Runs::of(values);
        writer.align(4);
        writer.put_u32(runs.values.len() as u32);
        runs.first_runs.iter().for_each(|&first| writer.put_u32(first));
        PackedIntegers::write(&runs.values, writer);
        PackedIntegers::write(&runs.lengths, writer);
    }

    /// Bytes that [`Self::write`] will take, padding before the sections not included; `None` when there are too many
    /// runs for it to be worth a thought.
    pub(crate) fn encoded_bytes(values: &[i64]) -> Option<usize> {
        let changes = values.windows(2).filter(|w| w[0] != w[1]).count();
        if changes > values.len() / 2 {
            return None;
        }
        let runs = Runs::of(values);
        let packed = PackedIntegers::encoded_bytes(&runs.values) + PackedIntegers::encoded_bytes(&runs.lengths);
        Some(4 + runs.first_runs.len() * 4 + packed)
    }

    /// The integer of a row of a vector.
    pub(crate) fn get(&self, vector: usize, row: usize) -> i64 {
        let mut end = 0;
        let (first, last) = self.runs(vector);
        for run in first..last {
            end += self.lengths.get(run) as usize;
            if row < end {
                return self.values.get(run);
            }
        }
        unreachable!("the runs of a vector add up to its rows: checked when the segment was opened")
    }

    /// Decodes a vector. What lies beyond the last integer means nothing.
    pub(crate) fn unpack<T: Target>(&self, vector: usize, out: &mut [T; VECTOR_ROWS]) {
        let mut buffers = RunBuffers::new();
        let runs = self.load(vector, &mut buffers);
        let mut at = 0;
        for (&value, &length) in buffers.values[..runs].iter().zip(&buffers.lengths[..runs]) {
            let end = at + length as usize;
            match out[at..].first_chunk_mut::<SHORT_RUN_ROWS>() {
                // Two stores instead of a loop; what is written beyond the run, the next one overwrites.
                Some(slots) if length as usize <= SHORT_RUN_ROWS => *slots = [value; SHORT_RUN_ROWS],
                _ => out[at..end].fill(value),
            }
            at = end;
        }
    }

    /// Appends the selected integers of a vector.
    pub(crate) fn gather<T: Target>(&self, vector: usize, selection: &Selection, out: &mut Vec<T>) {
        let mut values = [T::from_integer(0); VECTOR_ROWS];
        self.unpack(vector, &mut values);
        extend_selected(&values, selection, |value| value, out);
    }

    /// Keeps the rows of a vector whose value satisfies the test, which is evaluated once a run.
    pub(crate) fn filter(&self, vector: usize, test: &IntegerTest, selection: &mut Selection) {
        let (low, high) = self.bounds(vector);
        match test.verdict(low, high) {
            Some(true) => return,
            Some(false) => return selection.clear(),
            None => {}
        }
        let mut buffers = RunBuffers::new();
        let runs = self.load(vector, &mut buffers);
        let mut kept = Selection::all(runs);
        test.filter(&buffers.values, &mut kept);
        match kept.count() {
            0 => selection.clear(),
            count if count == runs => {}
            _ => selection.and_words(&rows_of_runs(&kept, &buffers.lengths[..runs])),
        }
    }

    /// Bounds of a vector's values: those of the packed vectors its runs lie in.
    fn bounds(&self, vector: usize) -> (i64, i64) {
        let (first, last) = self.runs(vector);
        let packed = first / VECTOR_ROWS..last.div_ceil(VECTOR_ROWS);
        packed.fold((i64::MAX, i64::MIN), |(min, max), packed| {
            let (low, high) = self.values.bounds(packed);
            (min.min(low), max.max(high))
        })
    }

    fn runs(&self, vector: usize) -> (usize, usize) {
        (self.first_runs[vector] as usize, self.first_runs[vector + 1] as usize)
    }

    /// Values and lengths of a vector's runs, into the first places of the buffers; the number of runs.
    fn load<T: Target>(&self, vector: usize, buffers: &mut RunBuffers<T>) -> usize {
        let (first, last) = self.runs(vector);
        self.values.unpack_range(first, &mut buffers.values[..last - first]);
        self.lengths.unpack_range(first, &mut buffers.lengths[..last - first]);
        last - first
    }
}

struct RunBuffers<T> {
    values: [T; VECTOR_ROWS],
    /// At most 1024 each, as was checked when the segment was opened.
    lengths: [i16; VECTOR_ROWS],
}

impl<T: Target> RunBuffers<T> {
    fn new() -> Self {
        Self { values: [T::from_integer(0); VECTOR_ROWS], lengths: [0; VECTOR_ROWS] }
    }
}

/// The rows of the selected runs. Whether a run is selected is data that no branch predictor knows, so runs below 64 rows are set
/// without a branch.
fn rows_of_runs(runs: &Selection, lengths: &[i16]) -> [u64; SELECTION_WORDS] {
    // A run's bits reach into the next word at most. Two more words keep those of the last run within the array, also one of no rows
    // behind all rows, which no encoder writes.
    let mut words = [0u64; SELECTION_WORDS + 2];
    let mut at = 0;
    for (run, &length) in lengths.iter().enumerate() {
        let is_kept = runs.words()[run / 64] >> (run % 64) & 1;
        let end = at + length as usize;
        if length < 64 {
            let bits = ((1u64 << length) - 1) * is_kept;
            words[at / 64] |= bits << (at % 64);
            words[at / 64 + 1] |= (bits >> 1) >> (63 - at % 64);
        } else if is_kept == 1 {
            set_range(&mut words, at..end);
        }
        at = end;
    }
    let [words @ .., _, _] = words;
    words
}

/// The runs of a sequence, cut at vectors.
struct Runs {
    values: Vec<i64>,
    lengths: Vec<i64>,
    first_runs: Vec<u32>,
}

impl Runs {
    fn of(values: &[i64]) -> Self {
        let mut runs = Self { values: Vec::new(), lengths: Vec::new(), first_runs: Vec::new() };
        for vector in values.chunks(VECTOR_ROWS) {
            runs.first_runs.push(runs.values.len() as u32);
            for run in vector.chunk_by(|a, b| a == b) {
                runs.values.push(run[0]);
                runs.lengths.push(run.len() as i64);
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use braid_base::{Random, SeededRandom};

    use super::*;

    #[test]
    fn rows_of_runs_are_those_of_each_selected_run() {
        let mut random = SeededRandom::new(7);
        for _ in 0..200 {
            let longest = [1, 4, 70, 300][random.below(4) as usize];
            let mut lengths = Vec::new();
            let mut rows = 0;
            while rows < VECTOR_ROWS {
                let length = (random.below(longest) as usize + 1).min(VECTOR_ROWS - rows);
                lengths.push(length as i16);
                rows += length;
            }
            let mut runs = Selection::all(lengths.len());
            runs.retain(|_| random.below(2) == 0);
            let mut selection = Selection::all(VECTOR_ROWS);
            selection.and_words(&rows_of_runs(&runs, &lengths));
            let ends = lengths.iter().scan(0, |end, &length| {
                *end += length as usize;
                Some(*end)
            });
            let expected: Vec<usize> = ends
                .zip(&lengths)
                .enumerate()
                .filter(|(run, _)| runs.contains(*run))
                .flat_map(|(_, (end, &length))| end - length as usize..end)
                .collect();
            assert!(selection.iter().eq(expected), "{lengths:?}");
        }
    }

    #[test]
    fn a_run_of_no_rows_behind_all_rows_is_no_row() {
        let words = rows_of_runs(&Selection::all(2), &[1024, 0]);
        assert_eq!(words, [u64::MAX; SELECTION_WORDS]);
    }
}
