//! Long chains of one operator as trees that are not deep.
//!
//! `a OR b OR c OR …` is a tree as deep as the chain is long, and planning takes more than linear time in the depth. A
//! chain of [`CHAIN_OPERANDS_MIN`] operands or more becomes
//!
//! - a balanced tree for AND and OR, which are associative. The operands keep their order;
//! - one call of [`SUM_OF_TERMS`] for `+` and `-`, and of [`CONCATENATION`] for `||`: these functions compute from left to
//!   right what the chain of operators would. A literal that takes its type from its neighbour is not an operand of these
//!   calls. It stays an operand of an operator, between the calls for the operands before and after it.
//!
//! Shorter chains stay as they are. Chains are taken apart in a loop, because they may be deeper than a thread's stack.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Value, VisitorMut};

use super::function_call::call;

/// Operands from which on a chain is long.
pub(crate) const CHAIN_OPERANDS_MIN: usize = 32;

/// The function that adds and subtracts: of its operators as a text (`+` before the first term) and the terms.
pub(crate) const SUM_OF_TERMS: &str = "sum_of_terms";

/// The function that `||` becomes.
pub(crate) const CONCATENATION: &str = "concatenation";

/// Makes the long chains of the tree that it visits shallow. Never breaks off.
pub(super) struct Chains;

impl VisitorMut for Chains {
    type Break = ();

    /// Before its operands, so that the visitor does not go down the chain.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp { op, .. } = expr
            && let Some(family) = Family::of(op)
            && is_long(expr, family)
        {
            let mut links = take_links(expr, family);
            *expr = match family {
                Family::And | Family::Or => balanced(&mut links),
                Family::Sum | Family::Text => computed_in_pieces(links, family),
            };
        }
        ControlFlow::Continue(())
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
struct Link {
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
fn take_links(expr: &mut Expr, family: Family) -> Vec<Link> {
    let nothing = || Expr::Value(Value::Null.with_empty_span());
    let mut links = Vec::new();
    let mut rest = std::mem::replace(expr, nothing());
    loop {
        match rest {
            Expr::BinaryOp { left, op, right } if Family::of(&op) == Some(family) => {
                links.push(Link { op, operand: *right });
                rest = *left;
            }
            first => {
                links.push(Link { op: BinaryOperator::Plus, operand: first });
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
fn balanced(links: &mut Vec<Link>) -> Expr {
    if links.len() == 1 {
        return links.remove(0).operand;
    }
    let mut later = links.split_off(links.len() / 2);
    let op = later[0].op.clone();
    joined(balanced(links), op, balanced(&mut later))
}

/// Calls of the family's function for what stands between operands that take their neighbour's type.
fn computed_in_pieces(links: Vec<Link>, family: Family) -> Expr {
    let mut piece: Vec<Link> = Vec::new();
    for link in links {
        let follows_open_type = matches!(&piece[..], [first] if takes_type_of_neighbour(&first.operand, family));
        if !piece.is_empty() && (follows_open_type || takes_type_of_neighbour(&link.operand, family)) {
            let before = computed(std::mem::take(&mut piece), family);
            piece.push(Link { op: BinaryOperator::Plus, operand: joined(before, link.op, link.operand) });
        } else {
            piece.push(link);
        }
    }
    computed(piece, family)
}

fn computed(links: Vec<Link>, family: Family) -> Expr {
    match family {
        Family::Sum if links.len() >= CHAIN_OPERANDS_MIN => sum_of_terms(links),
        Family::Text if links.len() >= CHAIN_OPERANDS_MIN => concatenation(links),
        _ => in_a_row(links),
    }
}

/// The chain as it was.
fn in_a_row(links: Vec<Link>) -> Expr {
    let append = |all: Link, link: Link| Link { op: all.op, operand: joined(all.operand, link.op, link.operand) };
    let all = links.into_iter().reduce(append);
    all.map_or_else(|| Expr::Value(Value::Null.with_empty_span()), |link| link.operand)
}

/// Whether an operand must stay beside its operator, because its type depends on its neighbour or it is not a number. A string
/// must stay beside `+`, but not beside `||`.
fn takes_type_of_neighbour(operand: &Expr, family: Family) -> bool {
    match operand {
        Expr::Value(value) => match &value.value {
            Value::Number(..) => false,
            Value::SingleQuotedString(_) => family == Family::Sum,
            _ => true,
        },
        Expr::Nested(inner) => takes_type_of_neighbour(inner, family),
        Expr::Interval(_) | Expr::TypedString(_) | Expr::Array(_) => true,
        _ => false,
    }
}

fn sum_of_terms(links: Vec<Link>) -> Expr {
    let sign = |(at, link): (usize, &Link)| if at > 0 && link.op == BinaryOperator::Minus { '-' } else { '+' };
    let signs: String = links.iter().enumerate().map(sign).collect();
    let signs = Expr::Value(Value::SingleQuotedString(signs).with_empty_span());
    call(SUM_OF_TERMS, std::iter::once(signs).chain(links.into_iter().map(|link| link.operand)).collect())
}

fn concatenation(links: Vec<Link>) -> Expr {
    call(CONCATENATION, links.into_iter().map(|link| link.operand).collect())
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::VisitMut;
    use sqlparser::parser::Parser;

    use super::*;
    use crate::statement::dialect::SqlDialect;

    fn shallow(sql: &str) -> Expr {
        let dialect = SqlDialect::for_text(sql);
        let mut expr = Parser::new(&dialect).try_with_sql(sql).unwrap().parse_expr().unwrap();
        let _: ControlFlow<()> = VisitMut::visit(&mut expr, &mut Chains);
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
    fn sums_and_texts_become_calls() {
        let sum = format!("{} - b * 2 + 1", chain(" + ", 30));
        let signs = format!("{}-+", "+".repeat(30));
        let terms = chain(", ", 30);
        assert_eq!(shallow(&sum).to_string(), format!("sum_of_terms('{signs}', {terms}, b * 2, 1)"));
        let text = format!("{} || ', '", chain(" || ", 40));
        assert_eq!(shallow(&text).to_string(), format!("concatenation({}, ', ')", chain(", ", 40)));
    }

    #[test]
    fn a_literal_keeps_its_neighbour() {
        let (head, tail) = (chain(" + ", 40), vec!["b"; 40].join(" + "));
        let (head_call, signs) = (chain(", ", 40), "+".repeat(40));
        for literal in ["'1'", "$1", "NULL", "INTERVAL '1 day'", "DATE '2024-01-01'", "('1')"] {
            let within = shallow(&format!("{head} - {literal} + {tail}")).to_string();
            let before = format!("sum_of_terms('{signs}', {head_call}) - {literal}");
            assert_eq!(within, format!("sum_of_terms('+{signs}', {before}, {})", vec!["b"; 40].join(", ")));
            let first = shallow(&format!("{literal} - {tail}")).to_string();
            assert_eq!(first, format!("sum_of_terms('{signs}', {literal} - b, {})", vec!["b"; 39].join(", ")));
        }
        let literals = vec!["'1'"; 40].join(" + ");
        assert_eq!(shallow(&literals).to_string(), literals);
    }

    #[test]
    fn chains_longer_than_a_stack_are_taken_apart() {
        let expr = stacker::grow(256 << 20, || shallow(&chain(" + ", 40_000)));
        assert_eq!(depth(&expr), 0);
    }
}
