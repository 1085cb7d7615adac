//! Compilation of an expression to the tree that is evaluated.
//!
//! An operation on constants is evaluated once, during compilation. If the evaluation fails, the operation stays in the tree
//! and fails at run time for the first row that needs it, if there is one. Branches of CASE and parts of AND and OR that
//! constants decide are removed. Foreign expressions stay in the tree, because they may return different values each time.

use std::sync::Arc;

use braid_base::ByteSize;
use braid_storage::Scalar;

use crate::expression::Expression;
use crate::expression::boolean_logic::{Connective, Junction};
use crate::expression::case::Case;
use crate::expression::foreign::ForeignCall;
use crate::expression::like_pattern::LikePattern;
use crate::expression::membership::ValueSet;
use crate::expression::node::Node;
use crate::expression::row_subset::Part;
use crate::expression::string_predicate::DictionaryCache;
use crate::expression::substring::Substring;
use crate::{Batch, FixedBudget, MemoryBudget};

/// Prepares an expression, whose long values are counted under `budget`.
pub(super) fn compile(expression: Expression, budget: &Arc<dyn MemoryBudget>) -> Node {
    let boxed = |expression: Box<Expression>| Box::new(compile(*expression, budget));
    let node = match expression {
        Expression::Column(column) => return Node::Column(column),
        Expression::Constant(value) => return Node::Constant(value.map(Arc::new)),
        Expression::Parameter(parameter) => panic!("parameter {parameter} was not bound before the plan ran"),
        Expression::SubqueryValue(subquery) => panic!("subquery {subquery} did not run before its value was read"),
        Expression::Arithmetic { operation, left, right, range } => {
            Node::Arithmetic { operation, range, left: boxed(left), right: boxed(right) }
        }
        Expression::ScaleUp { value, digits } => Node::ScaleUp { value: boxed(value), digits },
        Expression::Compare { comparison, left, right } => {
            Node::Compare { comparison, left: boxed(left), right: boxed(right), cache: DictionaryCache::default() }
        }
        Expression::And(parts) => return junction(Connective::And, parts, budget),
        Expression::Or(parts) => return junction(Connective::Or, parts, budget),
        Expression::Not(value) => Node::Not(boxed(value)),
        Expression::IsNull(value) => Node::IsNull(boxed(value)),
        Expression::In { value, list } => Node::In { value: boxed(value), set: Box::new(ValueSet::new(list)) },
        Expression::Like { value, pattern } => match compile(*pattern, budget) {
            Node::Constant(None) => return Node::Constant(None),
            Node::Constant(Some(pattern)) => {
                let pattern = Box::new(LikePattern::new(bytes_of(&pattern)));
                Node::Like { value: boxed(value), pattern, cache: DictionaryCache::default() }
            }
            _ => panic!("the patterns of LIKE are constants when the plan runs"),
        },
        Expression::Case { branches, otherwise } => return case(branches, otherwise, budget),
        Expression::DatePart { part, value } => Node::DatePart { part, value: boxed(value) },
        Expression::Substring { value, start, length } => {
            Node::Substring { value: boxed(value), substring: Box::new(Substring::new(start, length)) }
        }
        Expression::Foreign { function, arguments } => {
            let arguments = arguments.into_iter().map(|(argument, data_type)| (compile(argument, budget), data_type));
            return Node::Foreign(ForeignCall::new(function, arguments, budget.clone()));
        }
    };
    folded(node)
}

/// Prepares an expression that may be evaluated for some rows only.
fn part(expression: Expression, budget: &Arc<dyn MemoryBudget>) -> Part {
    Part::new(expression, |expression| compile(expression, budget))
}

fn bytes_of(text: &Scalar) -> &[u8] {
    match text {
        Scalar::Bytes(bytes) => bytes,
        other => panic!("{other:?} as a pattern of LIKE"),
    }
}

/// Replaces an operation on constants by its value, unless the evaluation fails.
fn folded(mut node: Node) -> Node {
    let is_constant = |node: &Node| matches!(node, Node::Constant(_));
    let foldable = match &node {
        Node::Arithmetic { left, right, .. } | Node::Compare { left, right, .. } => {
            is_constant(left) && is_constant(right)
        }
        Node::ScaleUp { value, .. }
        | Node::Not(value)
        | Node::IsNull(value)
        | Node::In { value, .. }
        | Node::Like { value, .. }
        | Node::DatePart { value, .. }
        | Node::Substring { value, .. } => is_constant(value),
        Node::Column(_) | Node::Constant(_) | Node::Junction(_) | Node::Case(_) | Node::Foreign(_) => false,
    };
    if foldable && let Ok(value) = node.evaluate(&mut Batch::new(1)) {
        return Node::Constant(value.into_vector(1).value(0).map(Arc::new));
    }
    node
}

/// The constant, if the expression is one. Panics on parameters.
pub(super) fn constant(expression: &Expression) -> Option<Option<Scalar>> {
    if let Expression::Constant(value) = expression {
        return Some(value.clone());
    }
    let mut columns = Vec::new();
    expression.columns(&mut columns);
    if !columns.is_empty() {
        return None;
    }
    // No foreign expression is evaluated here.
    let no_memory: Arc<dyn MemoryBudget> = FixedBudget::new(ByteSize(0));
    match compile(expression.clone(), &no_memory) {
        Node::Constant(value) => Some(value.map(|value| value.as_ref().clone())),
        _ => None,
    }
}

fn junction(connective: Connective, parts: Vec<Expression>, budget: &Arc<dyn MemoryBudget>) -> Node {
    let mut left = Vec::with_capacity(parts.len());
    for part in flattened(connective, parts) {
        match constant(&part) {
            Some(Some(Scalar::Bool(value))) if value == connective.decisive() => {
                return Node::Constant(Some(Scalar::Bool(value).into()));
            }
            Some(Some(_)) => {}
            // Nulls affect the result, but one null is enough.
            Some(None) => {
                if !left.iter().any(|part| matches!(part, Expression::Constant(None))) {
                    left.push(Expression::Constant(None));
                }
            }
            None => left.push(part),
        }
    }
    match left.len() {
        0 => Node::Constant(Some(Scalar::Bool(!connective.decisive()).into())),
        1 => compile(left.remove(0), budget),
        _ => Node::Junction(Junction::new(connective, left.into_iter().map(|one| part(one, budget)))),
    }
}

/// The parts, with nested junctions of the same connective flattened.
fn flattened(connective: Connective, parts: Vec<Expression>) -> Vec<Expression> {
    parts
        .into_iter()
        .flat_map(|part| match (connective, part) {
            (Connective::And, Expression::And(parts)) | (Connective::Or, Expression::Or(parts)) => {
                flattened(connective, parts)
            }
            (_, part) => vec![part],
        })
        .collect()
}

fn case(
    branches: Vec<(Expression, Expression)>,
    otherwise: Option<Box<Expression>>,
    budget: &Arc<dyn MemoryBudget>,
) -> Node {
    let mut left = Vec::with_capacity(branches.len());
    let mut otherwise = otherwise.map_or(Expression::Constant(None), |otherwise| *otherwise);
    for (condition, result) in branches {
        match constant(&condition) {
            Some(Some(Scalar::Bool(true))) => {
                otherwise = result;
                break;
            }
            Some(_) => {}
            None => left.push((condition, result)),
        }
    }
    if left.is_empty() {
        return compile(otherwise, budget);
    }
    let branches = left.into_iter().map(|(condition, result)| (part(condition, budget), part(result, budget)));
    Node::Case(Box::new(Case::new(branches, part(otherwise, budget))))
}
