//! Columns whose values are computed of other columns: GENERATED ALWAYS AS (…) STORED.
//!
//! What an expression means is for the front end, which computes the values of each row before it is stored. Here it is a text, and the
//! columns that it reads: none of them is generated, so that the values of a row can be computed in any order.

use braid_base::ColumnId;

use crate::table::DEFAULT_BYTES_MAX;
use crate::{ColumnDef, TableDef};

/// Longest expression, in bytes of SQL text.
const EXPRESSION_BYTES_MAX: usize = DEFAULT_BYTES_MAX;

impl TableDef {
    /// The generated columns whose expressions read a column, in the order of the table.
    pub fn generated_from(&self, column: ColumnId) -> impl Iterator<Item = &ColumnDef> {
        let reads = move |other: &&ColumnDef| {
            other.generated.as_ref().is_some_and(|generated| generated.columns.contains(&column))
        };
        self.columns.iter().filter(reads)
    }

    /// Whether the generated columns make sense; if not, a sentence that says what does not.
    pub(crate) fn validate_generated(&self) -> Result<(), String> {
        for column in &self.columns {
            let Some(generated) = &column.generated else { continue };
            let name = &column.name;
            let is_read = |id: &ColumnId| self.column_by_id(*id).is_some_and(|read| read.generated.is_none());
            if !generated.columns.is_sorted_by(|a, b| a < b) || !generated.columns.iter().all(is_read) {
                return Err(format!(
                    "the columns that generated column \"{name}\" reads do not ascend, are none of the table, or are generated"
                ));
            }
            if column.default.is_some() {
                return Err(format!("generated column \"{name}\" has a default"));
            }
            let bytes = generated.expression.len();
            if bytes > EXPRESSION_BYTES_MAX {
                return Err(format!(
                    "a generation expression has {bytes} bytes; they have at most {EXPRESSION_BYTES_MAX} bytes"
                ));
            }
        }
        Ok(())
    }
}
