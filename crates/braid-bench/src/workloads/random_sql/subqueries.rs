//! Conditions and values that contain queries, correlated or not.
//!
//! A scalar subquery refers to the outer row only in equalities, and a query refers only to the rows of the query directly around it.

use super::aggregates::{call, extreme};
use super::expressions::{Scoped, column, comparison, condition, expression, some_kind};
use super::generator::Generator;
use super::query::{Condition, From, Item, Query, Select, Value};
use super::schema::Kind;

impl Generator<'_> {
    /// A condition, perhaps with a subquery in it.
    pub(super) fn condition(&mut self, scope: &[Scoped], depth: u32) -> Condition {
        if depth == 0 || self.draw.percent(65) {
            return Condition::Plain(condition(&mut self.draw, scope));
        }
        match self.draw.weighted(&[5, 5, 3, 2, 1]) {
            0 => {
                let query = Box::new(self.exists(scope, depth - 1));
                self.perhaps_negated(Condition::Exists(query))
            }
            1 => self.membership(scope, depth - 1),
            2 => self.compared_with_value(scope, depth - 1),
            3 => {
                let parts = vec![self.condition(scope, depth - 1), self.condition(scope, depth - 1)];
                if self.draw.percent(70) { Condition::Any(parts) } else { Condition::All(parts) }
            }
            _ => Condition::Not(Box::new(self.condition(scope, depth - 1))),
        }
    }

    fn perhaps_negated(&mut self, condition: Condition) -> Condition {
        if self.draw.percent(50) { Condition::Not(Box::new(condition)) } else { condition }
    }

    fn exists(&mut self, outer: &[Scoped], depth: u32) -> Query {
        let (from, inner, _) = self.from(depth.min(1), 2);
        let mut conditions = self.correlation(outer, &inner);
        if self.draw.percent(30) {
            let both: Vec<Scoped> = outer.iter().chain(&inner).cloned().collect();
            conditions.push(Condition::Plain(condition(&mut self.draw, &both)));
        }
        self.perhaps_condition(&inner, &mut conditions);
        self.one_column("1".to_owned(), from, conditions)
    }

    /// `value [not] in (query)`.
    fn membership(&mut self, outer: &[Scoped], depth: u32) -> Condition {
        let (from, inner, _) = self.from(depth.min(1), 2);
        let kind = some_kind(&mut self.draw, &inner);
        let mut conditions = if self.draw.percent(25) { self.correlation(outer, &inner) } else { Vec::new() };
        self.perhaps_condition(&inner, &mut conditions);
        let value = expression(&mut self.draw, outer, kind);
        let column = match column(&mut self.draw, &inner, kind) {
            Some(column) if self.draw.percent(70) => column.sql.clone(),
            _ => expression(&mut self.draw, &inner, kind),
        };
        let operator = *self.draw.choose(&["in", "not in"]);
        Condition::Compared { value, operator, query: Box::new(self.one_column(column, from, conditions)) }
    }

    fn compared_with_value(&mut self, outer: &[Scoped], depth: u32) -> Condition {
        let (query, kind) = self.one_value(outer, depth);
        let value = expression(&mut self.draw, outer, kind);
        Condition::Compared { value, operator: comparison(&mut self.draw), query: Box::new(query) }
    }

    /// A query of one value, and its kind.
    pub(super) fn one_value(&mut self, outer: &[Scoped], depth: u32) -> (Query, Kind) {
        let (from, inner, _) = self.from(depth.min(1), 2);
        let mut conditions = if self.draw.percent(45) { self.equality(outer, &inner) } else { Vec::new() };
        self.perhaps_condition(&inner, &mut conditions);
        let mut output = call(&mut self.draw, &inner);
        if output.is_approximate {
            output = extreme(&mut self.draw, &inner);
        }
        (self.one_column(output.sql, from, conditions), output.kind)
    }

    /// A condition on an inner and an outer row, mostly an equality.
    fn correlation(&mut self, outer: &[Scoped], inner: &[Scoped]) -> Vec<Condition> {
        match self.draw.below(10) {
            0 => Vec::new(),
            1 => {
                let kind = some_kind(&mut self.draw, inner);
                let pair = (column(&mut self.draw, outer, kind), column(&mut self.draw, inner, kind));
                let (Some(outer), Some(inner)) = pair else { return Vec::new() };
                let operator = comparison(&mut self.draw);
                vec![Condition::Plain(format!("({} {operator} {})", inner.sql, outer.sql))]
            }
            _ => self.equality(outer, inner),
        }
    }

    /// One or two equalities of an inner and an outer column, if columns of the same kind exist.
    fn equality(&mut self, outer: &[Scoped], inner: &[Scoped]) -> Vec<Condition> {
        let count = if self.draw.percent(20) { 2 } else { 1 };
        (0..count).filter_map(|_| self.equal_columns(outer, inner)).map(|(sql, _)| Condition::Plain(sql)).collect()
    }

    fn perhaps_condition(&mut self, scope: &[Scoped], conditions: &mut Vec<Condition>) {
        if self.draw.percent(50) {
            conditions.push(Condition::Plain(condition(&mut self.draw, scope)));
        }
    }

    fn one_column(&mut self, sql: String, from: From, conditions: Vec<Condition>) -> Query {
        let items = vec![Item { value: Value::Expression(sql), name: self.new_name("s") }];
        Query::of(Select { is_distinct: false, items, from, conditions, group_by: Vec::new(), having: Vec::new() })
    }
}
