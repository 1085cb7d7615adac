//! `ARRAY(SELECT …)` as an aggregate: the values of the query in its order, and an empty array without a row.
//!
//! Needs: nothing. Keeps: all rows. It is for unnesting and the operators, which know scalar subqueries and aggregates.

use std::sync::Arc;

use braid_sql::expression::Node;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{AggregateCall, Aggregation, Columns, Relation, Subquery, SubqueryKind};
use braid_sql::values::ArrayValue;
use braid_sql::{Expression, SqlType, Value};

use super::expressions::{column, with_inputs};

/// The relation with scalar subqueries in place of arrays of subqueries.
pub(super) fn aggregate_arrays(relation: Relation, columns: &mut Columns) -> Relation {
    let mut relation = with_inputs(relation, &mut |input| aggregate_arrays(input, columns));
    relation.expressions_mut().into_iter().for_each(|expression| aggregate_arrays_of(expression, columns));
    relation
}

fn aggregate_arrays_of(expression: &mut Expression, columns: &mut Columns) {
    expression.operands_mut().into_iter().for_each(|operand| aggregate_arrays_of(operand, columns));
    let Node::Subquery(subquery) = &mut expression.node else { return };
    let relation = std::mem::replace(&mut subquery.relation, Relation::OneRow);
    subquery.relation = aggregate_arrays(relation, columns);
    if subquery.kind == SubqueryKind::Array {
        *expression = array(subquery, expression.sql_type, columns);
    }
}

/// The values of the only column.
fn array(subquery: &Subquery, sql_type: SqlType, columns: &mut Columns) -> Expression {
    let own = column(subquery.columns[0], columns);
    let argument_type = own.sql_type;
    // The values of an array are those of an array of more dimensions.
    let wanted = match pg_catalog().element_of_array(argument_type.id) {
        Some(_) => TypeId::ANYARRAY,
        None => TypeId::ANYNONARRAY,
    };
    let mut named = pg_catalog().functions_named("array_agg");
    let entry = named.find(|entry| entry.arguments == [wanted]).expect("the catalog has it");
    let call = AggregateCall {
        function: entry.id,
        arguments: vec![own],
        argument_types: vec![argument_type],
        sql_type,
        is_distinct: false,
        order_by: Vec::new(),
        is_within_group: false,
        filter: None,
    };
    let made = columns.add("array", sql_type);
    let aggregation = Aggregation {
        input: subquery.relation.clone(),
        keys: Vec::new(),
        sets: vec![Vec::new()],
        aggregates: vec![(made, call)],
        groupings: Vec::new(),
    };
    let relation = Relation::Aggregate(Box::new(aggregation));
    let scalar = Subquery { kind: SubqueryKind::Scalar, relation, columns: vec![made] };
    let element = pg_catalog().element_of_array(sql_type.id).expect("it is an array");
    let empty = Value::Array(Arc::new(ArrayValue::of(element, Vec::new())));
    let values = Expression { node: Node::Subquery(Box::new(scalar)), sql_type };
    Expression { node: Node::Coalesce(vec![values, Expression::constant(empty, sql_type)]), sql_type }
}
