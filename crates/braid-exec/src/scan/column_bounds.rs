//! What the zone maps of a table's chunks say of a column: bounds of integers, and whether there are nulls.

use braid_base::ColumnId;
use braid_storage::{PhysicalType, Scalar, TableVersion};

use crate::IntegerBounds;

/// Bounds of a column's values; `None` if they are no integers, or some zone map has no bounds.
pub(crate) fn column_bounds(version: &TableVersion, column: ColumnId) -> Option<IntegerBounds> {
    if !matches!(version.physical(column), PhysicalType::Int | PhysicalType::Int128) {
        return None;
    }
    let of_chunks = version.chunks.iter().filter_map(|chunk| {
        let zone_map = &chunk.segment(column).zone_map;
        let of_chunk = || Some(IntegerBounds { low: integer(&zone_map.min)?, high: integer(&zone_map.max)? });
        (zone_map.null_count < chunk.row_count).then(of_chunk)
    });
    let bounds: Option<Vec<IntegerBounds>> = of_chunks.collect();
    // Bounds of no values hold whatever they are.
    Some(bounds?.into_iter().reduce(IntegerBounds::or).unwrap_or(IntegerBounds::only(0)))
}

/// Whether a column has no nulls.
pub(crate) fn is_null_free(version: &TableVersion, column: ColumnId) -> bool {
    version.chunks.iter().all(|chunk| chunk.segment(column).zone_map.null_count == 0)
}

fn integer(bound: &Option<Scalar>) -> Option<i128> {
    match bound {
        Some(Scalar::Int(value)) => Some((*value).into()),
        Some(Scalar::Int128(value)) => Some(*value),
        _ => None,
    }
}
