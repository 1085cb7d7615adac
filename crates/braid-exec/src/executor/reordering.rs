//! Joins that are done in another order than planned, because one of them turned out to make many more pairs than it is given
//! rows: many rows of both sides have the same key, which selective joins would have to make good again.
//!
//! The joins that belong together are stopped where the uppermost of them was begun, and begun anew in another order
//! ([`JoinGraph`]). A join is given up when it has made a few times as many pairs as rows, so not much is
//! lost. Where rows go to a group-by, that can begin anew as well: so also joins are noticed whose rows are only passed on.
//! What has been handed to the query's reader cannot be taken back; there nobody looks.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use super::join::Sides;
use super::{Executor, Rows, Wanted};
use crate::plan::join_order::join_graph::JoinGraph;
use crate::plan::{JoinCondition, NodeId, Plan};
use crate::runtime::stop::Stop;

/// What a run knows of joins that make too many pairs.
#[derive(Debug, Default)]
pub(super) struct Reorderings {
    count: AtomicU32,
    /// Whether something has been begun anew. That is done once: the other order is taken as it is.
    begun_anew: AtomicBool,
    /// Joins that are to be avoided.
    avoided: Mutex<Vec<NodeId>>,
}

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
        join: NodeId,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
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
            let avoided = self.reorderings.avoided.lock().iter().find_map(|join| graph.relations_of(*join));
            if let Some(many) = avoided {
                break many;
            }
            match self.join(sides, wanted.clone()).await {
                // Where it is a join further down, among others, that is where another order will be taken.
                Err(Stop::BeginAnew(join)) => self.avoid(join),
                outcome => return outcome,
            }
        };
        self.reorderings.count.fetch_add(1, Ordering::Relaxed);
        let tree = graph.order_without(&many);
        let plan = graph.plan(&tree, &columns);
        self.rows(&plan, wanted).await
    }

    /// Begins anew without this join: it makes too many pairs.
    pub(super) fn avoid(&self, join: NodeId) {
        self.reorderings.avoided.lock().push(join);
        self.reorderings.begun_anew.store(true, Ordering::Relaxed);
    }
}
