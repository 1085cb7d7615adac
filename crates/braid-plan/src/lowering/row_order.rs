//! Expressions that see what others do to the session: `nextval` and `currval`.
//!
//! Operators compute a batch column by column. Where one such expression changes what another one reads, each row must be through with all
//! before the next one comes, as in PostgreSQL: such a query gets its rows one by one, on one worker.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_exec::MemoryBudget;
use braid_exec::plan::Plan;
use braid_exec::runtime::set_functions::{
    ForeignSetFunction, SetFunctionCall, SetFunctionError, SetFunctionRows, SetPiece,
};
use braid_sql::expression::Node;
use braid_sql::pg_catalog::pg_catalog;
use braid_sql::relation::Relation;
use braid_sql::{Expression, Value};

/// Functions that change the session for others.
const CHANGING: &[&str] = &["nextval", "setval"];

/// Functions that read what these change.
const READING: &[&str] = &["currval", "lastval"];

/// A call of one of these functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SequenceCall {
    changes: bool,
    /// Its sequence; `None` for any.
    sequence: Option<u32>,
}

impl SequenceCall {
    /// Whether one of two calls changes what the other one returns.
    fn interacts_with(self, other: Self) -> bool {
        let is_same = |sequence: u32| other.sequence.is_none_or(|other| other == sequence);
        (self.changes || other.changes) && self.sequence.is_none_or(is_same)
    }
}

/// Whether the order in which a query's expressions are computed matters: a call changes what another one returns.
pub(super) fn is_row_wise(relation: &Relation) -> bool {
    let mut calls = Vec::new();
    add_calls_of_relation(relation, &mut calls);
    calls.iter().enumerate().any(|(at, call)| calls[at + 1..].iter().any(|other| call.interacts_with(*other)))
}

fn add_calls_of_relation(relation: &Relation, calls: &mut Vec<SequenceCall>) {
    relation.expressions().into_iter().for_each(|expression| add_calls(expression, calls));
    relation.inputs().into_iter().for_each(|input| add_calls_of_relation(input, calls));
}

fn add_calls(expression: &Expression, calls: &mut Vec<SequenceCall>) {
    if let Node::Call(call) = &expression.node {
        let name = pg_catalog().function(call.function.id).name;
        let changes = CHANGING.contains(&name);
        if changes || READING.contains(&name) {
            let sequence = match call.arguments.first().map(|argument| &argument.node) {
                Some(Node::Constant(Value::Oid(sequence))) => Some(*sequence),
                _ => None,
            };
            calls.push(SequenceCall { changes, sequence });
        }
    }
    expression.any_operand(&mut |operand| {
        add_calls(operand, calls);
        false
    });
}

/// Whether an expression calls a function of these names.
fn calls(expression: &Expression, names: &[&str]) -> bool {
    let calls_itself = match &expression.node {
        Node::Call(call) => names.contains(&pg_catalog().function(call.function.id).name),
        _ => false,
    };
    calls_itself || expression.any_operand(&mut |operand| calls(operand, names))
}

/// Whether an expression changes the session, or reads what others change.
pub(super) fn is_of_session(expression: &Expression) -> bool {
    calls(expression, CHANGING) || calls(expression, READING)
}

/// The rows of a plan, each in a batch of its own.
pub(super) fn one_by_one(input: Plan) -> Plan {
    let call = SetFunctionCall { function: Arc::new(OneByOne), arguments: Vec::new(), column_count: 0 };
    Plan::ProjectSet { input: Box::new(input), call: Arc::new(call) }
}

/// A function without columns, which returns one row for each, in pieces of one.
#[derive(Debug)]
struct OneByOne;

impl fmt::Display for OneByOne {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("row by row")
    }
}

impl ForeignSetFunction for OneByOne {
    fn start(
        &self,
        _: Vec<ArrayRef>,
        row_count: usize,
        _: &Arc<dyn MemoryBudget>,
    ) -> Result<Box<dyn SetFunctionRows>, SetFunctionError> {
        let row_count = u32::try_from(row_count)?;
        Ok(Box::new(SingleRows(0..row_count)))
    }
}

/// The numbers of the rows that are left.
struct SingleRows(std::ops::Range<u32>);

impl SetFunctionRows for SingleRows {
    fn next_piece(&mut self, _: usize) -> Result<Option<SetPiece>, SetFunctionError> {
        Ok(self.0.next().map(|row| SetPiece { input_rows: vec![row], columns: Vec::new() }))
    }
}
