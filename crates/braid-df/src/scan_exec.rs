//! The leaf operator over one cooperative scan.
//!
//! All partitions of the operator are consumers of one [`braid_scan::CooperativeScan`]. A chunk goes to any partition that is free
//! when it arrives. The scan is registered when the first partition is first
//! *polled*, not when it is executed: a hash join executes its probe side long before it reads it, and by then its
//! build side has become a dynamic filter that leaves chunks out of the registration.
//!
//! Rules:
//! 1. One round of `execute` over the partitions is one scan; executing a partition again begins a new one.
//! 2. The plan node drops its scan when all partitions are executed, and streams hold it until they end. Dropping the streams
//!    therefore cancels the scan.
//! 3. A fetch is exact: all partitions together produce at most that many rows, and fewer only if there are no more.

use std::fmt;
use std::sync::Arc;

use braid_base::ColumnId;
use braid_buffer::BufferManager;
use braid_scan::{ScanSpec, prune};
use braid_storage::TableVersion;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType, apply_expression_roots};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties, ReplaceChildrenOptions,
    SendableRecordBatchStream,
};
use parking_lot::Mutex;

use crate::dynamic_filter::DynamicFilters;
use crate::scalar_value::predicate_text;
use crate::scan_stream::{PendingScan, ScanSource, ScanStream};
use crate::table_statistics::table_statistics;

/// Scans one table version.
pub struct BraidScanExec {
    source: ScanSource,
    /// Chunks that the predicates leave, as indices into the version.
    chunks: Arc<[usize]>,
    /// Whether dynamic filters are taken, and those that were.
    dynamic_filters_wanted: bool,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    round: Mutex<Round>,
}

/// One round of executions.
struct Round {
    /// The round's scan, until every partition has it.
    scan: Option<Arc<PendingScan>>,
    executed: Vec<bool>,
}

impl BraidScanExec {
    /// A scan of `version` by at most `partitions` consumers; never more than there are chunks.
    pub fn new(
        version: Arc<TableVersion>,
        buffer: Arc<BufferManager>,
        spec: ScanSpec,
        partitions: usize,
        dynamic_filters_wanted: bool,
    ) -> Self {
        let chunks: Arc<[usize]> = prune(&version, &spec.predicates).into();
        let partitions = partitions.min(chunks.len()).max(1);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(spec.schema(&version.def)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        // Consumers yield after every chunk.
        .with_scheduling_type(SchedulingType::Cooperative);
        let source = ScanSource { version, buffer, spec, dynamic_filters: None };
        Self::assemble(source, chunks, dynamic_filters_wanted, Arc::new(properties))
    }

    fn assemble(
        source: ScanSource,
        chunks: Arc<[usize]>,
        dynamic_filters_wanted: bool,
        properties: Arc<PlanProperties>,
    ) -> Self {
        let executed = vec![false; properties.partitioning.partition_count()];
        let metrics = ExecutionPlanMetricsSet::new();
        let round = Mutex::new(Round { scan: None, executed });
        Self { source, chunks, dynamic_filters_wanted, properties, metrics, round }
    }

    /// The same scan of `source`, not executed yet.
    fn with_source(&self, source: ScanSource) -> Self {
        Self::assemble(source, self.chunks.clone(), self.dynamic_filters_wanted, self.properties.clone())
    }

    /// The version that is scanned.
    pub fn version(&self) -> &Arc<TableVersion> {
        &self.source.version
    }

    /// What is asked of the scan.
    pub fn spec(&self) -> &ScanSpec {
        &self.source.spec
    }

    /// The round's scan, for one more partition.
    fn take_part(&self, partition: usize) -> Arc<PendingScan> {
        let mut round = self.round.lock();
        if round.executed[partition] {
            round.executed.fill(false);
            round.scan = None;
        }
        let scan = round.scan.get_or_insert_with(|| Arc::new(PendingScan::new(self.source.clone(), &self.metrics)));
        let scan = scan.clone();
        round.executed[partition] = true;
        if round.executed.iter().all(|executed| *executed) {
            round.executed.fill(false);
            round.scan = None;
        }
        scan
    }

    /// What EXPLAIN says, as pairs of name and value.
    fn details(&self) -> Vec<(&'static str, String)> {
        let ScanSource { version, spec, dynamic_filters, .. } = &self.source;
        let mut details = scan_details(version, spec);
        if let Some(filters) = dynamic_filters {
            let text: Vec<String> = filters.filters().iter().map(ToString::to_string).collect();
            details.push(("dynamic_filters", format!("[{}]", text.join(", "))));
        }
        if let Some(limit) = spec.limit {
            details.push(("limit", limit.to_string()));
        }
        if spec.in_order {
            details.push(("in_order", true.to_string()));
        }
        details.push(("chunks", format!("{} of {}", self.chunks.len(), version.chunks.len())));
        details
    }

    fn statistics(&self, partition: Option<usize>) -> Result<Statistics> {
        let ScanSource { version, spec, .. } = &self.source;
        let statistics = table_statistics(version, &spec.projection, &self.chunks, &spec.predicates);
        let fetch = spec.limit.map(|limit| limit as usize);
        let statistics = statistics.with_fetch(fetch, 0, 1)?;
        let partitions = self.properties.partitioning.partition_count();
        if partition.is_none() || partitions == 1 {
            return Ok(statistics);
        }
        // Which partition produces what is not known before it has.
        let share = |count: Precision<usize>| count.map(|count| count.div_ceil(partitions)).to_inexact();
        let mut statistics = statistics.to_inexact();
        statistics.num_rows = share(statistics.num_rows);
        statistics.total_byte_size = share(statistics.total_byte_size);
        for column in &mut statistics.column_statistics {
            column.null_count = share(column.null_count);
            column.byte_size = share(column.byte_size);
        }
        Ok(statistics)
    }
}

/// What EXPLAIN says of any scan.
fn scan_details(version: &TableVersion, spec: &ScanSpec) -> Vec<(&'static str, String)> {
    let column = |column: &ColumnId| &version.def.columns[usize::from(column.0)];
    let projection: Vec<&str> = spec.projection.iter().map(|c| column(c).name.as_str()).collect();
    let mut details = vec![("table", version.def.name.clone()), ("projection", format!("[{}]", projection.join(", ")))];
    if !spec.predicates.is_empty() {
        let text = spec.predicates.iter().map(|(at, predicate)| {
            let column = column(at);
            predicate_text(&column.name, column.column_type, predicate)
        });
        details.push(("predicates", format!("[{}]", text.collect::<Vec<_>>().join(", "))));
    }
    details
}

/// What EXPLAIN says of the source of a pipeline.
pub(crate) fn scan_text(version: &TableVersion, spec: &ScanSpec) -> String {
    let mut details = scan_details(version, spec);
    details.push(("chunks", format!("{} of {}", prune(version, &spec.predicates).len(), version.chunks.len())));
    let text: Vec<String> = details.iter().map(|(name, value)| format!("{name}={value}")).collect();
    text.join(", ")
}

impl fmt::Debug for BraidScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("BraidScanExec");
        for (name, value) in self.details() {
            debug.field(name, &value);
        }
        debug.finish_non_exhaustive()
    }
}

impl DisplayAs for BraidScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = self.details();
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let text: Vec<String> = details.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "BraidScanExec: {}", text.join(", "))
            }
            DisplayFormatType::TreeRender => details.iter().try_for_each(|(name, value)| writeln!(f, "{name}={value}")),
        }
    }
}

impl ExecutionPlan for BraidScanExec {
    fn name(&self) -> &'static str {
        "BraidScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.reset_state()
    }

    fn with_new_children(self: Arc<Self>, _children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.reset_state()
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.with_source(self.source.clone())))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.source.dynamic_filters.iter().flat_map(|filters| filters.filters()), f)
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(ScanStream::new(self.take_part(partition), self.schema(), &self.metrics, partition)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.statistics(args.partition()).map(Arc::new)
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let mut source = self.source.clone();
        source.spec.limit = limit.map(|limit| limit as u64);
        Some(Arc::new(self.with_source(source)))
    }

    fn fetch(&self) -> Option<usize> {
        self.source.spec.limit.map(|limit| limit as usize)
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        pushed: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        // The operators above keep their filters: what is taken here only spares them rows.
        let kept =
            FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; pushed.parent_filters.len()]);
        // Under a limit, a row left out would be replaced by another.
        if phase == FilterPushdownPhase::Pre || !self.dynamic_filters_wanted || self.source.spec.limit.is_some() {
            return Ok(kept);
        }
        let filters: Vec<_> = pushed.parent_filters.into_iter().map(|pushed| pushed.filter).collect();
        let ScanSource { version, spec, .. } = &self.source;
        let Some(filters) = DynamicFilters::new(version.def.clone(), &spec.projection, &filters) else {
            return Ok(kept);
        };
        let source = ScanSource { dynamic_filters: Some(filters), ..self.source.clone() };
        Ok(kept.with_updated_node(Arc::new(self.with_source(source))))
    }
}
