//! What a process has read from disks, from `/proc/PID/io`: an upper bound of the table data that its buffer holds.

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::BenchError;

/// The bytes that a process has read from disks; `None` if the system does not report them.
pub(crate) fn read_bytes(pid: u32) -> Result<Option<u64>, BenchError> {
    let path = PathBuf::from(format!("/proc/{pid}/io"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        Err(source) => Err(BenchError::File { path, source }),
    }
}
