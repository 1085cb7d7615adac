//! A second attempt for queries that need more memory than they may have: on DataFusion's operators, whose sorts and
//! aggregations spill to disk.
//!
//! Braid's operators hold what they collect in memory. Most of that happens before the first row: if they run out by
//! then, nothing has been said to the client yet, and the query is planned and started again without them. After the
//! first rows it is too late, and the query fails.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use braid_df::operators::BraidOperatorsExec;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{Stream, StreamExt};

use super::planner::Planner;
use crate::EngineError;

/// Starts the second attempt.
type Again = Box<dyn FnOnce() -> BoxFuture<'static, Result<SendableRecordBatchStream>> + Send>;

/// Starts a plan of `logical`; again without Braid's operators if they run out of memory before the first row.
pub(crate) fn start(
    planner: Planner,
    logical: LogicalPlan,
    physical: Arc<dyn ExecutionPlan>,
) -> Result<SendableRecordBatchStream, EngineError> {
    if !has_braid_operators(&physical)? {
        return planner.start(physical);
    }
    let first = planner.start(physical)?;
    let again: Again = Box::new(move || {
        async move {
            let planner = planner.without_braid_operators();
            let physical = planner.physical(&logical).await?;
            Ok(planner.start(physical)?)
        }
        .boxed()
    });
    Ok(Box::pin(SecondAttempt { schema: first.schema(), state: State::First(first, again) }))
}

fn has_braid_operators(plan: &Arc<dyn ExecutionPlan>) -> Result<bool, EngineError> {
    let mut found = false;
    plan.apply(|node| {
        found |= node.is::<BraidOperatorsExec>();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

struct SecondAttempt {
    schema: SchemaRef,
    state: State,
}

enum State {
    /// No row yet.
    First(SendableRecordBatchStream, Again),
    /// Being planned.
    Planning(BoxFuture<'static, Result<SendableRecordBatchStream>>),
    /// Whatever comes now comes.
    Flowing(SendableRecordBatchStream),
    Ended,
}

impl Stream for SecondAttempt {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::First(mut rows, again) => match rows.poll_next_unpin(context) {
                    Poll::Pending => {
                        self.state = State::First(rows, again);
                        return Poll::Pending;
                    }
                    Poll::Ready(Some(Err(error))) if is_out_of_memory(&error) => {
                        tracing::debug!(%error, "a second attempt on operators that spill");
                        // What the first attempt held is the second's.
                        drop(rows);
                        self.state = State::Planning(again());
                    }
                    Poll::Ready(item) => {
                        self.state = State::Flowing(rows);
                        return Poll::Ready(item);
                    }
                },
                State::Planning(mut planning) => match planning.poll_unpin(context) {
                    Poll::Pending => {
                        self.state = State::Planning(planning);
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok(rows)) => self.state = State::Flowing(rows),
                    Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                },
                State::Flowing(mut rows) => {
                    let item = rows.poll_next_unpin(context);
                    self.state = State::Flowing(rows);
                    return item;
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl RecordBatchStream for SecondAttempt {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

fn is_out_of_memory(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}
