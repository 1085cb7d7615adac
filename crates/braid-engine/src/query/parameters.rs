//! Values of `$n` as literals.
//!
//! Every execution of a prepared statement is planned with its values in place: a limit is a limit, a constant is
//! folded, a range prunes chunks. A string stays an untyped literal, as it is in SQL text, and takes the type of what
//! it is compared with; everything else is cast to its type.

use arrow::array::Array;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{Array as ArrayLiteral, CastKind, DataType as SqlType, Expr, Value};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Span;

use crate::conversion::is_string;
use crate::output::text_of;
use crate::sql_types::column_type_of_arrow;
use crate::{EngineError, SqlState};

/// A literal with the value.
pub(crate) fn literal(value: &ScalarValue) -> Result<Expr, EngineError> {
    literal_at(value, Span::empty())
}

/// [`literal`] in the place of a parameter.
pub(crate) fn literal_at(value: &ScalarValue, place: Span) -> Result<Expr, EngineError> {
    let data_type = value.data_type();
    if let Some(elements) = elements_of(value) {
        let elem = elements?.iter().map(literal).collect::<Result<Vec<_>, _>>()?;
        return Ok(Expr::Array(ArrayLiteral { elem, named: true }));
    }
    if value.is_null() {
        if let DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) = &data_type
        {
            // Nothing is equal to any of its elements, as with a null array.
            let elem = vec![literal(&ScalarValue::try_from(element.data_type())?)?];
            return Ok(Expr::Array(ArrayLiteral { elem, named: true }));
        }
        let null = Expr::Value(Value::Null.with_empty_span());
        return Ok(if is_untyped(&data_type) { null } else { cast(null, &data_type)? });
    }
    let text = text_of(value)?;
    let string = Expr::Value(Value::SingleQuotedString(text).with_span(place));
    if is_untyped(&data_type) { Ok(string) } else { cast(string, &data_type) }
}

/// `$n`, cast to a type that is known.
pub(crate) fn placeholder_as(name: &str, data_type: &DataType) -> Result<Expr, EngineError> {
    let placeholder = Expr::Value(Value::Placeholder(name.to_owned()).with_empty_span());
    if is_untyped(data_type) { Ok(placeholder) } else { cast(placeholder, data_type) }
}

/// `NULL` as a value of a type: what a statement is described with.
pub(crate) fn null_of(data_type: &DataType) -> Result<ScalarValue, EngineError> {
    Ok(ScalarValue::try_from(data_type)?)
}

fn is_untyped(data_type: &DataType) -> bool {
    is_string(data_type) || *data_type == DataType::Null
}

fn cast(expr: Expr, data_type: &DataType) -> Result<Expr, EngineError> {
    Ok(Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type: sql_type(data_type)?,
        array: false,
        format: None,
    })
}

fn sql_type(data_type: &DataType) -> Result<SqlType, EngineError> {
    let column_type = column_type_of_arrow(data_type).ok_or_else(|| {
        EngineError::new(SqlState::FeatureNotSupported, format!("parameters of type {data_type} are not supported"))
    })?;
    Parser::new(&PostgreSqlDialect {})
        .try_with_sql(&column_type.to_string().to_uppercase())
        .and_then(|mut parser| parser.parse_data_type())
        .map_err(|error| EngineError::internal(format!("the name of type {column_type} does not parse: {error}")))
}

/// The elements of a list value that is not null.
fn elements_of(value: &ScalarValue) -> Option<Result<Vec<ScalarValue>, EngineError>> {
    let values = match value {
        ScalarValue::List(list) if list.is_valid(0) => list.value(0),
        ScalarValue::LargeList(list) if list.is_valid(0) => list.value(0),
        ScalarValue::FixedSizeList(list) if list.is_valid(0) => list.value(0),
        _ => return None,
    };
    let elements = (0..values.len()).map(|row| Ok(ScalarValue::try_from_array(&values, row)?));
    Some(elements.collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn literals_read_back_as_their_values() {
        let list = ScalarValue::List(Arc::new(arrow::array::ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1), None]),
        ])));
        for (value, sql) in [
            (ScalarValue::Int64(Some(-5)), "CAST('-5' AS BIGINT)"),
            (ScalarValue::Boolean(Some(true)), "CAST('true' AS BOOLEAN)"),
            (ScalarValue::Decimal128(Some(125), 10, 2), "CAST('1.25' AS NUMERIC(10,2))"),
            (ScalarValue::Date32(Some(0)), "CAST('1970-01-01' AS DATE)"),
            (ScalarValue::Float64(Some(1e300)), "CAST('1e+300' AS DOUBLE PRECISION)"),
            (ScalarValue::Binary(Some(vec![1, 255])), "CAST('\\x01ff' AS BYTEA)"),
            (
                ScalarValue::TimestampMicrosecond(Some(1), None),
                "CAST('1970-01-01 00:00:00.000001' AS TIMESTAMP WITHOUT TIME ZONE)",
            ),
            (ScalarValue::Utf8(Some("o'clock".to_owned())), "'o''clock'"),
            (ScalarValue::Utf8(None), "NULL"),
            (ScalarValue::Int32(None), "CAST(NULL AS INTEGER)"),
            (list, "ARRAY[CAST('1' AS INTEGER), CAST(NULL AS INTEGER)]"),
        ] {
            assert_eq!(literal(&value).unwrap().to_string(), sql);
        }
    }
}
