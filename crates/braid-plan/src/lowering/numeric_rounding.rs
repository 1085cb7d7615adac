//! Casts to numeric and rounding as integers.

use std::sync::Arc;

use braid_exec::Expression as Lowered;
use braid_exec::expression::ForeignExpression;
use braid_sql::expression::{FunctionCall, Node};
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::ColumnId;
use braid_sql::{SqlError, SqlType, Value};

use super::numeric_functions::{AtScale, OfSign, Rounding};
use super::numerics::FixedPoint;
use super::query::Lowering;
use crate::values::Form;
use crate::values::form::DIGITS_MAX;

impl Lowering<'_> {
    /// A call of a function that gives numbers of one scale.
    pub(super) fn fixed_rounding(
        &self,
        call: &FunctionCall,
        input: &[ColumnId],
    ) -> Result<Option<FixedPoint>, SqlError> {
        let entry = pg_catalog().function(call.function.id);
        let name = entry.symbol.map_or_else(|| entry.signature(), str::to_owned);
        let integer_digits = match &*name {
            "int2_numeric" => Some(5),
            "int4_numeric" => Some(10),
            "int8_numeric" => Some(19),
            _ => None,
        };
        if let (Some(digits), [integer]) = (integer_digits, &call.arguments[..]) {
            return Ok(Some(FixedPoint::of(self.expression(integer, input)?, digits, 0)));
        }
        if let ("extract_date", [field, date]) = (&*name, &call.arguments[..]) {
            return self.fixed_field(field, date, input);
        }
        let to_integers = match &*name {
            "numeric" | "numeric_round" | "numeric_trunc" => None,
            "round(numeric)" => Some(Rounding::Nearest),
            "trunc(numeric)" => Some(Rounding::Cut),
            "numeric_floor" => Some(Rounding::Down),
            "numeric_ceil" => Some(Rounding::Up),
            "numeric_abs" | "numeric_sign" => None,
            _ => return Ok(None),
        };
        let Some(operand) = self.fixed(&call.arguments[0], input)? else { return Ok(None) };
        if let Some(rounding) = to_integers {
            return Ok(self.rounded(operand, 0, rounding));
        }
        let second = call.arguments.get(1).map(|argument| &argument.node);
        Ok(match (&*name, second) {
            ("numeric_abs", None) => {
                let function = OfSign::Magnitude { scale: operand.scale };
                Some(FixedPoint { value: computed(&operand, function), ..operand })
            }
            ("numeric_sign", None) => {
                let value = computed(&operand, OfSign::Sign);
                Some(FixedPoint { value, digits: 1, scale: 0, shown: None, nullable: operand.nullable })
            }
            ("numeric_round", Some(Node::Constant(Value::Int4(scale)))) => {
                u8::try_from(*scale).ok().and_then(|scale| self.rounded(operand, scale, Rounding::Nearest))
            }
            ("numeric_trunc", Some(Node::Constant(Value::Int4(scale)))) => {
                u8::try_from(*scale).ok().and_then(|scale| self.rounded(operand, scale, Rounding::Cut))
            }
            ("numeric", Some(Node::Constant(Value::Int4(modifier)))) => {
                match (SqlType { id: TypeId::NUMERIC, modifier: *modifier }).numeric_digits() {
                    Some((precision, scale)) => self.with_modifier(operand, precision, scale),
                    None => Some(operand),
                }
            }
            _ => None,
        })
    }

    /// Numbers at a scale.
    fn rounded(&self, operand: FixedPoint, scale: u8, rounding: Rounding) -> Option<FixedPoint> {
        if scale > DIGITS_MAX {
            return None;
        }
        let digits = self.digits(rounded_digits(&operand, scale))?;
        let value = match scale >= operand.scale {
            true => operand.at_scale(scale),
            false => computed(&operand, AtScale { from: operand.scale, to: scale, rounding, modifier: None }),
        };
        Some(FixedPoint { value, digits, scale, shown: None, nullable: operand.nullable })
    }

    /// Numbers as `numeric(precision, scale)` keeps them.
    fn with_modifier(&self, operand: FixedPoint, precision: i32, scale: i32) -> Option<FixedPoint> {
        let to = u8::try_from(scale).ok().filter(|scale| *scale <= DIGITS_MAX)?;
        let digits = rounded_digits(&operand, to);
        if i64::from(digits) <= i64::from(precision) {
            return self.rounded(operand, to, Rounding::Nearest);
        }
        // What has more digits is an error.
        let digits = u8::try_from(precision).ok().filter(|precision| *precision <= DIGITS_MAX)?;
        let modifier = Some((precision, scale));
        let value = computed(&operand, AtScale { from: operand.scale, to, rounding: Rounding::Nearest, modifier });
        Some(FixedPoint { value, digits, scale: to, shown: None, nullable: operand.nullable })
    }
}

/// Digits of numbers that are rounded to a scale: the last one may carry.
fn rounded_digits(operand: &FixedPoint, scale: u8) -> u32 {
    match operand.scale.checked_sub(scale) {
        None | Some(0) => operand.digits_at(scale),
        Some(dropped) => u32::from(operand.digits.saturating_sub(dropped)) + 1,
    }
}

/// A function of the integers.
fn computed(operand: &FixedPoint, function: impl ForeignExpression + 'static) -> Lowered {
    let own = Form::Fixed { digits: operand.digits, scale: operand.scale };
    Lowered::Foreign { function: Arc::new(function), arguments: vec![(operand.value.clone(), own.data_type())] }
}
