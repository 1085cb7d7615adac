//! Dictionary encoding: the distinct values, ascending, and for each row the packed code of its value. Order makes a
//! range of values a range of codes; a predicate is translated once a segment and then compares codes.
//!
//! Bytes of a dictionary of integers over `n` rows, after padding to 4 bytes:
//!
//! | bytes | meaning |
//! |---|---|
//! | 4 | number of values d, u32, 1 to n |
//! | | d values, strictly ascending: packed integers |
//! | | n codes, below d: packed integers |

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use braid_base::VECTOR_ROWS;

use super::bit_packing::bit_width;
use super::frame_of_reference::PackedIntegers;
use super::integer_test::IntegerTest;
use super::target::Target;
use crate::Selection;
use crate::sections::{SectionReader, SectionWriter, check_equal, check_limit};
use crate::segment_error::SegmentError;

/// A sequence of 64-bit integers as codes of a dictionary.
#[derive(Debug)]
pub(crate) struct DictionaryIntegers {
    values: Box<[i64]>,
    codes: PackedIntegers,
}

impl DictionaryIntegers {
    /// Reads the sections of `count` integers.
    pub(crate) fn parse(reader: &mut SectionReader, count: usize) -> Result<Self, SegmentError> {
        let cardinality = parse_cardinality(reader, count)?;
        let values = PackedIntegers::parse(reader, cardinality)?.to_vec();
        let disorder = values.windows(2).filter(|w| w[0] >= w[1]).count();
        check_equal("the number of dictionary values out of order", disorder as u64, 0)?;
        let codes = parse_codes(reader, count, cardinality)?;
        Ok(Self { values: values.into(), codes })
    }

    /// Writes a dictionary; the sections [`Self::parse`] reads.
    pub(crate) fn write(dictionary: &Dictionary<i64>, writer: &mut SectionWriter) {
        writer.align(4);
        writer.put_u32(dictionary.values.len() as u32);
        PackedIntegers::write(&dictionary.values, writer);
        PackedIntegers::write(&dictionary.codes, writer);
    }

    /// Bytes that [`Self::write`] will take, padding before the sections not included.
    pub(crate) fn encoded_bytes(dictionary: &Dictionary<i64>) -> usize {
        4 + PackedIntegers::encoded_bytes(&dictionary.values) + PackedIntegers::encoded_bytes(&dictionary.codes)
    }

    /// The distinct values, ascending.
    pub(crate) fn values(&self) -> &[i64] {
        &self.values
    }

    /// The codes.
    pub(crate) fn codes(&self) -> &PackedIntegers {
        &self.codes
    }

    /// The integer of a row of a vector.
    pub(crate) fn get(&self, vector: usize, row: usize) -> i64 {
        self.values[self.codes.get(vector * VECTOR_ROWS + row) as usize]
    }

    /// Decodes a vector. What lies beyond the last integer means nothing.
    pub(crate) fn unpack(&self, vector: usize, out: &mut [i64; VECTOR_ROWS]) {
        self.codes.unpack(vector, out);
        for code in out {
            *code = self.values[*code as usize];
        }
    }

    /// Appends the selected integers of a vector.
    pub(crate) fn gather<T: Target>(&self, vector: usize, selection: &Selection, out: &mut Vec<T>) {
        let mut codes = Vec::with_capacity(selection.count());
        self.codes.gather::<i32>(vector, selection, &mut codes);
        out.extend(codes.iter().map(|&code| T::from_integer(self.values[code as usize])));
    }

    /// The test on codes that says what `test` says about values.
    pub(crate) fn translate(&self, test: &IntegerTest) -> IntegerTest {
        match test {
            IntegerTest::Never => IntegerTest::Never,
            IntegerTest::Always => IntegerTest::Always,
            IntegerTest::Range { low, high, negated } => {
                let start = self.values.partition_point(|v| v < low);
                let end = self.values.partition_point(|v| v <= high);
                let range = IntegerTest::range(start as i64, end as i64 - 1);
                if *negated { range.not() } else { range }
            }
            IntegerTest::Set { .. } => matching_codes(self.values.iter().map(|&v| test.holds(v))),
        }
    }
}

/// The test for the codes whose value satisfies a condition.
pub(crate) fn matching_codes(matches: impl Iterator<Item = bool>) -> IntegerTest {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for (code, matches) in matches.enumerate() {
        if matches { &mut inside } else { &mut outside }.push(code as i64);
    }
    if inside.len() <= outside.len() { IntegerTest::one_of(inside) } else { IntegerTest::one_of(outside).not() }
}

/// Reads the number of values of a dictionary over `count` rows.
pub(crate) fn parse_cardinality(reader: &mut SectionReader, count: usize) -> Result<usize, SegmentError> {
    reader.align(4)?;
    let cardinality = reader.u32("the number of dictionary values", count as u32)?;
    check_limit("the number of missing dictionary values", u64::from(cardinality == 0), 0)?;
    Ok(cardinality as usize)
}

/// Reads the codes of `count` rows, which must all be below `cardinality`.
pub(crate) fn parse_codes(
    reader: &mut SectionReader,
    count: usize,
    cardinality: usize,
) -> Result<PackedIntegers, SegmentError> {
    let codes = PackedIntegers::parse(reader, count)?;
    let limit = cardinality as u64 - 1;
    match codes.find_above(limit) {
        Some(value) => Err(SegmentError::Field { field: "a dictionary code", value, limit }),
        None => Ok(codes),
    }
}

/// The distinct values of a sequence and the code of each row, for writing.
pub(crate) struct Dictionary<T> {
    /// Distinct values, ascending.
    pub(crate) values: Vec<T>,
    /// Index of each row's value.
    pub(crate) codes: Vec<i64>,
}

impl<T: Copy + Eq + Ord + Hash> Dictionary<T> {
    /// The dictionary of `rows`, unless it would take more than `bytes_max` bytes, where a value takes `value_bytes`
    /// and a code as many bits as the number of values needs.
    pub(crate) fn build(rows: &[T], bytes_max: usize, value_bytes: impl Fn(&T) -> usize) -> Option<Self> {
        let mut codes = Vec::with_capacity(rows.len());
        let mut values = Vec::new();
        let mut seen: HashMap<T, u32, BuildHasherDefault<WordHasher>> = HashMap::default();
        let mut bytes = 0;
        for (row, value) in rows.iter().enumerate() {
            // Equal neighbours are common and cheaper to see than to hash.
            if row > 0 && rows[row - 1] == *value {
                codes.push(codes[row - 1]);
                continue;
            }
            let next = values.len() as u32;
            let code = *seen.entry(*value).or_insert(next);
            if code == next {
                values.push(*value);
                bytes += value_bytes(value);
                if bytes + rows.len() * usize::from(bit_width(u64::from(next))) / 8 > bytes_max {
                    return None;
                }
            }
            codes.push(i64::from(code));
        }
        Some(Self::sorted(values, codes))
    }

    /// Renumbers the codes so that the values ascend.
    fn sorted(values: Vec<T>, mut codes: Vec<i64>) -> Self {
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_unstable_by_key(|&i| values[i as usize]);
        let mut rank = vec![0; values.len()];
        for (code, &i) in order.iter().enumerate() {
            rank[i as usize] = code as i64;
        }
        codes.iter_mut().for_each(|code| *code = rank[*code as usize]);
        Self { values: order.iter().map(|&i| values[i as usize]).collect(), codes }
    }
}

/// A multiplicative hash, eight bytes at a time: dictionaries are built from trusted sizes of at most 131 072 rows, and
/// cutting a build short bounds what colliding values could cost.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl WordHasher {
    fn mix(&mut self, word: u64) {
        // 2^64 / golden ratio; the rotation brings the well-mixed high bits down.
        self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_i64(&mut self, value: i64) {
        self.mix(value as u64);
    }

    fn finish(&self) -> u64 {
        // hashbrown takes the bucket from the low bits and the tag from the high ones.
        self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}
