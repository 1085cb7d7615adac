//! Which patterns of a pass are searched for below a join ([`PatternsBelowJoin`]): those on a build side with fewer rows than the join.
//!
//! A query alone is left as it is: it wants few pairs, and its build side may be most of a table.

use braid_exec::plan::Plan;
use braid_exec::plan::patterns_below_joins::PatternsBelowJoin;

use super::estimate::Estimate;
use super::join_ordering::Ordering;

impl Ordering<'_> {
    /// A projection of rows with this estimate, with its patterns below the join where this is an advantage.
    pub(super) fn with_patterns_below_join(&self, projection: Plan, of_rows: &Estimate) -> Plan {
        if self.queries.len() < 2 {
            return projection;
        }
        let Some(below) = PatternsBelowJoin::of(&projection) else { return projection };
        if !self.may_look() || self.plan(below.build).1.rows > of_rows.rows {
            return projection;
        }
        below.into_plan()
    }
}
