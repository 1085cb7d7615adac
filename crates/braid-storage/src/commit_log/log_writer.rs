//! The end of the log, where batches are written.
//!
//! Before a batch is written, the log is filled with zeros beyond it, durably: a batch then overwrites blocks that the file has, and
//! its sync writes no metadata of the file system.
//!
//! It blocks, and belongs to the thread that flushes.

use std::sync::Arc;

use braid_base::SEGMENT_ALIGN_BYTES;
use braid_io::{AlignedBuffer, Device, DurableWriteError, FileHandle, IoError, IoReason};
use futures::executor::block_on;

use super::recovery::LogEnd;
use crate::data_directory::DataDirectory;
use crate::log_file::{LOG_HEADER_BYTES, encode_batch, encode_empty_log};

/// The log is extended by as many bytes as it has, but at least and at most so many.
const EXTENSION_BYTES: std::ops::RangeInclusive<u64> = 64 << 10..=2 << 20;

/// Whether a failed write left the log as it was for certain.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// It did.
    NotWritten(IoError),
    /// The batch may be there after a crash.
    Uncertain(IoError),
}

/// The log that batches are written to.
pub(crate) struct LogWriter {
    directory: Arc<DataDirectory>,
    device: Arc<dyn Device>,
    number: u64,
    handle: Option<FileHandle>,
    /// Where the next batch goes.
    end: u64,
    /// Up to where there are zeros behind it, durably.
    zeroed: u64,
}

impl LogWriter {
    /// The writer behind the end of a log. What follows the end must be zeros, or be [cleared](Self::clear_end).
    pub(crate) fn new(directory: Arc<DataDirectory>, device: Arc<dyn Device>, log: LogEnd) -> Self {
        let LogEnd { number, end, length, .. } = log;
        // A crash may leave part of a block behind, which is written again.
        let zeroed = length - length % SEGMENT_ALIGN_BYTES as u64;
        Self { directory, device, number, handle: None, end, zeroed }
    }

    /// The log's number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of batches in the log.
    pub(crate) fn batch_bytes(&self) -> u64 {
        self.end - LOG_HEADER_BYTES as u64
    }

    /// Writes a batch of records, durably.
    pub(crate) fn append<'a>(&mut self, records: impl Iterator<Item = &'a [u8]> + Clone) -> Result<(), AppendError> {
        let batch = AlignedBuffer::from_slice_padded(&encode_batch(self.number, self.end, records));
        let end = self.end + batch.len() as u64;
        let handle = self.extended_to(end + SEGMENT_ALIGN_BYTES as u64).map_err(AppendError::NotWritten)?;
        let length = batch.len();
        match self.device.write_durably(&handle, self.end, batch, IoReason::Catalog) {
            Ok(()) => {
                self.end = end;
                Ok(())
            }
            Err(DurableWriteError::NotWritten(error)) => {
                // A disk that is full may refuse the zeros too.
                let is_clean =
                    self.is_zero(&handle, self.end, length) || self.write_zeros(&handle, self.end, length).is_ok();
                Err(if is_clean { AppendError::NotWritten(error) } else { AppendError::Uncertain(error) })
            }
            Err(DurableWriteError::NotSynced(error)) => Err(AppendError::Uncertain(error)),
        }
    }

    /// Overwrites what follows the end with zeros, durably: the sectors of an incomplete batch.
    pub(crate) fn clear_end(&mut self) -> Result<(), IoError> {
        let handle = self.handle()?;
        let length = usize::try_from(self.zeroed - self.end).expect("a log is below the address space");
        self.write_zeros(&handle, self.end, length)
    }

    /// Goes on with the next log, durably.
    pub(crate) fn begin_next(&mut self) -> Result<(), IoError> {
        let number = self.number + 1;
        let log = encode_empty_log(number);
        self.directory.create_log(number, &log)?;
        let (end, zeroed) = (LOG_HEADER_BYTES as u64, log.len() as u64);
        (self.number, self.handle, self.end, self.zeroed) = (number, None, end, zeroed);
        Ok(())
    }

    fn handle(&mut self) -> Result<FileHandle, IoError> {
        match &self.handle {
            Some(handle) => Ok(handle.clone()),
            None => Ok(self.handle.insert(self.directory.open_log(self.number)?).clone()),
        }
    }

    /// The log, with zeros up to this offset at least.
    fn extended_to(&mut self, end: u64) -> Result<FileHandle, IoError> {
        let handle = self.handle()?;
        if end > self.zeroed {
            let growth = self.zeroed.clamp(*EXTENSION_BYTES.start(), *EXTENSION_BYTES.end());
            let length = (end - self.zeroed).max(growth).next_multiple_of(SEGMENT_ALIGN_BYTES as u64);
            self.write_zeros(&handle, self.zeroed, usize::try_from(length).expect("a batch is in memory"))?;
            self.zeroed += length;
        }
        Ok(handle)
    }

    fn is_zero(&self, handle: &FileHandle, offset: u64, length: usize) -> bool {
        let read = block_on(self.device.read(handle, offset, length, IoReason::Catalog));
        read.is_ok_and(|bytes| bytes.as_slice().iter().all(|byte| *byte == 0))
    }

    fn write_zeros(&self, handle: &FileHandle, offset: u64, length: usize) -> Result<(), IoError> {
        if length > 0 {
            let zeros = AlignedBuffer::zeroed(length);
            block_on(self.device.write(handle, offset, zeros, IoReason::Catalog))?;
            block_on(self.device.sync(handle))?;
        }
        Ok(())
    }
}
