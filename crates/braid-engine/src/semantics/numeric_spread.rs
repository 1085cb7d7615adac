//! Variances and standard deviations of integers and numerics, exactly (`numeric_stddev_internal` in PostgreSQL's numeric.c).
//!
//! They are `(n Σx² - (Σx)²) / (n (n - 1))`, or `/ n²` of a whole population, and its root. The sums have 128 bits; what does not
//! fit is an error.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type};
use braid_exec::values::numeric_quotient::{Numeric, numeric_quotient, numeric_square_root, quotient_digits};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use super::numeric_division::{out_of_range, parts};
use crate::EngineError;
use crate::output::shown_digits::quotient_field;

/// Digits of the result after the point.
const DIGITS: u8 = 20;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Spread {
    Variance { of_sample: bool },
    Deviation { of_sample: bool },
}

/// The aggregate.
pub(super) fn spread(kind: Spread) -> AggregateUDF {
    AggregateUDF::from(NumericSpread { kind, signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NumericSpread {
    kind: Spread,
    signature: Signature,
}

impl AggregateUDFImpl for NumericSpread {
    fn name(&self) -> &str {
        match self.kind {
            Spread::Variance { of_sample: true } => "numeric_var_samp",
            Spread::Variance { of_sample: false } => "numeric_var_pop",
            Spread::Deviation { of_sample: true } => "numeric_stddev_samp",
            Spread::Deviation { of_sample: false } => "numeric_stddev_pop",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(38, DIGITS as i8))
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let (_, scale) = parts(arg_fields[0].data_type())?;
        Ok(quotient_field(self.name(), DIGITS, (2 * scale).min(DIGITS.into()) as u8))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Err(EngineError::unsupported(format!("{} of distinct values is not supported", args.name)).into());
        }
        let (_, scale) = parts(&args.exprs[0].data_type(args.schema)?)?;
        let Some(square_scale) = u8::try_from(2 * scale).ok().filter(|scale| *scale <= DIGITS) else {
            let message = format!("{} of numerics with more than {} digits after the point", args.name, DIGITS / 2);
            return Err(EngineError::unsupported(message).with_hint("Cast them to double precision.").into());
        };
        Ok(Box::new(State { kind: self.kind, square_scale, count: 0, sum: 0, squares: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |what: &str, data_type| Arc::new(Field::new(format!("{}[{what}]", args.name), data_type, true));
        let wide = DataType::Decimal128(38, 0);
        Ok(vec![field("count", DataType::Int64), field("sum", wide.clone()), field("squares", wide)])
    }
}

/// Sums of unscaled values and of their squares.
#[derive(Debug)]
struct State {
    kind: Spread,
    square_scale: u8,
    count: i64,
    sum: i128,
    squares: i128,
}

impl State {
    /// Adds values, or takes them out of a window.
    fn apply(&mut self, values: &ArrayRef, with: fn(i128, i128) -> Option<i128>, sign: i64) -> Result<()> {
        for value in values.as_primitive::<Decimal128Type>().iter().flatten() {
            let square = value.checked_mul(value).ok_or_else(out_of_range)?;
            self.sum = with(self.sum, value).ok_or_else(out_of_range)?;
            self.squares = with(self.squares, square).ok_or_else(out_of_range)?;
            self.count += sign;
        }
        Ok(())
    }

    /// `None` out of range.
    fn result(&self) -> Option<i128> {
        let count = i128::from(self.count);
        let (Spread::Variance { of_sample } | Spread::Deviation { of_sample }) = self.kind;
        let spread = count.checked_mul(self.squares)?.checked_sub(self.sum.checked_mul(self.sum)?)?;
        if spread <= 0 {
            return Some(0);
        }
        let divisor = if of_sample { count * (count - 1) } else { count * count };
        let dividend = Numeric { unscaled: spread, scale: self.square_scale };
        let divisor = Numeric { unscaled: divisor, scale: 0 };
        let variance = numeric_quotient(dividend, divisor, DIGITS)?;
        if matches!(self.kind, Spread::Variance { .. }) {
            return Some(variance);
        }
        let digits = quotient_digits(dividend, divisor).min(DIGITS.into());
        let root = numeric_square_root(Numeric { unscaled: variance, scale: DIGITS }, digits)?;
        root.checked_mul(10_i128.pow(u32::from(DIGITS) - digits))
    }
}

impl Accumulator for State {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.apply(&values[0], i128::checked_add, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.apply(&values[0], i128::checked_sub, -1)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let (Spread::Variance { of_sample } | Spread::Deviation { of_sample }) = self.kind;
        let result = match self.count {
            0 => None,
            1 if of_sample => None,
            _ => Some(self.result().ok_or_else(out_of_range)?),
        };
        Ok(ScalarValue::Decimal128(result, 38, DIGITS as i8))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let wide = |value| ScalarValue::Decimal128(Some(value), 38, 0);
        Ok(vec![ScalarValue::Int64(Some(self.count)), wide(self.sum), wide(self.squares)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let counts = states[0].as_primitive::<Int64Type>();
        let (sums, squares) = (states[1].as_primitive::<Decimal128Type>(), states[2].as_primitive::<Decimal128Type>());
        for row in 0..counts.len() {
            self.count += counts.value(row);
            self.sum = self.sum.checked_add(sums.value(row)).ok_or_else(out_of_range)?;
            self.squares = self.squares.checked_add(squares.value(row)).ok_or_else(out_of_range)?;
        }
        Ok(())
    }
}
