//! Predicates translated into what a segment stores, once a segment, so that the work per vector is least.
//!
//! Constants become integers in the order of the encoding (days, unscaled numerics, keys of floats), sets of
//! dictionary codes, or compressed strings. What remains per vector is a comparison with the vector's frame and, when
//! that does not decide, one pass over its codes.

use super::body::{Body, scalar_of_sixteen_bytes};
use super::string_column::StringTest;
use crate::codec::alp::order_key;
use crate::codec::bitmap;
use crate::codec::integer_test::{IntegerTest, Key};
use crate::codec::sixteen_bytes::SixteenBytes;
use crate::{ColumnPredicate, PhysicalType, Scalar, Segment, Selection};

/// A [`ColumnPredicate`] translated for one segment; see [`Segment::prepare`].
#[derive(Debug)]
pub struct PreparedPredicate {
    test: Test,
}

#[derive(Debug)]
enum Test {
    Never,
    Null,
    NotNull,
    /// On integers, codes, keys of floats, or booleans.
    Integer(IntegerTest),
    String(StringTest),
    /// On values one by one.
    Scalar(ColumnPredicate),
}

impl PreparedPredicate {
    /// Whether the translation alone shows that no row of the segment satisfies the predicate.
    pub fn is_never(&self) -> bool {
        matches!(self.test, Test::Never)
    }
}

impl Segment {
    /// Translates a predicate for this segment. The result is of use with this segment only.
    pub fn prepare(&self, predicate: &ColumnPredicate) -> PreparedPredicate {
        let test = match predicate {
            ColumnPredicate::IsNull if self.null_count() == 0 => Test::Never,
            ColumnPredicate::IsNull => Test::Null,
            ColumnPredicate::IsNotNull => Test::NotNull,
            _ => match self.translate(predicate) {
                Test::Integer(IntegerTest::Never) => Test::Never,
                Test::Integer(IntegerTest::Always) => Test::NotNull,
                test => test,
            },
        };
        PreparedPredicate { test }
    }

    fn translate(&self, predicate: &ColumnPredicate) -> Test {
        let physical = self.column_type().physical();
        match self.body() {
            Body::Constant(constant) => match constant.scalar(physical) {
                Some(value) if predicate.matches(Some(&value)) => Test::NotNull,
                _ => Test::Never,
            },
            Body::Integers(integers) => Test::Integer(match physical {
                PhysicalType::Float32 => integers.prepare_floats::<f32>(float_test(predicate)),
                PhysicalType::Float64 => integers.prepare_floats::<f64>(float_test(predicate)),
                PhysicalType::Int128 => integers.prepare(IntegerTest::translate(predicate, key_of_int128)),
                _ => integers.prepare(IntegerTest::translate(predicate, key_of_int)),
            }),
            Body::Floats32(_) | Body::Floats64(_) => Test::Integer(float_test(predicate)),
            Body::Bits(_) => Test::Integer(IntegerTest::translate(predicate, key_of_bool)),
            Body::SixteenBytes(values) => {
                let matches = |value| predicate.matches(Some(&scalar_of_sixteen_bytes(value, physical)));
                values.prepare(matches).map_or_else(|| Test::Scalar(predicate.clone()), Test::Integer)
            }
            Body::Strings(strings) => strings.prepare(predicate).map_or(Test::Never, Test::String),
        }
    }

    /// Keeps in `selection` the rows of a vector that satisfy a predicate prepared by this segment.
    ///
    /// Panics when there is no such vector, or it has another number of rows than the selection.
    pub fn filter_prepared(&self, vector: usize, predicate: &PreparedPredicate, selection: &mut Selection) {
        assert_eq!(selection.len(), self.vector_rows(vector), "a selection has as many rows as its vector");
        match &predicate.test {
            Test::Never => return selection.clear(),
            Test::Null => return self.retain_nulls(vector, selection),
            _ => self.retain_valid(vector, selection),
        }
        if selection.is_empty() {
            return;
        }
        let physical = self.column_type().physical();
        match (&predicate.test, self.body()) {
            (Test::NotNull, _) => {}
            (Test::Integer(test), Body::Integers(integers)) => match physical {
                PhysicalType::Float32 => integers.filter_floats::<f32>(vector, test, selection),
                PhysicalType::Float64 => integers.filter_floats::<f64>(vector, test, selection),
                _ => integers.filter(vector, test, selection),
            },
            (Test::Integer(test), Body::Floats32(floats)) => floats.filter(vector, test, selection),
            (Test::Integer(test), Body::Floats64(floats)) => floats.filter(vector, test, selection),
            (Test::Integer(test), Body::Bits(bits)) => match (test.holds(0), test.holds(1)) {
                (false, true) => selection.and_words(&bitmap::vector_words(bits, vector)),
                (true, false) => selection.and_not_words(&bitmap::vector_words(bits, vector)),
                (true, true) => {}
                (false, false) => selection.clear(),
            },
            (Test::Integer(test), Body::SixteenBytes(values)) => values.filter_codes(vector, test, selection),
            (Test::Scalar(predicate), Body::SixteenBytes(values)) => {
                filter_scalars(values, vector, predicate, physical, selection);
            }
            (Test::String(test), Body::Strings(strings)) => strings.filter(vector, test, selection),
            _ => unreachable!("a prepared predicate is used with the segment that prepared it"),
        }
    }

    fn retain_nulls(&self, vector: usize, selection: &mut Selection) {
        match self.validity() {
            Some(validity) => selection.and_not_words(&bitmap::vector_words(validity, vector)),
            None if self.null_count() == 0 => selection.clear(),
            None => {}
        }
    }

    fn retain_valid(&self, vector: usize, selection: &mut Selection) {
        match self.validity() {
            Some(validity) => selection.and_words(&bitmap::vector_words(validity, vector)),
            None if self.null_count() == 0 => {}
            None => selection.clear(),
        }
    }
}

fn filter_scalars(
    values: &SixteenBytes,
    vector: usize,
    predicate: &ColumnPredicate,
    physical: PhysicalType,
    selection: &mut Selection,
) {
    let first = vector * braid_base::VECTOR_ROWS;
    selection.retain(|row| predicate.matches(Some(&scalar_of_sixteen_bytes(values.get(first + row), physical))));
}

fn float_test(predicate: &ColumnPredicate) -> IntegerTest {
    IntegerTest::translate(predicate, |scalar| match scalar {
        Scalar::Float(value) => Some(Key::Exact(order_key(*value))),
        _ => None,
    })
}

fn key_of_int(scalar: &Scalar) -> Option<Key> {
    match scalar {
        Scalar::Int(value) => Some(Key::Exact(*value)),
        _ => None,
    }
}

fn key_of_int128(scalar: &Scalar) -> Option<Key> {
    match scalar {
        Scalar::Int128(value) => Some(Key::of_i128(*value)),
        _ => None,
    }
}

fn key_of_bool(scalar: &Scalar) -> Option<Key> {
    match scalar {
        Scalar::Bool(value) => Some(Key::Exact(i64::from(*value))),
        _ => None,
    }
}
