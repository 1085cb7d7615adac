//! Sorting rows, and telling which are equal.

use std::cmp::Ordering;

use super::{Environment, Row};
use crate::expression::Expression;
use crate::functions::SessionFacts;
use crate::functions::ordering::{self, Direction, Nulls, TypeEquality, compare_rows};
use crate::pg_catalog::TypeId;
use crate::relation::{ColumnId, SortKey};
use crate::{SqlError, Value};

/// Which lists of values are equal. Nulls are.
pub(super) struct ListEquality<'a> {
    types: Vec<TypeEquality>,
    session: &'a dyn SessionFacts,
}

impl<'a> ListEquality<'a> {
    pub fn of(ids: impl IntoIterator<Item = TypeId>, session: &'a dyn SessionFacts) -> Result<Self, SqlError> {
        Ok(Self { types: ids.into_iter().map(TypeEquality::of).collect::<Result<_, _>>()?, session })
    }

    pub fn are_equal(&self, left: &[Value], right: &[Value]) -> Result<bool, SqlError> {
        for ((equality, left), right) in self.types.iter().zip(left).zip(right) {
            if !equality.are_same(left, right, self.session)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where a list is among others.
    pub fn position(&self, list: &[Value], lists: &[Vec<Value>]) -> Result<Option<usize>, SqlError> {
        for (at, other) in lists.iter().enumerate() {
            if self.are_equal(list, other)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The first of equal lists.
    pub fn without_repetitions(&self, lists: Vec<Vec<Value>>) -> Result<Vec<Vec<Value>>, SqlError> {
        let mut kept: Vec<Vec<Value>> = Vec::new();
        for list in lists {
            if self.position(&list, &kept)?.is_none() {
                kept.push(list);
            }
        }
        Ok(kept)
    }
}

impl<'a> Environment<'a> {
    /// The equality of rows of these columns.
    pub(super) fn equality(&self, columns: &[ColumnId]) -> Result<ListEquality<'a>, SqlError> {
        let ids = columns.iter().map(|column| self.world.columns.sql_type(*column).id);
        ListEquality::of(ids, self.world.session)
    }

    /// The equality of the values of expressions.
    pub(super) fn equality_of(&self, expressions: &[Expression]) -> Result<ListEquality<'a>, SqlError> {
        ListEquality::of(expressions.iter().map(|expression| expression.sql_type.id), self.world.session)
    }

    /// Of rows that are equal in the keys, the first.
    pub(super) fn first_of_each(&self, rows: Vec<Row>, keys: &[Expression]) -> Result<Vec<Row>, SqlError> {
        let equality = self.equality_of(keys)?;
        let (mut seen, mut kept) = (Vec::new(), Vec::new());
        for row in rows {
            let values = self.values(keys, &row)?;
            if equality.position(&values, &seen)?.is_none() {
                seen.push(values);
                kept.push(row);
            }
        }
        Ok(kept)
    }

    /// Rows in the order of keys, and of expressions after them.
    pub(super) fn sorted(
        &self,
        rows: Vec<Row>,
        keys: &[SortKey],
        and_then: &[Expression],
    ) -> Result<Vec<Row>, SqlError> {
        let mut orders = sort_keys(keys)?;
        for expression in and_then {
            orders.push(ordering::SortKey::of(expression.sql_type.id, Direction::Ascending, None)?);
        }
        let expressions: Vec<&Expression> = keys.iter().map(|key| &key.expression).chain(and_then).collect();
        let mut with_values = Vec::new();
        for row in rows {
            with_values.push((self.values(expressions.iter().copied(), &row)?, row));
        }
        let mut failure = None;
        with_values.sort_by(|(left, _), (right, _)| {
            compare_rows(&orders, left, right, self.world.session).unwrap_or_else(|error| {
                failure = Some(error);
                Ordering::Equal
            })
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(with_values.into_iter().map(|(_, row)| row).collect()),
        }
    }
}

/// The orders of keys.
pub(super) fn sort_keys(keys: &[SortKey]) -> Result<Vec<ordering::SortKey>, SqlError> {
    let order = |key: &SortKey| {
        let direction = if key.is_descending { Direction::Descending } else { Direction::Ascending };
        let nulls = if key.nulls_first { Nulls::First } else { Nulls::Last };
        ordering::SortKey::of(key.expression.sql_type.id, direction, Some(nulls))
    };
    keys.iter().map(order).collect()
}
