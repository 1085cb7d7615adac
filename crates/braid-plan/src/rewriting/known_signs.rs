//! Which numbers are not zero where an expression is evaluated, because a CASE around it has looked: `CASE WHEN d > 0 THEN n / d END`.
//!
//! What is known of a number holds where it is not null; a quotient by null is null. Comparisons with constants tell the sign of a number,
//! also of one that was cast to a wider type, and so do those that were not true for the branches behind them (`NULLIF(d, 0)`).

use std::cmp::Ordering;
use std::sync::LazyLock;

use braid_sql::expression::Node;
use braid_sql::pg_catalog::{CatalogMap, FunctionId, pg_catalog};
use braid_sql::{Expression, Value};

use super::expressions::{has_subquery, is_volatile};

/// What is known of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    NotZero,
    Positive,
}

/// A comparison, as the orders of its left operand and its right one for which it is true.
type Orders = &'static [Ordering];

/// Comparisons by name.
const COMPARISONS: [(&str, Orders); 6] = [
    ("=", &[Ordering::Equal]),
    ("<>", &[Ordering::Less, Ordering::Greater]),
    ("<", &[Ordering::Less]),
    ("<=", &[Ordering::Less, Ordering::Equal]),
    (">", &[Ordering::Greater]),
    (">=", &[Ordering::Equal, Ordering::Greater]),
];

/// The comparisons of the catalog by function.
static ORDERS: LazyLock<CatalogMap<FunctionId, Orders>> = LazyLock::new(|| {
    let mut orders = CatalogMap::default();
    for (name, of_name) in COMPARISONS {
        for operator in pg_catalog().operators(name) {
            orders.insert(operator.function, of_name);
        }
    }
    orders
});

/// Casts to wider types, by `prosrc`.
const WIDENING: &[&str] = &["i2toi4", "int28", "int48", "int2_numeric", "int4_numeric", "int8_numeric"];

/// What is known where an expression is evaluated.
#[derive(Default)]
pub(super) struct KnownSigns<'e> {
    known: Vec<(&'e Expression, Sign)>,
}

impl<'e> KnownSigns<'e> {
    /// Calls `visit` for the parts of a CASE, with what is known where each is evaluated, until it returns true.
    pub fn any_part(
        &mut self,
        branches: &'e [(Expression, Expression)],
        otherwise: &'e Expression,
        visit: &mut dyn FnMut(CasePart<'e>, &mut Self) -> bool,
    ) -> bool {
        let around = self.known.len();
        let is_found = branches.iter().any(|(condition, result)| {
            let before = self.known.len();
            let is_of_condition = visit(CasePart::Condition(condition), self);
            self.add(condition, true);
            let is_found = is_of_condition || visit(CasePart::Result(result), self);
            self.known.truncate(before);
            self.add(condition, false);
            is_found
        });
        let is_found = is_found || visit(CasePart::Result(otherwise), self);
        self.known.truncate(around);
        is_found
    }

    /// What is known of a number.
    pub fn sign_of(&mut self, number: &'e Expression) -> Option<Sign> {
        let number = without_casts(number);
        let known = self.known.iter().filter(|(known, _)| *known == number).map(|(_, sign)| *sign).max();
        known.or_else(|| match &number.node {
            Node::Constant(value) => sign_of_value(value),
            Node::Case { branches, otherwise } => self.sign_of_results(branches, otherwise),
            _ => None,
        })
    }

    fn sign_of_results(&mut self, branches: &'e [(Expression, Expression)], otherwise: &'e Expression) -> Option<Sign> {
        let mut least = Some(Sign::Positive);
        self.any_part(branches, otherwise, &mut |part, known| {
            if let CasePart::Result(result) = part {
                least = least.min(known.sign_of(result));
            }
            false
        });
        least
    }

    /// Adds what follows from a condition that is null, or as `truth` says.
    fn add(&mut self, condition: &'e Expression, truth: bool) {
        match &condition.node {
            Node::And(operands) if truth => operands.iter().for_each(|operand| self.add(operand, true)),
            Node::Or(operands) if !truth => operands.iter().for_each(|operand| self.add(operand, false)),
            Node::Not(operand) => self.add(operand, !truth),
            Node::Call(call) => {
                let Some(orders) = ORDERS.get(&call.function.id) else { return };
                let [left, right] = &call.arguments[..] else { return };
                let is_possible = |order: Ordering| orders.contains(&order) == truth;
                let (number, sign) = match (&left.node, &right.node) {
                    (_, Node::Constant(bound)) => (left, compared(is_possible, bound)),
                    (Node::Constant(bound), _) => (right, compared(|order| is_possible(order.reverse()), bound)),
                    _ => return,
                };
                if let Some(sign) = sign.filter(|_| has_one_value(number)) {
                    self.known.push((without_casts(number), sign));
                }
            }
            _ => {}
        }
    }
}

/// A part of a CASE.
#[derive(Clone, Copy)]
pub(super) enum CasePart<'e> {
    Condition(&'e Expression),
    Result(&'e Expression),
}

/// What is known of a number whose order to a bound is one of the possible ones.
fn compared(is_possible: impl Fn(Ordering) -> bool, bound: &Value) -> Option<Sign> {
    let of_bound = order_to_zero(bound)?;
    let may_be_zero = is_possible(of_bound.reverse());
    // Numbers below zero are less than such a bound.
    let is_above_zero = of_bound != Ordering::Less && !is_possible(Ordering::Less);
    (!may_be_zero).then_some(if is_above_zero { Sign::Positive } else { Sign::NotZero })
}

fn sign_of_value(value: &Value) -> Option<Sign> {
    if value.is_null() {
        return Some(Sign::Positive);
    }
    match order_to_zero(value)? {
        Ordering::Less => Some(Sign::NotZero),
        Ordering::Equal => None,
        Ordering::Greater => Some(Sign::Positive),
    }
}

/// The order of a number to zero; `None` for what is no number.
fn order_to_zero(value: &Value) -> Option<Ordering> {
    match value {
        Value::Int2(number) => Some(number.cmp(&0)),
        Value::Int4(number) => Some(number.cmp(&0)),
        Value::Int8(number) => Some(number.cmp(&0)),
        Value::Numeric(number) if !number.is_nan() => Some(number.signum().cmp(&0)),
        _ => None,
    }
}

/// Whether an expression has the same value wherever it stands.
fn has_one_value(expression: &Expression) -> bool {
    !is_volatile(expression) && !has_subquery(expression) && !reads_operand(expression)
}

fn reads_operand(expression: &Expression) -> bool {
    matches!(expression.node, Node::Operand) || expression.any_operand(&mut reads_operand)
}

/// The number that is cast to wider types.
fn without_casts(expression: &Expression) -> &Expression {
    let Node::Call(call) = &expression.node else { return expression };
    let symbol = pg_catalog().function(call.function.id).symbol;
    match (&call.arguments[..], symbol) {
        ([number], Some(symbol)) if WIDENING.contains(&symbol) => without_casts(number),
        _ => expression,
    }
}
