//! Fields of dates.
//!
//! The kernel knows the years of our era and those before it as 0 and below; PostgreSQL has no year 0. Infinite dates have infinite years,
//! and no other fields.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::Int64Type;
use braid_exec::Expression as Lowered;
use braid_exec::expression::{Arithmetic, Comparison, DatePart, ForeignExpression, NumberRange};
use braid_sql::SqlError;
use braid_sql::expression::{Expression, FunctionCall, Node};
use braid_sql::pg_catalog::pg_catalog;
use braid_sql::relation::ColumnId;
use braid_storage::Scalar;

use super::forms::in_form;
use super::numerics::{FixedPoint, scaled_up};
use super::query::Lowering;
use super::row_function::Result as RowResult;
use crate::values::Form;
use crate::values::form::DIGITS_MAX;

/// 0001-01-01 in days since 1970.
const FIRST_DAY: i64 = -719_162;

/// 9999-12-31 in days since 1970. Timestamps of later dates may be out of range.
const LAST_DAY: i64 = 2_932_896;

/// Digits of the years of dates, which are of 32 bits.
const YEAR_DIGITS: u8 = 7;

/// A field that the kernel knows, and its digits.
fn part_of(field: &Expression) -> Option<(DatePart, u8)> {
    let Node::Constant(braid_sql::Value::Text(field)) = &field.node else { return None };
    Some(match &*field.to_ascii_lowercase() {
        "year" => (DatePart::Year, YEAR_DIGITS),
        "quarter" => (DatePart::Quarter, 1),
        "month" => (DatePart::Month, 2),
        "day" => (DatePart::Day, 2),
        _ => return None,
    })
}

fn compared(comparison: Comparison, date: &Lowered, day: i64) -> Lowered {
    let right = Box::new(Lowered::Constant(Some(Scalar::Int(day))));
    Lowered::Compare { comparison, left: Box::new(date.clone()), right }
}

impl Lowering<'_> {
    /// A field of dates as integers. An infinite year is none: it fails like other numbers that 128 bits are too narrow for.
    pub(super) fn fixed_field(
        &self,
        field: &Expression,
        date: &Expression,
        input: &[ColumnId],
    ) -> Result<Option<FixedPoint>, SqlError> {
        let Some((part, digits)) = part_of(field) else { return Ok(None) };
        if !matches!(date.node, Node::Column(..)) {
            return Ok(None);
        }
        if part == DatePart::Year && self.digits(u32::from(DIGITS_MAX) + 1).is_none() {
            return Ok(None);
        }
        let date = self.expression(date, input)?;
        let in_field = Lowered::DatePart { part, value: Box::new(date.clone()) };
        let infinite = [i32::MIN, i32::MAX].map(|days| Scalar::Int(days.into())).to_vec();
        let is_infinite = Lowered::In { value: Box::new(date.clone()), list: infinite };
        let branches = match part {
            DatePart::Year => {
                let before = Lowered::Arithmetic {
                    operation: Arithmetic::Subtract,
                    left: Box::new(in_field.clone()),
                    right: Box::new(Lowered::Constant(Some(Scalar::Int(1)))),
                    range: NumberRange::Int64,
                };
                let is_before = compared(Comparison::Less, &date, FIRST_DAY);
                vec![(is_infinite, scaled_up(date.clone(), DIGITS_MAX)), (is_before, before)]
            }
            _ => vec![(is_infinite, Lowered::Constant(None))],
        };
        let value = Lowered::Case { branches, otherwise: Some(Box::new(in_field)) };
        Ok(Some(FixedPoint::of(value, digits, 0)))
    }

    /// `extract` and `date_part` of dates: by the kernel for those of usual years, row by row for others.
    pub(super) fn field_of_date(
        &self,
        expression: &Expression,
        call: &FunctionCall,
        input: &[ColumnId],
    ) -> Result<Option<Lowered>, SqlError> {
        let entry = pg_catalog().function(call.function.id);
        let [field, date] = &call.arguments[..] else { return Ok(None) };
        let is_numeric = entry.symbol == Some("extract_date");
        if !is_numeric && (entry.symbol.is_some() || entry.signature() != "date_part(text date)") {
            return Ok(None);
        }
        let Some((part, digits)) = part_of(field) else { return Ok(None) };
        if !matches!(date.node, Node::Column(..)) {
            return Ok(None);
        }
        let others = self.row_function(expression, input, RowResult::Value)?;
        let date = self.expression(date, input)?;
        let is_usual = Lowered::And(vec![
            compared(Comparison::GreaterOrEqual, &date, FIRST_DAY),
            compared(Comparison::LessOrEqual, &date, LAST_DAY),
        ]);
        let in_field = Lowered::DatePart { part, value: Box::new(date) };
        let of_usual = match is_numeric {
            true => in_form(in_field, Form::Fixed { digits, scale: 0 }, Form::Encoded),
            false => {
                Lowered::Foreign { function: Arc::new(AsFloat), arguments: vec![(in_field, Form::Integer.data_type())] }
            }
        };
        Ok(Some(Lowered::Case { branches: vec![(is_usual, of_usual)], otherwise: Some(Box::new(others)) }))
    }
}

/// Integers as floats.
#[derive(Debug)]
struct AsFloat;

impl ForeignExpression for AsFloat {
    fn evaluate(&self, arguments: &[ArrayRef], _: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let integers = arguments[0].as_primitive::<Int64Type>();
        let floats: Float64Array = integers.unary(|integer| integer as f64);
        Ok(Arc::new(floats))
    }
}

impl fmt::Display for AsFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("as float")
    }
}
