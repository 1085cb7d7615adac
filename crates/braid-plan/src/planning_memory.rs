//! Memory for the values that are computed while a query is planned, which no budget counts: as much as the query's own constants ask for.
//!
//! A plan keeps no long values that are made of short ones: a constant of a megabyte would be a column of a gigabyte.

use braid_base::BATCH_BYTES_MAX;
use braid_sql::expression::Node;
use braid_sql::functions::LimitedMemory;
use braid_sql::relation::Relation;
use braid_sql::{Expression, Value};

/// Bytes of values for each byte of the constants that they are made of: a document may be read to ten times its text, and there are values
/// on the way.
const BYTES_PER_BYTE: usize = 32;

/// Memory for the parameters of a plan, which are made of these values.
pub fn parameter_memory(values: &[Value]) -> LimitedMemory {
    memory_for(values.iter().map(Value::heap_bytes).sum())
}

/// Memory for what is made of the constants of a relation.
pub(crate) fn planning_memory(relation: &Relation) -> LimitedMemory {
    memory_for(constant_bytes(relation))
}

fn memory_for(constant_bytes: usize) -> LimitedMemory {
    let kept_max = constant_bytes.saturating_mul(BYTES_PER_BYTE);
    LimitedMemory::new(BATCH_BYTES_MAX.saturating_add(kept_max)).keeping(kept_max)
}

fn constant_bytes(relation: &Relation) -> usize {
    let mut own = 0;
    relation.any_expression(&mut |expression| {
        own += bytes_in(expression);
        false
    });
    own + relation.inputs().into_iter().map(constant_bytes).sum::<usize>()
}

fn bytes_in(expression: &Expression) -> usize {
    let mut bytes = match &expression.node {
        Node::Constant(value) => Value::heap_bytes(value),
        Node::Subquery(subquery) => constant_bytes(&subquery.relation),
        _ => 0,
    };
    expression.any_operand(&mut |operand| {
        bytes += bytes_in(operand);
        false
    });
    bytes
}
