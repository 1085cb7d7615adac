//! A data file: an immutable file of column segments.
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 8 | magic `BRAIDSEG` |
//! | 8 | 4 | format version, [`FORMAT_VERSION`] |
//! | 12 | 4 | table id |
//! | 16 | 8 | data file id |
//! | 24 | 8 | XXH3-64 of bytes `0..24` |
//! | 32 | 4064 | 0 |
//! | 4096 | | segments, each at a multiple of 4096 and padded with zeros to one |
//!
//! The header only tells people and [`crate::check`] whose file it is; what lies where is in the manifest, and scans
//! never read the header.
//!
//! Life of a file: it is born doomed, so that whatever ends its writer also ends the file; the commit that names it in
//! a manifest spares it; the commit that no longer names it dooms it again. A doomed file is deleted with the last
//! reference, that is, when the last scan of the last table version that has it is over. If the process dies first,
//! the next open deletes it, because no manifest names it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use braid_base::{SEGMENT_ALIGN_BYTES, TableId};
use braid_io::{AlignedBuffer, Device, FileHandle, IoError, OpenMode};

use super::data_directory::DataDirectory;
use crate::checksum::checksum;

/// The only version of the data file's format so far.
pub const FORMAT_VERSION: u32 = 1;

/// Bytes before the first segment.
pub const DATA_FILE_HEADER_BYTES: usize = SEGMENT_ALIGN_BYTES;

const MAGIC: [u8; 8] = *b"BRAIDSEG";

/// Identity of a data file within its data directory; not given out twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataFileId(pub u64);

impl fmt::Display for DataFileId {
    /// As in the file's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// An open file of segments that is deleted with its last reference once no manifest names it.
pub struct DataFile {
    id: DataFileId,
    table: TableId,
    handle: FileHandle,
    directory: Arc<DataDirectory>,
    doomed: AtomicBool,
    missing: bool,
}

impl DataFile {
    /// Creates the file; it is doomed until [`Self::spare`]. Blocks for as long as the file system takes.
    pub(crate) fn create(
        directory: &Arc<DataDirectory>,
        device: &dyn Device,
        id: DataFileId,
        table: TableId,
    ) -> Result<Arc<Self>, IoError> {
        directory.files_alive().insert(id);
        match device.open(&directory.data_file(id), OpenMode::Create) {
            Ok(handle) => Ok(Self::with_handle(directory, id, table, handle, true, false)),
            Err(error) => {
                directory.files_alive().remove(&id);
                Err(error)
            }
        }
    }

    /// Opens a file that the manifest names. One that is missing does not keep the other tables from being read: an
    /// empty file of its name, which is nowhere in the directory, takes its place, and reads of it are short.
    pub(crate) fn open(
        directory: &Arc<DataDirectory>,
        device: &dyn Device,
        id: DataFileId,
        table: TableId,
    ) -> Result<Arc<Self>, IoError> {
        let path = directory.data_file(id);
        if path.exists() {
            let handle = device.open(&path, OpenMode::Read)?;
            return Ok(Self::with_handle(directory, id, table, handle, false, false));
        }
        tracing::error!(file = %path.display(), table = %table, "a data file is missing; reads of it will fail");
        let handle = device.open(&path, OpenMode::Create)?;
        directory.remove(&path);
        Ok(Self::with_handle(directory, id, table, handle, false, true))
    }

    fn with_handle(
        directory: &Arc<DataDirectory>,
        id: DataFileId,
        table: TableId,
        handle: FileHandle,
        doomed: bool,
        missing: bool,
    ) -> Arc<Self> {
        directory.files_alive().insert(id);
        let directory = Arc::clone(directory);
        Arc::new(Self { id, table, handle, directory, doomed: AtomicBool::new(doomed), missing })
    }

    /// The open file.
    pub fn handle(&self) -> &FileHandle {
        &self.handle
    }

    /// Identity within the data directory.
    pub fn id(&self) -> DataFileId {
        self.id
    }

    /// The table whose rows it holds.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.handle.path()
    }

    /// Whether the manifest names it and the directory lacks it.
    pub(crate) fn is_missing(&self) -> bool {
        self.missing
    }

    /// Lets the file outlive its last reference: a manifest is about to name it.
    pub(crate) fn spare(&self) {
        self.doomed.store(false, Ordering::Release);
    }

    /// Deletes the file with its last reference: no manifest names it any more.
    pub(crate) fn doom(&self) {
        self.doomed.store(true, Ordering::Release);
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        if self.doomed.load(Ordering::Acquire) && !self.missing {
            self.directory.remove(self.handle.path());
        }
        self.directory.files_alive().remove(&self.id);
    }
}

impl fmt::Debug for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataFile")
            .field("path", &self.path())
            .field("doomed", &self.doomed.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

/// The first block of a data file.
pub(crate) fn encode_header(id: DataFileId, table: TableId) -> AlignedBuffer {
    let mut block = AlignedBuffer::zeroed(DATA_FILE_HEADER_BYTES);
    let bytes = block.as_mut_slice();
    bytes[0..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&table.0.to_le_bytes());
    bytes[16..24].copy_from_slice(&id.0.to_le_bytes());
    let sum = checksum(&bytes[..24]);
    bytes[24..32].copy_from_slice(&sum.to_le_bytes());
    block
}

/// Why a block is not the header it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// Another kind of file, or zeros.
    #[error("it is not a data file's header")]
    Magic,
    /// Written by another version of Braid.
    #[error("its format version is {found}, this program reads version {known}")]
    Version {
        /// Version in the file.
        found: u32,
        /// Version this program knows.
        known: u32,
    },
    /// Some bit is wrong.
    #[error("its checksum is {found:#018x}, it says {expected:#018x}")]
    Checksum {
        /// Checksum in the header.
        expected: u64,
        /// Checksum of the header's bytes.
        found: u64,
    },
    /// The rest of its block is not zero.
    #[error("the block is not zero behind it")]
    Padding,
    /// A sound header, but of another file.
    #[error("it belongs to file {file} of table {table}")]
    Stray {
        /// File id in the header.
        file: DataFileId,
        /// Table id in the header.
        table: TableId,
    },
}

/// Whether `block`, of [`DATA_FILE_HEADER_BYTES`] bytes, is the header of file `id` of `table`.
pub(crate) fn verify_header(block: &[u8], id: DataFileId, table: TableId) -> Result<(), HeaderFault> {
    assert_eq!(block.len(), DATA_FILE_HEADER_BYTES, "a header is one block");
    let four = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
    let eight = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
    if block[..8] != MAGIC {
        return Err(HeaderFault::Magic);
    }
    if four(8) != FORMAT_VERSION {
        return Err(HeaderFault::Version { found: four(8), known: FORMAT_VERSION });
    }
    let (expected, found) = (eight(24), checksum(&block[..24]));
    if expected != found {
        return Err(HeaderFault::Checksum { expected, found });
    }
    if block[32..].iter().any(|&byte| byte != 0) {
        return Err(HeaderFault::Padding);
    }
    if (DataFileId(eight(16)), TableId(four(12))) != (id, table) {
        return Err(HeaderFault::Stray { file: DataFileId(eight(16)), table: TableId(four(12)) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_whose_file_it_is_and_every_flipped_bit_shows() {
        let (id, table) = (DataFileId(0x1234), TableId(7));
        let block = encode_header(id, table);
        assert_eq!(verify_header(block.as_slice(), id, table), Ok(()));
        let stray = verify_header(block.as_slice(), DataFileId(9), table);
        assert_eq!(stray, Err(HeaderFault::Stray { file: id, table }));
        for bit in (0..64 * 8).chain([DATA_FILE_HEADER_BYTES * 8 - 1]) {
            let mut bytes = block.as_slice().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(verify_header(&bytes, id, table).is_err(), "bit {bit}");
        }
    }
}
