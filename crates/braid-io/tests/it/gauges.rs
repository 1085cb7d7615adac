//! Counters by reason, the queue-depth gauge and the trace say what happened.

use std::sync::Arc;

use braid_base::{Clock, ManualClock};
use braid_io::{AlignedBuffer, DeviceOptions, IoReason, ReasonStats, TraceKind, open_device_with_clock};
use futures::future::try_join_all;

use crate::{BLOCK, file_of, on_every_device};

#[test]
fn requests_and_bytes_are_counted_by_reason() {
    on_every_device(16, async |device, dir| {
        let file = file_of(&device, dir, 8).await;
        device.read(&file, 0, 3 * BLOCK, IoReason::Scan).await.unwrap();
        device.read(&file, 0, BLOCK, IoReason::Scan).await.unwrap();
        device.read(&file, 0, BLOCK, IoReason::Check).await.unwrap();
        device.write(&file, 0, AlignedBuffer::zeroed(BLOCK), IoReason::Spill).await.unwrap();
        device.sync(&file).await.unwrap();
        device.read(&file, 8 * BLOCK as u64, BLOCK, IoReason::Scan).await.unwrap_err();

        let (stats, block) = (device.stats(), BLOCK as u64);
        let counted =
            |reads, bytes_read, writes, bytes_written| ReasonStats { reads, writes, bytes_read, bytes_written };
        assert_eq!(stats.of(IoReason::Scan), counted(2, 4 * block, 0, 0));
        assert_eq!(stats.of(IoReason::Check), counted(1, block, 0, 0));
        assert_eq!(stats.of(IoReason::Load), counted(0, 0, 1, 8 * block));
        assert_eq!(stats.of(IoReason::Spill), counted(0, 0, 1, block));
        assert_eq!(stats.of(IoReason::Catalog), ReasonStats::default());
        assert_eq!((stats.reads, stats.bytes_read), (3, 5 * block));
        assert_eq!((stats.writes, stats.bytes_written), (2, 9 * block));
        assert_eq!((stats.syncs, stats.failures, stats.queue_depth_now), (1, 1, 0));
    });
}

#[test]
fn the_queue_gets_no_deeper_than_allowed() {
    on_every_device(16, async |device, dir| {
        let file = file_of(&device, dir, 64).await;
        let reads = (0..200).map(|i| device.read(&file, i % 64 * BLOCK as u64, BLOCK, IoReason::Scan));
        try_join_all(reads).await.unwrap();
        let stats = device.stats();
        assert_eq!((stats.queue_depth_now, stats.queue_depth_limit), (0, 16));
        assert!((1..=16).contains(&stats.queue_depth_max), "{stats:?}");
    });
}

#[test]
fn the_trace_tells_what_was_asked_for_and_when() {
    on_every_device(16, async |_, dir| {
        let clock = Arc::new(ManualClock::at(1000));
        let device =
            open_device_with_clock(dir, &DeviceOptions::default(), Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
        let file = file_of(&device, dir, 8).await;
        assert!(device.trace().events().is_empty(), "the trace is off at first");
        device.trace().set_enabled(true);
        device.read(&file, 4096, 8192, IoReason::Scan).await.unwrap();
        clock.advance(25);
        device.write(&file, 0, AlignedBuffer::zeroed(BLOCK), IoReason::Load).await.unwrap();
        let events = device.trace().take();
        let told: Vec<_> = events.iter().map(|e| (e.time_us, e.offset, e.len, e.reason, e.kind)).collect();
        let read = (1000, 4096, 8192, IoReason::Scan, TraceKind::Read);
        assert_eq!(told, [read, (1025, 0, 4096, IoReason::Load, TraceKind::Write)]);
        assert!(events.iter().all(|event| event.file == file.id() && *event.path == *file.path()));
    });
}
