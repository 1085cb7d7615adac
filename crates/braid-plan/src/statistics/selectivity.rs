//! The share of a chunk's rows that satisfy predicates, from the chunk's zone maps and the table's sketches.
//!
//! Values are taken as spread evenly between a chunk's bounds, and columns as independent (System R, section 4).

use std::ops::Bound;

use braid_base::ColumnId;
use braid_storage::{ChunkMeta, ColumnPredicate, Scalar, TableVersion, Verdict};

/// A predicate and the column it is about.
pub type ConditionOn = (ColumnId, ColumnPredicate);

/// Share of rows a comparison keeps when nothing better is known: System R's guess for a range.
const SELECTIVITY_UNKNOWN: f64 = 1.0 / 3.0;

/// Share of rows an equality keeps when nothing better is known.
const SELECTIVITY_EQUAL_UNKNOWN: f64 = 0.05;

/// Estimated share of the rows of `chunk` that satisfy all `predicates`.
pub(super) fn selectivity(version: &TableVersion, chunk: &ChunkMeta, predicates: &[&ConditionOn]) -> f64 {
    predicates.iter().map(|(column, predicate)| selectivity_of(version, chunk, *column, predicate)).product()
}

fn selectivity_of(version: &TableVersion, chunk: &ChunkMeta, column: ColumnId, predicate: &ColumnPredicate) -> f64 {
    let zone_map = &chunk.segment(column).zone_map;
    match zone_map.verdict(predicate, chunk.row_count) {
        Verdict::None => return 0.0,
        Verdict::All => return 1.0,
        Verdict::Some => {}
    }
    let nulls = f64::from(zone_map.null_count) / f64::from(chunk.row_count);
    let spread = zone_map.min.as_ref().zip(zone_map.max.as_ref()).and_then(|(min, max)| Spread::new(min, max));
    // Of the non-null rows: no more values than the table has, than fit between the bounds, than there are rows.
    let value_count = f64::from(chunk.row_count - zone_map.null_count);
    let counts = [version.distinct_count(column), spread.as_ref().and_then(Spread::value_count)];
    let distinct = counts.into_iter().flatten().reduce(f64::min);
    let equal = distinct.map_or(SELECTIVITY_EQUAL_UNKNOWN, |distinct| 1.0 / distinct.min(value_count).max(1.0));
    let share = match predicate {
        ColumnPredicate::IsNull => return nulls,
        ColumnPredicate::IsNotNull => 1.0,
        ColumnPredicate::NotEqual(_) => 1.0 - equal,
        ColumnPredicate::In(values) => equal * values.len() as f64,
        ColumnPredicate::NotIn(values) => 1.0 - equal * values.len() as f64,
        ColumnPredicate::Range { low: Bound::Included(low), high: Bound::Included(high) } if low == high => equal,
        ColumnPredicate::Range { low, high } => {
            spread.as_ref().map_or(SELECTIVITY_UNKNOWN, |spread| spread.share_between(low, high))
        }
    };
    share.clamp(0.0, 1.0) * (1.0 - nulls)
}

/// Values taken as spread evenly from `min` to `max`.
struct Spread {
    min: f64,
    max: f64,
    /// Whether values lie at whole steps, so that their number is known.
    stepped: bool,
}

impl Spread {
    fn new(min: &Scalar, max: &Scalar) -> Option<Self> {
        let stepped = matches!(min, Scalar::Int(_) | Scalar::Int128(_) | Scalar::Bool(_));
        let (min, max) = (number(min)?, number(max)?);
        (min.is_finite() && max.is_finite()).then_some(Self { min, max, stepped })
    }

    /// How many values there can be, where they can be counted.
    fn value_count(&self) -> Option<f64> {
        self.stepped.then_some(self.max - self.min + 1.0)
    }

    fn share_between(&self, low: &Bound<Scalar>, high: &Bound<Scalar>) -> f64 {
        let step = if self.stepped { 1.0 } else { 0.0 };
        let width = self.max - self.min + step;
        let value = |bound: &Bound<Scalar>, excluded: f64| match bound {
            Bound::Unbounded => None,
            Bound::Included(value) => number(value),
            Bound::Excluded(value) => number(value).map(|value| value + excluded),
        };
        let low = value(low, step).map_or(self.min, |low| low.max(self.min));
        let high = value(high, -step).map_or(self.max, |high| high.min(self.max));
        if width <= 0.0 { 1.0 } else { (high - low + step).max(0.0) / width }
    }
}

/// A number that keeps the order of scalars well enough to interpolate: of strings, the first eight bytes.
fn number(scalar: &Scalar) -> Option<f64> {
    Some(match scalar {
        Scalar::Bool(value) => f64::from(u8::from(*value)),
        Scalar::Int(value) => *value as f64,
        Scalar::Int128(value) => *value as f64,
        Scalar::Float(value) => *value,
        Scalar::Bytes(bytes) => {
            let mut prefix = [0; 8];
            let length = bytes.len().min(8);
            prefix[..length].copy_from_slice(&bytes[..length]);
            u64::from_be_bytes(prefix) as f64
        }
        Scalar::Interval(..) => return None,
    })
}
