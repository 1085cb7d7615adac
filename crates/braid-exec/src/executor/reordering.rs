//! Joins that are done in another order than planned, because one of them turned out to make many more pairs than it is given
//! rows: many rows of both sides have the same key, which selective joins would have to make good again.
//!
//! The joins that belong together are stopped where the uppermost of them was begun, and begun anew in another order
//! ([`JoinGraph`]). A join is given up when it has made a few times as many pairs as rows, so not much is
//! lost. Where rows go to a group-by, that can begin anew as well: so also joins are noticed whose rows are only passed on.
//! What has been handed to the query's reader cannot be taken back; there nobody looks.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use super::join::{Join, Sides};
use super::tally::PairWatch;
use super::{Executor, Rows, Wanted};
use crate::ExecError;
use crate::plan::join_order::join_graph::JoinGraph;
use crate::plan::{JoinCondition, Plan};
use crate::runtime::pipeline::OperatorFactory;

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

impl fmt::Display for ManyToMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a join makes many more pairs than it is given rows")
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
        let sides = Sides { build, probe, condition, watched: None };
        if !JoinGraph::takes(condition) {
            return self.join(sides, wanted).await;
        }
        if wanted.is_among_joins {
            let is_watched = wanted.may_begin_anew && !self.reorderings.begun_anew.load(Ordering::Relaxed);
            return self.join(Sides { watched: is_watched.then_some(join), ..sides }, wanted).await;
        }
        let (graph, columns) = JoinGraph::of(build, probe, condition);
        let many = loop {
            let avoided = self.reorderings.avoided.lock().iter().find_map(|address| graph.relations_of(*address));
            if let Some(many) = avoided {
                break many;
            }
            match self.join(sides, wanted.clone()).await {
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

    /// Adds the probe operator of a join that is given up when it makes too many pairs.
    pub(super) fn push_watched(
        &self,
        rows: &mut Rows,
        probe: OperatorFactory,
        join: &Join,
        build_rows: usize,
        address: usize,
    ) {
        let watch = PairWatch { stopped: self.reorderings.stopped.clone(), address };
        rows.push_watched(probe, join.layout.column_count(), build_rows as u64, watch);
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
}
