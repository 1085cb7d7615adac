//! What a relation reads, makes and contains.

use std::collections::BTreeSet;

use super::{ColumnId, FrameBound, JoinKind, Relation, SetFunctionCall, SortKey};
use crate::Expression;
use crate::expression::{Few, Node, few};

impl Relation {
    /// Its inputs, in the order in which they are computed.
    pub fn inputs(&self) -> Few<&Self> {
        match self {
            Self::OneRow | Self::Table(_) | Self::Values { .. } | Self::CteScan { .. } => Few::new(),
            Self::Filter { input, .. }
            | Self::Map { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input, .. }
            | Self::DistinctOn { input, .. } => few([input]),
            Self::Expand(expansion) => few([&expansion.input]),
            Self::Aggregate(aggregation) => few([&aggregation.input]),
            Self::Window(windowing) => few([&windowing.input]),
            Self::Join { left, right, .. } => few([left, right]),
            Self::Union { inputs, .. } => inputs.iter().map(|input| &input.relation).collect(),
            Self::SetOperation { left, right, .. } => few([&left.relation, &right.relation]),
            Self::With { definition, body, .. } => few([&definition.relation, body]),
            Self::Recursive(recursion) => few([&recursion.start.relation, &recursion.step.relation, &recursion.body]),
        }
    }

    /// The same, to be changed.
    pub fn inputs_mut(&mut self) -> Few<&mut Self> {
        match self {
            Self::OneRow | Self::Table(_) | Self::Values { .. } | Self::CteScan { .. } => Few::new(),
            Self::Filter { input, .. }
            | Self::Map { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input, .. }
            | Self::DistinctOn { input, .. } => few([input]),
            Self::Expand(expansion) => few([&mut expansion.input]),
            Self::Aggregate(aggregation) => few([&mut aggregation.input]),
            Self::Window(windowing) => few([&mut windowing.input]),
            Self::Join { left, right, .. } => few([left, right]),
            Self::Union { inputs, .. } => inputs.iter_mut().map(|input| &mut input.relation).collect(),
            Self::SetOperation { left, right, .. } => few([&mut left.relation, &mut right.relation]),
            Self::With { definition, body, .. } => few([&mut definition.relation, body]),
            Self::Recursive(recursion) => {
                let recursion = &mut **recursion;
                few([&mut recursion.start.relation, &mut recursion.step.relation, &mut recursion.body])
            }
        }
    }

    /// Its own expressions, without those of its inputs.
    pub fn expressions(&self) -> Few<&Expression> {
        let mut expressions = Few::new();
        self.any_expression(&mut |expression| {
            expressions.push(expression);
            false
        });
        expressions
    }

    /// Whether one of its own expressions is such an expression; those after it are not looked at.
    pub fn any_expression<'r>(&'r self, is_such: &mut dyn FnMut(&'r Expression) -> bool) -> bool {
        match self {
            Self::Values { rows, .. } => rows.iter().flatten().any(is_such),
            Self::Filter { condition, .. } | Self::Join { condition, .. } => is_such(condition),
            Self::Map { expressions, .. } => expressions.iter().any(|(_, expression)| is_such(expression)),
            Self::Expand(expansion) => expansion.functions.iter().flat_map(SetFunctionCall::expressions).any(is_such),
            Self::Aggregate(aggregation) => {
                let keys = aggregation.keys.iter().map(|(_, key)| key);
                let calls = aggregation.aggregates.iter().flat_map(|(_, call)| {
                    call.arguments.iter().chain(of_keys(&call.order_by)).chain(call.filter.as_ref())
                });
                keys.chain(calls).any(is_such)
            }
            Self::Window(windowing) => {
                let bounds = [&windowing.frame.start, &windowing.frame.end].into_iter().filter_map(FrameBound::offset);
                let calls = windowing.calls.iter().flat_map(|(_, call)| call.arguments.iter().chain(&call.filter));
                let keys = windowing.partition_by.iter().chain(of_keys(&windowing.order_by));
                keys.chain(bounds).chain(calls).any(is_such)
            }
            Self::Sort { keys, .. } => of_keys(keys).any(is_such),
            Self::Limit { offset, limit, ties, .. } => {
                offset.iter().chain(limit).chain(ties.iter().flat_map(|keys| of_keys(keys))).any(is_such)
            }
            Self::DistinctOn { keys, .. } => keys.iter().any(is_such),
            Self::Table(scan) => scan.sample.iter().flat_map(|sample| sample.expressions()).any(is_such),
            Self::OneRow
            | Self::Distinct { .. }
            | Self::Union { .. }
            | Self::SetOperation { .. }
            | Self::With { .. }
            | Self::Recursive(_)
            | Self::CteScan { .. } => false,
        }
    }

    /// The same, to be changed.
    pub fn expressions_mut(&mut self) -> Few<&mut Expression> {
        match self {
            Self::Values { rows, .. } => rows.iter_mut().flatten().collect(),
            Self::Filter { condition, .. } | Self::Join { condition, .. } => few([condition]),
            Self::Map { expressions, .. } => expressions.iter_mut().map(|(_, expression)| expression).collect(),
            Self::Expand(expansion) => {
                expansion.functions.iter_mut().flat_map(SetFunctionCall::expressions_mut).collect()
            }
            Self::Aggregate(aggregation) => {
                let keys = aggregation.keys.iter_mut().map(|(_, key)| key);
                let calls = aggregation.aggregates.iter_mut().flat_map(|(_, call)| {
                    call.arguments.iter_mut().chain(of_keys_mut(&mut call.order_by)).chain(call.filter.as_mut())
                });
                keys.chain(calls).collect()
            }
            Self::Window(windowing) => {
                let windowing = &mut **windowing;
                let bounds = [&mut windowing.frame.start, &mut windowing.frame.end];
                let calls =
                    windowing.calls.iter_mut().flat_map(|(_, call)| call.arguments.iter_mut().chain(&mut call.filter));
                let keys = windowing.partition_by.iter_mut().chain(of_keys_mut(&mut windowing.order_by));
                keys.chain(bounds.into_iter().filter_map(FrameBound::offset_mut)).chain(calls).collect()
            }
            Self::Sort { keys, .. } => of_keys_mut(keys).collect(),
            Self::Limit { offset, limit, ties, .. } => {
                let ties = ties.iter_mut().flat_map(|keys| of_keys_mut(keys));
                offset.iter_mut().chain(limit).chain(ties).collect()
            }
            Self::DistinctOn { keys, .. } => keys.iter_mut().collect(),
            Self::Table(scan) => scan.sample.iter_mut().flat_map(|sample| sample.expressions_mut()).collect(),
            Self::OneRow
            | Self::Distinct { .. }
            | Self::Union { .. }
            | Self::SetOperation { .. }
            | Self::With { .. }
            | Self::Recursive(_)
            | Self::CteScan { .. } => Few::new(),
        }
    }

    /// The columns that it hands on: what it makes, and what it takes over from its inputs.
    pub fn columns(&self) -> Vec<ColumnId> {
        let mut columns = Vec::new();
        self.add_handed_on(&mut columns);
        columns
    }

    fn add_handed_on(&self, columns: &mut Vec<ColumnId>) {
        self.add_made(columns);
        match self {
            Self::Filter { input, .. }
            | Self::Map { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::DistinctOn { input, .. } => input.add_handed_on(columns),
            Self::Expand(expansion) => expansion.input.add_handed_on(columns),
            Self::Window(windowing) => windowing.input.add_handed_on(columns),
            Self::Join { kind, left, right, .. } => {
                left.add_handed_on(columns);
                if kind.keeps_right_columns() {
                    right.add_handed_on(columns);
                }
            }
            Self::Distinct { columns: distinct, .. } => columns.extend(distinct),
            Self::With { body, .. } => body.add_handed_on(columns),
            Self::Recursive(recursion) => recursion.body.add_handed_on(columns),
            Self::OneRow
            | Self::Table(_)
            | Self::Values { .. }
            | Self::Aggregate(_)
            | Self::Union { .. }
            | Self::SetOperation { .. }
            | Self::CteScan { .. } => {}
        }
    }

    /// The columns that it makes.
    pub fn made_columns(&self) -> Vec<ColumnId> {
        let mut columns = Vec::new();
        self.add_made(&mut columns);
        columns
    }

    fn add_made(&self, made: &mut impl Extend<ColumnId>) {
        match self {
            Self::Table(scan) => made.extend(scan.columns.iter().copied()),
            Self::Values { columns, .. }
            | Self::Union { columns, .. }
            | Self::SetOperation { columns, .. }
            | Self::CteScan { columns, .. } => made.extend(columns.iter().copied()),
            Self::Map { expressions, .. } => made.extend(expressions.iter().map(|(column, _)| *column)),
            Self::Expand(expansion) => {
                let of_functions = expansion.functions.iter().flat_map(SetFunctionCall::columns).copied();
                made.extend(of_functions.chain(expansion.ordinality));
            }
            Self::Aggregate(aggregation) => {
                let keys = aggregation.keys.iter().map(|(column, _)| *column);
                let aggregates = aggregation.aggregates.iter().map(|(column, _)| *column);
                made.extend(keys.chain(aggregates).chain(aggregation.groupings.iter().map(|(column, _)| *column)));
            }
            Self::Window(windowing) => made.extend(windowing.calls.iter().map(|(column, _)| *column)),
            Self::Join { kind: JoinKind::Mark(mark), .. } => made.extend([*mark]),
            Self::OneRow
            | Self::Filter { .. }
            | Self::Join { .. }
            | Self::Sort { .. }
            | Self::Limit { .. }
            | Self::Distinct { .. }
            | Self::DistinctOn { .. }
            | Self::With { .. }
            | Self::Recursive(_) => {}
        }
    }

    /// The columns that it reads and no operator within makes: those of a query around it.
    pub fn free_columns(&self) -> BTreeSet<ColumnId> {
        let (mut read, mut made) = (BTreeSet::new(), BTreeSet::new());
        self.add_columns(&mut read, &mut made);
        read.retain(|column| !made.contains(column));
        read
    }

    fn add_columns(&self, read: &mut BTreeSet<ColumnId>, made: &mut BTreeSet<ColumnId>) {
        self.add_made(made);
        self.any_expression(&mut |expression| {
            expression.add_columns(read, made);
            false
        });
        self.inputs().into_iter().for_each(|input| input.add_columns(read, made));
    }

    /// Calls `each` for every expression of it and its inputs, also in subqueries; the outermost expressions only.
    pub fn each_expression_mut(&mut self, each: &mut dyn FnMut(&mut Expression)) {
        for expression in self.expressions_mut() {
            each(expression);
        }
        self.inputs_mut().into_iter().for_each(|input| input.each_expression_mut(each));
    }
}

impl Expression {
    /// The columns that it reads, without those that its subqueries make.
    pub fn free_columns(&self) -> BTreeSet<ColumnId> {
        let (mut read, mut made) = (BTreeSet::new(), BTreeSet::new());
        self.add_columns(&mut read, &mut made);
        read.retain(|column| !made.contains(column));
        read
    }

    fn add_columns(&self, read: &mut BTreeSet<ColumnId>, made: &mut BTreeSet<ColumnId>) {
        match &self.node {
            Node::Column(column, _) => {
                read.insert(*column);
            }
            Node::Subquery(subquery) => subquery.relation.add_columns(read, made),
            _ => {}
        }
        self.any_operand(&mut |operand| {
            operand.add_columns(read, made);
            false
        });
    }
}

impl SetFunctionCall {
    /// What it reads.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Set { call, .. } => call.arguments.iter().collect(),
            Self::Scalar { value, .. } => vec![value],
        }
    }

    /// The same, to be changed.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            Self::Set { call, .. } => call.arguments.iter_mut().collect(),
            Self::Scalar { value, .. } => vec![value],
        }
    }

    /// The columns made.
    pub fn columns(&self) -> &[ColumnId] {
        match self {
            Self::Set { columns, .. } => columns,
            Self::Scalar { column, .. } => std::slice::from_ref(column),
        }
    }
}

impl FrameBound {
    /// How far it is from the current row.
    pub fn offset(&self) -> Option<&Expression> {
        match self {
            Self::Preceding(offset) | Self::Following(offset) => Some(offset),
            Self::UnboundedPreceding | Self::CurrentRow | Self::UnboundedFollowing => None,
        }
    }

    /// How many rows, or how far, to be changed.
    pub fn offset_mut(&mut self) -> Option<&mut Expression> {
        match self {
            Self::Preceding(offset) | Self::Following(offset) => Some(offset),
            Self::UnboundedPreceding | Self::CurrentRow | Self::UnboundedFollowing => None,
        }
    }
}

fn of_keys(keys: &[SortKey]) -> impl Iterator<Item = &Expression> {
    keys.iter().map(|key| &key.expression)
}

fn of_keys_mut(keys: &mut [SortKey]) -> impl Iterator<Item = &mut Expression> {
    keys.iter_mut().map(|key| &mut key.expression)
}
