//! Expressions made and taken apart: conjuncts, equalities, columns replaced.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use braid_sql::expression::{Node, Origin};
use braid_sql::functions::Function;
use braid_sql::pg_catalog::{CastMethod, CatalogSet, FunctionId, TypeId, pg_catalog};
use braid_sql::relation::{ColumnId, Columns, Relation, Subquery};
use braid_sql::resolution::resolve_operator;
use braid_sql::{Expression, SqlType, Value};

/// The functions behind `=`.
static EQUALITY_FUNCTIONS: LazyLock<CatalogSet<FunctionId>> =
    LazyLock::new(|| pg_catalog().operators("=").iter().map(|entry| entry.function).collect());

/// Expressions that stand for columns.
pub(super) type Substitution = BTreeMap<ColumnId, Expression>;

/// A column.
pub(super) fn column(id: ColumnId, columns: &Columns) -> Expression {
    Expression { node: Node::Column(id, Origin::default()), sql_type: columns.sql_type(id) }
}

/// The column that an expression is.
pub(super) fn as_column(expression: &Expression) -> Option<ColumnId> {
    match expression.node {
        Node::Column(column, _) => Some(column),
        _ => None,
    }
}

/// The column that an expression is, also under another name of its type with the same equality: a `varchar` as `text`.
pub(super) fn as_equal_column(expression: &Expression, columns: &Columns) -> Option<ColumnId> {
    match &expression.node {
        Node::Relabel(inner) if expression.sql_type.id == TypeId::TEXT => {
            as_column(inner).filter(|column| columns.sql_type(*column).id == TypeId::VARCHAR)
        }
        _ => as_column(expression),
    }
}

/// A boolean.
pub(super) fn truth(node: Node) -> Expression {
    Expression { node, sql_type: SqlType::of(TypeId::BOOL) }
}

/// `NOT x`
pub(super) fn negation(operand: Expression) -> Expression {
    truth(Node::Not(Box::new(operand)))
}

/// `x IS NOT NULL`
pub(super) fn is_not_null(operand: Expression) -> Expression {
    negation(truth(Node::IsNull(Box::new(operand))))
}

/// The expressions of which a condition is the conjunction; none for `true`.
pub(super) fn conjuncts(condition: Expression) -> Vec<Expression> {
    let mut all = Vec::new();
    add_conjuncts(condition, &mut all);
    all
}

fn add_conjuncts(condition: Expression, all: &mut Vec<Expression>) {
    match condition.node {
        Node::And(operands) => operands.into_iter().for_each(|operand| add_conjuncts(operand, all)),
        Node::Constant(Value::Bool(true)) => {}
        _ => all.push(condition),
    }
}

/// Whether a condition is a constant that is not true.
pub(super) fn is_never_true(condition: &Expression) -> bool {
    matches!(condition.node, Node::Constant(Value::Bool(false) | Value::Null))
}

/// The conjunction of conditions.
pub(super) fn all_of(mut conditions: Vec<Expression>) -> Expression {
    match conditions.len() {
        0 => Expression::of(Value::Bool(true), TypeId::BOOL),
        1 => conditions.remove(0),
        _ => truth(Node::And(conditions)),
    }
}

/// The rows for which all conditions are true.
pub(super) fn filtered(input: Relation, conditions: Vec<Expression>) -> Relation {
    match conditions.is_empty() {
        true => input,
        false => Relation::Filter { input: Box::new(input), condition: all_of(conditions) },
    }
}

/// Further columns, if there are any.
pub(super) fn mapped(input: Relation, expressions: Vec<(ColumnId, Expression)>) -> Relation {
    match expressions.is_empty() {
        true => input,
        false => Relation::Map { input: Box::new(input), expressions },
    }
}

/// `=` of a type with its operands, cast where the operator is that of a type with the same values.
fn equality_operands(left: Expression, right: Expression) -> Option<(Function, Expression, Expression)> {
    if left.sql_type.id != right.sql_type.id {
        return None;
    }
    let id = left.sql_type.id;
    let resolved = resolve_operator("=", Some(id), id).ok()?;
    let wanted = resolved.argument_types[0];
    let is_relabelled = wanted != id;
    if is_relabelled && pg_catalog().cast(id, wanted).is_none_or(|cast| cast.method != CastMethod::Binary) {
        return None;
    }
    let function = Function::of(pg_catalog().function(resolved.function))?;
    let relabelled = |operand: Expression| match is_relabelled {
        true => Expression { node: Node::Relabel(Box::new(operand)), sql_type: SqlType::of(wanted) },
        false => operand,
    };
    Some((function, relabelled(left), relabelled(right)))
}

/// `left IS NOT DISTINCT FROM right`; `None` for a type without equality.
pub(super) fn null_safe_equality(left: Expression, right: Expression) -> Option<Expression> {
    let (function, left, right) = equality_operands(left, right)?;
    Some(negation(truth(Node::Distinct(Box::new(left), Box::new(right), function))))
}

/// A strict call of an immutable operator on expressions of one type.
pub(super) fn operator(name: &str, left: Expression, right: Expression) -> Option<Expression> {
    let resolved = resolve_operator(name, Some(left.sql_type.id), right.sql_type.id).ok()?;
    let is_exact = resolved.argument_types == [left.sql_type.id, right.sql_type.id];
    let entry = pg_catalog().function(resolved.function);
    let function = Function::of(entry).filter(|_| is_exact)?;
    let call = braid_sql::expression::FunctionCall {
        function,
        is_strict: entry.is_strict,
        volatility: entry.volatility,
        argument_types: vec![left.sql_type, right.sql_type],
        arguments: vec![left, right],
    };
    Some(Expression { node: Node::Call(Box::new(call)), sql_type: SqlType::of(resolved.result) })
}

/// The operands of `=` between two values.
pub(super) fn equated(expression: &Expression) -> Option<(&Expression, &Expression)> {
    let Node::Call(call) = &expression.node else { return None };
    let [left, right] = &call.arguments[..] else { return None };
    EQUALITY_FUNCTIONS.contains(&call.function.id).then_some((left, right))
}

/// The operands of `IS NOT DISTINCT FROM`.
pub(super) fn null_safe_operands(expression: &Expression) -> Option<(&Expression, &Expression)> {
    let Node::Not(inner) = &expression.node else { return None };
    let Node::Distinct(left, right, _) = &inner.node else { return None };
    Some((left, right))
}

/// Replaces columns in an expression, also in its subqueries.
pub(super) fn replace_columns(expression: &mut Expression, substitution: &Substitution) {
    if let Node::Column(column, _) = expression.node {
        if let Some(replacement) = substitution.get(&column) {
            *expression = replacement.clone();
        }
        return;
    }
    if let Node::Subquery(subquery) = &mut expression.node {
        replace_columns_within(&mut subquery.relation, substitution);
    }
    expression.operands_mut().into_iter().for_each(|operand| replace_columns(operand, substitution));
}

/// Replaces columns in all expressions of a relation.
pub(super) fn replace_columns_within(relation: &mut Relation, substitution: &Substitution) {
    relation.each_expression_mut(&mut |expression| replace_columns(expression, substitution));
}

/// An expression with its columns replaced.
pub(super) fn replaced(mut expression: Expression, substitution: &Substitution) -> Expression {
    if !substitution.is_empty() {
        replace_columns(&mut expression, substitution);
    }
    expression
}

/// Whether an expression has a subquery.
pub(super) fn has_subquery(expression: &Expression) -> bool {
    matches!(expression.node, Node::Subquery(_)) || expression.any_operand(&mut has_subquery)
}

/// Whether an expression or one of its subqueries may give another value with each evaluation.
pub(super) fn is_volatile(expression: &Expression) -> bool {
    expression.is_volatile() || has_volatile_subquery(expression)
}

fn has_volatile_subquery(expression: &Expression) -> bool {
    matches!(&expression.node, Node::Subquery(subquery) if has_volatile(&subquery.relation))
        || expression.any_operand(&mut has_volatile_subquery)
}

/// Whether a relation calls volatile functions.
pub(super) fn has_volatile(relation: &Relation) -> bool {
    let is_volatile_set = match relation {
        Relation::Expand(expansion) => expansion.functions.iter().any(|function| match function {
            braid_sql::relation::SetFunctionCall::Set { call, .. } => {
                call.volatility == braid_sql::pg_catalog::Volatility::Volatile
            }
            braid_sql::relation::SetFunctionCall::Scalar { .. } => false,
        }),
        _ => false,
    };
    is_volatile_set || relation.any_expression(&mut is_volatile) || relation.inputs().into_iter().any(has_volatile)
}

/// An operator with its inputs rewritten.
pub(super) fn with_inputs(mut relation: Relation, rewrite: &mut dyn FnMut(Relation) -> Relation) -> Relation {
    for input in relation.inputs_mut() {
        *input = rewrite(std::mem::replace(input, Relation::OneRow));
    }
    relation
}

/// Rewrites the subqueries of an operator's own expressions.
pub(super) fn in_subqueries(relation: &mut Relation, rewrite: &mut dyn FnMut(&mut Subquery)) {
    // Most operators have none, which is found sooner than their expressions are handed out to be changed.
    if relation.any_expression(&mut has_subquery) {
        relation.expressions_mut().into_iter().for_each(|expression| in_subqueries_of(expression, rewrite));
    }
}

/// Rewrites the subqueries of an expression.
pub(super) fn in_subqueries_of(expression: &mut Expression, rewrite: &mut dyn FnMut(&mut Subquery)) {
    // Most expressions have none, which is found sooner than their parts are handed out to be changed.
    if has_subquery(expression) {
        each_subquery(expression, rewrite);
    }
}

fn each_subquery(expression: &mut Expression, rewrite: &mut dyn FnMut(&mut Subquery)) {
    if let Node::Subquery(subquery) = &mut expression.node {
        rewrite(subquery);
    }
    expression.operands_mut().into_iter().for_each(|operand| each_subquery(operand, rewrite));
}

/// Rewrites the relations of the subqueries of an operator's own expressions.
pub(super) fn in_subquery_relations(relation: &mut Relation, rewrite: &mut dyn FnMut(Relation) -> Relation) {
    in_subqueries(relation, &mut |subquery| {
        subquery.relation = rewrite(std::mem::replace(&mut subquery.relation, Relation::OneRow));
    });
}

/// No rows, of these columns.
pub(super) fn no_rows(columns: Vec<ColumnId>) -> Relation {
    Relation::Values { columns, rows: Vec::new() }
}

/// Whether a relation is known to have no rows.
pub(super) fn is_empty(relation: &Relation) -> bool {
    matches!(relation, Relation::Values { rows, .. } if rows.is_empty())
}
