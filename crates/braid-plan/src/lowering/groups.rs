//! Groups and aggregates, DISTINCT, INTERSECT and EXCEPT.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, AsArray, BinaryViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use braid_exec::Expression as Lowered;
use braid_exec::expression::{Comparison, ForeignExpression};
use braid_exec::plan::{AggregateCall as LoweredCall, AggregateFunction, AggregationSpec, Plan};
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{AggregateCall, Aggregation, ColumnId, Relation, SetOperator};
use braid_sql::{Expression, SqlError};
use braid_storage::Scalar;

use super::numeric_aggregates::NumericFinish;
use super::query::Lowering;
use super::relations::{Input, unsupported};
use crate::values::Form;

/// What becomes of an aggregate's results.
enum Finish {
    /// The result is the operator's.
    Plain(usize),
    /// A numeric is made of the operator's results.
    Numeric(NumericFinish),
}

/// A grouping that is put together.
pub(super) struct Groups {
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
    pub fn expression(&mut self, expression: Lowered) -> usize {
        self.expressions.push(expression);
        self.expressions.len() - 1
    }

    /// The number of an argument. A column is there once.
    pub fn argument(&mut self, argument: &Lowered) -> usize {
        let others = &self.expressions[self.keys..];
        let is_known = |other: &Lowered| other.as_column().is_some() && other.as_column() == argument.as_column();
        match others.iter().position(is_known) {
            Some(at) => self.keys + at,
            None => self.expression(argument.clone()),
        }
    }

    /// The number of a call. Equal calls are made once.
    pub fn call(&mut self, call: LoweredCall) -> usize {
        if let Some(known) = self.calls.iter().position(|known| *known == call) {
            return known;
        }
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
        self.collected(|| self.groups(aggregation))
    }

    fn groups(&self, aggregation: &Aggregation) -> Result<Input, SqlError> {
        let input = self.relation(&aggregation.input)?;
        let columns = input.columns.clone();
        let mut groups = Groups::new(input);
        let keys: Vec<&Expression> = aggregation.keys.iter().map(|(_, key)| key).collect();
        let (mut values, forms) = self.group_keys(&keys, &columns, &mut groups)?;
        aggregation.keys.iter().zip(forms).for_each(|((column, _), form)| self.note_form(*column, form));
        let mut finishes = Vec::new();
        for (_, call) in &aggregation.aggregates {
            finishes.push(self.aggregate_call(call, &columns, &mut groups)?);
        }
        if groups.keys == 0 && groups.calls.is_empty() {
            // One group, which exists even without rows.
            let count = AggregateFunction::CountRows;
            groups.call(LoweredCall { function: count, argument: None, distinct: false, filter: None });
        }
        for ((column, _), finish) in aggregation.aggregates.iter().zip(&finishes) {
            let form = match finish {
                Finish::Numeric(finish) => finish.form(),
                Finish::Plain(_) => Form::of(self.columns.sql_type(*column).id),
            };
            self.note_form(*column, form);
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

    /// Adds the keys of groups, before all other expressions: what gives their values, and in which form.
    fn group_keys(
        &self,
        keys: &[&Expression],
        columns: &[ColumnId],
        groups: &mut Groups,
    ) -> Result<(Vec<Lowered>, Vec<Form>), SqlError> {
        let mut forms = Vec::with_capacity(keys.len());
        for key in keys {
            let fixed = self.fixed(key, columns)?;
            if let (None, Some((value, form))) = (&fixed, self.unpadded(key, columns)?) {
                forms.push(Some(form));
                groups.expression(value);
                continue;
            }
            let is_direct = Form::is_compared_directly(key.sql_type.id);
            forms.push(match &fixed {
                Some(fixed) => fixed.form(),
                None => is_direct.then(|| Form::of(key.sql_type.id)),
            });
            groups.expression(match fixed {
                Some(fixed) => fixed.value,
                None => self.comparison_key(key, columns)?,
            });
        }
        groups.keys = keys.len();
        let mut values = Vec::with_capacity(keys.len());
        for (at, (key, form)) in keys.iter().zip(&forms).enumerate() {
            values.push(match form {
                Some(_) => Lowered::Column(at),
                None => without_number(groups.keys + self.first_value(key, columns, groups)?, key),
            });
        }
        let shown = |(key, form): (&&Expression, Option<Form>)| form.unwrap_or(Form::of(key.sql_type.id));
        Ok((values, keys.iter().zip(forms).map(shown).collect()))
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
        if let Some(finish) = self.numeric_aggregate(entry.name, call, filter, columns, groups)? {
            return Ok(Finish::Numeric(finish));
        }
        let mut add = |function, argument: Option<&Expression>| {
            let argument = match argument {
                None => None,
                Some(argument) => {
                    let id = argument.sql_type.id;
                    let is_counted = function == AggregateFunction::Count;
                    if !Form::is_compared_directly(id) && !is_counted {
                        return Err(refused());
                    }
                    let argument = match self.fixed(argument, columns)? {
                        Some(fixed) => fixed.value,
                        None if is_counted && call.is_distinct => self.comparison_key(argument, columns)?,
                        None => self.expression(argument, columns)?,
                    };
                    Some(groups.expression(argument))
                }
            };
            Ok(groups.call(LoweredCall { function, argument, distinct: call.is_distinct, filter }))
        };
        let sums_natively = |id| [TypeId::INT2, TypeId::INT4, TypeId::FLOAT8].contains(&id);
        Ok(match (entry.name, &call.arguments[..]) {
            ("count", []) => Finish::Plain(add(AggregateFunction::CountRows, None)?),
            ("count", [argument]) => Finish::Plain(add(AggregateFunction::Count, Some(argument))?),
            ("sum", [argument]) if sums_natively(argument.sql_type.id) => {
                Finish::Plain(add(AggregateFunction::Sum, Some(argument))?)
            }
            ("min", [argument]) => Finish::Plain(add(AggregateFunction::Minimum, Some(argument))?),
            ("max", [argument]) => Finish::Plain(add(AggregateFunction::Maximum, Some(argument))?),
            ("bool_and" | "every", [argument]) => Finish::Plain(add(AggregateFunction::BoolAnd, Some(argument))?),
            ("bool_or", [argument]) => Finish::Plain(add(AggregateFunction::BoolOr, Some(argument))?),
            _ => return Err(refused()),
        })
    }

    /// Rows that differ in some columns.
    pub(super) fn distinct(&self, input: &Relation, columns: &[ColumnId]) -> Result<Input, SqlError> {
        let input = self.collected(|| self.relation(input))?;
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
        let (values, _) = self.group_keys(&keys.iter().collect::<Vec<_>>(), &there, &mut groups)?;
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
        match self {
            Self::Plain(call) => Lowered::Column(keys + call),
            Self::Numeric(finish) => finish.expression(keys),
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
