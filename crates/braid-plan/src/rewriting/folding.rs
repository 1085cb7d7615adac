//! Constant folding: what is the same for all rows is computed once, before the query.
//!
//! Needs: nothing. Keeps: the operators, except filters that are constantly true, which go, and those that no row passes, which become
//! [no rows](super::expressions::no_rows).
//!
//! Only immutable functions of constants are called here, not those that read settings or the time, and no parameter has a value yet. A
//! call that fails stays, so that the query fails where it did before, or not at all. Calls that may take long stay, too, and those
//! whose values are long.
//!
//! A column that is a constant is replaced where it is read, as far as PostgreSQL makes a subquery a part of the query around it. Whether a
//! sort, or groups by such a column, are the subquery's or those of the query around it cannot be told here.
//!
//! PostgreSQL's planner computes constants likewise, and fails where one does: `1/0` is an error in a query of no rows, and behind WHEN. It
//! looks at operands in order, and at none behind a constant that decides AND, OR, CASE or COALESCE. [`folded_with_error`] has that error.

use std::cell::{Cell, RefCell};

use braid_sql::evaluation::Evaluation;
use braid_sql::expression::{Few, Node};
use braid_sql::functions::{LimitedMemory, SessionFacts};
use braid_sql::pg_catalog::Volatility;
use braid_sql::relation::{Aggregation, ColumnId, JoinKind, Relation};
use braid_sql::{Expression, SqlError, Value};

use super::Ruled;
use super::expressions::{
    Substitution, all_of, as_column, conjuncts, filtered, in_subquery_relations, is_never_true, is_volatile, no_rows,
    replace_columns, replace_columns_within, with_inputs,
};
use crate::planning_memory::planning_memory;

/// The class of the SQLSTATEs of values that a function does not take.
const DATA_EXCEPTIONS: &str = "22";

/// The relation with its constant expressions computed.
pub(super) fn fold_constants(relation: Relation, session: &dyn SessionFacts) -> Ruled {
    folded_with_error(relation, session).0
}

/// The relation with its constant expressions computed, and the error of the first one that fails.
pub(super) fn folded_with_error(relation: Relation, session: &dyn SessionFacts) -> (Ruled, Option<SqlError>) {
    let memory = planning_memory(&relation);
    let folding = Folding { session, memory, is_changed: Cell::new(false), error: RefCell::default() };
    let (relation, _) = folded_relation(relation, &folding);
    (Ruled { relation, is_changed: folding.is_changed.get() }, folding.error.into_inner())
}

/// What constants are computed with.
struct Folding<'a> {
    session: &'a dyn SessionFacts,
    memory: LimitedMemory,
    /// Whether there was something to compute or to simplify.
    is_changed: Cell<bool>,
    /// The error of the first constant that has one.
    error: RefCell<Option<SqlError>>,
}

impl Folding<'_> {
    fn note_change(&self, is_change: bool) {
        self.is_changed.set(self.is_changed.get() || is_change);
    }

    /// The value of a constant expression; `None` if it has an error, or is too long.
    fn value(&self, expression: &Expression) -> Option<Value> {
        let evaluation = Evaluation::new(self.session, &[]);
        match self.memory.only(|memory| evaluation.with_memory(memory).value(expression)) {
            Ok(value) => Some(value),
            Err(error) => {
                if error.sqlstate().starts_with(DATA_EXCEPTIONS) {
                    self.error.borrow_mut().get_or_insert(error);
                }
                None
            }
        }
    }
}

/// The relation, and its columns that are constants.
fn folded_relation(relation: Relation, folding: &Folding<'_>) -> (Relation, Substitution) {
    let is_join = matches!(relation, Relation::Join { .. });
    let mut of_inputs: Few<Substitution> = Few::new();
    let mut relation = with_inputs(relation, &mut |mut input| {
        // The right side may read columns of the left one.
        if let (true, Some(left)) = (is_join, of_inputs.first().filter(|left| !left.is_empty())) {
            replace_columns_within(&mut input, left);
        }
        let (input, constants) = folded_relation(input, folding);
        of_inputs.push(constants);
        input
    });
    let constants = handed_on(&relation, of_inputs);
    let is_replaced = !constants.is_empty() && reads_constants(&relation);
    folding.note_change(is_replaced);
    for expression in relation.expressions_mut() {
        if is_replaced {
            replace_columns(expression, &constants);
        }
        fold(expression, folding);
    }
    // After the expressions: a subquery that none of them needs is gone.
    in_subquery_relations(&mut relation, &mut |subquery| folded_relation(subquery, folding).0);
    let constants = with_own_constants(&relation, constants);
    (with_conditions_simplified(relation), constants)
}

/// Whether an operator computes or tests something of single rows. Orders and groups keep their keys.
fn reads_constants(relation: &Relation) -> bool {
    matches!(relation, Relation::Filter { .. } | Relation::Map { .. } | Relation::Join { .. })
}

/// The constants of the inputs that an operator hands on.
fn handed_on(relation: &Relation, of_inputs: Few<Substitution>) -> Substitution {
    let mut of_inputs = of_inputs.into_iter();
    match relation {
        Relation::Filter { .. }
        | Relation::Map { .. }
        | Relation::Sort { .. }
        | Relation::Limit { .. }
        | Relation::DistinctOn { .. } => of_inputs.next().unwrap_or_default(),
        Relation::Join { kind: JoinKind::Inner, .. } => of_inputs.flatten().collect(),
        Relation::Join { kind: JoinKind::Right | JoinKind::Full, .. } => Substitution::new(),
        Relation::Join { .. } => of_inputs.next().unwrap_or_default(),
        Relation::Aggregate(aggregation) => keys_among(aggregation, &of_inputs.next().unwrap_or_default()),
        _ => Substitution::new(),
    }
}

/// The keys of groups that are constants. In another grouping set they would be null.
fn keys_among(aggregation: &Aggregation, constants: &Substitution) -> Substitution {
    let [set] = &aggregation.sets[..] else { return Substitution::new() };
    let keys = set.iter().map(|at| &aggregation.keys[*at]);
    keys.filter_map(|(column, key)| Some((*column, constants.get(&as_column(key)?)?.clone()))).collect()
}

/// Whether these are results of a query that PostgreSQL does not make a part of the one around it: of groups, with a limit, or volatile.
fn is_planned_apart(input: &Relation, results: &[(ColumnId, Expression)]) -> bool {
    match input {
        Relation::Filter { input, .. } if matches!(**input, Relation::Aggregate(_)) => true,
        Relation::Aggregate(_) | Relation::Limit { .. } | Relation::DistinctOn { .. } => true,
        _ => results.iter().any(|(_, result)| is_volatile(result)),
    }
}

/// With the columns that an operator makes of constants.
fn with_own_constants(relation: &Relation, mut constants: Substitution) -> Substitution {
    let mut add = |column: &ColumnId, expression: &Expression| {
        if matches!(expression.node, Node::Constant(_)) {
            constants.insert(*column, expression.clone());
        }
    };
    match relation {
        Relation::Map { input, expressions } => {
            if is_planned_apart(input, expressions) {
                return Substitution::new();
            }
            expressions.iter().for_each(|(column, value)| add(column, value));
        }
        Relation::Values { columns, rows } => {
            if let [row] = &rows[..] {
                columns.iter().zip(row).for_each(|(column, value)| add(column, value));
            }
        }
        _ => {}
    }
    constants
}

fn with_conditions_simplified(relation: Relation) -> Relation {
    match relation {
        Relation::Filter { input, condition } => {
            let conditions = conjuncts(condition);
            match conditions.iter().any(is_never_true) {
                true => no_rows(input.columns()),
                false => filtered(*input, conditions),
            }
        }
        Relation::Join { kind, left, right, condition } => {
            let condition = all_of(conjuncts(condition));
            Relation::Join { kind, left, right, condition }
        }
        other => other,
    }
}

/// Folds an expression from its operands up. Subqueries are not looked into.
fn fold(expression: &mut Expression, folding: &Folding<'_>) {
    fold_operands(expression, folding);
    simplify(expression, folding);
    if !matches!(expression.node, Node::Constant(_))
        && is_computable(expression)
        && let Some(value) = folding.value(expression)
    {
        folding.note_change(true);
        expression.node = Node::Constant(value);
    }
}

/// Folds the operands in order, up to one that decides.
fn fold_operands(expression: &mut Expression, folding: &Folding<'_>) {
    match &mut expression.node {
        Node::And(operands) => fold_until(operands, folding, |value| *value == Value::Bool(false)),
        Node::Or(operands) => fold_until(operands, folding, |value| *value == Value::Bool(true)),
        Node::Coalesce(values) => fold_until(values, folding, |value| !value.is_null()),
        Node::Case { branches, otherwise } => {
            for (condition, result) in branches {
                fold(condition, folding);
                if is_never_true(condition) {
                    continue;
                }
                fold(result, folding);
                if constant(condition) == Some(&Value::Bool(true)) {
                    return;
                }
            }
            fold(otherwise, folding);
        }
        // What the operand is decides what is read of the body.
        Node::Let { operand, body } => {
            fold(operand, folding);
            if !is_put_in_place(operand) {
                fold(body, folding);
            }
        }
        _ => expression.operands_mut().into_iter().for_each(|operand| fold(operand, folding)),
    }
}

/// Folds operands up to the first constant that decides, and leaves out the rest.
fn fold_until(operands: &mut Vec<Expression>, folding: &Folding<'_>, decides: impl Fn(&Value) -> bool) {
    for at in 0..operands.len() {
        fold(&mut operands[at], folding);
        if constant(&operands[at]).is_some_and(&decides) {
            folding.note_change(at + 1 < operands.len());
            return operands.truncate(at + 1);
        }
    }
}

/// Whether an operand of LET goes where it is read.
fn is_put_in_place(operand: &Expression) -> bool {
    as_column(operand).is_some() || constant(operand).is_some()
}

/// Whether all operands are constants and the same operands always give the same value.
fn is_computable(expression: &Expression) -> bool {
    if expression.any_operand(&mut |operand| !matches!(operand.node, Node::Constant(_))) {
        return false;
    }
    match &expression.node {
        Node::Constant(_)
        | Node::Parameter(_)
        | Node::Column(..)
        | Node::Operand
        | Node::Subquery(_)
        | Node::Let { .. }
        | Node::Chain { .. } => false,
        Node::Call(call) => call.volatility == Volatility::Immutable && !expression.may_take_long(),
        _ => expression.is_immutable(),
    }
}

/// Simplifies what some constant operands decide.
fn simplify(expression: &mut Expression, folding: &Folding<'_>) {
    match &mut expression.node {
        Node::Call(call)
            if call.is_strict
                && call.arguments.iter().any(|argument| constant(argument).is_some_and(Value::is_null)) =>
        {
            folding.note_change(true);
            expression.node = Node::Constant(Value::Null);
        }
        Node::And(operands) => {
            let count = operands.len();
            let operands = connected(std::mem::take(operands), false);
            folding.note_change(operands.as_ref().err().is_none_or(|operands| operands.len() < count));
            expression.node = operands.unwrap_or_else(Node::And);
        }
        Node::Or(operands) => {
            let count = operands.len();
            let operands = connected(std::mem::take(operands), true);
            folding.note_change(operands.as_ref().err().is_none_or(|operands| operands.len() < count));
            expression.node = operands.unwrap_or_else(Node::Or);
        }
        Node::Case { branches, otherwise } => {
            let count = branches.len();
            branches.retain(|(condition, _)| !is_never_true(condition));
            let always = branches.iter().position(|(condition, _)| constant(condition) == Some(&Value::Bool(true)));
            if let Some(at) = always {
                branches.truncate(at + 1);
                if let Some((_, result)) = branches.pop() {
                    **otherwise = result;
                }
            }
            folding.note_change(branches.len() < count);
            if branches.is_empty() {
                *expression = std::mem::replace(&mut **otherwise, null_of(expression.sql_type));
            }
        }
        Node::Coalesce(values) => {
            let count = values.len();
            values.retain(|value| constant(value).is_none_or(|value| !value.is_null()));
            if let Some(at) = values.iter().position(|value| constant(value).is_some()) {
                values.truncate(at + 1);
            }
            folding.note_change(values.len() < count.max(2));
            match values.len() {
                0 => expression.node = Node::Constant(Value::Null),
                1 => *expression = values.remove(0),
                _ => {}
            }
        }
        Node::Let { operand, body } if is_put_in_place(operand) => {
            folding.note_change(true);
            let operand = (**operand).clone();
            let mut body = std::mem::replace(&mut **body, null_of(expression.sql_type));
            body.put_operand(&operand);
            fold(&mut body, folding);
            *expression = body;
        }
        Node::Chain { first, steps } => {
            let count = steps.len();
            fold_steps(first, steps, folding);
            folding.note_change(steps.len() < count);
            if steps.is_empty() {
                *expression = std::mem::replace(&mut **first, null_of(expression.sql_type));
            }
        }
        _ => {}
    }
    flatten(expression);
}

/// Computes the steps of a chain that follow a constant, as far as they can be.
fn fold_steps(first: &mut Expression, steps: &mut Vec<Expression>, folding: &Folding<'_>) {
    // A null operand makes a step null, whatever is before it.
    if let Some(at) = steps.iter().rposition(|step| constant(step).is_some()) {
        *first = steps.drain(..=at).next_back().expect("the range has the step found");
    }
    let mut done = 0;
    for step in &*steps {
        if constant(first).is_none() {
            break;
        }
        let mut next = step.clone();
        next.put_operand(first);
        fold(&mut next, folding);
        if constant(&next).is_none() {
            break;
        }
        *first = next;
        done += 1;
    }
    steps.drain(..done);
}

fn null_of(sql_type: braid_sql::SqlType) -> Expression {
    Expression::constant(Value::Null, sql_type)
}

fn constant(expression: &Expression) -> Option<&Value> {
    match &expression.node {
        Node::Constant(value) => Some(value),
        _ => None,
    }
}

/// Operands of AND (`deciding` is false) and OR (true): what decides alone, or the operands that count.
fn connected(operands: Vec<Expression>, deciding: bool) -> Result<Node, Vec<Expression>> {
    if operands.iter().any(|operand| constant(operand) == Some(&Value::Bool(deciding))) {
        return Ok(Node::Constant(Value::Bool(deciding)));
    }
    let mut counting: Vec<Expression> =
        operands.into_iter().filter(|operand| constant(operand) != Some(&Value::Bool(!deciding))).collect();
    match counting.len() {
        0 => Ok(Node::Constant(Value::Bool(!deciding))),
        1 => Ok(counting.remove(0).node),
        _ => Err(counting),
    }
}

/// AND in AND, and OR in OR, which are evaluated in the same order and end at the same operand.
fn flatten(expression: &mut Expression) {
    fn inner(node: &mut Node, is_and: bool) -> Option<&mut Vec<Expression>> {
        match node {
            Node::And(operands) if is_and => Some(operands),
            Node::Or(operands) if !is_and => Some(operands),
            _ => None,
        }
    }
    let is_and = matches!(expression.node, Node::And(_));
    let Some(operands) = inner(&mut expression.node, is_and) else { return };
    let mut flat = Vec::with_capacity(operands.len());
    for mut operand in std::mem::take(operands) {
        match inner(&mut operand.node, is_and) {
            Some(nested) => flat.append(nested),
            None => flat.push(operand),
        }
    }
    *operands = flat;
}
