//! Long chains of one operator as trees that are not deep.
//!
//! `a OR b OR c OR …` is a tree as deep as the chain is long, and trees are walked by recursion. A chain of [`CHAIN_OPERANDS_MIN`] operands
//! or more becomes
//!
//! - a balanced tree for AND and OR, which are associative. The operands keep their order;
//! - one node for `+` and `-`, and for `||`: an [`Expr::Prefixed`] of the operands as a tuple, with the operators as its prefix. No text is
//!   read as such a node. [`links_of`] takes it apart, and [`spelled_out`] makes it operators again.
//!
//! Shorter chains stay as they are. Chains are taken apart in a loop, because they may be deeper than a thread's stack.

use std::mem::replace;

use sqlparser::ast::{BinaryOperator, Expr, Ident, Value};

use super::walk::{Rewrite, Tree};

/// Operands from which on a chain is long.
pub const CHAIN_OPERANDS_MIN: usize = 32;

/// The prefix of a chain of `||`. That of a sum is one character for each operator.
const CONCATENATION: &str = "||";

/// Makes the long chains of a tree shallow.
#[derive(Clone, Copy, Debug)]
pub struct Chains;

impl Rewrite for Chains {
    /// Before its operands, so that the walk does not go down the chain.
    fn enter_expression(&mut self, expr: &mut Expr) {
        if let Expr::BinaryOp { op, .. } = expr
            && let Some(family) = Family::of(op)
            && is_long(expr, family)
        {
            let mut links = take_links(expr, family);
            *expr = match family {
                Family::And | Family::Or => balanced(&mut links),
                Family::Sum | Family::Text => flat(links, family),
            };
        }
    }
}

/// An operand of a long chain of `+` and `-` or of `||`, with the operator before it.
#[derive(Clone, Copy, Debug)]
pub struct Link<'s> {
    /// `+`, `-` or `||`
    pub operator: &'static str,
    /// What stands behind it.
    pub operand: &'s Expr,
}

/// The first operand of a long chain and what follows it; `None` for other expressions.
pub fn links_of(expr: &Expr) -> Option<(&Expr, impl Iterator<Item = Link<'_>>)> {
    let (operators, operands) = parts_of(expr)?;
    let (first, rest) = operands.split_first()?;
    let links =
        rest.iter().enumerate().map(move |(at, operand)| Link { operator: operator_at(operators, at), operand });
    Some((first, links))
}

/// The last operand of a long chain; `None` for other expressions.
pub fn last_operand(expr: &Expr) -> Option<&Expr> {
    parts_of(expr)?.1.last()
}

/// An expression as it is written, with operators for its long chains. It is as deep as they are long.
pub fn spelled_out(expr: &Expr) -> Expr {
    let mut spelled = expr.clone();
    spelled.rewrite(&mut Operators);
    spelled
}

/// Puts operators in place of long chains.
struct Operators;

impl Rewrite for Operators {
    fn leave_expression(&mut self, expr: &mut Expr) {
        if let Some(spelled) = links_of(expr).map(|(first, links)| links.fold(first.clone(), appended)) {
            *expr = spelled;
        }
    }
}

fn appended(all: Expr, link: Link<'_>) -> Expr {
    let op = match link.operator {
        "-" => BinaryOperator::Minus,
        "+" => BinaryOperator::Plus,
        _ => BinaryOperator::StringConcat,
    };
    joined(all, op, link.operand.clone())
}

/// Operators and operands of a long chain.
fn parts_of(expr: &Expr) -> Option<(&str, &[Expr])> {
    let Expr::Prefixed { prefix, value } = expr else { return None };
    let Expr::Tuple(operands) = &**value else { return None };
    let operators = &*prefix.value;
    let are_signs = operators.bytes().all(|sign| b"+-".contains(&sign)) && operators.len() + 1 == operands.len();
    (operators == CONCATENATION || are_signs).then_some((operators, operands))
}

fn operator_at(operators: &str, at: usize) -> &'static str {
    match operators.as_bytes().get(at) {
        _ if operators == CONCATENATION => CONCATENATION,
        Some(b'-') => "-",
        _ => "+",
    }
}

/// Operators that make one chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    And,
    Or,
    Sum,
    Text,
}

impl Family {
    fn of(op: &BinaryOperator) -> Option<Self> {
        match op {
            BinaryOperator::And => Some(Self::And),
            BinaryOperator::Or => Some(Self::Or),
            BinaryOperator::Plus | BinaryOperator::Minus => Some(Self::Sum),
            BinaryOperator::StringConcat => Some(Self::Text),
            _ => None,
        }
    }
}

/// An operand and the operator before it; the first one's operator is not looked at.
struct Taken {
    op: BinaryOperator,
    operand: Expr,
}

fn is_long(expr: &Expr, family: Family) -> bool {
    let mut operands = 1;
    let mut rest = expr;
    while let Expr::BinaryOp { left, op, .. } = rest
        && Family::of(op) == Some(family)
        && operands < CHAIN_OPERANDS_MIN
    {
        operands += 1;
        rest = left;
    }
    operands >= CHAIN_OPERANDS_MIN
}

/// The chain's links from left to right, out of a tree that is about to be replaced.
fn take_links(expr: &mut Expr, family: Family) -> Vec<Taken> {
    let nothing = Expr::Value(Value::Null.with_empty_span());
    let mut links = Vec::new();
    let mut rest = replace(expr, nothing);
    loop {
        match rest {
            Expr::BinaryOp { left, op, right } if Family::of(&op) == Some(family) => {
                links.push(Taken { op, operand: *right });
                rest = *left;
            }
            first => {
                links.push(Taken { op: BinaryOperator::Plus, operand: first });
                links.reverse();
                return links;
            }
        }
    }
}

fn joined(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// Halves of halves, for links of one associative operator.
fn balanced(links: &mut Vec<Taken>) -> Expr {
    if links.len() == 1 {
        return links.remove(0).operand;
    }
    let mut later = links.split_off(links.len() / 2);
    let op = later[0].op.clone();
    joined(balanced(links), op, balanced(&mut later))
}

/// One node of all operands.
fn flat(links: Vec<Taken>, family: Family) -> Expr {
    let sign = |link: &Taken| if link.op == BinaryOperator::Minus { '-' } else { '+' };
    let prefix = match family {
        Family::Text => CONCATENATION.to_owned(),
        _ => links.iter().skip(1).map(sign).collect(),
    };
    let operands = links.into_iter().map(|link| link.operand).collect();
    Expr::Prefixed { prefix: Ident::new(prefix), value: Box::new(Expr::Tuple(operands)) }
}

#[cfg(test)]
mod tests {
    use sqlparser::parser::Parser;

    use super::*;
    use crate::syntax::SqlDialect;

    fn shallow(sql: &str) -> Expr {
        let dialect = SqlDialect::for_text(sql);
        let mut expr = Parser::new(&dialect).try_with_sql(sql).unwrap().parse_expr().unwrap();
        expr.rewrite(&mut Chains);
        expr
    }

    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, right, .. } => 1 + depth(left).max(depth(right)),
            _ => 0,
        }
    }

    fn chain(op: &str, terms: usize) -> String {
        (0..terms).map(|term| format!("a{term}")).collect::<Vec<_>>().join(op)
    }

    #[test]
    fn connectives_are_balanced_and_keep_their_order() {
        for op in [" OR ", " AND "] {
            let sql = chain(op, 1000);
            let expr = shallow(&sql);
            assert_eq!((depth(&expr), expr.to_string()), (10, sql));
        }
        assert_eq!(depth(&shallow(&chain(" OR ", 31))), 30, "a short chain stays");
        let mixed = [chain(" AND ", 100), chain(" AND ", 100)].join(" OR ");
        assert_eq!(depth(&shallow(&mixed)), 8);
    }

    #[test]
    fn sums_and_texts_become_flat_and_can_be_written_again() {
        for sql in [
            format!("{} - b * 2 + 1", chain(" + ", 30)),
            format!("{} || ', '", chain(" || ", 40)),
            format!("f({} - ({}))", chain(" - ", 40), chain(" || ", 32)),
            vec!["'1'"; 40].join(" + "),
        ] {
            let expr = shallow(&sql);
            assert_eq!(depth(&expr), 0, "{sql}");
            assert_eq!(spelled_out(&expr).to_string(), sql);
        }
        let expr = shallow(&format!("a - b + {} - c", chain(" + ", 30)));
        let (first, links) = links_of(&expr).unwrap();
        let operators: String = links.map(|link| link.operator).collect();
        assert_eq!((first.to_string(), operators), ("a".to_owned(), format!("-{}-", "+".repeat(30))));
        assert_eq!(last_operand(&expr).unwrap().to_string(), "c");
    }

    #[test]
    fn no_text_is_read_as_a_chain() {
        for sql in ["_utf8'a'", "\"||\" (1, 2)", "(1, 2)", "sum_of_terms('+', 1, 2)", "VARIADIC (1, 2)"] {
            let dialect = SqlDialect::for_text(sql);
            let expr = Parser::new(&dialect).try_with_sql(sql).unwrap().parse_expr();
            assert!(expr.is_err() || links_of(&expr.unwrap()).is_none(), "{sql}");
        }
    }

    #[test]
    fn chains_longer_than_a_stack_are_taken_apart() {
        for op in [" + ", " || ", " OR "] {
            assert!(depth(&shallow(&chain(op, 40_000))) < 20, "{op}");
        }
    }
}
