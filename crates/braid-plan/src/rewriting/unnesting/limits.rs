//! LIMIT and OFFSET as conditions on the numbers of rows: within each value of a domain, or where the numbers that are asked for are
//! computed by subqueries or for outer rows.

use braid_sql::expression::Node;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{Relation, SortKey};
use braid_sql::row_counts::RowCount;
use braid_sql::{Expression, SqlType, Value};

use super::Unnester;
use super::domain::numbered;
use super::push_down::order_of;
use crate::rewriting::expressions::{column, filtered, has_subquery, operator, truth};
use crate::rewriting::static_rows::{bigint, count};

/// A number of rows.
enum Count {
    Known(i64),
    /// A column. Null limits nothing.
    Computed(Expression),
}

impl Count {
    fn expression(&self) -> Expression {
        match self {
            Self::Known(count) => bigint(*count),
            Self::Computed(count) => count.clone(),
        }
    }
}

impl Unnester<'_> {
    /// A limit whose numbers are not the same for the whole statement, as a filter; other relations as they are.
    pub(super) fn without_computed_limit(&mut self, relation: Relation) -> Relation {
        let Relation::Limit { input, offset, limit, ties } = relation else { return relation };
        let is_computed = |count: &Expression| has_subquery(count) || !count.free_columns().is_empty();
        if !offset.iter().chain(&limit).any(is_computed) {
            return Relation::Limit { input, offset, limit, ties };
        }
        let order = order_of(&input).to_vec();
        let counts = (offset.clone(), limit.clone());
        match self.limited_by_numbers((*input).clone(), counts, ties.is_some(), (Vec::new(), order)) {
            Some(limited) => limited,
            None => Relation::Limit { input, offset, limit, ties },
        }
    }

    /// So many rows of each partition, behind the first ones, in an order.
    pub(super) fn limited_by_numbers(
        &mut self,
        input: Relation,
        (offset, limit): (Option<Expression>, Option<Expression>),
        with_ties: bool,
        (partition_by, order): (Vec<Expression>, Vec<SortKey>),
    ) -> Option<Relation> {
        let (mut relation, number) = numbered(input, (partition_by.clone(), order.clone()), "row_number", self.columns);
        let offset = self.count(offset, RowCount::Offset, &mut relation);
        let limit = self.count(limit, RowCount::Limit, &mut relation);
        let mut conditions = Vec::new();
        if let Some(offset) = offset.as_ref().filter(|offset| !matches!(offset, Count::Known(0))) {
            conditions.push(operator(">", column(number, self.columns), offset.expression())?);
        }
        if let Some(limit) = &limit {
            let mut counted = number;
            if with_ties && !matches!(limit, Count::Known(0)) {
                (relation, counted) = numbered(relation, (partition_by, order), "rank", self.columns);
                if let Count::Computed(count) = limit {
                    let is_unlimited = truth(Node::IsNull(Box::new(count.clone())));
                    let is_positive = operator(">", count.clone(), bigint(0))?;
                    conditions.push(truth(Node::Or(vec![is_unlimited, is_positive])));
                }
            }
            conditions.push(is_within(column(counted, self.columns), offset.as_ref(), limit)?);
        }
        Some(filtered(relation, conditions))
    }

    /// A number of rows, as a column of a relation unless it is constant; `None` if it says nothing.
    fn count(&mut self, expression: Option<Expression>, clause: RowCount, relation: &mut Relation) -> Option<Count> {
        let expression = expression?;
        if let Some(count) = count(&expression) {
            return Some(Count::Known(count));
        }
        if matches!(expression.node, Node::Constant(Value::Null)) {
            return None;
        }
        let made = self.columns.add("count", SqlType::of(TypeId::INT8));
        let input = Box::new(std::mem::replace(relation, Relation::OneRow));
        let map = Relation::Map { input, expressions: vec![(made, clause.checked(expression))] };
        *relation = self.without_subqueries(map);
        Some(Count::Computed(column(made, self.columns)))
    }
}

/// Whether a row of this number is among so many behind the first ones.
fn is_within(number: Expression, offset: Option<&Count>, limit: &Count) -> Option<Expression> {
    match (offset, limit) {
        (None, Count::Known(limit)) => operator("<=", number, bigint(*limit)),
        (Some(Count::Known(offset)), Count::Known(limit)) => {
            operator("<=", number, bigint(offset.saturating_add(*limit)))
        }
        (offset, limit) => {
            let behind = match offset {
                None => number,
                Some(offset) => operator("-", number, offset.expression())?,
            };
            let limit = limit.expression();
            let is_unlimited = truth(Node::IsNull(Box::new(limit.clone())));
            Some(truth(Node::Or(vec![is_unlimited, operator("<=", behind, limit)?])))
        }
    }
}
