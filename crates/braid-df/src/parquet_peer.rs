//! Plain DataFusion over Parquet files: what Braid is compared with in benchmarks.
//!
//! DataFusion as its users run it: its defaults, its own Parquet reader, one partition per core. Only literals are read
//! as numerics, as in Braid, so that both compute the same answers.

use std::path::{Path, PathBuf};

use datafusion::common::{DataFusionError, Result};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::FutureExt;
use futures::future::BoxFuture;

/// A context in which every `NAME.parquet` in `dir` is the table `NAME`.
///
/// # Errors
/// When the directory or a file cannot be read.
pub fn parquet_peer(dir: &Path, target_partitions: usize) -> BoxFuture<'static, Result<SessionContext>> {
    let dir = dir.to_path_buf();
    async move {
        let mut config = SessionConfig::new().with_target_partitions(target_partitions);
        config.options_mut().sql_parser.parse_float_as_decimal = true;
        let context = SessionContext::new_with_config(config);
        for file in parquet_files(&dir)? {
            let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            let path = file.to_string_lossy().into_owned();
            context.register_parquet(name, path, ParquetReadOptions::default()).await?;
        }
        Ok(context)
    }
    .boxed()
}

fn parquet_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let error = |error: std::io::Error| DataFusionError::Context(dir.display().to_string(), Box::new(error.into()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
