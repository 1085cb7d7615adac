//! The encoding of rows in blocks of temporary files.
//!
//! A block is the checksum of the rest, the number of rows, the number of columns, and the columns. A column is its kind,
//! whether it has nulls, one bit for each row if it has nulls, and its values. Integers are stored as differences to the
//! minimum, in as few bytes as the largest difference needs. A dictionary is stored if it has at most as many strings as the
//! block has rows; otherwise each row has its string. All numbers are little-endian.
//!
//! Reading never panics, whatever the bytes are.

use std::sync::Arc;

use braid_storage::checksum::checksum;

use crate::exec_error::BrokenBlock;
use crate::values::byte_strings::ByteStrings;
use crate::values::vector::{CodedStrings, Values, Vector};

/// Bytes of the checksum.
pub(super) const CHECKSUM_BYTES: usize = 8;

/// Bytes before the columns.
const HEADER_BYTES: usize = CHECKSUM_BYTES + 4 + 4;

const BOOL: u8 = 0;
const INT: u8 = 1;
const INT128: u8 = 2;
const FLOAT: u8 = 3;
const BYTES: u8 = 4;
const CODED: u8 = 5;

const ENDS_EARLY: BrokenBlock = BrokenBlock { reason: "the block is truncated" };

/// The bytes of rows. Panics unless each column has `row_count` rows.
pub(super) fn encode<'a>(row_count: usize, columns: impl ExactSizeIterator<Item = &'a Vector>) -> Vec<u8> {
    let mut bytes = vec![0; CHECKSUM_BYTES];
    put_u32(&mut bytes, row_count);
    put_u32(&mut bytes, columns.len());
    for column in columns {
        assert_eq!(column.len(), row_count, "a column has as many rows as its block");
        put_column(&mut bytes, column);
    }
    let sum = checksum(&bytes[CHECKSUM_BYTES..]);
    bytes[..CHECKSUM_BYTES].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The numbers of rows and columns of a block. The reader has them from the writer, so that broken bytes cannot make it request
/// more memory than the written rows take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockShape {
    pub row_count: usize,
    pub column_count: usize,
}

/// The columns of a block.
///
/// # Errors
/// When the bytes are not those that were written.
pub(super) fn decode(bytes: &[u8], shape: BlockShape) -> Result<Vec<Vector>, BrokenBlock> {
    let (header, mut rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(ENDS_EARLY)?;
    let (sum, mut counts) = header.split_at(CHECKSUM_BYTES);
    if checksum(&bytes[CHECKSUM_BYTES..]).to_le_bytes() != sum {
        return Err(BrokenBlock { reason: "the checksum does not match" });
    }
    let found = BlockShape { row_count: take_u32(&mut counts)?, column_count: take_u32(&mut counts)? };
    if found != shape {
        return Err(BrokenBlock { reason: "the block has other numbers of rows and columns than were written" });
    }
    let columns = (0..shape.column_count).map(|_| take_column(&mut rest, shape.row_count)).collect();
    if rest.is_empty() { columns } else { Err(BrokenBlock { reason: "the block is longer than its rows" }) }
}

/// Bytes that a column takes in memory after it was read. It shares no buffer then.
pub(super) fn bytes_when_read(column: &Vector) -> usize {
    let strings = |count: usize, string: &dyn Fn(usize) -> usize| count * 16 + (0..count).map(string).sum::<usize>();
    let length = |bytes: &[u8]| bytes.len();
    match column.values() {
        Values::Bytes(values) => {
            column.valid().map_or(0, <[bool]>::len) + strings(values.len(), &|row| length(values.get(row)))
        }
        Values::Coded(coded) => {
            let (rows, words) = (coded.codes.len(), coded.dictionary.len());
            let as_strings = strings(rows, &|row| if column.is_valid(row) { length(coded.get(row)) } else { 0 });
            let as_codes = rows * 4 + strings(words, &|word| length(coded.dictionary.get(word)));
            column.valid().map_or(0, <[bool]>::len) + if is_written_coded(coded) { as_codes } else { as_strings }
        }
        Values::Bool(_) | Values::Int(_) | Values::Int128(_) | Values::Float(_) => column.bytes(),
    }
}

/// Whether strings are written as codes and a dictionary.
fn is_written_coded(strings: &CodedStrings) -> bool {
    strings.dictionary.len() <= strings.codes.len()
}

fn put_u32(bytes: &mut Vec<u8>, value: usize) {
    let value = u32::try_from(value).expect("blocks are below 4 GiB");
    bytes.extend_from_slice(&value.to_le_bytes());
}

fn put_column(bytes: &mut Vec<u8>, column: &Vector) {
    let kind = match column.values() {
        Values::Bool(_) => BOOL,
        Values::Int(_) => INT,
        Values::Int128(_) => INT128,
        Values::Float(_) => FLOAT,
        Values::Coded(strings) if is_written_coded(strings) => CODED,
        Values::Bytes(_) | Values::Coded(_) => BYTES,
    };
    bytes.extend([kind, u8::from(column.valid().is_some())]);
    if let Some(valid) = column.valid() {
        put_bits(bytes, valid);
    }
    match column.values() {
        Values::Bool(values) => put_bits(bytes, values),
        Values::Int(values) => put_integers(bytes, values),
        Values::Int128(values) => put_arrays(bytes, values.iter().map(|value| value.to_le_bytes())),
        Values::Float(values) => put_arrays(bytes, values.iter().map(|value| value.to_le_bytes())),
        Values::Bytes(strings) => put_strings(bytes, strings.len(), |row| strings.get(row)),
        Values::Coded(strings) if kind == CODED => {
            put_u32(bytes, strings.dictionary.len());
            put_strings(bytes, strings.dictionary.len(), |at| strings.dictionary.get(at));
            let codes: Vec<i64> = strings.codes.iter().copied().map(i64::from).collect();
            put_integers(bytes, &codes);
        }
        // What lies under a null may be no code of its dictionary.
        Values::Coded(strings) => {
            put_strings(bytes, strings.codes.len(), |row| if column.is_valid(row) { strings.get(row) } else { &[] });
        }
    }
}

fn put_bits(bytes: &mut Vec<u8>, bits: &[bool]) {
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    bytes.extend(bits.chunks(8).map(byte));
}

/// The minimum, the width of the differences to it, and the differences.
fn put_integers(bytes: &mut Vec<u8>, values: &[i64]) {
    let least = values.iter().copied().min().unwrap_or(0);
    let greatest = values.iter().map(|value| value.wrapping_sub(least) as u64).max().unwrap_or(0);
    let width = match greatest {
        0 => 0,
        1..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    };
    bytes.extend_from_slice(&least.to_le_bytes());
    bytes.push(width);
    let differences = values.iter().map(|value| value.wrapping_sub(least) as u64);
    match width {
        0 => {}
        1 => bytes.extend(differences.map(|difference| difference as u8)),
        2 => put_arrays(bytes, differences.map(|difference| (difference as u16).to_le_bytes())),
        4 => put_arrays(bytes, differences.map(|difference| (difference as u32).to_le_bytes())),
        _ => put_arrays(bytes, differences.map(u64::to_le_bytes)),
    }
}

fn put_arrays<const N: usize>(bytes: &mut Vec<u8>, arrays: impl ExactSizeIterator<Item = [u8; N]>) {
    let before = bytes.len();
    bytes.resize(before + N * arrays.len(), 0);
    bytes[before..].chunks_exact_mut(N).zip(arrays).for_each(|(to, array)| to.copy_from_slice(&array));
}

/// The lengths, then the strings.
fn put_strings<'a>(bytes: &mut Vec<u8>, count: usize, string: impl Fn(usize) -> &'a [u8]) {
    let lengths: Vec<i64> = (0..count).map(|at| string(at).len() as i64).collect();
    put_integers(bytes, &lengths);
    (0..count).for_each(|at| bytes.extend_from_slice(string(at)));
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], BrokenBlock> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or(ENDS_EARLY)?;
    *bytes = rest;
    Ok(taken)
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], BrokenBlock> {
    Ok(take(bytes, N)?.try_into().expect("as many as were asked for"))
}

fn take_u32(bytes: &mut &[u8]) -> Result<usize, BrokenBlock> {
    Ok(u32::from_le_bytes(take_array(bytes)?) as usize)
}

/// `count` values of `N` bytes each.
fn take_arrays<'a, const N: usize>(
    bytes: &mut &'a [u8],
    count: usize,
) -> Result<impl Iterator<Item = [u8; N]> + use<'a, N>, BrokenBlock> {
    let taken = take(bytes, count.checked_mul(N).ok_or(ENDS_EARLY)?)?;
    Ok(taken.as_chunks::<N>().0.iter().copied())
}

fn take_column(bytes: &mut &[u8], row_count: usize) -> Result<Vector, BrokenBlock> {
    let [kind, has_nulls] = take_array(bytes)?;
    let valid = if has_nulls == 0 { None } else { Some(take_bits(bytes, row_count)?) };
    let values = match kind {
        BOOL => Values::Bool(take_bits(bytes, row_count)?),
        INT => Values::Int(take_integers(bytes, row_count)?),
        INT128 => Values::Int128(take_arrays(bytes, row_count)?.map(i128::from_le_bytes).collect()),
        FLOAT => Values::Float(take_arrays(bytes, row_count)?.map(f64::from_le_bytes).collect()),
        BYTES => Values::Bytes(take_strings(bytes, row_count)?),
        CODED => {
            let count = take_u32(bytes)?;
            if count > row_count {
                return Err(BrokenBlock { reason: "a dictionary has more strings than the block has rows" });
            }
            let dictionary = Arc::new(take_strings(bytes, count)?);
            let codes: Vec<u32> = take_integers(bytes, row_count)?.into_iter().map(|code| code as u32).collect();
            let is_code = |row: usize| valid.as_ref().is_some_and(|valid| !valid[row]) || (codes[row] as usize) < count;
            if !(0..row_count).all(is_code) {
                return Err(BrokenBlock { reason: "a code is out of the range of its dictionary" });
            }
            Values::Coded(CodedStrings { codes, dictionary })
        }
        _ => return Err(BrokenBlock { reason: "the kind of a column is unknown" }),
    };
    Ok(Vector::new(values, valid))
}

fn take_bits(bytes: &mut &[u8], count: usize) -> Result<Vec<bool>, BrokenBlock> {
    let packed = take(bytes, count.div_ceil(8))?;
    Ok((0..count).map(|at| packed[at / 8] >> (at % 8) & 1 == 1).collect())
}

fn take_integers(bytes: &mut &[u8], count: usize) -> Result<Vec<i64>, BrokenBlock> {
    let least = i64::from_le_bytes(take_array(bytes)?);
    let [width] = take_array(bytes)?;
    let value = |difference: u64| least.wrapping_add(difference as i64);
    Ok(match width {
        // Only the number of rows bounds how often a value is repeated.
        0 => vec![least; count],
        1 => take(bytes, count)?.iter().map(|byte| value(u64::from(*byte))).collect(),
        2 => take_arrays(bytes, count)?.map(|bytes| value(u64::from(u16::from_le_bytes(bytes)))).collect(),
        4 => take_arrays(bytes, count)?.map(|bytes| value(u64::from(u32::from_le_bytes(bytes)))).collect(),
        8 => take_arrays(bytes, count)?.map(|bytes| value(u64::from_le_bytes(bytes))).collect(),
        _ => return Err(BrokenBlock { reason: "the width of integers is unknown" }),
    })
}

fn take_strings(bytes: &mut &[u8], count: usize) -> Result<ByteStrings, BrokenBlock> {
    let lengths = take_integers(bytes, count)?;
    let total = lengths.iter().try_fold(0usize, |total, length| total.checked_add(usize::try_from(*length).ok()?));
    Ok(ByteStrings::of_lengths(&lengths, take(bytes, total.ok_or(ENDS_EARLY)?)?))
}

#[cfg(test)]
mod tests {
    use braid_testing::properties;
    use braid_testing::proptest::prelude::*;

    use super::*;

    fn vectors() -> impl Strategy<Value = (usize, Vec<Vector>)> {
        (0usize..40, prop::collection::vec((0u8..7, any::<u64>(), any::<bool>()), 0..5)).prop_map(
            |(row_count, kinds)| {
                let column = |(kind, seed, has_nulls): &(u8, u64, bool)| {
                    let mut state = *seed;
                    let mut next = || {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        state >> (state >> 58)
                    };
                    let values = match kind {
                        0 => Values::Bool((0..row_count).map(|_| next() % 2 == 0).collect()),
                        1 => Values::Int((0..row_count).map(|_| next() as i64).collect()),
                        2 => Values::Int(vec![next() as i64; row_count]),
                        3 => Values::Int128((0..row_count).map(|_| i128::from(next()) << 60).collect()),
                        4 => Values::Float((0..row_count).map(|_| f64::from_bits(next())).collect()),
                        5 => Values::Bytes(ByteStrings::from_strings(
                            (0..row_count).map(|_| &b"a string beyond a view"[..(next() % 23) as usize]),
                        )),
                        _ => {
                            let dictionary = ByteStrings::from_strings([&b"a"[..], b"", b"a string beyond a view"]);
                            let codes = (0..row_count).map(|_| (next() % 3) as u32).collect();
                            Values::Coded(CodedStrings { codes, dictionary: Arc::new(dictionary) })
                        }
                    };
                    Vector::new(values, has_nulls.then(|| (0..row_count).map(|_| next() % 3 != 0).collect()))
                };
                (row_count, kinds.iter().map(column).collect())
            },
        )
    }

    fn same(left: &Vector, right: &Vector) -> bool {
        let bits = |vector: &Vector, row: usize| match (vector.is_valid(row), vector.values()) {
            (false, _) => None,
            (true, Values::Float(values)) => Some(format!("{:x}", values[row].to_bits())),
            _ => Some(format!("{:?}", vector.value(row))),
        };
        left.len() == right.len() && (0..left.len()).all(|row| bits(left, row) == bits(right, row))
    }

    properties! {
        256 cases;

        #[test]
        fn rows_come_back((row_count, columns) in vectors()) {
            let bytes = encode(row_count, columns.iter());
            let found = decode(&bytes, BlockShape { row_count, column_count: columns.len() }).unwrap();
            prop_assert_eq!(found.len(), columns.len());
            prop_assert!(found.iter().zip(&columns).all(|(found, column)| same(found, column)));
            prop_assert!(found.iter().zip(&columns).all(|(found, column)| found.bytes() <= bytes_when_read(column)));
        }

        #[test]
        fn rows_that_share_a_buffer_are_read_without_the_rest_of_it(rows in prop::collection::vec(0u32..100, 0..5)) {
            let long = vec![b'x'; 1000];
            let all = Vector::new(Values::Bytes(ByteStrings::from_strings([&long[..]; 100])), None).closed();
            prop_assert_eq!(bytes_when_read(&all.take(&rows)), rows.len() * (16 + 1000));
        }

        /// The checksum is corrected, as after a bug of the writer.
        #[test]
        fn broken_bytes_are_errors_or_rows(
            (row_count, columns) in vectors(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            end in any::<prop::sample::Index>(), cut: bool,
        ) {
            let mut bytes = encode(row_count, columns.iter());
            let shape = BlockShape { row_count, column_count: columns.len() };
            let whole = bytes.len();
            for (at, byte) in &changes {
                bytes[at.index(whole)] = *byte;
            }
            if cut {
                bytes.truncate(CHECKSUM_BYTES + end.index(whole - CHECKSUM_BYTES));
            }
            prop_assert!(decode(&bytes, shape).is_err() || bytes == encode(row_count, columns.iter()));
            let sum = checksum(&bytes[CHECKSUM_BYTES..]);
            bytes[..CHECKSUM_BYTES].copy_from_slice(&sum.to_le_bytes());
            if let Ok(columns) = decode(&bytes, shape) {
                prop_assert!(columns.iter().all(|column| column.len() == row_count));
                (0..row_count).for_each(|row| columns.iter().for_each(|column| drop(column.value(row))));
            }
        }
    }
}
