//! The allocator of the command, and the function that has it give memory back.
//!
//! With 32 clients the server answers 1.3 times as many short joins a second with mimalloc as with the C library's allocator.
//!
//! mimalloc gives freed memory back to the operating system when it next frees or needs a page, at the earliest a second later. A server
//! that is idle does neither, and would keep what its last statements used. `mi_collect` gives it back, for the calling thread's
//! heap, for those of threads that ended, and for the free memory between all of them. It cannot do it for the heaps of other threads:
//! each thread calls it for its own ([`braid_server::ServerOptions::give_back_memory`]).

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Gives free memory of this thread's heap, and what no thread's heap holds, back to the operating system. Takes milliseconds for a
/// hundred megabytes.
pub(crate) fn give_back() {
    // SAFETY: it takes no pointers, works on the calling thread's own heap and on memory that is free, and may be called at any time by
    // any thread, also before that thread's first allocation.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

#[cfg(test)]
mod tests {
    use braid_io::ResidentMemory;

    use super::give_back;

    #[test]
    fn what_another_thread_freed_in_small_pieces_goes_back() {
        let resident_bytes = || ResidentMemory::of(std::process::id()).unwrap().now_bytes;
        let pieces: Vec<Vec<u8>> = (0..20_000).map(|_| vec![1; 8 << 10]).collect();
        let full = resident_bytes();
        std::thread::spawn(move || drop(pieces)).join().unwrap();
        give_back();
        let freed = full.saturating_sub(resident_bytes());
        assert!(freed > 120 << 20, "{freed} bytes of 164 MB");
    }
}
