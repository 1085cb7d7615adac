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
        match self {
            Self::Values { rows, .. } => rows.iter().flatten().collect(),
            Self::Filter { condition, .. } | Self::Join { condition, .. } => few([condition]),
            Self::Map { expressions, .. } => expressions.iter().map(|(_, expression)| expression).collect(),
            Self::Expand(expansion) => expansion.functions.iter().flat_map(SetFunctionCall::expressions).collect(),
            Self::Aggregate(aggregation) => {
                let keys = aggregation.keys.iter().map(|(_, key)| key);
                let calls = aggregation.aggregates.iter().flat_map(|(_, call)| {
                    call.arguments.iter().chain(of_keys(&call.order_by)).chain(call.filter.as_ref())
                });
                keys.chain(calls).collect()
            }
            Self::Window(windowing) => {
                let bounds = [&windowing.frame.start, &windowing.frame.end].into_iter().filter_map(FrameBound::offset);
                let calls = windowing.calls.iter().flat_map(|(_, call)| call.arguments.iter().chain(&call.filter));
                let keys = windowing.partition_by.iter().chain(of_keys(&windowing.order_by));
                keys.chain(bounds).chain(calls).collect()
            }
            Self::Sort { keys, .. } => of_keys(keys).collect(),
            Self::Limit { offset, limit, ties, .. } => {
                offset.iter().chain(limit).chain(ties.iter().flat_map(|keys| of_keys(keys))).collect()
            }
            Self::DistinctOn { keys, .. } => keys.iter().collect(),
            Self::OneRow
            | Self::Table(_)
            | Self::Distinct { .. }
            | Self::Union { .. }
            | Self::SetOperation { .. }
            | Self::With { .. }
            | Self::Recursive(_)
            | Self::CteScan { .. } => Few::new(),
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
            Self::OneRow
            | Self::Table(_)
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
        let mut columns = self.made_columns();
        match self {
            Self::Filter { input, .. }
            | Self::Map { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::DistinctOn { input, .. } => columns.extend(input.columns()),
            Self::Expand(expansion) => columns.extend(expansion.input.columns()),
            Self::Window(windowing) => columns.extend(windowing.input.columns()),
            Self::Join { kind, left, right, .. } => {
                columns.extend(left.columns());
                if kind.keeps_right_columns() {
                    columns.extend(right.columns());
                }
            }
            Self::Distinct { columns: distinct, .. } => columns.extend(distinct),
            Self::With { body, .. } => columns.extend(body.columns()),
            Self::Recursive(recursion) => columns.extend(recursion.body.columns()),
            Self::OneRow
            | Self::Table(_)
            | Self::Values { .. }
            | Self::Aggregate(_)
            | Self::Union { .. }
            | Self::SetOperation { .. }
            | Self::CteScan { .. } => {}
        }
        columns
    }

    /// The columns that it makes.
    pub fn made_columns(&self) -> Vec<ColumnId> {
        match self {
            Self::Table(scan) => scan.columns.clone(),
            Self::Values { columns, .. }
            | Self::Union { columns, .. }
            | Self::SetOperation { columns, .. }
            | Self::CteScan { columns, .. } => columns.clone(),
            Self::Map { expressions, .. } => expressions.iter().map(|(column, _)| *column).collect(),
            Self::Expand(expansion) => {
                let of_functions = expansion.functions.iter().flat_map(SetFunctionCall::columns).copied();
                of_functions.chain(expansion.ordinality).collect()
            }
            Self::Aggregate(aggregation) => {
                let keys = aggregation.keys.iter().map(|(column, _)| *column);
                let aggregates = aggregation.aggregates.iter().map(|(column, _)| *column);
                keys.chain(aggregates).chain(aggregation.groupings.iter().map(|(column, _)| *column)).collect()
            }
            Self::Window(windowing) => windowing.calls.iter().map(|(column, _)| *column).collect(),
            Self::Join { kind: JoinKind::Mark(mark), .. } => vec![*mark],
            Self::OneRow
            | Self::Filter { .. }
            | Self::Join { .. }
            | Self::Sort { .. }
            | Self::Limit { .. }
            | Self::Distinct { .. }
            | Self::DistinctOn { .. }
            | Self::With { .. }
            | Self::Recursive(_) => Vec::new(),
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
        made.extend(self.made_columns());
        self.expressions().into_iter().for_each(|expression| expression.add_columns(read, made));
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
        self.operands().into_iter().for_each(|operand| operand.add_columns(read, made));
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
