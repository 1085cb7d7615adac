//! Opening a database: its parts, and above them what the store asks: the keys of indexes, which are SQL, and how sessions wait.

use std::sync::Arc;

use braid_io::{Device, durable, open_device};
use futures::future::BoxFuture;

use crate::automatic_compaction::compact_when_worn;
use crate::table::index_keys::IndexKeys;
use crate::{Config, Database, EngineError};

impl Database {
    /// Opens the data directory, creating it if it is missing. Call inside a Tokio runtime; statements at the limits of size
    /// need threads with stacks of [`crate::RUNTIME_STACK_BYTES`].
    ///
    /// # Errors
    /// 55006 when another process has it open, XX001 when its manifest is damaged, 58030 for errors of the disk, 53000 when no threads can be
    /// started.
    pub fn open(config: Config) -> BoxFuture<'static, Result<Arc<Self>, EngineError>> {
        Box::pin(async move {
            durable::create_dir_all(&config.data_dir)?;
            let device = open_device(&config.data_dir, &config.device)?;
            Self::open_on(device, config).await
        })
    }

    /// [`Self::open`] on a device that is open already. The data directory must exist.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_on(device: Arc<dyn Device>, config: Config) -> BoxFuture<'static, Result<Arc<Self>, EngineError>> {
        Box::pin(async move {
            let database = Self::assemble(device, config)?;
            database.store().set_key_evaluator(Arc::new(IndexKeys::of(&database)));
            database.store().set_other_waits(database.locks().clone());
            compact_when_worn(&database);
            Ok(database)
        })
    }
}
