//! The statistics of [`braid_plan::statistics`] as DataFusion's optimiser takes them.
//!
//! With predicates pushed into the scan, DataFusion sees no filter to estimate: the scan estimates itself.

use braid_base::ColumnId;
use braid_plan::statistics::{Bounds, ColumnStatistics, ConditionOn, Count, ScanStatistics};
use braid_storage::{ColumnType, Scalar, TableVersion};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics as DataFusionColumn, ScalarValue, Statistics};

use crate::scalar_value::scalar_value;

/// Statistics of the rows of `chunks` (indices into the version) that satisfy `predicates`, projected to `columns`.
pub fn table_statistics(
    version: &TableVersion,
    columns: &[ColumnId],
    chunks: &[usize],
    predicates: &[ConditionOn],
) -> Statistics {
    let ScanStatistics { row_count, decoded_bytes, columns } = ScanStatistics::of(version, columns, chunks, predicates);
    Statistics {
        num_rows: precision(row_count),
        total_byte_size: Precision::Inexact(decoded_bytes as usize),
        column_statistics: columns.iter().map(column_statistics).collect(),
    }
}

fn column_statistics(column: &ColumnStatistics) -> DataFusionColumn {
    let mut statistics = DataFusionColumn::new_unknown();
    statistics.null_count = precision(column.null_count);
    statistics.byte_size = Precision::Inexact(column.decoded_bytes as usize);
    statistics.distinct_count =
        column.distinct_count.map_or(Precision::Absent, |count| Precision::Inexact(count as usize));
    if let Some(Bounds { min, max, is_exact }) = &column.bounds {
        statistics.min_value = bound(column.column_type, min, *is_exact);
        statistics.max_value = bound(column.column_type, max, *is_exact);
    }
    statistics
}

fn precision(count: Count) -> Precision<usize> {
    match count {
        Count::Exact(count) => Precision::Exact(count as usize),
        Count::Estimated(count) => Precision::Inexact(count as usize),
    }
}

fn bound(column_type: ColumnType, bound: &Scalar, is_exact: bool) -> Precision<ScalarValue> {
    match scalar_value(column_type, bound) {
        Some(value) if is_exact => Precision::Exact(value),
        Some(value) => Precision::Inexact(value),
        None => Precision::Absent,
    }
}
