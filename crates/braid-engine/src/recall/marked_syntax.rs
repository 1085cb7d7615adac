//! Marks in a query's syntax: the constants of varying holes become calls of the mark function.
//!
//! A constant is marked only in places where its value does not decide how the query is planned: an operand of a comparison or of
//! arithmetic, a bound of BETWEEN, an item of IN, a pattern of LIKE, a result of CASE, an item of the select list, each perhaps
//! with a sign, in parentheses or cast. All other constants stay what they are: limits, positions in ORDER BY, arguments of
//! functions, units of intervals, rows of VALUES.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, Expr, SelectItem, SetExpr, Statement, TypedString, UnaryOperator, Value, ValueWithSpan,
    VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Location;

use crate::semantics::marked_literals::MARK_FUNCTION;
use crate::statement::Hole;
use crate::statement::function_call::call;
use crate::templates::generalization::HoleRole;
use crate::templates::hole_value::NumberSign;

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The first marked hole of a class.
    pub hole: usize,
    /// The sign before its number.
    pub sign: NumberSign,
}

/// The marks of a query.
#[derive(Debug)]
pub(crate) struct MarkedSyntax {
    /// The marks, by their numbers.
    pub marks: Vec<Mark>,
    /// Whether each hole stands where its constant may vary. Such holes are marked if they do vary.
    pub may_vary: Vec<bool>,
}

impl MarkedSyntax {
    /// Marks the constants of varying holes in `tree`, as far as they stand where they may vary.
    pub fn mark(tree: &mut Statement, holes: &[Hole], roles: &[HoleRole]) -> Self {
        let by_location = holes.iter().enumerate().map(|(hole, Hole { location, .. })| (*location, hole)).collect();
        let marked = Self { marks: Vec::new(), may_vary: vec![false; holes.len()] };
        let mut marking = Marking { by_location, roles, marked };
        let _ = tree.visit(&mut marking);
        marking.marked
    }
}

struct Marking<'a> {
    by_location: HashMap<Location, usize>,
    roles: &'a [HoleRole],
    marked: MarkedSyntax,
}

impl Marking<'_> {
    /// Marks `expr`, if it is a constant of a varying hole.
    fn mark(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Value(value) => {
                if let Some(marked) = self.call_of(value, NumberSign::None) {
                    *expr = marked;
                }
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match &mut **inner {
                Expr::Value(value) if matches!(value.value, Value::Number(..)) => {
                    if let Some(marked) = self.call_of(value, NumberSign::Minus) {
                        *expr = marked;
                    }
                }
                inner => self.mark(inner),
            },
            Expr::Nested(inner) => self.mark(inner),
            Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr: inner, array: false, .. } => {
                self.mark(inner);
            }
            Expr::TypedString(TypedString { data_type, value, .. }) => {
                if let Some(marked) = self.call_of(value, NumberSign::None) {
                    let (kind, data_type) = (CastKind::Cast, data_type.clone());
                    *expr = Expr::Cast { kind, expr: Box::new(marked), data_type, array: false, format: None };
                }
            }
            _ => {}
        }
    }

    /// The call that marks a value.
    fn call_of(&mut self, value: &ValueWithSpan, sign: NumberSign) -> Option<Expr> {
        if !matches!(value.value, Value::Number(..) | Value::SingleQuotedString(_)) {
            return None;
        }
        let hole = *self.by_location.get(&value.span.start)?;
        self.marked.may_vary[hole] = true;
        let HoleRole::Varying(class) = self.roles[hole] else { return None };
        let is_same = |mark: &Mark| self.roles[mark.hole] == HoleRole::Varying(class) && mark.sign == sign;
        let number = self.marked.marks.iter().position(is_same).unwrap_or_else(|| {
            self.marked.marks.push(Mark { hole, sign });
            self.marked.marks.len() - 1
        });
        let literal = Expr::Value(value.clone());
        let literal = match sign {
            NumberSign::None => literal,
            NumberSign::Minus => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(literal) },
        };
        let mark = Expr::Value(Value::Number(number.to_string(), false).with_empty_span());
        Some(call(MARK_FUNCTION, vec![mark, literal]))
    }
}

impl VisitorMut for Marking<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut datafusion::sql::sqlparser::ast::Query) -> ControlFlow<()> {
        mark_select_lists(self, &mut query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } if may_vary_beside(op) => {
                self.mark(left);
                self.mark(right);
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.mark(left);
                self.mark(right);
            }
            Expr::Between { expr, low, high, .. } => {
                self.mark(expr);
                self.mark(low);
                self.mark(high);
            }
            Expr::InList { expr, list, .. } => {
                self.mark(expr);
                list.iter_mut().for_each(|item| self.mark(item));
            }
            Expr::Like { expr, pattern, any: false, escape_char: None, .. } => {
                self.mark(expr);
                self.mark(pattern);
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                if let Some(operand) = operand {
                    self.mark(operand);
                    conditions.iter_mut().for_each(|branch| self.mark(&mut branch.condition));
                }
                conditions.iter_mut().for_each(|branch| self.mark(&mut branch.result));
                else_result.iter_mut().for_each(|result| self.mark(result));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Marks the constants that stand alone in select lists.
fn mark_select_lists(marking: &mut Marking<'_>, body: &mut SetExpr) {
    // In a set operation literals take the types of the other branches, and are positions in none.
    if let SetExpr::Select(select) = body {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                marking.mark(expr);
            }
        }
    }
}

fn may_vary_beside(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(
        op,
        Op::Eq
            | Op::NotEq
            | Op::Lt
            | Op::LtEq
            | Op::Gt
            | Op::GtEq
            | Op::Plus
            | Op::Minus
            | Op::Multiply
            | Op::Divide
            | Op::Modulo
    )
}
