//! Damaged segments: a typed error or harmless nonsense, never a panic. A fast, seeded relative of the fuzz target
//! `segment_open_decode`.

use arrow::array::{Array, Decimal128Array};
use braid_base::{Random, SeededRandom};
use braid_testing::cases;
use bytes::Bytes;

use super::COLUMN_TYPES;
use super::columns::{SHAPES, column};
use super::properties::{predicate, random_selection};
use crate::{ColumnType, Scalar, Segment, SegmentError, Selection, encode_segment};

/// Damaged copies of each segment.
const MUTATIONS: usize = 10;

#[test]
fn damaged_segments_are_refused_or_harmless() {
    let cases = cases!(0..4);
    let is_replay = cases.is_replay();
    let (mut refused, mut accepted) = (0, 0);
    for case in cases {
        let random = &mut case.random();
        for (column_type, shape) in COLUMN_TYPES.into_iter().flat_map(|t| (0..SHAPES).map(move |shape| (t, shape))) {
            let null_percent = [0, 5][random.below(2) as usize];
            let rows = 1 + random.below(2500) as usize;
            let array = column(column_type, shape, rows, null_percent, random.next_u64());
            let bytes = encode_segment(&array, column_type).unwrap().bytes;
            for _ in 0..MUTATIONS {
                match Segment::open(Bytes::from(mutated(&bytes, random)), column_type) {
                    Ok(segment) => {
                        accepted += 1;
                        exercise(&segment, random);
                    }
                    Err(error) => {
                        refused += 1;
                        assert!(!error.to_string().is_empty());
                    }
                }
            }
        }
    }
    assert!(is_replay || refused > 1000 && accepted > 1000, "{refused} refused, {accepted} accepted");
}

#[test]
fn every_truncation_is_refused() {
    for column_type in [ColumnType::BigInt, ColumnType::Text, ColumnType::Double, ColumnType::Boolean] {
        for shape in 0..SHAPES {
            let bytes = encode_segment(&column(column_type, shape, 30, 10, 5), column_type).unwrap().bytes;
            for len in 0..bytes.len() {
                assert!(Segment::open(Bytes::copy_from_slice(&bytes[..len]), column_type).is_err(), "{len}");
            }
            let longer = [&bytes[..], &[0]].concat();
            assert!(Segment::open(Bytes::from(longer), column_type).is_err());
        }
    }
}

#[test]
fn segments_of_other_types_are_refused() {
    for written in COLUMN_TYPES {
        let bytes = Bytes::from(encode_segment(&column(written, 0, 100, 0, 1), written).unwrap().bytes);
        for read in COLUMN_TYPES {
            let opened = Segment::open(bytes.clone(), read);
            match written.physical() == read.physical() {
                // Numbers read as other numbers are nonsense, bytes as text may be; neither may hurt.
                true => opened.iter().for_each(|segment| exercise(segment, &mut SeededRandom::new(1))),
                false => assert!(matches!(opened, Err(SegmentError::PhysicalType { .. })), "{written} as {read}"),
            }
        }
    }
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    for shape in [0, 1, 9, 10] {
        let strings = column(ColumnType::Text, shape, 2000, 0, 4);
        let bytes = encode_segment(&strings, ColumnType::Text).unwrap().bytes;
        // The strings lie at the end, or before the codes of a dictionary; 0x80 is no beginning of a character.
        let refused = (24..bytes.len()).step_by(1 + bytes.len() / 1000).filter(|&at| {
            let mut bytes = bytes.clone();
            bytes[at] = 0x80;
            matches!(Segment::open(Bytes::from(bytes), ColumnType::Text), Err(SegmentError::Utf8 { .. }))
        });
        assert!(refused.count() > 0, "shape {shape}");
    }
}

#[test]
fn rows_that_are_no_segment_are_refused() {
    let empty = column(ColumnType::Integer, 0, 0, 0, 0);
    assert!(matches!(encode_segment(&empty, ColumnType::Integer), Err(SegmentError::RowCount { rows: 0, .. })));
    let long = column(ColumnType::Boolean, 10, braid_base::CHUNK_ROWS + 1, 0, 0);
    assert!(matches!(encode_segment(&long, ColumnType::Boolean), Err(SegmentError::RowCount { .. })));
    let other = column(ColumnType::Integer, 0, 3, 0, 0);
    assert!(matches!(encode_segment(&other, ColumnType::BigInt), Err(SegmentError::ArrowType { .. })));
    let narrow = ColumnType::Numeric { precision: 18, scale: 2 };
    let wide = Decimal128Array::from(vec![1, 1 << 70]).with_data_type(narrow.arrow());
    assert!(matches!(encode_segment(&wide, narrow), Err(SegmentError::Numeric { row: 1, .. })));
}

/// A copy with a few bytes changed, sometimes shorter or longer. The size field is kept in step most of the time, so
/// that the damage reaches beyond it.
fn mutated(bytes: &[u8], random: &mut SeededRandom) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        // Half of the changes hit the first bytes, where headers and widths are.
        let reach = if random.chance(1, 2) { bytes.len().min(200) } else { bytes.len() };
        let at = random.below(reach as u64) as usize;
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = [0, 1, 63, 64, 65, 127, 128, 255][random.below(8) as usize],
            2 => bytes[at] = random.next_u64() as u8,
            _ => {
                let end = bytes.len().min(at + 1 + random.below(8) as usize);
                bytes[at..end].fill([0, 255][random.below(2) as usize]);
            }
        }
    }
    match random.below(8) {
        0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
        1 => bytes.extend((0..random.below(300)).map(|_| random.next_u64() as u8)),
        _ => {}
    }
    if random.chance(9, 10) && bytes.len() >= 20 {
        let len = bytes.len() as u32;
        bytes[16..20].copy_from_slice(&len.to_le_bytes());
    }
    bytes
}

/// Reads a segment in every way there is.
fn exercise(segment: &Segment, random: &mut SeededRandom) {
    let rows = segment.row_count();
    let scalars: Vec<Option<Scalar>> = (0..20).map(|_| segment.value(random.below(rows as u64) as usize)).collect();
    for percent in [100, 2, 50] {
        let selections: Vec<Selection> =
            (0..segment.vector_count()).map(|v| random_selection(segment.vector_rows(v), percent, random)).collect();
        let array = segment.gather(0..segment.vector_count(), &selections);
        assert_eq!(array.len(), selections.iter().map(Selection::count).sum::<usize>());
        array.to_data().validate_full().unwrap();
    }
    for _ in 0..4 {
        let prepared = segment.prepare(&predicate(&scalars, random));
        for vector in 0..segment.vector_count() {
            let mut selection = random_selection(segment.vector_rows(vector), [100, 10][vector % 2], random);
            segment.filter_prepared(vector, &prepared, &mut selection);
            assert!(selection.count() <= selection.len());
        }
    }
}
