//! Sinks that collect rows, that stop the pipeline, that are not always ready, and that fail.

use futures::future::BoxFuture;

use super::*;
use crate::query_sets::set_calculator::sets_of;
use crate::runtime::stop::Stop;
use crate::values::vector::Values;
use crate::{Batch, Vector};

/// Collects the numbers and the sets of rows.
pub struct Numbers {
    number: usize,
    set: Option<usize>,
    pub numbers: Vec<usize>,
    pub sets: Vec<SetNumber>,
    pub last_vector: Option<Arc<Vector>>,
}

impl Numbers {
    /// A sink that reads numbers and sets from these columns.
    pub fn new(number: usize, set: Option<usize>) -> Self {
        Self { number, set, numbers: Vec::new(), sets: Vec::new(), last_vector: None }
    }
}

impl Sink for Numbers {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        assert!(batch.row_count() > 0, "batches that are passed on have rows");
        let vector = batch.column(self.number);
        let Values::Int(numbers) = vector.values() else { panic!("{vector:?} are no numbers") };
        self.numbers.extend(numbers.iter().map(|number| *number as usize));
        if let Some(set) = self.set {
            self.sets.extend(sets_of(&batch.column(set)));
        }
        self.last_vector = Some(vector);
        Ok(())
    }
}

/// Stops the pipeline with the batch that fills it to its capacity.
pub struct Satisfied {
    pub inner: Numbers,
    capacity: usize,
}

impl Satisfied {
    pub fn new(inner: Numbers, capacity: usize) -> Self {
        Self { inner, capacity }
    }
}

impl Sink for Satisfied {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        // All workers' sinks are enough on their own.
        assert!(self.inner.numbers.len() < self.capacity, "it had enough");
        self.inner.consume(batch)?;
        if self.inner.numbers.len() < self.capacity { Ok(()) } else { Err(Stop::Enough) }
    }
}

/// Is not ready after each batch, until it is awaited.
pub struct Slow<S> {
    pub inner: S,
    is_ready: bool,
}

impl<S> Slow<S> {
    pub fn new(inner: S) -> Self {
        Self { inner, is_ready: true }
    }
}

impl<S: Sink> Sink for Slow<S> {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        assert!(self.is_ready, "it was waited for");
        self.is_ready = false;
        self.inner.consume(batch)
    }

    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        assert!(!self.is_ready, "it need not be waited for");
        Box::pin(async {
            tokio::task::yield_now().await;
            self.is_ready = true;
            Ok(())
        })
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }
}

/// Accepts all rows, or fails at the first batch.
pub struct Failing {
    pub is_failing: bool,
}

impl Sink for Failing {
    fn consume(&mut self, _: Batch) -> Result<(), Stop> {
        if self.is_failing { Err(ExecError::DivisionByZero.into()) } else { Ok(()) }
    }
}
