//! Statistics of a column in some chunks of a table: nulls, bounds, distinct values, bytes.
//!
//! Null counts are exact. Bounds are exact where the zone maps' are, except those of floats: a zone map takes -0 and 0 as equal.
//! Where rows of the chunks are deleted, neither is: zone maps are about deleted rows too.
//! Distinct counts are those of the table's sketches, scaled down to the chunks. Tables whose rows are older than sketches have
//! none but that of the primary key.

use braid_base::ColumnId;
use braid_storage::{ChunkMeta, ColumnType, PhysicalType, Scalar, TableVersion};

/// A number of rows or of nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// There are this many.
    Exact(u64),
    /// There are about this many.
    Estimated(u64),
}

impl Count {
    /// The number, exact or not.
    pub fn value(self) -> u64 {
        match self {
            Self::Exact(count) | Self::Estimated(count) => count,
        }
    }

    /// The estimate for a share of the rows.
    pub(super) fn scaled(self, share: f64) -> Self {
        Self::Estimated(scaled(self.value(), share))
    }
}

/// A share of a number, rounded up.
pub(super) fn scaled(count: u64, share: f64) -> u64 {
    (count as f64 * share).ceil() as u64
}

/// The smallest and the largest value of a column, nulls aside.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// No value is below this.
    pub min: Scalar,
    /// No value is above this.
    pub max: Scalar,
    /// Whether both occur among the rows.
    pub is_exact: bool,
}

/// What is known of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// The type of its values, which says what the bounds mean.
    pub column_type: ColumnType,
    /// Rows in which it is null.
    pub null_count: Count,
    /// Its bounds; `None` if there are no values, or some chunk with values has no bound.
    pub bounds: Option<Bounds>,
    /// About how many different values it has, nulls aside; `None` if they were not counted.
    pub distinct_count: Option<u64>,
    /// About how many bytes its decoded values have.
    pub decoded_bytes: u64,
}

impl ColumnStatistics {
    /// Of all rows of `chunks`, which are some of `version`.
    pub(super) fn of(version: &TableVersion, column: ColumnId, chunks: &[&ChunkMeta]) -> Self {
        let at = version.position(column);
        let column_type = version.value_type(column);
        let null_count: u64 = chunks.iter().map(|chunk| nulls_left(chunk, at)).sum();
        let row_count: u64 = chunks.iter().map(|chunk| u64::from(chunk.live_row_count())).sum();
        let has_all_rows = chunks.iter().all(|chunk| chunk.deleted.is_none());
        let mut statistics = Self {
            column_type,
            null_count: if has_all_rows { Count::Exact(null_count) } else { Count::Estimated(null_count) },
            bounds: bounds(column_type, at, chunks),
            distinct_count: distinct_count(version, column, row_count - null_count),
            decoded_bytes: decoded_bytes(column_type, at, row_count, chunks),
        };
        if let (Some(distinct), Some(width)) = (statistics.distinct_count, statistics.integer_width()) {
            statistics.distinct_count = Some(counted(width.min(distinct as f64)));
        }
        statistics
    }

    /// Number of values that there can be from the smallest to the largest, where they are integers or whole steps of a numeric.
    pub fn integer_width(&self) -> Option<f64> {
        let integer = |value: &Scalar| match (self.column_type, value) {
            (
                ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt | ColumnType::Date,
                Scalar::Int(value),
            ) => Some(*value as f64),
            (ColumnType::Numeric { .. }, Scalar::Int(value)) => Some(*value as f64),
            (ColumnType::Numeric { .. }, Scalar::Int128(value)) => Some(*value as f64),
            _ => None,
        };
        let Bounds { min, max, .. } = self.bounds.as_ref()?;
        Some(integer(max)? - integer(min)? + 1.0)
    }
}

/// Distinct values among `left` of `rows` rows that have `distinct` of them, each equally often: Yao, CACM 1977, in the
/// limit of many rows. A value goes when all its rows do.
pub(super) fn distinct_left(distinct: f64, rows: f64, left: f64) -> f64 {
    if left >= rows || distinct <= 0.0 {
        return distinct;
    }
    let rows_each = (rows / distinct).max(1.0);
    (distinct * (1.0 - (1.0 - left / rows).powf(rows_each))).min(left)
}

/// An estimate of distinct values as a number of them, at least one.
pub(super) fn counted(distinct: f64) -> u64 {
    distinct.round().max(1.0) as u64
}

/// Distinct values of a column in chunks with this number of values.
fn distinct_count(version: &TableVersion, column: ColumnId, value_count: u64) -> Option<u64> {
    if version.def.primary_key == [column] {
        return Some(value_count);
    }
    let distinct = version.distinct_count(column).filter(|_| value_count > 0)?;
    let at = version.position(column);
    let values = |chunk: &ChunkMeta| u64::from(chunk.live_row_count()) - nulls_left(chunk, at);
    let all: u64 = version.chunks.iter().map(|chunk| values(chunk)).sum();
    Some(counted(distinct_left(distinct.min(all as f64), all as f64, value_count as f64)))
}

/// Nulls of a column among the rows of a chunk that are not deleted, if they are as frequent as among all.
fn nulls_left(chunk: &ChunkMeta, at: usize) -> u64 {
    let nulls = u64::from(chunk.segments[at].zone_map.null_count);
    nulls * u64::from(chunk.live_row_count()) / u64::from(chunk.row_count)
}

/// The smallest and largest value over `chunks`; absent when some chunk with values has no bound.
fn bounds(column_type: ColumnType, at: usize, chunks: &[&ChunkMeta]) -> Option<Bounds> {
    if matches!(column_type, ColumnType::Encoded { .. }) {
        return None;
    }
    let mut is_exact = !matches!(column_type, ColumnType::Real | ColumnType::Double);
    let mut bounds: Option<(&Scalar, &Scalar)> = None;
    for chunk in chunks {
        let zone_map = &chunk.segments[at].zone_map;
        if zone_map.null_count == chunk.row_count {
            continue;
        }
        let (min, max) = (zone_map.min.as_ref()?, zone_map.max.as_ref()?);
        is_exact &= zone_map.exact && chunk.deleted.is_none();
        bounds = Some(match bounds {
            None => (min, max),
            Some((low, high)) => (
                if min.compare(low).is_some_and(|order| order.is_lt()) { min } else { low },
                if max.compare(high).is_some_and(|order| order.is_gt()) { max } else { high },
            ),
        });
    }
    bounds.map(|(min, max)| Bounds { min: min.clone(), max: max.clone(), is_exact })
}

/// Estimated bytes of the decoded column: exact widths, and for strings 16 bytes of view and what the encoded bytes
/// suggest, light codecs shrinking text to about half.
fn decoded_bytes(column_type: ColumnType, at: usize, row_count: u64, chunks: &[&ChunkMeta]) -> u64 {
    match (column_type, column_type.physical()) {
        (_, PhysicalType::Bool) => row_count.div_ceil(8),
        (ColumnType::SmallInt, _) => 2 * row_count,
        (ColumnType::Integer | ColumnType::Date, _) | (_, PhysicalType::Float32) => 4 * row_count,
        (ColumnType::Numeric { .. } | ColumnType::Uuid, _) | (_, PhysicalType::Int128 | PhysicalType::Interval) => {
            16 * row_count
        }
        (_, PhysicalType::Int | PhysicalType::Float64) => 8 * row_count,
        (_, PhysicalType::Bytes) => {
            let encoded: u64 = chunks.iter().map(|chunk| u64::from(chunk.segments[at].segment_bytes)).sum();
            16 * row_count + 2 * encoded
        }
    }
}
