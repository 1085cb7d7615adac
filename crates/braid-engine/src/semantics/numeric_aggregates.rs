//! Aggregates of numerics, exactly: averages, variances and standard deviations (`numeric_stddev_internal` in PostgreSQL's
//! numeric.c), and sums over windows.
//!
//! A variance is `(n Σx² - (Σx)²) / (n (n - 1))`, or `/ n²` of a whole population, and a deviation is its root. The sums have
//! 128 bits; a result or a sum that does not fit is an error.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type};
use braid_exec::values::numeric_quotient::{Numeric, numeric_quotient, numeric_square_root, quotient_digits};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use super::numeric_division::{out_of_range, parts, result_scale};
use crate::EngineError;
use crate::output::shown_digits::quotient_field;

/// Digits of a variance after the point.
const SPREAD_DIGITS: u8 = 20;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NumericAggregate {
    /// DataFusion's own, except that it cannot wrap around.
    Sum,
    Average,
    Variance(Of),
    Deviation(Of),
}

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Of {
    Sample,
    Population,
}

impl NumericAggregate {
    /// The aggregate as a function of one numeric.
    pub fn function(self) -> AggregateUDF {
        AggregateUDF::from(Function { kind: self, signature: Signature::any(1, Volatility::Immutable) })
    }

    /// Whether it needs the squares of the values.
    fn is_spread(self) -> bool {
        matches!(self, Self::Variance(_) | Self::Deviation(_))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    kind: NumericAggregate,
    signature: Signature,
}

impl AggregateUDFImpl for Function {
    fn name(&self) -> &str {
        match self.kind {
            NumericAggregate::Sum => "sum",
            NumericAggregate::Average => "avg",
            NumericAggregate::Variance(Of::Sample) => "numeric_var_samp",
            NumericAggregate::Variance(Of::Population) => "numeric_var_pop",
            NumericAggregate::Deviation(Of::Sample) => "numeric_stddev_samp",
            NumericAggregate::Deviation(Of::Population) => "numeric_stddev_pop",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let (precision, scale) = parts(&arg_types[0])?;
        Ok(match self.kind {
            NumericAggregate::Sum => DataType::Decimal128((precision + 10).min(38) as u8, scale as i8),
            NumericAggregate::Average => DataType::Decimal128(38, result_scale(precision - scale, scale) as i8),
            _ => DataType::Decimal128(38, SPREAD_DIGITS as i8),
        })
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let (precision, scale) = parts(arg_fields[0].data_type())?;
        Ok(match self.kind {
            NumericAggregate::Sum => {
                let data_type = self.return_type(&[arg_fields[0].data_type().clone()])?;
                Arc::new(Field::new(self.name(), data_type, true))
            }
            NumericAggregate::Average => {
                quotient_field(self.name(), result_scale(precision - scale, scale), scale as u8)
            }
            _ => quotient_field(self.name(), SPREAD_DIGITS, (2 * scale).min(SPREAD_DIGITS.into()) as u8),
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Err(EngineError::unsupported(format!("{}(DISTINCT …) is not supported here", args.name)).into());
        }
        let (_, scale) = parts(&args.exprs[0].data_type(args.schema)?)?;
        if self.kind.is_spread() && 2 * scale > SPREAD_DIGITS.into() {
            let message =
                format!("{} of numerics with more than {} digits after the point", args.name, SPREAD_DIGITS / 2);
            return Err(EngineError::unsupported(message).with_hint("Cast them to double precision.").into());
        }
        let result = args.return_field.data_type().clone();
        Ok(Box::new(State { kind: self.kind, scale: scale as u8, result, count: 0, sum: 0, squares: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |what: &str, data_type| Arc::new(Field::new(format!("{}[{what}]", args.name), data_type, true));
        let wide = DataType::Decimal128(38, 0);
        Ok(vec![field("count", DataType::Int64), field("sum", wide.clone()), field("squares", wide)])
    }
}

/// The number of values, and sums of the unscaled values and of their squares. The squares of other aggregates than spreads
/// are zero.
#[derive(Debug)]
struct State {
    kind: NumericAggregate,
    /// Digits after the point of the values.
    scale: u8,
    result: DataType,
    count: i64,
    sum: i128,
    squares: i128,
}

impl State {
    /// Adds values, or takes them out of a window.
    fn apply(&mut self, values: &ArrayRef, with: fn(i128, i128) -> Option<i128>, sign: i64) -> Result<()> {
        for value in values.as_primitive::<Decimal128Type>().iter().flatten() {
            self.sum = with(self.sum, value).ok_or_else(out_of_range)?;
            if self.kind.is_spread() {
                let square = value.checked_mul(value).ok_or_else(out_of_range)?;
                self.squares = with(self.squares, square).ok_or_else(out_of_range)?;
            }
            self.count += sign;
        }
        Ok(())
    }

    /// The unscaled result for at least one value, and two where one has none; `None` out of range.
    fn value(&self, result_scale: u8) -> Option<i128> {
        match self.kind {
            NumericAggregate::Sum => Some(self.sum),
            NumericAggregate::Average => {
                let count = Numeric { unscaled: self.count.into(), scale: 0 };
                numeric_quotient(Numeric { unscaled: self.sum, scale: self.scale }, count, result_scale)
            }
            NumericAggregate::Variance(of) => self.variance(of).map(|(variance, _)| variance),
            NumericAggregate::Deviation(of) => {
                let (variance, digits) = self.variance(of)?;
                let root = numeric_square_root(Numeric { unscaled: variance, scale: SPREAD_DIGITS }, digits)?;
                root.checked_mul(10_i128.pow(u32::from(SPREAD_DIGITS) - digits))
            }
        }
    }

    /// The variance, and the digits of its root after the point.
    fn variance(&self, of: Of) -> Option<(i128, u32)> {
        let count = i128::from(self.count);
        let dividend = count.checked_mul(self.squares)?.checked_sub(self.sum.checked_mul(self.sum)?)?.max(0);
        let divisor = match of {
            Of::Sample => count * (count - 1),
            Of::Population => count * count,
        };
        let dividend = Numeric { unscaled: dividend, scale: 2 * self.scale };
        let divisor = Numeric { unscaled: divisor, scale: 0 };
        let digits = quotient_digits(dividend, divisor).min(SPREAD_DIGITS.into());
        Some((numeric_quotient(dividend, divisor, SPREAD_DIGITS)?, digits))
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
        let DataType::Decimal128(precision, scale) = self.result else {
            return Err(EngineError::internal(format!("{} is no numeric", self.result)).into());
        };
        let least = match self.kind {
            NumericAggregate::Variance(Of::Sample) | NumericAggregate::Deviation(Of::Sample) => 2,
            _ => 1,
        };
        let has_value = self.count >= least;
        let value = has_value.then(|| self.value(scale as u8).ok_or_else(out_of_range)).transpose()?;
        Ok(ScalarValue::Decimal128(value, precision, scale))
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
