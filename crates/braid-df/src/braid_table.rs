//! A table version as a DataFusion table provider.
//!
//! Filters are pushed down exactly or not at all, so a pushed filter leaves the plan, its columns need not be
//! projected, and LIMIT reaches the scan. The provider is immutable, like the version it shows: a query plans and runs
//! on one snapshot, whatever is loaded meanwhile.
//!
//! The primary key is deliberately not declared as a constraint: the optimiser would drop DISTINCT and grouping columns
//! on the strength of it, and uniqueness is not checked yet.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use braid_base::ColumnId;
use braid_buffer::BufferManager;
use braid_scan::ScanSpec;
use braid_storage::{ColumnPredicate, TableDef, TableVersion};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DataFusionError, Result, Statistics, ToDFSchema};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExecBuilder;

use crate::filter_translation::{intersect, translate_filter};
use crate::scan_exec::BraidScanExec;
use crate::table_statistics::table_statistics;

/// What a session may decide about its scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanSettings {
    /// Deliver rows in the order they were loaded, with one consumer.
    pub in_order: bool,
    /// Narrow scans by what joins and top-k learn while running.
    pub dynamic_filters: bool,
}

impl Default for ScanSettings {
    fn default() -> Self {
        Self { in_order: false, dynamic_filters: true }
    }
}

/// One version of a table, and the buffer to read it through.
pub struct BraidTable {
    version: Arc<TableVersion>,
    buffer: Arc<BufferManager>,
    settings: ScanSettings,
    schema: SchemaRef,
}

impl BraidTable {
    /// A provider of `version` with the default settings.
    pub fn new(version: Arc<TableVersion>, buffer: Arc<BufferManager>) -> Self {
        Self::with_settings(version, buffer, ScanSettings::default())
    }

    /// A provider of `version` whose scans follow `settings`.
    pub fn with_settings(version: Arc<TableVersion>, buffer: Arc<BufferManager>, settings: ScanSettings) -> Self {
        let schema = version.def.arrow_schema();
        Self { version, buffer, settings, schema }
    }

    fn scan_exec(&self, state: &dyn Session, spec: ScanSpec) -> Arc<dyn ExecutionPlan> {
        let partitions = if self.settings.in_order { 1 } else { state.config().target_partitions() };
        let (version, buffer) = (self.version.clone(), self.buffer.clone());
        Arc::new(BraidScanExec::new(version, buffer, spec, partitions, self.settings.dynamic_filters))
    }

    /// A scan with `filters`, which have no translation, on top.
    ///
    /// Such filters come although the provider refuses them: the optimiser rewrites a filter after it was accepted.
    fn filtered_scan(
        &self,
        state: &dyn Session,
        mut spec: ScanSpec,
        filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let filter = conjunction(filters).expect("the caller has filters");
        let mut projection = spec.projection.clone();
        for column in filter.column_refs() {
            let (id, _) = self.version.def.column(&column.name).ok_or_else(|| unknown_column(&column.name))?;
            if !projection.contains(&id) {
                projection.push(id);
            }
        }
        let wanted = (0..spec.projection.len()).collect();
        spec.projection = projection;
        // The filter would need more rows than the limit; the limit's own operator is still above.
        spec.limit = None;
        let schema = spec.schema(&self.version.def).to_dfschema()?;
        let predicate = state.create_physical_expr(strip_qualifiers(filter)?, &schema)?;
        let filter = FilterExecBuilder::new(predicate, self.scan_exec(state, spec)).apply_projection(Some(wanted))?;
        Ok(Arc::new(filter.build()?))
    }

    /// The version that is shown.
    pub fn version(&self) -> &Arc<TableVersion> {
        &self.version
    }

    /// The buffer that it is read through.
    pub fn buffer(&self) -> &Arc<BufferManager> {
        &self.buffer
    }

    /// What its scans follow.
    pub fn settings(&self) -> ScanSettings {
        self.settings
    }
}

impl fmt::Debug for BraidTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BraidTable")
            .field("table", &self.version.def.name)
            .field("sequence", &self.version.sequence)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for BraidTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.version.def.columns.len()).collect();
        let projection = projection.cloned().unwrap_or_else(all);
        let (predicates, kept) = split_filters(filters, &self.version.def);
        let spec = ScanSpec {
            predicates,
            limit: limit.map(|limit| limit as u64),
            in_order: self.settings.in_order,
            batch_rows: state.config().batch_size(),
            ..ScanSpec::new(projection.into_iter().map(|column| ColumnId(column as u16)).collect())
        };
        if kept.is_empty() {
            return Ok(self.scan_exec(state, spec));
        }
        self.filtered_scan(state, spec, kept)
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let supports = |filter: &&Expr| match translate_filter(filter, &self.version.def) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(supports).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        let columns: Vec<ColumnId> = (0..self.version.def.columns.len()).map(|at| ColumnId(at as u16)).collect();
        let chunks: Vec<usize> = (0..self.version.chunks.len()).collect();
        Some(table_statistics(&self.version, &columns, &chunks, &[]))
    }
}

/// Filters that have a translation for encoded data, as predicates, and those that have none.
pub(crate) fn split_filters(filters: &[Expr], def: &TableDef) -> (Vec<(ColumnId, ColumnPredicate)>, Vec<Expr>) {
    let (mut predicates, mut kept) = (Vec::new(), Vec::new());
    for filter in filters {
        match translate_filter(filter, def) {
            Some((column, predicate)) => add_predicate(&mut predicates, column, predicate),
            None => kept.push(filter.clone()),
        }
    }
    (predicates, kept)
}

/// `filter` with its columns named as in the table alone, not by the name the query gives the table.
fn strip_qualifiers(filter: Expr) -> Result<Expr> {
    let strip = |expr: Expr| {
        Ok(match expr {
            Expr::Column(column) => Transformed::yes(Expr::Column(Column::new_unqualified(column.name))),
            other => Transformed::no(other),
        })
    };
    filter.transform(strip).map(|filter| filter.data)
}

fn unknown_column(name: &str) -> DataFusionError {
    DataFusionError::Internal(format!("a pushed filter names column \"{name}\", which the table does not have"))
}

/// ANDs a predicate to a conjunction, into the one on its column where the two make one: a range is evaluated in one
/// pass, and estimated better, than two half-open ones.
fn add_predicate(predicates: &mut Vec<(ColumnId, ColumnPredicate)>, column: ColumnId, predicate: ColumnPredicate) {
    for (other, held) in predicates.iter_mut() {
        if *other == column
            && let Some(both) = intersect(held, &predicate)
        {
            *held = both;
            return;
        }
    }
    predicates.push((column, predicate));
}
