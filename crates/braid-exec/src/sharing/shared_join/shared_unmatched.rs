//! The rows that a shared join returns after the probe: build rows for the queries for which they have no partner, or for a
//! semi join, have one.
//!
//! Several workers share the rows; each takes one part at a time.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use braid_base::VECTOR_ROWS;
use futures::future::BoxFuture;

use crate::plan::JoinKind;
use crate::query_sets::set_calculator::SetCalculator;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::sharing::shared_join::SharedTable;
use crate::{Batch, ExecError, SetNumber};

/// Rows of a part, enough to make the cost of taking a part negligible.
const PART_ROWS: u32 = 16 * VECTOR_ROWS as u32;

/// The source of these rows. It is empty for kinds that return no build rows.
pub(crate) struct SharedUnmatched(Arc<SharedTable>);

impl SharedUnmatched {
    /// The source of a table. The probe must end before the source starts.
    pub(crate) fn new(shared: Arc<SharedTable>) -> Self {
        Self(shared)
    }
}

impl fmt::Debug for SharedUnmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for SharedUnmatched {
    fn worker_count_max(&self) -> usize {
        self.0.row_count().div_ceil(PART_ROWS) as usize
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(Started { shared: self.0.clone(), next_part: Arc::new(AtomicU32::new(0)) })
    }

    fn describe(&self) -> String {
        "rows of the build side".to_owned()
    }
}

struct Started {
    shared: Arc<SharedTable>,
    next_part: Arc<AtomicU32>,
}

impl StartedSource for Started {
    fn feed(&self) -> Box<dyn Feed> {
        let calculator = SetCalculator::new(self.shared.store.clone());
        Box::new(Parts { shared: self.shared.clone(), next_part: self.next_part.clone(), calculator })
    }
}

struct Parts {
    shared: Arc<SharedTable>,
    next_part: Arc<AtomicU32>,
    calculator: SetCalculator,
}

impl Feed for Parts {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let row_count = self.shared.row_count();
        let part = self.next_part.fetch_add(1, Ordering::Relaxed);
        // Each worker takes one part after the end, so that the counter cannot overflow.
        let first = part.saturating_mul(PART_ROWS).min(row_count);
        let rows = first..first.saturating_add(PART_ROWS).min(row_count);
        let morsel = (!rows.is_empty()).then(|| {
            Box::new(Part { shared: &self.shared, calculator: &mut self.calculator, rows }) as Box<dyn Morsel + '_>
        });
        Box::pin(std::future::ready(Ok(morsel)))
    }
}

struct Part<'a> {
    shared: &'a Arc<SharedTable>,
    calculator: &'a mut SetCalculator,
    rows: Range<u32>,
}

impl Morsel for Part<'_> {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        let Self { shared, calculator, rows } = self;
        let (build_sets, wants_paired) = (shared.build_sets(), shared.layout.kind == JoinKind::BuildSemi);
        let (mut found, mut sets) = (Vec::new(), Vec::new());
        for row in rows {
            let waiting = shared.waiting(row);
            let set = if wants_paired { calculator.subtract(build_sets.get(row), waiting)? } else { waiting };
            if set != SetNumber::EMPTY {
                found.push(row);
                sets.push(set);
            }
            if found.len() == VECTOR_ROWS {
                break;
            }
        }
        if found.is_empty() {
            return Ok(None);
        }
        let batch = shared.layout.join_nothing(shared.table.clone(), found);
        Ok(Some(shared.layout.finish(batch, &sets, None)))
    }
}
