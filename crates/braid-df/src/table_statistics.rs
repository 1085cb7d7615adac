//! Row counts, bounds, distinct counts and selectivities from the catalog, without reading a segment.
//!
//! Row and null counts are exact. Bounds are exact where the zone maps' are, except those of floats, whose order in
//! DataFusion tells -0 from 0. With predicates pushed into the scan, DataFusion sees no filter to estimate: the scan
//! estimates itself, chunk by chunk, taking values as spread evenly between a chunk's bounds and columns as independent
//! (System R, section 4). Join order and build sides hang on these numbers.
//!
//! Distinct counts are those of the table's sketches, scaled down to the rows that are left. Tables whose rows are older
//! than sketches have none but that of the primary key.

use std::ops::Bound;

use braid_base::ColumnId;
use braid_storage::{ChunkMeta, ColumnPredicate, ColumnType, Scalar, TableVersion, Verdict};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};

use crate::scalar_value::scalar_value;

/// Share of rows a comparison keeps when nothing better is known: System R's guess for a range.
const SELECTIVITY_UNKNOWN: f64 = 1.0 / 3.0;

/// Share of rows an equality keeps when nothing better is known.
const SELECTIVITY_EQUAL_UNKNOWN: f64 = 0.05;

/// Statistics of the rows of `chunks` (indices into the version) that satisfy `predicates`, projected to `columns`.
pub fn table_statistics(
    version: &TableVersion,
    columns: &[ColumnId],
    chunks: &[usize],
    predicates: &[(ColumnId, ColumnPredicate)],
) -> Statistics {
    let chunks: Vec<&ChunkMeta> = chunks.iter().map(|index| version.chunks[*index].as_ref()).collect();
    let row_count: u64 = chunks.iter().map(|chunk| u64::from(chunk.row_count)).sum();
    let column_statistics: Vec<ColumnStatistics> =
        columns.iter().map(|column| column_statistics(version, *column, &chunks)).collect();
    let bytes = column_statistics.iter().try_fold(0, |sum, column| column.byte_size.get_value().map(|b| sum + b));
    let mut statistics = Statistics {
        num_rows: Precision::Exact(row_count as usize),
        total_byte_size: bytes.map_or(Precision::Absent, Precision::Inexact),
        column_statistics,
    };
    if predicates.is_empty() || row_count == 0 {
        return statistics;
    }
    let selected = SelectedRows { version, chunks: &chunks, predicates };
    let rows_left = selected.all();
    for (column, statistics) in columns.iter().zip(&mut statistics.column_statistics) {
        statistics.distinct_count = selected.distinct_count(*column, statistics, rows_left);
    }
    scaled(statistics, columns, predicates, rows_left / row_count as f64)
}

/// A predicate and the column it is about.
type ConditionOn = (ColumnId, ColumnPredicate);

/// The rows of some chunks that satisfy predicates.
struct SelectedRows<'a> {
    version: &'a TableVersion,
    chunks: &'a [&'a ChunkMeta],
    predicates: &'a [ConditionOn],
}

impl SelectedRows<'_> {
    /// How many there are.
    fn all(&self) -> f64 {
        self.count(&self.predicates.iter().collect::<Vec<_>>())
    }

    /// How many satisfy `predicates`.
    fn count(&self, predicates: &[&ConditionOn]) -> f64 {
        let of_chunk = |chunk: &&ChunkMeta| f64::from(chunk.row_count) * selectivity(self.version, chunk, predicates);
        self.chunks.iter().map(of_chunk).sum()
    }

    /// Distinct values of a column in the `rows_left` that there are, from its statistics in all rows.
    fn distinct_count(&self, column: ColumnId, all: &ColumnStatistics, rows_left: f64) -> Precision<usize> {
        let own: Vec<&ConditionOn> = self.predicates.iter().filter(|(other, _)| *other == column).collect();
        let is_null = own.iter().any(|(_, predicate)| matches!(predicate, ColumnPredicate::IsNull));
        let (Some(&distinct), false) = (all.distinct_count.get_value(), is_null) else { return Precision::Absent };
        let row_count: f64 = self.chunks.iter().map(|chunk| f64::from(chunk.row_count)).sum();
        let values = row_count - all.null_count.get_value().map_or(0.0, |nulls| *nulls as f64);
        if own.is_empty() {
            return counted(distinct_left(distinct as f64, values, values * rows_left / row_count));
        }
        // What is asked of the column itself removes values; what is asked of others, rows.
        let values_left = self.count(&own);
        counted(distinct_left(distinct as f64 * values_left / values, values_left, rows_left))
    }
}

/// `statistics` with `share` of the rows left, which distinct counts know of already.
fn scaled(statistics: Statistics, columns: &[ColumnId], predicates: &[ConditionOn], share: f64) -> Statistics {
    let mut statistics = statistics.to_inexact();
    statistics.num_rows = scaled_count(statistics.num_rows, share);
    statistics.total_byte_size = scaled_count(statistics.total_byte_size, share);
    for (column, column_statistics) in columns.iter().zip(&mut statistics.column_statistics) {
        column_statistics.byte_size = scaled_count(column_statistics.byte_size, share);
        let mut on_column = predicates.iter().filter(|(other, _)| other == column).peekable();
        // Every predicate but IS NULL drops the nulls.
        column_statistics.null_count = match on_column.peek() {
            Some((_, ColumnPredicate::IsNull)) => statistics.num_rows,
            Some(_) => Precision::Exact(0),
            None => scaled_count(column_statistics.null_count, share),
        };
    }
    statistics
}

/// Distinct values among `left` of `rows` rows that have `distinct` of them, each equally often: Yao, CACM 1977, in the
/// limit of many rows. A value goes when all its rows do.
fn distinct_left(distinct: f64, rows: f64, left: f64) -> f64 {
    if left >= rows || distinct <= 0.0 {
        return distinct;
    }
    let rows_each = (rows / distinct).max(1.0);
    (distinct * (1.0 - (1.0 - left / rows).powf(rows_each))).min(left)
}

fn counted(distinct: f64) -> Precision<usize> {
    Precision::Inexact(distinct.round().max(1.0) as usize)
}

fn scaled_count(count: Precision<usize>, share: f64) -> Precision<usize> {
    count.map(|count| (count as f64 * share).ceil() as usize).to_inexact()
}

fn column_statistics(version: &TableVersion, column: ColumnId, chunks: &[&ChunkMeta]) -> ColumnStatistics {
    let at = usize::from(column.0);
    let column_type = version.def.columns[at].column_type;
    let null_count: u64 = chunks.iter().map(|chunk| u64::from(chunk.segments[at].zone_map.null_count)).sum();
    let row_count: u64 = chunks.iter().map(|chunk| u64::from(chunk.row_count)).sum();
    let mut statistics = ColumnStatistics::new_unknown();
    statistics.null_count = Precision::Exact(null_count as usize);
    statistics.byte_size = Precision::Inexact(decoded_bytes(column_type, at, row_count, chunks) as usize);
    (statistics.min_value, statistics.max_value) = bounds(column_type, at, chunks);
    statistics.distinct_count = distinct_count(version, column, row_count - null_count);
    if let (Precision::Inexact(distinct), Some(width)) = (statistics.distinct_count, integer_width(&statistics)) {
        statistics.distinct_count = counted(width.min(distinct as f64));
    }
    statistics
}

/// Distinct values of a column in chunks with this number of values.
fn distinct_count(version: &TableVersion, column: ColumnId, value_count: u64) -> Precision<usize> {
    if version.def.primary_key == [column] {
        return Precision::Inexact(value_count as usize);
    }
    let Some(distinct) = version.distinct_count(column).filter(|_| value_count > 0) else { return Precision::Absent };
    let values =
        |chunk: &ChunkMeta| u64::from(chunk.row_count - chunk.segments[usize::from(column.0)].zone_map.null_count);
    let all: u64 = version.chunks.iter().map(|chunk| values(chunk)).sum();
    counted(distinct_left(distinct.min(all as f64), all as f64, value_count as f64))
}

/// Values that there can be from the smallest to the largest, where they are integers.
pub(crate) fn integer_width(statistics: &ColumnStatistics) -> Option<f64> {
    let integer = |value: &ScalarValue| match value {
        ScalarValue::Int16(value) => value.map(f64::from),
        ScalarValue::Int32(value) | ScalarValue::Date32(value) => value.map(f64::from),
        ScalarValue::Int64(value) => value.map(|value| value as f64),
        ScalarValue::Decimal128(value, _, _) => value.map(|value| value as f64),
        _ => None,
    };
    let (min, max) = (statistics.min_value.get_value()?, statistics.max_value.get_value()?);
    Some(integer(max)? - integer(min)? + 1.0)
}

/// The smallest and largest value over `chunks`; absent when some chunk with values has no bound.
fn bounds(
    column_type: ColumnType,
    at: usize,
    chunks: &[&ChunkMeta],
) -> (Precision<ScalarValue>, Precision<ScalarValue>) {
    let mut exact = !matches!(column_type, ColumnType::Real | ColumnType::Double);
    let mut bounds: Option<(&Scalar, &Scalar)> = None;
    for chunk in chunks {
        let zone_map = &chunk.segments[at].zone_map;
        if zone_map.null_count == chunk.row_count {
            continue;
        }
        let (Some(min), Some(max)) = (&zone_map.min, &zone_map.max) else {
            return (Precision::Absent, Precision::Absent);
        };
        exact &= zone_map.exact;
        bounds = Some(match bounds {
            None => (min, max),
            Some((low, high)) => (
                if min.compare(low).is_some_and(|order| order.is_lt()) { min } else { low },
                if max.compare(high).is_some_and(|order| order.is_gt()) { max } else { high },
            ),
        });
    }
    let precise = |scalar: &Scalar| match scalar_value(column_type, scalar) {
        Some(value) if exact => Precision::Exact(value),
        Some(value) => Precision::Inexact(value),
        None => Precision::Absent,
    };
    bounds.map_or((Precision::Absent, Precision::Absent), |(min, max)| (precise(min), precise(max)))
}

/// Estimated bytes of the decoded column: exact widths, and for strings 16 bytes of view and what the encoded bytes
/// suggest, light codecs shrinking text to about half.
fn decoded_bytes(column_type: ColumnType, at: usize, row_count: u64, chunks: &[&ChunkMeta]) -> u64 {
    match column_type {
        ColumnType::Boolean => row_count.div_ceil(8),
        ColumnType::SmallInt => 2 * row_count,
        ColumnType::Integer | ColumnType::Real | ColumnType::Date => 4 * row_count,
        ColumnType::BigInt | ColumnType::Double | ColumnType::Timestamp | ColumnType::TimestampTz => 8 * row_count,
        ColumnType::Numeric { .. } | ColumnType::Interval | ColumnType::Uuid => 16 * row_count,
        ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_) | ColumnType::Bytea => {
            let encoded: u64 = chunks.iter().map(|chunk| u64::from(chunk.segments[at].segment_bytes)).sum();
            16 * row_count + 2 * encoded
        }
    }
}

/// Estimated share of the rows of `chunk` that satisfy all `predicates`.
fn selectivity(version: &TableVersion, chunk: &ChunkMeta, predicates: &[&ConditionOn]) -> f64 {
    predicates.iter().map(|(column, predicate)| selectivity_of(version, chunk, *column, predicate)).product()
}

fn selectivity_of(version: &TableVersion, chunk: &ChunkMeta, column: ColumnId, predicate: &ColumnPredicate) -> f64 {
    let zone_map = &chunk.segments[usize::from(column.0)].zone_map;
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
