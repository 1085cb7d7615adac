//! The directory for the temporary files of a database's queries, and their limit.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_base::ByteSize;
use braid_io::{Device, FileHandle, IoError, IoOperation, OpenMode};

use crate::ExecError;

/// Sizes that tests set to small values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpillSettings {
    /// Approximate bytes of a written block: large enough for the disk's bandwidth, and small enough that one block of each
    /// partition or run fits into memory.
    pub block_bytes: usize,
    /// Upper limit of an operator's share, for any query budget.
    pub operator_bytes_max: usize,
    /// Bytes below which an operator does not spill, because it would write blocks of a few rows.
    pub operator_bytes_min: usize,
}

impl Default for SpillSettings {
    fn default() -> Self {
        Self { block_bytes: 128 << 10, operator_bytes_max: usize::MAX, operator_bytes_min: 256 << 10 }
    }
}

/// A directory for temporary files.
pub struct SpillSpace {
    device: Arc<dyn Device>,
    directory: PathBuf,
    limit: ByteSize,
    settings: SpillSettings,
    used: AtomicU64,
    file_count: AtomicU64,
}

impl SpillSpace {
    /// A space for at most `limit` bytes in all files together. The directory must exist, and must contain no other files.
    pub fn new(device: Arc<dyn Device>, directory: PathBuf, limit: ByteSize, settings: SpillSettings) -> Arc<Self> {
        let (used, file_count) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { device, directory, limit, settings, used, file_count })
    }

    /// Bytes in all files now.
    pub fn used(&self) -> ByteSize {
        ByteSize(self.used.load(Ordering::Relaxed))
    }

    /// Number of files created so far.
    pub fn file_count(&self) -> u64 {
        self.file_count.load(Ordering::Relaxed)
    }

    pub(super) fn device(&self) -> &dyn Device {
        &*self.device
    }

    pub(super) fn settings(&self) -> SpillSettings {
        self.settings
    }

    /// Creates a file and removes its name. Blocks for a short time.
    pub(super) fn create_file(&self) -> Result<FileHandle, ExecError> {
        let number = self.file_count.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("rows-{number}"));
        let file = self.device.open(&path, OpenMode::Create).map_err(ExecError::Spill)?;
        std::fs::remove_file(&path).map_err(|error| {
            ExecError::Spill(IoError::File { operation: IoOperation::Remove, path, source: Arc::new(error) })
        })?;
        Ok(file)
    }

    /// Takes `bytes` bytes of the limit.
    pub(super) fn take(&self, bytes: u64) -> Result<(), ExecError> {
        let grow = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit.0);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow) {
            Ok(_) => Ok(()),
            Err(used) => Err(ExecError::SpillSpace { asked: ByteSize(bytes), used: ByteSize(used), limit: self.limit }),
        }
    }

    /// Returns `bytes` bytes to the limit.
    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl fmt::Debug for SpillSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillSpace")
            .field("directory", &self.directory)
            .field("limit", &self.limit)
            .field("used", &self.used())
            .finish_non_exhaustive()
    }
}
