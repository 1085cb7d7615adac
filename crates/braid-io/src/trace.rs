//! A record of the requests a device was given, bounded and off by default.
//!
//! Switched off it costs one relaxed load a request. Switched on it keeps the last `capacity` requests; older ones are
//! counted as dropped. Requests are recorded when they enter the device's queue, in that order.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use braid_base::Clock;
use parking_lot::Mutex;

use crate::file_handle::{FileHandle, FileId};
use crate::io_reason::IoReason;

/// Requests that a device's trace keeps: 65 536 events of at most 64 bytes are 4 MiB.
pub const TRACE_EVENTS_MAX: usize = 1 << 16;

const _: () = assert!(size_of::<TraceEvent>() <= 64);

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceKind {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When it entered the queue, in microseconds of the device's clock.
    pub time_us: u64,
    /// Which file.
    pub file: FileId,
    /// Where that file was opened.
    pub path: Arc<Path>,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub len: usize,
    /// On whose behalf.
    pub reason: IoReason,
    /// Which way.
    pub kind: TraceKind,
}

/// The record; see the module.
pub struct IoTrace {
    enabled: AtomicBool,
    clock: Arc<dyn Clock>,
    capacity: usize,
    ring: Mutex<Ring>,
}

/// Guarded by `IoTrace::ring`. Invariant: `events.len() <= capacity`.
#[derive(Default)]
struct Ring {
    events: VecDeque<TraceEvent>,
    dropped: u64,
}

impl IoTrace {
    /// A trace, switched off, that keeps the last `capacity` events. Panics if `capacity` is 0.
    pub fn new(clock: Arc<dyn Clock>, capacity: usize) -> Self {
        assert!(capacity > 0, "a trace keeps at least one event");
        Self { enabled: AtomicBool::new(false), clock, capacity, ring: Mutex::default() }
    }

    /// Starts or stops recording; what is recorded stays.
    pub fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    /// Whether requests are being recorded.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// A copy of what is recorded, oldest first.
    pub fn events(&self) -> Vec<TraceEvent> {
        self.ring.lock().events.iter().cloned().collect()
    }

    /// Takes what is recorded, oldest first, and forgets it and the dropped count.
    pub fn take(&self) -> Vec<TraceEvent> {
        std::mem::take(&mut *self.ring.lock()).events.into()
    }

    /// How many events gave way to newer ones.
    pub fn dropped(&self) -> u64 {
        self.ring.lock().dropped
    }

    pub(crate) fn record(&self, file: &FileHandle, offset: u64, len: usize, reason: IoReason, kind: TraceKind) {
        if !self.is_enabled() {
            return;
        }
        let path = file.shared_path();
        let mut ring = self.ring.lock();
        // The clock is read under the lock, so that the times in the ring never decrease.
        let time_us = self.clock.now_us();
        if ring.events.len() == self.capacity {
            ring.events.pop_front();
            ring.dropped += 1;
        }
        ring.events.push_back(TraceEvent { time_us, file: file.id(), path, offset, len, reason, kind });
    }
}

#[cfg(test)]
mod tests {
    use braid_base::ManualClock;

    use super::*;
    use crate::file_handle::OpenMode;

    #[test]
    fn the_trace_is_off_until_switched_on_and_keeps_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        let file = FileHandle::open(&dir.path().join("a"), OpenMode::Create, false).unwrap();
        let clock = Arc::new(ManualClock::at(100));
        let trace = IoTrace::new(Arc::clone(&clock) as Arc<dyn Clock>, 3);
        let record = |offset| trace.record(&file, offset, 10, IoReason::Scan, TraceKind::Read);

        record(0);
        assert!(trace.events().is_empty());
        trace.set_enabled(true);
        for offset in 1..=5 {
            clock.advance(1);
            record(offset);
        }
        let kept: Vec<(u64, u64)> = trace.events().iter().map(|event| (event.time_us, event.offset)).collect();
        assert_eq!(kept, [(103, 3), (104, 4), (105, 5)]);
        assert_eq!(trace.dropped(), 2);
        assert_eq!(trace.take().len(), 3);
        assert_eq!((trace.events().len(), trace.dropped()), (0, 0));
        trace.set_enabled(false);
        record(6);
        assert!(trace.events().is_empty());
    }
}
