//! Rows of values, `(a, b)`, in comparisons: spelled out column by column, which is how PostgreSQL defines them.
//!
//! DataFusion makes structs of them, whose comparisons know nothing of null fields, and has no `IN` of several columns.
//! `(a, b) IN (SELECT x, y …)` becomes an EXISTS with equalities, which answers false where IN would answer null. To a WHERE
//! or HAVING that is the same, as long as only AND and OR stand between; anywhere else (under NOT, in a CASE, in a select
//! list) it is not, and the comparison is refused.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Ident, Query, SetExpr, UnaryOperator, Value};

use super::rewrite::parse_query;
use crate::{EngineError, SqlState};

/// The rewritten form of a comparison of rows; `None` for any other expression.
pub(super) fn spelled_out(expr: &Expr) -> Result<Option<Expr>, EngineError> {
    match expr {
        Expr::BinaryOp { left, op, right } => match (&**left, &**right) {
            (Expr::Tuple(left), Expr::Tuple(right)) => compare(left, op, right),
            _ => Ok(None),
        },
        Expr::InList { expr, list, negated } => match &**expr {
            Expr::Tuple(row) => in_list(row, list, *negated).map(Some),
            _ => Ok(None),
        },
        Expr::InSubquery { expr, .. } if matches!(&**expr, Expr::Tuple(_)) => Err(EngineError::unsupported(
            "IN (subquery) of several columns is only supported as a condition of WHERE or HAVING, and without NOT; use EXISTS",
        )),
        // Both ask about all fields: a row may be neither.
        Expr::IsNull(row) | Expr::IsNotNull(row) => match &**row {
            Expr::Tuple(fields) => {
                let is_null = matches!(expr, Expr::IsNull(_));
                let test = |field: &Expr| {
                    let field = Box::new(Expr::Nested(Box::new(field.clone())));
                    if is_null { Expr::IsNull(field) } else { Expr::IsNotNull(field) }
                };
                Ok(joined(fields.iter().map(test), BinaryOperator::And).map(|tests| Expr::Nested(Box::new(tests))))
            }
            Expr::QualifiedWildcard(..) | Expr::Wildcard(_) => {
                Err(EngineError::unsupported(format!("{expr} is not supported")).with_hint("Name the columns."))
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Spells out `(a, b) IN (SELECT …)` in a condition that takes null for false: itself, or joined by AND and OR.
pub(super) fn spell_out_membership(condition: &mut Expr) -> Result<(), EngineError> {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            spell_out_membership(left)?;
            spell_out_membership(right)
        }
        Expr::Nested(inner) => spell_out_membership(inner),
        Expr::InSubquery { expr, subquery, negated: false } => {
            if let Expr::Tuple(row) = &**expr {
                *condition = in_subquery(row, subquery)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn compare(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Result<Option<Expr>, EngineError> {
    check_lengths(left.len(), right.len())?;
    let strict = match op {
        BinaryOperator::Eq => return Ok(Some(all_equal(left, right))),
        BinaryOperator::NotEq => {
            let pairs = left.iter().zip(right).map(|(a, b)| binary(a.clone(), BinaryOperator::NotEq, b.clone()));
            return Ok(joined(pairs, BinaryOperator::Or));
        }
        BinaryOperator::Lt | BinaryOperator::LtEq => BinaryOperator::Lt,
        BinaryOperator::Gt | BinaryOperator::GtEq => BinaryOperator::Gt,
        _ => return Ok(None),
    };
    // (a, b) < (x, y) is a < x OR a = x AND b < y.
    let last = left.len() - 1;
    let cases = (0..left.len()).map(|at| {
        let op = if at == last { op.clone() } else { strict.clone() };
        let here = binary(left[at].clone(), op, right[at].clone());
        match at {
            0 => here,
            _ => binary(all_equal(&left[..at], &right[..at]), BinaryOperator::And, here),
        }
    });
    Ok(joined(cases, BinaryOperator::Or))
}

fn in_list(row: &[Expr], list: &[Expr], negated: bool) -> Result<Expr, EngineError> {
    let mut alternatives = Vec::with_capacity(list.len());
    for item in list {
        let Expr::Tuple(values) = item else { return Err(unequal()) };
        check_lengths(row.len(), values.len())?;
        alternatives.push(all_equal(row, values));
    }
    let found = joined(alternatives, BinaryOperator::Or).ok_or_else(unequal)?;
    Ok(if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(found) } } else { found })
}

fn in_subquery(row: &[Expr], subquery: &Query) -> Result<Expr, EngineError> {
    let names: Vec<String> = (1..=row.len()).map(|at| format!("\"in column {at}\"")).collect();
    let columns = names.join(", ");
    let mut exists = parse_query(&format!("SELECT 1 FROM ({subquery}) AS \"in rows\" ({columns}) WHERE true"))?;
    let columns: Vec<Expr> =
        (1..=row.len()).map(|at| Expr::Identifier(Ident::with_quote('"', format!("in column {at}")))).collect();
    if let SetExpr::Select(select) = &mut *exists.body {
        select.selection = Some(all_equal(row, &columns));
    }
    Ok(Expr::Exists { subquery: exists, negated: false })
}

fn all_equal(left: &[Expr], right: &[Expr]) -> Expr {
    let pairs = left.iter().zip(right).map(|(a, b)| binary(a.clone(), BinaryOperator::Eq, b.clone()));
    joined(pairs, BinaryOperator::And).unwrap_or_else(|| Expr::Value(Value::Boolean(true).with_empty_span()))
}

fn joined(exprs: impl IntoIterator<Item = Expr>, op: BinaryOperator) -> Option<Expr> {
    let mut exprs: Vec<Expr> = exprs.into_iter().collect();
    (!exprs.is_empty()).then(|| Expr::Nested(Box::new(joined_halves(&mut exprs, &op))))
}

/// Halves of halves: a list of thousands of rows makes no deep tree.
fn joined_halves(exprs: &mut Vec<Expr>, op: &BinaryOperator) -> Expr {
    match exprs.len() {
        1 => exprs.remove(0),
        count => {
            let mut later = exprs.split_off(count / 2);
            binary(joined_halves(exprs, op), op.clone(), joined_halves(&mut later, op))
        }
    }
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }))
}

fn check_lengths(left: usize, right: usize) -> Result<(), EngineError> {
    if left == right && left > 0 { Ok(()) } else { Err(unequal()) }
}

fn unequal() -> EngineError {
    EngineError::new(SqlState::SyntaxError, "unequal number of entries in row expressions")
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn spelled(sql: &str) -> Result<Option<String>, EngineError> {
        let expr = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_expr().unwrap();
        Ok(spelled_out(&expr)?.map(|expr| expr.to_string()))
    }

    #[test]
    fn rows_compare_column_by_column() {
        for (sql, expected) in [
            ("(a, b) = (1, 2)", Some("a = 1 AND b = 2")),
            ("(a, b) IN ((1, 2), (3, 4))", Some("a = 1 AND b = 2 OR a = 3 AND b = 4")),
            ("(a, b) < (1, 2)", Some("a < 1 OR a = 1 AND b < 2")),
            ("a IN (1, 2)", None),
            ("a = 1", None),
        ] {
            let spelled = spelled(sql).unwrap().map(|text| text.replace(['(', ')'], ""));
            assert_eq!(spelled.as_deref(), expected, "{sql}");
        }
        assert_eq!(spelled("(a, b) = (1, 2, 3)").unwrap_err().sqlstate(), "42601");
        assert_eq!(spelled("(a, b) NOT IN (select 1, 2)").unwrap_err().sqlstate(), "0A000");
        assert_eq!(spelled("(a, b) IN (select 1, 2)").unwrap_err().sqlstate(), "0A000");
    }

    #[test]
    fn membership_is_spelled_out_where_null_is_false() {
        let condition = |sql: &str| {
            let mut expr = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_expr().unwrap();
            spell_out_membership(&mut expr).unwrap();
            expr.to_string()
        };
        for sql in ["(a, b) IN (select x, y from t)", "c OR (d AND (a, b) IN (select x, y from t))"] {
            let exists = condition(sql);
            assert!(exists.contains("EXISTS (SELECT 1 FROM (SELECT x, y FROM t) AS \"in rows\""), "{exists}");
        }
        for sql in ["NOT ((a, b) IN (SELECT 1, 2))", "(a, b) NOT IN (SELECT 1, 2)", "(a, b) IN (SELECT 1, 2) IS NULL"] {
            assert_eq!(condition(sql), sql);
        }
    }
}
