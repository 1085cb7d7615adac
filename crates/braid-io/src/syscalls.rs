//! The system calls that the standard library does not offer, each behind a safe function.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::aligned_memory::AlignedMemory;

/// Makes all further transfers of `file` bypass the page cache; fails with `EINVAL` where the filesystem cannot.
pub(crate) fn set_direct(file: &File) -> io::Result<()> {
    // SAFETY: F_GETFL takes no pointer and the descriptor is open as long as `file` is borrowed.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: F_SETFL takes an integer and the descriptor is open as long as `file` is borrowed.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_DIRECT) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads up to `len` bytes at `offset` of the file into `memory`, from byte `start` of it on; the bytes read are
/// initialised afterwards. `std` has no read into uninitialised memory at an offset.
pub(crate) fn read_at(
    file: &File,
    offset: u64,
    memory: &mut AlignedMemory,
    start: usize,
    len: usize,
) -> io::Result<usize> {
    assert!(start.checked_add(len).is_some_and(|end| end <= memory.capacity()), "a read past the end of its buffer");
    let offset = libc::off_t::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
    // SAFETY: `start..start + len` lies inside `memory`, which is borrowed mutably for the length of the call.
    let read = unsafe { libc::pread(file.as_raw_fd(), memory.address_mut(start).cast(), len, offset) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Bytes of the filesystem that a file is on which others than the administrator may still write.
pub(crate) fn free_bytes(file: &File) -> io::Result<u64> {
    let mut filesystem = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the descriptor is open as long as `file` is borrowed, and the structure lives through the call.
    match unsafe { libc::fstatvfs(file.as_raw_fd(), filesystem.as_mut_ptr()) } {
        0 => {
            // SAFETY: the call has succeeded, so it has filled the structure.
            let filesystem = unsafe { filesystem.assume_init() };
            Ok(filesystem.f_bavail.saturating_mul(filesystem.f_frsize))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// A counter that the kernel keeps: a write to it ends a pending read of it.
pub(crate) fn eventfd() -> io::Result<File> {
    // SAFETY: takes two integers.
    let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and this is its only owner.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// The soft and the hard limit on open file descriptors.
pub(crate) fn descriptor_limits() -> io::Result<(u64, u64)> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is initialised and lives through the call, which writes only to it.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limits) } {
        0 => Ok((limits.rlim_cur, limits.rlim_max)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the soft and the hard limit on open file descriptors.
pub(crate) fn set_descriptor_limits(soft: u64, hard: u64) -> io::Result<()> {
    let limits = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the structure is initialised and lives through the call, which only reads it.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limits) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The scheduling attributes of the calling thread.
pub(crate) fn scheduling() -> io::Result<libc::sched_attr> {
    let mut attributes = libc::sched_attr {
        size: 0,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    let (this_thread, flags) = (0, 0);
    // SAFETY: the structure lives through the call, which writes at most as many bytes to it as the third argument says.
    let returned = unsafe {
        libc::syscall(libc::SYS_sched_getattr, this_thread, &raw mut attributes, size_of_val(&attributes), flags)
    };
    match returned {
        0 => Ok(attributes),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the scheduling attributes of the calling thread.
pub(crate) fn set_scheduling(attributes: &libc::sched_attr) -> io::Result<()> {
    let (this_thread, flags) = (0, 0);
    // SAFETY: the structure is initialised, and says its own size; the call only reads it.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, this_thread, std::ptr::from_ref(attributes), flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
