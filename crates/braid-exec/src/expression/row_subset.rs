//! Evaluation for some rows of a batch.
//!
//! A part of an expression is needed only for the rows that earlier parts have not decided, and must not fail for other rows.
//! Copying a row costs about as much as a cheap operation on it. A cheap part is therefore evaluated for all rows unless few
//! rows are wanted. If it fails, it is evaluated again for the wanted rows alone, and only this result counts.

use std::sync::Arc;

use crate::exec_error::ExecError;
use crate::expression::Expression;
use crate::expression::node::Node;
use crate::expression::operand::Operand;
use crate::values::vector::Values;
use crate::{Batch, Vector};

/// Minimum cost of a part that is evaluated for the wanted rows only.
const COSTLY: u32 = 8;

/// A part of an expression that may be evaluated for some rows only, with the properties that decide how.
#[derive(Debug)]
pub(super) struct Part {
    pub node: Node,
    /// Columns that it reads.
    pub columns: Vec<usize>,
    /// About the nanoseconds for ten rows.
    pub cost: u32,
    /// Whether it can fail for some row.
    pub fallible: bool,
    /// Whether it contains a foreign expression, whose cost and effects are unknown.
    foreign: bool,
}

/// Values for some rows of a batch.
pub(super) enum Evaluated {
    /// For all rows of the batch.
    Whole(Operand),
    /// For the wanted rows alone.
    Taken(Operand),
}

impl Part {
    /// The part of an expression, which `prepare` turns into a node.
    pub fn new(expression: Expression, prepare: impl FnOnce(Expression) -> Node) -> Self {
        let mut columns = Vec::new();
        expression.columns(&mut columns);
        columns.sort_unstable();
        columns.dedup();
        let (cost, foreign, mut fallible) = (cost(&expression), is_foreign(&expression), is_fallible(&expression));
        let node = prepare(expression);
        fallible &= !matches!(node, Node::Constant(_) | Node::Column(_));
        Self { node, columns, cost, fallible, foreign }
    }

    /// Whether it is worth taking `wanted` of `row_count` rows for it.
    pub fn wants_subset(&self, wanted: usize, row_count: usize) -> bool {
        let simple = matches!(self.node, Node::Column(_) | Node::Constant(_));
        wanted < row_count
            && !simple
            && (self.foreign || wanted * 8 <= row_count || self.cost >= COSTLY && wanted * 4 <= row_count * 3)
    }

    /// Its values for at least these rows, which ascend.
    pub fn evaluate_at(&mut self, batch: &mut Batch, rows: &[u32]) -> Result<Evaluated, ExecError> {
        let row_count = batch.row_count();
        if !self.wants_subset(rows.len(), row_count) {
            match self.node.evaluate(batch) {
                Err(_) if rows.len() < row_count => {}
                result => return result.map(Evaluated::Whole),
            }
        }
        let mut taken = take(batch, rows, |column| self.columns.contains(&column));
        self.node.evaluate(&mut taken).map(Evaluated::Taken)
    }

    /// For each of these rows, which ascend, whether it is true.
    pub fn select_at(&mut self, batch: &mut Batch, rows: &[u32]) -> Result<Vec<bool>, ExecError> {
        let row_count = batch.row_count();
        if !self.wants_subset(rows.len(), row_count) {
            match self.node.select(batch) {
                Err(_) if rows.len() < row_count => {}
                Ok(selected) if rows.len() < row_count => {
                    return Ok(rows.iter().map(|row| selected[*row as usize]).collect());
                }
                result => return result,
            }
        }
        self.node.select(&mut take(batch, rows, |column| self.columns.contains(&column)))
    }
}

/// Some rows of a batch with the columns that are needed.
pub(super) fn take(batch: &Batch, rows: &[u32], needed: impl Fn(usize) -> bool) -> Batch {
    let mut taken = batch.clone();
    taken.release(needed);
    taken.take(rows);
    taken
}

/// The rows that are selected.
pub(super) fn selected_rows(selected: &[bool]) -> Vec<u32> {
    let mut rows = vec![0; selected.len()];
    let mut count = 0;
    for (row, selected) in selected.iter().enumerate() {
        // Written always, kept if selected: no branch that is mispredicted.
        rows[count] = row as u32;
        count += usize::from(*selected);
    }
    rows.truncate(count);
    rows
}

/// A vector of booleans, also where nothing but nulls came as another kind.
pub(super) fn as_booleans(operand: Operand, row_count: usize) -> Arc<Vector> {
    if operand.is_null() {
        return Arc::new(Vector::new(Values::Bool(vec![false; row_count]), Some(vec![false; row_count])));
    }
    operand.into_vector(row_count)
}

/// The values of a vector of booleans.
pub(super) fn truths(vector: &Vector) -> &[bool] {
    match vector.values() {
        Values::Bool(values) => values,
        _ => panic!("a condition that is not boolean"),
    }
}

fn cost(expression: &Expression) -> u32 {
    let own = match expression {
        Expression::Constant(_) | Expression::Parameter(_) | Expression::SubqueryValue(_) => 0,
        Expression::Column(_) | Expression::Not(_) | Expression::IsNull(_) => 1,
        Expression::Arithmetic { .. } | Expression::ScaleUp { .. } | Expression::Compare { .. } => 1,
        Expression::And(_) | Expression::Or(_) => 1,
        Expression::In { .. } | Expression::Case { .. } => 4,
        Expression::Substring { .. } | Expression::DatePart { .. } => 10,
        Expression::Like { .. } => 50,
        Expression::Foreign { .. } => 200,
    };
    expression.children().into_iter().fold(own, |sum, child| sum.saturating_add(cost(child)))
}

fn is_fallible(expression: &Expression) -> bool {
    matches!(expression, Expression::Arithmetic { .. } | Expression::ScaleUp { .. } | Expression::Foreign { .. })
        || expression.children().into_iter().any(is_fallible)
}

/// Whether it contains a foreign expression.
pub(super) fn is_foreign(expression: &Expression) -> bool {
    matches!(expression, Expression::Foreign { .. }) || expression.children().into_iter().any(is_foreign)
}
