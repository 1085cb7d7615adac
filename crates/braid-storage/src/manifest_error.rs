//! What can be wrong with the bytes of a manifest.

/// Why some bytes are no manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is too short for a header, or has another magic.
    #[error("it does not start with a manifest's header")]
    NoHeader,
    /// It was written by another version of Braid.
    #[error("its format version is {found}, this program reads versions {oldest} to {newest}")]
    UnknownVersion {
        /// Version in the file.
        found: u32,
        /// First version this program knows.
        oldest: u32,
        /// Last version this program knows.
        newest: u32,
    },
    /// The file's length does not fit the length in its header.
    #[error("its header says {expected} bytes and the file has {found}")]
    Length {
        /// Bytes by its header, padding excluded.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Some bit is wrong.
    #[error("its checksum is {found:#018x}, its header says {expected:#018x}")]
    Checksum {
        /// Checksum in the header.
        expected: u64,
        /// Checksum of the bytes.
        found: u64,
    },
    /// The checksum holds and yet the contents make no sense.
    #[error("malformed at byte {offset}: {what}")]
    Malformed {
        /// Where, in bytes from the start.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
}
