//! Columns of strings (text, bytea, uuid): plain, by dictionary, or FSST.
//!
//! Equality and IN are tested on stored bytes: codes of the dictionary, compressed bytes of FSST; first lengths, which
//! are compared many at a time, then bytes. Ranges are code ranges of the dictionary; otherwise strings are looked at
//! one by one, decompressed into one buffer.
//!
//! Bytes of a dictionary over `n` rows, after padding to 4 bytes:
//!
//! | bytes | meaning |
//! |---|---|
//! | 4 | number of strings d, u32, 1 to n |
//! | | d strings, strictly ascending bytewise: [strings](crate::codec::strings) |
//! | | n codes, below d: packed integers |

use std::ops::Bound;
use std::sync::OnceLock;

use braid_base::VECTOR_ROWS;

use super::byte_views::{ByteViews, SharedViews};
use super::{SegmentError, SelectedVectors};
use crate::codec::Codec;
use crate::codec::dictionary::{Dictionary, parse_cardinality, parse_codes};
use crate::codec::frame_of_reference::PackedIntegers;
use crate::codec::fsst::FsstStrings;
use crate::codec::integer_test::IntegerTest;
use crate::codec::strings::Strings;
use crate::sections::{SectionReader, SectionWriter, check_equal};
use crate::{ColumnPredicate, Scalar, Selection};

/// The strings of a segment.
#[derive(Debug)]
pub(crate) enum StringColumn {
    Plain(Strings),
    Dictionary(StringDictionary),
    Fsst(FsstStrings),
}

/// Distinct strings and the code of each row.
#[derive(Debug)]
pub(crate) struct StringDictionary {
    values: Strings,
    codes: PackedIntegers,
    /// Made by the first gather; the buffer of all later ones' arrays.
    views: OnceLock<SharedViews>,
}

/// A predicate on strings, in terms of what is stored.
#[derive(Debug)]
pub(crate) enum StringTest {
    /// On codes of the dictionary.
    Codes(IntegerTest),
    /// Stored bytes equal to one of some, or to none.
    Stored {
        /// Ascending.
        values: Vec<Vec<u8>>,
        /// Lengths of the values.
        lengths: IntegerTest,
        /// Whether it is the other strings that satisfy the predicate.
        negated: bool,
    },
    /// Within bounds.
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
}

impl StringColumn {
    /// Reads `count` strings; `None` when the codec does not hold strings.
    pub(crate) fn parse(
        codec: Codec,
        reader: &mut SectionReader,
        count: usize,
        text: bool,
    ) -> Option<Result<Self, SegmentError>> {
        match codec {
            Codec::Plain => Some(parse_strings(reader, count, text).map(Self::Plain)),
            Codec::Dictionary => Some(StringDictionary::parse(reader, count, text).map(Self::Dictionary)),
            Codec::Fsst => Some(FsstStrings::parse(reader, count, text).map(Self::Fsst)),
            _ => None,
        }
    }

    /// The string at `index`.
    pub(crate) fn get(&self, index: usize) -> Vec<u8> {
        match self {
            Self::Plain(strings) => strings.get(index).to_vec(),
            Self::Dictionary(dictionary) => dictionary.values.get(dictionary.codes.get(index) as usize).to_vec(),
            Self::Fsst(strings) => strings.get(index),
        }
    }

    /// Translates a predicate; `None` when strings do not satisfy or fail it by their value.
    pub(crate) fn prepare(&self, predicate: &ColumnPredicate) -> Option<StringTest> {
        if let Self::Dictionary(dictionary) = self {
            return Some(StringTest::Codes(dictionary.translate(predicate)));
        }
        let stored = |values: &[Scalar], negated| {
            let mut values: Vec<Vec<u8>> = values.iter().filter_map(|value| self.stored(value)).collect();
            values.sort_unstable();
            let lengths = IntegerTest::one_of(values.iter().map(|v| v.len() as i64).collect());
            Some(StringTest::Stored { values, lengths, negated })
        };
        match predicate {
            ColumnPredicate::Range { low: Bound::Included(low), high: Bound::Included(high) } if low == high => {
                stored(std::slice::from_ref(low), false)
            }
            ColumnPredicate::Range { low, high } => Some(StringTest::Range(bytes_bound(low)?, bytes_bound(high)?)),
            ColumnPredicate::NotEqual(value) => stored(std::slice::from_ref(value), true),
            ColumnPredicate::In(values) => stored(values, false),
            ColumnPredicate::NotIn(values) => stored(values, true),
            ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => None,
        }
    }

    /// The bytes that a string equal to `value` is stored as.
    fn stored(&self, value: &Scalar) -> Option<Vec<u8>> {
        let Scalar::Bytes(bytes) = value else { return None };
        match self {
            Self::Fsst(strings) => Some(strings.table().compress(bytes)),
            _ => Some(bytes.clone()),
        }
    }

    /// Keeps the rows of a vector that satisfy a test prepared by this column.
    pub(crate) fn filter(&self, vector: usize, test: &StringTest, selection: &mut Selection) {
        match (self, test) {
            (Self::Dictionary(dictionary), StringTest::Codes(test)) => dictionary.codes.filter(vector, test, selection),
            (Self::Plain(strings), StringTest::Stored { values, lengths, negated }) => {
                filter_stored(strings, vector, values, lengths, *negated, selection);
            }
            (Self::Fsst(strings), StringTest::Stored { values, lengths, negated }) => {
                filter_stored(strings.codes(), vector, values, lengths, *negated, selection);
            }
            (Self::Plain(strings), StringTest::Range(low, high)) => {
                let mut offsets = [0; VECTOR_ROWS + 1];
                strings.offsets(vector, &mut offsets);
                let data = strings.vector_data(vector);
                selection.retain(|row| within(&data[offsets[row] as usize..offsets[row + 1] as usize], low, high));
            }
            (Self::Fsst(strings), StringTest::Range(low, high)) => {
                let mut buffer = Vec::new();
                let mut offsets = [0; VECTOR_ROWS + 1];
                strings.codes().offsets(vector, &mut offsets);
                let data = strings.codes().vector_data(vector);
                selection.retain(|row| {
                    let codes = &data[offsets[row] as usize..offsets[row + 1] as usize];
                    strings.reserve_at(0, codes, &mut buffer);
                    let end = strings.table().decompress(codes, &mut buffer, 0);
                    within(&buffer[..end], low, high)
                });
            }
            _ => unreachable!("a test is used with the segment that prepared it"),
        }
    }

    /// The selected strings.
    pub(crate) fn gather(&self, selected: SelectedVectors<'_>) -> SharedViews {
        let mut views = ByteViews::with_capacity(selected.count());
        match self {
            Self::Dictionary(dictionary) => {
                let mut codes = Vec::with_capacity(selected.count());
                selected.for_each(|vector, selection| dictionary.codes.gather::<i32>(vector, selection, &mut codes));
                return dictionary.views().select(&codes);
            }
            Self::Plain(strings) => selected.for_each(|vector, selection| {
                gather_plain(strings, vector, selection, &mut views);
            }),
            Self::Fsst(strings) => {
                let mut buffer = Vec::new();
                selected.for_each(|vector, selection| {
                    gather_fsst(strings, vector, selection, &mut buffer, &mut views);
                });
            }
        }
        views.finish()
    }
}

impl StringDictionary {
    fn parse(reader: &mut SectionReader, count: usize, text: bool) -> Result<Self, SegmentError> {
        let cardinality = parse_cardinality(reader, count)?;
        let values = parse_strings(reader, cardinality, text)?;
        let disorder = values.iter().zip(values.iter().skip(1)).filter(|(a, b)| a >= b).count();
        check_equal("the number of dictionary values out of order", disorder as u64, 0)?;
        Ok(Self { values, codes: parse_codes(reader, count, cardinality)?, views: OnceLock::new() })
    }

    /// Writes a dictionary; the sections [`Self::parse`] reads.
    pub(crate) fn write(dictionary: &Dictionary<&[u8]>, writer: &mut SectionWriter) {
        let lengths: Vec<i64> = dictionary.values.iter().map(|value| value.len() as i64).collect();
        writer.align(4);
        writer.put_u32(dictionary.values.len() as u32);
        Strings::write(&lengths, &dictionary.values, writer);
        PackedIntegers::write(&dictionary.codes, writer);
    }

    /// Bytes that [`Self::write`] will take, padding before the sections not included.
    pub(crate) fn encoded_bytes(dictionary: &Dictionary<&[u8]>) -> usize {
        let lengths: Vec<i64> = dictionary.values.iter().map(|value| value.len() as i64).collect();
        4 + Strings::encoded_bytes(&lengths) + PackedIntegers::encoded_bytes(&dictionary.codes)
    }

    /// The test on codes that says what `predicate` says about strings.
    fn translate(&self, predicate: &ColumnPredicate) -> IntegerTest {
        let values: Vec<&[u8]> = self.values.iter().collect();
        let codes_of = |scalars: &[Scalar]| {
            let code = |scalar: &Scalar| match scalar {
                Scalar::Bytes(bytes) => values.binary_search(&bytes.as_slice()).ok().map(|code| code as i64),
                _ => None,
            };
            IntegerTest::one_of(scalars.iter().filter_map(code).collect())
        };
        match predicate {
            ColumnPredicate::Range { low, high } => {
                let (Some(low), Some(high)) = (bytes_bound(low), bytes_bound(high)) else { return IntegerTest::Never };
                // Of ascending values, those that are not above a lower bound come first, those within a higher one too.
                let start = values.partition_point(|value| !within(value, &low, &Bound::Unbounded));
                let end = values.partition_point(|value| within(value, &Bound::Unbounded, &high));
                IntegerTest::range(start as i64, end as i64 - 1)
            }
            ColumnPredicate::NotEqual(value) => codes_of(std::slice::from_ref(value)).not(),
            ColumnPredicate::In(values) => codes_of(values),
            ColumnPredicate::NotIn(values) => codes_of(values).not(),
            ColumnPredicate::IsNull => IntegerTest::Never,
            ColumnPredicate::IsNotNull => IntegerTest::Always,
        }
    }

    /// The distinct strings, ascending.
    pub(super) fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.values.iter()
    }

    /// Number of distinct strings.
    pub(super) fn value_count(&self) -> usize {
        self.values.count()
    }

    /// Appends the codes of the selected rows of a vector.
    pub(super) fn gather_codes(&self, vector: usize, selection: &Selection, codes: &mut Vec<i32>) {
        self.codes.gather(vector, selection, codes);
    }

    fn views(&self) -> &SharedViews {
        self.views.get_or_init(|| {
            let mut views = ByteViews::with_capacity(self.values.count());
            self.values.iter().for_each(|value| views.push(value));
            views.finish()
        })
    }
}

fn parse_strings(reader: &mut SectionReader, count: usize, text: bool) -> Result<Strings, SegmentError> {
    let strings = Strings::parse(reader, count)?;
    if text {
        strings.check_utf8("strings")?;
    }
    Ok(strings)
}

fn gather_plain(strings: &Strings, vector: usize, selection: &Selection, views: &mut ByteViews) {
    let mut offsets = [0; VECTOR_ROWS + 1];
    strings.offsets(vector, &mut offsets);
    let data = strings.vector_data(vector);
    if selection.is_all() {
        return views.extend(data, offsets[1..=selection.len()].iter().copied());
    }
    for row in selection.iter() {
        views.push(&data[offsets[row] as usize..offsets[row + 1] as usize]);
    }
}

/// Decompresses the selected strings of a vector one after the other into `buffer`, then takes them over at once.
fn gather_fsst(
    strings: &FsstStrings,
    vector: usize,
    selection: &Selection,
    buffer: &mut Vec<u8>,
    views: &mut ByteViews,
) {
    let mut offsets = [0; VECTOR_ROWS + 1];
    strings.codes().offsets(vector, &mut offsets);
    let data = strings.codes().vector_data(vector);
    let mut ends = [0; VECTOR_ROWS];
    let (mut count, mut at) = (0, 0);
    if selection.is_all() {
        strings.reserve_at(at, data, buffer);
        for (codes, end) in offsets.windows(2).take(selection.len()).zip(&mut ends) {
            at = strings.table().decompress(&data[codes[0] as usize..codes[1] as usize], buffer, at);
            *end = at as u32;
        }
        count = selection.len();
    } else {
        for (row, end) in selection.iter().zip(&mut ends) {
            let codes = &data[offsets[row] as usize..offsets[row + 1] as usize];
            strings.reserve_at(at, codes, buffer);
            at = strings.table().decompress(codes, buffer, at);
            *end = at as u32;
            count += 1;
        }
    }
    views.extend(&buffer[..at], ends[..count].iter().copied());
}

/// Keeps the rows whose stored bytes are (or are not) one of `values`.
fn filter_stored(
    strings: &Strings,
    vector: usize,
    values: &[Vec<u8>],
    lengths: &IntegerTest,
    negated: bool,
    selection: &mut Selection,
) {
    let mut equal = *selection;
    strings.lengths().filter(vector, lengths, &mut equal);
    if !equal.is_empty() {
        let mut offsets = [0; VECTOR_ROWS + 1];
        strings.offsets(vector, &mut offsets);
        let data = strings.vector_data(vector);
        equal.retain(|row| {
            let stored = &data[offsets[row] as usize..offsets[row + 1] as usize];
            match values {
                [value] => value == stored,
                _ => values.binary_search_by(|value| value.as_slice().cmp(stored)).is_ok(),
            }
        });
    }
    if negated {
        selection.and_not_words(equal.words());
    } else {
        *selection = equal;
    }
}

fn bytes_bound(bound: &Bound<Scalar>) -> Option<Bound<Vec<u8>>> {
    let bytes = |scalar: &Scalar| match scalar {
        Scalar::Bytes(bytes) => Some(bytes.clone()),
        _ => None,
    };
    Some(match bound {
        Bound::Included(scalar) => Bound::Included(bytes(scalar)?),
        Bound::Excluded(scalar) => Bound::Excluded(bytes(scalar)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

fn within(string: &[u8], low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>) -> bool {
    let above = match low {
        Bound::Included(low) => string >= low.as_slice(),
        Bound::Excluded(low) => string > low.as_slice(),
        Bound::Unbounded => true,
    };
    above
        && match high {
            Bound::Included(high) => string <= high.as_slice(),
            Bound::Excluded(high) => string < high.as_slice(),
            Bound::Unbounded => true,
        }
}
