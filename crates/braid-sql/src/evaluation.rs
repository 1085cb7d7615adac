//! Evaluating an expression.
//!
//! Arguments are evaluated from left to right, and only those that PostgreSQL evaluates: AND, OR, CASE and COALESCE stop where the
//! result is clear. The depth of the recursion is that of the expression, which the parser bounds.

mod chains;
pub mod domains;
pub mod pair_query;
mod records;
mod subscripts;

use std::fmt;
use std::sync::Arc;

use crate::expression::{ElementCast, Expression, FunctionCall, Node, Quantified, SetCall, ThroughText};
use crate::functions::strings::substrings::counts_itself;
use crate::functions::text_input::read_text;
use crate::functions::{Call, Function, Rows, SessionFacts, UnlimitedMemory, ValueMemory};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::relation::{ColumnId, Subquery};
use crate::value_memory::{counted, expected_bytes};
use crate::values::array_limits::check_dimension_count;
use crate::values::{ArrayValue, Value};
use crate::{SqlError, SqlState, SqlType};

/// What an expression is evaluated with.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation<'a> {
    session: &'a dyn SessionFacts,
    parameters: &'a [Value],
    row: &'a dyn Row,
    operand: Option<&'a Value>,
    memory: &'a dyn ValueMemory,
}

/// The row of an evaluation.
pub trait Row: fmt::Debug {
    /// The value of a column.
    fn column(&self, column: ColumnId) -> Result<Value, SqlError>;
    /// The value of a subquery. The evaluation is that of the expression around it.
    fn subquery(&self, subquery: &Subquery, evaluation: &Evaluation<'_>) -> Result<Value, SqlError>;
}

/// The row of expressions that read none.
#[derive(Clone, Copy, Debug)]
pub struct NoRow;

impl Row for NoRow {
    fn column(&self, column: ColumnId) -> Result<Value, SqlError> {
        panic!("{column} is read without a row")
    }

    fn subquery(&self, _subquery: &Subquery, _evaluation: &Evaluation<'_>) -> Result<Value, SqlError> {
        panic!("a subquery is read without a row")
    }
}

impl<'a> Evaluation<'a> {
    /// An evaluation in `session`, with the values of `$1`, `$2`, …. Its values are not counted.
    pub fn new(session: &'a dyn SessionFacts, parameters: &'a [Value]) -> Self {
        Self { session, parameters, row: &NoRow, operand: None, memory: &UnlimitedMemory }
    }

    /// The session.
    pub fn session(&self) -> &'a dyn SessionFacts {
        self.session
    }

    /// The same with the columns of a row.
    #[must_use]
    pub fn in_row(self, row: &'a dyn Row) -> Self {
        Self { row, ..self }
    }

    /// The same with what long values are counted under.
    #[must_use]
    pub fn with_memory(self, memory: &'a dyn ValueMemory) -> Self {
        Self { memory, ..self }
    }

    /// The value of an expression.
    pub fn value(&self, expression: &Expression) -> Result<Value, SqlError> {
        match &expression.node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Parameter(at) => Ok(self.parameters[*at].clone()),
            Node::Operand => Ok(self.operand.expect("the binder puts operands below their LET").clone()),
            Node::Column(column, _) => self.row.column(*column),
            Node::Subquery(subquery) => self.row.subquery(subquery, self),
            Node::Call(call) => self.call(call, expression.sql_type),
            Node::Relabel(operand) => Ok(relabelled(self.value(operand)?, expression.sql_type.id)),
            Node::ThroughText(cast) => self.through_text(cast, expression.sql_type),
            Node::EachElement { array, cast } => self.each_element(array, *cast, expression.sql_type),
            Node::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    if self.value(condition)? == Value::Bool(true) {
                        return self.value(result);
                    }
                }
                self.value(otherwise)
            }
            Node::Let { operand, body } => {
                let operand = self.value(operand)?;
                Evaluation { operand: Some(&operand), ..*self }.value(body)
            }
            Node::Chain { first, steps } => self.chain(first, steps),
            Node::Coalesce(values) => {
                for value in values {
                    let value = self.value(value)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Node::Extreme { values, is_beyond } => self.extreme(values, *is_beyond),
            Node::And(operands) => self.connected(operands, false),
            Node::Or(operands) => self.connected(operands, true),
            Node::Not(operand) => Ok(match self.value(operand)? {
                Value::Bool(truth) => Value::Bool(!truth),
                null => null,
            }),
            Node::IsNull(operand) => Ok(Value::Bool(self.value(operand)?.is_null())),
            Node::Is(truth, operand) => Ok(Value::Bool(self.value(operand)? == Value::Bool(*truth))),
            Node::Distinct(left, right, equals) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                Ok(Value::Bool(match (left.is_null(), right.is_null()) {
                    (false, false) => self.compare(*equals, left, right)? != Value::Bool(true),
                    (left_is_null, right_is_null) => left_is_null != right_is_null,
                }))
            }
            Node::Array(element, values) => self.array(*element, values),
            Node::Subscript(container, subscripts) => self.subscripted(container, subscripts),
            Node::OnRecord(operation, operands) => self.on_record(operation, operands),
            Node::Quantified(quantified) => self.quantified(quantified),
            Node::Domain(cast) => self.of_domain(cast),
        }
    }

    /// The rows of a call, made as they are asked for.
    pub fn rows(&self, call: &SetCall) -> Result<Rows, SqlError> {
        let arguments = call.arguments.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>, _>>()?;
        if call.is_strict && arguments.iter().any(Value::is_null) {
            return Ok(Box::new(std::iter::empty()));
        }
        call.function.rows(&arguments, &self.context(&call.argument_types, call.row_type))
    }

    /// The text of a value, as its type's output function writes it; `None` for null.
    pub fn text(&self, value: &Value, sql_type: SqlType) -> Result<Option<String>, SqlError> {
        if value.is_null() {
            return Ok(None);
        }
        let catalog = pg_catalog();
        let output = catalog.function(catalog.type_entry(sql_type.id).output);
        let output = Function::of(output)
            .ok_or_else(|| SqlError::unsupported(format!("values of type {:?} are not supported", sql_type.id)))?;
        match self.apply(output, std::slice::from_ref(value), &[sql_type], SqlType::of(TypeId::CSTRING))? {
            Value::Text(text) => Ok(Some(text.to_string())),
            other => panic!("an output function returned {other:?}"),
        }
    }

    fn call(&self, call: &FunctionCall, result_type: SqlType) -> Result<Value, SqlError> {
        // Most functions have one or two arguments, which need no allocation.
        match &call.arguments[..] {
            [argument] => self.apply_to(call, &[self.value(argument)?], result_type),
            [left, right] => self.apply_to(call, &[self.value(left)?, self.value(right)?], result_type),
            arguments => {
                let arguments = arguments.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>, _>>()?;
                self.apply_to(call, &arguments, result_type)
            }
        }
    }

    fn apply_to(&self, call: &FunctionCall, arguments: &[Value], result_type: SqlType) -> Result<Value, SqlError> {
        if call.is_strict && arguments.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        self.apply(call.function, arguments, &call.argument_types, result_type)
    }

    fn apply(
        &self,
        function: Function,
        arguments: &[Value],
        argument_types: &[SqlType],
        result_type: SqlType,
    ) -> Result<Value, SqlError> {
        let mut expected = expected_bytes(arguments, result_type.id);
        if expected > 0 && pg_catalog().function(function.id).symbol.is_some_and(counts_itself) {
            expected = 0;
        }
        counted(self.memory, expected, |memory| {
            function.compute(arguments, &Call { memory, ..self.context(argument_types, result_type) })
        })
    }

    fn context<'b>(&'b self, argument_types: &'b [SqlType], result_type: SqlType) -> Call<'b> {
        Call { session: self.session, argument_types, result_type, memory: self.memory }
    }

    /// A comparison of two values that are not null.
    fn compare(&self, comparison: Function, left: Value, right: Value) -> Result<Value, SqlError> {
        self.apply(comparison, &[left, right], &[], SqlType::of(TypeId::BOOL))
    }

    fn through_text(&self, cast: &ThroughText, target: SqlType) -> Result<Value, SqlError> {
        let value = self.value(&cast.argument)?;
        self.cast_through_text(value, cast.argument.sql_type, (cast.output, cast.input), target)
    }

    fn cast_through_text(
        &self,
        value: Value,
        source: SqlType,
        (output, input): (Function, Function),
        target: SqlType,
    ) -> Result<Value, SqlError> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let text = self.apply(output, &[value], &[source], SqlType::of(TypeId::CSTRING))?;
        let expected = expected_bytes(std::slice::from_ref(&text), target.id);
        counted(self.memory, expected, |_| read_text(input, text, target, -1, self.session))
    }

    fn each_element(&self, array: &Expression, cast: ElementCast, target: SqlType) -> Result<Value, SqlError> {
        let catalog = pg_catalog();
        let Value::Array(values) = self.value(array)? else { return Ok(Value::Null) };
        let id = catalog.element_of_array(target.id).expect("arrays are cast to arrays");
        let (source, target) = (SqlType::of(values.element), SqlType { id, modifier: target.modifier });
        let cast_one = |value: &Value| match cast {
            _ if value.is_null() => Ok(Value::Null),
            ElementCast::Relabel => Ok(relabelled(value.clone(), id)),
            ElementCast::ThroughText(output, input) => {
                self.cast_through_text(value.clone(), source, (output, input), target)
            }
            ElementCast::Function { function, argument_count, is_explicit } => {
                let arguments = [value.clone(), Value::Int4(target.modifier), Value::Bool(is_explicit)];
                Ok(relabelled(self.apply(function, &arguments[..argument_count], &[source], target)?, id))
            }
        };
        let cast_values = values.values.iter().map(cast_one).collect::<Result<Vec<_>, _>>()?;
        let dimensions = values.dimensions.clone();
        Ok(Value::Array(Arc::new(ArrayValue { element: id, dimensions, values: cast_values })))
    }

    fn extreme(&self, values: &[Expression], is_beyond: Function) -> Result<Value, SqlError> {
        let mut extreme = Value::Null;
        for value in values {
            let value = self.value(value)?;
            let takes = !value.is_null()
                && (extreme.is_null() || self.compare(is_beyond, value.clone(), extreme.clone())? == Value::Bool(true));
            if takes {
                extreme = value;
            }
        }
        Ok(extreme)
    }

    /// AND (`deciding` is false) and OR (true): the first operand that decides ends it, null if one is null.
    fn connected(&self, operands: &[Expression], deciding: bool) -> Result<Value, SqlError> {
        let mut result = Value::Bool(!deciding);
        for operand in operands {
            match self.value(operand)? {
                Value::Bool(truth) if truth == deciding => return Ok(Value::Bool(deciding)),
                Value::Null => result = Value::Null,
                _ => {}
            }
        }
        Ok(result)
    }

    fn array(&self, element: TypeId, values: &[Expression]) -> Result<Value, SqlError> {
        let is_nested = values.first().is_some_and(|value| value.sql_type.id != element);
        let values = values.iter().map(|value| self.value(value)).collect::<Result<Vec<_>, _>>()?;
        let array = if is_nested { array_of_arrays(element, &values)? } else { ArrayValue::of(element, values) };
        Ok(Value::Array(Arc::new(array)))
    }

    fn quantified(&self, quantified: &Quantified) -> Result<Value, SqlError> {
        let operand = self.value(&quantified.operand)?;
        let Value::Array(array) = self.value(&quantified.array)? else { return Ok(Value::Null) };
        let deciding = !quantified.is_all;
        if array.values.is_empty() {
            return Ok(Value::Bool(!deciding));
        }
        if operand.is_null() {
            return Ok(Value::Null);
        }
        let mut result = Value::Bool(!deciding);
        for element in &array.values {
            let compared = match element {
                Value::Null => Value::Null,
                element => self.compare(quantified.compare, operand.clone(), element.clone())?,
            };
            match compared {
                Value::Bool(truth) if truth == deciding => return Ok(Value::Bool(deciding)),
                Value::Null => result = Value::Null,
                _ => {}
            }
        }
        Ok(result)
    }
}

/// Arrays as the elements of one more dimension. Null and empty arrays are alike here: all of them are, or none.
fn array_of_arrays(element: TypeId, values: &[Value]) -> Result<ArrayValue, SqlError> {
    let filled = |value: &&Value| matches!(value, Value::Array(array) if !array.dimensions.is_empty());
    let inner: Vec<&ArrayValue> = values.iter().filter(filled).map(Value::as_array).collect();
    let Some(first) = inner.first() else { return Ok(ArrayValue::of(element, Vec::new())) };
    if inner.len() < values.len() || inner.iter().any(|array| array.dimensions != first.dimensions) {
        let message = "multidimensional arrays must have array expressions with matching dimensions";
        return Err(SqlError::new(SqlState::ArraySubscriptError, message));
    }
    let dimensions: Vec<(usize, i32)> = std::iter::once((values.len(), 1)).chain(first.dimensions.clone()).collect();
    check_dimension_count(dimensions.len())?;
    let values = inner.iter().flat_map(|array| array.values.iter().cloned()).collect();
    Ok(ArrayValue { element, dimensions, values })
}

/// The same bytes as a value of another type: of the casts between types with values of different kinds, those of `integer` and `oid`.
fn relabelled(value: Value, target: TypeId) -> Value {
    match value {
        Value::Int4(value) if target != TypeId::INT4 => Value::Oid(value as u32),
        Value::Oid(value) if target == TypeId::INT4 => Value::Int4(value as i32),
        same => same,
    }
}
