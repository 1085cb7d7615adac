//! When an operand is evaluated: always, or where guards before it let it be.
//!
//! CASE, COALESCE, AND and OR evaluate an operand only where those before it have not decided, and an aggregate its arguments only where its
//! FILTER is true. A subquery in such a place is evaluated, and fails, only there. What its join needs to know of the guards is in
//! conditions without subqueries that never fail: a guard of another kind becomes a column first, and so does the operand of a LET that
//! has subqueries in its body.

use std::mem::replace;

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::Relation;

use super::Unnester;
use super::subqueries::Site;
use crate::rewriting::expressions::{all_of, column, has_subquery, is_volatile, negation, truth};
use crate::rewriting::failing::may_fail;

/// The rows for which an expression is evaluated: those for which all of these are true.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Evaluated(pub Vec<Expression>);

impl Evaluated {
    /// For all rows.
    pub fn always() -> Self {
        Self::default()
    }

    /// Whether it is for all rows.
    pub fn is_always(&self) -> bool {
        self.0.is_empty()
    }

    /// The same where a condition is true, too.
    pub fn where_true(&self, condition: &Expression) -> Self {
        self.and(vec![is(true, condition)])
    }

    /// That of an operand of an expression that is so evaluated, whose guards are settled.
    fn of_operand(&self, expression: &Expression, at: usize) -> Self {
        self.and(guards(expression, at))
    }

    fn and(&self, further: Vec<Expression>) -> Self {
        Self(self.0.iter().cloned().chain(further).collect())
    }
}

impl Unnester<'_> {
    /// Joins the subqueries of an expression to the site and puts columns in their place.
    pub(super) fn join_subqueries(&mut self, expression: &mut Expression, site: &mut Site, evaluated: &Evaluated) {
        if !has_subquery(expression) {
            return;
        }
        match &mut expression.node {
            Node::Subquery(subquery) => {
                if self.stays(subquery) {
                    let relation = replace(&mut subquery.relation, Relation::OneRow);
                    subquery.relation = self.unnested(relation);
                } else if let Some(value) = self.joined_value(subquery, expression.sql_type, site, evaluated) {
                    *expression = value;
                }
                return;
            }
            Node::Let { operand, body } if has_subquery(body) => {
                self.join_subqueries(operand, site, evaluated);
                let value = self.computed(operand, site, evaluated);
                let mut body = (**body).clone();
                body.put_operand(&value);
                *expression = Expression { sql_type: expression.sql_type, ..body };
                return self.join_subqueries(expression, site, evaluated);
            }
            _ => {}
        }
        let operand_count = expression.operands().len();
        for at in 0..operand_count {
            if has_subquery(expression.operands()[at]) {
                self.settle_guards(expression, at, site, evaluated);
                // Operands before it have been freed of their subqueries, where that is possible.
                let of_operand = evaluated.of_operand(expression, at);
                self.join_subqueries(expression.operands_mut()[at], site, &of_operand);
            }
        }
    }

    /// Makes columns of the guards of an operand that do not tell by themselves where it is evaluated.
    fn settle_guards(&mut self, expression: &mut Expression, at: usize, site: &mut Site, evaluated: &Evaluated) {
        for before in guard_positions(expression, at) {
            if tells(expression.operands()[before]) {
                continue;
            }
            let of_guard = evaluated.of_operand(expression, before);
            let guard = expression.operands()[before].clone();
            *expression.operands_mut()[before] = self.computed(&guard, site, &of_guard);
        }
    }

    /// A column of the site with the value of an expression, computed where it is evaluated.
    pub(super) fn computed(&mut self, value: &Expression, site: &mut Site, evaluated: &Evaluated) -> Expression {
        if let Node::Column(..) | Node::Constant(_) = value.node {
            return value.clone();
        }
        let made = self.columns.add("operand", value.sql_type);
        let mut guarded = value.clone();
        if !evaluated.is_always() && (may_fail(value) || is_volatile(value)) {
            let otherwise = Box::new(Expression::constant(braid_sql::Value::Null, value.sql_type));
            guarded.node = Node::Case { branches: vec![(all_of(evaluated.0.clone()), value.clone())], otherwise };
        }
        let input = Box::new(replace(&mut site.input, Relation::OneRow));
        site.input = Relation::Map { input, expressions: vec![(made, guarded)] };
        column(made, self.columns)
    }

    /// The condition of an aggregate's FILTER as one that tells where its arguments are evaluated.
    pub(super) fn settle_filter(&mut self, filter: &mut Expression, site: &mut Site) -> Evaluated {
        if !tells(filter) {
            *filter = self.computed(filter, site, &Evaluated::always());
        }
        Evaluated::always().where_true(filter)
    }
}

/// Whether a guard is a condition that a join may have.
fn tells(guard: &Expression) -> bool {
    !(has_subquery(guard) || is_volatile(guard) || may_fail(guard))
}

fn is(is_true: bool, operand: &Expression) -> Expression {
    truth(Node::Is(is_true, Box::new(operand.clone())))
}

/// The operands that decide whether the one at a position is evaluated.
fn guard_positions(expression: &Expression, at: usize) -> Vec<usize> {
    match &expression.node {
        Node::And(_) | Node::Or(_) | Node::Coalesce(_) => (0..at).collect(),
        // Each branch is a condition and a result; the last operand is that of ELSE.
        Node::Case { .. } => (0..at).step_by(2).collect(),
        _ => Vec::new(),
    }
}

/// What is true where the operand at a position is evaluated, if the expression is.
fn guards(expression: &Expression, at: usize) -> Vec<Expression> {
    match &expression.node {
        Node::And(operands) => operands[..at].iter().map(|operand| negation(is(false, operand))).collect(),
        Node::Or(operands) => operands[..at].iter().map(|operand| negation(is(true, operand))).collect(),
        Node::Coalesce(values) => {
            values[..at].iter().map(|value| truth(Node::IsNull(Box::new(value.clone())))).collect()
        }
        Node::Case { branches, .. } => {
            let before = branches[..at / 2].iter().map(|(condition, _)| negation(is(true, condition)));
            let own = branches.get(at / 2).filter(|_| at % 2 == 1).map(|(condition, _)| is(true, condition));
            before.chain(own).collect()
        }
        _ => Vec::new(),
    }
}
