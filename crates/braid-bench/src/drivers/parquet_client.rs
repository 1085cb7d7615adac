//! DataFusion over Parquet files as a client: what Braid is compared with in the same process and the same run.

use std::path::Path;

use braid_df::parquet_peer;
use datafusion::prelude::SessionContext;
use futures::future::BoxFuture;

use crate::BenchError;
use crate::drivers::client::Client;
use crate::workloads::answer::Answer;

/// A DataFusion session in which every Parquet file of a directory is a table.
pub struct ParquetClient {
    context: SessionContext,
}

impl ParquetClient {
    /// A session on `directory`, with as many partitions as Braid's plans have.
    pub async fn open(directory: &Path, target_partitions: usize) -> Result<Self, BenchError> {
        let opened = parquet_peer(directory, target_partitions).await;
        let context = opened.map_err(|e| BenchError::other(format!("opening {}", directory.display()), e))?;
        Ok(Self { context })
    }
}

impl Client for ParquetClient {
    fn run<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<u64, BenchError>> {
        Box::pin(async move {
            let error = |e| BenchError::other("DataFusion on Parquet", e);
            let batches = self.context.sql(sql).await.map_err(error)?.collect().await.map_err(error)?;
            Ok(batches.iter().map(|batch| batch.num_rows() as u64).sum())
        })
    }

    fn answer<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<Answer, BenchError>> {
        Box::pin(async move {
            let error = |e| BenchError::other("DataFusion on Parquet", e);
            let batches = self.context.sql(sql).await.map_err(error)?.collect().await.map_err(error)?;
            Answer::from_batches(&batches).map_err(|e| BenchError::other("reading an answer", e))
        })
    }
}
