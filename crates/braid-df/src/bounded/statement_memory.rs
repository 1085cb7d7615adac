//! What functions know of the statement that calls them: its memory, and whether it still runs.
//!
//! It travels as an extension of the configuration, which DataFusion hands to every call of a function.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use braid_exec::ExecError;
use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

/// One statement's memory. Without a statement nothing is counted.
#[derive(Clone, Default)]
pub struct StatementMemory(Option<Arc<Shared>>);

struct Shared {
    pool: Arc<dyn MemoryPool>,
    /// What constants of the plan take that functions made.
    constants: MemoryReservation,
    is_folding: AtomicBool,
    is_stopped: AtomicBool,
}

impl StatementMemory {
    /// Of a statement that is about to be planned.
    pub fn new(pool: Arc<dyn MemoryPool>) -> Self {
        let (is_folding, is_stopped) = (AtomicBool::new(true), AtomicBool::new(false));
        let constants = MemoryConsumer::new("constants").register(&pool);
        Self(Some(Arc::new(Shared { pool, constants, is_folding, is_stopped })))
    }

    /// Of the statement that a configuration belongs to.
    pub fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// Whether functions are called to replace constants in a logical plan. What fails then stays in the plan, and is
    /// called again when the statement runs.
    pub fn is_folding(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.is_folding.load(Ordering::Relaxed))
    }

    /// Counts a constant that becomes part of the plan, until the statement ends.
    ///
    /// # Errors
    /// When the statement may not have so much.
    pub(super) fn hold_constant(&self, bytes: usize) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |shared| shared.constants.try_grow(bytes))
    }

    /// The logical plan is ready.
    pub fn end_folding(&self) {
        if let Some(shared) = &self.0 {
            shared.is_folding.store(false, Ordering::Relaxed);
        }
    }

    /// The rows are not wanted any more: further calls fail. Called when their stream is dropped, since a thread that
    /// computes at that moment cannot be interrupted.
    pub fn stop(&self) {
        if let Some(shared) = &self.0 {
            shared.is_stopped.store(true, Ordering::Relaxed);
        }
    }

    /// # Errors
    /// When the statement was stopped.
    pub(super) fn check_wanted(&self) -> Result<()> {
        match &self.0 {
            Some(shared) if shared.is_stopped.load(Ordering::Relaxed) => {
                Err(DataFusionError::External(Box::new(ExecError::Cancelled)))
            }
            _ => Ok(()),
        }
    }

    /// Reserves memory for the result of the function called `name`; nothing where nothing is counted.
    ///
    /// # Errors
    /// When the statement may not have so much.
    pub(super) fn reserve(&self, name: &str, bytes: usize) -> Result<Option<MemoryReservation>> {
        let Some(shared) = &self.0 else { return Ok(None) };
        let reservation = MemoryConsumer::new(format!("function {name}")).register(&shared.pool);
        reservation.try_grow(bytes)?;
        Ok(Some(reservation))
    }
}

impl fmt::Debug for StatementMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementMemory").field("is_counted", &self.0.is_some()).finish_non_exhaustive()
    }
}

impl ConfigExtension for StatementMemory {
    const PREFIX: &'static str = "braid_statement_memory";
}

impl ExtensionOptions for StatementMemory {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _: &str) -> Result<()> {
        Err(DataFusionError::Configuration(format!("{key} is not for users to set")))
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}
