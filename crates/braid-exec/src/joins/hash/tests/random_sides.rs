//! Random rows of a join's sides, with keys of all kinds in all representations.

use std::sync::Arc;

use braid_storage::Scalar;
use braid_testing::proptest::prelude::*;

use crate::values::batch::Origin;
use crate::values::byte_strings::ByteStrings;
use crate::values::row_numbers::RowNumbers;
use crate::values::vector::{CodedStrings, Values};
use crate::{Batch, Vector};

pub(super) type Value = Option<Scalar>;

/// A side of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Probe,
    Build,
}

/// The kind of keys. All keys are made from small numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    None,
    Dense,
    /// Addresses with gaps, for ranks.
    Spread,
    /// Addresses far apart, for hashes that contain the whole address.
    Apart,
    Sparse,
    /// The range of the values does not fit 63 bits.
    Extreme,
    TwoDense,
    TwoSparse,
    Wide,
    Text,
    Float,
    Bool,
    IntegerAndText,
}

pub(super) const SHAPES: [Shape; 13] = [
    Shape::None,
    Shape::Dense,
    Shape::Spread,
    Shape::Apart,
    Shape::Sparse,
    Shape::Extreme,
    Shape::TwoDense,
    Shape::TwoSparse,
    Shape::Wide,
    Shape::Text,
    Shape::Float,
    Shape::Bool,
    Shape::IntegerAndText,
];

impl Shape {
    pub(super) fn keys(self, a: Option<u8>, b: Option<u8>) -> Vec<Value> {
        let integer = |n: Option<u8>, step: i64| n.map(|n| Scalar::Int((i64::from(n) - 6) * step));
        let text = |n: Option<u8>| {
            n.map(|n| Scalar::Bytes(format!("{n}{}", "-and-so-on-and-on".repeat(usize::from(n % 3))).into_bytes()))
        };
        match self {
            Self::None => vec![],
            Self::Dense => vec![integer(a, 1)],
            Self::Spread => vec![integer(a, 7)],
            Self::Apart => vec![integer(a, 100_000)],
            Self::Sparse => vec![integer(a, 1 << 40)],
            Self::Extreme => vec![integer(a, i64::MAX / 6)],
            Self::TwoDense => vec![integer(a, 1), integer(b.map(|b| b % 3), 2)],
            Self::TwoSparse => vec![integer(a, 1 << 20), integer(b.map(|b| b % 3), 1 << 30)],
            Self::Wide => {
                vec![a.map(|a| if a < 6 { Scalar::Int(a.into()) } else { Scalar::Int128((1 << 100) + i128::from(a)) })]
            }
            Self::Text => vec![text(a)],
            Self::Float => {
                let floats = [f64::NAN, -f64::NAN, 0.0, -0.0, 1.5, f64::INFINITY, -2.25];
                vec![a.map(|a| Scalar::Float(floats[usize::from(a) % floats.len()]))]
            }
            Self::Bool => vec![a.map(|a| Scalar::Bool(a % 2 == 0))],
            Self::IntegerAndText => vec![integer(a, 3), text(b.map(|b| b % 4))],
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) keys: Vec<Value>,
}

/// The numbers of a row's keys, and the representation of a batch that begins with this row.
pub(super) type Numbers = (Option<u8>, Option<u8>, u8);

pub(super) fn rows(shape: Shape, numbers: &[Numbers]) -> Vec<Row> {
    (0..).zip(numbers).map(|(id, (a, b, _))| Row { id, keys: shape.keys(*a, *b) }).collect()
}

/// Values in one of the representations of their kind.
pub(super) fn vector(values: &[Value], form: u8) -> Vector {
    let valid = (form & 2 == 0 || values.contains(&None)).then(|| values.iter().map(Option::is_some).collect());
    let values = match values.iter().flatten().next() {
        None => return Vector::repeat(None, values.len()),
        Some(Scalar::Bool(_)) => Values::Bool(values.iter().map(|v| matches!(v, Some(Scalar::Bool(true)))).collect()),
        Some(Scalar::Float(_)) => Values::Float(
            values.iter().map(|value| if let Some(Scalar::Float(value)) = value { *value } else { 7.0 }).collect(),
        ),
        Some(Scalar::Bytes(_)) => strings(values, form),
        Some(_) => {
            let wide = |value: &Value| match value {
                Some(Scalar::Int(value)) => i128::from(*value),
                Some(Scalar::Int128(value)) => *value,
                _ => 1,
            };
            let wide: Vec<i128> = values.iter().map(wide).collect();
            let narrow: Result<Vec<i64>, _> = wide.iter().map(|value| i64::try_from(*value)).collect();
            narrow.ok().filter(|_| form & 1 == 0).map_or(Values::Int128(wide), Values::Int)
        }
    };
    Vector::new(values, valid)
}

fn strings(values: &[Value], form: u8) -> Values {
    let strings: Vec<&[u8]> = values
        .iter()
        .map(|value| if let Some(Scalar::Bytes(value)) = value { value.as_slice() } else { b"null" })
        .collect();
    if form & 1 == 0 {
        return Values::Bytes(ByteStrings::from_strings(strings));
    }
    let mut distinct = strings.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let code = |string: &&[u8]| distinct.iter().position(|other| other == string).unwrap() as u32;
    let codes = strings.iter().map(code).collect();
    Values::Coded(CodedStrings { codes, dictionary: Arc::new(ByteStrings::from_strings(distinct.iter().copied())) })
}

struct Held(Vector);

impl Origin for Held {
    fn read(&self, _: usize, rows: &RowNumbers) -> Vector {
        self.0.take(rows.as_slice())
    }
}

/// Rows of a side. Probe rows have the keys followed by the id; build rows have the id first.
fn batch(rows: &[Row], form: u8, key_count: usize, side: Side) -> Batch {
    let ids = Arc::new(Vector::integers(rows.iter().map(|row| row.id).collect()));
    let mut batch = Batch::new(rows.len());
    if side == Side::Build {
        batch.push(ids.clone());
    }
    for key in 0..key_count {
        let values: Vec<Value> = rows.iter().map(|row| row.keys[key].clone()).collect();
        let vector = vector(&values, form);
        if form & 4 == 0 {
            batch.push(Arc::new(vector));
        } else {
            batch.push_deferred(Arc::new(Held(vector)), (0..rows.len() as u32).collect::<Vec<u32>>(), [0]);
        }
    }
    if side == Side::Probe {
        batch.push(ids);
    }
    batch
}

/// A side in batches of `size` rows.
pub(super) fn batches(rows: &[Row], numbers: &[Numbers], size: usize, key_count: usize, side: Side) -> Vec<Batch> {
    let pieces = rows.chunks(size).zip(numbers.chunks(size));
    pieces.map(|(rows, numbers)| batch(rows, numbers[0].2, key_count, side)).collect()
}

/// Random numbers of rows.
pub(super) fn numbers(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Numbers>> {
    let number = || prop::option::weighted(0.9, 0..13u8);
    prop::collection::vec((number(), number(), 0..8u8), length)
}
