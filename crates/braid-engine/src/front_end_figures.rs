//! How many queries and stored expressions Braid's own front end has bound, and how many it has left to the other planner. System view `braid_front_end`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use braid_sql::{SqlError, SqlState};

use crate::catalog::system_views::{FRONT_END_VIEW, SystemView};

/// Counts since the start of the server.
#[derive(Debug, Default)]
pub(crate) struct FrontEndFigures {
    bound: AtomicU64,
    fallen_back: AtomicU64,
}

impl FrontEndFigures {
    /// A statement was run by a template that the front end has planned, or by one of the other planner.
    pub fn note_template(&self, is_own: bool) {
        let count = if is_own { &self.bound } else { &self.fallen_back };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// A statement or expression was bound, or is wrong, or is left to the other planner as unsupported.
    pub fn note<T>(&self, result: &Result<T, SqlError>) {
        let is_unsupported = |error: &SqlError| error.state() == SqlState::FeatureNotSupported;
        let count = if result.as_ref().is_err_and(is_unsupported) { &self.fallen_back } else { &self.bound };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// The view of these figures: one row.
pub(crate) fn front_end_view(figures: &Arc<FrontEndFigures>) -> Arc<dyn SystemView> {
    Arc::new(FrontEndView { figures: figures.clone() })
}

#[derive(Debug)]
struct FrontEndView {
    figures: Arc<FrontEndFigures>,
}

impl SystemView for FrontEndView {
    fn name(&self) -> &'static str {
        FRONT_END_VIEW
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("bound", DataType::Int64, false),
            Field::new("fallen_back", DataType::Int64, false),
        ]))
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let count = |counter: &AtomicU64| -> ArrayRef {
            let count = i64::try_from(counter.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
            Arc::new(Int64Array::from(vec![count]))
        };
        vec![count(&self.figures.bound), count(&self.figures.fallen_back)]
    }
}
