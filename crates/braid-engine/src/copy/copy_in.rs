//! COPY FROM STDIN: bytes from a client into rows of a table.

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::CopyTarget;
use super::record_load::RecordLoad;
use crate::access::told;
use crate::interrupt::Interrupt;
use crate::outcome::{CopiedFile, CopySink};
use crate::statement::{CopyFormat, CopyOptions};
use crate::statement_context::StatementContext;
use crate::{EngineError, dml};

/// A COPY FROM STDIN.
pub(super) struct StdinLoad {
    context: StatementContext,
    load: RecordLoad,
    is_binary: bool,
    interrupt: Interrupt,
    _running: TaskTrackerToken,
}

impl StdinLoad {
    pub fn new(
        context: &StatementContext,
        target: CopyTarget,
        options: &CopyOptions,
        interrupt: Interrupt,
        running: TaskTrackerToken,
    ) -> Self {
        let (load, is_binary) = (RecordLoad::new(target, options, None), options.format == CopyFormat::Binary);
        Self { context: context.clone(), load, is_binary, interrupt, _running: running }
    }
}

impl CopySink for StdinLoad {
    fn column_count(&self) -> usize {
        self.load.column_count()
    }

    fn is_binary(&self) -> bool {
        self.is_binary
    }

    fn describe(&mut self, file: CopiedFile) {
        self.load.describe(file);
    }

    fn data(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            let taken = self.interrupt.run(self.load.take(&bytes)).await;
            let taken = taken.map(drop).map_err(|error| told(&self.context, error));
            taken.inspect_err(|_| self.context.fail_transaction())
        })
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<u64, EngineError>> {
        Box::pin(async move {
            let Self { context, load, interrupt, _running, .. } = *self;
            let complete = async { dml::add_rows(&context, load.complete().await?).await };
            let completed = interrupt.run(complete).await.map_err(|error| told(&context, error));
            completed.inspect_err(|_| context.fail_transaction())
        })
    }
}
