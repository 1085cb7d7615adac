//! Both backends under the same tests: every case runs on io_uring and on threads, direct and buffered.
//!
//! Where io_uring is missing (old kernels, container runtimes that forbid it) or direct I/O (tmpfs), their cases are skipped
//! and say why; `BRAID_TESTS_REQUIRE=io_uring,direct_io` makes that a failure.

#![allow(clippy::unwrap_used, reason = "what the tests share fails like the tests themselves")]

mod cancellation;
mod faults;
mod gauges;
mod transfers;

use std::path::Path;
use std::sync::Arc;

use braid_io::{AlignedBuffer, Backend, Device, DeviceOptions, FileHandle, IoError, IoReason, OpenMode, open_device};
use braid_testing::{Requirement, skip};

/// The block that the tests read and write, in bytes.
const BLOCK: usize = 4096;

/// Runs `test` on every device that this machine has, each in a directory of its own.
fn on_every_device(queue_depth_max: usize, test: impl AsyncFn(Arc<dyn Device>, &Path)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    for backend in [Backend::IoUring, Backend::Threads] {
        for direct in [true, false] {
            // Not in /tmp, which may be a tmpfs without direct I/O.
            let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let options = DeviceOptions { backend, direct, queue_depth_max, threads: 4 };
            match open_device(dir.path(), &options) {
                Ok(device) => {
                    if direct && !device.name().ends_with("O_DIRECT") {
                        skip(Requirement::DirectIo, format!("{} is the device for {options:?}", device.name()));
                    }
                    runtime.block_on(test(device, dir.path()));
                }
                Err(error @ IoError::Unavailable { .. }) => skip(Requirement::IoUring, format!("{options:?}: {error}")),
                Err(error) => panic!("{options:?}: {error}"),
            }
        }
    }
}

/// A block whose every eight bytes contain the numbers of their file and block.
fn block(file: u32, index: u64) -> Vec<u8> {
    (0..BLOCK as u64 / 8).flat_map(|word| (u64::from(file) << 48 | index << 16 | word).to_le_bytes()).collect()
}

/// A file of `blocks` blocks, block `i` being `block(0, i)`.
async fn file_of(device: &Arc<dyn Device>, dir: &Path, blocks: u64) -> FileHandle {
    let file = device.open(&dir.join("blocks"), OpenMode::Create).unwrap();
    let content: Vec<u8> = (0..blocks).flat_map(|index| block(0, index)).collect();
    device.write(&file, 0, AlignedBuffer::from_slice(&content), IoReason::Load).await.unwrap();
    file
}
