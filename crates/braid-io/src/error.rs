//! What can go wrong between a request and the disk, with everything one needs to find the spot.
//!
//! Errors are cheap to clone: one failed read of a chunk fails every scan that waits for it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io_reason::IoReason;

/// What was being done when an error happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoOperation {
    /// Opening or creating a file.
    Open,
    /// Reading a range of a file.
    Read,
    /// Writing a range of a file.
    Write,
    /// Making a file's content durable.
    Sync,
    /// Making the names in a directory durable.
    SyncDirectory,
    /// Creating a directory.
    CreateDirectory,
    /// Renaming a file into place.
    Rename,
    /// Removing a file.
    Remove,
}

impl fmt::Display for IoOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::SyncDirectory => "sync directory",
            Self::CreateDirectory => "create directory",
            Self::Rename => "rename",
            Self::Remove => "remove",
        })
    }
}

/// Why an I/O request failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IoError {
    /// The operating system refused a read or a write.
    #[error("cannot {operation} {len} bytes at offset {offset} of \"{}\" ({reason}): {source}", path.display())]
    Transfer {
        /// [`IoOperation::Read`] or [`IoOperation::Write`].
        operation: IoOperation,
        /// The file.
        path: PathBuf,
        /// Where the request began, in bytes.
        offset: u64,
        /// What the request asked for, in bytes.
        len: usize,
        /// On whose behalf.
        reason: IoReason,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The operating system refused an operation on a whole file or directory.
    #[error("cannot {operation} \"{}\": {source}", path.display())]
    File {
        /// What was tried.
        operation: IoOperation,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The file ends inside the range that was asked for.
    #[error("cannot read {wanted} bytes at offset {offset} of \"{}\": the file ends after {got} of them", path.display())]
    ShortRead {
        /// The file.
        path: PathBuf,
        /// Where the read began, in bytes.
        offset: u64,
        /// Bytes asked for.
        wanted: usize,
        /// Bytes the file has from there.
        got: usize,
    },
    /// The device's threads have ended; nothing was done, or it is unknown whether it was done.
    #[error("cannot {operation} \"{}\": the {device} device is shut down", path.display())]
    Closed {
        /// What was tried.
        operation: IoOperation,
        /// The file.
        path: PathBuf,
        /// The device's name.
        device: &'static str,
    },
    /// A backend that was asked for by name cannot run here.
    #[error("the {backend} backend is not available: {source}")]
    Unavailable {
        /// The backend.
        backend: &'static str,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// An option lies outside its limits.
    #[error("the device option {option} is {value}; it must be from {least} to {most}")]
    OptionOutOfRange {
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: usize,
        /// The smallest that is accepted.
        least: usize,
        /// The largest that is accepted.
        most: usize,
    },
}

impl IoError {
    pub(crate) fn file(operation: IoOperation, path: &Path, source: io::Error) -> Self {
        Self::File { operation, path: path.to_owned(), source: Arc::new(source) }
    }

    /// What the operating system said, if it was asked at all.
    pub fn os_error(&self) -> Option<&io::Error> {
        match self {
            Self::Transfer { source, .. } | Self::File { source, .. } | Self::Unavailable { source, .. } => {
                Some(source)
            }
            Self::ShortRead { .. } | Self::Closed { .. } | Self::OptionOutOfRange { .. } => None,
        }
    }

    /// Whether space on the disk, or the user's or the process's share of it, is used up.
    pub fn is_disk_full(&self) -> bool {
        self.os_error().is_some_and(is_space_used_up)
    }

    /// Whether a file or directory does not exist.
    pub fn is_not_found(&self) -> bool {
        self.os_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

/// Whether what an operating system said means that there is no more space: on the disk, in the user's quota, or, as
/// `ulimit -f` has it, in the file.
pub fn is_space_used_up(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_spot() {
        let error = IoError::Transfer {
            operation: IoOperation::Write,
            path: "/data/t1-4.seg".into(),
            offset: 8192,
            len: 4096,
            reason: IoReason::Load,
            source: Arc::new(io::Error::from_raw_os_error(libc::ENOSPC)),
        };
        let message = error.to_string();
        assert!(
            message.starts_with("cannot write 4096 bytes at offset 8192 of \"/data/t1-4.seg\" (load): "),
            "{message}"
        );
        assert!(error.is_disk_full() && !error.is_not_found());
        for errno in [libc::EDQUOT, libc::EFBIG] {
            let source = io::Error::from_raw_os_error(errno);
            assert!(IoError::file(IoOperation::Sync, Path::new("/data"), source).is_disk_full(), "{errno}");
        }
    }

    #[test]
    fn a_short_read_is_not_a_full_disk() {
        let error = IoError::ShortRead { path: "/data/x".into(), offset: 0, wanted: 4096, got: 12 };
        assert_eq!(
            error.to_string(),
            "cannot read 4096 bytes at offset 0 of \"/data/x\": the file ends after 12 of them"
        );
        assert!(!error.is_disk_full());
    }
}
