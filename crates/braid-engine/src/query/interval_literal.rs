//! `INTERVAL '…'` as a cast of its text, which PostgreSQL's input function reads; DataFusion's own reads less.
//!
//! Fields after the text (`INTERVAL '1' YEAR`) name the unit of a bare number. Of another text they would cut what is
//! smaller; where that could be, the literal is refused.

use datafusion::sql::sqlparser::ast::{CastKind, DataType, DateTimeField, Expr, Interval, Value};
use datafusion::sql::sqlparser::tokenizer::Span;

use crate::EngineError;
use crate::templates::hole_value::is_bare_number;

/// The cast, if the interval is of a literal.
pub(super) fn interval_cast(interval: &Interval) -> Result<Option<Expr>, EngineError> {
    let Some((text, place)) = literal_text(&interval.value) else { return Ok(None) };
    if interval.leading_precision.is_some() || interval.fractional_seconds_precision.is_some() {
        return Err(EngineError::unsupported(
            "intervals have microsecond precision; other precisions are not supported",
        ));
    }
    let is_bare = is_bare_number(&text);
    let (text, place) = match (&interval.leading_field, &interval.last_field) {
        (None, _)
        | (Some(DateTimeField::Year), Some(DateTimeField::Month))
        | (Some(DateTimeField::Day | DateTimeField::Hour), Some(DateTimeField::Second)) => (text, place),
        (Some(field), None) if is_bare => (format!("{text} {field}"), place),
        _ => {
            return Err(EngineError::unsupported(format!("{interval} is not supported"))
                .with_hint("Write the units in the text: INTERVAL '1 day 2 hours'."));
        }
    };
    Ok(Some(Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(Value::SingleQuotedString(text).with_span(place))),
        data_type: DataType::Interval { fields: None, precision: None },
        array: false,
        format: None,
    }))
}

/// A string, or a number that DataFusion would take for one.
fn literal_text(value: &Expr) -> Option<(String, Span)> {
    let Expr::Value(value) = value else { return None };
    match &value.value {
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some((text.clone(), value.span)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn cast(sql: &str) -> Result<Option<String>, EngineError> {
        let expr = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_expr().unwrap();
        let Expr::Interval(interval) = expr else { panic!("{sql} is no interval") };
        Ok(interval_cast(&interval)?.map(|expr| expr.to_string()))
    }

    #[test]
    fn intervals_become_casts() {
        for (sql, expected) in [
            ("INTERVAL '3 days ago'", "CAST('3 days ago' AS INTERVAL)"),
            ("INTERVAL '90' DAY", "CAST('90 DAY' AS INTERVAL)"),
            ("INTERVAL '1-2' YEAR TO MONTH", "CAST('1-2' AS INTERVAL)"),
        ] {
            assert_eq!(cast(sql).unwrap().as_deref(), Some(expected));
        }
        assert_eq!(cast("INTERVAL '1 day 2 hours' DAY").unwrap_err().sqlstate(), "0A000");
    }
}
