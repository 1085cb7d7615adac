//! Evaluation of expressions, compared with a definition that evaluates scalars row by row.

mod measurements;
mod named;
mod properties;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::DataType;
use braid_storage::Scalar;

use crate::expression::like_pattern::LikePattern;
use crate::expression::{
    Arithmetic, Comparison, DatePart, Evaluator, Expression, ForeignExpression, NumberRange, Resources,
};
use crate::values::batch::{Batch, Origin};
use crate::values::byte_strings::ByteStrings;
use crate::values::row_numbers::RowNumbers;
use crate::values::vector::{CodedStrings, Values};
use crate::{ExecError, FixedBudget, Vector};

fn evaluator(expression: Expression) -> Evaluator {
    Evaluator::new(expression, &FixedBudget::unlimited())
}

/// The number of bytes of a text; an error for `"x"`.
#[derive(Debug)]
struct LengthUnlessX;

impl ForeignExpression for LengthUnlessX {
    fn evaluate(
        &self,
        arguments: &[ArrayRef],
        row_count: usize,
    ) -> Result<ArrayRef, Box<dyn std::error::Error + Send + Sync>> {
        let texts = arguments[0].as_string_view();
        assert_eq!(texts.len(), row_count);
        if texts.iter().any(|text| text == Some("x")) {
            return Err("x has no length".into());
        }
        let lengths: Int64Array = texts.iter().map(|text| text.map(|text| text.len() as i64)).collect();
        Ok(Arc::new(lengths))
    }
}

impl std::fmt::Display for LengthUnlessX {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("length")
    }
}

fn column(at: usize) -> Expression {
    Expression::Column(at)
}

fn int(value: i64) -> Expression {
    Expression::Constant(Some(Scalar::Int(value)))
}

fn text(value: &str) -> Expression {
    Expression::Constant(Some(Scalar::Bytes(value.as_bytes().to_vec())))
}

fn arithmetic(operation: Arithmetic, range: NumberRange, left: Expression, right: Expression) -> Expression {
    Expression::Arithmetic { operation, left: Box::new(left), right: Box::new(right), range }
}

fn compare(comparison: Comparison, left: Expression, right: Expression) -> Expression {
    Expression::Compare { comparison, left: Box::new(left), right: Box::new(right) }
}

fn like(value: Expression, pattern: &str) -> Expression {
    Expression::Like {
        value: Box::new(value),
        pattern: Box::new(Expression::Constant(Some(Scalar::Bytes(pattern.into())))),
    }
}

fn case(branches: Vec<(Expression, Expression)>, otherwise: Option<Expression>) -> Expression {
    Expression::Case { branches, otherwise: otherwise.map(Box::new) }
}

fn length_unless_x(value: Expression) -> Expression {
    Expression::Foreign { function: Arc::new(LengthUnlessX), arguments: vec![(value, DataType::Utf8View)] }
}

fn scalars(vector: &Vector) -> Vec<Option<Scalar>> {
    (0..vector.len()).map(|row| vector.value(row)).collect()
}

fn strings(values: &[&str]) -> Values {
    Values::Bytes(ByteStrings::from_strings(values.iter().map(|value| value.as_bytes())))
}

fn coded(values: &[&str], codes: &[u32]) -> Values {
    let dictionary = Arc::new(ByteStrings::from_strings(values.iter().map(|value| value.as_bytes())));
    Values::Coded(CodedStrings { codes: codes.to_vec(), dictionary })
}

fn batch(columns: impl IntoIterator<Item = Vector>) -> Batch {
    let columns: Vec<Arc<Vector>> = columns.into_iter().map(Arc::new).collect();
    Batch::of_vectors(columns[0].len(), columns)
}

/// Vectors as an origin.
struct Vectors(Vec<Vector>);

impl Origin for Vectors {
    fn read(&self, column: usize, rows: &RowNumbers) -> Vector {
        self.0[column].take(rows.as_slice())
    }
}

/// The definition. An error is the name of a type or the message of the function.
fn value(expression: &Expression, row: &[Option<Scalar>]) -> Result<Option<Scalar>, String> {
    let values = |expressions: &[&Expression]| -> Result<Option<Vec<Scalar>>, String> {
        let values: Result<Vec<Option<Scalar>>, String> = expressions.iter().map(|e| value(e, row)).collect();
        Ok(values?.into_iter().collect())
    };
    let truth = |value: bool| Some(Scalar::Bool(value));
    Ok(match expression {
        Expression::Column(column) => row[*column].clone(),
        Expression::Constant(value) => value.clone(),
        Expression::Parameter(number) | Expression::SubqueryValue(number) => panic!("{number} is not bound"),
        Expression::Arithmetic { operation, left, right, range } => match values(&[left, right])? {
            Some(operands) => Some(combined(*operation, *range, &operands)?),
            None => None,
        },
        Expression::ScaleUp { value: number, digits } => match values(&[number])? {
            Some(number) if integer(&number[0]) == 0 => Some(Scalar::Int(0)),
            Some(number) => {
                let scaled = 10_i128.checked_pow((*digits).into()).and_then(|p| integer(&number[0]).checked_mul(p));
                Some(number_of(scaled.ok_or("numeric")?))
            }
            None => None,
        },
        Expression::Compare { comparison, left, right } => values(&[left, right])?.and_then(|operands| {
            let order = order(&operands[0], &operands[1]);
            truth(match comparison {
                Comparison::Equal => order.is_eq(),
                Comparison::NotEqual => order.is_ne(),
                Comparison::Less => order.is_lt(),
                Comparison::LessOrEqual => order.is_le(),
                Comparison::Greater => order.is_gt(),
                Comparison::GreaterOrEqual => order.is_ge(),
            })
        }),
        Expression::And(parts) | Expression::Or(parts) => {
            let decisive = truth(matches!(expression, Expression::Or(_)));
            let mut result = truth(matches!(expression, Expression::And(_)));
            for part in parts {
                let part = value(part, row)?;
                if part == decisive {
                    return Ok(decisive);
                }
                if part.is_none() {
                    result = None;
                }
            }
            result
        }
        Expression::Not(part) => value(part, row)?.map(|value| Scalar::Bool(value == Scalar::Bool(false))),
        Expression::IsNull(part) => truth(value(part, row)?.is_none()),
        Expression::In { value: part, list } => {
            value(part, row)?.and_then(|value| truth(list.iter().any(|constant| order(&value, constant).is_eq())))
        }
        Expression::Like { value: part, pattern: text } => match (value(part, row)?, value(text, row)?) {
            (Some(value), Some(pattern)) => truth(LikePattern::new(bytes(&pattern)).matches(bytes(&value))),
            _ => None,
        },
        Expression::Case { branches, otherwise } => {
            for (condition, result) in branches {
                if value(condition, row)? == truth(true) {
                    return value(result, row);
                }
            }
            otherwise.as_ref().map_or(Ok(None), |otherwise| value(otherwise, row))?
        }
        Expression::DatePart { part, value: date } => {
            value(date, row)?.map(|date| Scalar::Int(super::date_part::field(*part, integer(&date) as i64)))
        }
        Expression::Substring { value: part, start, length } => value(part, row)?.map(|value| {
            let string = std::str::from_utf8(bytes(&value)).unwrap();
            let is_in = |at: i64| at >= *start && length.is_none_or(|length| at < start + length);
            let part: String = string.chars().zip(1..).filter(|(_, at)| is_in(*at)).map(|(c, _)| c).collect();
            Scalar::Bytes(part.into_bytes())
        }),
        Expression::Foreign { arguments, .. } => match value(&arguments[0].0, row)? {
            Some(value) if bytes(&value) == b"x" => return Err("x has no length".to_owned()),
            value => value.map(|value| Scalar::Int(bytes(&value).len() as i64)),
        },
    })
}

fn combined(operation: Arithmetic, range: NumberRange, operands: &[Scalar]) -> Result<Scalar, String> {
    if let (Scalar::Float(a), Scalar::Float(b)) = (&operands[0], &operands[1]) {
        let result = match operation {
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Multiply => a * b,
        };
        let is_beyond = result.is_infinite() && a.is_finite() && b.is_finite();
        return if is_beyond { Err("double precision".to_owned()) } else { Ok(Scalar::Float(result)) };
    }
    let (a, b) = (integer(&operands[0]), integer(&operands[1]));
    let result = match operation {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
    };
    let (bits, name) = match range {
        NumberRange::Int16 => (16, "smallint"),
        NumberRange::Int32 => (32, "integer"),
        NumberRange::Int64 => (64, "bigint"),
        NumberRange::Numeric => (128, "numeric"),
        NumberRange::Double => panic!("integers are not double precision"),
    };
    let (least, greatest) = (i128::MIN >> (128 - bits), i128::MAX >> (128 - bits));
    result.filter(|result| (least..=greatest).contains(result)).map(number_of).ok_or(name.to_owned())
}

fn order(a: &Scalar, b: &Scalar) -> std::cmp::Ordering {
    match (a, b) {
        (Scalar::Int(_) | Scalar::Int128(_), _) => integer(a).cmp(&integer(b)),
        _ => a.compare(b).unwrap(),
    }
}

fn integer(value: &Scalar) -> i128 {
    match value {
        Scalar::Int(value) => (*value).into(),
        Scalar::Int128(value) => *value,
        other => panic!("{other:?} is no integer"),
    }
}

fn number_of(value: i128) -> Scalar {
    i64::try_from(value).map_or(Scalar::Int128(value), Scalar::Int)
}

fn bytes(value: &Scalar) -> &[u8] {
    match value {
        Scalar::Bytes(value) => value,
        other => panic!("{other:?} is no string"),
    }
}

/// A text with a given number of bytes. A divisible batch has at most ten bytes in all rows.
#[derive(Debug)]
struct TenBytes;

impl ForeignExpression for TenBytes {
    fn evaluate(&self, arguments: &[ArrayRef], _: usize) -> Result<ArrayRef, Box<dyn std::error::Error + Send + Sync>> {
        let lengths = arguments[0].as_primitive::<arrow::datatypes::Int64Type>();
        let texts = lengths.iter().map(|length| length.map(|length| "x".repeat(length as usize)));
        Ok(Arc::new(texts.collect::<arrow::array::StringViewArray>()))
    }

    fn evaluate_within(
        &self,
        arguments: &[ArrayRef],
        row_count: usize,
        resources: Resources<'_>,
    ) -> Result<ArrayRef, Box<dyn std::error::Error + Send + Sync>> {
        let lengths = arguments[0].as_primitive::<arrow::datatypes::Int64Type>();
        assert!(row_count > 1 || !resources.is_divisible, "one row cannot be divided");
        if resources.is_divisible && lengths.iter().flatten().sum::<i64>() > 10 {
            return Err(Box::new(ExecError::BatchTooLong));
        }
        self.evaluate(arguments, row_count)
    }
}

impl std::fmt::Display for TenBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ten_bytes")
    }
}

fn ten_bytes() -> Expression {
    let arguments = vec![(column(0), DataType::Int64)];
    Expression::Foreign { function: Arc::new(TenBytes), arguments }
}

#[test]
fn rows_of_long_values_are_computed_in_pieces() {
    use crate::runtime::pipeline::Operator;
    let lengths = [3, 0, 50, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 9, 2];
    let batch = || Batch::of_vectors(lengths.len(), [Arc::new(Vector::integers(lengths.to_vec()))]);
    let mut projection = crate::runtime::row_operators::Projection::new(
        &[ten_bytes(), column(0)],
        &[true, true],
        &FixedBudget::unlimited(),
    );
    let (mut found, mut largest) = (Vec::new(), 0);
    let mut take = |mut rows: Batch| {
        assert!(!rows.is_divisible());
        let (texts, lengths) = (rows.column(0), rows.column(1));
        let texts: Vec<usize> = (0..rows.row_count()).map(|row| texts.values().string(row).len()).collect();
        assert!(texts.len() == 1 || texts.iter().sum::<usize>() <= 10, "{texts:?}");
        assert_eq!(lengths.len(), texts.len());
        largest = largest.max(texts.len());
        found.extend(texts);
        Ok(())
    };
    projection.push(batch(), &mut take).unwrap();
    assert_eq!(found, lengths.map(|length| length as usize));
    assert!(largest > 2, "pieces grow again, the largest had {largest} rows");
    let is_long = Expression::Not(Box::new(Expression::In {
        value: Box::new(ten_bytes()),
        list: vec![Scalar::Bytes(b"x".to_vec())],
    }));
    let selected = evaluator(is_long).select(&mut batch()).unwrap();
    assert_eq!(selected, lengths.map(|length| length != 1));
}
