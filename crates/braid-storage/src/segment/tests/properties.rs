//! Round trip, random access, gathers, filters and zone maps of valid segments.

use std::cmp::Ordering;
use std::ops::Bound;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::filter;
use braid_base::{CHUNK_ROWS, Random, SeededRandom, VECTOR_ROWS};
use braid_testing::properties;
use braid_testing::proptest::prelude::*;
use bytes::Bytes;

use super::columns::{SHAPES, column};
use super::{COLUMN_TYPES, scalar_of};
use crate::codec::Codec;
use crate::{ColumnPredicate, ColumnType, PhysicalType, Scalar, Segment, Selection, Verdict, checksum, encode_segment};

properties! {
    600 cases;

    #[test]
    fn segments_say_what_their_rows_say(
        column_type in prop::sample::select(&COLUMN_TYPES[..]),
        shape in 0..SHAPES,
        rows in prop_oneof![1..40usize, 1000..1050usize, 1..4000usize],
        null_percent in prop_oneof![Just(0), Just(10), Just(97), Just(100)],
        seed in any::<u64>(),
    ) {
        check(&column(column_type, shape, rows, null_percent, seed), column_type, seed);
    }
}

#[test]
fn sizes_around_a_vector_and_a_chunk_are_no_exception() {
    for (shape, column_type) in [
        (0, ColumnType::BigInt),
        (5, ColumnType::Date),
        (8, ColumnType::Integer),
        (9, ColumnType::Numeric { precision: 12, scale: 2 }),
        (1, ColumnType::Double),
        (1, ColumnType::Text),
    ] {
        for rows in [1, 1023, 1024, 1025] {
            check(&column(column_type, shape, rows, 0, 42), column_type, 7);
        }
        let rows = if shape % 2 == 0 { CHUNK_ROWS } else { CHUNK_ROWS - 1 };
        check(&column(column_type, shape, rows, 3 * (shape % 2), 42), column_type, 7);
    }
}

#[test]
fn every_codec_wins_somewhere() {
    let mut seen = Vec::new();
    for column_type in COLUMN_TYPES {
        for shape in 0..SHAPES {
            for seed in 0..3 {
                let array = column(column_type, shape, 3000, 0, seed);
                let physical = column_type.physical();
                seen.push((physical, encode_segment(&array, column_type).unwrap().codec));
            }
        }
    }
    use crate::PhysicalType::*;
    for expected in [
        (Bool, Codec::Plain),
        (Bool, Codec::Constant),
        (Int, Codec::FrameOfReference),
        (Int, Codec::Delta),
        (Int, Codec::Dictionary),
        (Int, Codec::RunLength),
        (Int128, Codec::FrameOfReference),
        (Int128, Codec::Plain),
        (Int128, Codec::Dictionary),
        (Float32, Codec::Alp),
        (Float64, Codec::Alp),
        (Float64, Codec::FrameOfReference),
        (Float64, Codec::Dictionary),
        (Bytes, Codec::Plain),
        (Bytes, Codec::Dictionary),
        (Bytes, Codec::Fsst),
        (Bytes, Codec::Constant),
        (Interval, Codec::Plain),
        (Interval, Codec::Dictionary),
    ] {
        assert!(seen.contains(&expected), "{expected:?}");
    }
}

#[test]
fn outliers_cost_their_own_vector_only() {
    let mut values = vec![0i64; CHUNK_ROWS];
    values.iter_mut().enumerate().for_each(|(i, v)| *v = (i as i64 * 7919) % 1000);
    let bytes = |values: Vec<i64>| {
        encode_segment(&arrow::array::Int64Array::from(values), ColumnType::BigInt).unwrap().bytes.len()
    };
    let without = bytes(values.clone());
    values[70_000] = i64::MAX;
    assert!(bytes(values) <= without + 128 * 64);
}

/// Checks everything there is to check about the segment of a column.
fn check(array: &ArrayRef, column_type: ColumnType, seed: u64) {
    let encoded = encode_segment(array, column_type).unwrap();
    assert_eq!(encoded.checksum, checksum(&encoded.bytes));
    let segment = Segment::open(Bytes::from(encoded.bytes.clone()), column_type).unwrap();
    assert_eq!(segment.row_count(), array.len());
    assert_eq!(segment.null_count(), array.null_count());
    assert_eq!((segment.codec(), segment.encoded_bytes()), (encoded.codec, encoded.bytes.len()));

    let scalars: Vec<Option<Scalar>> = (0..array.len()).map(|row| scalar_of(array, row, column_type)).collect();
    let random = &mut SeededRandom::new(seed);
    for _ in 0..20 {
        let row = random.below(array.len() as u64) as usize;
        assert_eq!(segment.value(row), scalars[row], "row {row}");
    }
    check_gathers(&segment, array, random);
    check_physical_forms(&segment, &scalars, random);
    let zone_map = &encoded.zone_map;
    for value in scalars.iter().flatten() {
        let [below, above] = [&zone_map.min, &zone_map.max].map(|b| b.as_ref().and_then(|b| value.compare(b)));
        assert_ne!(below, Some(Ordering::Less), "{value:?} < {:?}", zone_map.min);
        assert_ne!(above, Some(Ordering::Greater), "{value:?} > {:?}", zone_map.max);
    }
    if zone_map.exact {
        assert!(scalars.contains(&zone_map.min) && scalars.contains(&zone_map.max));
    }
    for _ in 0..12 {
        let predicate = predicate(&scalars, random);
        let matching = check_filter(&segment, &scalars, &predicate, random);
        match zone_map.verdict(&predicate, array.len() as u32) {
            Verdict::None => assert_eq!(matching, 0, "{predicate:?}"),
            Verdict::All => assert_eq!(matching, array.len(), "{predicate:?}"),
            Verdict::Some => {}
        }
    }
}

fn check_gathers(segment: &Segment, array: &ArrayRef, random: &mut SeededRandom) {
    let all: Vec<Selection> = (0..segment.vector_count()).map(|v| Selection::all(segment.vector_rows(v))).collect();
    let gathered = segment.gather(0..segment.vector_count(), &all);
    gathered.to_data().validate_full().unwrap();
    assert_eq!(&gathered, array);
    for percent in [0, 1, 30, 95] {
        let first = random.below(segment.vector_count() as u64) as usize;
        let last = (first + 1 + random.below(9) as usize).min(segment.vector_count());
        let rows = first * VECTOR_ROWS..segment.row_count().min(last * VECTOR_ROWS);
        let selections: Vec<Selection> =
            (first..last).map(|v| random_selection(segment.vector_rows(v), percent, random)).collect();
        let mask: BooleanArray = selections.iter().flat_map(|s| (0..s.len()).map(|r| Some(s.contains(r)))).collect();
        let expected = filter(&array.slice(rows.start, rows.len()), &mask).unwrap();
        let gathered = segment.gather(first..last, &selections);
        gathered.to_data().validate_full().unwrap();
        assert_eq!(&gathered, &expected, "{percent} % of vectors {first}..{last}");
    }
}

/// Compares integers, codes and strings as stored with the values of the rows.
fn check_physical_forms(segment: &Segment, scalars: &[Option<Scalar>], random: &mut SeededRandom) {
    let vector = random.below(segment.vector_count() as u64) as usize;
    let rows = segment.vector_rows(vector);
    let scalar = |row: usize| scalars[vector * VECTOR_ROWS + row].as_ref();
    let valid = segment.valid_rows(vector);
    assert!((0..rows).all(|row| valid.is_none_or(|valid| valid.contains(row)) == scalar(row).is_some()));
    let selection = random_selection(rows, [100, 30][random.below(2) as usize], random);
    let expected: Vec<Option<&Scalar>> = selection.iter().map(scalar).collect();
    let check = |values: Vec<Scalar>| {
        assert_eq!(values.len(), expected.len());
        assert!(values.iter().zip(&expected).all(|(value, expected)| expected.is_none_or(|e| e == value)));
    };
    match segment.column_type().physical() {
        PhysicalType::Int | PhysicalType::Int128 if segment.holds_integers() => {
            let mut integers = Vec::new();
            segment.gather_integers(vector, &selection, &mut integers);
            let is_wide = segment.column_type().physical() == PhysicalType::Int128;
            let scalar = |integer: i64| if is_wide { Scalar::Int128(integer.into()) } else { Scalar::Int(integer) };
            check(integers.into_iter().map(scalar).collect());
        }
        PhysicalType::Bytes => {
            let mut strings = Vec::new();
            segment.for_each_string(vector, &selection, |string| strings.push(Scalar::Bytes(string.to_vec())));
            check(strings);
            if let Some(dictionary) = segment.dictionary() {
                let mut codes = Vec::new();
                segment.gather_codes(vector, &selection, &mut codes);
                check(codes.into_iter().map(|code| dictionary[code as usize].clone()).collect());
            }
        }
        _ => {}
    }
}

/// Compares a filter with [`ColumnPredicate::matches`]; returns the number of matching rows.
fn check_filter(
    segment: &Segment,
    scalars: &[Option<Scalar>],
    predicate: &ColumnPredicate,
    random: &mut SeededRandom,
) -> usize {
    let prepared = segment.prepare(predicate);
    let percent = [100, 100, 40, 1][random.below(4) as usize];
    let mut count = 0;
    for vector in 0..segment.vector_count() {
        let before = random_selection(segment.vector_rows(vector), percent, random);
        let mut after = before;
        segment.filter_prepared(vector, &prepared, &mut after);
        for row in 0..before.len() {
            let matches = predicate.matches(scalars[vector * VECTOR_ROWS + row].as_ref());
            assert!(!(matches && prepared.is_never()));
            count += usize::from(matches);
            let expected = before.contains(row) && matches;
            assert_eq!(after.contains(row), expected, "row {row} of vector {vector}: {predicate:?}");
        }
    }
    count
}

pub(super) fn random_selection(rows: usize, percent: u64, random: &mut SeededRandom) -> Selection {
    let mut selection = Selection::all(rows);
    if percent < 100 {
        selection.retain(|_| random.chance(percent, 100));
    }
    selection
}

/// A predicate that some of the values satisfy and some do not.
pub(super) fn predicate(scalars: &[Option<Scalar>], random: &mut SeededRandom) -> ColumnPredicate {
    let mut value = || {
        let row = random.below(scalars.len() as u64) as usize;
        let nudge = random.below(4);
        nudged(scalars[row].clone().unwrap_or(Scalar::Int(3)), nudge)
    };
    let (a, b) = (value(), value());
    let mut values: Vec<Scalar> = (0..7).map(|_| value()).collect();
    values.dedup();
    let mut bound = |value: &Scalar| match random.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(value.clone()),
        _ => Bound::Included(value.clone()),
    };
    let range = ColumnPredicate::Range { low: bound(&a), high: bound(&b) };
    let few = random.below(8) as usize;
    match random.below(9) {
        0 => ColumnPredicate::IsNull,
        1 => ColumnPredicate::IsNotNull,
        2 => ColumnPredicate::NotEqual(a),
        3 => ColumnPredicate::equal(a),
        4 => ColumnPredicate::In(values[..few.min(values.len())].to_vec()),
        5 => ColumnPredicate::NotIn(values[..few.min(values.len())].to_vec()),
        _ => range,
    }
}

/// The value, or one near it that may not occur.
fn nudged(value: Scalar, nudge: u64) -> Scalar {
    match (value, nudge) {
        (Scalar::Int(v), 1) => Scalar::Int(v.wrapping_add(1)),
        (Scalar::Int(v), 2) => Scalar::Int(v / 2),
        (Scalar::Int128(v), 1) => Scalar::Int128(v + 1),
        (Scalar::Int128(v), 2) => Scalar::Int128(v.saturating_mul(1 << 50)),
        (Scalar::Float(v), 1) => Scalar::Float(v + 0.005),
        (Scalar::Float(v), 2) => Scalar::Float(-v),
        (Scalar::Bytes(mut v), 1) => {
            v.pop();
            Scalar::Bytes(v)
        }
        (Scalar::Bytes(mut v), 2) => {
            v.push(b'a');
            Scalar::Bytes(v)
        }
        (Scalar::Interval(a, b, c), 1) => Scalar::Interval(a, b, c.wrapping_add(1)),
        (value, _) => value,
    }
}
