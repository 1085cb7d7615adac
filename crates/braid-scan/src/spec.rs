//! What a scan is asked for.
//!
//! Invariant: the columns are of the scanned version's definition, and each predicate's scalars have its column's
//! physical type. A spec says nothing about chunks; those follow from the zone maps of the version that is scanned.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use braid_base::ColumnId;
use braid_storage::{ColumnPredicate, TableDef};

/// Rows of a batch that consumers aim at: eight vectors, the batch size of the operators above.
pub const BATCH_ROWS: usize = 8 * braid_base::VECTOR_ROWS;

/// A scan's columns, predicates, limit and order.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanSpec {
    /// Columns of the result, in order; a column may occur twice, and none at all counts rows.
    pub projection: Vec<ColumnId>,
    /// Conditions that every row of the result satisfies; several may be on one column.
    pub predicates: Vec<(ColumnId, ColumnPredicate)>,
    /// Most rows that all consumers together produce; which rows is not defined unless `in_order`.
    pub limit: Option<u64>,
    /// Deliver chunks in row order. Rows come in order to a scan with one consumer; among several consumers, chunks
    /// are handed out in order.
    pub in_order: bool,
    /// Rows that a batch aims at, at least 1; a batch is never larger. [`BATCH_ROWS`] unless there is a reason.
    pub batch_rows: usize,
}

impl ScanSpec {
    /// A scan of `projection` without predicates or limit, in any order.
    pub fn new(projection: Vec<ColumnId>) -> Self {
        Self { projection, predicates: Vec::new(), limit: None, in_order: false, batch_rows: BATCH_ROWS }
    }

    /// The schema of the batches. Panics if a column is not of the table.
    pub fn schema(&self, def: &TableDef) -> SchemaRef {
        let schema = def.arrow_schema();
        let position = |column: &ColumnId| def.position(*column).expect("a scan's columns are of its table");
        let fields = self.projection.iter().map(|column| schema.fields()[position(column)].clone());
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}
