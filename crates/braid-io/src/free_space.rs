//! How much a filesystem still takes.

use std::fs::File;
use std::path::Path;

use braid_base::ByteSize;

use crate::error::{IoError, IoOperation};
use crate::syscalls;

/// What may still be written to the filesystem of a directory.
pub fn free_space(directory: &Path) -> Result<ByteSize, IoError> {
    let free = File::open(directory).and_then(|directory| syscalls::free_bytes(&directory));
    free.map(ByteSize).map_err(|error| IoError::file(IoOperation::Open, directory, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_room_and_a_missing_one_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(free_space(directory.path()).unwrap() > ByteSize(0));
        let missing = directory.path().join("missing");
        let error = free_space(&missing).unwrap_err().to_string();
        assert!(error.contains("missing"), "{error}");
    }
}
