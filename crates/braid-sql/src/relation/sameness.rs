//! Whether two expressions mean the same, and where operators have the numbers of columns.
//!
//! Equal texts are bound to equal expressions, but their subqueries make columns and common table expressions of other numbers. GROUP BY,
//! ORDER BY and DISTINCT ON take such expressions for the same.

use std::collections::BTreeMap;

use super::{ColumnId, CteId, JoinKind, Relation, SetFunctionCall};
use crate::Expression;
use crate::expression::Node;

/// The first number of a column or a common table expression of a subquery that is compared. No statement has so many.
const FIRST: u32 = 1 << 31;

impl Expression {
    /// Whether it means the same as another expression: they are equal but for the numbers that their subqueries give.
    pub fn is_same(&self, other: &Self) -> bool {
        self == other
            || self.has_subquery() && other.has_subquery() && with_own_numbers(self) == with_own_numbers(other)
    }

    /// Whether it has a subquery.
    pub fn has_subquery(&self) -> bool {
        matches!(self.node, Node::Subquery(_)) || self.any_operand(&mut |operand| operand.has_subquery())
    }
}

/// The expression with the columns of its subqueries numbered in the order in which they are made.
fn with_own_numbers(expression: &Expression) -> Expression {
    let mut numbers = Numbers::default();
    numbers.add_expression(expression);
    let mut numbered = expression.clone();
    numbers.put_into(&mut numbered);
    numbered
}

#[derive(Default)]
struct Numbers {
    columns: BTreeMap<ColumnId, ColumnId>,
    ctes: BTreeMap<CteId, CteId>,
}

/// The number after those of so many.
fn next(count: usize) -> u32 {
    FIRST + u32::try_from(count).expect("the length of a statement bounds its columns")
}

impl Numbers {
    fn add_expression(&mut self, expression: &Expression) {
        if let Node::Subquery(subquery) = &expression.node {
            self.add(&subquery.relation);
        }
        expression.operands().into_iter().for_each(|operand| self.add_expression(operand));
    }

    fn add(&mut self, relation: &Relation) {
        for column in relation.made_columns() {
            let number = ColumnId(next(self.columns.len()));
            self.columns.entry(column).or_insert(number);
        }
        let made = match relation {
            Relation::With { cte, .. } => Some(*cte),
            Relation::Recursive(recursion) => Some(recursion.cte),
            _ => None,
        };
        if let Some(made) = made {
            let number = CteId(next(self.ctes.len()));
            self.ctes.entry(made).or_insert(number);
        }
        relation.expressions().into_iter().for_each(|expression| self.add_expression(expression));
        relation.inputs().into_iter().for_each(|input| self.add(input));
    }

    fn put_into(&self, expression: &mut Expression) {
        match &mut expression.node {
            Node::Column(column, _) => self.put(column),
            Node::Subquery(subquery) => {
                subquery.columns.iter_mut().for_each(|column| self.put(column));
                self.put_into_relation(&mut subquery.relation);
            }
            _ => {}
        }
        expression.operands_mut().into_iter().for_each(|operand| self.put_into(operand));
    }

    fn put_into_relation(&self, relation: &mut Relation) {
        relation.column_slots().into_iter().for_each(|slot| self.put(slot));
        if let Some(cte) = relation.cte_slot()
            && let Some(number) = self.ctes.get(cte)
        {
            *cte = *number;
        }
        relation.expressions_mut().into_iter().for_each(|expression| self.put_into(expression));
        relation.inputs_mut().into_iter().for_each(|input| self.put_into_relation(input));
    }

    fn put(&self, column: &mut ColumnId) {
        if let Some(number) = self.columns.get(column) {
            *column = *number;
        }
    }
}

impl Relation {
    /// Where the operator itself, outside of its expressions, has the numbers of columns.
    pub fn column_slots(&mut self) -> Vec<&mut ColumnId> {
        match self {
            Self::Table(scan) => scan.columns.iter_mut().collect(),
            Self::Values { columns, .. } | Self::CteScan { columns, .. } | Self::Distinct { columns, .. } => {
                columns.iter_mut().collect()
            }
            Self::Map { expressions, .. } => expressions.iter_mut().map(|(column, _)| column).collect(),
            Self::Expand(expansion) => {
                let expansion = &mut **expansion;
                let made = expansion.functions.iter_mut().flat_map(|function| match function {
                    SetFunctionCall::Set { columns, .. } => columns.iter_mut().collect(),
                    SetFunctionCall::Scalar { column, .. } => vec![column],
                });
                made.chain(&mut expansion.ordinality).collect()
            }
            Self::Join { kind: JoinKind::Mark(mark), .. } => vec![mark],
            Self::Aggregate(aggregation) => {
                let aggregation = &mut **aggregation;
                let keys = aggregation.keys.iter_mut().map(|(column, _)| column);
                let aggregates = aggregation.aggregates.iter_mut().map(|(column, _)| column);
                keys.chain(aggregates).chain(aggregation.groupings.iter_mut().map(|(column, _)| column)).collect()
            }
            Self::Window(windowing) => windowing.calls.iter_mut().map(|(column, _)| column).collect(),
            Self::Union { inputs, columns } => {
                inputs.iter_mut().flat_map(|input| &mut input.columns).chain(columns).collect()
            }
            Self::SetOperation { left, right, columns, .. } => {
                left.columns.iter_mut().chain(&mut right.columns).chain(columns).collect()
            }
            Self::With { definition, .. } => definition.columns.iter_mut().collect(),
            Self::Recursive(recursion) => {
                let recursion = &mut **recursion;
                recursion.start.columns.iter_mut().chain(&mut recursion.step.columns).collect()
            }
            Self::OneRow
            | Self::Filter { .. }
            | Self::Join { .. }
            | Self::Sort { .. }
            | Self::Limit { .. }
            | Self::DistinctOn { .. } => Vec::new(),
        }
    }

    /// Where the operator has the number of a common table expression.
    pub fn cte_slot(&mut self) -> Option<&mut CteId> {
        match self {
            Self::With { cte, .. } | Self::CteScan { cte, .. } => Some(cte),
            Self::Recursive(recursion) => Some(&mut recursion.cte),
            _ => None,
        }
    }
}
