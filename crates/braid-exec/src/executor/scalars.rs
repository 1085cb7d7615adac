//! Scalar subqueries: each is computed before the plan that reads its value.
//!
//! PostgreSQL computes such a subquery when its value is first asked for. One that fails therefore fails the query only where a row reads
//! its value; until then the error is kept. Errors that do not come of the values of rows, as those of memory, end the query at once, and so
//! does a numeric that is too wide for the plan, because the query is planned again before it has returned a row.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use braid_storage::Scalar;
use parking_lot::Mutex;

use super::Executor;
use super::reordering::Reorderings;
use super::rows::Rows;
use super::side_swap::Swaps;
use super::wanted::Wanted;
use crate::expression::ForeignExpression;
use crate::plan::{Plan, SortSpec};
use crate::runtime::stop::Stop;
use crate::sorting::SortWorker;
use crate::{ExecError, Expression};

/// The error of a subquery, which each row that reads its value raises.
#[derive(Clone, Debug)]
struct SubqueryError(Arc<ExecError>);

impl Executor {
    /// A plan, with its scalar subqueries before it.
    pub(super) async fn with_scalars(&self, subqueries: &[Plan], input: &Plan, wanted: Wanted) -> Result<Rows, Stop> {
        let bound = input.bind_subquery_values(&self.scalars(subqueries).await?);
        self.rows(&bound, wanted).await
    }

    /// What stands for the values of scalar subqueries.
    pub(super) async fn scalars(&self, subqueries: &[Plan]) -> Result<Vec<Expression>, Stop> {
        let mut values = Vec::with_capacity(subqueries.len());
        for subquery in subqueries {
            values.push(self.scalar_or_error(subquery).await?);
        }
        Ok(values)
    }

    /// What stands for the value of a scalar subquery.
    pub(super) async fn scalar_or_error(&self, subquery: &Plan) -> Result<Expression, Stop> {
        match self.part().scalar(subquery).await {
            Ok(value) => Ok(Expression::Constant(value)),
            Err(Stop::Failed(error)) if is_of_values(&error) => {
                let function = Arc::new(SubqueryError(Arc::new(error)));
                Ok(Expression::Foreign { function, arguments: Vec::new() })
            }
            Err(stop) => Err(stop),
        }
    }

    /// A run of a part of the plan, whose end with an error does not stop this one.
    fn part(&self) -> Self {
        Self {
            worker_count: self.worker_count,
            budget: self.budget.clone(),
            spill: self.spill.clone(),
            cancelled: self.cancelled.of_part(),
            swaps: Swaps::default(),
            reorderings: Reorderings::default(),
            tuning: self.tuning,
            // A common table around it whose making fails is made anew by its next scan.
            scope: Mutex::new(self.scope.lock().clone()),
        }
    }

    /// The value of a scalar subquery.
    async fn scalar(&self, plan: &Plan) -> Result<Option<Scalar>, Stop> {
        // Two rows are enough to detect several.
        let rows = self.limit(plan, 0, Some(2), Wanted::columns(vec![true])).await?;
        let no_order = Arc::new(SortSpec { keys: Vec::new(), limit: None });
        let workers = self.drain(rows, || SortWorker::new(no_order.clone(), self.budget.clone())).await?;
        let found = SortWorker::finish(workers, 1)?;
        match found.row_count() {
            0 => Ok(None),
            1 => Ok(found.columns()[0].value(0)),
            _ => Err(ExecError::SeveralRows.into()),
        }
    }
}

/// Whether an error is kept until a row reads the value.
fn is_of_values(error: &ExecError) -> bool {
    error.is_of_evaluation()
        && !matches!(error, ExecError::BatchTooLong | ExecError::OutOfRange { type_name: "numeric" })
}

impl ForeignExpression for SubqueryError {
    fn evaluate(&self, _: &[ArrayRef], row_count: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        match (row_count, &*self.0) {
            (0, _) => Ok(Arc::new(BooleanArray::new_null(0))),
            (_, ExecError::OutOfRange { type_name }) => Err(Box::new(ExecError::OutOfRange { type_name })),
            (_, ExecError::DivisionByZero) => Err(Box::new(ExecError::DivisionByZero)),
            (_, ExecError::SeveralRows) => Err(Box::new(ExecError::SeveralRows)),
            // Several workers may raise it.
            _ => Err(Box::new(self.clone())),
        }
    }
}

impl Error for SubqueryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

impl fmt::Display for SubqueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
