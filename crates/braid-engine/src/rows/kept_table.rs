//! Rows that one part of a statement makes, as a table that another part reads.
//!
//! The reader is planned first: a plan needs only what the columns hold. The rows are put in before it runs. One worker reads them, so
//! that they stay in their order.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use braid_base::VECTOR_ROWS;
use braid_exec::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use braid_exec::{Batch, ExecError, Vector};
use braid_plan::values::Form;
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::Rows;
use super::kept_rows::KeptRows;

/// A table of rows that are kept.
#[derive(Debug)]
pub(crate) struct KeptTable {
    forms: Vec<Form>,
    rows: OnceLock<KeptRows>,
}

impl KeptTable {
    /// A table without its rows, whose columns hold these.
    pub fn new(forms: Vec<Form>) -> Arc<Self> {
        Arc::new(Self { forms, rows: OnceLock::new() })
    }

    /// What its columns hold.
    pub fn forms(&self) -> &[Form] {
        &self.forms
    }

    /// Its columns as arrays.
    pub fn schema(&self) -> SchemaRef {
        let field = |(at, form): (usize, &Form)| Field::new(format!("c{at}"), form.data_type(), true);
        Arc::new(Schema::new(self.forms.iter().enumerate().map(field).collect::<Vec<_>>()))
    }

    /// Puts the rows in, once.
    pub fn fill(&self, rows: KeptRows) {
        assert!(self.rows.set(rows).is_ok(), "a table is filled once");
    }

    /// Some of its columns as a source of rows.
    pub fn source(self: &Arc<Self>, positions: &[usize]) -> Arc<dyn Source> {
        Arc::new(KeptSource { table: self.clone(), positions: positions.to_vec() })
    }
}

#[derive(Debug)]
struct KeptSource {
    table: Arc<KeptTable>,
    positions: Vec<usize>,
}

impl Source for KeptSource {
    fn worker_count_max(&self) -> usize {
        1
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        let rows = self.table.rows.get().expect("a table is filled before it is read").clone();
        Arc::new(Started { rows: Mutex::new(Some(rows.into_stream())), positions: self.positions.clone() })
    }

    fn describe(&self) -> String {
        "kept rows".to_owned()
    }
}

/// Rows that go to the first feed.
struct Started {
    rows: Mutex<Option<Rows>>,
    positions: Vec<usize>,
}

impl StartedSource for Started {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(KeptFeed { rows: self.rows.lock().take(), positions: self.positions.clone() })
    }
}

struct KeptFeed {
    rows: Option<Rows>,
    positions: Vec<usize>,
}

impl Feed for KeptFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            let Some(rows) = &mut self.rows else { return Ok(None) };
            let Some(batch) = rows.next().await.transpose()? else { return Ok(None) };
            let morsel = KeptMorsel { batch, positions: &self.positions, next: 0 };
            Ok(Some(Box::new(morsel) as Box<dyn Morsel>))
        })
    }
}

/// A batch, cut into vectors.
struct KeptMorsel<'a> {
    batch: RecordBatch,
    positions: &'a [usize],
    next: usize,
}

impl Morsel for KeptMorsel<'_> {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        let row_count = (self.batch.num_rows() - self.next).min(VECTOR_ROWS);
        let cut = self.batch.slice(self.next, row_count);
        self.next += row_count;
        let vectors = self.positions.iter().map(|at| {
            let vector = Vector::from_array(cut.column(*at)).expect("kept arrays are made of vectors");
            Arc::new(vector)
        });
        Ok((row_count > 0).then(|| Batch::of_vectors(row_count, vectors)))
    }
}

impl fmt::Debug for KeptMorsel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptMorsel").field("next", &self.next).finish_non_exhaustive()
    }
}
