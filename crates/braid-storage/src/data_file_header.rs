//! The first block of a data file, which identifies the table and the file.
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

use std::fmt;

use braid_base::{SEGMENT_ALIGN_BYTES, TableId};
use braid_io::AlignedBuffer;

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
    #[error("the file does not start with a data file's header")]
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
    #[error("its checksum is {found:#018x} instead of {expected:#018x}")]
    Checksum {
        /// Checksum in the header.
        expected: u64,
        /// Checksum of the header's bytes.
        found: u64,
    },
    /// The rest of its block is not zero.
    #[error("the bytes after the header are not zero")]
    Padding,
    /// A sound header, but of another file.
    #[error("it is the header of file {file} of table {table}")]
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
