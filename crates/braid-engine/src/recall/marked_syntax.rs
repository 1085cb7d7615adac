//! Marks in a query's syntax: the constants of varying holes become calls of the mark function.
//!
//! A constant is marked only in places where its value does not decide how the query is planned: an operand of a comparison or of
//! arithmetic, a bound of BETWEEN, an item of IN, a pattern of LIKE, a result of CASE, an item of the select list, each perhaps
//! with a sign, in parentheses or cast. All other constants stay what they are: limits, positions in ORDER BY, arguments of
//! functions, units of intervals, rows of VALUES. What a query asks about its session (`now()`) is marked in the same places, and
//! as the time that extract, date_trunc and AT TIME ZONE are about: rules look at the values of other arguments.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, SelectItem, SetExpr,
    Statement, TypedString, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Location;

use crate::conversion::date_fields::EXTRACT;
use crate::conversion::zone_function::ZONE_FUNCTION;
use crate::semantics::marked_literals::MARK_FUNCTION;
use crate::statement::function_call::call;
use crate::statement::{AskedFact, Constant, Hole};
use crate::templates::generalization::{Generalization, HoleRole};
use crate::templates::hole_value::{Reading, is_bare_number};

/// What a mark stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The first marked hole of a class.
    pub hole: usize,
    /// How its constant is read.
    pub reading: Reading,
}

/// A hole that could be marked.
#[derive(Clone, Debug)]
pub(crate) struct MarkedHole {
    /// Its place in the text.
    pub location: Location,
    /// What stands there.
    pub constant: Constant,
    /// What a plan assumes of it.
    pub role: HoleRole,
    /// Whether it is a constant of the text, and no fact that the query asks for.
    pub is_constant: bool,
}

impl MarkedHole {
    /// The constants of a text, with the roles of a generalization, and the facts that its rewritten query asks for. Places that ask
    /// for the same fact are one class.
    pub fn all(holes: &[Hole], general: &Generalization, facts: &[(AskedFact, Constant)]) -> Vec<Self> {
        let of_text = holes.iter().zip(general.example()).zip(general.roles()).map(|((hole, constant), role)| Self {
            location: hole.location,
            constant: constant.clone(),
            role: *role,
            is_constant: true,
        });
        let of_facts = facts.iter().map(|(asked, constant)| {
            let first = facts.iter().position(|(other, _)| other.fact == asked.fact).unwrap_or_default();
            let role = HoleRole::Varying(holes.len() + first);
            Self { location: asked.location, constant: constant.clone(), role, is_constant: false }
        });
        of_text.chain(of_facts).collect()
    }
}

/// The marks of a query.
#[derive(Debug)]
pub(crate) struct MarkedSyntax {
    /// The marks, by their numbers.
    pub marks: Vec<Mark>,
    /// Whether each hole stands where its constant may vary. Such holes are marked if they do vary.
    pub may_vary: Vec<bool>,
    /// Whether each hole is still in the query, as far as can be seen. What is not there was dropped because it was equal to another.
    pub is_there: Vec<bool>,
}

impl MarkedSyntax {
    /// Marks the constants of varying holes in `tree`, as far as they stand where they may vary.
    pub fn mark(tree: &mut Statement, holes: &[MarkedHole]) -> Self {
        let by_location = holes.iter().enumerate().map(|(hole, MarkedHole { location, .. })| (*location, hole));
        let marked = Self { marks: Vec::new(), may_vary: vec![false; holes.len()], is_there: vec![false; holes.len()] };
        let mut marking = Marking { by_location: by_location.collect(), holes, marked };
        let _ = tree.visit(&mut marking);
        marking.marked
    }
}

struct Marking<'a> {
    by_location: HashMap<Location, usize>,
    holes: &'a [MarkedHole],
    marked: MarkedSyntax,
}

impl Marking<'_> {
    /// Marks `expr`, if it is a constant of a varying hole.
    fn mark(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Value(value) => {
                if let Some(marked) = self.call_of(value, false) {
                    *expr = marked;
                }
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match &mut **inner {
                Expr::Value(value) if matches!(value.value, Value::Number(..)) => {
                    if let Some(marked) = self.call_of(value, true) {
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
                if let Some(marked) = self.call_of(value, false) {
                    let (kind, data_type) = (CastKind::Cast, data_type.clone());
                    *expr = Expr::Cast { kind, expr: Box::new(marked), data_type, array: false, format: None };
                }
            }
            _ => {}
        }
    }

    /// Whether `expr` is a fact, perhaps cast.
    fn is_fact(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Cast { expr, .. } | Expr::Nested(expr) => self.is_fact(expr),
            Expr::Value(value) => {
                let hole = self.by_location.get(&value.span.start);
                hole.is_some_and(|hole| !self.holes[*hole].is_constant)
            }
            _ => false,
        }
    }

    /// The call that marks a value.
    fn call_of(&mut self, value: &ValueWithSpan, is_negated: bool) -> Option<Expr> {
        let (Value::Number(text, _) | Value::SingleQuotedString(text)) = &value.value else { return None };
        let hole = *self.by_location.get(&value.span.start)?;
        let reading = match &self.holes[hole].constant {
            _ if is_negated => Reading::Negated,
            Constant::Text(written) => {
                match text.strip_prefix(written.as_str()).and_then(|rest| rest.strip_prefix(' ')) {
                    Some(unit) if is_bare_number(written) => Reading::InUnit(unit.to_owned()),
                    _ => Reading::Plain,
                }
            }
            _ => Reading::Plain,
        };
        (self.marked.may_vary[hole], self.marked.is_there[hole]) = (true, true);
        let HoleRole::Varying(class) = self.holes[hole].role else { return None };
        let is_same = |mark: &Mark| self.holes[mark.hole].role == HoleRole::Varying(class) && mark.reading == reading;
        let number = self.marked.marks.iter().position(is_same).unwrap_or_else(|| {
            self.marked.marks.push(Mark { hole, reading });
            self.marked.marks.len() - 1
        });
        // Without its place, so that it is not marked again.
        let literal = Expr::Value(value.value.clone().with_empty_span());
        let literal = match is_negated {
            false => literal,
            true => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(literal) },
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
            Expr::Value(value) | Expr::TypedString(TypedString { value, .. }) => {
                if let Some(hole) = self.by_location.get(&value.span.start) {
                    self.marked.is_there[*hole] = true;
                }
            }
            Expr::Function(function) => {
                if let Some(time) = time_argument(function).filter(|time| self.is_fact(time)) {
                    self.mark(time);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The argument of a function that is the time it is about. Its value does not decide how the function is planned.
fn time_argument(function: &mut Function) -> Option<&mut Expr> {
    let name = function.name.to_string().to_ascii_lowercase();
    let is_about_time = matches!(name.as_str(), EXTRACT | ZONE_FUNCTION | "date_part" | "date_trunc");
    match &mut function.args {
        FunctionArguments::List(list) if is_about_time => match list.args.get_mut(1) {
            Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(time))) => Some(time),
            _ => None,
        },
        _ => None,
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
