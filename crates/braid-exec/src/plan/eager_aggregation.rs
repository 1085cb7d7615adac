//! Groups below joins (invariant grouping: Chaudhuri and Shim, VLDB 1994, section 3; eager aggregation: Yan and Larson, VLDB 1995).
//!
//! ```text
//! groups by customer                     orders are counted by customer
//!    │                                      │
//! join, one row for each order    →      join, one row for each customer
//!    │                                      │
//! customers, orders                      customers, groups of orders
//! ```
//!
//! The *grouped side* of the join is grouped by its join keys, and the grouping above the join is removed. The plan has the same
//! rows if
//!
//! 1. the other side, the *unique side*, has each combination of join keys at most once, also that of nulls. The caller has to
//!    know this ([`GroupedJoin::unique_key`]); everything below is checked here;
//! 2. the join returns all rows of the unique side with their partners (inner joins, outer joins that keep the unique side), has no
//!    further condition, and nulls are no keys of NOT IN;
//! 3. the groups' keys are columns of the unique side, among them its join keys. With 1, each group is one of its rows with all
//!    partners, and the join has one row for each group;
//! 4. each aggregate reads plain columns of the grouped side, or counts rows;
//! 5. no aggregate can fail. Groups without a partner are now computed, too, and must not fail in place of the plan.
//!
//! A count of values that are never null is a count of rows below the join, and reads no column.
//!
//! An outer join gives rows without a partner nulls in the grouped side's columns. Aggregates of such a row's group are null,
//! except for counts: no value, but one row.

use std::sync::Arc;

use braid_storage::Scalar;

use super::{AggregateCall, AggregateFunction, AggregationSpec, AverageKind, JoinCondition, JoinKind, Plan};
use crate::Expression;
use crate::runtime::pipeline::Source;
use crate::values::integer_bounds::IntegerBounds;

/// Digits after the point of an average that fits 38 digits if all values fit 64 bits: 38 less 19 before the point.
const AVERAGE_SCALE_MAX: u8 = 19;

/// Groups above a join that can be made below it.
#[derive(Clone, Debug)]
pub struct GroupedJoin<'a> {
    /// The side that is grouped.
    pub grouped: &'a Plan,
    /// The other side.
    pub unique: &'a Plan,
    /// The condition of the join.
    pub condition: &'a JoinCondition,
    /// Whether the build side is grouped.
    pub grouped_is_build: bool,
    /// The unique side's columns that are the keys of the groups.
    keys: Vec<usize>,
    /// Whether a column of the grouped side is a key, too, whose equal column of the unique side takes its place.
    takes_equal_keys: bool,
    /// The aggregates over the grouped side's columns.
    aggregates: Vec<AggregateCall>,
    /// The result of each aggregate for a row without a partner.
    of_no_partner: Vec<Option<i64>>,
}

/// What makes the keys of a side unique.
#[derive(Clone, Debug)]
pub enum UniqueKey<'a> {
    /// They are keys of groups.
    OfGroups,
    /// They are unique if these columns of a source are.
    OfSource(&'a Arc<dyn Source>, Vec<usize>),
}

/// A side of a join among the join's columns.
struct Side<'a> {
    plan: &'a Plan,
    first: usize,
    keys: &'a [usize],
}

impl Side<'_> {
    /// The side's column that a column of the join is.
    fn place(&self, column: usize) -> Option<usize> {
        column.checked_sub(self.first).filter(|column| *column < self.plan.column_count())
    }
}

impl<'a> GroupedJoin<'a> {
    /// The join below a grouping, once for each of its sides that can be grouped by conditions 2 to 5.
    pub fn of(plan: &'a Plan) -> Vec<Self> {
        let Plan::Aggregate { input, spec } = plan else { return Vec::new() };
        let (join, origins) = below_projections(input);
        let Plan::Join { build, probe, condition, .. } = join else { return Vec::new() };
        if condition.residual.is_some()
            || condition.null_keys.are_unknown()
            || condition.build_keys.is_empty()
            || !(are_distinct(&condition.build_keys) && are_distinct(&condition.probe_keys))
            || spec.aggregates.is_empty()
        {
            return Vec::new();
        }
        let candidates: &[bool] = match condition.kind {
            JoinKind::Inner => &[true, false],
            JoinKind::ProbeOuter => &[true],
            JoinKind::BuildOuter => &[false],
            _ => &[],
        };
        let probe = || Side { plan: probe, first: 0, keys: &condition.probe_keys };
        let build = || Side { plan: build, first: probe().plan.column_count(), keys: &condition.build_keys };
        let of_side = |grouped_is_build: &bool| {
            let (grouped, unique) = if *grouped_is_build { (build(), probe()) } else { (probe(), build()) };
            let takes_equal_keys = condition.kind == JoinKind::Inner;
            let (keys, takes_equal_keys) = keys_of_unique(spec, &origins, &grouped, &unique, takes_equal_keys)?;
            let aggregates = aggregates_of_grouped(spec, &origins, &grouped)?;
            let (grouped, unique, grouped_is_build) = (grouped.plan, unique.plan, *grouped_is_build);
            let of_no_partner = spec.aggregates.iter().map(|call| of_no_partner(call, condition.kind)).collect();
            let aggregates = aggregates.into_iter().map(|call| without_nulls(call, grouped)).collect();
            Some(Self {
                grouped,
                unique,
                condition,
                grouped_is_build,
                keys,
                takes_equal_keys,
                aggregates,
                of_no_partner,
            })
        };
        candidates.iter().filter_map(of_side).collect()
    }

    /// What makes the join keys of the unique side unique; `None` if nothing is known to do so.
    pub fn unique_key(&self) -> Option<UniqueKey<'a>> {
        let (unique_keys, _) = self.join_keys();
        match key_of(self.unique, unique_keys.to_vec())? {
            // Equal numbers may differ, as 0 and -0 do. The type of groups' keys is not known here.
            UniqueKey::OfGroups if self.takes_equal_keys => None,
            key => Some(key),
        }
    }

    /// The join keys of the unique side, and those of the grouped side.
    pub fn join_keys(&self) -> (&'a [usize], &'a [usize]) {
        let (build_keys, probe_keys) = (&self.condition.build_keys, &self.condition.probe_keys);
        if self.grouped_is_build { (probe_keys, build_keys) } else { (build_keys, probe_keys) }
    }

    /// The specification of the groups below the join.
    pub fn spec(&self) -> AggregationSpec {
        AggregationSpec { keys: self.join_keys().1.to_vec(), aggregates: self.aggregates.clone() }
    }

    /// The join above the groups. The sides are plans with the same rows as those of this join: `groups` has the columns of
    /// [`Self::spec`].
    pub fn condition(&self) -> JoinCondition {
        let (unique_keys, grouped_keys) = self.join_keys();
        let (unique_keys, grouped_keys) = (unique_keys.to_vec(), (0..grouped_keys.len()).collect());
        let (build_keys, probe_keys) =
            if self.grouped_is_build { (grouped_keys, unique_keys) } else { (unique_keys, grouped_keys) };
        JoinCondition { build_keys, probe_keys, ..self.condition.clone() }
    }

    /// The columns of the grouping, from those of the join above the groups.
    pub fn columns(&self) -> Vec<Expression> {
        let group_count = self.join_keys().1.len() + self.aggregates.len();
        let (unique_first, groups_first) =
            if self.grouped_is_build { (0, self.unique.column_count()) } else { (group_count, 0) };
        let of_keys = self.keys.iter().map(|key| Expression::Column(unique_first + key));
        let first_call = groups_first + self.join_keys().1.len();
        let of_call = |(at, of_no_partner): (usize, &Option<i64>)| {
            let column = Expression::Column(first_call + at);
            of_no_partner.map_or(column.clone(), |count| or_if_null(column, count))
        };
        of_keys.chain(self.of_no_partner.iter().enumerate().map(of_call)).collect()
    }

    /// The same rows, with groups below the join. The keys of the unique side must be unique.
    pub fn pushed(&self) -> Plan {
        let groups = Plan::Aggregate { input: self.grouped.clone().into(), spec: self.spec().into() };
        let unique = self.unique.clone();
        let (build, probe) = if self.grouped_is_build { (groups, unique) } else { (unique, groups) };
        Plan::Project { input: Plan::join(build, probe, self.condition()).into(), expressions: self.columns() }
    }
}

/// The result of an aggregate for a row without a partner, if it is not null.
fn of_no_partner(call: &AggregateCall, kind: JoinKind) -> Option<i64> {
    match call.function {
        _ if kind == JoinKind::Inner => None,
        AggregateFunction::Count => Some(0),
        AggregateFunction::CountRows => Some(i64::from(call.filter.is_none())),
        _ => None,
    }
}

/// The same aggregate, without an argument if it counts values that are never null.
fn without_nulls(call: AggregateCall, rows: &Plan) -> AggregateCall {
    let counts_rows = call.function == AggregateFunction::Count
        && !call.distinct
        && call.argument.is_some_and(|argument| rows.is_null_free(argument));
    if counts_rows { AggregateCall { function: AggregateFunction::CountRows, argument: None, ..call } } else { call }
}

fn or_if_null(value: Expression, count: i64) -> Expression {
    let branches = vec![(Expression::IsNull(value.clone().into()), Expression::Constant(Some(Scalar::Int(count))))];
    Expression::Case { branches, otherwise: Some(value.into()) }
}

/// The plan below projections, and the column that each column above is, if it is one.
fn below_projections(plan: &Plan) -> (&Plan, Vec<Option<usize>>) {
    let (mut plan, mut origins) = (plan, (0..plan.column_count()).map(Some).collect::<Vec<_>>());
    while let Plan::Project { input, expressions } = plan {
        origins.iter_mut().for_each(|origin| *origin = origin.and_then(|column| expressions[column].as_column()));
        plan = input;
    }
    (plan, origins)
}

fn are_distinct(columns: &[usize]) -> bool {
    columns.iter().enumerate().all(|(at, column)| !columns[..at].contains(column))
}

/// The unique side's columns that are the groups' keys, if its join keys are among them, and whether a key of the grouped
/// side is replaced by its equal column.
fn keys_of_unique(
    spec: &AggregationSpec,
    origins: &[Option<usize>],
    grouped: &Side<'_>,
    unique: &Side<'_>,
    equal_keys_count: bool,
) -> Option<(Vec<usize>, bool)> {
    let mut takes_equal_keys = false;
    let mut keys = Vec::with_capacity(spec.keys.len());
    for key in &spec.keys {
        let column = origins[*key]?;
        keys.push(match unique.place(column) {
            Some(column) => column,
            None => {
                let column = grouped.place(column).filter(|_| equal_keys_count)?;
                takes_equal_keys = true;
                unique.keys[grouped.keys.iter().position(|key| *key == column)?]
            }
        });
    }
    unique.keys.iter().all(|key| keys.contains(key)).then_some((keys, takes_equal_keys))
}

/// The aggregates over the grouped side's columns, if they read no others and cannot fail.
fn aggregates_of_grouped(
    spec: &AggregationSpec,
    origins: &[Option<usize>],
    grouped: &Side<'_>,
) -> Option<Vec<AggregateCall>> {
    let place = |column: Option<usize>| match column {
        None => Some(None),
        Some(column) => Some(Some(grouped.place(origins[column]?)?)),
    };
    let moved = |call: &AggregateCall| {
        let call = AggregateCall { argument: place(call.argument)?, filter: place(call.filter)?, ..*call };
        cannot_fail(&call, grouped.plan).then_some(call)
    };
    spec.aggregates.iter().map(moved).collect()
}

/// Whether an aggregate of a plan's rows is in range for all of them.
fn cannot_fail(call: &AggregateCall, plan: &Plan) -> bool {
    use AggregateFunction as F;
    let can_be_summed = || {
        let bounds = call.argument.and_then(|argument| plan.integer_bounds(argument));
        bounds.is_some_and(IntegerBounds::can_be_summed)
    };
    match call.function {
        F::CountRows | F::Count | F::Minimum | F::Maximum | F::BoolAnd | F::BoolOr => true,
        F::Sum => can_be_summed(),
        F::Average(AverageKind::Numeric { result_scale, .. }) => result_scale < AVERAGE_SCALE_MAX && can_be_summed(),
        F::Average(AverageKind::Float) => false,
    }
}

/// What makes these columns of a plan unique. Rows that are left out leave the others unique.
fn key_of(plan: &Plan, columns: Vec<usize>) -> Option<UniqueKey<'_>> {
    match plan {
        Plan::Source { source, .. } => Some(UniqueKey::OfSource(source, columns)),
        Plan::Filter { input, .. } => key_of(input, columns),
        Plan::Project { input, expressions } => {
            let columns: Option<Vec<usize>> =
                columns.into_iter().map(|column| expressions[column].as_column()).collect();
            key_of(input, columns?)
        }
        Plan::Join { build, probe, condition, .. } => match condition.kind {
            JoinKind::ProbeSemi | JoinKind::ProbeAnti => key_of(probe, columns),
            JoinKind::BuildSemi | JoinKind::BuildAnti => key_of(build, columns),
            _ => None,
        },
        Plan::Aggregate { spec, .. } | Plan::Accumulate { spec, .. } => {
            (0..spec.keys.len()).all(|key| columns.contains(&key)).then_some(UniqueKey::OfGroups)
        }
        _ => None,
    }
}
