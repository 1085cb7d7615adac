//! COPY from a file on the server. Files are read with the rights of the server's process: every user who can connect can
//! load every file that the server can read.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use braid_storage::TableAppender;
use bytes::Bytes;
use futures::StreamExt;
use tokio::sync::mpsc;

use super::CopyTarget;
use super::parquet_file::{ParquetFile, column_sources};
use super::record_load::RecordLoad;
use crate::statement::{CopyFormat, CopyOptions};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState, dml};

/// Bytes per read.
const BLOCK_BYTES: usize = 1 << 20;

/// Maximum number of blocks that wait for the parser.
const BLOCKS_WAITING_MAX: usize = 4;

/// Loads a file into its target. Returns the number of rows.
pub(super) async fn load(
    context: &StatementContext,
    target: CopyTarget,
    path: &str,
    options: &CopyOptions,
) -> Result<u64, EngineError> {
    let path = Path::new(path);
    let filled = match options.format {
        CopyFormat::Parquet => load_parquet(target, path).await,
        _ => load_records(target, path, options).await,
    };
    dml::add_rows(context, filled?).await
}

/// Appends the rows of a file of records.
async fn load_records(target: CopyTarget, path: &Path, options: &CopyOptions) -> Result<TableAppender, EngineError> {
    let mut blocks = read_blocks(path)?;
    let mut load = RecordLoad::new(target, options, Some(path));
    while let Some(block) = blocks.recv().await {
        if !load.take(&block?).await? {
            break;
        }
    }
    load.complete().await
}

async fn load_parquet(mut target: CopyTarget, path: &Path) -> Result<TableAppender, EngineError> {
    let file = ParquetFile::open(path)?;
    let sources = column_sources(&target, &file)?;
    let mut batches = file.read(sources.file_columns);
    while let Some(batch) = batches.next().await {
        let converted = target.assignment.convert(&batch?, &sources.batch_columns);
        let converted = converted.map_err(|error| in_file(path, error))?;
        target.appender.append(converted).await?;
    }
    Ok(target.appender)
}

/// An error of a row with the file that it comes from.
fn in_file(path: &Path, error: EngineError) -> EngineError {
    let file = format!("file {}", path.display());
    let place = error.context().map_or_else(|| file.clone(), |column| format!("{file}, {column}"));
    error.with_context(place)
}

/// The file's bytes, read ahead by a thread; dropping the receiver stops it.
fn read_blocks(path: &Path) -> Result<mpsc::Receiver<Result<Bytes, EngineError>>, EngineError> {
    let mut file = File::open(path).map_err(|error| cannot_open(path, &error))?;
    let (sender, receiver) = mpsc::channel(BLOCKS_WAITING_MAX);
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || {
        loop {
            let mut block = Vec::with_capacity(BLOCK_BYTES);
            let read = file.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block);
            let block = match read {
                Ok(0) => return,
                Ok(_) => Ok(Bytes::from(block)),
                Err(error) => {
                    let message = format!("could not read file \"{}\": {error}", path.display());
                    Err(EngineError::new(SqlState::IoError, message))
                }
            };
            let failed = block.is_err();
            if sender.blocking_send(block).is_err() || failed {
                return;
            }
        }
    });
    Ok(receiver)
}

/// PostgreSQL's errors for a file that cannot be opened.
pub(crate) fn cannot_open(path: &Path, error: &std::io::Error) -> EngineError {
    let state = match error.kind() {
        ErrorKind::NotFound => SqlState::UndefinedFile,
        ErrorKind::PermissionDenied => SqlState::InsufficientPrivilege,
        _ => SqlState::IoError,
    };
    EngineError::new(state, format!("could not open file \"{}\" for reading: {error}", path.display()))
}
