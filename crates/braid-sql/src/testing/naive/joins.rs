//! Joins, and rows of functions beside their arguments.

use super::{Environment, Row};
use crate::expression::Expression;
use crate::relation::{ColumnId, Expansion, JoinKind, Relation, SetFunctionCall};
use crate::{Evaluation, SqlError, SqlState, Value};

impl Environment<'_> {
    /// Pairs of rows. Only for inner and left joins does the right side read the left row.
    pub(super) fn joined(
        &self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        condition: &Expression,
    ) -> Result<Vec<Row>, SqlError> {
        let once = match kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => {
                return self.joined_once(kind, left, right, condition);
            }
            JoinKind::Inner | JoinKind::Left => None,
            JoinKind::Right | JoinKind::Full => Some(self.rows(right)?),
        };
        let keeps_left = matches!(kind, JoinKind::Left | JoinKind::Full);
        let mut has_partner = vec![false; once.as_ref().map_or(0, Vec::len)];
        let mut pairs = Vec::new();
        for left_row in self.rows(left)? {
            let right_rows = match &once {
                Some(rows) => rows.clone(),
                None => self.with(&left_row).rows(right)?,
            };
            let mut is_alone = true;
            for (at, right_row) in right_rows.into_iter().enumerate() {
                let pair = union(&left_row, &right_row);
                if self.holds(condition, &pair)? {
                    is_alone = false;
                    if once.is_some() {
                        has_partner[at] = true;
                    }
                    pairs.push(pair);
                }
            }
            if is_alone && keeps_left {
                pairs.push(union(&left_row, &nulls(&right.columns())));
            }
        }
        for (right_row, has_partner) in once.into_iter().flatten().zip(has_partner) {
            if !has_partner {
                pairs.push(union(&nulls(&left.columns()), &right_row));
            }
        }
        Ok(pairs)
    }

    /// Each left row at most once.
    fn joined_once(
        &self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        condition: &Expression,
    ) -> Result<Vec<Row>, SqlError> {
        let mut rows = Vec::new();
        for mut left_row in self.rows(left)? {
            let (mut partners, mut is_unknown) = (Vec::new(), false);
            for right_row in self.with(&left_row).rows(right)? {
                match self.value(condition, &union(&left_row, &right_row))? {
                    Value::Bool(true) => partners.push(right_row),
                    Value::Null => is_unknown = true,
                    _ => {}
                }
            }
            match kind {
                JoinKind::Semi if partners.is_empty() => continue,
                JoinKind::Anti if !partners.is_empty() => continue,
                JoinKind::Mark(mark) => {
                    let unknown = if is_unknown { Value::Null } else { Value::Bool(false) };
                    left_row.insert(mark, if partners.is_empty() { unknown } else { Value::Bool(true) });
                }
                JoinKind::Single if partners.len() > 1 => {
                    let message = "more than one row returned by a subquery used as an expression";
                    return Err(SqlError::new(SqlState::CardinalityViolation, message));
                }
                JoinKind::Single => {
                    let partner = partners.pop().unwrap_or_else(|| nulls(&right.columns()));
                    left_row.extend(partner);
                }
                _ => {}
            }
            rows.push(left_row);
        }
        Ok(rows)
    }

    /// For each row as many as the longest of the functions returns.
    pub(super) fn expanded(&self, expansion: &Expansion) -> Result<Vec<Row>, SqlError> {
        let mut all = Vec::new();
        for row in self.rows(&expansion.input)? {
            let mut made = Vec::new();
            for function in &expansion.functions {
                made.push((function.columns(), self.rows_of_function(function, &row)?));
            }
            let count = made.iter().map(|(_, rows)| rows.len()).max().unwrap_or(0);
            for at in 0..count {
                let mut expanded = row.clone();
                for (columns, rows) in &made {
                    let values = rows.get(at).cloned().unwrap_or_else(|| vec![Value::Null; columns.len()]);
                    expanded.extend(columns.iter().copied().zip(values));
                }
                let number = i64::try_from(at + 1).expect("rows are counted");
                expanded.extend(expansion.ordinality.map(|column| (column, Value::Int8(number))));
                all.push(expanded);
            }
        }
        Ok(all)
    }

    fn rows_of_function(&self, function: &SetFunctionCall, row: &Row) -> Result<Vec<Vec<Value>>, SqlError> {
        match function {
            SetFunctionCall::Set { call, .. } => {
                let inner = self.with(row);
                let evaluation = Evaluation::new(self.world.session, self.world.parameters).in_row(&inner);
                evaluation.rows(call)?.collect()
            }
            SetFunctionCall::Scalar { value, .. } => Ok(vec![vec![self.value(value, row)?]]),
        }
    }
}

fn union(left: &Row, right: &Row) -> Row {
    left.iter().chain(right).map(|(column, value)| (*column, value.clone())).collect()
}

fn nulls(columns: &[ColumnId]) -> Row {
    columns.iter().map(|column| (*column, Value::Null)).collect()
}
