//! `IS [NOT] DISTINCT FROM` binds as tightly as PostgreSQL binds it.
//!
//! The parser takes everything on its right, so that `a IS DISTINCT FROM b AND c` compares `a` with `b AND c`. Here AND
//! and OR go back to where they belong. Parentheses are nodes of the tree, so that an operator without them under one
//! that binds tighter is always such a misreading.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use crate::syntax::Chains;
use crate::syntax::walk::{Rewrite, Tree};

/// Sets all expressions of a tree right, and makes long chains shallow.
pub fn rebind_all(tree: &mut dyn Tree) {
    tree.rewrite(&mut Rebind);
}

/// Sets the expressions of a tree right, and makes long chains shallow: these on the way down, before their operands are rewritten.
#[derive(Clone, Copy, Debug)]
pub struct Rebind;

impl Rewrite for Rebind {
    fn enter_expression(&mut self, expr: &mut Expr) {
        Chains.enter_expression(expr);
    }

    fn leave_expression(&mut self, expr: &mut Expr) {
        rebind(expr);
    }
}

/// Sets an expression right whose operands are right already.
pub fn rebind(expr: &mut Expr) {
    match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) if connective(right).is_some() => {
            rotate(expr, |node| match node {
                Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => Some(right),
                _ => None,
            });
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } if connective(inner).is_some() => {
            rotate(expr, |node| match node {
                Expr::UnaryOp { expr, .. } => Some(expr),
                _ => None,
            });
        }
        // A sign binds tighter than a power.
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: inner } if is_power(inner) => {
            let nothing = || Expr::Value(Value::Null.with_empty_span());
            let mut power = std::mem::replace(&mut **inner, nothing());
            if let Expr::BinaryOp { left, .. } = &mut power {
                **inner = std::mem::replace(&mut **left, nothing());
                **left = std::mem::replace(expr, nothing());
                rebind(left);
            }
            *expr = power;
        }
        Expr::BinaryOp { op: BinaryOperator::And, right, .. } if connective(right) == Some(Connective::Or) => {
            rotate(expr, |node| match node {
                Expr::BinaryOp { right, .. } => Some(right),
                _ => None,
            });
        }
        _ => {}
    }
}

fn is_power(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::PGExp, .. })
}

#[derive(PartialEq, Eq)]
enum Connective {
    And,
    Or,
}

fn connective(expr: &Expr) -> Option<Connective> {
    match expr {
        Expr::BinaryOp { op: BinaryOperator::And, .. } => Some(Connective::And),
        Expr::BinaryOp { op: BinaryOperator::Or, .. } => Some(Connective::Or),
        _ => None,
    }
}

/// `node(a AND b)` becomes `node(a) AND b`, where `operand` is the last operand of `node`.
fn rotate(node: &mut Expr, operand: fn(&mut Expr) -> Option<&mut Box<Expr>>) {
    let nothing = || Expr::Value(Value::Null.with_empty_span());
    let Some(slot) = operand(node) else { return };
    let mut connected = std::mem::replace(&mut **slot, nothing());
    if let Expr::BinaryOp { left, .. } = &mut connected {
        **slot = std::mem::replace(&mut **left, nothing());
        let inner = std::mem::replace(node, nothing());
        **left = inner;
        rebind(left);
    }
    *node = connected;
    rebind(node);
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    /// The tree with all its parentheses.
    fn spelled(expr: &Expr) -> String {
        match expr {
            Expr::BinaryOp { left, op, right } => format!("({} {op} {})", spelled(left), spelled(right)),
            Expr::UnaryOp { op, expr } => format!("({op} {})", spelled(expr)),
            Expr::IsDistinctFrom(left, right) => format!("({} IDF {})", spelled(left), spelled(right)),
            Expr::IsNotDistinctFrom(left, right) => format!("({} INDF {})", spelled(left), spelled(right)),
            Expr::Nested(inner) => spelled(inner),
            other => other.to_string(),
        }
    }

    #[test]
    fn connectives_bind_less() {
        for (sql, expected) in [
            ("a is distinct from b and c", "((a IDF b) AND c)"),
            ("a is distinct from b = c", "(a IDF (b = c))"),
            ("a is not distinct from b and c is not distinct from d and e", "((a INDF b) AND ((c INDF d) AND e))"),
            ("a is not distinct from b and c is not distinct from d or e", "(((a INDF b) AND (c INDF d)) OR e)"),
            ("x and a is distinct from b or c", "((x AND (a IDF b)) OR c)"),
            ("not a is distinct from b and c", "((NOT (a IDF b)) AND c)"),
            ("a is distinct from (b and c)", "(a IDF (b AND c))"),
            ("a and (b or c)", "(a AND (b OR c))"),
            ("not (a or b)", "(NOT (a OR b))"),
        ] {
            let mut expr = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_expr().unwrap();
            rebind_all(&mut expr);
            assert_eq!(spelled(&expr), expected, "{sql}");
        }
    }
}
