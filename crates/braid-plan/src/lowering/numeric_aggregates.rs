//! Sums, averages and extremes of numerics as integers, and variances by the sum of the squares.
//!
//! A sum shows as many digits after the point as the number with the most of them. Where the rows of an argument show several scales, the
//! maximum of these is one more aggregate; of an extreme they are the last digits of the compared integers.

use std::sync::Arc;

use arrow::datatypes::DataType;
use braid_exec::Expression as Lowered;
use braid_exec::expression::{Arithmetic, NumberRange};
use braid_exec::plan::{AggregateCall as LoweredCall, AggregateFunction};
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{AggregateCall, ColumnId};
use braid_sql::values::numeric::sums::Spread;
use braid_sql::{Expression, SqlError};

use super::groups::Groups;
use super::numeric_functions::{AsEncoded, Quotients, SHOWN_DIGITS_BASE, Variances, WithShownDigits};
use super::numerics::{FixedPoint, scaled_up};
use super::query::Lowering;
use crate::values::Form;
use crate::values::form::DIGITS_MAX;

/// Digits that a sum has more than its summands: as many rows are summed at most.
const ROW_COUNT_DIGITS: u32 = 10;

/// Digits of [`SHOWN_DIGITS_BASE`].
const SHOWN_DIGITS: u8 = SHOWN_DIGITS_BASE.ilog10() as u8;

/// A numeric of the results of calls, which are given by their numbers.
pub(super) enum NumericFinish {
    /// The result is the call's.
    Plain { call: usize, form: Form },
    /// A sum at a scale, and how many digits after the point it shows.
    Shown { sum: usize, digits: usize, scale: u8 },
    /// The quotient of a sum and a count; how many digits the sum shows, if that is not its scale.
    Quotient { sum: usize, count: usize, digits: Option<usize>, scale: u8 },
    /// A variance by the sum, the sum of squares and the count.
    Variance { sum: usize, squares: usize, count: usize, function: Variances },
    /// An extreme whose last digits are how many of the others it shows after the point.
    Extreme { call: usize, scale: u8 },
}

/// The argument of an aggregate.
struct Argument {
    number: FixedPoint,
    /// The number of its expression.
    at: usize,
    is_distinct: bool,
    filter: Option<usize>,
}

impl Argument {
    fn call(&self, function: AggregateFunction, groups: &mut Groups) -> usize {
        self.call_of(function, self.at, groups)
    }

    fn call_of(&self, function: AggregateFunction, argument: usize, groups: &mut Groups) -> usize {
        let (distinct, filter) = (self.is_distinct, self.filter);
        groups.call(LoweredCall { function, argument: Some(argument), distinct, filter })
    }

    /// The largest number of digits after the point, if the rows differ in it.
    fn shown_digits(&self, groups: &mut Groups) -> Option<usize> {
        let shown = self.number.shown.as_ref()?;
        let at = groups.expression(shown.scale.clone());
        Some(self.call_of(AggregateFunction::Maximum, at, groups))
    }
}

impl Lowering<'_> {
    /// An aggregate of numerics as integers, or one of bigints whose result is a numeric; `None` for others.
    pub(super) fn numeric_aggregate(
        &self,
        name: &str,
        call: &AggregateCall,
        filter: Option<usize>,
        columns: &[ColumnId],
        groups: &mut Groups,
    ) -> Result<Option<NumericFinish>, SqlError> {
        let [argument] = &call.arguments[..] else { return Ok(None) };
        if let Some(function) = variances(name) {
            return self.variance(function, call, filter, columns, groups);
        }
        let Some(number) = self.summand(name, argument, columns)? else { return Ok(None) };
        // Which of equal numbers is kept, with the digits that it shows, is not known.
        if call.is_distinct && number.shown.is_some() && !matches!(name, "min" | "max") {
            return Ok(None);
        }
        let function = match name {
            "sum" | "avg" => AggregateFunction::Sum,
            "min" => AggregateFunction::Minimum,
            "max" => AggregateFunction::Maximum,
            _ => return Ok(None),
        };
        let scale = number.scale;
        if function == AggregateFunction::Sum {
            let Some(digits) = self.digits(u32::from(number.digits) + ROW_COUNT_DIGITS) else { return Ok(None) };
            let at = groups.argument(&number.value);
            let argument = Argument { number, at, is_distinct: call.is_distinct, filter };
            let sum = argument.call(function, groups);
            let shown = argument.shown_digits(groups);
            return Ok(Some(match (name, shown) {
                ("avg", digits) => {
                    let count = argument.call(AggregateFunction::Count, groups);
                    NumericFinish::Quotient { sum, count, digits, scale }
                }
                (_, None) => NumericFinish::Plain { call: sum, form: Form::Fixed { digits, scale } },
                (_, Some(digits)) => NumericFinish::Shown { sum, digits, scale },
            }));
        }
        let form = number.form();
        let (value, form) = match (&number.shown, form) {
            (Some(shown), _) => match self.digits(u32::from(number.digits) + u32::from(SHOWN_DIGITS)) {
                None => return Ok(None),
                Some(_) => {
                    let value = Lowered::Arithmetic {
                        operation: Arithmetic::Add,
                        left: Box::new(scaled_up(number.value.clone(), SHOWN_DIGITS)),
                        right: Box::new(shown.scale.clone()),
                        range: NumberRange::Numeric,
                    };
                    (value, None)
                }
            },
            (None, form) => (number.value.clone(), form),
        };
        let at = groups.argument(&value);
        let call = Argument { number, at, is_distinct: call.is_distinct, filter }.call(function, groups);
        Ok(Some(match form {
            Some(form) => NumericFinish::Plain { call, form },
            None => NumericFinish::Extreme { call, scale },
        }))
    }

    /// A variance of integers, or of numerics as integers, whose sum of squares has 128 bits; `None` for others.
    fn variance(
        &self,
        function: Variances,
        call: &AggregateCall,
        filter: Option<usize>,
        columns: &[ColumnId],
        groups: &mut Groups,
    ) -> Result<Option<NumericFinish>, SqlError> {
        let [argument] = &call.arguments[..] else { return Ok(None) };
        // Different numbers have equal squares, and the argument is computed for the sum and for the squares.
        if call.is_distinct || argument.is_volatile() {
            return Ok(None);
        }
        let integers = |digits| Ok(Some(FixedPoint::of(self.expression(argument, columns)?, digits, 0)));
        let number = match argument.sql_type.id {
            TypeId::INT2 => integers(5),
            TypeId::INT4 => integers(10),
            TypeId::INT8 => integers(19),
            _ => self.fixed(argument, columns),
        };
        let Some(FixedPoint { value, digits, scale, shown: None, .. }) = number? else { return Ok(None) };
        if scale > DIGITS_MAX / 2 || self.digits(2 * u32::from(digits) + ROW_COUNT_DIGITS).is_none() {
            return Ok(None);
        }
        let square = Lowered::Arithmetic {
            operation: Arithmetic::Multiply,
            left: Box::new(value.clone()),
            right: Box::new(value.clone()),
            range: NumberRange::Numeric,
        };
        let (at, at_square) = (groups.argument(&value), groups.expression(square));
        let mut add = |function, argument| {
            groups.call(LoweredCall { function, argument: Some(argument), distinct: false, filter })
        };
        let (sum, count) = (add(AggregateFunction::Sum, at), add(AggregateFunction::Count, at));
        let squares = add(AggregateFunction::Sum, at_square);
        Ok(Some(NumericFinish::Variance { sum, squares, count, function: Variances { scale, ..function } }))
    }

    /// The numbers that are aggregated: numerics as integers, or integers whose aggregate is a numeric.
    fn summand(&self, name: &str, argument: &Expression, columns: &[ColumnId]) -> Result<Option<FixedPoint>, SqlError> {
        let digits = match (argument.sql_type.id, name) {
            (TypeId::NUMERIC, "sum" | "avg" | "min" | "max") => return self.fixed(argument, columns),
            (TypeId::INT2, "avg") => 5,
            (TypeId::INT4, "avg") => 10,
            (TypeId::INT8, "avg" | "sum") => 19,
            _ => return Ok(None),
        };
        Ok(Some(FixedPoint::of(self.expression(argument, columns)?, digits, 0)))
    }
}

impl NumericFinish {
    /// The form of the result.
    pub fn form(&self) -> Form {
        match self {
            Self::Plain { form, .. } => *form,
            Self::Shown { .. } | Self::Quotient { .. } | Self::Variance { .. } | Self::Extreme { .. } => Form::Encoded,
        }
    }

    /// The result as an expression over keys and results of calls.
    pub fn expression(self, keys: usize) -> Lowered {
        let column = |call: usize| Lowered::Column(keys + call);
        let decimal = |scale| Form::Fixed { digits: DIGITS_MAX, scale }.data_type();
        match self {
            Self::Plain { call, .. } => column(call),
            Self::Shown { sum, digits, scale } => Lowered::Foreign {
                function: Arc::new(AsEncoded { scale }),
                arguments: vec![(column(sum), decimal(scale)), (column(digits), DataType::Int64)],
            },
            Self::Quotient { sum, count, digits, scale } => {
                let mut arguments = vec![(column(sum), decimal(scale)), (column(count), DataType::Int64)];
                arguments.extend(digits.map(|digits| (column(digits), DataType::Int64)));
                Lowered::Foreign { function: Arc::new(Quotients { scale }), arguments }
            }
            Self::Variance { sum, squares, count, function } => Lowered::Foreign {
                function: Arc::new(function),
                arguments: vec![
                    (column(sum), decimal(0)),
                    (column(squares), decimal(0)),
                    (column(count), DataType::Int64),
                ],
            },
            Self::Extreme { call, scale } => Lowered::Foreign {
                function: Arc::new(WithShownDigits { scale }),
                arguments: vec![(column(call), decimal(0))],
            },
        }
    }
}

/// What a function named so computes, if it is a variance or a deviation.
fn variances(name: &str) -> Option<Variances> {
    let (spread, is_deviation) = match name {
        "stddev" | "stddev_samp" => (Spread::Sample, true),
        "stddev_pop" => (Spread::Population, true),
        "variance" | "var_samp" => (Spread::Sample, false),
        "var_pop" => (Spread::Population, false),
        _ => return None,
    };
    Some(Variances { spread, is_deviation, scale: 0 })
}
