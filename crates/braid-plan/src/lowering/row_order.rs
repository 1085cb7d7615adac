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
use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::pg_catalog::pg_catalog;
use braid_sql::relation::Relation;

/// Functions that change the session for others.
const CHANGING: &[&str] = &["nextval", "setval"];

/// Functions that read what these change.
const READING: &[&str] = &["currval", "lastval"];

/// Whether the order in which a query's expressions are computed matters.
pub(super) fn is_row_wise(relation: &Relation) -> bool {
    let (mut changing, mut all) = (0, 0);
    count(relation, &mut |expression| {
        let changes = calls(expression, CHANGING);
        changing += usize::from(changes);
        all += usize::from(changes || calls(expression, READING));
    });
    changing > 0 && all > 1
}

fn count(relation: &Relation, note: &mut dyn FnMut(&Expression)) {
    relation.expressions().into_iter().for_each(&mut *note);
    relation.inputs().into_iter().for_each(|input| count(input, note));
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
