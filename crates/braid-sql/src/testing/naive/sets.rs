//! Set operations and recursion.

use super::{Environment, ROWS_MAX, Row, named};
use crate::SqlError;
use crate::relation::{ColumnId, Recursion, Rows, SetOperator};

impl Environment<'_> {
    /// Rows of the left side that the right one has, or lacks. With ALL each row of the right side stands for one of the left side.
    pub(super) fn set_operation(
        &self,
        (operator, is_all): (SetOperator, bool),
        left: &Rows,
        right: &Rows,
        columns: &[ColumnId],
    ) -> Result<Vec<Row>, SqlError> {
        let equality = self.equality(columns)?;
        let mut unmatched = self.listed(right)?;
        let mut left = self.listed(left)?;
        if !is_all {
            left = equality.without_repetitions(left)?;
            unmatched = equality.without_repetitions(unmatched)?;
        }
        let mut kept = Vec::new();
        for row in left {
            let partner = equality.position(&row, &unmatched)?;
            if partner.is_some() == (operator == SetOperator::Intersect) {
                kept.push(row);
            }
            if let Some(partner) = partner {
                unmatched.remove(partner);
            }
        }
        Ok(named(columns, kept))
    }

    /// The start, then the step on the rows that were made last, until there are none.
    pub(super) fn recursive(&self, recursion: &Recursion) -> Result<Vec<Row>, SqlError> {
        let equality = self.equality(&recursion.start.columns)?;
        let mut last = self.listed(&recursion.start)?;
        if recursion.is_distinct {
            last = equality.without_repetitions(last)?;
        }
        let mut all = last.clone();
        while !last.is_empty() {
            last = self.with_common_table(recursion.cte, last).listed(&recursion.step)?;
            if recursion.is_distinct {
                let mut new = Vec::new();
                for row in equality.without_repetitions(last)? {
                    if equality.position(&row, &all)?.is_none() {
                        new.push(row);
                    }
                }
                last = new;
            }
            all.extend(last.iter().cloned());
            if all.len() > ROWS_MAX {
                return Err(SqlError::unsupported(format!(
                    "a recursion of more than {ROWS_MAX} rows is not supported"
                )));
            }
        }
        self.with_common_table(recursion.cte, all).rows(&recursion.body)
    }
}
