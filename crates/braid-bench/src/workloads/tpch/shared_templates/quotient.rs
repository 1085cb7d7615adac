//! The division of numerics as a foreign expression, by Arrow's kernel. The quotient has four more digits after the point than
//! the dividend.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::kernels::numeric::div;
use arrow::datatypes::DataType;
use braid_exec::Expression;
use braid_exec::expression::ForeignExpression;

use super::terms::DIGITS_MAX;

/// Digits after the point that a quotient has beyond the dividend's.
const QUOTIENT_DIGITS: i8 = 4;

#[derive(Debug)]
struct Quotient;

impl fmt::Display for Quotient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("quotient")
    }
}

impl ForeignExpression for Quotient {
    fn evaluate(&self, arguments: &[ArrayRef], _: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        Ok(div(&arguments[0], &arguments[1])?)
    }
}

/// One numeric divided by another, each with its digits after the point. Null for a null, an error for a division by zero.
pub(super) fn quotient(
    (dividend, dividend_scale): (Expression, i8),
    (divisor, divisor_scale): (Expression, i8),
) -> Expression {
    let numeric = |scale| DataType::Decimal128(DIGITS_MAX, scale);
    let arguments = vec![(dividend, numeric(dividend_scale)), (divisor, numeric(divisor_scale))];
    Expression::Foreign { function: Arc::new(Quotient), arguments }
}

/// Type of a quotient, by the digits after the dividend's point.
pub(super) fn quotient_type(dividend_scale: i8) -> DataType {
    DataType::Decimal128(DIGITS_MAX, dividend_scale + QUOTIENT_DIGITS)
}
