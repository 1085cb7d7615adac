//! Reordering of joins at run time, when one of them makes many more pairs than it has input rows. In such a join many rows of
//! both sides have the same key, and later selective joins would drop most pairs again.
//!
//! The connected joins stop at the topmost of them, and restart in another order ([`JoinGraph`]). A join is given up when it has
//! made a few times as many pairs as input rows, so that little work is lost. A group-by above the joins can restart, too, so
//! that joins whose rows are only passed on are watched as well. Joins whose rows go directly to the client are not watched,
//! because delivered rows cannot be taken back.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use super::running_join::Sides;
use super::{Executor, Rows, Wanted};
use crate::plan::join_order::join_graph::JoinGraph;
use crate::plan::{JoinCondition, NodeId, Plan};
use crate::runtime::stop::Stop;

/// The state of reordering in a run.
#[derive(Debug, Default)]
pub(super) struct Reorderings {
    count: AtomicU32,
    /// Whether joins have been restarted. This happens at most once; the new order is final.
    restarted: AtomicBool,
    /// Joins that are to be avoided.
    avoided: Mutex<Vec<NodeId>>,
}

impl Executor {
    /// Number of reorderings so far.
    pub fn reordering_count(&self) -> u32 {
        self.reorderings.count.load(Ordering::Relaxed)
    }

    /// A join, reordered with the joins directly below it if necessary.
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
            let is_watched = wanted.may_restart && !self.reorderings.restarted.load(Ordering::Relaxed);
            return self.join(Sides { watched: is_watched.then_some(join), ..sides }, wanted).await;
        }
        let (graph, columns) = JoinGraph::of(build, probe, condition);
        let many = loop {
            let avoided = self.reorderings.avoided.lock().iter().find_map(|join| graph.relations_of(*join));
            if let Some(many) = avoided {
                break many;
            }
            match self.join(sides, wanted.clone()).await {
                // A join of another graph further down is reordered there.
                Err(Stop::Restart(join)) => self.avoid(join),
                outcome => return outcome,
            }
        };
        self.reorderings.count.fetch_add(1, Ordering::Relaxed);
        let tree = graph.order_without(&many);
        let plan = graph.plan(&tree, &columns);
        self.rows(&plan, wanted).await
    }

    /// Notes that the restarted joins avoid this one, because it makes too many pairs.
    pub(super) fn avoid(&self, join: NodeId) {
        self.reorderings.avoided.lock().push(join);
        self.reorderings.restarted.store(true, Ordering::Relaxed);
    }
}
