//! Where a database's queries put rows, and how much may lie there.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_base::ByteSize;
use braid_io::{Device, FileHandle, IoError, IoOperation, OpenMode};

use crate::ExecError;

/// Sizes that differ in tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpillSettings {
    /// Bytes of rows that are written at once, about: large enough for a disk's bandwidth, small enough that a block of each
    /// partition or run fits into memory.
    pub block_bytes: usize,
    /// Bytes that an operator may hold, whatever its query may.
    pub operator_bytes_max: usize,
    /// An operator with fewer bytes in memory does not spill: it would write blocks of a few rows.
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
    /// A space for at most `limit` in all files together. The directory must exist, and have no files but those of this
    /// space.
    pub fn new(device: Arc<dyn Device>, directory: PathBuf, limit: ByteSize, settings: SpillSettings) -> Arc<Self> {
        let (used, file_count) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { device, directory, limit, settings, used, file_count })
    }

    /// Bytes in all files now.
    pub fn used(&self) -> ByteSize {
        ByteSize(self.used.load(Ordering::Relaxed))
    }

    /// Files that were ever made.
    pub fn file_count(&self) -> u64 {
        self.file_count.load(Ordering::Relaxed)
    }

    pub(super) fn device(&self) -> &dyn Device {
        &*self.device
    }

    pub(super) fn settings(&self) -> SpillSettings {
        self.settings
    }

    /// A new file without a name. Blocks, shortly.
    pub(super) fn create_file(&self) -> Result<FileHandle, ExecError> {
        let number = self.file_count.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("rows-{number}"));
        let file = self.device.open(&path, OpenMode::Create).map_err(ExecError::Spill)?;
        std::fs::remove_file(&path).map_err(|error| {
            ExecError::Spill(IoError::File { operation: IoOperation::Remove, path, source: Arc::new(error) })
        })?;
        Ok(file)
    }

    /// Takes so many bytes.
    pub(super) fn take(&self, bytes: u64) -> Result<(), ExecError> {
        let grow = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit.0);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow) {
            Ok(_) => Ok(()),
            Err(used) => Err(ExecError::SpillSpace { asked: ByteSize(bytes), used: ByteSize(used), limit: self.limit }),
        }
    }

    /// Gives so many bytes back.
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
