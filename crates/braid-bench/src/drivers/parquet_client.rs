//! DataFusion over Parquet files as a client: what Braid is compared with in the same process and the same run.
//!
//! DataFusion as its users run it: its defaults, its own Parquet reader, one partition per core. Only literals are read
//! as numerics, as in Braid, so that both compute the same answers.

use std::path::{Path, PathBuf};

use datafusion::common::DataFusionError;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::future::BoxFuture;

use crate::BenchError;
use crate::drivers::client::Client;
use crate::workloads::answer::Answer;

/// A DataFusion session in which every Parquet file of a directory is a table.
pub struct ParquetClient {
    context: SessionContext,
}

impl ParquetClient {
    /// A session in which every `NAME.parquet` of `directory` is the table `NAME`, with as many partitions as Braid's
    /// plans have.
    pub async fn open(directory: &Path, target_partitions: usize) -> Result<Self, BenchError> {
        let mut config = SessionConfig::new().with_target_partitions(target_partitions);
        config.options_mut().sql_parser.parse_float_as_decimal = true;
        let context = SessionContext::new_with_config(config);
        let error = |e: DataFusionError| BenchError::other(format!("opening {}", directory.display()), e);
        for file in parquet_files(directory)? {
            let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            let path = file.to_string_lossy().into_owned();
            context.register_parquet(name, path, ParquetReadOptions::default()).await.map_err(error)?;
        }
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

fn parquet_files(directory: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let error = |source| BenchError::File { path: directory.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
