//! LIMIT and OFFSET.

use super::{Environment, Row};
use crate::expression::Expression;
use crate::relation::SortKey;
use crate::{SqlError, SqlState, Value};

impl Environment<'_> {
    /// So many rows behind the first ones, and with WITH TIES those that are equal to the last one.
    pub(super) fn limited(
        &self,
        rows: Vec<Row>,
        (offset, limit): (Option<&Expression>, Option<&Expression>),
        ties: Option<&[SortKey]>,
    ) -> Result<Vec<Row>, SqlError> {
        let offset = self.count(offset, SqlState::InvalidOffset, "OFFSET")?.unwrap_or(0);
        let limit = self.count(limit, SqlState::InvalidLimit, "LIMIT")?;
        let mut rest = rows.into_iter().skip(offset);
        let Some(limit) = limit else { return Ok(rest.collect()) };
        let mut kept: Vec<Row> = rest.by_ref().take(limit).collect();
        if let (Some(ties), Some(last)) = (ties, kept.last()) {
            let keys: Vec<Expression> = ties.iter().map(|key| key.expression.clone()).collect();
            let (equality, last) = (self.equality_of(&keys)?, self.values(&keys, last)?);
            for row in rest {
                if !equality.are_equal(&self.values(&keys, &row)?, &last)? {
                    break;
                }
                kept.push(row);
            }
        }
        Ok(kept)
    }

    /// A number of rows; `None` for null.
    fn count(&self, count: Option<&Expression>, state: SqlState, clause: &str) -> Result<Option<usize>, SqlError> {
        let Some(count) = count else { return Ok(None) };
        match self.value(count, &Row::new())? {
            Value::Int8(count) => match usize::try_from(count) {
                Ok(count) => Ok(Some(count)),
                Err(_) => Err(SqlError::new(state, format!("{clause} must not be negative"))),
            },
            _ => Ok(None),
        }
    }
}
