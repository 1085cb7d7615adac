//! Grouping in pipelines, in memory or with spilling.

use std::sync::Arc;

use super::{Executor, Rows};
use crate::aggregation::SpilledGroups;
use crate::aggregation::source::{AggregationSink, AggregationSource};
use crate::aggregation::spilled_source::{MakeWorker, SpilledAggregation};
use crate::plan::AggregationSpec;
use crate::runtime::pipeline::{Source, run_all};
use crate::runtime::stop::Stop;
use crate::spill::{OperatorMemory, QuerySpill};

impl Executor {
    /// Groups all rows. The groups are the source of the next pipeline.
    pub(super) async fn groups(
        &self,
        rows: Rows,
        spec: &Arc<AggregationSpec>,
        make_worker: MakeWorker,
    ) -> Result<Arc<dyn Source>, Stop> {
        match self.spill.as_ref().filter(|_| make_worker().can_grow()) {
            Some(spill) => self.spilling_groups(rows, spec, make_worker, spill).await,
            None => {
                let sinks = self.drain(rows, || AggregationSink::new(make_worker())).await?;
                Ok(Arc::new(AggregationSource::new(spec.clone(), sinks)?))
            }
        }
    }

    async fn spilling_groups(
        &self,
        rows: Rows,
        spec: &Arc<AggregationSpec>,
        make_worker: MakeWorker,
        spill: &Arc<QuerySpill>,
    ) -> Result<Arc<dyn Source>, Stop> {
        let spilled = Arc::new(SpilledGroups::new(spill.clone()));
        let memory = OperatorMemory::new(spill, self.worker_count);
        let sink = || AggregationSink::spilling(make_worker(), spilled.clone(), memory.of_worker());
        let sinks = self.drain(rows, sink).await?;
        if !spilled.has_groups() {
            return Ok(Arc::new(AggregationSource::new(spec.clone(), sinks)?));
        }
        run_all(sinks.into_iter().map(|mut sink| async move { sink.spill_all().await })).await?;
        let memory = OperatorMemory::new(spill, self.worker_count);
        let (spec, worker_count) = (spec.clone(), self.worker_count);
        let is_only_group = make_worker().has_only_group();
        let spilled =
            Arc::new(SpilledAggregation { spec: spec.clone(), groups: spilled, make_worker, memory, worker_count });
        if is_only_group {
            let only = AggregationSink::new(spilled.only_group().await?);
            return Ok(Arc::new(AggregationSource::new(spec, vec![only])?));
        }
        Ok(Arc::new(spilled))
    }
}
