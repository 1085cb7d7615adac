//! The values of a column in rows that were there before the column was added: *missing values*.
//!
//! ALTER TABLE ADD COLUMN writes nothing into data files. A chunk from before has no segment of the new column in its file; in all
//! its rows the column has the value that its definition names ([`ColumnDef::missing`]), or null. In table versions such a
//! segment is a constant one in memory, so that readers know of nothing else than segments. It is made when a column is
//! added and when the manifest is opened, and is not in the manifest.

use std::collections::HashMap;

use crate::segment::encode_constant;
use crate::{ColumnDef, DistinctSketch, SegmentMeta, TableDef};

/// The segments of missing values, one for each column and number of rows.
#[derive(Debug, Default)]
pub(crate) struct MissingSegments {
    /// By the place of the column in the definition, and the number of rows.
    known: HashMap<(usize, u32), SegmentMeta>,
}

impl MissingSegments {
    /// A segment for each column of `def` of a chunk: those of `stored`, which ascend by their columns, and of missing values
    /// where there is none. Segments of other columns are left out. Those in memory are of the types that `def` declares.
    pub(crate) fn complete(&mut self, def: &TableDef, row_count: u32, stored: &[SegmentMeta]) -> Vec<SegmentMeta> {
        let segment = |(at, column): (usize, &ColumnDef)| {
            let found = stored.binary_search_by_key(&column.id, |segment| segment.column);
            found.map_or_else(
                |_| self.segment(at, column, row_count),
                |found| stored[found].declared(column.column_type),
            )
        };
        def.columns.iter().enumerate().map(segment).collect()
    }

    /// The segment of the column at this place in the definition.
    pub(crate) fn segment(&mut self, at: usize, column: &ColumnDef, row_count: u32) -> SegmentMeta {
        self.known.entry((at, row_count)).or_insert_with(|| missing_segment(column, row_count)).clone()
    }
}

/// The different values of a column in rows from before the column.
pub(crate) fn distinct_missing(column: &ColumnDef) -> DistinctSketch {
    let encoded = encode_constant(column.missing.as_ref(), column.column_type, 1);
    encoded.expect("a definition's missing values are checked").distinct
}

/// The segment of a column in a chunk from before the column.
pub(crate) fn missing_segment(column: &ColumnDef, row_count: u32) -> SegmentMeta {
    let encoded = encode_constant(column.missing.as_ref(), column.column_type, row_count as usize);
    let encoded = encoded.expect("a definition's missing values are checked");
    SegmentMeta::in_memory(column.id, encoded, column.column_type).expect("what was encoded can be opened")
}
