//! No bytes make a segment's reader panic, and what it accepts can be gathered, filtered and read row by row, giving
//! valid Arrow arrays.
//!
//! The input chooses type, codec, flags, rows and nulls; the target makes the header of that and puts the rest of the
//! input behind it, so that what is fuzzed is the codecs' sections. The input as it is is tried too.

#![no_main]

use std::ops::Bound;

use arrow::array::Array;
use braid_storage::{ColumnPredicate, ColumnType, Scalar, Segment, Selection};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

/// A type for each physical type, text besides bytes, and the code of the physical type on disk.
const TYPES: [(ColumnType, u8); 10] = [
    (ColumnType::Boolean, 0),
    (ColumnType::Integer, 1),
    (ColumnType::BigInt, 1),
    (ColumnType::Numeric { precision: 38, scale: 0 }, 2),
    (ColumnType::Real, 3),
    (ColumnType::Double, 4),
    (ColumnType::Text, 5),
    (ColumnType::Bytea, 5),
    (ColumnType::Uuid, 5),
    (ColumnType::Interval, 6),
];

const CODECS: u8 = 8;
const HEADER_BYTES: usize = 24;

fuzz_target!(|input: &[u8]| {
    for (column_type, _) in TYPES {
        if let Ok(segment) = Segment::open(Bytes::copy_from_slice(input), column_type) {
            exercise(&segment);
        }
    }
    let Some(([choice, codec, flags, nulls, rows @ ..], sections)) = input.split_first_chunk::<6>() else { return };
    let (column_type, physical_code) = TYPES[usize::from(*choice) % TYPES.len()];
    let rows = 1 + u32::from(u16::from_le_bytes(*rows) % 3000);
    let nulls = match nulls % 4 {
        0 | 1 => 0,
        2 => u32::from(*nulls) % (rows + 1),
        _ => rows,
    };
    let mut bytes = Vec::with_capacity(HEADER_BYTES + sections.len());
    bytes.extend_from_slice(b"BRSG");
    bytes.extend_from_slice(&[1, codec % CODECS, physical_code, flags % 4]);
    bytes.extend_from_slice(&rows.to_le_bytes());
    bytes.extend_from_slice(&nulls.to_le_bytes());
    bytes.extend_from_slice(&((HEADER_BYTES + sections.len()) as u32).to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(sections);
    if let Ok(segment) = Segment::open(Bytes::from(bytes), column_type) {
        exercise(&segment);
    }
});

/// Reads a segment in every way there is.
fn exercise(segment: &Segment) {
    let all: Vec<Selection> = (0..segment.vector_count()).map(|v| Selection::all(segment.vector_rows(v))).collect();
    check_gather(segment, &all);
    let sparse: Vec<Selection> = all
        .iter()
        .map(|selection| {
            let mut selection = *selection;
            selection.retain(|row| row % 7 == 3);
            selection
        })
        .collect();
    check_gather(segment, &sparse);

    let value = segment.value(segment.row_count() / 2).unwrap_or(Scalar::Int(0));
    let other = segment.value(segment.row_count() - 1).unwrap_or(Scalar::Bool(true));
    for predicate in [
        ColumnPredicate::equal(value.clone()),
        ColumnPredicate::NotEqual(value.clone()),
        ColumnPredicate::In(vec![value.clone(), other.clone()]),
        ColumnPredicate::NotIn(vec![value.clone(), other.clone()]),
        ColumnPredicate::Range { low: Bound::Excluded(value), high: Bound::Included(other) },
        ColumnPredicate::IsNull,
        ColumnPredicate::IsNotNull,
    ] {
        let prepared = segment.prepare(&predicate);
        for (vector, selection) in all.iter().chain(&sparse).enumerate() {
            let mut selection = *selection;
            segment.filter_prepared(vector % all.len(), &prepared, &mut selection);
            assert!(selection.count() <= selection.len());
        }
    }
}

fn check_gather(segment: &Segment, selections: &[Selection]) {
    let array = segment.gather(0..selections.len(), selections);
    assert_eq!(array.len(), selections.iter().map(Selection::count).sum::<usize>());
    array.to_data().validate_full().expect("a gathered array is a valid array");
}
