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
    pub(crate) fn unpack(&self, vector: usize, out: &mut [i64; VECTOR_ROWS]) {
        let mut buffers = RunBuffers::new();
        let mut at = 0;
        for (&value, &length) in self.load(vector, &mut buffers) {
            let end = at + length as usize;
            match out[at..].first_chunk_mut::<SHORT_RUN_ROWS>() {
                // Two stores instead of a loop; what is written beyond the run, the next one overwrites.
                Some(slots) if length as usize <= SHORT_RUN_ROWS => *slots = [value; SHORT_RUN_ROWS],
                _ => out[at..end].fill(value),
            }
            at = end;
        }
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
        let mut words = [0; SELECTION_WORDS];
        let mut at = 0;
        for (&value, &length) in self.load(vector, &mut buffers) {
            let end = at + length as usize;
            if test.holds(value) {
                set_range(&mut words, at..end);
            }
            at = end;
        }
        selection.and_words(&words);
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

    /// Values and lengths of a vector's runs.
    fn load<'a>(&self, vector: usize, buffers: &'a mut RunBuffers) -> impl Iterator<Item = (&'a i64, &'a i64)> {
        let (first, last) = self.runs(vector);
        self.values.unpack_range(first, &mut buffers.values[..last - first]);
        self.lengths.unpack_range(first, &mut buffers.lengths[..last - first]);
        buffers.values[..last - first].iter().zip(&buffers.lengths[..last - first])
    }
}

struct RunBuffers {
    values: [i64; VECTOR_ROWS],
    lengths: [i64; VECTOR_ROWS],
}

impl RunBuffers {
    fn new() -> Self {
        Self { values: [0; VECTOR_ROWS], lengths: [0; VECTOR_ROWS] }
    }
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
