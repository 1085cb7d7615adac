//! Sources of rows that no table has: constants, and set-returning functions.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::ArrayRef;
use braid_exec::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use braid_exec::{Batch, ExecError, Vector};
use braid_sql::expression::SetCall;
use braid_sql::functions::{Call, Rows};
use braid_sql::pg_catalog::TypeId;
use braid_sql::{SqlError, SqlState, Value};
use futures::future::BoxFuture;

use super::Session;
use crate::values::Form;
use crate::values::arrays::ArrayBuilder;

/// Rows of a batch.
const BATCH_ROWS: usize = 1024;

/// Rows of constants.
#[derive(Debug)]
pub(super) struct ConstantRows {
    batches: Arc<Vec<Batch>>,
    row_count: usize,
}

impl ConstantRows {
    /// Rows whose columns have these forms.
    pub fn new(forms: &[Form], rows: &[Vec<Value>]) -> Result<Self, SqlError> {
        let batches = rows.chunks(BATCH_ROWS).map(|rows| batch(forms, rows)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { batches: Arc::new(batches), row_count: rows.len() })
    }
}

impl Source for ConstantRows {
    fn worker_count_max(&self) -> usize {
        1
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(Started::new({
            let batches = self.batches.clone();
            move || {
                let mut next = 0;
                let batches = batches.clone();
                Box::new(move || {
                    next += 1;
                    Ok(batches.get(next - 1).cloned())
                }) as NextBatch
            }
        }))
    }

    fn describe(&self) -> String {
        format!("{} constant rows", self.row_count)
    }

    fn row_count_max(&self) -> Option<u64> {
        Some(self.row_count as u64)
    }
}

/// Rows of set-returning functions, side by side: as many as the longest has.
#[derive(Debug)]
pub(super) struct SetRows {
    call: Arc<Calls>,
}

#[derive(Debug)]
struct Calls {
    calls: Vec<(SetCall, Vec<Value>)>,
    with_ordinality: bool,
    forms: Vec<Form>,
    session: Arc<dyn Session>,
}

impl SetRows {
    pub fn new(
        calls: Vec<(SetCall, Vec<Value>)>,
        with_ordinality: bool,
        ids: Vec<TypeId>,
        session: Arc<dyn Session>,
    ) -> Self {
        let forms = ids.into_iter().map(Form::of).collect();
        Self { call: Arc::new(Calls { calls, with_ordinality, forms, session }) }
    }
}

impl Source for SetRows {
    fn worker_count_max(&self) -> usize {
        1
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        let call = self.call.clone();
        Arc::new(Started::new(move || {
            let mut rows = RunningCalls { calls: call.clone(), rows: None, number: 0 };
            Box::new(move || rows.next_batch().map_err(|error| ExecError::Foreign(Box::new(error)))) as NextBatch
        }))
    }

    fn describe(&self) -> String {
        let names = self.call.calls.iter().map(|(call, _)| format!("{:?}", call.function));
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Calls whose rows are taken. They start with the first batch.
struct RunningCalls {
    calls: Arc<Calls>,
    rows: Option<Vec<Option<Rows>>>,
    number: i64,
}

impl RunningCalls {
    fn next_batch(&mut self) -> Result<Option<Batch>, SqlError> {
        let mut rows = Vec::new();
        while rows.len() < BATCH_ROWS {
            match self.next_row()? {
                Some(row) => rows.push(row),
                None => break,
            }
        }
        if rows.is_empty() { Ok(None) } else { batch(&self.calls.forms, &rows).map(Some) }
    }

    fn next_row(&mut self) -> Result<Option<Vec<Value>>, SqlError> {
        let calls = self.calls.clone();
        if self.rows.is_none() {
            let started = calls.calls.iter().map(|(call, arguments)| start(call, arguments, &*calls.session));
            self.rows = Some(started.collect::<Result<_, _>>()?);
        }
        let (mut row, mut is_any) = (Vec::new(), false);
        for ((call, _), rows) in calls.calls.iter().zip(self.rows.iter_mut().flatten()) {
            match rows.as_mut().and_then(Iterator::next).transpose()? {
                Some(values) => {
                    is_any = true;
                    row.extend(values);
                }
                None => {
                    *rows = None;
                    row.extend(call.columns.iter().map(|_| Value::Null));
                }
            }
        }
        if !is_any {
            return Ok(None);
        }
        self.number += 1;
        if calls.with_ordinality {
            row.push(Value::Int8(self.number));
        }
        Ok(Some(row))
    }
}

/// The rows of a call; none for a null argument of a strict function.
fn start(call: &SetCall, arguments: &[Value], session: &dyn Session) -> Result<Option<Rows>, SqlError> {
    if call.is_strict && arguments.iter().any(Value::is_null) {
        return Ok(None);
    }
    let context = Call { session, argument_types: &call.argument_types, result_type: call.row_type };
    call.function.rows(arguments, &context).map(Some)
}

/// The next rows of a source.
type NextBatch = Box<dyn FnMut() -> Result<Option<Batch>, ExecError> + Send>;

/// A source whose rows go to the first feed.
struct Started<F> {
    open: F,
    is_taken: AtomicBool,
}

impl<F: Fn() -> NextBatch + Send + Sync> Started<F> {
    fn new(open: F) -> Self {
        Self { open, is_taken: AtomicBool::new(false) }
    }
}

impl<F: Fn() -> NextBatch + Send + Sync> StartedSource for Started<F> {
    fn feed(&self) -> Box<dyn Feed> {
        let is_first = !self.is_taken.swap(true, Ordering::Relaxed);
        Box::new(OneFeed { batches: is_first.then(|| (self.open)()) })
    }
}

/// All rows are one morsel.
struct OneFeed {
    batches: Option<NextBatch>,
}

impl Feed for OneFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let morsel = self.batches.take().map(|batches| Box::new(Batches(batches)) as Box<dyn Morsel>);
        Box::pin(std::future::ready(Ok(morsel)))
    }
}

struct Batches(NextBatch);

impl Morsel for Batches {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        (self.0)()
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Batches")
    }
}

/// Rows as a batch.
fn batch(forms: &[Form], rows: &[Vec<Value>]) -> Result<Batch, SqlError> {
    let columns = forms.iter().enumerate().map(|(at, form)| {
        let mut builder = ArrayBuilder::new(*form);
        for row in rows {
            builder.add(&row[at])?;
        }
        let array: ArrayRef = builder.finish();
        let vector = Vector::from_array(&array).ok_or_else(|| {
            SqlError::new(SqlState::InternalError, format!("an array of {} is no vector", array.data_type()))
        })?;
        Ok(Arc::new(vector))
    });
    let columns = columns.collect::<Result<Vec<_>, SqlError>>()?;
    Ok(Batch::of_vectors(rows.len(), columns))
}
