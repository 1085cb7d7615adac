//! The operating system's limits on this process: open files and sockets, and the size of files.
//!
//! A server needs a file descriptor for each data file and each connection, and some others.

use braid_io::raise_descriptor_limit;
use tokio::signal::unix::{SignalKind, signal};

use super::CommandError;

/// "File size limit exceeded": the same number on every Linux that Rust runs on but MIPS.
const SIGXFSZ: i32 = 25;

/// For spill files, the device, the listener and the runtime.
const OTHERS: u64 = 256;

/// Raises the soft limit to the hard limit, and returns it. `None` if the system does not report it.
pub(crate) fn raise_descriptors() -> Option<u64> {
    match raise_descriptor_limit() {
        Ok(limit) => {
            tracing::info!(descriptors = limit.soft, "limit of open files and sockets");
            Some(limit.soft)
        }
        Err(error) => {
            tracing::warn!("cannot raise the limit on open files: {error}");
            None
        }
    }
}

/// Logs a warning if the limit is too low for the connections and data files.
pub(crate) fn warn_if_descriptors_are_short(limit: u64, connections_max: usize, data_files: usize) {
    if let Some(warning) = shortage(limit, connections_max as u64, data_files as u64) {
        tracing::warn!("{warning}");
    }
}

/// Handles SIGXFSZ, so that a write beyond `ulimit -f` fails with an error, as on a full disk. The signal's default ends the
/// process.
pub(crate) fn survive_file_size_limit() -> Result<(), CommandError> {
    // The handler stays installed after the listener is dropped.
    signal(SignalKind::from_raw(SIGXFSZ)).map(drop).map_err(CommandError::io("cannot watch for signals"))
}

fn shortage(limit: u64, connections_max: u64, data_files: u64) -> Option<String> {
    let needed = connections_max.saturating_add(data_files).saturating_add(OTHERS);
    (needed > limit).then(|| {
        format!(
            "the limit of open files and sockets is {limit}, but {needed} may be needed: {connections_max} connections, \
             {data_files} data files and {OTHERS} others; connections or queries will fail beyond the limit (raise \
             the hard limit with ulimit -Hn or LimitNOFILE, or lower --max-connections)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_below_connections_and_files_is_a_shortage() {
        assert_eq!(shortage(2356, 2000, 100), None);
        let warning = shortage(2355, 2000, 100).unwrap();
        assert!(
            warning.starts_with("the limit of open files and sockets is 2355, but 2356 may be needed"),
            "{warning}"
        );
        assert!(shortage(u64::MAX - 1, u64::MAX, 1).is_some(), "no overflow");
    }
}
