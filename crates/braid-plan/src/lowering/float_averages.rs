//! Averages of floats as sums and counts.
//!
//! PostgreSQL's average adds up the squares of deviations, too, and fails when these overflow. Numbers below a bound cannot make them
//! overflow. A greater one ends the run, and the query is planned again with PostgreSQL's own states (see [`super::forms`]).

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::compute::binary;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use braid_exec::expression::ForeignExpression;
use braid_exec::plan::{AggregateCall as LoweredCall, AggregateFunction};
use braid_exec::{ExecError, Expression as Lowered};
use braid_sql::SqlError;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{AggregateCall, ColumnId};

use super::groups::Groups;
use super::query::Lowering;
use crate::values::form::DIGITS_MAX;

/// Squares of deviations are below `4 * 10^280`: the sum of 10^27 of them is below the largest double, `1.8 * 10^308`.
const MAGNITUDE_MAX: f64 = 1e140;

/// The results of calls of which an average is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloatAverage {
    sum: usize,
    count: usize,
}

impl FloatAverage {
    /// The average as an expression over keys and results of calls.
    pub fn expression(self, keys: usize) -> Lowered {
        let column = |call| Lowered::Column(keys + call);
        let arguments = vec![(column(self.sum), DataType::Float64), (column(self.count), DataType::Int64)];
        Lowered::Foreign { function: Arc::new(Quotients), arguments }
    }
}

impl Lowering<'_> {
    /// An average of floats by calls that the operator has states for; `None` for others.
    pub(super) fn float_average(
        &self,
        name: &str,
        call: &AggregateCall,
        filter: Option<usize>,
        columns: &[ColumnId],
        groups: &mut Groups,
    ) -> Result<Option<FloatAverage>, SqlError> {
        let ("avg", [argument]) = (name, &call.arguments[..]) else { return Ok(None) };
        if ![TypeId::FLOAT4, TypeId::FLOAT8].contains(&argument.sql_type.id) || !self.may_be_tried() {
            return Ok(None);
        }
        let arguments = vec![(self.expression(argument, columns)?, DataType::Float64)];
        let argument = Some(groups.expression(Lowered::Foreign { function: Arc::new(BelowBound), arguments }));
        let mut add = |function| groups.call(LoweredCall { function, argument, distinct: call.is_distinct, filter });
        Ok(Some(FloatAverage { sum: add(AggregateFunction::Sum), count: add(AggregateFunction::Count) }))
    }

    /// Whether a query may be planned again after it failed here.
    fn may_be_tried(&self) -> bool {
        self.digits(u32::from(DIGITS_MAX) + 1).is_some()
    }
}

/// The floats; it ends the run if one is beyond the bound.
#[derive(Debug)]
struct BelowBound;

impl ForeignExpression for BelowBound {
    fn evaluate(&self, arguments: &[ArrayRef], _row_count: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let floats = arguments[0].as_primitive::<Float64Type>();
        let is_beyond = |float: f64| float.is_finite() && float.abs() > MAGNITUDE_MAX;
        // A null's place may hold anything.
        let has_beyond =
            floats.values().iter().any(|float| is_beyond(*float)) && floats.iter().flatten().any(is_beyond);
        match has_beyond {
            true => Err(Box::new(ExecError::OutOfRange { type_name: "numeric" })),
            false => Ok(arguments[0].clone()),
        }
    }
}

impl fmt::Display for BelowBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("below the bound of averages")
    }
}

/// `sum / count`, null where the sum is.
#[derive(Debug)]
struct Quotients;

impl ForeignExpression for Quotients {
    fn evaluate(&self, arguments: &[ArrayRef], _row_count: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let (sums, counts) = (arguments[0].as_primitive::<Float64Type>(), arguments[1].as_primitive::<Int64Type>());
        let averages: Float64Array = binary(sums, counts, |sum, count| sum / count as f64)?;
        Ok(Arc::new(averages))
    }
}

impl fmt::Display for Quotients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("average")
    }
}
