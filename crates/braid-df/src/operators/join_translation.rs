//! Outer, semi, anti and mark joins, and the decision which side of them is built. Inner joins are ordered first
//! (`join_graph`).

use braid_exec::Expression;
use braid_exec::plan::JoinKind;
use braid_exec::plan::NullKeys;
use braid_exec::plan::join_order::{JoinEdge, JoinTree};
use braid_exec::plan::{JoinCondition, Plan};
use braid_plan::optimization::estimate::{Estimate, SELECTIVITY_UNKNOWN};
use datafusion::common::{DFSchema, NullEquality};
use datafusion::logical_expr::{Expr, ExprSchemable, Join, JoinType};

use super::coverage::{Coverage, Covered, Uncovered, columns_of, projected, uncovered};
use super::expression_translation::is_same_kind;
use super::join_graph::{RELATIONS_MAX, is_inner, relation_count};

/// One side of a join, with its keys as columns.
pub(super) struct JoinSide {
    pub(super) covered: Covered,
    pub(super) keys: Vec<usize>,
    /// Columns that the logical plan knows; keys that are computed come after them.
    pub(super) column_count: usize,
}

impl Coverage<'_> {
    pub(super) fn join(&mut self, join: &Join) -> Result<Covered, Uncovered> {
        match join.join_type {
            JoinType::Inner if is_inner(join) && relation_count(join) <= RELATIONS_MAX => self.inner_joins(join),
            _ => self.other_join(join),
        }
    }

    /// Fails unless the keys of a join are equal exactly when their vectors' values are.
    pub(super) fn check_keys(&self, join: &Join) -> Result<(), Uncovered> {
        for (left, right) in &join.on {
            let (left, right) = (left.get_type(join.left.schema())?, right.get_type(join.right.schema())?);
            if !is_same_kind(&left, &right) {
                return Err(uncovered(format!("a join of {left} with {right}")));
            }
        }
        Ok(())
    }

    fn other_join(&mut self, join: &Join) -> Result<Covered, Uncovered> {
        self.check_keys(join)?;
        let nulls_equal = join.null_equality == NullEquality::NullEqualsNull;
        // If nulls are equal, the comparison of NOT IN is not one of the keys. It is then a condition, or it was always true and
        // has been removed; in that case the join returns the rows without equal keys.
        let null_aware = join.null_aware && !(nulls_equal && join.filter.is_none());
        if null_aware && (nulls_equal || join.on.len() != 1) {
            // Which of the keys is the one of NOT IN is not said.
            return Err(uncovered(format!("NOT IN with {} keys", join.on.len())));
        }
        let null_keys = match (null_aware, nulls_equal) {
            (true, _) => NullKeys::Unknown,
            (false, true) => NullKeys::EqualNull,
            (false, false) => NullKeys::EqualNothing,
        };
        let (left, right) = (self.plan(&join.left)?, self.plan(&join.right)?);
        let left = self.side(left, join.left.schema(), join.on.iter().map(|on| &on.0))?;
        let right = self.side(right, join.right.schema(), join.on.iter().map(|on| &on.1))?;
        let rows = [left.covered.estimate.rows, right.covered.estimate.rows];
        // The pairs are the same whichever side is built, and cost the same.
        let tree = self.ordered(&rows, &[JoinEdge { relations: (0, 1), selectivity: 0.0 }]);
        let prefers_left = matches!(tree, JoinTree::Join { build, .. } if *build == JoinTree::Relation(0));
        // NOT IN asks about all of the right side at once, so that is what is built.
        let (kind, build_is_left) = kind_of(join.join_type, prefers_left && !null_aware)?;
        let residual = match &join.filter {
            None => None,
            Some(filter) => {
                let both = join.left.schema().join(join.right.schema())?;
                let mut residual = self.expression(filter, &both)?;
                residual.map_columns(&mut |column| placed(column, &left, &right, build_is_left));
                Some(residual)
            }
        };
        let estimate = estimated(join.join_type, &left, &right, residual.is_some());
        let (left_count, right_count) = (left.column_count, right.column_count);
        let columns: Vec<usize> = match join.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => (0..left_count).collect(),
            JoinType::RightSemi | JoinType::RightAnti => (0..right_count).collect(),
            JoinType::LeftMark => (0..left_count).chain([left.covered.plan.column_count()]).collect(),
            _ => (0..left_count + right_count).map(|column| placed(column, &left, &right, build_is_left)).collect(),
        };
        let (build, probe) = if build_is_left { (left, right) } else { (right, left) };
        let condition = JoinCondition { kind, build_keys: build.keys, probe_keys: probe.keys, residual, null_keys };
        let plan = Plan::join(build.covered.plan, probe.covered.plan, condition);
        let Estimate { rows, explodes, .. } = estimate;
        let mut wide = Estimate { rows, distinct: vec![1.0; plan.column_count()], explodes };
        for (column, distinct) in columns.iter().zip(&estimate.distinct) {
            wide.distinct[*column] = *distinct;
        }
        Ok(columns_of(Covered { plan, estimate: wide }, &columns))
    }

    /// A side whose key expressions are columns.
    pub(super) fn side<'e>(
        &mut self,
        covered: Covered,
        schema: &DFSchema,
        keys: impl Iterator<Item = &'e Expr>,
    ) -> Result<JoinSide, Uncovered> {
        let column_count = covered.plan.column_count();
        let mut computed = Vec::new();
        let mut columns = Vec::new();
        for key in keys {
            columns.push(match self.expression(key, schema)? {
                Expression::Column(column) => column,
                expression => {
                    computed.push(expression);
                    column_count + computed.len() - 1
                }
            });
        }
        let all = (0..column_count).map(Expression::Column).chain(computed).collect();
        Ok(JoinSide { covered: projected(covered, all), keys: columns, column_count })
    }
}

/// Where a column of the left side, then the right side, lies in the join: the probe side's come first.
fn placed(column: usize, left: &JoinSide, right: &JoinSide, build_is_left: bool) -> usize {
    let (left_width, right_width) = (left.covered.plan.column_count(), right.covered.plan.column_count());
    match (column.checked_sub(left.column_count), build_is_left) {
        (None, false) => column,
        (None, true) => right_width + column,
        (Some(column), false) => left_width + column,
        (Some(column), true) => column,
    }
}

/// The kind of join, and whether the left side is built.
fn kind_of(join_type: JoinType, prefers_left: bool) -> Result<(JoinKind, bool), Uncovered> {
    Ok(match (join_type, prefers_left) {
        (JoinType::Inner, build_is_left) => (JoinKind::Inner, build_is_left),
        (JoinType::Left, true) => (JoinKind::BuildOuter, true),
        (JoinType::Left, false) => (JoinKind::ProbeOuter, false),
        (JoinType::Right, true) => (JoinKind::ProbeOuter, true),
        (JoinType::Right, false) => (JoinKind::BuildOuter, false),
        (JoinType::Full, build_is_left) => (JoinKind::FullOuter, build_is_left),
        (JoinType::LeftSemi, true) => (JoinKind::BuildSemi, true),
        (JoinType::LeftSemi, false) => (JoinKind::ProbeSemi, false),
        (JoinType::LeftAnti, true) => (JoinKind::BuildAnti, true),
        (JoinType::LeftAnti, false) => (JoinKind::ProbeAnti, false),
        (JoinType::RightSemi, true) => (JoinKind::ProbeSemi, true),
        (JoinType::RightSemi, false) => (JoinKind::BuildSemi, false),
        (JoinType::RightAnti, true) => (JoinKind::ProbeAnti, true),
        (JoinType::RightAnti, false) => (JoinKind::BuildAnti, false),
        (JoinType::LeftMark, _) => (JoinKind::ProbeMark, false),
        (JoinType::RightMark, _) => return Err(uncovered("a right mark join")),
    })
}

fn estimated(join_type: JoinType, left: &JoinSide, right: &JoinSide, has_residual: bool) -> Estimate {
    let (left_rows, right_rows) = (left.covered.estimate.rows, right.covered.estimate.rows);
    let share = left.covered.estimate.equal_share(&left.keys, &right.covered.estimate, &right.keys);
    let pairs = left_rows * right_rows * share * if has_residual { SELECTIVITY_UNKNOWN } else { 1.0 };
    let own = |side: &JoinSide| {
        let mut estimate = side.covered.estimate.clone();
        estimate.distinct.truncate(side.column_count);
        estimate
    };
    let semi = |side: &JoinSide, other: &JoinSide| {
        let values = side.covered.estimate.distinct_of(&side.keys);
        let met = other.covered.estimate.distinct_of(&other.keys).min(values);
        (met / values) * if has_residual { 0.5 } else { 1.0 }
    };
    let both = |rows: f64| own(left).with_columns_of(&own(right), rows);
    match join_type {
        JoinType::Inner => both(pairs),
        JoinType::Left => both(pairs.max(left_rows)),
        JoinType::Right => both(pairs.max(right_rows)),
        JoinType::Full => both(pairs.max(left_rows).max(right_rows)),
        JoinType::LeftSemi => own(left).scaled(semi(left, right)),
        JoinType::LeftAnti => own(left).scaled((1.0 - semi(left, right)).max(0.1)),
        JoinType::RightSemi => own(right).scaled(semi(right, left)),
        JoinType::RightAnti => own(right).scaled((1.0 - semi(right, left)).max(0.1)),
        JoinType::LeftMark | JoinType::RightMark => {
            let mut estimate = own(left);
            estimate.distinct.push(2.0);
            estimate
        }
    }
}
