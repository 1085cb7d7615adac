//! Asynchronous, aligned, direct disk I/O behind one trait, with gauges and a trace.
//!
//! | module | what lives there |
//! |---|---|
//! | `device` | the [`Device`] trait: what every room above sees of a disk |
//! | `io_reason` | [`IoReason`]: on whose behalf a request is made |
//! | `aligned_buffer` | [`AlignedBuffer`]: owned memory that direct I/O accepts |
//! | `file_handle` | [`FileHandle`]: an open file, with the id under which traces name it |
//! | `open` | [`open_device`]: probes io_uring and `O_DIRECT`, chooses a backend and says why in the log |
//! | `error` | [`IoError`]: path, operation, offset and length with every failure |
//! | `statistics` | [`IoStats`]: counters by reason and the queue-depth gauge |
//! | `trace` | [`IoTrace`]: a bounded record of requests that one can switch on |
//! | `resident_memory` | what a process holds in RAM |
//! | [`mod@free_space`] | how much a filesystem still takes |
//! | `descriptor_limit` | how many files and sockets the process may have open |
//! | `giving_way` | threads that compute for long, and give their core to those that wake up |
//! | `private_files` | files and directories that only their owner can read |
//! | [`durable`] | directories and small files that survive a power cut |
//! | `small_file` | the steps of that, one system call each |
//! | `faults` | any device, failing on command: only in tests (the feature `testing`) |
//!
//! A request travels `queued_device` (waits for a place in the queue) -> `submission_queue` -> `ring` (io_uring) or
//! `thread_pool` (pread, pwrite) -> `request` and `transfer` (short transfers, interruptions, the reply).
//! A durable write has its place in the queue as well, but the thread that asks executes it.
//! Only `aligned_memory`, `aligned_buffer`, `request`, `syscalls` and `kernel_requests` contain `unsafe`.
//!
//! This crate knows files, offsets and bytes; it does not know tables, segments or checksums, and it caches nothing.

mod aligned_buffer;
mod descriptor_limit;
mod device;
pub mod durable;
mod error;
#[cfg(any(test, feature = "testing"))]
mod faults;
mod file_handle;
pub mod free_space;
mod giving_way;
mod io_reason;
mod open;
mod private_files;
mod resident_memory;
mod small_file;
mod statistics;
mod trace;

mod aligned_memory;
mod kernel_requests;
mod queued_device;
mod request;
mod ring;
mod submission_queue;
mod syscalls;
mod thread_pool;
mod transfer;

pub use aligned_buffer::AlignedBuffer;
pub use descriptor_limit::{DescriptorLimit, raise_descriptor_limit};
pub use device::{Device, DurableWriteError, IoFuture};
pub use error::{IoError, IoOperation, is_space_used_up};
#[cfg(any(test, feature = "testing"))]
pub use faults::{Fault, FaultDevice, OperationCounts, ReadLatency};
pub use file_handle::{FileHandle, FileId, OpenMode};
pub use free_space::free_space;
pub use giving_way::give_way;
pub use io_reason::IoReason;
pub use open::{Backend, DeviceOptions, open_device, open_device_with_clock};
pub use private_files::{Privacy, create_private, make_directory_private};
pub use resident_memory::ResidentMemory;
pub use small_file::SmallFile;
pub use statistics::{IoStats, ReasonStats};
pub use trace::{IoTrace, TraceEvent, TraceKind};
