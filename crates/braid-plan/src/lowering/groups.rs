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
use braid_exec::plan::{AggregateCall as LoweredCall, AggregateFunction, AggregationSpec, ForeignCall, Plan};
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{AggregateCall, Aggregation, ColumnId, Relation, SetOperator};
use braid_sql::{Expression, SqlError};
use braid_storage::Scalar;

use super::accumulations::AccumulatedCall;
use super::filtered_arguments::with_filtered_arguments;
use super::float_averages::FloatAverage;
use super::grouping_levels::{Level, can_be_combined, is_chain, levels};
use super::grouping_sets::{AddedRows, ExpandedRows, check_is_stable, grouping, lacking_bits, made_columns};
use super::numeric_aggregates::NumericFinish;
use super::query::Lowering;
use super::relations::Input;
use crate::values::Form;
use crate::values::comparison_key::has_key;

/// What becomes of an aggregate's results.
enum Finish {
    /// The result is the operator's.
    Plain(usize),
    /// A numeric is made of the operator's results.
    Numeric(NumericFinish),
    /// An average is made of the operator's results.
    Average(FloatAverage),
    /// The result is that of a foreign call.
    Foreign(usize),
}

/// A grouping whose keys and aggregates are known.
struct Prepared {
    groups: Groups,
    /// The keys over those of the groups, and their forms.
    values: Vec<Lowered>,
    forms: Vec<Form>,
    /// What becomes of each aggregate.
    finishes: Vec<Finish>,
}

/// A grouping that is put together.
pub(super) struct Groups {
    input: Input,
    /// Expressions over the input, one for each position that keys and calls refer to.
    expressions: Vec<Lowered>,
    pub keys: usize,
    pub calls: Vec<LoweredCall>,
    /// Foreign calls, which come after the others.
    pub foreign: Vec<ForeignCall>,
    /// Rows of grouping sets, whose number is the last key.
    added: AddedRows,
}

impl Groups {
    fn new(input: Input) -> Self {
        Self {
            input,
            expressions: Vec::new(),
            keys: 0,
            calls: Vec::new(),
            foreign: Vec::new(),
            added: AddedRows::default(),
        }
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
    pub fn plan(self) -> Plan {
        let (plan, positions) = self.input.with_positions(self.expressions);
        // A filter is null for added rows, which are therefore not counted.
        let number = self.keys.checked_sub(1).map_or(0, |key| positions[key]);
        let (plan, is_own) = self.added.in_plan(plan, number);
        let filter = |filter: Option<usize>| filter.map(|at| positions[at]).or(is_own);
        let aggregates = self.calls.into_iter().map(|call| LoweredCall {
            argument: call.argument.map(|at| positions[at]),
            filter: filter(call.filter),
            ..call
        });
        let spec = AggregationSpec { keys: positions[..self.keys].to_vec(), aggregates: aggregates.collect() };
        let (input, spec) = (Box::new(plan), Arc::new(spec));
        if self.foreign.is_empty() {
            return Plan::Aggregate { input, spec };
        }
        let foreign = self.foreign.into_iter().map(|call| ForeignCall {
            arguments: call.arguments.into_iter().map(|(at, data_type)| (positions[at], data_type)).collect(),
            filter: filter(call.filter),
            ..call
        });
        Plan::Accumulate { input, spec, foreign: foreign.collect() }
    }
}

impl Lowering<'_> {
    /// GROUP BY.
    pub(super) fn aggregate(&self, aggregation: &Aggregation) -> Result<Input, SqlError> {
        self.collected(|| self.groups(aggregation))
    }

    fn groups(&self, aggregation: &Aggregation) -> Result<Input, SqlError> {
        let keys: Vec<Expression> = aggregation.keys.iter().map(|(_, key)| key.clone()).collect();
        if matches!(&aggregation.sets[..], [set] if set.len() == keys.len()) {
            let groups = Groups::new(self.relation(&aggregation.input)?);
            return self.grouped(aggregation, self.prepared(aggregation, &keys, None, groups)?);
        }
        check_is_stable(aggregation)?;
        let input = self.relation(&aggregation.input)?;
        if let Some(levels) = levels(aggregation) {
            let prepared = self.prepared(aggregation, &keys, None, Groups::new(input.clone()))?;
            let is_safe = is_chain(&levels) || !self.is_optimistic.get();
            if is_safe && can_be_combined(&prepared.groups) {
                return self.leveled(aggregation, prepared, &levels);
            }
        }
        let expanded = self.expanded(aggregation, input)?;
        let number = expanded.number();
        let ExpandedRows { input, keys, added } = expanded;
        let groups = Groups { added, ..Groups::new(input) };
        self.grouped(aggregation, self.prepared(aggregation, &keys, Some(number), groups)?)
    }

    /// The keys and the aggregates of groups. The number of the grouping set is one more key.
    fn prepared(
        &self,
        aggregation: &Aggregation,
        keys: &[Expression],
        number: Option<Lowered>,
        mut groups: Groups,
    ) -> Result<Prepared, SqlError> {
        let columns = groups.input.columns.clone();
        let keys: Vec<&Expression> = keys.iter().collect();
        let (values, forms) = self.group_keys(&keys, number, &columns, &mut groups)?;
        let mut finishes = Vec::new();
        for (_, call) in &aggregation.aggregates {
            finishes.push(self.aggregate_call(call, &columns, &mut groups)?);
        }
        Ok(Prepared { groups, values, forms, finishes })
    }

    /// The groups of rows that are there once for each set.
    fn grouped(&self, aggregation: &Aggregation, prepared: Prepared) -> Result<Input, SqlError> {
        self.note_forms(aggregation, &prepared);
        let Prepared { mut groups, mut values, finishes, .. } = prepared;
        if groups.keys == 0 && groups.calls.is_empty() && groups.foreign.is_empty() {
            // One group, which exists even without rows.
            let count = AggregateFunction::CountRows;
            groups.call(LoweredCall { function: count, argument: None, distinct: false, filter: None });
        }
        let (keys, calls) = (groups.keys, groups.calls.len());
        let plan = groups.plan();
        values.extend(finishes.into_iter().map(|finish| finish.expression(keys, calls)));
        values.extend(aggregation.groupings.iter().map(|(_, of_keys)| match &aggregation.sets[..] {
            [set] if set.len() == aggregation.keys.len() => Lowered::Constant(Some(Scalar::Int(0))),
            _ => grouping(aggregation, of_keys, keys - 1),
        }));
        let plan = Plan::Project { input: Box::new(plan), expressions: values };
        Ok(Input { plan, columns: made_columns(aggregation) })
    }

    /// The groups of sets of which one contains all others.
    fn leveled(&self, aggregation: &Aggregation, prepared: Prepared, levels: &[Level]) -> Result<Input, SqlError> {
        self.note_forms(aggregation, &prepared);
        let Prepared { groups, values, finishes, .. } = prepared;
        let (keys, calls) = (groups.keys, groups.calls.len());
        let results: Vec<Lowered> = finishes.into_iter().map(|finish| finish.expression(keys, calls)).collect();
        let plan = self.by_levels(groups, levels, |level| {
            let of_key = |(key, value): (usize, &Lowered)| match level.contains(&key) {
                true => value.clone(),
                false => Lowered::Constant(None),
            };
            let groupings = aggregation.groupings.iter();
            let groupings = groupings.map(|(_, keys)| Lowered::Constant(Some(Scalar::Int(lacking_bits(keys, level)))));
            values.iter().enumerate().map(of_key).chain(results.iter().cloned()).chain(groupings).collect()
        })?;
        Ok(Input { plan, columns: made_columns(aggregation) })
    }

    fn note_forms(&self, aggregation: &Aggregation, prepared: &Prepared) {
        let keys = aggregation.keys.iter().zip(&prepared.forms);
        keys.for_each(|((column, _), form)| self.note_form(*column, *form));
        for ((column, _), finish) in aggregation.aggregates.iter().zip(&prepared.finishes) {
            let form = match finish {
                Finish::Numeric(finish) => finish.form(),
                Finish::Plain(_) | Finish::Average(_) | Finish::Foreign(_) => {
                    Form::of(self.columns.sql_type(*column).id)
                }
            };
            self.note_form(*column, form);
        }
    }

    /// Adds the keys of groups, before all other expressions: what gives their values, and in which form. The number of the grouping set
    /// is one more key.
    fn group_keys(
        &self,
        keys: &[&Expression],
        number: Option<Lowered>,
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
        groups.keys = keys.len() + usize::from(number.is_some());
        number.into_iter().for_each(|number| {
            groups.expression(number);
        });
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
        let call = &*with_filtered_arguments(call)?;
        let filter = match &call.filter {
            None => None,
            Some(condition) => {
                let condition = self.expression(condition, columns)?;
                Some(groups.expression(condition))
            }
        };
        if let Some(finish) = self.native_call(call, filter, columns, groups)? {
            return Ok(finish);
        }
        let name = pg_catalog().function(call.function).name;
        match self.float_average(name, call, filter, columns, groups)? {
            Some(average) => Ok(Finish::Average(average)),
            None => self.foreign_call(call, filter, columns, groups),
        }
    }

    /// An aggregate that the operator has states for; `None` for others.
    fn native_call(
        &self,
        call: &AggregateCall,
        filter: Option<usize>,
        columns: &[ColumnId],
        groups: &mut Groups,
    ) -> Result<Option<Finish>, SqlError> {
        let entry = pg_catalog().function(call.function);
        if call.is_within_group {
            return Ok(None);
        }
        if let Some(finish) = self.numeric_aggregate(entry.name, call, filter, columns, groups)? {
            return Ok(Some(Finish::Numeric(finish)));
        }
        if !is_native(entry.name, call) {
            return Ok(None);
        }
        let mut add = |function, argument: Option<&Expression>| {
            let argument = match argument {
                None => None,
                Some(argument) => {
                    let is_counted = function == AggregateFunction::Count;
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
        Ok(Some(match (entry.name, &call.arguments[..]) {
            ("count", []) => Finish::Plain(add(AggregateFunction::CountRows, None)?),
            ("count", [argument]) => Finish::Plain(add(AggregateFunction::Count, Some(argument))?),
            ("sum", [argument]) => Finish::Plain(add(AggregateFunction::Sum, Some(argument))?),
            ("min", [argument]) => Finish::Plain(add(AggregateFunction::Minimum, Some(argument))?),
            ("max", [argument]) => Finish::Plain(add(AggregateFunction::Maximum, Some(argument))?),
            ("bool_and" | "every", [argument]) => Finish::Plain(add(AggregateFunction::BoolAnd, Some(argument))?),
            ("bool_or", [argument]) => Finish::Plain(add(AggregateFunction::BoolOr, Some(argument))?),
            _ => unreachable!("the operator has states for it"),
        }))
    }

    /// An aggregate by calls that the operator has states for; `None` for others.
    pub(super) fn native_calls(
        &self,
        call: &AggregateCall,
        columns: &[ColumnId],
    ) -> Result<Option<NativeCalls>, SqlError> {
        let call = &*with_filtered_arguments(call)?;
        let mut groups = Groups::new(Input { plan: Plan::Union(Vec::new()), columns: Vec::new() });
        let filter = match &call.filter {
            None => None,
            Some(condition) => Some(groups.expression(self.expression(condition, columns)?)),
        };
        let finish = self.native_call(call, filter, columns, &mut groups)?;
        let Groups { expressions, calls, .. } = groups;
        Ok(finish.map(|finish| NativeCalls { expressions, calls, finish }))
    }

    /// An aggregate that the operator has no states for.
    fn foreign_call(
        &self,
        call: &AggregateCall,
        filter: Option<usize>,
        columns: &[ColumnId],
        groups: &mut Groups,
    ) -> Result<Finish, SqlError> {
        let AccumulatedCall { function, arguments, reads_filter } = self.accumulated_call(call, columns)?;
        let arguments = arguments.into_iter().map(|(argument, data_type)| (groups.argument(&argument), data_type));
        let arguments = arguments.collect();
        let filter = filter.filter(|_| !reads_filter);
        groups.foreign.push(ForeignCall { function: Arc::new(function), arguments, filter });
        Ok(Finish::Foreign(groups.foreign.len() - 1))
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
    pub(super) fn grouped_by(
        &self,
        input: Input,
        columns: &[ColumnId],
        calls: impl FnOnce(&mut Groups) -> Result<Vec<LoweredCall>, SqlError>,
    ) -> Result<(Plan, Vec<Lowered>), SqlError> {
        let there = input.columns.clone();
        let mut groups = Groups::new(input);
        let keys: Vec<Expression> = columns.iter().map(|column| self.column_expression(*column)).collect();
        let (values, _) = self.group_keys(&keys.iter().collect::<Vec<_>>(), None, &there, &mut groups)?;
        let further = calls(&mut groups)?;
        groups.calls.extend(further);
        Ok((groups.plan(), values))
    }

    pub(super) fn column_expression(&self, column: ColumnId) -> Expression {
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
    fn expression(self, keys: usize, calls: usize) -> Lowered {
        match self {
            Self::Foreign(call) => Lowered::Column(keys + calls + call),
            Self::Plain(call) => Lowered::Column(keys + call),
            Self::Numeric(finish) => finish.expression(keys),
            Self::Average(average) => average.expression(keys),
        }
    }
}

/// An aggregate by calls that the operator has states for.
pub(super) struct NativeCalls {
    /// The expressions that the calls refer to.
    pub expressions: Vec<Lowered>,
    /// The calls.
    pub calls: Vec<LoweredCall>,
    finish: Finish,
}

impl NativeCalls {
    /// The form of the result, if it is not that of its type.
    pub fn form(&self) -> Option<Form> {
        match &self.finish {
            Finish::Numeric(finish) => Some(finish.form()),
            Finish::Plain(_) | Finish::Average(_) | Finish::Foreign(_) => None,
        }
    }

    /// Whether it is an extreme that tells its digits apart from its value.
    pub fn is_shown_extreme(&self) -> bool {
        matches!(self.finish, Finish::Numeric(NumericFinish::Extreme { .. }))
    }

    /// The result as an expression over the results of the calls, which begin at this position.
    pub fn result(self, first: usize) -> Lowered {
        self.finish.expression(first, self.calls.len())
    }
}

/// Whether the operator has states for an aggregate of values of this type.
fn is_native(name: &str, call: &AggregateCall) -> bool {
    let compares = |argument: &Expression| Form::is_compared_directly(argument.sql_type.id);
    match (name, &call.arguments[..]) {
        ("count", []) => true,
        ("count", [argument]) => !call.is_distinct || has_key(argument.sql_type.id),
        ("sum", [argument]) => [TypeId::INT2, TypeId::INT4, TypeId::FLOAT8].contains(&argument.sql_type.id),
        ("min" | "max" | "bool_and" | "every" | "bool_or", [argument]) => compares(argument),
        _ => false,
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
