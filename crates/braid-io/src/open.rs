//! Which backend serves a directory: io_uring with `O_DIRECT` where both work, blocking threads otherwise.
//!
//! Whether they work is found out by trying, once, when the device is opened: container runtimes forbid io_uring, some
//! filesystems accept the `O_DIRECT` flag and then refuse the transfer. The choice and its reason go to the log.
//!
//! Without direct I/O there is nothing for a ring to gain: buffered requests that miss the page cache are handed to
//! kernel threads anyway. So `Auto` takes the thread pool then.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use braid_base::{Clock, SEGMENT_ALIGN_BYTES, SystemClock};

use crate::aligned_buffer::AlignedBuffer;
use crate::device::Device;
use crate::error::IoError;
use crate::file_handle::{FileHandle, OpenMode};
use crate::queued_device::QueuedDevice;
use crate::ring::RingPool;
use crate::thread_pool::ThreadPool;

/// The deepest queue a device can have: four times the 1024 entries that queues of NVMe drives commonly have.
pub const QUEUE_DEPTH_LIMIT: usize = 4096;

/// The most threads a thread-pool device can have.
pub const THREADS_LIMIT: usize = 1024;

/// Processors from which on there is a second ring thread. One thread has done 149 000 reads of 4 KiB a second on a
/// busy machine of two processors, where a second thread would only take time from the queries.
const SECOND_RING_PROCESSORS: usize = 8;

/// What executes the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// io_uring if it and direct I/O work here, threads otherwise.
    #[default]
    Auto,
    /// io_uring, or an error.
    IoUring,
    /// Threads with `pread` and `pwrite`.
    Threads,
}

/// How to open a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// What executes the requests.
    pub backend: Backend,
    /// Whether files bypass the page cache, where the filesystem can.
    pub direct: bool,
    /// The most requests at a time; further ones wait. From 1 to [`QUEUE_DEPTH_LIMIT`].
    pub queue_depth_max: usize,
    /// Threads of the thread pool, which is also the depth of queue that the disk sees from it; io_uring ignores it.
    /// From 1 to [`THREADS_LIMIT`].
    pub threads: usize,
}

impl Default for DeviceOptions {
    /// Automatic and direct. 128 requests deep, where random reads of 4 KiB stop getting faster; 32 threads, since more
    /// gain little for the large requests of scans and each costs a stack.
    fn default() -> Self {
        Self { backend: Backend::Auto, direct: true, queue_depth_max: 128, threads: 32 }
    }
}

/// Opens a device for the files in `dir`, which need not exist yet (its nearest existing parent is probed then).
pub fn open_device(dir: &Path, options: &DeviceOptions) -> Result<Arc<dyn Device>, IoError> {
    open_device_with_clock(dir, options, Arc::new(SystemClock::new()))
}

/// Like [`open_device`], with the clock that the trace's times come from.
pub fn open_device_with_clock(
    dir: &Path,
    options: &DeviceOptions,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Device>, IoError> {
    check_option("queue_depth_max", options.queue_depth_max, QUEUE_DEPTH_LIMIT)?;
    check_option("threads", options.threads, THREADS_LIMIT)?;
    let direct =
        if options.direct { probe_direct(dir).map_err(|error| error.to_string()) } else { Err(OFF.to_owned()) };
    let start_ring = || RingPool::start(ring_count(), options.queue_depth_max);
    let Choice { ring, ring_why } = choose(options.backend, direct.is_ok(), start_ring)?;
    let (direct, direct_why) = direct.map_or_else(|why| (false, why), |()| (true, WORKS.to_owned()));
    let depth = options.queue_depth_max;
    let device: Arc<dyn Device> = match ring {
        Some(ring) => {
            let name = if direct { "io_uring+O_DIRECT" } else { "io_uring+buffered" };
            Arc::new(QueuedDevice::new(name, ring, direct, depth, clock))
        }
        None => {
            let name = if direct { "threads+O_DIRECT" } else { "threads+pread" };
            let pool = ThreadPool::start(options.threads, depth)
                .map_err(|error| IoError::Unavailable { backend: "threads", source: Arc::new(error) })?;
            Arc::new(QueuedDevice::new(name, pool, direct, depth, clock))
        }
    };
    tracing::info!(
        device = device.name(),
        dir = %dir.display(),
        io_uring = ring_why,
        o_direct = direct_why,
        queue_depth_max = depth,
        "disk device opened"
    );
    Ok(device)
}

/// In the log, for what was not wanted and for what was found to work.
const OFF: &str = "switched off";
const WORKS: &str = "works";

/// A ring, or not, and why.
#[derive(Debug)]
struct Choice<R> {
    ring: Option<R>,
    ring_why: String,
}

/// Starts a ring where one is wanted and of use. Only [`Backend::IoUring`] fails if it cannot be started.
fn choose<R>(backend: Backend, direct: bool, start_ring: impl FnOnce() -> io::Result<R>) -> Result<Choice<R>, IoError> {
    let without = |why: &str| Ok(Choice { ring: None, ring_why: why.to_owned() });
    match backend {
        Backend::Threads => return without(OFF),
        Backend::Auto if !direct => return without("no gain without O_DIRECT"),
        Backend::Auto | Backend::IoUring => {}
    }
    match start_ring() {
        Ok(ring) => Ok(Choice { ring: Some(ring), ring_why: WORKS.to_owned() }),
        Err(error) if backend == Backend::Auto => without(&error.to_string()),
        Err(error) => Err(IoError::Unavailable { backend: "io_uring", source: Arc::new(error) }),
    }
}

fn check_option(option: &'static str, value: usize, most: usize) -> Result<(), IoError> {
    if (1..=most).contains(&value) { Ok(()) } else { Err(IoError::OptionOutOfRange { option, value, least: 1, most }) }
}

fn ring_count() -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    if processors >= SECOND_RING_PROCESSORS { 2 } else { 1 }
}

/// Writes and reads one aligned block past the page cache, in a file that has no name for longer than it takes to
/// create it.
fn probe_direct(dir: &Path) -> Result<(), ProbeError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!(".braid-probe-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let file = FileHandle::open(&nearest_existing(dir).join(name), OpenMode::Create, true)?;
    fs::remove_file(file.path()).map_err(ProbeError::Transfer)?;
    if !file.is_direct() {
        return Err(ProbeError::Refused);
    }
    let written = AlignedBuffer::from_slice(&[0xB5; SEGMENT_ALIGN_BYTES]);
    let mut read = AlignedBuffer::zeroed(SEGMENT_ALIGN_BYTES);
    file.file().write_all_at(written.as_slice(), 0).map_err(ProbeError::Transfer)?;
    file.file().read_exact_at(read.as_mut_slice(), 0).map_err(ProbeError::Transfer)?;
    if read.as_slice() == written.as_slice() { Ok(()) } else { Err(ProbeError::OtherBytes) }
}

/// Why direct I/O is not used.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error("the probe failed: {0}")]
    Create(#[from] IoError),
    #[error("the file system does not support O_DIRECT")]
    Refused,
    #[error("a direct transfer fails: {0}")]
    Transfer(io::Error),
    #[error("a direct read returns other bytes than were written")]
    OtherBytes,
}

fn nearest_existing(dir: &Path) -> PathBuf {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    absolute.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backend_follows_from_what_is_wanted_and_what_works() {
        let works = || Ok("ring");
        // What a container runtime answers that forbids io_uring.
        let forbidden = || Err(io::Error::from_raw_os_error(libc::EPERM));
        let chosen = |choice: Result<Choice<&'static str>, IoError>| {
            choice.map(|choice| (choice.ring, choice.ring_why)).map_err(|error| error.to_string())
        };
        let no_ring = |why: &str| Ok((None, why.to_owned()));
        let ring = || Ok((Some("ring"), "works".to_owned()));
        let denied = "Operation not permitted (os error 1)";

        assert_eq!(chosen(choose(Backend::Auto, true, works)), ring());
        assert_eq!(chosen(choose(Backend::Auto, false, works)), no_ring("no gain without O_DIRECT"));
        assert_eq!(chosen(choose(Backend::Auto, true, forbidden)), no_ring(denied));
        assert_eq!(chosen(choose(Backend::IoUring, false, works)), ring());
        let error = format!("the io_uring backend is not available: {denied}");
        assert_eq!(chosen(choose(Backend::IoUring, true, forbidden)), Err(error));
        assert_eq!(chosen(choose(Backend::Threads, true, works)), no_ring("switched off"));
    }

    #[test]
    fn the_probe_goes_up_to_a_directory_that_exists() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(nearest_existing(&dir.path().join("a/b")), dir.path());
        assert_eq!(nearest_existing(Path::new("no-such-thing")), std::env::current_dir().unwrap());
    }
}
