//! Grouping sets: each row once for every list of columns, as in Hive and Spark.
//!
//! A row of a list has nulls for the columns that the list leaves out, and last the number of the list. A grouping by that number and by
//! the columns then makes the groups of all lists in one pass.

use std::sync::Arc;

use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::Stop;
use crate::{Batch, Vector};

/// The lists of columns. Each has a position in the input for each column of the output, or `None` for nulls.
pub type ColumnLists = Arc<[Vec<Option<usize>>]>;

/// One worker's operator.
pub struct Expand {
    lists: ColumnLists,
    /// Whether a later operator reads the column.
    needed: Arc<[bool]>,
}

impl Expand {
    /// `needed` has an entry for each column of the output, that of the list's number last.
    pub fn new(lists: ColumnLists, needed: Arc<[bool]>) -> Self {
        Self { lists, needed }
    }
}

impl Operator for Expand {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let row_count = batch.row_count();
        let needed = |at: usize| self.needed[at];
        // Every list has the same columns, which are decoded once.
        for column in self.lists.iter().flat_map(|list| list.iter().enumerate()) {
            if let (at, Some(column)) = column
                && needed(at)
            {
                batch.column(*column);
            }
        }
        let nulls_at = batch.column_count();
        batch.push(Arc::new(Vector::repeat(None, row_count)));
        for (number, list) in self.lists.iter().enumerate() {
            let mut expanded = batch.clone();
            expanded.push(Arc::new(Vector::integers(vec![number as i64; row_count])));
            let columns = list.iter().enumerate().map(|(at, column)| needed(at).then_some(column.unwrap_or(nulls_at)));
            let number = needed(list.len()).then_some(nulls_at + 1);
            expanded.project(&columns.chain([number]).collect::<Vec<_>>());
            next(expanded)?;
        }
        Ok(())
    }
}
