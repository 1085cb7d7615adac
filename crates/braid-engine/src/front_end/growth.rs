//! Queries whose values may become long, which are left to the other planner: it counts such values under the query budget.
//!
//! A function of [`Expression::may_grow`] makes a long value of short ones. The step of a recursion makes them little by little: `s || s` doubles
//! a text in each step, and a value that is twice in each result, or whose parts are replaced, grows with a power of the number of steps.
//! `path || '/' || name` grows by a name in each step, so that the rows that are kept show in time that memory is short.

use std::collections::HashSet;

use braid_sql::expression::Node;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{ColumnId, CteId, Recursion, Relation};
use braid_sql::{Expression, SqlError};

/// Functions whose result may be a multiple of their argument: they quote, escape or encode it.
const MULTIPLYING_FUNCTIONS: &[&str] = &[
    "array_to_json",
    "encode",
    "format",
    "json_build_array",
    "json_build_object",
    "jsonb_build_array",
    "jsonb_build_object",
    "quote_ident",
    "quote_literal",
    "quote_nullable",
    "to_json",
    "to_jsonb",
];

/// Types whose values have at most a few bytes.
const SHORT_TYPES: &[TypeId] = &[
    TypeId::BOOL,
    TypeId::INT2,
    TypeId::INT4,
    TypeId::INT8,
    TypeId::FLOAT4,
    TypeId::FLOAT8,
    TypeId::NUMERIC,
    TypeId::DATE,
    TypeId::TIMESTAMP,
    TypeId::TIMESTAMPTZ,
    TypeId::UUID,
];

/// Refuses what may make long values.
///
/// # Errors
/// As unsupported (0A000).
pub(super) fn check_growth(relation: &Relation) -> Result<(), SqlError> {
    for expression in relation.expressions() {
        if expression.may_grow() {
            return Err(SqlError::unsupported("functions with long results are not supported"));
        }
        check_subqueries(expression)?;
    }
    if let Relation::Recursive(recursion) = relation {
        check_step(recursion)?;
    }
    relation.inputs().into_iter().try_for_each(check_growth)
}

fn check_subqueries(expression: &Expression) -> Result<(), SqlError> {
    if let Node::Subquery(subquery) = &expression.node {
        check_growth(&subquery.relation)?;
    }
    expression.operands().into_iter().try_for_each(check_subqueries)
}

fn check_step(recursion: &Recursion) -> Result<(), SqlError> {
    let step = &recursion.step.relation;
    let mut grown = HashSet::new();
    add_scanned(step, recursion.cte, &mut grown);
    // A column that is made of one of these is one of them.
    loop {
        let known = grown.len();
        add_made(step, &mut grown);
        if grown.len() == known {
            break;
        }
    }
    match multiplies(step, &grown) {
        true => Err(SqlError::unsupported("values that grow with each step of a recursion are not supported")),
        false => Ok(()),
    }
}

fn add_scanned(relation: &Relation, id: CteId, grown: &mut HashSet<ColumnId>) {
    if let Relation::CteScan { cte, columns } = relation
        && *cte == id
    {
        grown.extend(columns);
    }
    relation.inputs().into_iter().for_each(|input| add_scanned(input, id, grown));
}

fn add_made(relation: &Relation, grown: &mut HashSet<ColumnId>) {
    relation.inputs().into_iter().for_each(|input| add_made(input, grown));
    if let Relation::Map { expressions, .. } = relation {
        let made = expressions.iter().filter(|(_, expression)| count(expression, grown) > 0);
        let made: Vec<ColumnId> = made.map(|(column, _)| *column).collect();
        grown.extend(made);
    }
}

/// Whether a long value reads one of the columns twice, or may be a multiple of one.
fn multiplies(relation: &Relation, grown: &HashSet<ColumnId>) -> bool {
    let of_expression = |expression: &Expression| {
        let is_long = !SHORT_TYPES.contains(&expression.sql_type.id);
        is_long && (count(expression, grown) > 1 || has_multiple(expression, grown))
    };
    relation.expressions().into_iter().any(of_expression)
        || relation.inputs().into_iter().any(|input| multiplies(input, grown))
}

fn has_multiple(expression: &Expression, grown: &HashSet<ColumnId>) -> bool {
    let own = match &expression.node {
        Node::Call(call) => MULTIPLYING_FUNCTIONS.contains(&pg_catalog().function(call.function.id).name),
        // An array as text has quotes around its elements, and escapes within them.
        Node::ThroughText(_) => true,
        _ => false,
    };
    own && count(expression, grown) > 0 || expression.operands().into_iter().any(|operand| has_multiple(operand, grown))
}

/// How often an expression reads long values of these columns.
fn count(expression: &Expression, grown: &HashSet<ColumnId>) -> usize {
    match expression.node {
        Node::Column(column, _) => {
            usize::from(grown.contains(&column) && !SHORT_TYPES.contains(&expression.sql_type.id))
        }
        _ => expression.operands().into_iter().map(|operand| count(operand, grown)).sum(),
    }
}
