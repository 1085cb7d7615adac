//! Which groups are made below a join ([`GroupedJoin`]), and how many rows they are.
//!
//! Groups below a join are an advantage where the join drops few of the rows that are grouped. Otherwise the groups of dropped rows
//! would be made in vain. They need a key that is known to be unique ([`UniqueKeys`](super::unique_keys)).

use braid_exec::plan::eager_aggregation::{GroupedJoin, UniqueKey};
use braid_exec::plan::{AggregationSpec, Plan};

use super::estimate::Estimate;
use super::join_ordering::Ordering;
use super::row_rules::projected;
use super::unique_keys::KeyCandidate;

/// Share of the grouped side's rows that the join must keep at least.
const KEPT_SHARE_MIN: f64 = 0.8;

impl Ordering<'_> {
    /// The plan of an aggregation with its groups below a join, if that is exact and an advantage.
    pub(super) fn eager_groups(&self, plan: &Plan) -> Option<(Plan, Estimate)> {
        GroupedJoin::of(plan).iter().find_map(|grouped| self.groups_below(grouped))
    }

    fn groups_below(&self, grouped: &GroupedJoin<'_>) -> Option<(Plan, Estimate)> {
        let key = grouped.unique_key()?;
        if !self.may_look() || self.is_refuted(&key) {
            return None;
        }
        let ((unique, of_unique), (rows, of_rows)) = (self.plan(grouped.unique), self.plan(grouped.grouped));
        if !keeps_most(grouped, &of_unique, &of_rows) || !self.is_unique(&key, &of_rows) {
            return None;
        }
        let spec = grouped.spec();
        let estimate = self.of_groups(&rows, &of_rows, &spec);
        let groups = Plan::Aggregate { input: rows.into(), spec: spec.into() };
        let (groups, unique) = ((groups, estimate), (unique, of_unique));
        let (build, probe) = if grouped.grouped_is_build { (groups, unique) } else { (unique, groups) };
        let (join, estimate) = self.placed_join(build, probe, &grouped.condition());
        let expressions = grouped.columns();
        let estimate = projected(&estimate, &expressions);
        Some((Plan::Project { input: join.into(), expressions }, estimate))
    }

    /// Whether a key is known not to be unique, or will not be looked at.
    fn is_refuted(&self, key: &UniqueKey<'_>) -> bool {
        let (source, columns) = match key {
            UniqueKey::OfGroups => return false,
            UniqueKey::OfSource(source, columns) => (source, columns),
        };
        let Some(candidate) = KeyCandidate::of(&***source, columns) else { return true };
        !self.keys.known(&candidate).unwrap_or_else(|| candidate.is_plausible())
    }

    /// Whether a key is known to be unique. If it might be, and looking costs no more than the groups that it would save, it is
    /// noted as a candidate.
    fn is_unique(&self, key: &UniqueKey<'_>, of_rows: &Estimate) -> bool {
        let (source, columns) = match key {
            UniqueKey::OfGroups => return true,
            UniqueKey::OfSource(source, columns) => (source, columns),
        };
        let Some(candidate) = KeyCandidate::of(&***source, columns) else { return false };
        let known = self.keys.known(&candidate);
        if known.is_none() && candidate.row_count() as f64 <= of_rows.rows && candidate.is_plausible() {
            self.unobserved.borrow_mut().push(candidate);
        }
        known == Some(true)
    }

    /// The groups of a plan's rows. In a pass, a group has a row for each set of queries that have the same results; at most one
    /// for each query.
    pub(super) fn of_groups(&self, input: &Plan, of_input: &Estimate, spec: &AggregationSpec) -> Estimate {
        let groups = of_input.distinct_of(&spec.keys);
        let sets = if self.queries.len() > 1 && input.has_parameters() { self.queries.len() as f64 } else { 1.0 };
        let rows = (groups * sets).min(of_input.rows.max(groups));
        let of_keys = spec.keys.iter().map(|key| of_input.distinct[*key]);
        let distinct = of_keys.chain(spec.aggregates.iter().map(|_| rows)).collect();
        Estimate { rows, distinct, explodes: of_input.explodes }.limited(rows.max(1.0))
    }
}

/// Whether a join keeps most rows of the grouped side.
fn keeps_most(grouped: &GroupedJoin<'_>, of_unique: &Estimate, of_rows: &Estimate) -> bool {
    let (unique_keys, grouped_keys) = grouped.join_keys();
    let values = of_rows.distinct_of(grouped_keys);
    of_unique.distinct_of(unique_keys) >= KEPT_SHARE_MIN * values
}
