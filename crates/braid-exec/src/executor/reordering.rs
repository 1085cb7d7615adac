//! Joins that are done in another order than planned, because a build side that is a join itself turned out to have many
//! more rows than its tables: many rows of both sides have the same key, which selective joins would have to make good again.
//!
//! The joins that belong together are stopped where the uppermost of them was begun, and begun anew in another order
//! ([`JoinGraph`]). A build side is given up when it has a few times as many rows as its largest table, so not much is
//! lost. Pairs that are never collected, only passed on, are not noticed.

use std::error::Error;
use std::fmt;
use std::sync::atomic::Ordering;

use super::join::Sides;
use super::{Executor, Rows, Wanted};
use crate::ExecError;
use crate::join_order::join_graph::JoinGraph;
use crate::join_sides::SideShape;
use crate::plan::{JoinCondition, Plan};

/// Keys of which one side is unique make no more rows than the larger side has. So many times as many, and they are not.
const MANY: u64 = if cfg!(test) { 1 } else { 4 };

/// Fewer rows do not matter.
const PAIRS_MIN: u64 = if cfg!(test) { 4 } else { 512 << 10 };

/// Orders that a run tries beside the planned one.
const REORDERINGS_MAX: u32 = 2;

/// A join makes too many pairs. It never leaves the executor.
#[derive(Debug)]
pub(super) struct ManyToMany {
    /// Address of the join in the plan that is being run.
    join: usize,
}

impl ManyToMany {
    /// Of this join of the plan that is being run, for whoever began the uppermost one.
    pub(super) fn in_join(join: &Plan) -> ExecError {
        ExecError::Foreign(Box::new(Self { join: std::ptr::from_ref(join).addr() }))
    }
}

impl fmt::Display for ManyToMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a join makes many more rows than its tables have")
    }
}

impl Error for ManyToMany {}

impl Executor {
    /// Joins so far that were done in another order.
    pub fn reordering_count(&self) -> u32 {
        self.exchanges.reorderings.load(Ordering::Relaxed)
    }

    /// A join, in another order with those right below it if need be.
    pub(super) async fn reorderable_join(
        &self,
        build: &Plan,
        probe: &Plan,
        condition: &JoinCondition,
        wanted: Wanted,
    ) -> Result<Rows, ExecError> {
        if wanted.is_among_joins || !JoinGraph::takes(condition) {
            return self.join(build, probe, condition, wanted).await;
        }
        let found = match self.join(build, probe, condition, wanted.clone()).await {
            Err(ExecError::Foreign(error)) => error.downcast::<ManyToMany>().map_err(ExecError::Foreign)?,
            outcome => return outcome,
        };
        self.exchanges.reorderings.fetch_add(1, Ordering::Relaxed);
        let (graph, columns) = JoinGraph::of(build, probe, condition);
        let many = graph.relations_of(found.join).expect("joins are stopped where the uppermost of them was begun");
        let tree = graph.order_without(&many);
        let plan = graph.plan(&tree, &columns);
        self.rows(&plan, wanted).await
    }

    /// How many rows of a build side are too many, if it is a join that can be reordered with this one.
    pub(super) fn too_many_pairs(&self, sides: Sides<'_>) -> Option<u64> {
        let Plan::Join { condition, .. } = sides.build else { return None };
        let is_reorderable = JoinGraph::takes(condition) && JoinGraph::takes(sides.condition);
        let table_rows = SideShape::of(sides.build).table_rows_max?;
        let may_reorder = is_reorderable && self.reordering_count() < REORDERINGS_MAX;
        may_reorder.then(|| table_rows.saturating_mul(MANY).max(PAIRS_MIN))
    }
}
