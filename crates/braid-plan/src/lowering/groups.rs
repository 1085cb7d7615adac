//! Groups and aggregates, DISTINCT, INTERSECT and EXCEPT.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Int64Type};
use braid_exec::Expression as Lowered;
use braid_exec::expression::{Comparison, ForeignExpression};
use braid_exec::plan::{AggregateCall as LoweredCall, AggregateFunction, AggregationSpec, Plan};
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{AggregateCall, Aggregation, ColumnId, Relation, SetOperator};
use braid_sql::values::Numeric;
use braid_sql::{Expression, SqlError, Value};
use braid_storage::Scalar;

use super::query::Lowering;
use super::relations::{Input, unsupported};
use crate::values::Form;
use crate::values::arrays::ArrayBuilder;

/// Digits of a sum of bigints.
const SUM_DIGITS: u8 = 38;

/// What becomes of an aggregate's results.
enum Finish {
    /// The result is the operator's.
    Plain(usize),
    /// A sum of bigints, as a numeric.
    SumAsNumeric(usize),
    /// The quotient of a sum and a count of integers, as a numeric.
    Quotient { sum: usize, count: usize },
}

/// A grouping that is put together.
struct Groups {
    input: Input,
    /// Expressions over the input, one for each position that keys and calls refer to.
    expressions: Vec<Lowered>,
    keys: usize,
    calls: Vec<LoweredCall>,
}

impl Groups {
    fn new(input: Input) -> Self {
        Self { input, expressions: Vec::new(), keys: 0, calls: Vec::new() }
    }

    /// The number of an expression.
    fn expression(&mut self, expression: Lowered) -> usize {
        self.expressions.push(expression);
        self.expressions.len() - 1
    }

    /// The number of a call.
    fn call(&mut self, call: LoweredCall) -> usize {
        self.calls.push(call);
        self.calls.len() - 1
    }

    /// The plan: keys, then results of calls.
    fn plan(self) -> Plan {
        let (plan, positions) = self.input.with_positions(self.expressions);
        let aggregates = self.calls.into_iter().map(|call| LoweredCall {
            argument: call.argument.map(|at| positions[at]),
            filter: call.filter.map(|at| positions[at]),
            ..call
        });
        let spec = AggregationSpec { keys: positions[..self.keys].to_vec(), aggregates: aggregates.collect() };
        Plan::Aggregate { input: Box::new(plan), spec: Arc::new(spec) }
    }
}

impl Lowering<'_> {
    /// GROUP BY with one grouping set.
    pub(super) fn aggregate(&self, aggregation: &Aggregation) -> Result<Input, SqlError> {
        let [set] = &aggregation.sets[..] else { return Err(unsupported("several grouping sets")) };
        if set.len() != aggregation.keys.len() {
            return Err(unsupported("keys outside of the grouping set"));
        }
        let input = self.relation(&aggregation.input)?;
        let columns = input.columns.clone();
        let mut groups = Groups::new(input);
        let mut values = Vec::new();
        // All keys come before all arguments.
        for (_, key) in &aggregation.keys {
            let comparable = self.comparable(key, &columns)?;
            groups.expression(comparable);
        }
        groups.keys = aggregation.keys.len();
        for (at, (_, key)) in aggregation.keys.iter().enumerate() {
            values.push(match Form::is_compared_directly(key.sql_type.id) {
                true => Lowered::Column(at),
                false => without_number(groups.keys + self.first_value(key, &columns, &mut groups)?, key),
            });
        }
        let mut finishes = Vec::new();
        for (_, call) in &aggregation.aggregates {
            finishes.push(self.aggregate_call(call, &columns, &mut groups)?);
        }
        if groups.keys == 0 && groups.calls.is_empty() {
            // One group, which exists even without rows.
            let count = AggregateFunction::CountRows;
            groups.call(LoweredCall { function: count, argument: None, distinct: false, filter: None });
        }
        let keys = groups.keys;
        let plan = groups.plan();
        values.extend(finishes.into_iter().map(|finish| finish.expression(keys)));
        // Every key is in the only set.
        values.extend(aggregation.groupings.iter().map(|_| Lowered::Constant(Some(Scalar::Int(0)))));
        let made = aggregation.keys.iter().map(|(column, _)| *column);
        let made = made.chain(aggregation.aggregates.iter().map(|(column, _)| *column));
        let columns = made.chain(aggregation.groupings.iter().map(|(column, _)| *column)).collect();
        Ok(Input { plan: Plan::Project { input: Box::new(plan), expressions: values }, columns })
    }

    /// The first of the values of a group, which are equal and may differ in their digits: the number of its call.
    fn first_value(&self, value: &Expression, columns: &[ColumnId], groups: &mut Groups) -> Result<usize, SqlError> {
        let data_type = Form::of(value.sql_type.id).data_type();
        let arguments = vec![(self.expression(value, columns)?, data_type)];
        let numbered = Lowered::Foreign { function: Arc::new(Numbered::default()), arguments };
        let argument = Some(groups.expression(numbered));
        Ok(groups.call(LoweredCall { function: AggregateFunction::Minimum, argument, distinct: false, filter: None }))
    }

    fn aggregate_call(
        &self,
        call: &AggregateCall,
        columns: &[ColumnId],
        groups: &mut Groups,
    ) -> Result<Finish, SqlError> {
        let entry = pg_catalog().function(call.function);
        let refused = || SqlError::unsupported(format!("the aggregate {} is not supported", entry.signature()));
        if call.is_within_group {
            return Err(refused());
        }
        let filter = match &call.filter {
            None => None,
            Some(condition) => {
                let condition = self.expression(condition, columns)?;
                Some(groups.expression(condition))
            }
        };
        let mut add = |function, argument: Option<&Expression>| {
            let argument = match argument {
                None => None,
                Some(argument) => {
                    let id = argument.sql_type.id;
                    if !Form::is_compared_directly(id) && (call.is_distinct || function != AggregateFunction::Count) {
                        return Err(refused());
                    }
                    let argument = self.expression(argument, columns)?;
                    Some(groups.expression(argument))
                }
            };
            Ok(groups.call(LoweredCall { function, argument, distinct: call.is_distinct, filter }))
        };
        let is_integer = |id| [TypeId::INT2, TypeId::INT4, TypeId::INT8].contains(&id);
        Ok(match (entry.name, &call.arguments[..]) {
            ("count", []) => Finish::Plain(add(AggregateFunction::CountRows, None)?),
            ("count", [argument]) => Finish::Plain(add(AggregateFunction::Count, Some(argument))?),
            ("sum", [argument]) if [TypeId::INT2, TypeId::INT4].contains(&argument.sql_type.id) => {
                Finish::Plain(add(AggregateFunction::Sum, Some(argument))?)
            }
            ("sum", [argument]) if argument.sql_type.id == TypeId::INT8 => {
                Finish::SumAsNumeric(add(AggregateFunction::Sum, Some(argument))?)
            }
            ("avg", [argument]) if is_integer(argument.sql_type.id) => Finish::Quotient {
                sum: add(AggregateFunction::Sum, Some(argument))?,
                count: add(AggregateFunction::Count, Some(argument))?,
            },
            ("min", [argument]) => Finish::Plain(add(AggregateFunction::Minimum, Some(argument))?),
            ("max", [argument]) => Finish::Plain(add(AggregateFunction::Maximum, Some(argument))?),
            ("bool_and" | "every", [argument]) => Finish::Plain(add(AggregateFunction::BoolAnd, Some(argument))?),
            ("bool_or", [argument]) => Finish::Plain(add(AggregateFunction::BoolOr, Some(argument))?),
            _ => return Err(refused()),
        })
    }

    /// Rows that differ in some columns.
    pub(super) fn distinct(&self, input: &Relation, columns: &[ColumnId]) -> Result<Input, SqlError> {
        let input = self.relation(input)?;
        self.grouped_by(input, columns, |_| Ok(Vec::new())).map(|(plan, values)| Input {
            plan: Plan::Project { input: Box::new(plan), expressions: values },
            columns: columns.to_vec(),
        })
    }

    /// Groups by columns, with further calls; and the expressions that give the columns.
    fn grouped_by(
        &self,
        input: Input,
        columns: &[ColumnId],
        calls: impl FnOnce(&mut Groups) -> Result<Vec<LoweredCall>, SqlError>,
    ) -> Result<(Plan, Vec<Lowered>), SqlError> {
        let there = input.columns.clone();
        let mut groups = Groups::new(input);
        let keys: Vec<Expression> = columns.iter().map(|column| self.column_expression(*column)).collect();
        for key in &keys {
            let comparable = self.comparable(key, &there)?;
            groups.expression(comparable);
        }
        groups.keys = keys.len();
        let mut values = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            values.push(match Form::is_compared_directly(key.sql_type.id) {
                true => Lowered::Column(at),
                false => without_number(groups.keys + self.first_value(key, &there, &mut groups)?, key),
            });
        }
        let further = calls(&mut groups)?;
        groups.calls.extend(further);
        Ok((groups.plan(), values))
    }

    fn column_expression(&self, column: ColumnId) -> Expression {
        let node = braid_sql::expression::Node::Column(column, braid_sql::expression::Origin::default());
        Expression { node, sql_type: self.columns.sql_type(column) }
    }

    /// Rows of both sides, whose last column tells the left side's: those that INTERSECT or EXCEPT keep.
    pub(super) fn in_sides(&self, both: Plan, operator: SetOperator, columns: &[ColumnId]) -> Result<Input, SqlError> {
        let tag = columns.len();
        let input = Input { plan: both, columns: columns.to_vec() };
        let there = input.columns.clone();
        let of_tag = |groups: &mut Groups| {
            let argument = Some(groups.expression(Lowered::Column(tag)));
            let call = |function| LoweredCall { function, argument, distinct: false, filter: None };
            Ok(vec![call(AggregateFunction::Minimum), call(AggregateFunction::Maximum)])
        };
        let (plan, values) = self.grouped_by(input, &there, of_tag)?;
        let width = plan.column_count();
        let is = |at: usize, side: i64| Lowered::Compare {
            comparison: Comparison::Equal,
            left: Box::new(Lowered::Column(at)),
            right: Box::new(Lowered::Constant(Some(Scalar::Int(side)))),
        };
        let (lowest, highest) = (width - 2, width - 1);
        let condition = match operator {
            SetOperator::Intersect => Lowered::And(vec![is(lowest, 0), is(highest, 1)]),
            SetOperator::Except => is(lowest, 1),
        };
        let plan = Plan::Filter { input: Box::new(plan), condition };
        Ok(Input { plan: Plan::Project { input: Box::new(plan), expressions: values }, columns: columns.to_vec() })
    }
}

impl Finish {
    /// The result as an expression over keys and results of calls.
    fn expression(self, keys: usize) -> Lowered {
        let column = |call: usize| Lowered::Column(keys + call);
        let sum_type = DataType::Decimal128(SUM_DIGITS, 0);
        match self {
            Self::Plain(call) => column(call),
            Self::SumAsNumeric(call) => {
                Lowered::Foreign { function: Arc::new(IntegersAsNumeric), arguments: vec![(column(call), sum_type)] }
            }
            Self::Quotient { sum, count } => Lowered::Foreign {
                function: Arc::new(IntegersAsNumeric),
                arguments: vec![(column(sum), sum_type), (column(count), DataType::Int64)],
            },
        }
    }
}

/// Bytes of the number before a value.
const NUMBER_BYTES: usize = size_of::<u64>();

/// Values as bytes with the number of their row before them, so that the minimum is the first one.
#[derive(Debug, Default)]
struct Numbered(AtomicU64);

impl ForeignExpression for Numbered {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let first = self.0.fetch_add(row_count as u64, Ordering::Relaxed);
        let values = cast(&arguments[0], &DataType::BinaryView)?;
        let values = values
            .as_binary_view()
            .iter()
            .zip(first..)
            .map(|(value, number)| value.map(|value| [&number.to_be_bytes()[..], value].concat()));
        Ok(Arc::new(values.collect::<BinaryViewArray>()))
    }
}

impl fmt::Display for Numbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbered")
    }
}

/// The first value of a group, of the column of its minimum.
fn without_number(column: usize, key: &Expression) -> Lowered {
    let function = Arc::new(WithoutNumber(Form::of(key.sql_type.id).data_type()));
    Lowered::Foreign { function, arguments: vec![(Lowered::Column(column), DataType::BinaryView)] }
}

/// Values of a type without the number before them.
#[derive(Debug)]
struct WithoutNumber(DataType);

impl ForeignExpression for WithoutNumber {
    fn evaluate(&self, arguments: &[ArrayRef], _: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let values = arguments[0].as_binary_view().iter();
        let values = values.map(|value| value.and_then(|value| value.get(NUMBER_BYTES..)));
        Ok(cast(&values.collect::<BinaryViewArray>(), &self.0)?)
    }
}

impl fmt::Display for WithoutNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("first value")
    }
}

/// A sum of integers as a numeric, or its quotient with a count.
#[derive(Debug)]
struct IntegersAsNumeric;

impl ForeignExpression for IntegersAsNumeric {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let mut results = ArrayBuilder::new(Form::Encoded);
        let sums = arguments[0].as_primitive::<Decimal128Type>();
        for row in 0..row_count {
            if sums.is_null(row) {
                results.add(&Value::Null)?;
                continue;
            }
            let sum = Numeric::parse(&sums.value(row).to_string())?;
            let result = match arguments.get(1) {
                None => sum,
                Some(counts) => {
                    sum.checked_div(&Numeric::parse(&counts.as_primitive::<Int64Type>().value(row).to_string())?)?
                }
            };
            results.add(&Value::Numeric(result))?;
        }
        Ok(results.finish())
    }
}

impl fmt::Display for IntegersAsNumeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("as numeric")
    }
}
