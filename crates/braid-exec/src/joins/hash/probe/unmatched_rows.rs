//! The build rows that are returned after the probe, selected by whether they have a partner.

use std::ops::Range;
use std::sync::Arc;

use braid_base::VECTOR_ROWS;

use crate::joins::hash::JoinTable;
use crate::plan::JoinKind;
use crate::values::batch::Origin;
use crate::{Batch, Vector};

/// Batches of build rows: those without a partner, or for [`JoinKind::BuildSemi`] those with one. [`UnmatchedRows::split`]
/// divides them between workers.
pub struct UnmatchedRows {
    table: Arc<JoinTable>,
    /// Number of null columns of the probe side before the build side's columns.
    probe_column_count: usize,
    /// The range of marks to read.
    marks: Range<usize>,
    /// Rows with null keys, which belong to no group.
    null_key_rows: Range<usize>,
    /// The remaining rows.
    rows: Vec<u32>,
    rows_taken: usize,
}

impl JoinTable {
    /// The rows that the join returns after the probe. With [`JoinKind::BuildOuter`] and [`JoinKind::FullOuter`], the batches have
    /// `probe_column_count` columns of nulls followed by the build side's columns. With [`JoinKind::BuildSemi`] and
    /// [`JoinKind::BuildAnti`], they have only the build side's columns. Other kinds return no rows.
    pub fn unmatched(self: &Arc<Self>, probe_column_count: usize) -> UnmatchedRows {
        let kind = self.spec.kind;
        let by_group = self.lists.is_some() && !self.spec.has_residual;
        let null_key_rows = if by_group && kind.marks_build_rows() && kind != JoinKind::BuildSemi {
            0..self.null_key_rows.len()
        } else {
            0..0
        };
        UnmatchedRows {
            table: self.clone(),
            probe_column_count: if kind.makes_pairs() { probe_column_count } else { 0 },
            marks: 0..self.marks.len(),
            null_key_rows,
            rows: Vec::new(),
            rows_taken: 0,
        }
    }
}

impl UnmatchedRows {
    /// The rows in `count` parts, for as many workers.
    pub fn split(self, count: usize) -> Vec<Self> {
        let part = |range: &Range<usize>, at: usize| {
            let bound = |at: usize| range.start + (range.len() as u64 * at as u64 / count as u64) as usize;
            bound(at)..bound(at + 1)
        };
        let parts = (0..count).map(|at| Self {
            table: self.table.clone(),
            probe_column_count: self.probe_column_count,
            marks: part(&self.marks, at),
            null_key_rows: part(&self.null_key_rows, at),
            rows: Vec::new(),
            rows_taken: 0,
        });
        parts.collect()
    }

    /// Fills `rows` with at least one vector, unless the rows end.
    fn collect_rows(&mut self) {
        let Self { table, marks, null_key_rows, rows, .. } = self;
        let wanted = table.spec.kind == JoinKind::BuildSemi;
        let lists = table.lists.as_ref().filter(|_| !table.spec.has_residual);
        while rows.len() < VECTOR_ROWS {
            let Some(at) = marks.next() else { break };
            if table.is_marked(at as u32) == wanted {
                match lists {
                    None => rows.push(at as u32),
                    Some(lists) => {
                        let (start, end) = lists.range(at as u32);
                        rows.extend_from_slice(&lists.rows()[start as usize..end as usize]);
                    }
                }
            }
        }
        let room = VECTOR_ROWS.saturating_sub(rows.len());
        rows.extend(null_key_rows.by_ref().take(room).map(|at| table.null_key_rows[at]));
    }
}

impl Iterator for UnmatchedRows {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        if self.rows_taken == self.rows.len() {
            self.rows.clear();
            self.rows_taken = 0;
            self.collect_rows();
        }
        let left = &self.rows[self.rows_taken..];
        let rows = left[..left.len().min(VECTOR_ROWS)].to_vec();
        if rows.is_empty() {
            return None;
        }
        self.rows_taken += rows.len();
        let mut batch = Batch::new(rows.len());
        let nulls = Arc::new(Vector::repeat(None, rows.len()));
        (0..self.probe_column_count).for_each(|_| batch.push(nulls.clone()));
        let origin: Arc<dyn Origin> = self.table.clone();
        batch.push_deferred(origin, rows, 0..self.table.spec.build_column_count);
        Some(batch)
    }
}
