//! RETURNING of a statement that runs.
//!
//! The changed rows are collected while they are found, and the list is computed over them before the statement's changes are kept: an
//! error of the list is the statement's. Its rows wait for the client, in memory within a bound and then in a temporary file, so that the
//! statement is complete whether the client takes them or not.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use futures::StreamExt;

use super::operator_query::{QuerySource, alone, outcome, plan_returning, start_alone};
use super::returning::{ReturnedPlan, ReturningList};
use crate::bound_parameters::BoundParameters;
use crate::interrupt::Interrupt;
use crate::rows::{KeptRows, KeptTable, RowKeeper};
use crate::sent_columns::ShownColumns;
use crate::sharing::AlonePlan;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, Statement};

/// RETURNING, while the changed rows are collected.
pub(crate) struct ReturnedQuery {
    plan: AlonePlan,
    shown: ShownColumns,
    table: Arc<KeptTable>,
    changed: RowKeeper,
}

/// The rows of RETURNING.
pub(crate) struct ReturnedRows {
    rows: KeptRows,
    shown: ShownColumns,
}

impl ReturnedQuery {
    /// RETURNING of a statement that was planned.
    pub(super) fn new(context: &StatementContext, planned: ReturnedPlan) -> Self {
        let ReturnedPlan { query, table } = planned;
        let (plan, shown) = alone(context, &query);
        let changed = keeper(context, table.schema());
        Self { plan, shown, table, changed }
    }

    /// RETURNING of a statement whose rows are found without a plan.
    pub async fn planned(
        context: &StatementContext,
        statement: &Statement,
        list: &Arc<ReturningList>,
        parameters: &BoundParameters,
    ) -> Result<Self, EngineError> {
        let source = QuerySource::of_list(statement, list);
        let planned = plan_returning(context, statement, source, parameters).await?;
        planned
            .map(|planned| Self::new(context, planned))
            .ok_or_else(|| EngineError::internal("RETURNING is not planned"))
    }

    /// Adds rows as the table stores them, with the columns of other relations that the list reads.
    pub async fn add(&mut self, stored: &RecordBatch, others: &[ArrayRef]) -> Result<(), EngineError> {
        let columns: Vec<ArrayRef> = stored.columns().iter().chain(others).cloned().collect();
        Ok(self.changed.add(&columns, stored.num_rows()).await?)
    }

    /// Computes the list for all rows.
    pub async fn run(self, context: &StatementContext) -> Result<ReturnedRows, EngineError> {
        let Self { plan, shown, table, changed } = self;
        table.fill(changed.finish().await?);
        let mut kept = keeper(context, shown.made.clone());
        let mut rows = start_alone(context, &plan);
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            kept.add(batch.columns(), batch.num_rows()).await?;
        }
        Ok(ReturnedRows { rows: kept.finish().await?, shown })
    }
}

impl ReturnedRows {
    /// The rows as those of the statement, whose tag is `tag` with their number.
    pub fn outcome(self, context: &StatementContext, interrupt: &Interrupt, tag: &'static str) -> Outcome {
        outcome(context, self.rows.into_stream(), self.shown, interrupt, tag)
    }
}

fn keeper(context: &StatementContext, schema: SchemaRef) -> RowKeeper {
    let database = context.database();
    RowKeeper::new(schema, database.query_memory(&context.settings()), database.spill_space().clone())
}
