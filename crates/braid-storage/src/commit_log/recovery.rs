//! Opening: the newest state is the manifest's, and the records of the logs from the one on that the manifest names.
//!
//! Records are applied to plain data; no data file is opened before the last one is applied, as files of states in between are gone.
//! The time is that of reading the logs, which a checkpoint bounds.
//!
//! Logs from the manifest's on have consecutive numbers. An incomplete batch may end any of them, if no record follows in a later
//! one: a checkpoint makes the next log before it switches the manifest. That log itself may be incomplete, if the power went then.

use std::path::Path;

use crate::StoreError;
use crate::data_directory::DataDirectory;
use crate::log_file::{LOG_HEADER_BYTES, LogFault, encode_empty_log, read_log};
use crate::manifest::Manifest;

/// The newest state, and where its log ends.
pub(crate) struct Recovered {
    pub(crate) manifest: Manifest,
    /// The last log; `None` in a directory of a version without logs.
    pub(crate) log: Option<LogEnd>,
    /// Number of records that were applied.
    pub(crate) record_count: usize,
    /// Bytes of the logs.
    pub(crate) log_bytes: u64,
    /// Whether temporary tables were left out of the state.
    pub(crate) is_reduced: bool,
}

/// The end of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogEnd {
    pub(crate) number: u64,
    /// Where the next batch goes.
    pub(crate) end: u64,
    /// Bytes of the log.
    pub(crate) length: u64,
    /// Whether an incomplete batch begins there.
    pub(crate) is_torn: bool,
}

impl Recovered {
    /// Whether the manifest is not the newest state, or not all of it.
    pub(crate) fn needs_checkpoint(&self) -> bool {
        let is_current = self.log.is_some_and(|log| !log.is_torn && log.number == self.manifest.log_number);
        !is_current || self.record_count > 0 || self.is_reduced
    }
}

/// Applies the logs from the one on that the manifest names.
///
/// # Errors
/// [`StoreError::Log`] when one is missing or damaged: nothing is guessed.
pub(crate) fn recover(directory: &DataDirectory, mut manifest: Manifest) -> Result<Recovered, StoreError> {
    let first = manifest.log_number;
    if first == 0 {
        return Ok(Recovered { manifest, log: None, record_count: 0, log_bytes: 0, is_reduced: false });
    }
    let (mut record_count, mut log_bytes, mut log) = (0, 0, None::<LogEnd>);
    for (number, expected) in logs_from(directory, first)?.into_iter().zip(first..) {
        let path = directory.log(expected);
        if number != expected {
            return Err(fault(&path, LogFault::Missing));
        }
        let bytes = directory.read_log(number)?;
        if number > first && is_unborn(&bytes, number) {
            break;
        }
        let contents = read_log(&bytes, number).map_err(|source| fault(&path, source))?;
        if !contents.records.is_empty() && log.is_some_and(|log| log.is_torn) {
            return Err(fault(&path, LogFault::FollowsIncomplete));
        }
        for record in &contents.records {
            let commit = manifest.sequence.saturating_add(1);
            manifest.apply(record).map_err(|source| fault(&path, LogFault::Record { commit, source }))?;
        }
        record_count += contents.records.len();
        log_bytes += bytes.len() as u64;
        log = Some(LogEnd { number, end: contents.end, length: bytes.len() as u64, is_torn: contents.is_torn });
    }
    manifest.validate().map_err(|what| fault(&directory.log(first), LogFault::State(what)))?;
    Ok(Recovered { manifest, log, record_count, log_bytes, is_reduced: false })
}

/// Whether a log was not made to its end: what a checkpoint leaves that the power cut off. The log before goes on.
fn is_unborn(bytes: &[u8], number: u64) -> bool {
    let empty = encode_empty_log(number);
    let (header, rest) = bytes.split_at(bytes.len().min(LOG_HEADER_BYTES));
    let is_whole = bytes.len() >= empty.len() && *header == empty[..LOG_HEADER_BYTES];
    !is_whole && rest.iter().all(|byte| *byte == 0)
}

/// The numbers of the logs from `first` on; if there is none, `first` is missing.
fn logs_from(directory: &DataDirectory, first: u64) -> Result<Vec<u64>, StoreError> {
    let numbers: Vec<u64> = directory.list_logs()?.into_iter().filter(|number| *number >= first).collect();
    match numbers.is_empty() {
        true => Err(fault(&directory.log(first), LogFault::Missing)),
        false => Ok(numbers),
    }
}

fn fault(path: &Path, source: LogFault) -> StoreError {
    StoreError::Log { path: path.to_owned(), source }
}
