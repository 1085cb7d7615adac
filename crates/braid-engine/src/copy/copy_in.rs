//! COPY FROM STDIN: bytes from a client into rows of a table.

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::CopyTarget;
use super::record_rows::RecordRows;
use super::record_splitter::RecordSplitter;
use crate::interrupt::Interrupt;
use crate::outcome::CopySink;
use crate::statement::CopyOptions;
use crate::statement_context::StatementContext;
use crate::{EngineError, dml};

/// A COPY FROM STDIN.
pub(super) struct StdinLoad {
    context: StatementContext,
    load: Load,
    interrupt: Interrupt,
    _running: TaskTrackerToken,
}

/// What the data goes through.
struct Load {
    target: CopyTarget,
    splitter: RecordSplitter,
    rows: RecordRows,
}

impl StdinLoad {
    pub fn new(
        context: &StatementContext,
        target: CopyTarget,
        options: &CopyOptions,
        interrupt: Interrupt,
        running: TaskTrackerToken,
    ) -> Self {
        let rows = RecordRows::new(&target.assignment, &target.columns, options, None);
        let load = Load { splitter: RecordSplitter::new(options), rows, target };
        Self { context: context.clone(), load, interrupt, _running: running }
    }
}

impl CopySink for StdinLoad {
    fn column_count(&self) -> usize {
        self.load.target.columns.len()
    }

    fn data(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            let taken = self.interrupt.run(self.load.take(&bytes)).await;
            taken.inspect_err(|_| self.context.fail_transaction())
        })
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<u64, EngineError>> {
        Box::pin(async move {
            let Self { context, load, interrupt, _running } = *self;
            interrupt.run(load.complete(&context)).await.inspect_err(|_| context.fail_transaction())
        })
    }
}

impl Load {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        self.splitter.push(bytes);
        while let Some(record) = self.splitter.next_record()? {
            self.rows.push(record, &self.target.assignment)?;
            if self.rows.is_full()
                && let Some(batch) = self.rows.finish(&self.target.assignment)?
            {
                self.target.appender.append(batch).await?;
            }
        }
        Ok(())
    }

    async fn complete(mut self, context: &StatementContext) -> Result<u64, EngineError> {
        if let Some(record) = self.splitter.last_record()? {
            self.rows.push(record, &self.target.assignment)?;
        }
        if let Some(batch) = self.rows.finish(&self.target.assignment)? {
            self.target.appender.append(batch).await?;
        }
        dml::add_rows(context, self.target.appender).await
    }
}
