//! Joins that are done in another order than planned, because a build side that is a join itself turned out to have many
//! more rows than its tables: many rows of both sides have the same key, which selective joins would have to make good again.
//!
//! The joins that belong together are stopped where the uppermost of them was begun, and begun anew in another order
//! ([`JoinGraph`]). A join is given up when it has made a few times as many rows as its largest table has, so not much is
//! lost. Where rows go to a group-by, that can begin anew as well: so also joins are noticed whose rows are only passed
//! on. What has been handed to the query's reader cannot be taken back; there nobody looks.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use super::join::Sides;
use super::tally::Tally;
use super::{Executor, Rows, Wanted};
use crate::ExecError;
use crate::join_order::join_graph::JoinGraph;
use crate::join_sides::SideShape;
use crate::pipeline::Enough;
use crate::plan::{JoinCondition, Plan};

/// Keys of which one side is unique make no more rows than the larger side has. So many times as many, and they are not.
const MANY: u64 = if cfg!(test) { 1 } else { 4 };

/// Fewer rows do not matter.
const PAIRS_MIN: u64 = if cfg!(test) { 4 } else { 512 << 10 };

/// What a run knows of joins that make too many pairs.
#[derive(Debug, Default)]
pub(super) struct Reorderings {
    count: AtomicU32,
    /// Whether something has been begun anew. That is done once: the other order is taken as it is.
    begun_anew: AtomicBool,
    /// Address of a join whose rows were being passed on.
    stopped: Arc<Mutex<Option<usize>>>,
    /// Addresses of joins that are to be avoided.
    avoided: Mutex<Vec<usize>>,
}

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
        self.reorderings.count.load(Ordering::Relaxed)
    }

    /// A join, in another order with those right below it if need be.
    pub(super) async fn reorderable_join(
        &self,
        build: &Plan,
        probe: &Plan,
        condition: &JoinCondition,
        join: &Plan,
        wanted: Wanted,
    ) -> Result<Rows, ExecError> {
        if !JoinGraph::takes(condition) {
            return self.join(build, probe, condition, wanted).await;
        }
        if wanted.is_among_joins {
            let pairs_max = wanted.may_begin_anew.then(|| self.too_many_pairs(join)).flatten();
            let mut rows = self.join(build, probe, condition, wanted).await?;
            if let Some(max) = pairs_max {
                rows.count(self.tally(join, max));
            }
            return Ok(rows);
        }
        let (graph, columns) = JoinGraph::of(build, probe, condition);
        let many = loop {
            let avoided = self.reorderings.avoided.lock().iter().find_map(|address| graph.relations_of(*address));
            if let Some(many) = avoided {
                break many;
            }
            match self.join(build, probe, condition, wanted.clone()).await {
                // Where it is a join further down, among others, that is where another order will be taken.
                Err(error) if self.begins_anew(&error) => {}
                outcome => return outcome,
            }
        };
        self.reorderings.count.fetch_add(1, Ordering::Relaxed);
        let tree = graph.order_without(&many);
        let plan = graph.plan(&tree, &columns);
        self.rows(&plan, wanted).await
    }

    /// Stops the run of what is drained when a join makes too many pairs, and notes which.
    fn tally(&self, join: &Plan, max: u64) -> Tally {
        let (stopped, address) = (self.reorderings.stopped.clone(), std::ptr::from_ref(join).addr());
        Tally::new(max, Enough::default(), Some(Arc::new(move || *stopped.lock() = Some(address))))
    }

    /// # Errors
    /// When what was drained has been stopped because a join made too many pairs.
    pub(super) fn check_pairs(&self) -> Result<(), ExecError> {
        let stopped = self.reorderings.stopped.lock().take();
        stopped.map_or(Ok(()), |join| Err(ExecError::Foreign(Box::new(ManyToMany { join }))))
    }

    /// Whether what failed, for this, is to be begun anew.
    pub(super) fn begins_anew(&self, error: &ExecError) -> bool {
        let ExecError::Foreign(error) = error else { return false };
        let Some(ManyToMany { join }) = error.downcast_ref::<ManyToMany>() else { return false };
        self.reorderings.avoided.lock().push(*join);
        self.reorderings.begun_anew.store(true, Ordering::Relaxed);
        true
    }

    /// How many rows of a join are too many for it to stay where it is.
    fn too_many_pairs(&self, join: &Plan) -> Option<u64> {
        let table_rows = SideShape::of(join).table_rows_max?;
        let has_begun_anew = self.reorderings.begun_anew.load(Ordering::Relaxed);
        (!has_begun_anew).then(|| table_rows.saturating_mul(MANY).max(PAIRS_MIN))
    }

    /// How many rows of a build side are too many, if it is a join that can be reordered with this one.
    pub(super) fn too_many_build_rows(&self, sides: Sides<'_>) -> Option<u64> {
        let Plan::Join { condition, .. } = sides.build else { return None };
        let is_reorderable = JoinGraph::takes(condition) && JoinGraph::takes(sides.condition);
        is_reorderable.then(|| self.too_many_pairs(sides.build)).flatten()
    }
}
