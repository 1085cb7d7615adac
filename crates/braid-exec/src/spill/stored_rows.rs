//! Rows of a partition that left memory, as a source: a block is a morsel, the rows that are still here are the last.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;

use super::{QuerySpill, SpilledRows};
use crate::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::result_rows::{Piece, ResultRows};
use crate::{ExecError, Reservation};

/// Rows of one partition.
pub(crate) struct StoredRowsSource {
    spill: Arc<QuerySpill>,
    rows: Arc<SpilledRows>,
}

impl StoredRowsSource {
    pub(crate) fn new(spill: Arc<QuerySpill>, rows: Arc<SpilledRows>) -> Self {
        Self { spill, rows }
    }
}

impl fmt::Debug for StoredRowsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for StoredRowsSource {
    fn worker_count_max(&self) -> usize {
        self.rows.blocks.len() + 1
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        let (spill, rows) = (self.spill.clone(), self.rows.clone());
        Arc::new(Arc::new(Started { spill, rows, next: AtomicUsize::new(0) }))
    }

    fn describe(&self) -> String {
        "rows from a temporary file".to_owned()
    }
}

struct Started {
    spill: Arc<QuerySpill>,
    rows: Arc<SpilledRows>,
    next: AtomicUsize,
}

impl StartedSource for Arc<Started> {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(self.clone())
    }
}

impl Feed for Arc<Started> {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            let SpilledRows { file, blocks, here, .. } = &*self.rows;
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let rows = match blocks.get(at) {
                None if at == blocks.len() => here.clone(),
                None => return Ok(None),
                Some(place) => {
                    let mut reservation = Reservation::new(self.spill.budget().clone(), "temporary file");
                    // Without a block there would be no way to go on, and so to give memory back.
                    drop(reservation.resize(place.memory_bytes));
                    self.spill.until_written(file).await?;
                    let columns = self.spill.read(file, *place).await?;
                    Arc::new(ResultRows::holding(place.row_count, columns, reservation))
                }
            };
            Ok(Some(Box::new(Piece::of_all(rows)) as Box<dyn Morsel>))
        })
    }
}
