//! One row without columns: what a query without FROM selects from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;

use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::{Batch, ExecError};

/// A source of one row without columns.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleRow;

impl Source for SingleRow {
    fn worker_count_max(&self) -> usize {
        1
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(Started { is_taken: AtomicBool::new(false) })
    }

    fn describe(&self) -> String {
        "one row".to_owned()
    }

    fn row_count_max(&self) -> Option<u64> {
        Some(1)
    }
}

struct Started {
    is_taken: AtomicBool,
}

impl StartedSource for Started {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(Row { is_left: !self.is_taken.swap(true, Ordering::Relaxed) })
    }
}

/// The row, until it is taken: by the first feed.
struct Row {
    is_left: bool,
}

impl Feed for Row {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let row = std::mem::take(&mut self.is_left).then(|| Box::new(Self { is_left: true }) as Box<dyn Morsel>);
        Box::pin(std::future::ready(Ok(row)))
    }
}

impl Morsel for Row {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        Ok(std::mem::take(&mut self.is_left).then(|| Batch::new(1)))
    }
}
