//! Cross joins and conditions on them become joins by keys.
//!
//! DataFusion's rule of this purpose loses conditions: keys of a join that no two of the flattened inputs can compute
//! (`a JOIN (b JOIN c …) ON a.x = b.y + c.y`), and whether nulls are equal where joins differ in that. This one keeps
//! each condition that did not become a key in a filter, and takes a join in which nulls are equal for an input.
//!
//! Trees of joins that all have keys are left as they are: there is nothing to gain.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{JoinConstraint, JoinType, NullEquality, Result};
use datafusion::logical_expr::logical_plan::builder::build_join_schema;
use datafusion::logical_expr::utils::{
    can_hash, conjunction, find_valid_equijoin_key_pair, split_conjunction, split_conjunction_owned,
};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Filter, Join, LogicalPlan, Operator, Projection};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rule, in place of `eliminate_cross_join`.
#[derive(Debug)]
pub(crate) struct JoinKeys;

impl OptimizerRule for JoinKeys {
    fn name(&self) -> &str {
        "eliminate_cross_join"
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        plan.transform_down_with_subqueries(|node| match node {
            LogicalPlan::Filter(Filter { predicate, input, .. }) if has_cross_join(&input) => {
                joined_by_keys(Arc::unwrap_or_clone(input), Some(predicate)).map(Transformed::yes)
            }
            node if has_cross_join(&node) => joined_by_keys(node, None).map(Transformed::yes),
            node => Ok(Transformed::no(node)),
        })
    }
}

/// Whether the node is an inner join that can be taken apart.
fn as_inner_join(plan: &LogicalPlan) -> Option<&Join> {
    match plan {
        LogicalPlan::Join(join)
            if join.join_type == JoinType::Inner
                && (join.on.is_empty() || join.null_equality == NullEquality::NullEqualsNothing) =>
        {
            Some(join)
        }
        _ => None,
    }
}

fn has_cross_join(plan: &LogicalPlan) -> bool {
    as_inner_join(plan)
        .is_some_and(|join| join.on.is_empty() || has_cross_join(&join.left) || has_cross_join(&join.right))
}

/// An equality that may join two inputs.
struct Key {
    left: Expr,
    right: Expr,
    is_used: bool,
}

/// A tree of inner joins, taken apart.
#[derive(Default)]
struct Parts {
    inputs: Vec<LogicalPlan>,
    /// The keys that joins had.
    keys: Vec<Key>,
    /// The other conditions of joins.
    filters: Vec<Expr>,
}

impl Parts {
    fn take_apart(&mut self, plan: LogicalPlan) {
        if as_inner_join(&plan).is_none() {
            self.inputs.push(plan);
            return;
        }
        let LogicalPlan::Join(join) = plan else { unreachable!("an inner join is a join") };
        let keys = join.on.into_iter().map(|(left, right)| Key { left, right, is_used: false });
        self.keys.extend(keys);
        self.filters.extend(join.filter.into_iter().flat_map(split_conjunction_owned));
        self.take_apart(Arc::unwrap_or_clone(join.left));
        self.take_apart(Arc::unwrap_or_clone(join.right));
    }
}

/// The tree of joins `plan` under a filter, joined by keys as far as there are any.
fn joined_by_keys(plan: LogicalPlan, predicate: Option<Expr>) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let mut parts = Parts::default();
    parts.take_apart(plan);
    let own_keys = parts.keys.len();
    let mut conditions: Vec<Expr> = predicate.map(split_conjunction_owned).unwrap_or_default();
    conditions.append(&mut parts.filters);
    let mut found = Vec::new();
    conditions.iter().for_each(|condition| equalities(condition, &mut found));
    parts.keys.extend(found.into_iter().map(|(left, right)| Key { left, right, is_used: false }));
    let mut inputs = parts.inputs.into_iter();
    let mut left = inputs.next().expect("a join has inputs");
    let mut rest: Vec<LogicalPlan> = inputs.collect();
    while !rest.is_empty() {
        left = join_next(left, &mut rest, &mut parts.keys)?;
    }
    if *left.schema() != schema {
        left = LogicalPlan::Projection(Projection::new_from_schema(Arc::new(left), schema));
    }
    let unused = parts.keys[..own_keys].iter().filter(|key| !key.is_used);
    let unused = unused.map(|key| key.left.clone().eq(key.right.clone()));
    let left_over = conditions.into_iter().filter_map(|condition| without_keys(condition, &parts.keys));
    match conjunction(left_over.chain(unused)) {
        Some(predicate) => Ok(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(left))?)),
        None => Ok(left),
    }
}

/// Joins `left` with the first input that shares a key with it, or with the first of all.
fn join_next(left: LogicalPlan, rest: &mut Vec<LogicalPlan>, keys: &mut [Key]) -> Result<LogicalPlan> {
    for at in 0..rest.len() {
        let mut on = Vec::new();
        for key in keys.iter_mut() {
            let pair = find_valid_equijoin_key_pair(&key.left, &key.right, left.schema(), rest[at].schema())?;
            if let Some(pair) = pair
                && can_hash(&pair.0.get_type(left.schema())?)
            {
                key.is_used = true;
                if !on.contains(&pair) {
                    on.push(pair);
                }
            }
        }
        if !on.is_empty() {
            return inner_join(left, rest.remove(at), on);
        }
    }
    inner_join(left, rest.remove(0), Vec::new())
}

fn inner_join(left: LogicalPlan, right: LogicalPlan, on: Vec<(Expr, Expr)>) -> Result<LogicalPlan> {
    let schema = Arc::new(build_join_schema(left.schema(), right.schema(), &JoinType::Inner)?);
    Ok(LogicalPlan::Join(Join {
        left: Arc::new(left),
        right: Arc::new(right),
        on,
        filter: None,
        join_type: JoinType::Inner,
        join_constraint: JoinConstraint::On,
        schema,
        null_equality: NullEquality::NullEqualsNothing,
        null_aware: false,
    }))
}

/// The equalities that hold wherever `condition` does; of an OR, those of both sides.
fn equalities(condition: &Expr, found: &mut Vec<(Expr, Expr)>) {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return };
    match op {
        Operator::Eq => found.push(((**left).clone(), (**right).clone())),
        Operator::And => split_conjunction(condition).into_iter().for_each(|part| equalities(part, found)),
        Operator::Or => {
            let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
            equalities(left, &mut of_left);
            equalities(right, &mut of_right);
            found.extend(of_left.into_iter().filter(|(a, b)| of_right.iter().any(|(c, d)| same(a, b, c, d))));
        }
        _ => {}
    }
}

/// What is left of a condition where the used keys hold; `None` if it always holds.
fn without_keys(condition: Expr, keys: &[Key]) -> Option<Expr> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right })
            if keys.iter().any(|key| key.is_used && same(&key.left, &key.right, &left, &right)) =>
        {
            None
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            conjunction([*left, *right].into_iter().filter_map(|part| without_keys(part, keys)))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let (left, right) = (without_keys(*left, keys)?, without_keys(*right, keys)?);
            Some(left.or(right))
        }
        other => Some(other),
    }
}

fn same(a: &Expr, b: &Expr, c: &Expr, d: &Expr) -> bool {
    (a == c && b == d) || (a == d && b == c)
}
