//! The forms of columns, and where arithmetic may overflow.
//!
//! A column has the form of its type unless another one is noted where the column is made. Operators hand on the columns of their inputs,
//! with their forms; where rows of several inputs are one, their forms are made one.
//!
//! An integer of 128 bits may be too small for a numeric whose digits are declared, although it seldom is. Arithmetic on such numerics is
//! tried below operators that take in all their rows before they return one: when it overflows, no row has been returned, and the query
//! is planned again without trying.

use std::sync::Arc;

use braid_exec::ExecError;
use braid_exec::Expression as Lowered;
use braid_exec::plan::Plan;
use braid_sql::relation::{ColumnId, Rows};
use braid_sql::{SqlError, Value};

use super::chars::padded;
use super::expressions::position;
use super::numeric_functions::AsEncoded;
use super::query::Lowering;
use super::relations::Input;
use crate::values::Form;
use crate::values::form::{DIGITS_MAX, UNBOUNDED_DIGITS};

/// What is done with numerics that may have more than 38 digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numerics {
    /// They are computed with 128 bits where that fails before a row is returned. See [`is_too_narrow`].
    Optimistic,
    /// They are computed with as many digits as they have.
    #[default]
    Wide,
}

/// Whether a query failed because 128 bits do not suffice for its numerics. A query that was lowered [optimistically](Numerics::Optimistic)
/// has returned no row then, and is to be lowered again with [`Numerics::Wide`].
pub fn is_too_narrow(error: &ExecError) -> bool {
    matches!(error, ExecError::OutOfRange { type_name: "numeric" })
}

/// Where an operator is in the plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// An operator above takes in all rows before it returns one.
    is_collected: bool,
    /// Another input of a union above may have returned rows before.
    is_beside_rows: bool,
}

impl Place {
    /// Below an operator that takes in all rows.
    pub fn collected(self) -> Self {
        Self { is_collected: true, ..self }
    }

    /// Below a union.
    pub fn united(self) -> Self {
        Self { is_beside_rows: self.is_beside_rows || !self.is_collected, ..self }
    }

    /// In a query that is computed before all others.
    pub fn before_all() -> Self {
        Self { is_collected: true, is_beside_rows: false }
    }
}

impl Lowering<'_> {
    /// Notes the form of a column where it is made, if it is not that of its type.
    pub(super) fn note_form(&self, column: ColumnId, form: Form) {
        self.forms.borrow_mut().insert(column, form);
    }

    /// The form of a column that has been made.
    pub(super) fn form(&self, column: ColumnId) -> Form {
        let noted = self.forms.borrow().get(&column).copied();
        noted.unwrap_or_else(|| Form::of(self.columns.sql_type(column).id))
    }

    /// Lowers something at another place.
    pub(super) fn at_place<T>(&self, place: Place, lower: impl FnOnce() -> T) -> T {
        let around = self.place.replace(place);
        let lowered = lower();
        self.place.set(around);
        lowered
    }

    /// Lowers something below an operator that takes in all rows before it returns one.
    pub(super) fn collected<T>(&self, lower: impl FnOnce() -> T) -> T {
        self.at_place(self.place.get().collected(), lower)
    }

    /// So many digits, if integers can have them here. The query is optimistic then if they are too many for 128 bits.
    pub(super) fn digits(&self, digits: u32) -> Option<u8> {
        if digits <= u32::from(DIGITS_MAX) {
            return u8::try_from(digits).ok();
        }
        let place = self.place.get();
        let may_overflow =
            self.environment.numerics == Numerics::Optimistic && place.is_collected && !place.is_beside_rows;
        may_overflow.then(|| {
            self.is_optimistic.set(true);
            UNBOUNDED_DIGITS
        })
    }

    /// The plans of inputs whose rows become rows of these columns.
    pub(super) fn united(&self, inputs: &[&Rows], columns: &[ColumnId]) -> Result<Vec<Plan>, SqlError> {
        let place = self.place.get().united();
        let lowered = inputs.iter().map(|rows| {
            let Input { plan, columns: there } = self.at_place(place, || self.relation(&rows.relation))?;
            let own = rows.columns.iter().map(|column| Ok((position(*column, &there)?, self.form(*column))));
            Ok((plan, there.len(), own.collect::<Result<Vec<_>, SqlError>>()?))
        });
        let lowered = lowered.collect::<Result<Vec<_>, SqlError>>()?;
        let forms: Vec<Form> = columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let of_inputs = lowered.iter().map(|(_, _, own)| own[at].1);
                let common = of_inputs.map(Some).reduce(|left, right| common_form(left?, right?)).flatten();
                common.unwrap_or_else(|| Form::of(self.columns.sql_type(*column).id))
            })
            .collect();
        columns.iter().zip(&forms).for_each(|(column, form)| self.note_form(*column, *form));
        Ok(lowered
            .into_iter()
            .map(|(plan, width, own)| {
                let is_same = own.iter().zip(&forms).all(|((_, own), form)| is_held_alike(*own, *form));
                if is_same && own.iter().map(|(at, _)| *at).eq(0..width) {
                    return plan;
                }
                let expressions =
                    own.into_iter().zip(&forms).map(|((at, own), form)| in_form(Lowered::Column(at), own, *form));
                Plan::Project { input: Box::new(plan), expressions: expressions.collect() }
            })
            .collect())
    }
}

/// Whether vectors hold equal values of both forms alike.
fn is_held_alike(own: Form, wanted: Form) -> bool {
    match (own, wanted) {
        (Form::Unpadded { .. }, _) | (_, Form::Unpadded { .. }) => own == wanted,
        _ => own.data_type() == wanted.data_type(),
    }
}

/// A value in its own form or in that of its type.
pub(super) fn in_form(value: Lowered, own: Form, wanted: Form) -> Lowered {
    match (own, wanted) {
        (Form::Fixed { scale, .. }, Form::Encoded) => {
            Lowered::Foreign { function: Arc::new(AsEncoded { scale }), arguments: vec![(value, own.data_type())] }
        }
        (Form::Unpadded { length }, Form::Text) => padded(value, length),
        _ => value,
    }
}

/// The form that holds the values of both.
fn common_form(left: Form, right: Form) -> Option<Form> {
    match (left, right) {
        (Form::Fixed { digits, scale }, Form::Fixed { digits: others, scale: other }) => {
            (scale == other).then(|| Form::Fixed { digits: digits.max(others), scale })
        }
        _ => (left == right).then_some(left),
    }
}

/// The form of a column of these values: integers, if all numbers show the same digits.
pub(super) fn form_of_values<'v>(form: Form, values: impl Iterator<Item = &'v Value>) -> Form {
    let mut fixed = None;
    for value in values {
        match value {
            Value::Null => {}
            Value::Numeric(number) => match (form_of_number(number), fixed) {
                (Some(own), None) => fixed = Some(own),
                (Some(own), Some(others)) => match common_form(own, others) {
                    Some(both) => fixed = Some(both),
                    None => return form,
                },
                (None, _) => return form,
            },
            _ => return form,
        }
    }
    fixed.unwrap_or(form)
}

/// The form of a number.
pub(super) fn form_of_number(number: &braid_sql::values::Numeric) -> Option<Form> {
    let (unscaled, scale) = number.unscaled()?;
    let digits = unscaled.unsigned_abs().checked_ilog10().map_or(0, |log| log as u8 + 1);
    let scale = u8::try_from(scale).ok()?;
    (digits <= DIGITS_MAX && scale <= DIGITS_MAX).then_some(Form::Fixed { digits, scale })
}
